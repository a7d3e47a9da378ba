//! Paths to one leaf of a document, such as `turn[0].call[1].with.path` or `world.files."a.txt"`.

use super::de::{Step, dotted};
use super::tree::{Entry, Tree, Value};
use std::fmt;

/// A path to one leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafPath(Vec<Step>);

impl LeafPath {
    /// Parses a path.
    ///
    /// # Errors
    /// What is wrong with it, as a message.
    pub fn parse(text: &str) -> Result<LeafPath, String> {
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let (key, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or("a quote is not closed")?,
                None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
            };
            if key.is_empty() {
                return Err("a key is empty".to_owned());
            }
            steps.push(Step::Key(key.to_owned()));
            rest = after;
            while let Some(inner) = rest.strip_prefix('[') {
                let (index, after) = inner.split_once(']').ok_or("a bracket is not closed")?;
                let index = index.parse().map_err(|_| format!("{index:?} is no index"))?;
                steps.push(Step::Index(index));
                rest = after;
            }
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None if rest.is_empty() => return Ok(LeafPath(steps)),
                None => return Err(format!("{rest:?} is not understood; keys are separated by dots")),
            }
        }
    }

    /// The first key.
    pub fn root(&self) -> &str {
        match self.0.first() {
            Some(Step::Key(key)) => key,
            _ => "",
        }
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Changes or adds exactly one leaf of `tree`.
    ///
    /// # Errors
    /// Why this would change none or more than one, as a message.
    pub fn set(&self, tree: &mut Tree, value: &Tree) -> Result<(), String> {
        if value.leaves() != 1 {
            return Err(format!("{} with {} leaves would change more than one", value.kind(), value.leaves()));
        }
        let mut at = tree;
        for (depth, step) in self.0.iter().enumerate() {
            let here = dotted("", &self.0[..depth]);
            let last = depth + 1 == self.0.len();
            let kind = at.kind();
            at = match (step, &mut at.value) {
                (Step::Key(key), Value::Table(entries)) => {
                    let index = match entries.iter().position(|e| e.key == *key) {
                        Some(index) => index,
                        None => {
                            let span = value.span.clone();
                            let new = if last { value.value.clone() } else { Value::Table(Vec::new()) };
                            let tree = Tree { span: span.clone(), value: new };
                            entries.push(Entry { key: key.clone(), key_span: span, tree });
                            if last {
                                return Ok(());
                            }
                            entries.len() - 1
                        }
                    };
                    &mut entries[index].tree
                }
                (Step::Index(index), Value::Array(items)) => {
                    let count = items.len();
                    items.get_mut(*index).ok_or(format!("{here} has {count} elements, there is no [{index}]"))?
                }
                (Step::Key(_), _) => return Err(format!("{here:?} is {kind}, not a table")),
                (Step::Index(_), _) => return Err(format!("{here:?} is {kind}, not an array")),
            };
        }
        if at.leaves() != 1 {
            return Err(format!("it holds {} leaves, all of which would change", at.leaves()));
        }
        if at.same(value) {
            return Err("it has this value already, so nothing would change".to_owned());
        }
        *at = value.clone();
        Ok(())
    }
}

impl fmt::Display for LeafPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&dotted("", &self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Document;

    const BASE: &str = r#"
title = "t"
[world]
files = { "a.txt" = "1" }
[[turn]]
stop = "tool_calls"
[[turn.call]]
id = "c1"
with = { path = "a.txt", n = [1, 2] }
"#;

    #[track_caller]
    fn check(path: &str, value: &str, expect: Result<&str, &str>) {
        let mut tree = Document::parse("base", BASE).unwrap().root;
        let value = Document::parse("value", &format!("v = {value}")).unwrap().root;
        let result = LeafPath::parse(path).and_then(|path| path.set(&mut tree, value.get("v").unwrap()));
        match (result, expect) {
            (Ok(()), Ok(line)) => assert!(tree.document().contains(line), "{}", tree.document()),
            (Err(message), Err(part)) => assert!(message.contains(part), "{message}"),
            (result, _) => panic!("{result:?}"),
        }
    }

    #[test]
    fn a_leaf_is_changed() {
        check("turn[0].stop", "'max_tokens'", Ok("stop = \"max_tokens\""));
        check("turn[0].call[0].with.path", "'b'", Ok("path = \"b\""));
        check("world.files.\"a.txt\"", "'2'", Ok("\"a.txt\" = \"2\""));
    }

    #[test]
    fn a_leaf_is_added() {
        check("mode", "'deny'", Ok("mode = \"deny\""));
        check("turn[0].framing.eol", "'cr'", Ok("eol = \"cr\""));
        check("turn[0].call[0].mangle", "['trailing-comma']", Ok("mangle = [\"trailing-comma\"]"));
    }

    #[test]
    fn more_or_less_than_one_leaf_is_refused() {
        check("turn[0].stop", "'tool_calls'", Err("nothing would change"));
        check("turn[0].call[0].with.n", "3", Err("2 leaves"));
        check("turn[0].cut", "[{ inside = 'ü', byte = 1 }]", Err("more than one"));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_refused() {
        check("turn[1].stop", "'stop'", Err("there is no [1]"));
        check("title.x", "1", Err("not a table"));
        check("turn[x]", "1", Err("no index"));
        check("turn[0", "1", Err("not closed"));
        check("", "1", Err("empty"));
        check("a..b", "1", Err("empty"));
        check("\"a", "1", Err("not closed"));
        check("turn[0]stop", "1", Err("not understood"));
    }
}
