//! The parse gate: a file that parsed before a change parses after it.
//!
//! It judges the change and not the state. A file that is new, or did not parse, may be written as it comes; so may one of
//! which it cannot be told. A file that is moved is no new one: it is held against what it was moved from, both as what the
//! new name says that it is, so that a name alone is never refused. Nothing is ever formatted or mended: what lands is what
//! was sent.

use super::rust;
use crate::validate_data::{self, Format};
use slot_runtime::boundary::{BoundaryError, ChangeGate, Pending};
use std::{
    fs::File,
    io::{self, Read, Seek},
    path::Path,
};

/// The largest file that is judged, before and after.
const MOST_BYTES: usize = 2 << 20;
/// How much of a line is shown, in characters.
const SHOWN_CHARS: usize = 200;

/// The gate.
pub struct ParseGate;

/// What can be told of a text.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It parses.
    Sound,
    /// It does not.
    Broken(Fault),
    /// It cannot be told, for this reason.
    TooMuch(&'static str),
}

/// Where a text ceases to parse: line and column from 1, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) what: String,
}

/// What is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Rust,
    Toml,
    Json,
}

impl Language {
    /// By the end of the name alone.
    fn of(path: &Path) -> Option<Language> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "rs" => Some(Language::Rust),
            "toml" => Some(Language::Toml),
            "json" => Some(Language::Json),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Language::Rust => "Rust",
            Language::Toml => "TOML",
            Language::Json => "JSON",
        }
    }

    fn check(self, bytes: &[u8]) -> Verdict {
        // A mark at the start is kept by whoever edits, and is none of the grammar's business.
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let format = match (self, std::str::from_utf8(bytes)) {
            (Language::Rust, Ok(text)) => return rust::check(text),
            // The words are those of the data formats.
            (Language::Rust | Language::Json, _) => Format::Json,
            (Language::Toml, _) => Format::Toml,
        };
        match validate_data::first_fault(bytes, format) {
            None => Verdict::Sound,
            Some((line, column, what)) => Verdict::Broken(Fault { line, column, what }),
        }
    }
}

impl ChangeGate for ParseGate {
    fn judge(&self, change: &Pending<'_>) -> Result<(), BoundaryError> {
        let (Some(language), Some(new)) = (Language::of(change.resolved), change.new) else { return Ok(()) };
        let before: Vec<&File> = [change.old, change.moved_from].into_iter().flatten().collect();
        if before.is_empty() || new.len() > MOST_BYTES {
            return Ok(());
        }
        // The new text first: what parses needs no look at an old one.
        let reason = match language.check(new) {
            Verdict::Sound => return Ok(()),
            Verdict::Broken(fault) => broken(&named(change), language, &fault, new),
            Verdict::TooMuch(why) => too_much(&named(change), language, why),
        };
        for old in before {
            let read = read(old).map_err(|source| BoundaryError::Io {
                path: change.path.to_owned(),
                doing: "read",
                source,
            })?;
            if read.is_some_and(|old| matches!(language.check(&old), Verdict::Sound)) {
                return Err(BoundaryError::Refused { reason });
            }
        }
        Ok(())
    }
}

/// A file from its start; nothing if it is larger than what is judged.
fn read(mut file: &File) -> io::Result<Option<Vec<u8>>> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= MOST_BYTES).then_some(bytes))
}

/// The file, in a sentence about what it was.
fn named(change: &Pending<'_>) -> String {
    let under = if change.old.is_none() { ", under the name it is moved from," } else { "" };
    format!("{}{under}", change.path)
}

fn broken(path: &str, language: Language, fault: &Fault, new: &[u8]) -> String {
    let Fault { line, column, what } = fault;
    let bytes = new.split(|byte| *byte == b'\n').nth(line - 1).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text.trim_end().chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.trim_end().len() {
        shown.push('…');
    }
    format!(
        "{path} was valid {0} before this change and would not be after it, so nothing was changed. Line {line}, column \
         {column} of the new content: {what}.\n{line:>6}│ {shown}\nMend that in the new text, and send the whole call again",
        language.name()
    )
}

fn too_much(path: &str, language: Language, why: &str) -> String {
    format!(
        "{path} was valid {} before this change, and whether it would be after it cannot be told: {why}. Nothing was changed; \
         make a smaller change, or one that nests less",
        language.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn judge(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Result<(), String> {
        judge_moved(path, old, None, new)
    }

    fn judge_moved(
        path: &str,
        old: Option<&[u8]>,
        moved_from: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<(), String> {
        let file = |content: &[u8]| {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(content).expect("it is written");
            file
        };
        let (old, moved_from) = (old.map(file), moved_from.map(file));
        let change =
            Pending { path, resolved: Path::new(path), old: old.as_ref(), moved_from: moved_from.as_ref(), new };
        ParseGate.judge(&change).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(path: &str, old: &str, new: &str, expect: Option<&str>) {
        match (judge(path, Some(old.as_bytes()), Some(new.as_bytes())), expect) {
            (Ok(()), None) => {}
            (Err(reason), Some(expect)) => assert!(reason.contains(expect), "{reason}"),
            (got, _) => panic!("{path}: {got:?}"),
        }
    }

    #[test]
    fn what_parsed_may_not_be_broken() {
        check("a.rs", "fn f() {}\n", "fn f() { let x = ; }\n", Some("Line 1, column 18 of the new content"));
        check("a.toml", "a = 1\n", "a = 1\n[package\nname", Some("Line 2"));
        check("a.json", "{}", "{\"a\": 1, \"b\": }", Some("Line 1, column 15"));
        check("A.JSON", "{}", "{\"a\": 1, }", Some("valid JSON before"));
        check("a.json", "{}", "{\"a\": 1, \"a\": 2}", Some("occurs twice"));
        check("a.json", "{}", "", Some("Line 1, column 1"));
        check("Cargo.toml", "a = 1", "a = 1\na = 2", Some("duplicate key"));
    }

    #[test]
    fn what_parses_may_be_written() {
        check("a.rs", "fn f() {}\n", "fn f() {}\nfn g(){ 1 }\n", None);
        check("a.rs", "fn f() {}", "", None);
        check("a.toml", "a = 1", "", None);
        check("a.json", "\u{feff}{}", "\u{feff}[1]", None);
    }

    #[test]
    fn what_was_broken_may_be_written() {
        check("a.rs", "fn f( {", "fn f( { (", None);
        check("a.toml", "= not", "still = = not", None);
        check("a.json", "// told\n{}", "// told\n{ }", None);
        check("a.json", "", "{", None);
        assert_eq!(judge("a.rs", Some(b"\xff\xfe"), Some(b"fn (")), Ok(()));
        assert_eq!(judge("a.rs", None, Some(b"fn (")), Ok(()));
        assert_eq!(judge("a.rs", Some(b"fn f() {}"), None), Ok(()));
    }

    #[test]
    fn what_is_moved_is_held_against_what_it_was() {
        let moved = |old: Option<&str>, from: &str, new: &str| {
            judge_moved("b.json", old.map(str::as_bytes), Some(from.as_bytes()), Some(new.as_bytes()))
        };
        let reason = moved(None, "{}", "{").expect_err("it parsed");
        assert!(reason.starts_with("b.json, under the name it is moved from, was valid JSON"), "{reason}");
        assert_eq!(moved(None, "{}", "[]"), Ok(()));
        assert_eq!(moved(None, "no data", "{"), Ok(()));
        assert_eq!(moved(None, "no data", "no data"), Ok(()));
        // Over another file, neither of the two is broken.
        assert!(moved(Some("{}"), "{", "{").is_err());
        assert!(moved(Some("{"), "{}", "{").is_err());
        assert_eq!(moved(Some("{"), "{", "{{"), Ok(()));
        assert_eq!(judge_moved("b.txt", None, Some(b"{}"), Some(b"{")), Ok(()));
    }

    #[test]
    fn text_that_is_no_text_is_no_rust() {
        let reason = judge("a.rs", Some(b"fn f() {}"), Some(b"fn f() {}\n// \xff")).expect_err("refused");
        assert!(reason.contains("Line 2, column 4"), "{reason}");
    }

    #[test]
    fn other_files_are_not_judged() {
        for path in ["a.md", "a", "rs", ".rs", "a.lock", "a.json5", "a.rs.bak"] {
            check(path, "{}", "][ not", None);
        }
    }

    #[test]
    fn what_is_too_large_is_not_judged_and_what_is_too_deep_is_refused() {
        let large = format!("{{{}", " ".repeat(MOST_BYTES));
        check("a.json", "{}", &large, None);
        check("a.json", &large, "{", None);
        let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
        check("a.json", "[]", &deep("[", "]"), Some("recursion limit"));
        check("a.toml", "a = 1", &format!("a = {}", deep("[", "]")), Some("max recursion depth"));
        check("a.toml", "a = 1", &format!("{}a = 1", "a.".repeat(100_000)), Some("recursion limit"));
        check("a.rs", "", &format!("const A: u8 = {};", deep("(", ")")), Some("cannot be told: it is nested deeper"));
        check("a.rs", &format!("const A: u8 = {};", deep("(", ")")), "fn (", None);
    }

    #[test]
    fn the_line_is_shown_with_its_number_and_bounded() {
        check("a.toml", "a = 1", "a = 1\nb = = 2\n", Some("\n     2│ b = = 2\nMend that"));
        check("a.toml", "a = 1", &format!("b = = {}", "é".repeat(400)), Some("é…\nMend that"));
    }
}
