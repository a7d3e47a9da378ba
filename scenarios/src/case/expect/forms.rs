//! How expectations are read that have a plain form beside a table: by hand, so that a slip inside the table is named like
//! any other.

use super::{Answered, Bounds, Count, EventExpect, ExitExpect, Failure, FileExpect, LaneExpect, ResultExpect};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::{collections::BTreeMap, fmt};

/// Reads a value that has a plain form beside a table. The methods that a type does not offer refuse.
trait Forms: Sized {
    const EXPECTED: &'static str;

    fn text(text: &str) -> Option<Self> {
        let _ = text;
        None
    }

    fn yes(yes: bool) -> Option<Self> {
        let _ = yes;
        None
    }

    fn number(number: usize) -> Option<Self> {
        let _ = number;
        None
    }

    fn list(items: Vec<String>) -> Option<Self> {
        let _ = items;
        None
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;
}

struct FormVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Forms> Visitor<'de> for FormVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::text(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<T, E> {
        T::yes(yes).ok_or_else(|| E::invalid_type(serde::de::Unexpected::Bool(yes), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        usize::try_from(number)
            .ok()
            .and_then(T::number)
            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(number), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        T::list(items).ok_or_else(|| A::Error::invalid_type(serde::de::Unexpected::Seq, &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::table(map)
    }
}

fn inner<'de, T: Deserialize<'de>, A: MapAccess<'de>>(map: A) -> Result<T, A::Error> {
    T::deserialize(MapAccessDeserializer::new(map))
}

impl Forms for FileExpect {
    const EXPECTED: &'static str = "a text, true, false or a table of conditions";

    fn text(text: &str) -> Option<Self> {
        Some(FileExpect::Text(text.to_owned()))
    }

    fn yes(yes: bool) -> Option<Self> {
        Some(FileExpect::Exists(yes))
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        inner(map).map(FileExpect::Loose)
    }
}

impl Forms for ResultExpect {
    const EXPECTED: &'static str = "\"answered\" or a table of conditions";

    fn text(text: &str) -> Option<Self> {
        (text == "answered").then_some(ResultExpect::Answered(Answered))
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        inner(map).map(ResultExpect::Exact)
    }
}

impl Forms for Count {
    const EXPECTED: &'static str = "a number from 0 or a table of min and max";

    fn number(number: usize) -> Option<Self> {
        Some(Count::Exact(number))
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        inner(map).map(Count::Within)
    }
}

impl Forms for ExitExpect {
    const EXPECTED: &'static str = "a number from 0 or \"failure\"";

    fn text(text: &str) -> Option<Self> {
        (text == "failure").then_some(ExitExpect::Failure(Failure))
    }

    fn number(number: usize) -> Option<Self> {
        i32::try_from(number).ok().map(ExitExpect::Code)
    }

    fn table<'de, A: MapAccess<'de>>(_: A) -> Result<Self, A::Error> {
        Err(A::Error::custom(format!("expected {}", Self::EXPECTED)))
    }
}

impl Forms for EventExpect {
    const EXPECTED: &'static str = "a number from 0, a table of min and max, or a table of call ids";

    fn number(number: usize) -> Option<Self> {
        Some(EventExpect::Count(Count::Exact(number)))
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        let counts: BTreeMap<String, Count> = inner(map)?;
        if counts.keys().all(|key| key == "min" || key == "max") {
            let bound = |key: &str| match counts.get(key) {
                None => Ok(None),
                Some(Count::Exact(n)) => Ok(Some(*n)),
                Some(Count::Within(_)) => Err(A::Error::custom(format!("{key} is not a number"))),
            };
            return Ok(EventExpect::Count(Count::Within(Bounds { min: bound("min")?, max: bound("max")? })));
        }
        Ok(EventExpect::ByCall(counts))
    }
}

impl Forms for LaneExpect {
    const EXPECTED: &'static str = "a list of event names or a table with one";

    fn list(items: Vec<String>) -> Option<Self> {
        Some(LaneExpect::Exact(items))
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        inner(map).map(LaneExpect::Loose)
    }
}

macro_rules! read_forms {
    ($($name:ty),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(FormVisitor(std::marker::PhantomData))
            }
        }
    )*};
}

read_forms!(FileExpect, ResultExpect, Count, ExitExpect, EventExpect, LaneExpect);
