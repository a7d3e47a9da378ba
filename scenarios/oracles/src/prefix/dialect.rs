//! The dialects of captured requests.

use serde::{Deserialize, Serialize};

/// The dialect of a captured request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// OpenAI Chat Completions, and what speaks it.
    Chat,
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
}

impl Dialect {
    /// The dialect of this name.
    pub fn named(name: &str) -> Option<Dialect> {
        [Dialect::Chat, Dialect::Anthropic, Dialect::Responses].into_iter().find(|dialect| dialect.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Chat => "chat",
            Dialect::Anthropic => "anthropic",
            Dialect::Responses => "responses",
        }
    }

    /// The dialect that is spoken at this path.
    pub fn at_path(path: &str) -> Option<Dialect> {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        match path.rsplit('/').next().unwrap_or_default() {
            "completions" => Some(Dialect::Chat),
            "messages" => Some(Dialect::Anthropic),
            "responses" => Some(Dialect::Responses),
            _ => None,
        }
    }

    /// The member that holds the conversation.
    pub(super) fn list(self) -> &'static str {
        if self == Dialect::Responses { "input" } else { "messages" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_the_dialect() {
        assert_eq!(Dialect::at_path("/v1/chat/completions"), Some(Dialect::Chat));
        assert_eq!(Dialect::at_path("/v1/messages?beta=true"), Some(Dialect::Anthropic));
        assert_eq!(Dialect::at_path("/backend/responses/"), Some(Dialect::Responses));
        assert_eq!(Dialect::at_path("/v1/models"), None);
    }
}
