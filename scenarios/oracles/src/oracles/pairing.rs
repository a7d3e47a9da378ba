//! O01: call ids and their results.
//!
//! The law is the providers' own: each of the three dialects answers a request that breaks it with an error, which ends
//! the session for good, because the fault sits in the history.

use crate::Finding;
use crate::trace::{WireItem, WireRequest, WireTrace};
use std::collections::BTreeMap;

/// Judges every request of a run.
///
/// A scripted call that the runtime could not even represent is judged as well: a turn that was served with its terminal
/// signal and is followed by another request must have each of its calls answered there.
pub fn check(trace: &WireTrace) -> Vec<Finding> {
    let mut findings: Vec<Finding> = trace.requests.iter().flat_map(check_request).collect();
    findings.extend(check_served(trace));
    findings
}

/// Judges one request by itself, as a provider would.
pub fn check_request(request: &WireRequest) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Calls of the assistant turn under judgement that wait for a result, in order, and how many they have.
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut order: Vec<String> = Vec::new();
    for item in &request.items {
        match item {
            WireItem::Assistant { calls, .. } => {
                close(request, &mut open, &mut order, &mut findings);
                for call in calls {
                    if call.id.is_empty() {
                        findings.push(Finding::new(
                            "PAIR-03",
                            "empty-id",
                            at(request, &call.name),
                            "a call is replayed with an empty id",
                        ));
                    } else if open.iter().any(|(id, _)| *id == call.id) {
                        findings.push(Finding::new(
                            "PAIR-03",
                            "duplicate-call-id",
                            at(request, &call.id),
                            "two calls of one turn are replayed under the same id",
                        ));
                    } else {
                        open.push((call.id.clone(), 0));
                    }
                }
            }
            WireItem::ToolResult { call_id, .. } => match open.iter_mut().find(|(id, _)| id == call_id) {
                Some((_, count)) => {
                    *count += 1;
                    if *count == 1 {
                        order.push(call_id.clone());
                    } else {
                        findings.push(Finding::new(
                            "PAIR-01",
                            "duplicate-result",
                            at(request, call_id),
                            format!("the call has {count} results, expected exactly one"),
                        ));
                    }
                }
                None => findings.push(Finding::new(
                    "PAIR-03",
                    "orphan-result",
                    at(request, call_id),
                    "the result answers no call of the assistant turn before it",
                )),
            },
            WireItem::User { .. } | WireItem::System { .. } => close(request, &mut open, &mut order, &mut findings),
        }
    }
    close(request, &mut open, &mut order, &mut findings);
    findings
}

/// Ends the assistant turn under judgement: whatever is still open has no result.
fn close(request: &WireRequest, open: &mut Vec<(String, usize)>, order: &mut Vec<String>, findings: &mut Vec<Finding>) {
    for (id, _) in open.iter().filter(|(_, count)| *count == 0) {
        findings.push(Finding::new(
            "PAIR-01",
            "missing-result",
            at(request, id),
            "the call has no result before the next message",
        ));
    }
    let expected: Vec<&String> = open.iter().filter(|(_, count)| *count > 0).map(|(id, _)| id).collect();
    if expected.len() == order.len() && expected.iter().zip(order.iter()).any(|(a, b)| *a != b) {
        findings.push(Finding::new(
            "PAIR-02",
            "result-order",
            format!("request {}", request.index),
            format!("results came in order {order:?}, the calls in order {expected:?}"),
        ));
    }
    open.clear();
    order.clear();
}

/// Every call of a turn that ended cleanly must be answered in the first request that continues it.
fn check_served(trace: &WireTrace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for turn in trace.served.iter().filter(|t| t.times > 0 && t.terminal && !t.calls.is_empty()) {
        // The first request that is answered by a later turn, or by none, after this turn was served.
        let Some(first) = trace.requests.iter().position(|r| r.turn == Some(turn.index)) else { continue };
        let next = trace.requests[first..].iter().find(|r| r.turn != Some(turn.index));
        let Some(next) = next else { continue };
        let mut answered: BTreeMap<&str, usize> = BTreeMap::new();
        for (id, _) in next.results() {
            *answered.entry(id).or_default() += 1;
        }
        for call in turn.calls.iter().filter(|c| !c.id.is_empty() && !answered.contains_key(c.id.as_str())) {
            // A history that replays the call without a result is reported by `check_request` already.
            if next.calls().any(|c| c.id == call.id) {
                continue;
            }
            findings.push(Finding::new(
                "PAIR-01",
                "call-dropped",
                at(next, &call.id),
                "the call was served in a turn that ended cleanly, and is neither replayed nor answered",
            ));
        }
    }
    findings
}

fn at(request: &WireRequest, call: &str) -> String {
    format!("request {}, call {call}", request.index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ServedCall, ServedTurn, WireCall};

    /// A request from one line: `u` user, `a:c1,c2` an assistant with calls, `r:c1` a result.
    fn request(index: usize, line: &str) -> WireRequest {
        let items = line
            .split_whitespace()
            .map(|word| match word.split_once(':') {
                Some(("a", ids)) => WireItem::Assistant {
                    text: String::new(),
                    calls: ids
                        .split(',')
                        .map(|id| WireCall { id: id.to_owned(), name: "read_file".into(), arguments: "{}".into() })
                        .collect(),
                },
                Some(("r", id)) => {
                    WireItem::ToolResult { call_id: id.to_owned(), content: "ok".into(), is_error: None }
                }
                _ => WireItem::User { text: word.to_owned() },
            })
            .collect();
        WireRequest { index, dialect: "chat".into(), items, ..WireRequest::default() }
    }

    #[track_caller]
    fn check_line(line: &str, expect: &[&str]) {
        let found: Vec<String> =
            check_request(&request(0, line)).into_iter().map(|f| format!("{} {}", f.rule, f.cause)).collect();
        assert_eq!(found, expect, "{line}");
    }

    #[test]
    fn one_result_each_in_order_is_clean() {
        check_line("u a:c1,c2 r:c1 r:c2 a:c3 r:c3", &[]);
    }

    #[test]
    fn a_call_without_a_result_is_missing() {
        check_line("u a:c1,c2 r:c1", &["PAIR-01 missing-result"]);
        check_line("u a:c1 u", &["PAIR-01 missing-result"]);
    }

    #[test]
    fn two_results_for_one_call_are_one_too_many() {
        check_line("u a:c1 r:c1 r:c1", &["PAIR-01 duplicate-result"]);
    }

    #[test]
    fn results_in_completion_order_are_out_of_order() {
        check_line("u a:c1,c2 r:c2 r:c1", &["PAIR-02 result-order"]);
    }

    #[test]
    fn a_result_for_no_call_is_an_orphan() {
        check_line("u a:c1 r:c1 r:zz", &["PAIR-03 orphan-result"]);
        check_line("u r:c1", &["PAIR-03 orphan-result"]);
    }

    #[test]
    fn empty_and_repeated_ids_are_named() {
        check_line("u a:c1,c1 r:c1", &["PAIR-03 duplicate-call-id"]);
        check_line("u a:,c1 r:c1", &["PAIR-03 empty-id"]);
    }

    #[test]
    fn a_served_call_that_vanishes_is_found() {
        let call = ServedCall { id: "c1".into(), name: "read_file".into(), arguments: "{}".into() };
        let turn = ServedTurn { index: 0, times: 1, terminal: true, calls: vec![call], ..ServedTurn::default() };
        let mut first = request(0, "u");
        first.turn = Some(0);
        let mut second = request(1, "u u");
        second.turn = Some(1);
        let trace = WireTrace { served: vec![turn], requests: vec![first, second], ..WireTrace::default() };
        let found: Vec<_> = check(&trace).into_iter().map(|f| f.cause).collect();
        assert_eq!(found, ["call-dropped"]);
    }
}
