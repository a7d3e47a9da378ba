//! Side traffic: what agents ask the model beside the conversation, such as a title for the session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slot_oracles::trace::{WireItem, WireRequest};

/// Recognises one kind of side traffic. Every condition that is given must hold, and at least one must be given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SideTraffic {
    /// What it is, for the journal: `title`, `memory`.
    pub name: String,
    /// The request advertises no tools (`true`), or some (`false`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_tools: Option<bool>,
    /// Text contained in the request's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Text contained in the system text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Text contained in the last user message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What is answered.
    #[serde(default = "reply")]
    pub reply: String,
}

fn reply() -> String {
    "ok".to_owned()
}

impl SideTraffic {
    /// Whether a request is of this kind. A matcher without a condition matches nothing: it would swallow the script.
    pub fn matches(&self, path: &str, request: &WireRequest) -> bool {
        let any = self.no_tools.is_some() || self.path.is_some() || self.system.is_some() || self.user.is_some();
        any && self.no_tools.is_none_or(|none| none == request.tools.is_empty())
            && self.path.as_deref().is_none_or(|text| path.contains(text))
            && self.system.as_deref().is_none_or(|text| in_system(request, text))
            && self.user.as_deref().is_none_or(|text| in_last_user_message(request, text))
    }
}

fn in_system(request: &WireRequest, wanted: &str) -> bool {
    request.items.iter().any(|item| matches!(item, WireItem::System { text } if text.contains(wanted)))
}

fn in_last_user_message(request: &WireRequest, wanted: &str) -> bool {
    let last = request.items.iter().rev().find_map(|item| match item {
        WireItem::User { text } => Some(text),
        _ => None,
    });
    last.is_some_and(|text| text.contains(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slot_oracles::trace::WireTool;

    #[track_caller]
    fn check(matcher: SideTraffic, expect: bool) {
        let request = WireRequest {
            tools: vec![WireTool::default()],
            items: vec![
                WireItem::System { text: "You name sessions.".into() },
                WireItem::User { text: "first".into() },
                WireItem::User { text: "second".into() },
            ],
            ..WireRequest::default()
        };
        assert_eq!(matcher.matches("/v1/chat/completions", &request), expect);
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn every_condition_must_hold() {
        check(SideTraffic { no_tools: Some(false), ..Default::default() }, true);
        check(SideTraffic { no_tools: Some(true), ..Default::default() }, false);
        check(SideTraffic { path: some("/chat/"), system: some("name sessions"), ..Default::default() }, true);
        check(SideTraffic { path: some("/chat/"), system: some("elsewhere"), ..Default::default() }, false);
    }

    #[test]
    fn only_the_last_user_message_counts() {
        check(SideTraffic { user: some("second"), ..Default::default() }, true);
        check(SideTraffic { user: some("first"), ..Default::default() }, false);
    }

    #[test]
    fn a_matcher_without_a_condition_matches_nothing() {
        check(SideTraffic { name: "all".into(), ..Default::default() }, false);
    }
}
