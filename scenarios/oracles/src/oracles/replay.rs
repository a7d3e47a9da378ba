//! O55: calls go back in a form that a provider takes.

use crate::Finding;
use crate::trace::WireTrace;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// O55: the arguments of every call in a history are the text of one JSON object. Each call is told once.
pub fn arguments_are_objects(trace: &WireTrace) -> Vec<Finding> {
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for request in &trace.requests {
        for call in request.calls() {
            let Err(error) = serde_json::from_str::<Map<String, Value>>(&call.arguments) else { continue };
            if told.insert((call.id.as_str(), call.arguments.as_str())) {
                findings.push(Finding::new(
                    "ARG-03",
                    "history-not-json",
                    format!("request {}, call {}", request.index, call.id),
                    format!("the arguments of the call go back as no JSON object ({error}), so a provider rejects the whole request"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{WireCall, WireItem, WireRequest};

    #[track_caller]
    fn check(arguments: &[&str], expect: usize) {
        let calls =
            arguments.iter().map(|text| WireCall { arguments: (*text).into(), ..WireCall::default() }).collect();
        let items = vec![WireItem::Assistant { text: String::new(), calls }];
        let request = WireRequest { items, ..WireRequest::default() };
        // A history repeats itself in every later request; what is wrong with it is told once.
        let trace = WireTrace { requests: vec![request.clone(), request], ..WireTrace::default() };
        assert_eq!(arguments_are_objects(&trace).len(), expect);
    }

    #[test]
    fn objects_are_taken() {
        check(&["{}", r#" {"a":1e2} "#, r#"{"a":92233720368547758070}"#], 0);
    }

    #[test]
    fn everything_else_is_found() {
        check(&["", "{", "[]", "null", r#""{}""#, "{} x", r#"{"a":NaN}"#, r#"{"a":"\ud83e"}"#], 8);
    }
}
