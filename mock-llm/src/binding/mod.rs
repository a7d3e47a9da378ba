//! Binding: which of an agent's own tools stands for an abstract operation, and with which arguments.
//!
//! A script that says READ can be played against any agent once READ is bound to a tool the agent advertised. A host
//! may give a table; without one the tool is found by name and by the shape of its schema. What cannot be bound is a
//! typed outcome, never a guess: a call that no tool stands for would judge nothing.

mod find;
mod names;

use crate::script::{Call, Op};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use slot_oracles::trace::WireTool;
use std::collections::BTreeMap;
use std::fmt;

/// A binding table, by operation. Adapters embed it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Binding(pub BTreeMap<Op, ToolBinding>);

/// How one operation is carried out by one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolBinding {
    /// The advertised name of the tool.
    pub tool: String,
    /// The tool's arguments. A string `{field}` stands for that field of the operation with its type kept, at any
    /// depth: `{ files = [{ path = "{path}" }] }`. Everything else is sent as it stands. A member whose field the
    /// script leaves out is left out.
    #[serde(default)]
    pub with: Map<String, Value>,
    /// Whether relative paths are made absolute by putting the workspace before them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absolute: bool,
    /// Whether the tool is a shell: every `{field}` in a string stands for that field as one word of a POSIX shell, with
    /// text around it: `{ cmd = "printf %s {content} > {path}" }`. For agents that have no tools for files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shell: bool,
}

/// The folders that `$WORKSPACE`, `$OUTSIDE` and `$HOME` stand for. A folder that is absent leaves its name as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folders {
    /// Where the agent works.
    pub workspace: Option<String>,
    /// A folder it has no business in.
    pub outside: Option<String>,
    /// Its home folder.
    pub home: Option<String>,
}

/// An operation that no advertised tool stands for: the case cannot be judged on this agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("op {op} is not bound: {reason}")]
pub struct UnboundOp {
    /// The operation.
    pub op: Op,
    /// Why, with the advertised names.
    pub reason: String,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Op::Read => "READ",
            Op::Write => "WRITE",
            Op::Edit => "EDIT",
            Op::List => "LIST",
            Op::Shell => "SHELL",
            Op::Fetch => "FETCH",
        })
    }
}

impl Op {
    /// Every operation.
    pub const ALL: [Op; 6] = [Op::Read, Op::Write, Op::Edit, Op::List, Op::Shell, Op::Fetch];

    /// The fields that a script may use in `with`.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Op::Read | Op::List => &["path"],
            Op::Write => &["path", "content"],
            Op::Edit => &["path", "old", "new"],
            Op::Shell => &["command"],
            Op::Fetch => &["url"],
        }
    }
}

/// The outcome of binding: for each operation asked for, a tool or the reason why there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// What stands for each operation.
    pub tools: Binding,
    /// The operations that nothing stands for.
    pub unbound: Vec<UnboundOp>,
}

/// Binds `ops` at the tools an agent advertised. An entry of `given` wins over the search and must name a tool that
/// was advertised.
pub fn bind(ops: impl IntoIterator<Item = Op>, given: &Binding, tools: &[WireTool]) -> Bound {
    let mut bound = Bound::default();
    for op in ops {
        let found = match given.0.get(&op) {
            Some(binding) if tools.iter().any(|tool| tool.name == binding.tool) => Ok(binding.clone()),
            Some(binding) => Err(format!("tool `{}` of the binding table is not {}", binding.tool, among(tools))),
            None => find::find(op, tools),
        };
        match found {
            Ok(binding) => {
                bound.tools.0.insert(op, binding);
            }
            Err(reason) => bound.unbound.push(UnboundOp { op, reason }),
        }
    }
    bound
}

/// `among [a, b]`, for messages.
fn among(tools: &[WireTool]) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    format!("among [{}]", names.join(", "))
}

impl Bound {
    /// The tool name and the serialised arguments of a call, before any corruption.
    ///
    /// # Errors
    ///
    /// When the call's operation is not bound.
    pub fn call(&self, call: &Call, folders: &Folders) -> Result<(String, String), UnboundOp> {
        let with = folders.fill(&Value::Object(call.with.clone().unwrap_or_default()));
        let Some(op) = call.op else {
            let text = call.raw.clone().unwrap_or_else(|| with.to_string());
            return Ok((call.tool.clone().unwrap_or_default(), text));
        };
        let Some(binding) = self.tools.0.get(&op) else {
            let known = self.unbound.iter().find(|unbound| unbound.op == op).cloned();
            return Err(known.unwrap_or_else(|| UnboundOp { op, reason: "the request advertised no tools".into() }));
        };
        if let Some(raw) = &call.raw {
            return Ok((binding.tool.clone(), raw.clone()));
        }
        let args = binding.arguments(with.as_object().unwrap_or(&Map::new()), folders);
        Ok((binding.tool.clone(), Value::Object(args).to_string()))
    }
}

impl ToolBinding {
    /// The arguments for an operation's fields.
    fn arguments(&self, fields: &Map<String, Value>, folders: &Folders) -> Map<String, Value> {
        let mut fields = fields.clone();
        if let (true, Some(root)) = (self.absolute, &folders.workspace)
            && let Some(Value::String(path)) = fields.get_mut("path")
            && !path.starts_with('/')
        {
            *path = if path == "." { root.clone() } else { format!("{}/{path}", root.trim_end_matches('/')) };
        }
        let fill = if self.shell { fill_words } else { fill_fields };
        self.with.iter().filter_map(|(key, value)| Some((key.clone(), fill(value, &fields)?))).collect()
    }
}

/// Puts an operation's fields into a template as words of a shell. Never `None`: a field that the script left out, or
/// that is no text, stays as it stands.
fn fill_words(template: &Value, fields: &Map<String, Value>) -> Option<Value> {
    match template {
        Value::String(text) => {
            // One pass, so that a value that reads like a field is a value.
            let mut filled = String::new();
            let mut rest = text.as_str();
            while let Some((before, after)) = rest.split_once('{') {
                filled.push_str(before);
                let field = after.split_once('}').and_then(|(name, left)| Some((fields.get(name)?.as_str()?, left)));
                match field {
                    Some((value, left)) => {
                        filled.push_str(&shell_word(value));
                        rest = left;
                    }
                    None => {
                        filled.push('{');
                        rest = after;
                    }
                }
            }
            Some(Value::String(filled + rest))
        }
        Value::Array(items) => Some(items.iter().filter_map(|item| fill_words(item, fields)).collect()),
        Value::Object(members) => Some(Value::Object(
            members.iter().filter_map(|(key, value)| Some((key.clone(), fill_words(value, fields)?))).collect(),
        )),
        other => Some(other.clone()),
    }
}

/// A text as one word of a POSIX shell.
fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Puts an operation's fields into a template. `None` for a `{field}` that the script left out.
fn fill_fields(template: &Value, fields: &Map<String, Value>) -> Option<Value> {
    match template {
        Value::String(text) => match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(field) if Op::ALL.iter().any(|op| op.fields().contains(&field)) => fields.get(field).cloned(),
            _ => Some(template.clone()),
        },
        Value::Array(items) => Some(items.iter().filter_map(|item| fill_fields(item, fields)).collect()),
        Value::Object(members) => Some(Value::Object(
            members.iter().filter_map(|(key, value)| Some((key.clone(), fill_fields(value, fields)?))).collect(),
        )),
        other => Some(other.clone()),
    }
}

impl Folders {
    /// Replaces the folder names in every string value.
    pub fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill_text(text)),
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(members) => {
                Value::Object(members.iter().map(|(key, value)| (key.clone(), self.fill(value))).collect())
            }
            other => other.clone(),
        }
    }

    fn fill_text(&self, text: &str) -> String {
        let folders = [("$WORKSPACE", &self.workspace), ("$OUTSIDE", &self.outside), ("$HOME", &self.home)];
        let text = folders.iter().fold(text.to_owned(), |text, (name, folder)| match folder {
            Some(folder) => text.replace(name, folder),
            None => text,
        });
        fill_letters(&text)
    }
}

/// The most letters of one `$FILL(n)`.
const MOST_LETTERS: usize = 64 << 20;

/// Puts letters in the place of the first `$FILL(n)`. A count that is none, or too large, leaves the text as it is.
fn fill_letters(text: &str) -> String {
    let Some((before, rest)) = text.split_once("$FILL(") else { return text.to_owned() };
    let Some((count, after)) = rest.split_once(')') else { return text.to_owned() };
    match count.parse() {
        Ok(count) if count <= MOST_LETTERS => format!("{before}{}{after}", "A".repeat(count)),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, schema: Value) -> WireTool {
        WireTool { name: name.to_owned(), schema, ..WireTool::default() }
    }

    fn given(with: Value) -> Binding {
        let with = with.as_object().unwrap().clone();
        let binding = ToolBinding { tool: "read_files".into(), with, absolute: true, shell: false };
        Binding([(Op::Read, binding)].into())
    }

    fn read(path: &str) -> Call {
        let with = json!({ "path": path }).as_object().cloned();
        Call { id: "c1".into(), op: Some(Op::Read), with, ..Call::default() }
    }

    #[track_caller]
    fn check(with: Value, call: &Call, expect: &str) {
        let bound = bind([Op::Read], &given(with), &[tool("read_files", json!({}))]);
        let folders = Folders { workspace: Some("/w".into()), ..Folders::default() };
        assert_eq!(bound.call(call, &folders).unwrap(), ("read_files".to_owned(), expect.to_owned()));
    }

    #[test]
    fn a_table_puts_fields_anywhere_and_keeps_extras() {
        check(
            json!({"files": [{"path": "{path}"}], "mode": "{slow}"}),
            &read("$WORKSPACE/a"),
            r#"{"files":[{"path":"/w/a"}],"mode":"{slow}"}"#,
        );
    }

    #[test]
    fn a_relative_path_is_made_absolute_where_the_tool_wants_it() {
        check(json!({"path": "{path}"}), &read("a"), r#"{"path":"/w/a"}"#);
        check(json!({"path": "{path}"}), &read("/etc/x"), r#"{"path":"/etc/x"}"#);
        check(json!({"path": "{path}"}), &read("."), r#"{"path":"/w"}"#);
    }

    #[test]
    fn a_field_that_the_script_leaves_out_is_left_out() {
        check(json!({"path": "{path}", "n": 1}), &Call { with: None, ..read("") }, r#"{"n":1}"#);
    }

    #[test]
    fn a_value_of_the_wrong_type_keeps_it() {
        let call = Call { with: json!({"path": 5}).as_object().cloned(), ..read("") };
        check(json!({"path": "{path}"}), &call, r#"{"path":5}"#);
    }

    #[test]
    fn a_shell_gets_every_field_as_one_word() {
        let with = json!({"cmd": "printf %s {content} > {path}; echo {path", "argv": ["{path}"], "n": 1});
        let binding = ToolBinding { with: with.as_object().unwrap().clone(), shell: true, ..ToolBinding::default() };
        let fields = json!({"path": "it's {content}", "content": "$(rm -r /)"}).as_object().unwrap().clone();
        let filled = Value::Object(binding.arguments(&fields, &Folders::default()));
        let word = r"'it'\''s {content}'";
        let expect = json!({
            "cmd": format!("printf %s '$(rm -r /)' > {word}; echo {{path"), "argv": [word], "n": 1,
        });
        assert_eq!(filled, expect);
    }

    #[test]
    fn raw_text_is_sent_under_the_bound_name() {
        check(json!({}), &Call { with: None, raw: Some("{oops".into()), ..read("") }, "{oops");
    }

    #[test]
    fn letters_fill_the_place_they_are_asked_for() {
        for (text, expect) in [("a$FILL(3)b", "aAAAb"), ("$FILL(x)", "$FILL(x)"), ("$FILL(3", "$FILL(3"), ("", "")] {
            assert_eq!(Folders::default().fill(&json!(text)), json!(expect));
        }
    }

    #[test]
    fn a_literal_tool_needs_no_binding() {
        let call = Call { op: None, tool: Some("no_such".into()), ..read("$HOME/x") };
        let folders = Folders { home: Some("/h".into()), ..Folders::default() };
        let got = Bound::default().call(&call, &folders).unwrap();
        assert_eq!(got, ("no_such".to_owned(), r#"{"path":"/h/x"}"#.to_owned()));
    }

    #[test]
    fn a_table_that_names_no_advertised_tool_binds_nothing() {
        let bound = bind([Op::Read], &given(json!({})), &[tool("a", json!({})), tool("b", json!({}))]);
        assert_eq!(
            bound.unbound[0].to_string(),
            "op READ is not bound: tool `read_files` of the binding table is not among [a, b]"
        );
        assert!(bound.call(&read("a"), &Folders::default()).is_err());
    }
}
