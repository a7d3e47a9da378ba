//! O10 and O13: what is advertised.

use crate::Finding;
use crate::trace::{WireItem, WireRequest, WireTrace};
use serde_json::Value;
use std::collections::BTreeSet;

/// The longest name that every provider accepts.
const NAME_LIMIT: usize = 64;

/// O10: names are unique and legal, those of calls that go back too, and schema roots are object types, in every request.
pub fn well_formed(trace: &WireTrace) -> Vec<Finding> {
    trace.requests.iter().flat_map(check_request).collect()
}

/// Judges the names and schemas of one request by itself, as a provider would.
pub fn check_request(request: &WireRequest) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for tool in &request.tools {
        let at = format!("request {}, tool {:?}", request.index, tool.name);
        if !is_legal_name(&tool.name) {
            findings.push(Finding::new(
                "REG-01",
                "illegal-name",
                &at,
                "the name does not match ^[a-zA-Z0-9_-]{1,64}$, so a provider rejects the whole request",
            ));
        }
        if !seen.insert(tool.name.as_str()) {
            findings.push(Finding::new("REG-03", "duplicate-name", &at, "the name is advertised twice"));
        }
        if tool.schema.get("type").and_then(Value::as_str) != Some("object") {
            findings.push(Finding::new(
                "REG-02",
                "schema-root",
                &at,
                format!("the schema's root is not an object type: {}", shorten(&tool.schema.to_string())),
            ));
        }
    }
    let calls = request.items.iter().filter_map(|item| match item {
        WireItem::Assistant { calls, .. } => Some(calls),
        _ => None,
    });
    for call in calls.flatten().filter(|call| !is_legal_name(&call.name)) {
        findings.push(Finding::new(
            "NAME-08",
            "illegal-call-name",
            format!("request {}, call {}", request.index, call.id),
            "the call goes back under a name that does not match ^[a-zA-Z0-9_-]{1,64}$, so a provider rejects the whole request",
        ));
    }
    findings
}

/// Whether a provider accepts the name.
pub fn is_legal_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_LIMIT
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// O13: a call to an advertised name is never answered as if the tool did not exist.
///
/// The answer's wording is the agent's own, so only unmistakable phrases count, and only where they name the tool.
/// A fail-closed stub that says it is unavailable is callable in the sense of the rule: answering so is its call.
pub fn advertised_is_callable(trace: &WireTrace) -> Vec<Finding> {
    const PHRASES: [&str; 6] = [
        "unknown tool",
        "unsupported call",
        "no such tool",
        "not found in registry",
        "does not exist",
        "no tool named",
    ];
    let mut findings = Vec::new();
    for turn in trace.served.iter().filter(|t| t.times > 0) {
        let Some(asked) = trace.requests.iter().position(|r| r.turn == Some(turn.index)) else { continue };
        let Some(next) = trace.requests[asked..].iter().find(|r| r.turn != Some(turn.index)) else { continue };
        for call in &turn.calls {
            if !trace.requests[asked].tools.iter().any(|t| t.name == call.name) {
                continue;
            }
            for (_, content) in next.results().filter(|(id, _)| *id == call.id) {
                let lower = content.to_lowercase();
                let names_it = lower.contains(&call.name.to_lowercase());
                if names_it && PHRASES.iter().any(|p| lower.contains(p)) {
                    findings.push(Finding::new(
                        "CAT-03",
                        "advertised-not-callable",
                        format!("request {}, call {}", next.index, call.id),
                        format!("{:?} was advertised, and the call was answered: {}", call.name, shorten(content)),
                    ));
                }
            }
        }
    }
    findings
}

fn shorten(text: &str) -> String {
    let mut end = text.len().min(120);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end == text.len() { text.to_owned() } else { format!("{}…", &text[..end]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ServedCall, ServedTurn, WireCall, WireTool};
    use serde_json::json;

    #[track_caller]
    fn check(tools: &[(&str, Value)], expect: &[&str]) {
        let tools = tools
            .iter()
            .map(|(name, schema)| WireTool { name: (*name).into(), schema: schema.clone(), ..WireTool::default() })
            .collect();
        let request = WireRequest { tools, ..WireRequest::default() };
        let found: Vec<_> = check_request(&request).into_iter().map(|f| f.cause).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_good_catalog_is_clean() {
        check(&[("read_file", json!({"type":"object"})), ("a-b", json!({"type":"object","properties":{}}))], &[]);
    }

    #[test]
    fn names_that_a_provider_rejects_are_found() {
        let object = json!({"type":"object"});
        check(&[("read file", object.clone())], &["illegal-name"]);
        check(&[("", object.clone())], &["illegal-name"]);
        check(&[(&"x".repeat(65), object.clone())], &["illegal-name"]);
        check(&[("naïve", object)], &["illegal-name"]);
    }

    #[test]
    fn a_call_that_goes_back_under_an_illegal_name_is_found() {
        let call = |name: &str| WireCall { id: "c1".into(), name: name.into(), arguments: "{}".into() };
        let request = |name: &str| WireRequest {
            items: vec![WireItem::Assistant { text: String::new(), calls: vec![call(name)] }],
            ..WireRequest::default()
        };
        assert_eq!(check_request(&request("read_file")), []);
        assert_eq!(check_request(&request("read_file{"))[0].cause, "illegal-call-name");
        assert_eq!(check_request(&request(""))[0].rule.0, "NAME-08");
    }

    #[test]
    fn schemas_without_an_object_root_are_found() {
        check(&[("a", json!({"type":"string"}))], &["schema-root"]);
        check(&[("a", json!(null))], &["schema-root"]);
        check(&[("a", json!(true))], &["schema-root"]);
    }

    #[test]
    fn a_name_advertised_twice_is_found() {
        check(&[("a", json!({"type":"object"})), ("a", json!({"type":"object"}))], &["duplicate-name"]);
    }

    #[test]
    fn an_advertised_tool_that_is_answered_as_unknown_is_found() {
        let tool = WireTool { name: "read_file".into(), ..WireTool::default() };
        let call = ServedCall { id: "c1".into(), name: "read_file".into(), arguments: "{}".into() };
        let mut trace = WireTrace {
            served: vec![ServedTurn { times: 1, terminal: true, calls: vec![call], ..ServedTurn::default() }],
            requests: vec![
                WireRequest { turn: Some(0), tools: vec![tool], ..WireRequest::default() },
                WireRequest { index: 1, turn: Some(1), ..WireRequest::default() },
            ],
            ..WireTrace::default()
        };
        let answer =
            |content: &str| WireItem::ToolResult { call_id: "c1".into(), content: content.into(), is_error: None };
        trace.requests[1].items = vec![answer("Unknown tool: read_file")];
        assert_eq!(advertised_is_callable(&trace).len(), 1);
        trace.requests[1].items = vec![answer("a.txt does not exist")];
        assert_eq!(advertised_is_callable(&trace).len(), 0);
    }
}
