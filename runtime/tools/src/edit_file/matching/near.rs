//! The block of a file that most resembles a search that is nowhere in it, for the message that says so.

use super::view::lines;
use memchr::memmem::Finder;

/// How many places are compared.
const CANDIDATES: usize = 32;

/// A block that begins like the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near<'a> {
    /// The line of the file, from 1, on which it begins.
    pub line: u64,
    /// Where it differs for the first time; `None` if it does so in the indentation or the ends of its lines alone.
    pub difference: Option<Difference<'a>>,
}

/// A line of a search that the file has otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference<'a> {
    /// The line, from 1; one more than the last line of the file where that is too short.
    pub line: u64,
    /// What the search has there.
    pub sought: &'a [u8],
    /// What the file has there; `None` at its end.
    pub found: Option<&'a [u8]>,
}

/// Where the lines of `search` stand for the longest way, blanks around each set aside. `None` if not even its first
/// line that is not blank is in the file.
pub fn nearest<'a>(file: &'a [u8], search: &'a str) -> Option<Near<'a>> {
    let sought: Vec<&[u8]> = lines(search.as_bytes())
        .map(|line| &search.as_bytes()[line])
        .skip_while(|line| line.trim_ascii().is_empty())
        .collect();
    let first = sought.first()?.trim_ascii();
    let finder = Finder::new(first);
    let (mut from, mut line, mut counted) = (0, 1, 0);
    let mut best: Option<(usize, Near<'a>)> = None;
    for _ in 0..CANDIDATES {
        let Some(at) = finder.find(&file[from..]).map(|at| from + at) else { break };
        let start = memchr::memrchr(b'\n', &file[..at]).map_or(0, |at| at + 1);
        line += memchr::memchr_iter(b'\n', &file[counted..start.max(counted)]).count() as u64;
        counted = start.max(counted);
        from = memchr::memchr(b'\n', &file[at..]).map_or(file.len(), |end| at + end + 1);
        let (same, near) = compare(&file[start..], &sought, line);
        if best.as_ref().is_none_or(|(most, _)| same > *most) {
            best = Some((same, near));
        }
        if from >= file.len() {
            break;
        }
    }
    best.map(|(_, near)| near)
}

/// How many lines are the same but for blanks around them, and where they stop being so; where they never do, the first
/// line with other blanks at its end.
fn compare<'a>(file: &'a [u8], sought: &[&'a [u8]], line: u64) -> (usize, Near<'a>) {
    let mut rows = lines(file).map(|range| &file[range]);
    let mut blanks = None;
    for (index, want) in sought.iter().enumerate() {
        let found = rows.next();
        let difference = Difference { line: line + index as u64, sought: want, found };
        let found = found.unwrap_or_default();
        if difference.found.is_none() || found.trim_ascii() != want.trim_ascii() {
            return (index, Near { line, difference: Some(difference) });
        }
        if blanks.is_none() && tail(found) != tail(want) {
            blanks = Some(difference);
        }
    }
    (sought.len(), Near { line, difference: blanks })
}

/// A line from its first letter to before its end.
fn tail(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line).trim_ascii_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line, what was sought there, and what was found.
    type Differs<'a> = (u64, &'a str, Option<&'a str>);

    #[track_caller]
    fn check(file: &str, search: &str, expect: Option<(u64, Option<Differs<'_>>)>) {
        let near = nearest(file.as_bytes(), search);
        let near = near.map(|near| (near.line, near.difference.map(|d| (d.line, d.sought, d.found))));
        let expect = expect.map(|(line, difference)| {
            (line, difference.map(|(line, sought, found)| (line, sought.as_bytes(), found.map(str::as_bytes))))
        });
        assert_eq!(near, expect);
    }

    #[test]
    fn the_longest_resemblance_wins() {
        check("a\nb\n\na\nx\ny\n", "a\nx\nz\n", Some((4, Some((6, "z\n", Some("y\n"))))));
        check("a\nx\n", "  a\n x\nz", Some((1, Some((3, "z", None)))));
        check("call(a)\n", "a", Some((1, Some((1, "a", Some("call(a)\n"))))));
    }

    #[test]
    fn blanks_at_the_end_of_a_line_are_a_difference() {
        check("\ta\n\tb  \n", "  a\n  b\n", Some((1, Some((2, "  b\n", Some("\tb  \n"))))));
        check("\ta\r\n", "a\n", Some((1, None)));
    }

    #[test]
    fn nothing_resembles_nothing() {
        check("a\n", "b", None);
        check("", "b", None);
        check("a\n", " \n", None);
    }
}
