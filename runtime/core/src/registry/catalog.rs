//! The catalog: what is advertised, in order, serialised once for each dialect.

use crate::contract::{Exposure, ToolMetadata};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use slot_wire::Dialect;
use slot_wire::dialect::ToolDeclaration;
use slot_wire::schema::{clean, strict};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How schemas are written into a catalog. Arguments are judged by the schema that the tool gave, whatever the form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaForm {
    /// Cleaned of what some provider refuses, without a change to what they admit.
    #[default]
    Cleaned,
    /// In the closed form that some providers require, where it can say the same; cleaned where it cannot.
    Strict,
    /// As the tools gave them, for a host that has cleaned them itself.
    AsGiven,
}

impl SchemaForm {
    /// The schema in this form, and whether it is a strict one. A schema that was registered can always be cleaned.
    fn write(self, schema: &Value) -> (Cow<'_, Value>, bool) {
        let closed = if self == SchemaForm::Strict { strict(schema).ok() } else { None };
        match (closed, self) {
            (Some(closed), _) => (Cow::Owned(closed), true),
            (None, SchemaForm::AsGiven) => (Cow::Borrowed(schema), false),
            (None, _) => (clean(schema).map_or(Cow::Borrowed(schema), |cleaned| Cow::Owned(cleaned.schema)), false),
        }
    }
}

/// What is advertised: built-in tools sorted by name, then external ones sorted by name.
#[derive(Clone, Debug)]
pub struct Catalog {
    names: Vec<String>,
    encoded: BTreeMap<Dialect, String>,
}

impl Catalog {
    /// The catalog of these tools; hidden and deferred ones are left out.
    pub fn new<'a>(tools: impl Iterator<Item = &'a ToolMetadata>) -> Self {
        Self::in_form(tools, SchemaForm::default())
    }

    /// The catalog of these tools, with their schemas written in this form.
    pub fn in_form<'a>(tools: impl Iterator<Item = &'a ToolMetadata>, form: SchemaForm) -> Self {
        let mut shown: Vec<(&ToolMetadata, Box<RawValue>, bool)> = tools
            .filter(|m| matches!(m.exposure, Exposure::Always | Exposure::Auto))
            .filter_map(|m| {
                let (schema, strict) = form.write(&m.schema);
                // A `Value` always serialises: its keys are strings and its numbers are finite.
                to_raw_value(&schema).ok().map(|schema| (m, schema, strict))
            })
            .collect();
        shown.sort_by(|(a, ..), (b, ..)| (!a.origin.is_builtin(), &a.name).cmp(&(!b.origin.is_builtin(), &b.name)));
        let declarations: Vec<ToolDeclaration<'_>> = shown
            .iter()
            .map(|(m, schema, strict)| ToolDeclaration {
                name: &m.name,
                description: &m.description,
                schema,
                strict: *strict,
            })
            .collect();
        Catalog {
            names: shown.iter().map(|(m, ..)| m.name.clone()).collect(),
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
