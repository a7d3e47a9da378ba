//! The bodies of the fuzz targets, so that a stable test replays the committed corpus through the very same code.
//!
//! It owns the properties and naive ways to compute the same. Each function panics where its property does not hold, and
//! is built for tests and for the `fuzzing` feature only.

#![allow(clippy::expect_used, reason = "a property that does not hold is a panic here")]

use crate::approval::command::{Analysis, Verdict, analyse};
use crate::approval::fingerprint::{Grant, Line, Subject};

/// Programs that a read-only command may begin with, written down a second time.
const LOOKS: &[&str] = &[
    "basename",
    "cat",
    "cksum",
    "cmp",
    "comm",
    "cut",
    "date",
    "dirname",
    "du",
    "echo",
    "false",
    "file",
    "find",
    "grep",
    "head",
    "id",
    "ls",
    "md5sum",
    "nl",
    "printf",
    "pwd",
    "rev",
    "rg",
    "sed",
    "sha256sum",
    "sort",
    "stat",
    "tac",
    "tail",
    "tr",
    "tree",
    "true",
    "uname",
    "uniq",
    "wc",
    "whoami",
];

/// Options by which some of them write or run something.
const WRITING: &[(&str, &str)] = &[
    ("find", "-delete"),
    ("find", "-exec"),
    ("find", "-fls"),
    ("find", "-fprint"),
    ("find", "-ok"),
    ("rg", "--hostname-bin"),
    ("rg", "--pre"),
    ("sort", "--compress-program"),
    ("sort", "--output"),
    ("sort", "-o"),
    ("tree", "-o"),
];

/// Any text is analysed; the verdict is that of its reasons; what is plain has the words that another splitter finds; and
/// what is read-only is, by the naked eye, a list of looks.
pub fn command_analysis(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let analysis = analyse(text);
    check_analysis(text, &analysis);
}

fn check_analysis(text: &str, analysis: &Analysis) {
    let rated = analysis.reasons.iter().map(|reason| reason.verdict()).max();
    match analysis.verdict {
        Verdict::ReadOnly | Verdict::Ordinary => assert_eq!(rated, None, "{text:?}"),
        verdict => assert_eq!(rated, Some(verdict), "{text:?}"),
    }
    if let Some(plain) = &analysis.plain {
        // A semicolon behind the last command is no part of it.
        let trimmed = text.trim_end().strip_suffix(';').unwrap_or(text);
        let split = [shlex::split(text), shlex::split(trimmed)];
        assert!(split.contains(&Some(plain.clone())), "{text:?} {plain:?}");
        assert!(analysis.verdict != Verdict::Opaque);
    }
    if analysis.verdict == Verdict::ReadOnly {
        let bare = unquoted(text);
        // What may be redirected is known word by word; nothing else of a redirection may be left.
        let harmless = [
            "2>&1",
            "1>&2",
            ">&2",
            ">&1",
            "2>>/dev/null",
            "2>/dev/null",
            ">>/dev/null",
            ">/dev/null",
            "</dev/null",
            "2> /dev/null",
            "> /dev/null",
            ">> /dev/null",
            "< /dev/null",
        ];
        let bare = harmless.iter().fold(bare, |bare, redirect| bare.replace(redirect, " "));
        let wild = ['$', '`', '(', ')', '{', '}', '*', '?', '[', '~', '#', '\n', '\r', '\0', '>', '<'];
        assert!(!bare.contains(wild), "{text:?} {bare:?}");
        for part in bare.replace("&&", ";").split(['|', ';']).filter(|part| !part.trim().is_empty()) {
            let first = part.split_whitespace().next().unwrap_or_default();
            assert!(LOOKS.contains(&first), "{text:?} {first:?}");
            // What is an option of one program is text to another (`grep -exec` looks for `xec`), and behind an option it may
            // be that one's value (`find -name -exec`).
            let words: Vec<&str> = part.split_whitespace().collect();
            for (_, option) in WRITING.iter().filter(|(program, _)| *program == first) {
                let has = |pair: &[&str]| !pair[0].starts_with('-') && pair[1].starts_with(option);
                assert!(!words.windows(2).any(has), "{text:?}");
            }
        }
        assert!(!bare.replace("&&", "").contains('&'), "{text:?}");
    }
}

/// An approval never covers a command that is rated higher, has a reason more, or runs another program. The input is two
/// commands with a NUL byte between them.
pub fn fingerprint(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Some((approved, other)) = text.split_once('\0') else { return };
    let subject = |text: &str| Subject::of_command("exec_shell", text, ".", &analyse(text));
    let (approved, other) = (subject(approved), subject(other));
    let Some(rule) = approved.rule() else {
        assert_eq!(approved.verdict, Verdict::Destructive);
        return;
    };
    let grant = Grant::of(&approved, rule);
    assert!(grant.covers(&approved), "an approval covers what was approved: {approved:?}");
    if grant.covers(&other) {
        assert!(other.verdict <= approved.verdict && other.verdict != Verdict::Destructive, "{approved:?} {other:?}");
        assert!(other.reasons.is_subset(&approved.reasons), "{approved:?} {other:?}");
        match (&approved.line, &other.line) {
            (Line::Words(one), Line::Words(two)) => assert_eq!(one.first(), two.first()),
            (one, two) => assert_eq!(one, two),
        }
    }
}

/// Texts made of the pieces that commands are made of.
#[cfg(test)]
pub fn command_text() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::strategy::Strategy;
    let piece = proptest::sample::select(vec![
        "ls",
        "cat",
        "rm",
        "-rf",
        "/",
        "a",
        "-o",
        "--output=x",
        "git",
        "push",
        "git push",
        "cargo build",
        "cargo ",
        "build",
        "sort",
        "find",
        "-exec",
        "sh",
        "-c",
        " ",
        " ",
        " ",
        " ",
        "\t",
        "\n",
        ";",
        "|",
        "||",
        "&",
        "&&",
        "<",
        ">",
        ">>",
        "2>&1",
        ">/dev/null",
        "$(",
        ")",
        "(",
        "`",
        "${X}",
        "$X",
        "'",
        "\"",
        "\\",
        "*",
        "~",
        "#",
        "{",
        "}",
        "!",
        "if",
        "then",
        "fi",
        "A=1",
        "<<E",
        "é",
        "\u{200b}",
        "[[",
        "]]",
        "=",
        "-",
        "--",
        "uniq",
        "sed",
        "-n",
        "1p",
        "--config",
        " --release",
        "npm run test",
        "echo",
    ]);
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// The text without what stands in quotes, and without escaped characters.
fn unquoted(text: &str) -> String {
    let (mut bare, mut quote, mut escaped) = (String::new(), None, false);
    for c in text.trim().chars() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => {
                quote = None;
                bare.push('Q');
            }
            (Some(_), _) => {}
            (None, c) => bare.push(c),
        }
    }
    bare
}

/// Runs every committed input of a target through its body; answers how many there were.
#[cfg(test)]
fn replay(target: &str, body: impl Fn(&[u8])) -> usize {
    let mut count = 0;
    for folder in ["corpus", "regressions"] {
        let folder = format!("{}/../../fuzz/{folder}/{target}", env!("CARGO_MANIFEST_DIR"));
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(bytes) = std::fs::read(entry.path()) else { continue };
            body(&bytes);
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_inputs_hold() {
        assert!(replay("command_analysis", command_analysis) >= 8);
        assert!(replay("fingerprint", fingerprint) >= 6);
    }
}
