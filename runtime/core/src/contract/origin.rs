//! Where a tool comes from: one shape for every source, so that ordering, denial and approval apply to all alike.

use serde::{Deserialize, Serialize};

/// The origin of a tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// Which kind of source.
    pub kind: OriginKind,
    /// The version of the tool's schema as its source counts it; 1 where the source does not count.
    pub schema_version: u32,
    /// For how long the tool is active once it is.
    pub activation_scope: ActivationScope,
}

impl Origin {
    /// A tool that ships with the runtime.
    pub fn builtin() -> Self {
        Origin { kind: OriginKind::Builtin, schema_version: 1, activation_scope: ActivationScope::Always }
    }

    /// A tool that a host loaded under this extension's name.
    pub fn extension(name: impl Into<String>) -> Self {
        Origin {
            kind: OriginKind::Extension { name: name.into() },
            schema_version: 1,
            activation_scope: ActivationScope::Session,
        }
    }

    /// Whether the tool ships with the runtime; such tools form the front of every catalog.
    pub fn is_builtin(&self) -> bool {
        self.kind == OriginKind::Builtin
    }
}

/// The kinds of source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OriginKind {
    /// Ships with the runtime.
    Builtin,
    /// Served by an MCP server.
    Mcp {
        /// The server's name in the host's configuration.
        server: String,
    },
    /// Loaded by the host from an extension.
    Extension {
        /// The extension's name.
        name: String,
    },
    /// A sub-agent of this type, offered as a tool.
    SubAgent {
        /// The sub-agent's type.
        agent_type: String,
    },
    /// Run by another agent on this one's behalf.
    Delegated {
        /// That agent's id.
        agent: String,
    },
}

/// For how long a tool stays active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationScope {
    /// Whenever the runtime runs.
    Always,
    /// Until the session ends.
    Session,
    /// Until the user's turn ends.
    Turn,
}
