//! What a search tells beside what it found: names as they are shown, what was passed over, and the call that goes on.

use super::walk::{PassedOver, Tally, WalkError};
use crate::work::refused;
use serde_json::Value;
use slot_runtime::contract::ToolError;
use std::{ffi::OsStr, path::Path};

/// A name on one line: what is no text or would break the line is escaped.
pub fn visible(name: &OsStr) -> String {
    let text = name.to_string_lossy();
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    text.chars().fold(String::new(), |mut shown, c| {
        if c.is_control() {
            shown.extend(c.escape_default())
        } else {
            shown.push(c)
        }
        shown
    })
}

/// A path on one line.
pub fn visible_path(path: &Path) -> String {
    visible(path.as_os_str())
}

/// A number of things, with their word.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A call of `tool` with the fields of `input`, of which some are replaced, as it can be made word for word.
pub fn call(tool: &str, input: &Value, changes: &[(&str, Value)]) -> String {
    let mut fields = input.as_object().cloned().unwrap_or_default();
    fields.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    fields.retain(|_, value| !value.is_null());
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("call {tool} with {}", fields.join(" "))
}

/// What there was that was not looked at, a line for each reason.
pub fn passed_over(passed: &PassedOver, ignored: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if passed.folders + passed.files > 0 && !ignored {
        lines.push(format!(
            "[LEFT OUT] {} and {} that ignore files name or that hold build output or installed code; \
             include_ignored=true looks at them too.",
            counted(passed.folders, "folder", "folders"),
            counted(passed.files, "file", "files"),
        ));
    }
    let mut skipped = |tally: &Tally, one: &str, many: &str, why: &str| {
        if tally.count > 0 {
            lines.push(skipped(tally, one, many, why));
        }
    };
    skipped(&passed.links, "symbolic link", "symbolic links", "not followed; pass one as path to look behind it");
    skipped(&passed.special, "pipe, socket or device", "pipes, sockets or devices", "not opened");
    skipped(&passed.unreadable, "folder", "folders", "could not be read");
    skipped(
        &passed.ignore_files,
        "folder",
        "folders",
        "with ignore files too large or too deep to be followed, so what they name was looked at",
    );
    if passed.denied > 0 {
        lines.push(format!(
            "[DENIED] {} that deny rules of this session cover.",
            counted(passed.denied, "name was left out", "names were left out")
        ));
    }
    lines
}

/// A line that says what was skipped and why, with the first examples.
pub fn skipped(tally: &Tally, one: &str, many: &str, why: &str) -> String {
    let mut first: Vec<String> = tally.first.iter().map(|path| visible_path(path)).collect();
    if tally.count > first.len() as u64 {
        first.push("…".to_owned());
    }
    format!("[SKIPPED] {}: {why} ({}).", counted(tally.count, one, many), first.join(", "))
}

/// What a walk that came to no end is for the engine.
pub fn no_walk(error: WalkError) -> ToolError {
    match error {
        WalkError::Stopped => ToolError::Cancelled,
        WalkError::TooMany(most) => ToolError::InvalidInput(format!(
            "more than {most} names lie there, which is more than one search sees. Pass the path of a folder further down; \
             list_dir shows which there are"
        )),
        WalkError::Top(error) => refused(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_can_be_made_word_for_word() {
        let input = json!({ "pattern": "a \"b\"", "path": "x" });
        assert_eq!(
            call("grep_files", &input, &[("max_results", json!(7)), ("path", Value::Null)]),
            "call grep_files with max_results=7 pattern=\"a \\\"b\\\"\""
        );
    }

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(visible(OsStr::new("a\nb\u{1b}[31m")), "a\\nb\\u{1b}[31m");
        assert_eq!(visible(OsStr::new("ä b")), "ä b");
    }

    #[test]
    fn what_was_skipped_is_named_with_its_first_examples() {
        let mut tally = Tally::default();
        for name in ["d", "b", "a", "c"] {
            tally.add(Path::new(name));
        }
        assert_eq!(skipped(&tally, "file", "files", "too large"), "[SKIPPED] 4 files: too large (a, b, c, …).");
    }
}
