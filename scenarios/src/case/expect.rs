//! What a check may expect, as it is written in a case.
//!
//! Every expectation has one plain form and, where it makes sense, a longer one. How a choice of forms is read is said in
//! [`forms`].

mod forms;

use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// Expectations, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Files of the workspace after the run.
    pub file: BTreeMap<String, FileExpect>,
    /// Files of the folder beside the workspace after the run.
    pub outside: BTreeMap<String, FileExpect>,
    /// Files of the decoy home folder after the run.
    pub home: BTreeMap<String, FileExpect>,
    /// Results of calls, as later requests show them.
    pub result: BTreeMap<String, ResultExpect>,
    /// The arguments of calls, as text, as later requests replay them.
    pub replay: BTreeMap<String, TextExpect>,
    /// How many requests the conversation had.
    pub requests: Option<Count>,
    /// What the first request advertises.
    pub catalog: Option<CatalogExpect>,
    /// The model's words as later requests replay them.
    pub text: Option<TextExpect>,
    /// The conversation of the last request as it was transmitted, reasoning included: JSON text, one line for each item.
    pub sent: Option<TextExpect>,
    /// Whether each request appends to the one before it.
    pub prefix: Option<PrefixExpect>,
    /// The exit code.
    pub exit: Option<ExitExpect>,
    /// What the agent printed.
    pub stdout: Option<TextExpect>,
    /// The runtime's events, by name.
    pub event: BTreeMap<String, EventExpect>,
    /// The runtime's events of one call, by its id.
    pub lane: BTreeMap<String, LaneExpect>,
}

/// What a file must be after the run.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum FileExpect {
    /// It holds exactly this text.
    Text(String),
    /// It exists (`true`), or nothing of that name does (`false`).
    Exists(bool),
    /// More loosely.
    Loose(TextExpect),
}

/// What a text must be like. At least one condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TextExpect {
    /// It holds this.
    pub contains: Option<String>,
    /// It does not hold this.
    pub lacks: Option<String>,
    /// It has so many lines.
    pub lines: Option<usize>,
}

/// What the result of a call must be like.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum ResultExpect {
    /// There is one: the word `answered`.
    Answered(#[schemars(with = "String")] Answered),
    /// More exactly.
    Exact(ResultFields),
}

/// The word `answered`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered;

/// What a result must be like. At least one condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResultFields {
    /// How many results there are.
    pub count: Option<usize>,
    /// It holds this.
    pub contains: Option<String>,
    /// It does not hold this.
    pub lacks: Option<String>,
    /// It is flagged as an error. Seen only where the dialect has a flag or the runtime's events are there.
    pub error: Option<bool>,
}

/// A count, exact or within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum Count {
    /// Exactly so many.
    Exact(usize),
    /// Within bounds.
    Within(Bounds),
}

/// Bounds of a count. At least one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bounds {
    /// At least so many.
    pub min: Option<usize>,
    /// At most so many.
    pub max: Option<usize>,
}

/// What the first request must advertise. At least one condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CatalogExpect {
    /// These names are advertised.
    pub has: Vec<String>,
    /// These are not.
    pub lacks: Vec<String>,
    /// The names are sorted.
    pub sorted: Option<bool>,
    /// These names are advertised in this order, others between them.
    pub order: Vec<String>,
    /// Text that stands in the description of a tool, by its name.
    pub contains: BTreeMap<String, String>,
    /// The whole input schema of a tool as JSON text, by the tool's name.
    pub schema: BTreeMap<String, JsonText>,
    /// Whether a tool is said to be strict, by its name.
    pub strict: BTreeMap<String, bool>,
}

/// A JSON value that is written as text, because TOML has no null.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
pub struct JsonText(#[schemars(with = "String")] pub serde_json::Value);

impl Serialize for JsonText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        serde_json::from_str(&text).map(JsonText).map_err(|error| D::Error::custom(format!("no JSON text: {error}")))
    }
}

/// What requests must be to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PrefixExpect {
    /// Tools and system text stay, and messages are only added: compared as transmitted, cache markers set aside.
    Stable,
}

/// The exit code an agent must end with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum ExitExpect {
    /// This one.
    Code(i32),
    /// Any but 0: the word `failure`.
    Failure(#[schemars(with = "String")] Failure),
}

/// The word `failure`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure;

/// How often an event must be logged.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum EventExpect {
    /// Over all lanes.
    Count(Count),
    /// By call id.
    ByCall(BTreeMap<String, Count>),
}

/// What the lane of a call must hold.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum LaneExpect {
    /// Exactly these events.
    Exact(Vec<String>),
    /// These events in this order, others between them.
    Loose(LaneContains),
}

/// Events that a lane holds in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaneContains {
    /// The names.
    pub contains: Vec<String>,
}

impl Expect {
    /// Whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        *self == Expect::default()
    }

    /// Whether only the runtime's events can tell.
    pub fn needs_events(&self) -> bool {
        !self.event.is_empty() || !self.lane.is_empty()
    }

    /// The calls it speaks of, sorted, each once.
    pub fn calls(&self) -> Vec<&str> {
        let by_call = self.event.values().filter_map(|e| match e {
            EventExpect::ByCall(counts) => Some(counts.keys()),
            EventExpect::Count(_) => None,
        });
        let mut calls: Vec<&str> = self
            .result
            .keys()
            .chain(self.replay.keys())
            .chain(self.lane.keys())
            .chain(by_call.flatten())
            .map(String::as_str)
            .collect();
        calls.sort_unstable();
        calls.dedup();
        calls
    }

    /// The expectations that hold whatever happens, because they state no condition, as field paths.
    pub fn idle(&self) -> Vec<String> {
        let mut idle = Vec::new();
        for (name, files) in [("file", &self.file), ("outside", &self.outside), ("home", &self.home)] {
            let loose = files.iter().filter(|(_, e)| matches!(e, FileExpect::Loose(t) if *t == TextExpect::default()));
            idle.extend(loose.map(|(path, _)| format!("{name}.{path:?}")));
        }
        let results = self.result.iter();
        let results = results.filter(|(_, e)| matches!(e, ResultExpect::Exact(f) if *f == ResultFields::default()));
        idle.extend(results.map(|(id, _)| format!("result.{id}")));
        let replays = self.replay.iter().filter(|(_, text)| **text == TextExpect::default());
        idle.extend(replays.map(|(id, _)| format!("replay.{id}")));
        for (name, text) in [("text", &self.text), ("sent", &self.sent), ("stdout", &self.stdout)] {
            idle.extend(text.as_ref().filter(|t| **t == TextExpect::default()).map(|_| name.to_owned()));
        }
        idle.extend(self.catalog.as_ref().filter(|c| **c == CatalogExpect::default()).map(|_| "catalog".to_owned()));
        idle
    }
}

impl Count {
    /// Whether `n` is such a count.
    pub fn holds(self, n: usize) -> bool {
        match self {
            Count::Exact(want) => n == want,
            Count::Within(Bounds { min, max }) => min.is_none_or(|min| n >= min) && max.is_none_or(|max| n <= max),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Count::Exact(n) => write!(f, "{n}"),
            Count::Within(Bounds { min: Some(min), max: Some(max) }) => write!(f, "{min} to {max}"),
            Count::Within(Bounds { min: Some(min), max: None }) => write!(f, "at least {min}"),
            Count::Within(Bounds { min: None, max: Some(max) }) => write!(f, "at most {max}"),
            Count::Within(Bounds { min: None, max: None }) => f.write_str("any number"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Document;

    #[track_caller]
    fn check(line: &str, expect: Result<(), &str>) {
        let doc = Document::parse("x", line).unwrap();
        match (doc.read::<Expect>(), expect) {
            (Ok(found), Ok(())) => assert_eq!((found.is_empty(), found.idle()), (false, Vec::<String>::new())),
            (Err(problems), Err(part)) => assert!(problems.to_string().contains(part), "{problems}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn every_form_is_read() {
        check("file.'a.txt' = 'x'", Ok(()));
        check("outside.a = false", Ok(()));
        check("home.a = { contains = 'x', lines = 2 }", Ok(()));
        check("result.c1 = 'answered'", Ok(()));
        check("result.c1.count = 1", Ok(()));
        check("requests = 2", Ok(()));
        check("exit = 1", Ok(()));
        check("exit = 'failure'", Ok(()));
        check("requests = { min = 1 }", Ok(()));
        check("catalog = { has = ['a'], sorted = true, order = ['a'], contains = { a = 'x' } }", Ok(()));
        check("catalog.schema.a = '{\"type\":[\"string\",null]}'", Ok(()));
        check("replay.c1 = { contains = 'x' }", Ok(()));
        check("prefix = 'stable'", Ok(()));
        check("event.started = 1", Ok(()));
        check("event.started = { max = 1 }", Ok(()));
        check("event.started.c1 = 1", Ok(()));
        check("lane.c1 = ['received']", Ok(()));
        check("lane.c1.contains = ['received']", Ok(()));
    }

    #[test]
    fn slips_are_named_where_they_are() {
        check(
            "file.a = { contain = 'x' }",
            Err("x:1:12: unknown field \"contain\" in file.a; did you mean \"contains\"?"),
        );
        check("file.a = 3", Err("x:1:10: invalid value: integer `3`, expected a text, true, false or a table"));
        check("result.c1 = 'answerd'", Err("expected \"answered\" or a table of conditions in result.c1"));
        check("requests = -1", Err("a number from 0"));
        check("exit = 'failed'", Err("expected a number from 0 or \"failure\""));
        check("exit = {}", Err("expected a number from 0 or \"failure\""));
        check("prefix = 'stabel'", Err("did you mean \"stable\"?"));
        check("lane.c1 = [1]", Err("lane.c1[0]"));
        check("event.x = { min = { min = 1 } }", Err("min is not a number"));
    }

    #[test]
    fn a_condition_that_says_nothing_is_seen() {
        let read = |line: &str| Document::parse("x", line).unwrap().read::<Expect>().unwrap().idle();
        assert_eq!(
            read("file.a = {}\nresult.c1 = {}\ntext = {}\ncatalog = {}"),
            ["file.\"a\"", "result.c1", "text", "catalog"]
        );
    }

    #[test]
    fn counts_have_bounds() {
        assert!(Count::Within(Bounds { min: Some(1), max: Some(2) }).holds(2));
        assert!(!Count::Within(Bounds { min: Some(1), max: None }).holds(0));
        assert!(!Count::Exact(1).holds(2));
    }
}
