//! The macro that other projects use, used as they use it: on the reference runtime over sockets, for two areas.

use slotspec::agent::in_process::{InProcess, Tier};

slotspec::conformance_tests!(InProcess::new(Tier::B), dialect: "anthropic", cases: ["pair/", "cat/"]);
