//! What the requests of one case come to by the prefix meter, in exact integers, so that a report tells what changed between
//! two releases although every rule is kept in both.

use crate::prefix::providers;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slot_oracles::Trace;
use slot_oracles::oracles::cache;
use slot_oracles::prefix::{Captured, Prompt, Provider, Session, measure};
use std::sync::LazyLock;

/// The numbers of one case. Bytes are those of rendered requests; a token is an estimate of four bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrefixNumbers {
    /// How many requests the conversation took.
    pub requests: usize,
    /// The bytes of the last of them.
    pub bytes: usize,
    /// The bytes that could have been repeated: those of all requests but the last.
    pub repeatable_bytes: usize,
    /// The bytes that were sent again although the request before had them.
    pub resent_bytes: usize,
    /// The whole tokens of them.
    pub resent_tokens: usize,
    /// The requests that did not repeat the one before them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<Break>,
    /// What the caches of the providers that speak this dialect make of it.
    pub providers: Vec<CacheNumbers>,
}

/// A request that does not repeat the one before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Break {
    /// Which request of the case, from 0.
    pub request: usize,
    /// What kind of change broke it.
    pub class: String,
    /// A JSON pointer to the first leaf that differs.
    pub pointer: String,
    /// The bytes that are sent again for it.
    pub lost_bytes: usize,
    /// The event that declared it; absent where none did, or where the agent logs no events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
}

/// What one provider's cache makes of a case, in tokens over all requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheNumbers {
    /// The provider, as in the table of their rules.
    pub provider: String,
    /// All tokens sent.
    pub tokens: usize,
    /// Those that are read from the cache.
    pub read: usize,
    /// Those that would be, had every request only appended to the one before it and been marked well.
    pub ideal: usize,
}

impl PrefixNumbers {
    /// The numbers of what was seen; `None` where no request was made.
    pub fn of(trace: &Trace) -> Option<Self> {
        static PROVIDERS: LazyLock<Vec<Provider>> = LazyLock::new(providers);
        let mut declared = trace.runtime.as_ref().map(cache::declared).unwrap_or_default().into_iter();
        let captured = |request| Captured {
            prompt: Prompt::from_wire(request),
            at: None,
            declared: declared.next().flatten().map(str::to_owned),
        };
        let requests: Vec<Captured<'_>> = trace.wire.requests.iter().map(captured).collect();
        measure(&requests, &PROVIDERS).map(Self::told)
    }

    fn told(session: Session) -> Self {
        let steps = session.steps.iter().enumerate();
        let breaks = steps.filter_map(|(request, step)| {
            let culprit = step.culprit.as_ref()?;
            Some(Break {
                request,
                class: culprit.class.name().to_owned(),
                pointer: culprit.pointer.clone(),
                lost_bytes: step.lost_bytes,
                declared: step.declared.clone(),
            })
        });
        PrefixNumbers {
            requests: session.steps.len(),
            bytes: session.steps.last().map_or(0, |step| step.bytes),
            repeatable_bytes: session.repeatable_bytes,
            resent_bytes: session.resent_bytes(),
            resent_tokens: session.resent_tokens,
            breaks: breaks.collect(),
            providers: session
                .providers
                .into_iter()
                .map(|cache| CacheNumbers {
                    provider: cache.provider,
                    tokens: cache.tokens,
                    read: cache.read,
                    ideal: cache.ideal,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use slot_oracles::trace::{RawParts, RuntimeTrace, WireRequest};

    /// A request of chat with these tools and messages.
    fn request(index: usize, tools: &str, items: &[&str]) -> WireRequest {
        WireRequest {
            index,
            dialect: "chat".to_owned(),
            raw: RawParts {
                tools: tools.to_owned(),
                items: items.iter().map(|item| (*item).to_owned()).collect(),
                ..RawParts::default()
            },
            ..WireRequest::default()
        }
    }

    fn trace(requests: Vec<WireRequest>, events: &[&str]) -> Trace {
        let mut trace = Trace::default();
        trace.wire.requests = requests;
        let events = events.iter().map(|name| json!({"lane": "session", "event": name})).collect();
        trace.runtime = Some(RuntimeTrace { events });
        trace
    }

    #[test]
    fn a_case_that_only_appends_sends_nothing_again() {
        let requests = vec![request(0, "[]", &["{\"a\":1}"]), request(1, "[]", &["{\"a\":1}", "{\"b\":2}"])];
        let numbers = PrefixNumbers::of(&trace(requests, &["request_sent", "request_sent"])).unwrap();
        assert_eq!((numbers.requests, numbers.resent_bytes, numbers.breaks.len()), (2, 0, 0));
        assert!(numbers.repeatable_bytes > 0 && numbers.bytes > numbers.repeatable_bytes);
        assert!(numbers.providers.iter().all(|cache| cache.read <= cache.ideal && cache.ideal <= cache.tokens));
    }

    #[test]
    fn a_break_is_told_with_its_place_and_what_declared_it() {
        let requests = || vec![request(0, "[]", &["{\"a\":1}"]), request(1, "[]", &["{\"a\":2}"])];
        let silent = PrefixNumbers::of(&trace(requests(), &["request_sent", "request_sent"])).unwrap();
        assert_eq!(silent.breaks.len(), 1);
        assert_eq!((silent.breaks[0].request, silent.breaks[0].class.as_str()), (1, "history-rewrite"));
        assert!(silent.resent_bytes > 0 && silent.breaks[0].declared.is_none());
        let declared = PrefixNumbers::of(&trace(requests(), &["request_sent", "compacted", "request_sent"])).unwrap();
        assert_eq!(declared.breaks[0].declared.as_deref(), Some("compacted"));
    }

    #[test]
    fn nothing_is_said_where_nothing_was_sent() {
        assert_eq!(PrefixNumbers::of(&trace(Vec::new(), &[])), None);
    }
}
