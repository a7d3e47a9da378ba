//! Capabilities, and the approval level that follows from them.
//!
//! The level is derived, never declared: a tool that says truthfully what it can do gets the right gate. The derivation
//! is monotone: adding a capability never lowers the level.

use serde::{Deserialize, Serialize};

/// One thing a tool can do to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Observes only. Says nothing about what is observed.
    ReadOnly,
    /// Creates, changes or removes files.
    WritesFiles,
    /// Runs code that this runtime did not write.
    ExecutesCode,
    /// Talks to another host.
    Network,
    /// Can be confined by an operating-system sandbox.
    Sandboxable,
    /// Asks for approval whatever else it does.
    RequiresApproval,
    /// Its effects are not known, as with a remote tool: treated as the worst.
    Unknown,
}

const ALL: [Capability; 7] = [
    Capability::ReadOnly,
    Capability::WritesFiles,
    Capability::ExecutesCode,
    Capability::Network,
    Capability::Sandboxable,
    Capability::RequiresApproval,
    Capability::Unknown,
];

/// A set of capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CapabilitySet(u8);

impl CapabilitySet {
    /// The set of these capabilities.
    pub fn of(capabilities: &[Capability]) -> Self {
        CapabilitySet(capabilities.iter().fold(0, |bits, c| bits | 1 << *c as u8))
    }

    /// Whether the set holds `capability`.
    pub fn contains(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u8) != 0
    }

    /// The set with `capability` added.
    #[must_use]
    pub fn with(self, capability: Capability) -> Self {
        CapabilitySet(self.0 | 1 << capability as u8)
    }

    /// The members, in declaration order.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        ALL.into_iter().filter(move |c| self.contains(*c))
    }

    /// Whether a tool with this set only observes: it says so, and nothing else it says contradicts it.
    pub fn is_read_only(self) -> bool {
        self.contains(Capability::ReadOnly)
            && !self.contains(Capability::WritesFiles)
            && !self.contains(Capability::ExecutesCode)
            && !self.contains(Capability::Unknown)
    }

    /// Who must be asked before a tool with this set runs.
    ///
    /// Executing code, an explicit wish and unknown effects demand a person. Writing files and talking to other hosts
    /// suggest one. Everything else passes, but only if the tool says that it is read-only: an empty declaration is
    /// treated as unknown.
    pub fn approval_requirement(self) -> ApprovalRequirement {
        use Capability::{ExecutesCode, Network, RequiresApproval, Unknown, WritesFiles};
        let required = [ExecutesCode, RequiresApproval, Unknown].iter().any(|c| self.contains(*c));
        let suggested = [WritesFiles, Network].iter().any(|c| self.contains(*c));
        if required || self == CapabilitySet::default() {
            ApprovalRequirement::Required
        } else if suggested {
            ApprovalRequirement::Suggest
        } else {
            ApprovalRequirement::Auto
        }
    }
}

/// Who must be asked before a call runs. `Suggest` and `Required` both ask; they differ in what an unattended session
/// may pass without a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalRequirement {
    /// Nobody.
    Auto,
    /// A person, unless the session passes suggested calls by itself.
    Suggest,
    /// A person, or an explicit decision that nobody needs to be asked at all.
    Required,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(capabilities: &[Capability], expect: ApprovalRequirement) {
        assert_eq!(CapabilitySet::of(capabilities).approval_requirement(), expect, "{capabilities:?}");
    }

    #[test]
    fn executing_code_is_required_whatever_else_is_declared() {
        check(&[Capability::ExecutesCode], ApprovalRequirement::Required);
        check(&[Capability::ReadOnly, Capability::ExecutesCode], ApprovalRequirement::Required);
    }

    #[test]
    fn writing_files_is_suggested() {
        check(&[Capability::WritesFiles], ApprovalRequirement::Suggest);
        check(&[Capability::ReadOnly, Capability::WritesFiles], ApprovalRequirement::Suggest);
    }

    #[test]
    fn reading_passes() {
        check(&[Capability::ReadOnly], ApprovalRequirement::Auto);
        check(&[Capability::ReadOnly, Capability::Sandboxable], ApprovalRequirement::Auto);
    }

    #[test]
    fn network_approval_and_unknown_raise_the_level() {
        check(&[Capability::ReadOnly, Capability::Network], ApprovalRequirement::Suggest);
        check(&[Capability::ReadOnly, Capability::RequiresApproval], ApprovalRequirement::Required);
        check(&[Capability::ReadOnly, Capability::Unknown], ApprovalRequirement::Required);
    }

    #[test]
    fn a_tool_that_declares_nothing_is_treated_as_unknown() {
        check(&[], ApprovalRequirement::Required);
    }

    #[test]
    fn the_level_is_monotone_in_the_set() {
        // The empty set stands for "unknown" and is the one exception.
        for bits in 1..=0x7f_u8 {
            let set = CapabilitySet(bits);
            for extra in ALL {
                assert!(set.with(extra).approval_requirement() >= set.approval_requirement(), "{set:?} + {extra:?}");
            }
        }
    }
}
