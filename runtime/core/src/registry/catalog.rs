//! The catalog: what is advertised, in order, serialised once for each dialect.

use crate::contract::{Exposure, Role, ToolMetadata};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use slot_wire::Dialect;
use slot_wire::Reference;
use slot_wire::dialect::{Declared, ToolDeclaration};
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
    native: BTreeMap<Dialect, (Vec<String>, String)>,
    form: SchemaForm,
}

/// A tool with its schema as it is advertised.
struct Written<'a> {
    tool: &'a ToolMetadata,
    schema: Box<RawValue>,
    strict: bool,
}

impl<'a> Written<'a> {
    fn of(tool: &'a ToolMetadata, form: SchemaForm) -> Option<Self> {
        let (schema, strict) = form.write(&tool.schema);
        // A `Value` always serialises: its keys are strings and its numbers are finite.
        to_raw_value(&schema).ok().map(|schema| Written { tool, schema, strict })
    }

    fn declaration(&self) -> ToolDeclaration<'_> {
        ToolDeclaration {
            name: &self.tool.name,
            description: &self.tool.description,
            schema: &self.schema,
            strict: self.strict,
        }
    }

    fn is_deferred(&self) -> bool {
        self.tool.exposure == Exposure::Deferred
    }

    /// How it is declared where deferred tools are found natively.
    fn declared(&self) -> Declared {
        match self.tool.role {
            _ if self.is_deferred() => Declared::Deferred,
            Role::Finder => Declared::Search,
            _ => Declared::Plain,
        }
    }
}

impl Catalog {
    /// The catalog of these tools; hidden and deferred ones are left out.
    pub fn new<'a>(tools: impl Iterator<Item = &'a ToolMetadata>) -> Self {
        Self::in_form(tools, SchemaForm::default())
    }

    /// The catalog of these tools, with their schemas written in this form.
    pub fn in_form<'a>(tools: impl Iterator<Item = &'a ToolMetadata>, form: SchemaForm) -> Self {
        Self::with_first(tools, form, &[])
    }

    /// The same, with the tools of these names before all others, in this order.
    pub fn with_first<'a>(tools: impl Iterator<Item = &'a ToolMetadata>, form: SchemaForm, first: &[String]) -> Self {
        let place = |tool: &ToolMetadata| first.iter().position(|name| *name == tool.name).unwrap_or(first.len());
        let declared = |tool: &&ToolMetadata| !matches!(tool.exposure, Exposure::Hidden | Exposure::Inner);
        let mut written: Vec<Written<'_>> = tools.filter(declared).filter_map(|tool| Written::of(tool, form)).collect();
        written.sort_by(|Written { tool: a, .. }, Written { tool: b, .. }| {
            (place(a), !a.origin.is_builtin(), &a.name).cmp(&(place(b), !b.origin.is_builtin(), &b.name))
        });
        let name = |written: &Written<'_>| written.tool.name.clone();
        let shown = || written.iter().filter(|written| !written.is_deferred());
        let declarations: Vec<ToolDeclaration<'_>> = shown().map(Written::declaration).collect();
        let all: Vec<ToolDeclaration<'_>> = written.iter().map(Written::declaration).collect();
        let native = Dialect::ALL.iter().filter_map(|dialect| {
            let text = dialect.encode_deferring(&all, |at| written[at].declared())?;
            Some((*dialect, (written.iter().map(name).collect(), text)))
        });
        Catalog {
            names: shown().map(name).collect(),
            encoded: Dialect::ALL.iter().map(|d| (*d, d.encode_catalog(&declarations))).collect(),
            native: if declarations.len() == all.len() { BTreeMap::new() } else { native.collect() },
            form,
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

    /// The names and bytes of the tools array where deferred tools are found natively; the names are also those of the
    /// deferred ones that a result may bring. As without them where there are none or the dialect cannot say it.
    pub fn deferring(&self, dialect: Dialect) -> (&[String], &str) {
        match self.native.get(&dialect) {
            Some((names, text)) => (names, text),
            None => (&self.names, self.encoded(dialect)),
        }
    }

    /// What stands for a deferred tool in the result that found it; `None` where the dialect cannot say that.
    pub fn reference(&self, dialect: Dialect, tool: &ToolMetadata) -> Option<Reference> {
        let json = dialect.reference(&Written::of(tool, self.form)?.declaration())?;
        Some(Reference { name: tool.name.clone(), json })
    }

    /// The bytes of the tools array with these tools at its end, in this order.
    pub fn appending(&self, dialect: Dialect, tools: &[&ToolMetadata]) -> String {
        let written: Vec<Written<'_>> = tools.iter().filter_map(|tool| Written::of(tool, self.form)).collect();
        let more: Vec<ToolDeclaration<'_>> = written.iter().map(Written::declaration).collect();
        let (base, more) = (self.encoded(dialect), dialect.encode_catalog(&more));
        match (base.strip_suffix(']'), more.strip_prefix('[')) {
            (Some(base), Some(more)) => format!("{base},{more}"),
            (None, _) => more,
            (_, None) => base.to_owned(),
        }
    }
}
