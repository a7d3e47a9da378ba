//! O18, O19 and O26: what the reference runtime's own events say about approval.
//!
//! The derivation of the level is stated here a second time and independently, so that a runtime that derives wrongly
//! cannot agree with itself.

use crate::Finding;
use crate::trace::{RuntimeTrace, WireTrace};
use serde_json::Value;
use std::collections::BTreeMap;

/// O18: every call that reached the approval stage had at least the level that its tool's capabilities demand.
pub fn level_is_derived(_wire: &WireTrace, runtime: &RuntimeTrace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for event in runtime.named("approval_level") {
        let capabilities: Vec<&str> =
            event["capabilities"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let demanded = if ["executes_code", "requires_approval", "unknown"].iter().any(|c| capabilities.contains(c))
            || capabilities.is_empty()
        {
            "required"
        } else if capabilities.contains(&"writes_files") || capabilities.contains(&"network") {
            "suggest"
        } else {
            "auto"
        };
        let derived = event["derived"].as_str().unwrap_or_default();
        if derived != demanded {
            findings.push(Finding::new(
                "APPR-01",
                "wrong-level",
                lane(event),
                format!("capabilities {capabilities:?} demand {demanded}, the runtime derived {derived:?}"),
            ));
        }
        // A tool may raise the level of one input. It is lowered only for code that was found to look and do nothing else;
        // what is unknown, or wishes to be asked about, never is.
        let level = event["level"].as_str().unwrap_or_default();
        let looks = event["lowered"] == "read_only" && capabilities == ["executes_code"];
        if rank(level) < rank(demanded) && !looks {
            findings.push(Finding::new(
                "APPR-01",
                "level-lowered",
                lane(event),
                format!("capabilities {capabilities:?} demand {demanded}, and the call was held to {level:?}"),
            ));
        }
    }
    findings
}

/// How much a level asks for; a word that is no level asks for nothing.
fn rank(level: &str) -> u8 {
    match level {
        "auto" => 1,
        "suggest" => 2,
        "required" => 3,
        _ => 0,
    }
}

/// O19: a call that had to be asked about was approved before it started.
pub fn approved_before_run(_wire: &WireTrace, runtime: &RuntimeTrace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (lane, events) in lanes(runtime) {
        let Some(start) = events.iter().position(|e| e["event"] == "started") else { continue };
        let before = &events[..start];
        let level = before.iter().find(|e| e["event"] == "approval_level").map(|e| &e["level"]);
        let approved = before.iter().any(|e| e["event"] == "approval_decided" && e["decision"] == "approved");
        let cause = match level {
            None => "no-level",
            Some(level) if level != "auto" && !approved => "not-approved",
            Some(_) => continue,
        };
        findings.push(Finding::new(
            "APPR-02",
            cause,
            lane,
            "the call started, and no approval stands before it in its lane",
        ));
    }
    findings
}

/// O26: nobody is asked about a call before its input was found valid.
pub fn validated_before_asked(_wire: &WireTrace, runtime: &RuntimeTrace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (lane, events) in lanes(runtime) {
        let Some(asked) = events.iter().position(|e| e["event"] == "approval_asked") else { continue };
        let valid = events[..asked].iter().any(|e| e["event"] == "validated");
        let refused = events.iter().any(|e| e["event"] == "refused" && e["stage"] == "validate");
        if !valid || refused {
            findings.push(Finding::new(
                "APPR-05",
                "asked-about-invalid",
                lane,
                "a person was asked about a call whose input had not been found valid",
            ));
        }
    }
    findings
}

fn lane(event: &Value) -> String {
    event["lane"].as_str().unwrap_or("no lane").to_owned()
}

/// The events of each call lane, in order.
fn lanes(runtime: &RuntimeTrace) -> BTreeMap<String, Vec<&Value>> {
    let mut lanes: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for event in runtime.events.iter().filter(|e| e["lane"].as_str().is_some_and(|l| l.starts_with("call:"))) {
        lanes.entry(lane(event)).or_default().push(event);
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    type Check = fn(&WireTrace, &RuntimeTrace) -> Vec<Finding>;

    /// Events of lane `call:c1` from their bodies.
    #[track_caller]
    fn check(oracle: Check, events: &[Value], expect: &[&str]) {
        let events = events
            .iter()
            .map(|e| {
                let mut e = e.clone();
                e["lane"] = json!("call:c1");
                e
            })
            .collect();
        let found = oracle(&WireTrace::default(), &RuntimeTrace { events });
        assert_eq!(found.iter().map(|f| f.cause.as_str()).collect::<Vec<_>>(), expect);
    }

    fn level(capabilities: &[&str], derived: &str) -> Value {
        json!({"event": "approval_level", "capabilities": capabilities, "derived": derived, "level": derived})
    }

    #[test]
    fn the_level_that_capabilities_demand_is_clean() {
        check(level_is_derived, &[level(&["executes_code"], "required")], &[]);
        check(level_is_derived, &[level(&["writes_files"], "suggest")], &[]);
        check(level_is_derived, &[level(&["read_only"], "auto")], &[]);
    }

    #[test]
    fn a_lower_level_is_found() {
        let both = ["wrong-level", "level-lowered"];
        check(level_is_derived, &[level(&["executes_code"], "suggest")], &both);
        check(level_is_derived, &[level(&["read_only", "unknown"], "auto")], &both);
        check(level_is_derived, &[level(&[], "auto")], &both);
        check(level_is_derived, &[level(&["read_only"], "suggest")], &["wrong-level"]);
    }

    #[test]
    fn only_code_that_looks_is_held_to_less() {
        let held = |capabilities: &[&str], lowered: &str| {
            json!({"event": "approval_level", "capabilities": capabilities, "derived": "required", "level": "auto",
                "lowered": lowered})
        };
        check(level_is_derived, &[held(&["executes_code"], "read_only")], &[]);
        check(level_is_derived, &[held(&["executes_code"], "trusted")], &["level-lowered"]);
        check(level_is_derived, &[held(&["unknown"], "read_only")], &["level-lowered"]);
        check(level_is_derived, &[held(&["executes_code", "requires_approval"], "read_only")], &["level-lowered"]);
        check(level_is_derived, &[held(&["executes_code", "network"], "read_only")], &["level-lowered"]);
    }

    #[test]
    fn an_input_may_raise_the_level_and_not_lower_it() {
        let held = |derived: &str, to: &str| {
            let mut event = level(&["writes_files"], derived);
            event["level"] = json!(to);
            event
        };
        check(level_is_derived, &[held("suggest", "required")], &[]);
        check(level_is_derived, &[held("suggest", "auto")], &["level-lowered"]);
        check(level_is_derived, &[held("suggest", "")], &["level-lowered"]);
    }

    #[test]
    fn a_start_needs_its_approval_before_it() {
        let (asked, started) = (json!({"event": "approval_asked"}), json!({"event": "started"}));
        let approved = json!({"event": "approval_decided", "decision": "approved"});
        let denied = json!({"event": "approval_decided", "decision": "denied"});
        let required = level(&["executes_code"], "required");
        check(approved_before_run, &[required.clone(), asked, approved.clone(), started.clone()], &[]);
        check(approved_before_run, &[required.clone(), started.clone(), approved], &["not-approved"]);
        check(approved_before_run, &[required, denied, started.clone()], &["not-approved"]);
        check(approved_before_run, &[level(&["read_only"], "auto"), started.clone()], &[]);
        check(approved_before_run, &[started], &["no-level"]);
    }

    #[test]
    fn asking_needs_a_valid_input() {
        let (asked, valid) = (json!({"event": "approval_asked"}), json!({"event": "validated"}));
        let refused = json!({"event": "refused", "stage": "validate"});
        check(validated_before_asked, &[valid.clone(), asked.clone()], &[]);
        check(validated_before_asked, std::slice::from_ref(&refused), &[]);
        check(validated_before_asked, &[asked.clone(), refused], &["asked-about-invalid"]);
        check(validated_before_asked, &[asked, valid], &["asked-about-invalid"]);
    }
}
