//! JSON, with every key once.

use super::{MAX_FAULTS, Wrong, counted};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::{collections::BTreeSet, fmt};

/// Checks one value.
pub(super) fn check(text: &str) -> Result<(), Wrong> {
    serde_json::from_str::<Strict>(text).map(drop).map_err(|error| {
        let what = error.to_string();
        // The place is told apart from it.
        let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
        Wrong { line: error.line().max(1), column: error.column().max(1), what: what.to_owned() }
    })
}

/// Checks one value a line; empty lines are passed over.
pub(super) fn check_lines(text: &str) -> Result<String, Vec<Wrong>> {
    let (mut values, mut wrongs) = (0, Vec::new());
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match check(line) {
            Ok(()) => values += 1,
            Err(wrong) => wrongs.push(Wrong { line: index + 1, ..wrong }),
        }
        if wrongs.len() > MAX_FAULTS {
            break;
        }
    }
    if wrongs.is_empty() { Ok(counted(values, "value", "values")) } else { Err(wrongs) }
}

/// Any value in which no object has a key twice. It keeps nothing.
struct Strict;

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Strict)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_str<E>(self, _: &str) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Strict, A::Error> {
        while items.next_element::<Strict>()?.is_some() {}
        Ok(Strict)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Strict, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if keys.contains(&key) {
                let shown: String = key.chars().take(60).collect();
                return Err(A::Error::custom(format!("the key {shown:?} occurs twice in one object")));
            }
            keys.insert(key);
            entries.next_value::<Strict>()?;
        }
        Ok(Strict)
    }
}
