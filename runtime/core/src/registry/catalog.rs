//! The catalog: what is advertised, in order, serialised once for each dialect.

use crate::contract::{Exposure, ToolMetadata};
use serde_json::value::{RawValue, to_raw_value};
use slot_wire::Dialect;
use slot_wire::dialect::ToolDeclaration;
use std::collections::BTreeMap;

/// What is advertised: built-in tools sorted by name, then external ones sorted by name.
#[derive(Clone, Debug)]
pub struct Catalog {
    names: Vec<String>,
    encoded: BTreeMap<Dialect, String>,
}

impl Catalog {
    /// The catalog of these tools; hidden and deferred ones are left out.
    pub fn new<'a>(tools: impl Iterator<Item = &'a ToolMetadata>) -> Self {
        let mut shown: Vec<(&ToolMetadata, Box<RawValue>)> = tools
            .filter(|m| matches!(m.exposure, Exposure::Always | Exposure::Auto))
            // A `Value` always serialises: its keys are strings and its numbers are finite.
            .filter_map(|m| to_raw_value(&m.schema).ok().map(|schema| (m, schema)))
            .collect();
        shown.sort_by(|(a, _), (b, _)| (!a.origin.is_builtin(), &a.name).cmp(&(!b.origin.is_builtin(), &b.name)));
        let declarations: Vec<ToolDeclaration<'_>> = shown
            .iter()
            .map(|(m, schema)| ToolDeclaration { name: &m.name, description: &m.description, schema })
            .collect();
        Catalog {
            names: shown.iter().map(|(m, _)| m.name.clone()).collect(),
            encoded: Dialect::ALL.iter().map(|d| (*d, d.encode_catalog(&declarations))).collect(),
        }
    }

    /// The advertised names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the name is advertised.
    pub fn advertises(&self, name: &str) -> bool {
        self.names.iter().any(|n| n == name)
    }

    /// The bytes of the tools array in this dialect.
    pub fn encoded(&self, dialect: Dialect) -> &str {
        self.encoded.get(&dialect).map_or("", String::as_str)
    }
}
