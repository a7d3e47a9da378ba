//! Where two JSON texts differ first.

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// How deep a difference is followed; a deeper one is named by the value that holds it.
const DEEPEST: usize = 64;

/// A JSON pointer, below the values themselves, to the first leaf in which `a` and `b` differ as texts; empty where they
/// differ as a whole or only in the white space around their members.
pub fn first_difference(a: &str, b: &str) -> String {
    let mut pointer = String::new();
    let (mut a, mut b) = (a, b);
    for _ in 0..DEEPEST {
        let (Some(old), Some(new)) = (members(a), members(b)) else { break };
        let most = old.len().max(new.len());
        let Some(at) = (0..most).find(|at| old.get(*at) != new.get(*at)) else { break };
        match (old.get(at), new.get(at)) {
            (Some((key, x)), Some((other, y))) if key == other => {
                push(&mut pointer, key);
                (a, b) = (x, y);
            }
            // A member that is there in one only, or that stands where another stood.
            (_, Some((key, _))) | (Some((key, _)), None) => {
                push(&mut pointer, key);
                break;
            }
            (None, None) => break,
        }
    }
    pointer
}

fn push(pointer: &mut String, key: &str) {
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
}

/// The members of an object or list in their order; `None` for any other value.
fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    serde_json::from_str::<Members<'_>>(text).ok().map(|members| members.0)
}

struct Members<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut all = Vec::new();
        while let Some((key, value)) = map.next_entry::<Key<'de>, &RawValue>()? {
            all.push((key.0, value.get()));
        }
        Ok(Members(all))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Members<'de>, A::Error> {
        let mut all = Vec::new();
        while let Some(value) = list.next_element::<&RawValue>()? {
            all.push((Cow::Owned(all.len().to_string()), value.get()));
        }
        Ok(Members(all))
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(a: &str, b: &str, expect: &str) {
        assert_eq!(first_difference(a, b), expect);
    }

    #[test]
    fn leaves_are_found() {
        check(r#"{"a":{"b":[1,2]}}"#, r#"{"a":{"b":[1,3]}}"#, "/a/b/1");
        check(r#"{"a":1.0}"#, r#"{"a":1}"#, "/a");
        check(r#"{"a/b":{"c~":1}}"#, r#"{"a/b":{"c~":2}}"#, "/a~1b/c~0");
    }

    #[test]
    fn members_that_moved_or_went_are_found() {
        check(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, "/b");
        check(r#"{"a":1,"b":2}"#, r#"{"a":1}"#, "/b");
        check("[1,2]", "[1,2,3]", "/2");
    }

    #[test]
    fn what_has_no_members_differs_as_a_whole() {
        check("1", "2", "");
        check(r#"{"a":1}"#, r#"{"a": 1}"#, "");
        check("{", "[", "");
        check("", "x", "");
    }

    #[test]
    fn depth_is_bounded() {
        let nest = |inner: &str| format!("{}{inner}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(first_difference(&nest("1"), &nest("2")).len(), 2 * DEEPEST);
    }
}
