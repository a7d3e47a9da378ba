//! Asking a person on the terminal.

use crate::print::visible;
use slot_runtime::approval::{ApprovalChannel, ApprovalQuestion, Lasts, PersonAnswer};
use slot_runtime::contract::BoxFuture;
use slot_tools::session::{Person, Question};
use std::fs::File;
use std::io::{Read, Write};

/// The longest answer that is read, in bytes.
const MOST_ANSWER: usize = 4096;
/// How much of the head and of the tail of an input is shown, in bytes.
const SHOWN: usize = 1500;

/// The terminal that the program was started from, whatever its standard input is.
pub struct Terminal {
    /// Whether an answer for good has a file that it is kept in.
    pub keeps: bool,
}

impl Terminal {
    /// The terminal, if there is one.
    pub fn open() -> Option<File> {
        File::options().read(true).write(true).open("/dev/tty").ok()
    }
}

impl ApprovalChannel for Terminal {
    fn ask<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, Option<PersonAnswer>> {
        let text = prompt(question, self.keeps);
        Box::pin(async move { Some(answer(&line_for(text).await?)) })
    }
}

impl Person for Terminal {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        let mut text = format!("\nThe model asks, and your answer permits nothing:\n{}\n", visible(&question.text));
        for (n, option) in question.options.iter().enumerate() {
            text.push_str(&format!("  {}. {}\n", n + 1, visible(option)));
        }
        text.push_str("Your answer: ");
        Box::pin(async move { Some(chosen(&line_for(text).await?, &question.options)) })
    }

    fn tell(&self, message: &str) -> bool {
        let line = format!("\nThe model says: {}\n", visible(message));
        Terminal::open().is_some_and(|mut terminal| terminal.write_all(line.as_bytes()).is_ok())
    }
}

/// Shows a text and takes the line that answers it.
async fn line_for(text: String) -> Option<String> {
    // Reading a line blocks, and a cancelled run does not wait for it.
    let asked = tokio::task::spawn_blocking(move || {
        let mut terminal = Terminal::open()?;
        terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush()).ok()?;
        // Whatever was typed, or pushed into the terminal, before the question could be read answers nothing.
        rustix::termios::tcflush(&terminal, rustix::termios::QueueSelector::IFlush).ok()?;
        read_line(&mut terminal)
    });
    asked.await.ok().flatten()
}

/// The answer that a line is: the number of an offered one stands for it.
fn chosen(line: &str, options: &[String]) -> String {
    let line = line.trim();
    let offered = line.parse::<usize>().ok().and_then(|n| options.get(n.checked_sub(1)?));
    offered.map_or_else(|| line.to_owned(), String::clone)
}

/// One line, byte by byte: nothing behind it is taken from the terminal. `None` at its end.
fn read_line(terminal: &mut impl Read) -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < MOST_ANSWER {
        if terminal.read(&mut byte).ok()? == 0 {
            return None;
        }
        if byte[0] == b'\n' {
            break;
        }
        line.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}

/// The input as it is shown: whole, or its head and tail with the number of bytes between them, so that a long one cannot
/// push its own start off the screen.
fn shown(input: &str) -> String {
    if input.len() <= 2 * SHOWN {
        return input.to_owned();
    }
    let (mut head, mut tail) = (SHOWN, input.len() - SHOWN);
    while !input.is_char_boundary(head) {
        head -= 1;
    }
    while !input.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}\n[... {} bytes are not shown ...]\n{}", &input[..head], tail - head, &input[tail..])
}

fn prompt(question: &ApprovalQuestion, keeps: bool) -> String {
    let input = serde_json::to_string_pretty(question.input.as_ref()).unwrap_or_default();
    let written = question.requested.as_ref().map(|name| format!(", written as {}", visible(&shortened(name))));
    let told: String = question.prompt.lines().iter().map(|line| format!("{}\n", visible(&shown(line)))).collect();
    let lasting = match (&question.rule, keeps) {
        (None, _) => "",
        (Some(_), false) => ", s for this session, t for this turn",
        (Some(_), true) => ", s for this session, t for this turn, always for good",
    };
    format!(
        "\nThe model wants to call {}{} ({}):\n{}\n{told}Run it? [y for this once{lasting}; N, or N and what to tell the model] ",
        visible(&question.tool),
        written.unwrap_or_default(),
        visible(&question.reason),
        visible(&shown(&input))
    )
}

/// A name as long as any tool's.
fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

/// Only a plain yes is one, and only a plain word makes it last.
fn answer(line: &str) -> PersonAnswer {
    let line = line.trim();
    let lasts = match line.to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(Lasts::Once),
        "t" | "turn" => Some(Lasts::Turn),
        "s" | "session" => Some(Lasts::Session),
        "always" => Some(Lasts::Always),
        _ => None,
    };
    if let Some(lasts) = lasts {
        return PersonAnswer { approved: true, comment: String::new(), lasts };
    }
    let comment = match line.split_once(char::is_whitespace) {
        Some((first, rest)) if matches!(first.to_ascii_lowercase().as_str(), "n" | "no") => rest.trim(),
        _ => "",
    };
    PersonAnswer { approved: false, comment: comment.to_owned(), lasts: Lasts::Once }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, approved: bool, comment: &str) {
        assert_eq!(answer(line), PersonAnswer { approved, comment: comment.into(), lasts: Lasts::Once });
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
    fn only_a_plain_word_makes_an_approval_last() {
        for (line, lasts) in [("s", Lasts::Session), ("T", Lasts::Turn), ("always\n", Lasts::Always)] {
            assert_eq!(answer(line), PersonAnswer { approved: true, comment: String::new(), lasts });
        }
        check("a\n", false, "");
        check("session please\n", false, "");
    }

    #[test]
    fn a_long_input_keeps_its_head_and_tail_on_the_screen() {
        let long = format!("rm -rf{}é;tail", "x".repeat(9000));
        let text = shown(&long);
        assert!(
            text.starts_with("rm -rf") && text.ends_with("é;tail") && text.contains("bytes are not shown"),
            "{text}"
        );
        assert_eq!(shown("short"), "short");
    }

    #[test]
    fn the_number_of_an_offered_answer_stands_for_it() {
        let options = ["SQLite".to_owned(), "3".to_owned()];
        for (line, expect) in [("1", "SQLite"), (" 2 ", "3"), ("3", "3"), ("0", "0"), ("none of them", "none of them")]
        {
            assert_eq!(chosen(line, &options), expect);
        }
    }

    #[test]
    fn only_one_line_is_taken() {
        let mut input: &[u8] = b"y\nn\n";
        assert_eq!(read_line(&mut input).as_deref(), Some("y"));
        assert_eq!(input, b"n\n");
        assert_eq!(read_line(&mut &b"no end"[..]), None);
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
            subject: slot_runtime::approval::fingerprint::Subject::of_input("exec", &serde_json::Value::Null),
            rule: None,
            prompt: slot_runtime::approval::Prompt {
                justification: Some("trust\u{1b}[8m me".into()),
                ..Default::default()
            },
        };
        let text = prompt(&question, true);
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{text:?}");
        assert!(text.contains("the model says: trust\u{fffd}[8m me") && !text.contains("for this session"), "{text:?}");
        assert!(text.contains("exec\u{fffd}[2J, written as ex\u{fffd}[8m (it runs code)"), "{text:?}");
    }
}
