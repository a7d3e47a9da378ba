//! Asking a person on the terminal.

use crate::print::visible;
use slot_runtime::approval::{ApprovalChannel, ApprovalQuestion, PersonAnswer};
use slot_runtime::contract::BoxFuture;
use std::io::{BufRead, Write};

/// The terminal that the program was started from.
pub struct Terminal;

impl ApprovalChannel for Terminal {
    fn ask<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, Option<PersonAnswer>> {
        let text = prompt(question);
        Box::pin(async move {
            // Reading a line blocks, and a cancelled run does not wait for it.
            tokio::task::spawn_blocking(move || {
                let mut stderr = std::io::stderr().lock();
                stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).ok()?;
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).ok().filter(|n| *n > 0)?;
                Some(answer(&line))
            })
            .await
            .ok()
            .flatten()
        })
    }
}

fn prompt(question: &ApprovalQuestion) -> String {
    let input = serde_json::to_string_pretty(question.input.as_ref()).unwrap_or_default();
    let written = question.requested.as_ref().map(|name| format!(", written as {}", visible(&shortened(name))));
    format!(
        "\nThe model wants to call {}{} ({}):\n{}\nRun it this once? [y/N, or N and what to tell the model] ",
        visible(&question.tool),
        written.unwrap_or_default(),
        visible(&question.reason),
        visible(&input)
    )
}

/// A name as long as any tool's.
fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

/// Only a plain yes is one.
fn answer(line: &str) -> PersonAnswer {
    let line = line.trim();
    if matches!(line.to_ascii_lowercase().as_str(), "y" | "yes") {
        return PersonAnswer { approved: true, comment: String::new() };
    }
    let comment = match line.split_once(char::is_whitespace) {
        Some((first, rest)) if matches!(first.to_ascii_lowercase().as_str(), "n" | "no") => rest.trim(),
        _ => "",
    };
    PersonAnswer { approved: false, comment: comment.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, approved: bool, comment: &str) {
        assert_eq!(answer(line), PersonAnswer { approved, comment: comment.into() });
    }

    #[test]
    fn only_a_plain_yes_approves() {
        check("y\n", true, "");
        check("YES\n", true, "");
        check("\n", false, "");
        check("yes but\n", false, "");
        check("n use the test folder\n", false, "use the test folder");
        check("nope\n", false, "");
    }

    #[test]
    fn the_question_shows_no_escape_sequence() {
        let question = ApprovalQuestion {
            call_id: "c".into(),
            tool: "exec\u{1b}[2J".into(),
            requested: Some("ex\u{1b}[8m".into()),
            is_guess: true,
            input: std::sync::Arc::new(serde_json::json!({"command": "ls\u{9b}31m\u{202e}"})),
            level: slot_runtime::contract::ApprovalRequirement::Required,
            capabilities: Vec::new(),
            reason: "it runs code".into(),
        };
        let text = prompt(&question);
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{text:?}");
        assert!(text.contains("exec\u{fffd}[2J, written as ex\u{fffd}[8m (it runs code)"), "{text:?}");
    }
}
