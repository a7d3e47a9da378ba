//! A call as it enters the slot, with who made it.

use serde::{Deserialize, Serialize};
use slot_wire::RawCall;

/// One call, whoever made it. The engine never branches on `invoked_by`: it is provenance, for telemetry and the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolInvocation {
    /// The call exactly as it came.
    pub call: RawCall,
    /// Position among the calls of its turn, from 0.
    pub index: usize,
    /// Who made it.
    pub invoked_by: InvokedBy,
}

/// Who made a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InvokedBy {
    /// A provider's native tool-call channel.
    Provider {
        /// The provider's name as configured.
        id: String,
    },
    /// An adapter that synthesises calls from text; exists only where a host switched it on.
    Toolshim {
        /// The adapter's name.
        id: String,
    },
    /// Another agent.
    Agent {
        /// That agent's id.
        id: String,
    },
    /// A tool that calls tools.
    Tool {
        /// The id of the call it is running for.
        call_id: String,
    },
}
