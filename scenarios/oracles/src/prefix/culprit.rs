//! What broke a prefix: the first difference, its place and its kind.

use super::common::Common;
use super::pointer::first_difference;
use super::prompt::{Kind, Part, Prompt};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// The kinds of break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The same tools in another order.
    ToolOrder,
    /// A tool of the same name in other bytes.
    ToolBytes,
    /// A tool came between others, or one went.
    ToolSet,
    /// Tools came behind all others: the tools before them are untouched, everything behind them moves.
    ToolAppended,
    /// Other system text.
    System,
    /// Another choice of tools, response format or the like.
    Param,
    /// An earlier message was changed.
    HistoryRewrite,
    /// An earlier message went.
    HistoryDrop,
}

impl Class {
    /// Its name, as in reports.
    pub fn name(self) -> &'static str {
        match self {
            Class::ToolOrder => "tool-order",
            Class::ToolBytes => "tool-bytes",
            Class::ToolSet => "tool-set",
            Class::ToolAppended => "tool-appended",
            Class::System => "system",
            Class::Param => "param",
            Class::HistoryRewrite => "history-rewrite",
            Class::HistoryDrop => "history-drop",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The first difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Culprit {
    /// A JSON pointer to the first leaf that differs: into the later request, or into the earlier one for what is gone.
    pub pointer: String,
    /// What kind of change it is.
    pub class: Class,
    /// What stood there, at most 80 characters; empty when nothing did.
    pub before: String,
    /// What stands there now, likewise.
    pub after: String,
}

/// What broke the prefix of `a` in `b`; `None` when `b` repeats all of `a`. `common` is what they have in common.
pub fn culprit(a: &Prompt<'_>, b: &Prompt<'_>, common: Common) -> Option<Culprit> {
    let at = common.parts;
    let old = a.parts().get(at)?;
    let new = b.parts().get(at);
    let class = match (old.kind, new.map(|part| part.kind)) {
        (Kind::Tool, _) | (_, Some(Kind::Tool)) => tools(a, b, at),
        (Kind::System, _) | (_, Some(Kind::System)) => Class::System,
        (Kind::Param, _) | (_, Some(Kind::Param)) => Class::Param,
        (Kind::Message, Some(Kind::Message)) => history(&a.parts()[at..], new),
        (Kind::Message, None) => Class::HistoryDrop,
    };
    let (pointer, offset) = match new {
        // Where two texts stand for the same thing, the leaf below it is named.
        Some(new) if new.kind == old.kind => {
            let below = first_difference(&old.text, &new.text);
            (format!("{}{below}", new.at), super::common::of_bytes(old.text.as_bytes(), new.text.as_bytes()))
        }
        Some(new) if class == Class::ToolAppended => (new.at.to_string(), 0),
        _ => (old.at.to_string(), 0),
    };
    let after = new.map(|new| around(&new.text, offset)).unwrap_or_default();
    Some(Culprit { pointer, class, before: around(&old.text, offset), after })
}

fn tools(a: &Prompt<'_>, b: &Prompt<'_>, at: usize) -> Class {
    let (old, new) = (&a.parts()[..a.tools()], &b.parts()[..b.tools()]);
    if at == old.len() && new.len() > old.len() {
        return Class::ToolAppended;
    }
    let (old, new) = (by_name(old), by_name(new));
    if !old.keys().eq(new.keys()) {
        return Class::ToolSet;
    }
    if old == new { Class::ToolOrder } else { Class::ToolBytes }
}

/// The texts of tools by their names, each sorted: a name may be there twice.
fn by_name<'p>(tools: &'p [Part<'_>]) -> BTreeMap<String, Vec<&'p str>> {
    let mut all: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for tool in tools {
        all.entry(name(&tool.text)).or_default().push(&tool.text);
    }
    all.values_mut().for_each(|texts| texts.sort_unstable());
    all
}

/// The name of a tool in any dialect; its whole text when it has none.
fn name(tool: &str) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Option<Cow<'a, str>>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Tool<'a> {
        #[serde(borrow)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow)]
        function: Named<'a>,
    }
    let read: Tool<'_> = serde_json::from_str(tool).unwrap_or_default();
    read.function.name.or(read.name).map_or_else(|| tool.to_owned(), Cow::into_owned)
}

/// Whether the first of `old` went, or was changed into `new`.
fn history(old: &[Part<'_>], new: Option<&Part<'_>>) -> Class {
    let Some(new) = new else { return Class::HistoryDrop };
    if old.iter().skip(1).any(|later| later.block && later.text == new.text) {
        Class::HistoryDrop
    } else {
        Class::HistoryRewrite
    }
}

/// What stands at a byte of a text, with some of what is before it, at most 80 characters.
fn around(text: &str, at: usize) -> String {
    const BEFORE: usize = 20;
    let start = text.floor_char_boundary(at.min(text.len()).saturating_sub(BEFORE));
    let cut: String = text[start..].chars().take(80).collect();
    let dots = |cut: bool| if cut { "…" } else { "" };
    format!("{}{cut}{}", dots(start > 0), dots(start + cut.len() < text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefix::common;

    fn tool(name: &str, rest: &str) -> String {
        format!(r#"{{"type":"function","function":{{"name":"{name}"{rest}}}}}"#)
    }

    fn body(tools: &[String], messages: &[&str]) -> String {
        format!(r#"{{"tools":[{}],"messages":[{}]}}"#, tools.join(","), messages.join(","))
    }

    #[track_caller]
    fn check(a: &str, b: &str, expect: Option<(Class, &str)>) {
        let read = |text| Prompt::from_body(text, None).unwrap();
        let (a, b) = (read(a), read(b));
        let found = culprit(&a, &b, common(&a, &b));
        assert_eq!(found.as_ref().map(|found| (found.class, found.pointer.as_str())), expect);
    }

    const GO: &str = r#"{"role":"user","content":"go"}"#;
    const ON: &str = r#"{"role":"assistant","content":"on"}"#;
    const OFF: &str = r#"{"role":"user","content":"off"}"#;
    const SYSTEM: &str = r#"{"role":"system","content":"s 1"}"#;

    #[test]
    fn appending_is_no_break() {
        check(&body(&[], &[GO]), &body(&[], &[GO, ON]), None);
        check(&body(&[], &[GO]), &body(&[], &[GO]), None);
    }

    #[test]
    fn tools_are_told_apart() {
        let (a, b, c) = (tool("a", ""), tool("b", ""), tool("c", ""));
        let with = |tools: &[&String]| body(&tools.iter().map(|t| (*t).clone()).collect::<Vec<_>>(), &[GO]);
        check(&with(&[&a, &b]), &with(&[&b, &a]), Some((Class::ToolOrder, "/tools/0/function/name")));
        check(&with(&[&a, &c]), &with(&[&a, &b, &c]), Some((Class::ToolSet, "/tools/1/function/name")));
        check(&with(&[&a, &b]), &with(&[&a]), Some((Class::ToolSet, "/tools/1")));
        check(&with(&[&a]), &with(&[&a, &b]), Some((Class::ToolAppended, "/tools/1")));
        let other = tool("b", r#","description":"2""#);
        check(&with(&[&a, &b]), &with(&[&a, &other]), Some((Class::ToolBytes, "/tools/1/function/description")));
    }

    #[test]
    fn system_text_and_history_are_told_apart() {
        let system = SYSTEM.replace('1', "2");
        check(&body(&[], &[SYSTEM, GO]), &body(&[], &[&system, GO]), Some((Class::System, "/messages/0/content")));
        check(&body(&[], &[SYSTEM, GO]), &body(&[], &[GO]), Some((Class::System, "/messages/0")));
        check(&body(&[], &[GO, ON]), &body(&[], &[GO, OFF]), Some((Class::HistoryRewrite, "/messages/1/role")));
        check(&body(&[], &[GO, ON, OFF]), &body(&[], &[GO, OFF]), Some((Class::HistoryDrop, "/messages/1/role")));
        check(&body(&[], &[GO, ON]), &body(&[], &[GO]), Some((Class::HistoryDrop, "/messages/1")));
        check(
            r#"{"messages":[],"response_format":{"a":1}}"#,
            r#"{"messages":[],"response_format":{"a":2}}"#,
            Some((Class::Param, "/response_format/a")),
        );
    }

    #[test]
    fn a_message_that_grows_by_a_block_is_appended_to() {
        let with = |blocks: &str| format!(r#"{{"system":"s","messages":[{{"role":"user","content":[{blocks}]}}]}}"#);
        let (one, two) = (r#"{"type":"text","text":"1"}"#, r#"{"type":"text","text":"2"}"#);
        check(&with(one), &with(&format!("{one}, {two}")), None);
        check(&with(one), &with(two), Some((Class::HistoryRewrite, "/messages/0/content/0/text")));
    }

    #[test]
    fn what_is_shown_is_short_and_whole_characters() {
        assert_eq!(around(&"ü".repeat(200), 101).chars().count(), 82);
        assert_eq!(around("", 5), "");
    }
}
