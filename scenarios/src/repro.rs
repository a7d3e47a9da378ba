//! What is kept of a failure, so that anyone can look at it and play it again: `repro/<case-id>/`.

use crate::case::Case;
use crate::report::transcript;
use crate::run::{CaseResult, Run};
use serde_json::Value;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// How a case is played again, beside its file.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// What stands behind `slotspec run --cases FILE`, such as `--agent pi --dialect chat`.
    pub arguments: String,
}

/// Writes the folder of a failed case, and gives back its path. What lay there before is replaced.
///
/// # Errors
/// When a file cannot be written.
pub fn write(root: &Path, case: &Case, run: &Run, result: &CaseResult, replay: &Replay) -> io::Result<PathBuf> {
    let dir = root.join(&case.id);
    std::fs::create_dir_all(&dir)?;
    let file = dir.join("case.toml");
    let head = format!("# {}\n# Written by slotspec for the failed case {}.\n", case.title.replace('\n', " "), case.id);
    std::fs::write(&file, format!("{head}{}", case.source.document()))?;
    std::fs::write(dir.join("wire.jsonl"), run.neutral(&run.journal.to_jsonl()))?;
    let trace = neutral(serde_json::to_value(&run.seen.trace)?, run);
    std::fs::write(dir.join("trace.json"), format!("{}\n", serde_json::to_string_pretty(&trace)?))?;
    std::fs::write(dir.join("findings.txt"), findings(result))?;
    std::fs::write(dir.join("transcript.txt"), transcript::render(case, &run.seen, |text| run.neutral(text)))?;
    if !run.seen.stdout.is_empty() || !run.stderr.is_empty() {
        let output = format!("-- stdout\n{}\n-- stderr\n{}\n", run.seen.stdout, run.stderr);
        std::fs::write(dir.join("output.txt"), run.neutral(&output))?;
    }
    let command = format!("slotspec run --cases {} {}", shell_word(&file.display().to_string()), replay.arguments);
    std::fs::write(dir.join("replay.txt"), format!("{}\n", command.trim_end()))?;
    Ok(dir)
}

/// Everything that is not good, one a line.
pub fn findings(result: &CaseResult) -> String {
    let mut out = String::new();
    for check in result.all().filter(|check| !check.outcome.verdict.is_good()) {
        let outcome = &check.outcome;
        // Writing to a string cannot fail.
        let _ =
            writeln!(out, "{} {} {}: {}: {}", outcome.verdict, check.rule, check.name, outcome.cause, outcome.detail);
    }
    out
}

fn neutral(value: Value, run: &Run) -> Value {
    match value {
        Value::String(text) => Value::String(run.neutral(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| neutral(item, run)).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(key, value)| (key, neutral(value, run))).collect())
        }
        other => other,
    }
}

/// A word as a shell reads it back.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-@+=:,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_the_shell() {
        assert_eq!(shell_word("repro/a@b/case.toml"), "repro/a@b/case.toml");
        assert_eq!(shell_word("my dir/it's"), "'my dir/it'\\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
