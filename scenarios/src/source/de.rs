//! Reads typed values from a [`Tree`] through serde, with errors that are data.

use super::tree::{Entry, Tree, Value};
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::{fmt, ops::Range};

/// One step of a path through a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// Why a tree could not be read, and where.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub kind: FaultKind,
    pub path: Vec<Step>,
    pub span: Option<Range<usize>>,
}

#[derive(Clone, Debug)]
pub(super) enum FaultKind {
    /// The last step of the path is the field itself.
    UnknownField {
        field: String,
        expected: &'static [&'static str],
    },
    UnknownVariant {
        variant: String,
        expected: &'static [&'static str],
    },
    MissingField(String),
    Other(String),
}

impl Fault {
    fn new(kind: FaultKind) -> Self {
        Fault { kind, path: Vec::new(), span: None }
    }

    /// Adds where the fault lies, as the way back up passes by. The innermost span stays.
    fn below(mut self, step: Step, span: &Range<usize>) -> Self {
        self.path.insert(0, step);
        self.span.get_or_insert_with(|| span.clone());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Fault::new(FaultKind::Other(message.to_string()))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Fault::new(FaultKind::UnknownField { field: field.to_owned(), expected })
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Fault::new(FaultKind::UnknownVariant { variant: variant.to_owned(), expected })
    }

    fn missing_field(field: &'static str) -> Self {
        Fault::new(FaultKind::MissingField(field.to_owned()))
    }
}

/// A path as messages write it, behind `prefix`: `turn[0].call[1].with`.
pub(super) fn dotted(prefix: &str, path: &[Step]) -> String {
    path.iter().fold(prefix.to_owned(), |text, step| match step {
        Step::Index(index) => format!("{text}[{index}]"),
        Step::Key(key) if text.is_empty() => super::tree::key_text(key),
        Step::Key(key) => format!("{text}.{}", super::tree::key_text(key)),
    })
}

/// A tree to be read.
pub(super) struct Reader<'de>(pub &'de Tree);

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Bool(yes) => visitor.visit_bool(*yes),
            Value::Array(items) => visitor.visit_seq(Items { rest: items.iter().enumerate() }),
            Value::Table(entries) => visitor.visit_map(Fields { rest: entries.iter(), current: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::String(text) => visitor.visit_enum(IntoDeserializer::<Fault>::into_deserializer(text.as_str())),
            _ => {
                let names = variants.join(", ");
                Err(Fault::new(FaultKind::Other(format!("{} where one of {names} is expected", self.0.kind()))))
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'de> {
    rest: std::iter::Enumerate<std::slice::Iter<'de, Tree>>,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some((index, tree)) = self.rest.next() else { return Ok(None) };
        seed.deserialize(Reader(tree)).map(Some).map_err(|fault| fault.below(Step::Index(index), &tree.span))
    }
}

struct Fields<'de> {
    rest: std::slice::Iter<'de, Entry>,
    current: Option<&'de Entry>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some(entry) = self.rest.next() else { return Ok(None) };
        self.current = Some(entry);
        let key: de::value::StrDeserializer<'_, Fault> = entry.key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|fault| fault.below(Step::Key(entry.key.clone()), &entry.key_span))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let Some(entry) = self.current.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(Reader(&entry.tree))
            .map_err(|fault| fault.below(Step::Key(entry.key.clone()), &entry.tree.span))
    }
}
