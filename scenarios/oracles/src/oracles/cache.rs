//! O56 to O58: requests keep the prefix that a provider has seen, and mark it where it must be marked.

use crate::Finding;
use crate::prefix::culprit::culprit;
use crate::prefix::simulate::Simulator;
use crate::prefix::{Class, Culprit, Dialect, Mode, Prompt, Provider, common, tokens};
use crate::trace::{RuntimeTrace, WireTrace};

/// How many blocks before a marker Anthropic looks at.
pub const LOOKBACK: usize = 20;

/// How many markers it takes.
pub const MOST_MARKS: usize = 4;

/// The events by which the reference runtime declares that its next request need not repeat the last one.
pub const DECLARING: &[&str] = &["catalog_changed", "compacted", "conversation_cleared", "model_switched"];

/// O56: every request repeats the one before it, in the order in which its provider renders it. Tools that only come behind
/// all others are no finding here: what is declared cannot be seen on the wire, see [`late_tools_are_declared`].
pub fn prefix_is_kept(trace: &WireTrace) -> Vec<Finding> {
    let prompts: Vec<Prompt<'_>> = trace.requests.iter().map(Prompt::from_wire).collect();
    let pairs = prompts.iter().zip(prompts.iter().skip(1)).zip(trace.requests.iter().skip(1));
    pairs.filter_map(|((last, next), request)| broken(last, next).map(|found| finding(request.index, found))).collect()
}

/// What broke the prefix, late tools set aside.
fn broken(last: &Prompt<'_>, next: &Prompt<'_>) -> Option<Culprit> {
    let found = culprit(last, next, common(last, next))?;
    if found.class != Class::ToolAppended {
        return Some(found);
    }
    let (last, next) = (last.without_tools(), next.without_tools());
    culprit(&last, &next, common(&last, &next))
}

fn finding(index: usize, culprit: Culprit) -> Finding {
    let rule = match culprit.class {
        Class::ToolOrder | Class::ToolBytes | Class::ToolSet | Class::ToolAppended => "CACHE-01",
        Class::System | Class::Param => "CACHE-02",
        Class::HistoryRewrite | Class::HistoryDrop => "CACHE-03",
    };
    let Culprit { pointer, class, before, after } = culprit;
    let detail = format!("it does not repeat the request before it: {before:?} became {after:?}");
    Finding::new(rule, class.name(), format!("request {index}, {pointer}"), detail)
}

/// For each request in turn, the event since the one before it that declared it need not repeat that one.
pub fn declared(runtime: &RuntimeTrace) -> Vec<Option<&str>> {
    let (mut declared, mut last) = (Vec::new(), None);
    for name in runtime.lane("session").filter_map(|event| event["event"].as_str()) {
        match name {
            "request_sent" => declared.push(last.take()),
            name if DECLARING.contains(&name) => last = Some(name),
            _ => {}
        }
    }
    declared
}

/// O57: tools that come behind all others move everything behind them, so an event must say that they came.
pub fn late_tools_are_declared(trace: &WireTrace, runtime: &RuntimeTrace) -> Vec<Finding> {
    let declared = declared(runtime);
    let prompts: Vec<Prompt<'_>> = trace.requests.iter().map(Prompt::from_wire).collect();
    let pairs = prompts.iter().zip(prompts.iter().skip(1)).zip(trace.requests.iter().skip(1)).enumerate();
    pairs
        .filter_map(|(at, ((last, next), request))| {
            let found = culprit(last, next, common(last, next))?;
            let silent = declared.get(at + 1).copied().flatten().is_none();
            (found.class == Class::ToolAppended && silent).then(|| {
                Finding::new(
                    "CACHE-04",
                    "late-tool-undeclared",
                    format!("request {}, {}", request.index, found.pointer),
                    "a tool came behind the others, and no event says so, although everything behind it is sent again",
                )
            })
        })
        .collect()
}

/// O58: where a provider keeps only what is marked, each request finds what the one before it wrote.
pub fn marks_are_found(trace: &WireTrace) -> Vec<Finding> {
    let rules = marked();
    let prompts: Vec<Prompt<'_>> = trace.requests.iter().map(Prompt::from_wire).collect();
    let mut cache = Simulator::new(&rules);
    let mut findings = Vec::new();
    let mut last: Option<&Prompt<'_>> = None;
    for (prompt, request) in prompts.iter().zip(&trace.requests) {
        if prompt.dialect != Dialect::Anthropic {
            return Vec::new();
        }
        let hit = cache.take(prompt, None);
        let mut found = |cause: &str, detail: String| {
            findings.push(Finding::new("CACHE-05", cause, format!("request {}", request.index), detail));
        };
        let marks = prompt.parts().iter().filter(|part| part.marked).count();
        if hit.refused {
            found("too-many-marks", format!("it has {marks} cache markers, and the provider takes {MOST_MARKS}"));
        } else if marks == 0 {
            found("unmarked", "it has no cache marker, so that nothing of it is kept".to_owned());
        } else if let Some(last) = last {
            // What the last marker of the request before closed, where this one repeats it.
            let same = common(last, prompt).parts;
            let closed = last.parts().iter().take(same).rposition(|part| part.marked);
            let kept = closed.map_or(0, |at| tokens(last.bytes_of(at + 1)));
            if hit.read < kept {
                let read = hit.read;
                found("out-of-reach", format!("its markers find {read} of the {kept} tokens that were kept before it"));
            }
        }
        last = Some(prompt);
    }
    findings
}

/// Anthropic without its least length: markers are judged whatever the size of a test is.
fn marked() -> Provider {
    Provider {
        id: "anthropic".to_owned(),
        dialects: vec![Dialect::Anthropic],
        lookback: Some(LOOKBACK),
        most_marks: Some(MOST_MARKS),
        ..Provider::nameless(Mode::Marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{RawParts, WireRequest};
    use serde_json::json;

    fn request(index: usize, dialect: &str, tools: &str, system: &str, items: &[String]) -> WireRequest {
        let raw = RawParts { tools: format!("[{tools}]"), system: system.into(), items: items.to_vec() };
        WireRequest { index, dialect: dialect.into(), raw, ..WireRequest::default() }
    }

    fn trace(requests: Vec<WireRequest>) -> WireTrace {
        WireTrace { requests, ..WireTrace::default() }
    }

    fn tool(name: &str) -> String {
        format!(r#"{{"name":"{name}"}}"#)
    }

    fn user(text: &str) -> String {
        format!(r#"{{"role":"user","content":"{text}"}}"#)
    }

    /// Two requests as (tools, system, items); what is found as rule, cause and place.
    #[track_caller]
    fn check(first: (&str, &str, &[&str]), second: (&str, &str, &[&str]), expect: &[(&str, &str, &str)]) {
        let of = |index, (tools, system, items): (&str, &str, &[&str])| {
            let tools: Vec<String> = tools.split_whitespace().map(tool).collect();
            let items: Vec<String> = items.iter().map(|text| user(text)).collect();
            let system = format!("{system:?}");
            request(index, "anthropic", &tools.join(","), &system, &items)
        };
        let found = prefix_is_kept(&trace(vec![of(0, first), of(1, second)]));
        let found: Vec<_> = found.iter().map(|f| (f.rule.0.as_str(), f.cause.as_str(), f.at.as_str())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn breaks_are_told_by_what_was_changed() {
        let first = ("a b", "s", &["1", "2"][..]);
        check(first, ("a b", "s", &["1", "2", "3"]), &[]);
        check(first, ("b a", "s", &["1", "2"]), &[("CACHE-01", "tool-order", "request 1, /tools/0/name")]);
        check(first, ("a", "s", &["1", "2"]), &[("CACHE-01", "tool-set", "request 1, /tools/1")]);
        check(first, ("a b", "t", &["1", "2"]), &[("CACHE-02", "system", "request 1, /system/text")]);
        let history = [("CACHE-03", "history-rewrite", "request 1, /messages/1/content/0/text")];
        check(first, ("a b", "s", &["1", "3"]), &history);
        check(first, ("a b", "s", &["1"]), &[("CACHE-03", "history-drop", "request 1, /messages/1")]);
    }

    #[test]
    fn late_tools_hide_nothing() {
        check(("a", "s", &["1"]), ("a b", "s", &["1", "2"]), &[]);
        check(("a", "s", &["1"]), ("a b", "t", &["1"]), &[("CACHE-02", "system", "request 1, /system/text")]);
    }

    #[test]
    fn late_tools_are_declared_or_found() {
        let items = [user("1")];
        let requests = [tool("a"), [tool("a"), tool("b")].join(",")];
        let requests = (0..).zip(&requests).map(|(at, tools)| request(at, "chat", tools, "", &items));
        let wire = trace(requests.collect());
        let sent = json!({"lane": "session", "event": "request_sent"});
        let told = json!({"lane": "session", "event": "catalog_changed"});
        let found = |events: &[&serde_json::Value]| {
            let events = events.iter().map(|event| (*event).clone()).collect();
            late_tools_are_declared(&wire, &RuntimeTrace { events }).len()
        };
        assert_eq!(found(&[&sent, &told, &sent]), 0);
        assert_eq!(found(&[&sent, &sent]), 1);
        assert_eq!(found(&[&told, &sent, &sent]), 1);
        assert_eq!(found(&[&sent, &sent, &told]), 1);
    }

    /// Requests of one message, its blocks given by letters with `*` behind those that are marked.
    #[track_caller]
    fn check_marks(requests: &[&str], expect: &[&str]) {
        let body = |text: &str| {
            let blocks = text.chars().filter(|c| *c != '*').enumerate().map(|(at, c)| {
                let marked = text.chars().filter(|c| *c != '*').count() > at && nth_is_marked(text, at);
                let mark = if marked { r#","cache_control":{"type":"ephemeral"}"# } else { "" };
                format!(r#"{{"type":"text","text":"{c}"{mark}}}"#)
            });
            let blocks: Vec<String> = blocks.collect();
            format!(r#"{{"role":"user","content":[{}]}}"#, blocks.join(","))
        };
        let requests = requests.iter().enumerate();
        let requests = requests.map(|(at, text)| request(at, "anthropic", "", "", &[body(text)])).collect();
        let found: Vec<String> = marks_are_found(&trace(requests)).into_iter().map(|f| f.cause).collect();
        assert_eq!(found, expect);
    }

    fn nth_is_marked(text: &str, nth: usize) -> bool {
        let at = text.char_indices().filter(|(_, c)| *c != '*').nth(nth).map(|(at, _)| at + 1);
        at.is_some_and(|at| text[at..].starts_with('*'))
    }

    #[test]
    fn markers_must_reach_what_was_kept() {
        check_marks(&["a*", "ab*"], &[]);
        check_marks(&["a", "ab*"], &["unmarked"]);
        check_marks(&["a*b*c*d*e*"], &["too-many-marks"]);
        let far = "abcdefghijklmnopqrstuvwxyz";
        check_marks(&["a*", &format!("{far}*")], &["out-of-reach"]);
        check_marks(&["a*", &format!("a*{}*", &far[1..])], &[]);
        // What was changed needs no finding.
        check_marks(&["ab*", &format!("c{far}*")], &[]);
    }

    #[test]
    fn other_dialects_need_no_markers() {
        assert_eq!(marks_are_found(&trace(vec![request(0, "chat", "", "", &[user("1")])])), []);
    }
}
