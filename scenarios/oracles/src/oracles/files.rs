//! O30: the world outside the workspace.

use super::effects::changed;
use crate::Finding;
use crate::trace::{WireItem, WireTrace};

/// O30: nothing outside the workspace changes (PATH-02), and nothing that was planted there is ever sent (PATH-01).
pub fn nothing_outside(trace: &WireTrace) -> Vec<Finding> {
    let mut findings: Vec<Finding> = changed(&trace.outside)
        .into_iter()
        .map(|path| {
            Finding::new(
                "PATH-02",
                "outside-changed",
                path,
                "the path lies outside the workspace, and differs after the run",
            )
        })
        .collect();
    // Only results count: a canary in the prompt or in a scripted argument proves nothing.
    for request in &trace.requests {
        for item in &request.items {
            let WireItem::ToolResult { call_id, content, .. } = item else { continue };
            for canary in trace.canaries.iter().filter(|c| content.contains(c.as_str())) {
                findings.push(Finding::new(
                    "PATH-01",
                    "outside-read",
                    format!("request {}, call {call_id}", request.index),
                    format!("the result holds {canary:?}, which was planted outside the workspace"),
                ));
            }
        }
    }
    // The history repeats a result in every later request; one finding for each call is enough.
    findings.sort_by(|a, b| (call_of(a), &a.cause).cmp(&(call_of(b), &b.cause)));
    findings.dedup_by(|a, b| a.cause == "outside-read" && b.cause == a.cause && call_of(a) == call_of(b));
    findings
}

fn call_of(finding: &Finding) -> &str {
    finding.at.split_once(", ").map_or(finding.at.as_str(), |(_, call)| call)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Node, WireRequest};

    fn request(index: usize, content: &str) -> WireRequest {
        let item = WireItem::ToolResult { call_id: "c1".into(), content: content.into(), is_error: None };
        WireRequest { index, items: vec![item], ..WireRequest::default() }
    }

    #[test]
    fn a_canary_in_a_result_is_found_once() {
        let trace = WireTrace {
            canaries: vec!["CANARY-7".into()],
            requests: vec![request(1, "x CANARY-7 y"), request(2, "x CANARY-7 y")],
            ..WireTrace::default()
        };
        let found = nothing_outside(&trace);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].cause.as_str(), found[0].at.as_str()), ("outside-read", "request 1, call c1"));
    }

    #[test]
    fn a_clean_result_is_clean() {
        let trace = WireTrace {
            canaries: vec!["CANARY-7".into()],
            requests: vec![request(1, "path escapes workspace")],
            ..WireTrace::default()
        };
        assert_eq!(nothing_outside(&trace), []);
    }

    #[test]
    fn a_new_changed_or_missing_path_outside_is_found() {
        let mut trace = WireTrace::default();
        trace.outside.before.insert("outside/a".into(), Node::text("1"));
        trace.outside.before.insert("outside/b".into(), Node::Dir { mode: 0 });
        trace.outside.after.insert("outside/a".into(), Node::text("2"));
        trace.outside.after.insert("home/new".into(), Node::Dir { mode: 0 });
        let found: Vec<_> = nothing_outside(&trace).into_iter().map(|f| f.at).collect();
        assert_eq!(found, ["home/new", "outside/a", "outside/b"]);
    }
}
