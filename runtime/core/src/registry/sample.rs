//! Sampling: asking a tool about itself, once, with its panics contained.

use super::{FaultKind, contained, is_legal_name};
use crate::contract::{CapabilitySet, Origin, Role, ToolMetadata, ToolSpec};
use serde_json::Value;
use slot_wire::schema::clean;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is known of a tool that cannot be registered.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// The name it gave itself; empty if it panicked before it could.
    pub name: String,
    /// What kind of fault.
    pub kind: FaultKind,
    /// What is wrong, in words.
    pub reason: String,
    /// Where the tool comes from, where it could say.
    pub origin: Option<Origin>,
}

/// Asks a tool everything that does not depend on input.
pub fn sample(tool: &dyn ToolSpec) -> Result<ToolMetadata, Sampled> {
    let fault =
        |name: &str, origin: Option<Origin>, kind, reason| Sampled { name: name.to_owned(), kind, reason, origin };
    let panicked = |what: &str, message: String| format!("it panicked while it was asked for its {what}: {message}");
    let name =
        contained(|| tool.name().to_owned()).map_err(|m| fault("", None, FaultKind::Panic, panicked("name", m)))?;
    let origin =
        contained(|| tool.origin()).map_err(|m| fault(&name, None, FaultKind::Panic, panicked("origin", m)))?;
    if !is_legal_name(&name) {
        let reason = format!("the name {name:?} does not match ^[a-zA-Z0-9_-]{{1,64}}$");
        return Err(fault(&name, Some(origin), FaultKind::Name, reason));
    }
    let metadata = contained(|| read(tool, name.clone(), origin.clone())).map_err(|m| {
        fault(&name, Some(origin.clone()), FaultKind::Panic, panicked("description, schema or capabilities", m))
    })?;
    match unusable(&metadata.schema) {
        Some(reason) => Err(fault(&name, Some(origin), FaultKind::Schema, reason)),
        None => Ok(metadata),
    }
}

/// Why a schema cannot be advertised, if it cannot: one that a provider refuses takes every other tool with it.
fn unusable(schema: &Value) -> Option<String> {
    let cleaned = match clean(schema) {
        Ok(cleaned) => cleaned,
        Err(fault) => return Some(fault.to_string()),
    };
    if let Some(target) = cleaned.remote.first() {
        return Some(format!(
            "its input schema refers to {target:?}, which is not fetched; put the definition into it"
        ));
    }
    (cleaned.schema.get("type").and_then(Value::as_str) != Some("object"))
        .then(|| "the root of its input schema is not an object type (\"type\": \"object\")".to_owned())
}

fn revision(origin: &Origin, schema: &Value, capabilities: CapabilitySet) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{origin:?}").hash(&mut hasher);
    schema.to_string().hash(&mut hasher);
    capabilities.hash(&mut hasher);
    hasher.finish()
}

fn read(tool: &dyn ToolSpec, name: String, origin: Origin) -> ToolMetadata {
    let (capabilities, schema) = (tool.capabilities(), tool.input_schema());
    // What comes from outside keeps its state wherever it likes.
    let session_only = tool.changes_session_only() && origin.is_builtin();
    ToolMetadata {
        name,
        description: tool.description().to_owned(),
        revision: revision(&origin, &schema, capabilities),
        schema,
        capabilities,
        requirement: capabilities.approval_requirement(),
        read_only: capabilities.is_read_only() && !session_only,
        session_only: capabilities.is_read_only() && session_only,
        supports_parallel: tool.supports_parallel(),
        interactive: tool.is_interactive(),
        destructive: tool.is_destructive(),
        polls: tool.polls(),
        may_start_early: tool.may_start_early(),
        interrupt: tool.interrupt_behaviour(),
        exposure: tool.exposure(),
        role: if origin.is_builtin() { tool.role() } else { Role::Plain },
        aliases: tool.aliases().iter().map(|a| (*a).to_owned()).collect(),
        search_hint: tool.search_hint().map(str::to_owned),
        output_schema: tool.output_schema(),
        origin,
        presentation: tool.presentation(),
        fail_closed: None,
    }
}
