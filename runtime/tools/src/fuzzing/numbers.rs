//! Line numbers before lines, against the lines.

use crate::edit_file::matching::{Choice, Target, Tolerated, find, without_numbers};

/// What is numbered and stripped is what it was; a search with line numbers edits the lines that they name or nothing. The
/// first bytes of an input say which form the numbers have, at which line they begin, how many lines are quoted and how far
/// the quoted numbers are off; the rest is a file.
pub fn line_number_strip(input: &[u8]) {
    let [form, first, count, off, text @ ..] = input else { return };
    let Ok(file) = std::str::from_utf8(text) else { return };
    // Whatever it is, it is looked at.
    let _ = without_numbers(file);
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    if lines.is_empty() {
        return;
    }
    let first = usize::from(*first) % lines.len();
    let quoted = &lines[first..(first + usize::from(*count) % 8 + 1).min(lines.len())];
    let number = |index: usize| (first + index + 1) as u64 + u64::from(*off % 4);
    let numbered: String = (0..).zip(quoted).map(|(index, line)| prefixed(*form, number(index), line)).collect();
    let plain = quoted.concat();
    assert_eq!(without_numbers(&numbered).as_deref(), Some(plain.as_str()));

    let Ok(plan) = find(file.as_bytes(), Target::Search(&numbered, Choice::Only), "new") else { return };
    if !matches!(plan.tolerated, Tolerated::LineNumbers { .. }) {
        return;
    }
    // The place begins on the line that the first number names, and holds what was quoted.
    let [span] = &plan.spans[..] else { panic!("one place") };
    let line = file[..span.range.start].matches('\n').count() as u64 + 1;
    assert_eq!(line, number(0));
    let normal = |text: &str| text.replace("\r\n", "\n");
    let (place, sought) = (normal(&file[span.range.clone()]), normal(&plain));
    assert_eq!(place.trim_end_matches('\n'), sought.trim_end_matches('\n'));
}

fn prefixed(form: u8, number: u64, line: &str) -> String {
    match form % 3 {
        0 => format!("{number:>6}│ {line}"),
        1 => format!("{number:>6}\t{line}"),
        _ => format!("{number}:{line}"),
    }
}
