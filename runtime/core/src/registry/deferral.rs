//! Deferral: whether a tool's schema is in the first request, or found when it is needed.
//!
//! One pure function, so that a decision can be explained and repeated. The order is: policy trust, then what the host
//! overrides, then remote tools, then what the tool says of itself, then need, use and size. Whoever is in doubt loads: a
//! deferred tool costs a turn when it is needed.

use crate::contract::{Exposure, OriginKind, ToolMetadata};

/// What decides about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeferralFacts {
    /// Whether the session's policy trusts where the tool comes from.
    pub trusted: bool,
    /// Whether the host wants it loaded whatever else holds.
    pub always_load: bool,
    /// Whether it is there only while another host answers, so that the catalog would change with every connection.
    pub remote: bool,
    /// What it says of itself.
    pub declared: Exposure,
    /// Whether no task can begin without it.
    pub needed_at_once: bool,
    /// In how many of a hundred sessions it is used, where that is known.
    pub used_percent: Option<u8>,
    /// What its declaration costs, in tokens.
    pub tokens: usize,
}

/// What is done with a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// Its schema is in every request.
    Load,
    /// It is found first.
    Defer,
    /// It is neither shown nor found until the policy trusts it.
    Withhold,
}

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferralReason {
    /// The policy does not trust it yet; seeing it would let the model plan with it.
    Untrusted,
    /// The host overrides.
    AlwaysLoad,
    /// It is remote.
    Remote,
    /// It says so itself.
    Declared,
    /// No task begins without it.
    NeededAtOnce,
    /// It is used in more than half of the sessions.
    OftenUsed,
    /// It is used in less than one of ten sessions.
    SeldomUsed,
    /// Its declaration is large.
    Large,
    /// Nothing speaks for deferring it.
    Default,
}

impl DeferralReason {
    /// The spelling in explanations.
    pub fn as_str(self) -> &'static str {
        match self {
            DeferralReason::Untrusted => "untrusted",
            DeferralReason::AlwaysLoad => "always_load",
            DeferralReason::Remote => "remote",
            DeferralReason::Declared => "declared",
            DeferralReason::NeededAtOnce => "needed_at_once",
            DeferralReason::OftenUsed => "often_used",
            DeferralReason::SeldomUsed => "seldom_used",
            DeferralReason::Large => "large",
            DeferralReason::Default => "default",
        }
    }
}

/// Above this share of sessions a tool is loaded: nearly everybody would pay the turn that finds it.
const OFTEN_PERCENT: u8 = 50;
/// Below this share it is deferred.
const SELDOM_PERCENT: u8 = 10;
/// Above this many tokens a declaration is worth a turn.
const LARGE_TOKENS: usize = 800;

/// Decides about one tool.
pub fn defer(facts: &DeferralFacts) -> (Deferral, DeferralReason) {
    use Deferral::{Defer, Load, Withhold};
    if !facts.trusted {
        return (Withhold, DeferralReason::Untrusted);
    }
    if facts.always_load {
        return (Load, DeferralReason::AlwaysLoad);
    }
    // Before what it says of itself: a server does not decide that every session pays for it.
    if facts.remote {
        return (Defer, DeferralReason::Remote);
    }
    match facts.declared {
        Exposure::Always => return (Load, DeferralReason::Declared),
        Exposure::Deferred => return (Defer, DeferralReason::Declared),
        Exposure::Auto | Exposure::Hidden | Exposure::Inner => {}
    }
    if facts.needed_at_once {
        return (Load, DeferralReason::NeededAtOnce);
    }
    match facts.used_percent {
        Some(share) if share > OFTEN_PERCENT => (Load, DeferralReason::OftenUsed),
        Some(share) if share < SELDOM_PERCENT => (Defer, DeferralReason::SeldomUsed),
        _ if facts.tokens > LARGE_TOKENS => (Defer, DeferralReason::Large),
        _ => (Load, DeferralReason::Default),
    }
}

/// Whether a tool is there only while another host answers.
pub fn is_remote(tool: &ToolMetadata) -> bool {
    matches!(tool.origin.kind, OriginKind::Mcp { .. } | OriginKind::Delegated { .. })
}

/// What a declaration costs in tokens, by the rule of four bytes each. It is an order of magnitude and the same everywhere.
pub fn tokens(tool: &ToolMetadata) -> usize {
    let bytes = tool.name.len() + tool.description.len() + tool.schema.to_string().len();
    bytes.div_ceil(4)
}

/// What a token costs that the provider has kept, in percent of one that it reads anew.
const KEPT_PERCENT: u128 = 10;

/// After how many turns deferral has paid for an activation: `resent` tokens stand behind the tools array and are read
/// anew once, and `saved` tokens of declarations that are still deferred are not read in any turn. `None` where it never
/// pays.
pub fn break_even_turns(resent: u64, saved: u64) -> Option<u64> {
    let once = u128::from(resent) * (100 - KEPT_PERCENT);
    if once == 0 {
        return Some(0);
    }
    let each_turn = u128::from(saved) * KEPT_PERCENT;
    if each_turn == 0 {
        return None;
    }
    u64::try_from(once.div_ceil(each_turn)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: DeferralFacts = DeferralFacts {
        trusted: true,
        always_load: false,
        remote: false,
        declared: Exposure::Auto,
        needed_at_once: false,
        used_percent: None,
        tokens: 100,
    };

    #[track_caller]
    fn check(facts: DeferralFacts, expect: (Deferral, DeferralReason)) {
        assert_eq!(defer(&facts), expect, "{facts:?}");
    }

    #[test]
    fn each_reason_decides() {
        use Deferral::{Defer, Load, Withhold};
        check(PLAIN, (Load, DeferralReason::Default));
        check(DeferralFacts { trusted: false, ..PLAIN }, (Withhold, DeferralReason::Untrusted));
        check(DeferralFacts { remote: true, ..PLAIN }, (Defer, DeferralReason::Remote));
        check(DeferralFacts { declared: Exposure::Always, ..PLAIN }, (Load, DeferralReason::Declared));
        check(DeferralFacts { declared: Exposure::Deferred, ..PLAIN }, (Defer, DeferralReason::Declared));
        check(DeferralFacts { used_percent: Some(51), tokens: 5000, ..PLAIN }, (Load, DeferralReason::OftenUsed));
        check(DeferralFacts { used_percent: Some(50), tokens: 5000, ..PLAIN }, (Defer, DeferralReason::Large));
        check(DeferralFacts { used_percent: Some(10), ..PLAIN }, (Load, DeferralReason::Default));
        check(DeferralFacts { used_percent: Some(9), ..PLAIN }, (Defer, DeferralReason::SeldomUsed));
        check(DeferralFacts { tokens: 800, ..PLAIN }, (Load, DeferralReason::Default));
        check(DeferralFacts { tokens: 801, ..PLAIN }, (Defer, DeferralReason::Large));
    }

    #[test]
    fn trust_comes_before_every_wish_and_the_host_before_the_tool() {
        use Deferral::{Defer, Load, Withhold};
        let wanted = DeferralFacts { always_load: true, needed_at_once: true, declared: Exposure::Always, ..PLAIN };
        check(DeferralFacts { trusted: false, ..wanted }, (Withhold, DeferralReason::Untrusted));
        check(DeferralFacts { remote: true, ..wanted }, (Load, DeferralReason::AlwaysLoad));
        check(DeferralFacts { remote: true, always_load: false, ..wanted }, (Defer, DeferralReason::Remote));
        check(
            DeferralFacts { needed_at_once: true, used_percent: Some(1), tokens: 5000, ..PLAIN },
            (Load, DeferralReason::NeededAtOnce),
        );
    }

    #[test]
    fn an_activation_pays_back_in_turns() {
        for (resent, saved, expect) in [
            (0, 0, Some(0)),
            (0, 500, Some(0)),
            (1000, 0, None),
            (1000, 1000, Some(9)),
            (1000, 900, Some(10)),
            (1000, 9000, Some(1)),
            (1000, 9001, Some(1)),
            (1000, 8999, Some(2)),
            (1, u64::MAX, Some(1)),
            (u64::MAX, 1, None),
            (u64::MAX, u64::MAX, Some(9)),
        ] {
            assert_eq!(break_even_turns(resent, saved), expect, "{resent} {saved}");
        }
    }
}
