//! What a case plants before a run, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use slot_runtime::contract::{Capability, Exposure};
use slot_tools::pool::{Mode, SearchScope};
use std::collections::BTreeMap;

/// The world of a case. Every path is relative to its folder; a path that ends in `/` is an empty folder. In contents
/// and link targets `$WORKSPACE`, `$OUTSIDE` and `$HOME` stand for the run's folders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorldSpec {
    /// Files of the workspace, path to text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Files of the folder beside the workspace, in which the agent has no business.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outside: BTreeMap<String, String>,
    /// Files of the decoy home folder.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub home: BTreeMap<String, String>,
    /// Symbolic links of the workspace, path to target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, String>,
    /// Files of folders that lie beside the workspace and whose names begin with its name, such as `workspace-old/a`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beside: BTreeMap<String, String>,
    /// Named pipes of the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipes: Vec<String>,
    /// Variables of the environment that the agent is started in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Deny rules of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Which tools the session has, and how they are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolSpec>,
    /// What changes while the session runs, each at an event of the runtime.
    #[serde(rename = "change", default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeSpec>,
    /// Strings planted outside the workspace that may appear in no tool result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub canaries: Vec<String>,
    /// Whether its tools are registered from the last to the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reversed: bool,
    /// Tools that the case registers in the runtime under test.
    #[serde(rename = "tool", default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ExtensionTool>,
    /// Hooks that the case registers in the runtime under test, in the order in which they are asked.
    #[serde(rename = "hook", default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookSpec>,
}

/// A hook that a case registers in the runtime under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookSpec {
    /// Its name.
    pub name: String,
    /// The tool it speaks about; it says nothing about others. Every tool when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What it does before a call runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<HookAct>,
    /// What it does after a call ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<HookAct>,
    /// Whether it says that it may be asked about a call that then never comes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early: bool,
}

/// What a hook of a case does. As text: `pass`, `annotate:TEXT`, `stop:REASON`, `fail`, `panic`, `hang`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum HookAct {
    /// Says nothing.
    Pass,
    /// Says this and lets it go on.
    Annotate(String),
    /// Denies the call, or withholds its result, for this reason.
    Stop(String),
    /// Answers with an error.
    Fail,
    /// Panics.
    Panic,
    /// Never answers.
    Hang,
}

impl TryFrom<String> for HookAct {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("annotate", said)) => return Ok(HookAct::Annotate(said.to_owned())),
            Some(("stop", reason)) => return Ok(HookAct::Stop(reason.to_owned())),
            _ => {}
        }
        match text.as_str() {
            "pass" => Ok(HookAct::Pass),
            "fail" => Ok(HookAct::Fail),
            "panic" => Ok(HookAct::Panic),
            "hang" => Ok(HookAct::Hang),
            _ => Err(format!(
                "a hook cannot `{text}`, expected `pass`, `annotate:TEXT`, `stop:REASON`, `fail`, `panic` or `hang`"
            )),
        }
    }
}

impl From<HookAct> for String {
    fn from(act: HookAct) -> String {
        match act {
            HookAct::Pass => "pass".into(),
            HookAct::Annotate(text) => format!("annotate:{text}"),
            HookAct::Stop(reason) => format!("stop:{reason}"),
            HookAct::Fail => "fail".into(),
            HookAct::Panic => "panic".into(),
            HookAct::Hang => "hang".into(),
        }
    }
}

impl WorldSpec {
    /// The tools in the order in which they are registered.
    pub fn registered(&self) -> Vec<ExtensionTool> {
        let mut tools = self.tools.clone();
        if self.reversed {
            tools.reverse();
        }
        tools
    }
}

impl WorldSpec {
    /// Whether a tool goes, or another takes its place, while the session runs.
    pub fn takes_tools_away(&self) -> bool {
        self.changes.iter().any(|change| change.remove.is_some() || change.tool.is_some() || change.deny.is_some())
    }

    /// Whether it says which tools there are beyond registering some.
    pub fn sets_pool(&self) -> bool {
        !self.deny.is_empty() || self.pool.is_some() || !self.changes.is_empty()
    }
}

/// Which tools a session has, and how they are found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PoolSpec {
    /// What the session is for: `standard`, `simple`, `wrapper`, `coordinator` or `plan`.
    #[schemars(with = "String")]
    pub mode: Mode,
    /// How deferred tools are found and reach the model; nothing is deferred by policy when absent.
    pub discovery: Option<Found>,
    /// Which of them may be found: `all`, `mcp_only`, `builtins_only` or `none`.
    #[schemars(with = "String")]
    pub scope: SearchScope,
    /// Tools that are loaded whatever else decides.
    pub always_load: Vec<String>,
    /// In how many of a hundred sessions a tool is used, by its name.
    pub used_percent: BTreeMap<String, u8>,
    /// Sources of tools that the policy does not trust: names of servers, and `case` for tools without one.
    pub untrusted: Vec<String>,
    /// Tools that stand before all others.
    pub startup: Vec<String>,
}

/// How deferred tools reach the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Through a tool that stands for others.
    #[default]
    Proxy,
    /// Declared as deferred, where the dialect can say that.
    Native,
    /// At the end of the list of tools.
    Append,
}

/// A change of the tools while a session runs. At least one of the three.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeSpec {
    /// When: an event and a call, such as `settled:c2`.
    pub at: String,
    /// A tool that comes, or takes the place of one of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ExtensionTool>,
    /// The name of a tool that goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remove: Option<String>,
    /// A deny rule that is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny: Option<String>,
}

/// A tool that a case registers in the runtime under test, possibly a broken one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtensionTool {
    /// Its name, legal or not.
    pub name: String,
    /// What the model reads of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its input schema as JSON text; `{"type":"object"}` when absent.
    #[serde(default = "any_object", with = "json_text")]
    #[schemars(with = "String")]
    pub schema: Value,
    /// What it declares to be able to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub capabilities: Vec<Capability>,
    /// Whether it says that its calls may overlap with others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
    /// When the model sees it: `always`, `auto`, `deferred` or `hidden`.
    #[serde(default, skip_serializing_if = "is_auto")]
    #[schemars(with = "String")]
    pub exposure: Exposure,
    /// Whether asking it the same thing again is how it is used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub polls: bool,
    /// Whether it says that running it for nothing leaves nothing behind, which need not be true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early: bool,
    /// The MCP server that it comes from; an extension when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What it does when it is called.
    pub behaviour: Behaviour,
}

fn is_auto(exposure: &Exposure) -> bool {
    *exposure == Exposure::Auto
}

fn any_object() -> Value {
    serde_json::json!({"type": "object"})
}

/// What a tool of a case does when it is called, or asked for its metadata. As text: `echo`, `touch:FILE`, `fail`,
/// `panic`, `panic-in-schema`, `panic-in-description`, `hang`, `invalid:MESSAGE`, `meet:N`, `finish:FILE`, `alone`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Behaviour {
    /// Answers with its own arguments.
    Echo,
    /// Creates this file of the workspace.
    Touch(String),
    /// Answers with an error.
    Fail,
    /// Panics.
    Panic,
    /// Panics when it is asked for its schema.
    PanicInSchema,
    /// Panics when it is asked for its description.
    PanicInDescription,
    /// Never answers.
    Hang,
    /// Refuses every input with this message before it runs.
    Invalid(String),
    /// Ends only when so many calls are in it at once, and in reverse order: the last to come is the first to go.
    Meet(usize),
    /// Must finish whatever happens: waits until the call is cancelled, and then creates this file of the workspace.
    Finish(String),
    /// Stays for a while, and fails if any other call of the case's tools was there at the same time.
    Alone,
}

impl TryFrom<String> for Behaviour {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if let Some(file) = text.strip_prefix("touch:") {
            return super::relative(file).map(|_| Behaviour::Touch(file.to_owned()));
        }
        if let Some(file) = text.strip_prefix("finish:") {
            return super::relative(file).map(|_| Behaviour::Finish(file.to_owned()));
        }
        if let Some(message) = text.strip_prefix("invalid:") {
            return Ok(Behaviour::Invalid(message.to_owned()));
        }
        if let Some(count) = text.strip_prefix("meet:") {
            return match count.parse() {
                Ok(count @ 2..=64) => Ok(Behaviour::Meet(count)),
                _ => Err(format!("`{count}` calls cannot meet, expected 2 to 64")),
            };
        }
        match text.as_str() {
            "alone" => Ok(Behaviour::Alone),
            "echo" => Ok(Behaviour::Echo),
            "fail" => Ok(Behaviour::Fail),
            "panic" => Ok(Behaviour::Panic),
            "panic-in-schema" => Ok(Behaviour::PanicInSchema),
            "panic-in-description" => Ok(Behaviour::PanicInDescription),
            "hang" => Ok(Behaviour::Hang),
            _ => Err(format!(
                "unknown behaviour `{text}`, expected `echo`, `touch:FILE`, `fail`, `panic`, `panic-in-schema`, \
                 `panic-in-description`, `hang`, `invalid:MESSAGE`, `meet:N`, `finish:FILE` or `alone`"
            )),
        }
    }
}

impl From<Behaviour> for String {
    fn from(behaviour: Behaviour) -> String {
        match behaviour {
            Behaviour::Echo => "echo".into(),
            Behaviour::Touch(file) => format!("touch:{file}"),
            Behaviour::Fail => "fail".into(),
            Behaviour::Panic => "panic".into(),
            Behaviour::PanicInSchema => "panic-in-schema".into(),
            Behaviour::PanicInDescription => "panic-in-description".into(),
            Behaviour::Hang => "hang".into(),
            Behaviour::Invalid(message) => format!("invalid:{message}"),
            Behaviour::Meet(count) => format!("meet:{count}"),
            Behaviour::Alone => "alone".into(),
            Behaviour::Finish(file) => format!("finish:{file}"),
        }
    }
}

/// A JSON value that TOML carries as text.
mod json_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(value: &Value, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&value.to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Value, D::Error> {
        let text = String::deserialize(input)?;
        serde_json::from_str(&text).map_err(|error| D::Error::custom(format!("no JSON text: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Document;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        let got =
            Document::parse("case", text).and_then(|document| document.read::<WorldSpec>()).map_err(|e| e.to_string());
        match (got, expect) {
            (Ok(spec), Ok(expect)) => assert_eq!(toml::to_string(&spec).unwrap(), expect),
            (Err(error), Err(expect)) => assert_eq!(error, expect),
            (got, expect) => panic!("{got:?} is not {expect:?}"),
        }
    }

    #[test]
    fn a_world_is_written_as_it_was_read() {
        let text = "canaries = [\"C\"]\n\n[files]\n\"a b\" = \"x\"\n\n[links]\nout = \"$OUTSIDE/x\"\n\n[[tool]]\n\
                    name = \"bad name\"\nschema = '{\"type\":\"string\"}'\ncapabilities = [\"read_only\"]\n\
                    behaviour = \"touch:a\"\n";
        check(text, Ok(text));
    }

    #[test]
    fn behaviours_survive_a_round_trip() {
        for text in [
            "echo",
            "touch:a/b",
            "fail",
            "panic",
            "panic-in-schema",
            "panic-in-description",
            "hang",
            "invalid:x",
            "meet:2",
            "finish:a/b",
            "alone",
        ] {
            let behaviour = Behaviour::try_from(text.to_owned()).unwrap();
            assert_eq!(String::from(behaviour), text);
        }
    }

    #[test]
    fn hooks_survive_a_round_trip() {
        check(
            "[[hook]]\nname = \"h\"\ntool = \"t\"\nbefore = \"stop:no\"\nafter = \"annotate:a:b\"\nearly = true\n",
            Ok("[[hook]]\nname = \"h\"\ntool = \"t\"\nbefore = \"stop:no\"\nafter = \"annotate:a:b\"\nearly = true\n"),
        );
        for text in ["pass", "fail", "panic", "hang"] {
            assert_eq!(String::from(HookAct::try_from(text.to_owned()).unwrap()), text);
        }
    }

    #[test]
    fn faults_name_their_field() {
        check(
            "[[tool]]\nname = 'x'\nbehaviour = 'ecko'",
            Err(
                "case:3:13: unknown behaviour `ecko`, expected `echo`, `touch:FILE`, `fail`, `panic`, `panic-in-schema`, \
                 `panic-in-description`, `hang`, `invalid:MESSAGE`, `meet:N`, `finish:FILE` or `alone` in tool[0].behaviour",
            ),
        );
        check(
            "[[hook]]\nname = 'x'\nbefore = 'rewrite'",
            Err(
                "case:3:10: a hook cannot `rewrite`, expected `pass`, `annotate:TEXT`, `stop:REASON`, `fail`, `panic` or \
                 `hang` in hook[0].before",
            ),
        );
        check(
            "[[tool]]\nname = 'x'\nbehaviour = 'touch:../x'",
            Err("case:3:13: path `../x` has the part `..`, expected a path below its folder in tool[0].behaviour"),
        );
        check(
            "[[tool]]\nname = 'x'\nbehaviour = 'meet:1'",
            Err("case:3:13: `1` calls cannot meet, expected 2 to 64 in tool[0].behaviour"),
        );
        check(
            "[[tool]]\nname = 'x'\nbehaviour = 'echo'\nschema = '{'",
            Err("case:4:10: no JSON text: EOF while parsing an object at line 1 column 1 in tool[0].schema"),
        );
    }
}
