//! Fail-closed stubs: what stands for a tool that could not be registered.
//!
//! A stub keeps the fault visible, always answers unavailable, and touches nothing else: it takes a name that no working
//! tool has and that no later fault can move.

use super::{is_legal_name, sample::Sampled};
use crate::contract::{
    ApprovalRequirement, Capability, CapabilitySet, Exposure, InterruptBehaviour, Origin, Presentation, Role,
    ToolMetadata,
};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};

/// What the model reads about a stub.
pub const FAIL_CLOSED_DESCRIPTION: &str =
    "Unavailable: this tool failed to initialize and is in a fail-closed state. Do not call it.";

/// What starts the name of a stub whose own name cannot be used.
const PREFIX: &str = "fail_closed_";

/// The stub for a tool, under a name that is free.
pub fn place(tool: &Sampled, taken: &BTreeMap<String, Arc<ToolMetadata>>) -> ToolMetadata {
    let own = is_legal_name(&tool.name).then(|| tool.name.clone());
    let mut names = own.into_iter().chain((0_u32..).map(|n| renamed(&tool.name, n)));
    let name = names.find(|n| !taken.contains_key(n)).unwrap_or_else(|| renamed(&tool.name, u32::MAX));
    ToolMetadata {
        name,
        description: FAIL_CLOSED_DESCRIPTION.to_owned(),
        schema: json!({"type": "object", "properties": {}, "additionalProperties": true}),
        revision: fnv1a(&tool.name),
        // Answering "unavailable" does nothing, so nobody is asked about it.
        capabilities: CapabilitySet::of(&[Capability::ReadOnly]),
        requirement: ApprovalRequirement::Auto,
        read_only: true,
        session_only: false,
        supports_parallel: false,
        interactive: false,
        destructive: false,
        polls: false,
        may_start_early: false,
        interrupt: InterruptBehaviour::Cancel,
        exposure: Exposure::Always,
        role: Role::Plain,
        aliases: Vec::new(),
        search_hint: None,
        output_schema: None,
        origin: tool.origin.clone().unwrap_or_else(|| Origin::extension("unknown")),
        presentation: Presentation::default(),
        fail_closed: Some(tool.reason.clone()),
    }
}

/// A legal name made from an illegal one. The hash keeps two names apart that look alike once cleaned.
fn renamed(name: &str, n: u32) -> String {
    let clean: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(32).collect();
    let hash = fnv1a(name) >> 32;
    match n {
        0 => format!("{PREFIX}{clean}_{hash:08x}"),
        n => format!("{PREFIX}{clean}_{hash:08x}_{n}"),
    }
}

/// What a call to a stub is answered.
pub fn answer(tool: &ToolMetadata) -> String {
    let reason = tool.fail_closed.as_deref().unwrap_or("it is not registered");
    format!(
        "the tool {:?} is unavailable: {reason}. It was not run, and calling it again will not help; use another tool",
        tool.name
    )
}

/// The 64-bit FNV-1a hash: stable across processes and releases, which the standard hasher is not.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
