//! Verdicts: the eight words, each with its cause.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What is said of a check, a case or a rule. The order is that of gravity: of many, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub enum Verdict {
    /// The agent declares that it lacks what the case needs.
    NotApplicable,
    /// As expected.
    Pass,
    /// Not as expected, and in a way that is right as well.
    NonStrict,
    /// It could not be observed. Never a pass.
    Untestable,
    /// What the check is about never happened. Never a pass.
    Vacuous,
    /// Repeated runs disagree.
    Flaky,
    /// The rule was broken.
    Fail,
    /// The harness itself failed, and nothing can be said of the agent.
    HarnessError,
}

impl Verdict {
    /// Every verdict, gravest last.
    pub const ALL: [Verdict; 8] = [
        Verdict::NotApplicable,
        Verdict::Pass,
        Verdict::NonStrict,
        Verdict::Untestable,
        Verdict::Vacuous,
        Verdict::Flaky,
        Verdict::Fail,
        Verdict::HarnessError,
    ];

    /// Whether a run may be called good with this verdict on a rule that binds.
    pub fn is_good(self) -> bool {
        matches!(self, Verdict::Pass | Verdict::NonStrict | Verdict::NotApplicable)
    }

    /// Whether the expected thing was seen, strictly or not.
    pub fn is_seen(self) -> bool {
        matches!(self, Verdict::Pass | Verdict::NonStrict)
    }

    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::NonStrict => "NON-STRICT",
            Verdict::Fail => "FAIL",
            Verdict::Vacuous => "VACUOUS",
            Verdict::Untestable => "UNTESTABLE",
            Verdict::NotApplicable => "NOT-APPLICABLE",
            Verdict::Flaky => "FLAKY",
            Verdict::HarnessError => "HARNESS-ERROR",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A verdict with its cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// A stable slug for why, such as `missing-result`; empty for a pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// What was expected and what was seen, for a person; empty for a pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Outcome {
    /// As expected.
    pub fn pass() -> Self {
        Outcome { verdict: Verdict::Pass, cause: String::new(), detail: String::new() }
    }

    /// Any other verdict.
    pub fn new(verdict: Verdict, cause: impl Into<String>, detail: impl Into<String>) -> Self {
        Outcome { verdict, cause: cause.into(), detail: detail.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gravity_is_the_order() {
        let mut sorted = Verdict::ALL;
        sorted.sort();
        assert_eq!(sorted, Verdict::ALL);
        assert_eq!(Verdict::ALL.iter().max(), Some(&Verdict::HarnessError));
    }

    #[test]
    fn only_three_words_are_good() {
        let good: Vec<&str> = Verdict::ALL.iter().filter(|v| v.is_good()).map(|v| v.word()).collect();
        assert_eq!(good, ["NOT-APPLICABLE", "PASS", "NON-STRICT"]);
    }

    #[test]
    fn the_word_in_json_is_the_word() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.word());
        }
    }
}
