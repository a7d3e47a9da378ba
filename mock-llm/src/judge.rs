//! Judges every request before it is answered: would a real provider take it, and does it append to the last one?
//!
//! What is a rule of the suite is decided by the oracles' own functions, so that a check is written once. Judging
//! changes no answer unless the mock is strict; then a request that a provider would refuse is refused here as well.

use crate::dialect::Parsed;
use serde::Serialize;
use slot_oracles::Finding;
use slot_oracles::oracles::{catalog, pairing};
use slot_oracles::trace::{WireItem, WireRequest};

/// Something that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Objection {
    /// The rule, where it is one of the suite's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// A stable slug for the kind of fault.
    pub cause: String,
    /// Where.
    pub at: String,
    /// What was expected and what was seen.
    pub detail: String,
    /// Whether a real provider answers such a request with an error.
    pub rejects: bool,
}

impl Objection {
    fn new(cause: &str, at: impl Into<String>, detail: impl Into<String>, rejects: bool) -> Self {
        Objection { rule: None, cause: cause.to_owned(), at: at.into(), detail: detail.into(), rejects }
    }

    fn of_rule(finding: Finding) -> Self {
        // Results out of order are accepted by every provider; the other breaches are answered with an error.
        let rejects = finding.cause != "result-order";
        let Finding { rule, cause, at, detail } = finding;
        Objection { rule: Some(rule.0), cause, at, detail, rejects }
    }
}

/// Everything that is wrong with one request. `last` is the request of the conversation before it.
pub(crate) fn judge(parsed: &Parsed, last: Option<&Prompt>, prompt: &Prompt) -> Vec<Objection> {
    let request = &parsed.request;
    let mut all = valid(parsed);
    all.extend(pairing::check_request(request).into_iter().map(Objection::of_rule));
    all.extend(catalog::check_request(request).into_iter().map(Objection::of_rule));
    all.extend(last.into_iter().flat_map(|last| prompt.breaks(last, request.index)));
    all
}

/// What every provider demands of a request before it looks at the conversation.
fn valid(parsed: &Parsed) -> Vec<Objection> {
    let request = &parsed.request;
    let at = format!("request {}", request.index);
    let mut all = Vec::new();
    if parsed.form.model.is_empty() {
        all.push(Objection::new("no-model", &at, "`model` is absent, empty or no string", true));
    }
    if request.raw.items.is_empty() {
        all.push(Objection::new("no-messages", &at, "the list of messages is absent or empty", true));
    }
    if !request.items.iter().any(|item| !matches!(item, WireItem::System { .. })) && !request.items.is_empty() {
        all.push(Objection::new("only-system", &at, "there is no message but system text", false));
    }
    for problem in &parsed.problems {
        all.push(Objection::new("bad-item", &at, problem, true));
    }
    all
}

/// The prompt-bearing parts of a request as transmitted, cache markers set aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    tools: String,
    system: String,
    /// Each message or item.
    pub items: Vec<String>,
}

impl Prompt {
    pub(crate) fn of(request: &WireRequest) -> Prompt {
        let plain = crate::markers::without_markers;
        Prompt {
            tools: plain(&request.raw.tools),
            system: plain(&request.raw.system),
            items: request.raw.items.iter().map(|item| plain(item)).collect(),
        }
    }

    /// Where this request does not append to `last`, part by part. No provider refuses that; it costs the cache.
    fn breaks(&self, last: &Prompt, index: usize) -> Vec<Objection> {
        let mut all = Vec::new();
        let mut part = |cause: &str, name: &str, old: &str, new: &str| {
            let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
            let detail = format!("differs from the request before it at byte {same} of {}", old.len());
            all.push(Objection::new(cause, format!("request {index}, {name}"), detail, false));
        };
        if self.tools != last.tools {
            part("tools-changed", "tools", &last.tools, &self.tools);
        }
        if self.system != last.system {
            part("system-changed", "system", &last.system, &self.system);
        }
        for (at, old) in last.items.iter().enumerate() {
            match self.items.get(at) {
                Some(new) if new == old => {}
                new => {
                    part("item-changed", &format!("item {at}"), old, new.map_or("", String::as_str));
                    break;
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use serde_json::{Value, json};

    fn read(body: &Value) -> (Parsed, Prompt) {
        let parsed = Dialect::Chat.parse(body.to_string().as_bytes()).unwrap();
        let prompt = Prompt::of(&parsed.request);
        (parsed, prompt)
    }

    fn causes(all: &[Objection]) -> Vec<String> {
        all.iter().map(|one| format!("{}{}", one.cause, if one.rejects { "!" } else { "" })).collect()
    }

    #[track_caller]
    fn check(body: Value, expect: &[&str]) {
        let (parsed, prompt) = read(&body);
        assert_eq!(causes(&judge(&parsed, None, &prompt)), expect);
    }

    #[track_caller]
    fn check_after(first: Value, second: Value, expect: &[&str]) {
        let ((_, last), (parsed, prompt)) = (read(&first), read(&second));
        assert_eq!(causes(&judge(&parsed, Some(&last), &prompt)), expect);
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    #[test]
    fn a_good_request_has_nothing_against_it() {
        check(json!({"model": "m", "messages": [user("go")]}), &[]);
    }

    #[test]
    fn what_a_provider_demands_is_demanded() {
        check(json!({"messages": [user("go")]}), &["no-model!"]);
        check(json!({"model": "m", "messages": []}), &["no-messages!"]);
        check(json!({"model": "m", "messages": [{"role": "system", "content": "s"}]}), &["only-system"]);
        check(json!({"model": "m", "messages": [user("go"), {"role": "robot"}]}), &["bad-item!"]);
    }

    #[test]
    fn the_oracles_judge_pairs_and_catalog() {
        let calls =
            json!({"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]});
        check(json!({"model": "m", "messages": [user("go"), calls, user("well?")]}), &["missing-result!"]);
        check(
            json!({"model": "m", "messages": [user("go")], "tools": [{"function": {"name": "a b", "parameters": {"type": "object"}}}]}),
            &["illegal-name!"],
        );
    }

    #[test]
    fn a_request_appends_to_the_one_before_it() {
        let with = |messages: Value, tools: &str| json!({"model": "m", "messages": messages, "tools": [{"function": {"name": tools, "parameters": {"type": "object"}}}]});
        let first = || with(json!([user("go")]), "a");
        check_after(first(), with(json!([user("go"), user("on")]), "a"), &[]);
        check_after(first(), with(json!([user("GO"), user("on")]), "a"), &["item-changed"]);
        check_after(first(), with(json!([]), "a"), &["no-messages!", "item-changed"]);
        check_after(first(), with(json!([user("go")]), "b"), &["tools-changed"]);
    }

    #[test]
    fn a_cache_marker_that_moved_is_no_change() {
        let marked = json!({"role": "user", "content": [{"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}]});
        let plain = json!({"role": "user", "content": [{"type": "text", "text": "go"}]});
        check_after(json!({"model": "m", "messages": [marked]}), json!({"model": "m", "messages": [plain]}), &[]);
    }
}
