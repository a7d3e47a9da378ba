//! What the model reads after a patch, and when there was none. Every refusal says that nothing was changed, and what next.

use super::patch::{Misfit, Why};
use std::fmt::Write as _;

/// How much of a line a message repeats, in characters.
const SHOWN_CHARS: usize = 200;

/// The result of a patch that was applied.
pub(super) fn done(told: &[String], unchanged: bool) -> String {
    let head =
        if unchanged { "Nothing had to change: the files read as the patch wants already.\n" } else { "Patched:\n" };
    format!("{head}{}", told.join("\n"))
}

/// How many hunks there were.
pub(super) fn hunks(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " (1 hunk)".to_owned(),
        _ => format!(" ({count} hunks)"),
    }
}

/// What is told of permissions.
pub(super) fn mode(executable: Option<bool>) -> &'static str {
    match executable {
        None => "",
        Some(true) => " (can be run now)",
        Some(false) => " (cannot be run any more)",
    }
}

/// What is told of a hunk that stood elsewhere.
pub(super) fn moved(path: &str, hunk: usize, drift: isize) -> String {
    let (count, way) = (drift.unsigned_abs(), if drift < 0 { "above" } else { "below" });
    let lines = if count == 1 { "line" } else { "lines" };
    format!("[TOLERATED] Hunk {hunk} of {path} was found {count} {lines} {way} the line that it names.")
}

pub(super) fn absent(path: &str) -> String {
    format!(
        "not found: {path}, which the patch changes or removes. Nothing was changed in any file. List the folder to see the \
         names that exist; a new file is made with --- /dev/null or *** Add File."
    )
}

pub(super) fn exists(path: &str) -> String {
    format!(
        "already exists: {path}, which the patch adds or moves a file to. Nothing was changed in any file. Read it, then \
         change it with --- a/{path} or *** Update File, or choose another name."
    )
}

pub(super) fn not_all(path: &str) -> String {
    format!(
        "the patch removes {path}, and does not name all that it holds. Nothing was changed in any file. Read it with \
         read_file, then send every line of it as removed, or use *** Delete File."
    )
}

/// Why a hunk has no place, with both sides.
pub(super) fn misfit(path: &str, misfit: &Misfit, fuzz: usize) -> String {
    let mut text = format!("Hunk {} of {} for {path} was not applied: ", misfit.hunk, misfit.of);
    let why = match &misfit.why {
        Why::Absent { line, elsewhere: None } => {
            format!("its lines are not at line {line}, nor within {fuzz} lines of it.")
        }
        Why::Absent { line, elsewhere: Some(other) } => format!(
            "its lines are not at line {line}, nor within {fuzz} lines of it; they are at line {other} alone: name that line."
        ),
        Why::Several(lines) => format!(
            "its lines are in several places ({}), and which one is meant is not guessed: send more lines around the change.",
            lines.iter().map(|line| format!("line {line}")).collect::<Vec<_>>().join(", ")
        ),
        Why::NoHead(head) => {
            format!("the line {:?}, which it names with @@, is not in the rest of the file.", short(head))
        }
        Why::PastEnd(lines) => format!("it names a line behind the end of the file, which has {lines} lines."),
        Why::OutOfOrder => {
            "it stands above the end of the hunk before it: send hunks in the order of the file.".to_owned()
        }
    };
    text.push_str(&why);
    text.push_str(" Nothing was changed in any file.");
    if !misfit.expected.is_empty() {
        text.push_str("\nExpected:");
        for line in &misfit.expected {
            let _ = write!(text, "\n  {}", short(line));
        }
    }
    if !misfit.around.is_empty() {
        text.push_str("\nThe file has there:");
        for (number, line) in &misfit.around {
            let _ = write!(text, "\n{number:>6}│ {}", short(line));
        }
    }
    text.push_str(
        "\nRead the file with read_file, copy the lines that stay and go verbatim, and send the whole patch again.",
    );
    text
}

fn short(line: &str) -> String {
    let short: String = line.chars().take(SHOWN_CHARS).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}
