//! O11, O16 and O53: two runs that must agree.

use crate::Finding;
use crate::trace::{Trace, WireItem, WireRequest, WireTool};

/// O11: `with` is a run with a bad tool, `without` the same run without it. Every tool that both advertise must be
/// advertised in the same bytes and the same order.
pub fn other_tools_unchanged(without: &Trace, with: &Trace) -> Vec<Finding> {
    let (Some(a), Some(b)) = (without.wire.requests.first(), with.wire.requests.first()) else { return Vec::new() };
    let good: Vec<&WireTool> = a.tools.iter().collect();
    let kept: Vec<&WireTool> = b.tools.iter().filter(|t| good.iter().any(|g| g.name == t.name)).collect();
    if good.len() == kept.len() && good.iter().zip(&kept).all(|(x, y)| x.raw == y.raw) {
        return Vec::new();
    }
    let culprit = good
        .iter()
        .find(|g| !kept.iter().any(|k| k.raw == g.raw))
        .map_or_else(|| "the order of the tools".to_owned(), |g| format!("tool {}", g.name));
    vec![Finding::new(
        "REG-05",
        "bad-tool-touched-others",
        format!("request 0, {culprit}"),
        "a tool that cannot be registered changed what is said of the others",
    )]
}

/// O16: the tools and the system text of two runs of one script are the same bytes.
pub fn prompt_is_stable(first: &Trace, second: &Trace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (a, b) in first.wire.requests.iter().zip(&second.wire.requests) {
        let (system_a, system_b) = (system_text(a), system_text(b));
        for (what, x, y) in [("tools", &a.raw.tools, &b.raw.tools), ("system text", &system_a, &system_b)] {
            if x != y {
                findings.push(Finding::new(
                    "CAT-02",
                    "volatile-prompt",
                    format!("request {}, {what}", a.index),
                    format!("two runs differ at byte {}: {} / {}", split(x, y), near(x, y), near(y, x)),
                ));
            }
        }
    }
    findings.truncate(1);
    findings
}

/// All system text of a request: dialects differ in whether it has a field of its own or stands among the messages.
fn system_text(request: &WireRequest) -> String {
    let items = request.items.iter().filter_map(|item| match item {
        WireItem::System { text } => Some(text.as_str()),
        _ => None,
    });
    std::iter::once(request.raw.system.as_str()).chain(items).collect::<Vec<_>>().join("\n")
}

/// O53: the event logs of two runs of one script are the same.
pub fn same_log(first: &Trace, second: &Trace) -> Vec<Finding> {
    let (Some(a), Some(b)) = (&first.runtime, &second.runtime) else { return Vec::new() };
    if a == b {
        return Vec::new();
    }
    let at = a.events.iter().zip(&b.events).position(|(x, y)| x != y).unwrap_or(a.events.len().min(b.events.len()));
    let show = |events: &[serde_json::Value]| events.get(at).map_or("nothing".to_owned(), ToString::to_string);
    vec![Finding::new(
        "LIVE-03",
        "log-differs",
        format!("event {at}"),
        format!("the first run logged {}, the second {}", show(&a.events), show(&b.events)),
    )]
}

/// The first byte at which two texts differ.
fn split(x: &str, y: &str) -> usize {
    x.bytes().zip(y.bytes()).position(|(a, b)| a != b).unwrap_or(x.len().min(y.len()))
}

/// What `x` says around the place where it leaves `y`.
fn near(x: &str, y: &str) -> String {
    let at = split(x, y);
    let mut start = at.saturating_sub(10);
    while !x.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = (at + 30).min(x.len());
    while !x.is_char_boundary(end) {
        end += 1;
    }
    format!("{:?}", &x[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{RawParts, RuntimeTrace, WireTrace};
    use serde_json::json;

    fn trace(tools: &[(&str, &str)], system: &str) -> Trace {
        let tools: Vec<WireTool> = tools
            .iter()
            .map(|(name, raw)| WireTool { name: (*name).into(), raw: (*raw).into(), ..WireTool::default() })
            .collect();
        let joined: Vec<&str> = tools.iter().map(|t| t.raw.as_str()).collect();
        let raw = RawParts { tools: joined.join(","), system: system.into(), items: Vec::new() };
        let requests = vec![WireRequest { tools, raw, ..WireRequest::default() }];
        Trace { wire: WireTrace { requests, ..WireTrace::default() }, runtime: None }
    }

    #[test]
    fn a_bad_tool_may_be_added_and_nothing_else() {
        let base = trace(&[("a", "A"), ("b", "B")], "");
        assert_eq!(other_tools_unchanged(&base, &trace(&[("a", "A"), ("bad", "X"), ("b", "B")], "")), []);
        for other in
            [trace(&[("a", "A2"), ("b", "B")], ""), trace(&[("b", "B"), ("a", "A")], ""), trace(&[("a", "A")], "")]
        {
            assert_eq!(other_tools_unchanged(&base, &other)[0].cause, "bad-tool-touched-others");
        }
    }

    #[test]
    fn a_clock_in_the_prompt_is_found() {
        let found = prompt_is_stable(&trace(&[], "it is 10:00"), &trace(&[], "it is 10:01"));
        assert_eq!(found[0].at, "request 0, system text");
        assert_eq!(prompt_is_stable(&trace(&[("a", "A")], "s"), &trace(&[("a", "A")], "s")), []);
        assert_eq!(prompt_is_stable(&trace(&[("a", "A")], "s"), &trace(&[("a", "é")], "s")).len(), 1);
        let message = |text: &str| {
            let mut trace = trace(&[], "");
            trace.wire.requests[0].items.push(WireItem::System { text: text.into() });
            trace
        };
        assert_eq!(prompt_is_stable(&message("process 7"), &message("process 8")).len(), 1);
        assert_eq!(prompt_is_stable(&message("same"), &message("same")), []);
    }

    #[test]
    fn logs_that_differ_are_found_at_the_first_difference() {
        let log = |n: i32| Trace {
            runtime: Some(RuntimeTrace { events: vec![json!({"event": "a"}), json!({"n": n})] }),
            ..Trace::default()
        };
        assert_eq!(same_log(&log(1), &log(1)), []);
        assert_eq!(same_log(&log(1), &log(2))[0].at, "event 1");
    }
}
