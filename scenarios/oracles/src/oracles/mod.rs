//! The oracles, one module per area, and the table of them.
//!
//! The numbers are those of the catalogue of oracles in the reference; a number never changes meaning.

use crate::trace::AgentEnd;
use crate::{Finding, RuntimeTrace, Trace, WireTrace};

pub mod cache;
pub mod catalog;
pub mod effects;
pub mod files;
pub mod governance;
pub mod liveness;
pub mod pairing;
pub mod replay;
pub mod retries;
pub mod sameness;

/// One oracle: a stable id and its checks.
#[derive(Clone, Copy)]
pub struct Oracle {
    /// The stable id, such as `O01`.
    pub id: &'static str,
    /// What it watches, in one line.
    pub title: &'static str,
    /// The rules it can find broken.
    pub rules: &'static [&'static str],
    /// What it looks at.
    pub check: OracleCheck,
}

/// What an oracle may look at.
#[derive(Clone, Copy)]
pub enum OracleCheck {
    /// Judges any agent from outside.
    Wire(fn(&WireTrace) -> Vec<Finding>),
    /// Judges the reference runtime, with its events beside the wire.
    Runtime(fn(&WireTrace, &RuntimeTrace) -> Vec<Finding>),
    /// Compares two runs that must agree in what the oracle watches: a run and its repetition, or a base and its twin.
    Pair(fn(&Trace, &Trace) -> Vec<Finding>),
}

impl Oracle {
    /// The oracle's findings on one trace. Empty for a pair oracle, and for a runtime oracle when the trace holds no
    /// runtime facts: [`Oracle::can_see`] tells whether that silence means anything.
    pub fn judge(&self, trace: &Trace) -> Vec<Finding> {
        match (self.check, &trace.runtime) {
            (OracleCheck::Wire(check), _) => check(&trace.wire),
            (OracleCheck::Runtime(check), Some(runtime)) => check(&trace.wire, runtime),
            (OracleCheck::Runtime(_), None) | (OracleCheck::Pair(_), _) => Vec::new(),
        }
    }

    /// Whether the oracle can judge this trace by itself.
    pub fn can_see(&self, trace: &Trace) -> bool {
        match self.check {
            OracleCheck::Wire(_) => trace.wire.end != AgentEnd::Unseen || !ABOUT_PROCESSES.contains(&self.id),
            OracleCheck::Runtime(_) => trace.runtime.is_some(),
            OracleCheck::Pair(_) => false,
        }
    }
}

/// The oracles that look at how the agent ended and what it left running.
const ABOUT_PROCESSES: &[&str] = &["O41", "O52"];

/// The oracle with this id.
pub fn by_id(id: &str) -> Option<&'static Oracle> {
    ORACLES.iter().find(|o| o.id == id)
}

/// Every oracle, in order of id.
pub const ORACLES: &[Oracle] = &[
    Oracle {
        id: "O01",
        title: "every call is answered exactly once, in call order, with no orphan and no empty id",
        rules: &["PAIR-01", "PAIR-02", "PAIR-03"],
        check: OracleCheck::Wire(pairing::check),
    },
    Oracle {
        id: "O02",
        title: "no call runs more than once",
        rules: &["PAIR-04"],
        check: OracleCheck::Wire(effects::runs_at_most_once),
    },
    Oracle {
        id: "O03",
        title: "every effect in the workspace belongs to one structured call",
        rules: &["PAIR-05"],
        check: OracleCheck::Wire(effects::belongs_to_a_call),
    },
    Oracle {
        id: "O10",
        title: "advertised names are unique and legal, names that go back are legal, schema roots are objects",
        rules: &["REG-01", "REG-02", "REG-03", "NAME-08"],
        check: OracleCheck::Wire(catalog::well_formed),
    },
    Oracle {
        id: "O11",
        title: "a bad tool leaves every other catalog byte unchanged",
        rules: &["REG-05"],
        check: OracleCheck::Pair(sameness::other_tools_unchanged),
    },
    Oracle {
        id: "O13",
        title: "what is advertised can be called",
        rules: &["CAT-03"],
        check: OracleCheck::Wire(catalog::advertised_is_callable),
    },
    Oracle {
        id: "O16",
        title: "tools and system text do not depend on the run",
        rules: &["CAT-02"],
        check: OracleCheck::Pair(sameness::prompt_is_stable),
    },
    Oracle {
        id: "O18",
        title: "the approval level follows from the capabilities",
        rules: &["APPR-01"],
        check: OracleCheck::Runtime(governance::level_is_derived),
    },
    Oracle {
        id: "O19",
        title: "nothing runs before its approval",
        rules: &["APPR-02"],
        check: OracleCheck::Runtime(governance::approved_before_run),
    },
    Oracle {
        id: "O26",
        title: "nobody is asked about an input that is not valid",
        rules: &["APPR-05"],
        check: OracleCheck::Runtime(governance::validated_before_asked),
    },
    Oracle {
        id: "O30",
        title: "nothing outside the workspace changes or is read",
        rules: &["PATH-01", "PATH-02"],
        check: OracleCheck::Wire(files::nothing_outside),
    },
    Oracle {
        id: "O41",
        title: "no process outlives the agent",
        rules: &["LIVE-02"],
        check: OracleCheck::Wire(liveness::no_process_left),
    },
    Oracle {
        id: "O52",
        title: "every run ends by itself",
        rules: &["LIVE-01"],
        check: OracleCheck::Wire(liveness::ends),
    },
    Oracle {
        id: "O53",
        title: "the same run twice gives the same event log",
        rules: &["LIVE-03"],
        check: OracleCheck::Pair(sameness::same_log),
    },
    Oracle {
        id: "O54",
        title: "a request that is sent again is the same request",
        rules: &["WIRE-14"],
        check: OracleCheck::Wire(retries::are_the_same),
    },
    Oracle {
        id: "O55",
        title: "the arguments of every call in a history are a JSON object",
        rules: &["ARG-03"],
        check: OracleCheck::Wire(replay::arguments_are_objects),
    },
    Oracle {
        id: "O56",
        title: "every request repeats the one before it, in the order in which its provider renders it",
        rules: &["CACHE-01", "CACHE-02", "CACHE-03"],
        check: OracleCheck::Wire(cache::prefix_is_kept),
    },
    Oracle {
        id: "O57",
        title: "tools that come later are declared",
        rules: &["CACHE-04"],
        check: OracleCheck::Runtime(cache::late_tools_are_declared),
    },
    Oracle {
        id: "O58",
        title: "where only what is marked is kept, each request finds what the one before it wrote",
        rules: &["CACHE-05"],
        check: OracleCheck::Wire(cache::marks_are_found),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_sorted() {
        let ids: Vec<_> = ORACLES.iter().map(|o| o.id).collect();
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(ids, sorted);
    }
}
