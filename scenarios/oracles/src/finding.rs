//! Findings: what an oracle says when a trace breaks a rule.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The stable name of a rule, such as `PAIR-01`. An id never changes meaning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RuleId(pub String);

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for RuleId {
    fn from(id: &str) -> Self {
        RuleId(id.to_owned())
    }
}

/// One breach of one rule, bound to its cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// The rule that was broken.
    pub rule: RuleId,
    /// A stable slug for the kind of breach, such as `missing-result`: two runs that break the rule in the same way
    /// carry the same cause, and a shrinker accepts only the same cause.
    pub cause: String,
    /// Where: a request, call, path or process, such as `request 2, call c1`.
    pub at: String,
    /// What was expected and what was seen, for a person.
    pub detail: String,
}

impl Finding {
    /// Builds a finding; `rule` is a stable id, `cause` a stable slug.
    pub fn new(rule: &str, cause: &str, at: impl Into<String>, detail: impl Into<String>) -> Self {
        Finding { rule: rule.into(), cause: cause.to_owned(), at: at.into(), detail: detail.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} at {}: {}", self.rule, self.cause, self.at, self.detail)
    }
}
