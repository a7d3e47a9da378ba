//! How the naive agent writes and edits files, and the ways in which others go wrong. It edits text that occurs once.

use super::Flaw;
use std::ops::Range;
use std::path::Path;

/// Writes a whole file; the answer is what the model reads.
pub fn write(path: &Path, content: &str, flaw: Flaw) -> String {
    let content = if flaw == Flaw::WriteTidies { tidy(content) } else { content.to_owned() };
    if flaw == Flaw::WriteAnew {
        let _ = std::fs::remove_file(path);
    }
    match std::fs::write(path, content) {
        Ok(()) => "written".to_owned(),
        Err(error) => format!("cannot write: {error}"),
    }
}

/// Replaces `old` by `new` in a file; the answer is what the model reads.
pub fn run(path: &Path, old: &str, new: &str, flaw: Flaw) -> String {
    let mut text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return format!("cannot read: {error}"),
    };
    let (mut old, mut new) = (old.to_owned(), new.to_owned());
    match flaw {
        Flaw::EditTidies => text = tidy(&text),
        Flaw::EditPattern => new = new.replace("$&", &old),
        Flaw::EditCurls => new = new.replace('"', "”"),
        Flaw::EditNumbers => (old, new) = (without_numbers(&old), without_numbers(&new)),
        _ => {}
    }
    let range = match place(&text, &old, flaw) {
        Ok(range) => range,
        Err(refusal) => return refusal,
    };
    text.replace_range(range, &new);
    match std::fs::write(path, text) {
        Ok(()) => "edited".to_owned(),
        Err(error) => format!("cannot write: {error}"),
    }
}

fn place(text: &str, old: &str, flaw: Flaw) -> Result<Range<usize>, String> {
    // Places that overlap count as well.
    let count = text.char_indices().filter(|(at, _)| text[*at..].starts_with(old)).count();
    match text.find(old) {
        _ if old.is_empty() => Err("there is no text to look for".to_owned()),
        Some(at) if count == 1 || flaw == Flaw::EditFirst => Ok(at..at + old.len()),
        Some(_) => Err(format!("the text occurs {count} times; quote more of it")),
        None => match flaw {
            Flaw::EditByEnds => by_ends(text, old),
            Flaw::EditTrims => by_lines(text, old),
            _ => None,
        }
        .ok_or_else(|| "the text is not in the file; read the file with read_file".to_owned()),
    }
}

fn tidy(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    if text.ends_with('\n') { text } else { text + "\n" }
}

/// From the first place of the first line to the next one of the last.
fn by_ends(text: &str, old: &str) -> Option<Range<usize>> {
    let (first, last) = (old.lines().next()?, old.lines().last()?);
    let start = text.find(first)?;
    let end = start + first.len() + text[start + first.len()..].find(last)? + last.len();
    Some(start..end)
}

/// The first lines that are those of `old` once blanks are taken away.
fn by_lines(text: &str, old: &str) -> Option<Range<usize>> {
    let sought: Vec<&str> = old.lines().map(str::trim).collect();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines
        .windows(sought.len())
        .position(|lines| lines.iter().map(|line| line.trim()).eq(sought.iter().copied()))?;
    let start: usize = lines[..at].iter().map(|line| line.len()).sum();
    let end = start + lines[at..at + sought.len()].concat().trim_end().len();
    Some(start..end)
}

fn without_numbers(text: &str) -> String {
    let line = |line: &str| {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = ["│ ", "\t", ":"].iter().find_map(|separator| rest.strip_prefix(separator));
        rest.unwrap_or(line).to_owned()
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
