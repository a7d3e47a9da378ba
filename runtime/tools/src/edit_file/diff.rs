//! What an edit changed, as a unified diff for the model to check. The places are known, so nothing is compared but the
//! lines they touch. Bounded, however much was replaced.

use super::matching::{Plan, line_of};
use std::{fmt::Write as _, ops::Range};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// The most changes shown.
const MOST_CHANGES: usize = 20;
/// The most lines shown of one side of a change; from a longer one the middle is left out.
const MOST_LINES: usize = 40;
/// The most bytes shown of a line.
const MOST_BYTES: usize = 400;

/// Whole lines of the file and what stands in their place.
struct Change {
    old: Range<usize>,
    new: Vec<u8>,
    /// The number of the first old line, from 1.
    line: u64,
}

/// The diff, and how many places it does not show.
pub fn unified(file: &[u8], plan: &Plan<'_>) -> (String, usize) {
    let (changes, hidden) = changes(file, plan);
    let mut text = String::new();
    let mut shift = 0_i64;
    let mut rest = changes.as_slice();
    while let Some(first) = rest.first() {
        // Changes whose contexts touch share a hunk.
        let joined = rest.windows(2).take_while(|pair| is_near(&file[pair[0].old.end..pair[1].old.start])).count();
        let (hunk, after) = rest.split_at(joined + 1);
        let before = last_lines(&file[..first.old.start], CONTEXT);
        let mut body = Body::default();
        body.lines(' ', before);
        for (index, change) in hunk.iter().enumerate() {
            body.lines('-', &file[change.old.clone()]);
            body.lines('+', &change.new);
            match hunk.get(index + 1) {
                Some(next) => body.lines(' ', &file[change.old.end..next.old.start]),
                None => body.lines(' ', first_lines(&file[change.old.end..], CONTEXT)),
            }
        }
        let start = first.line - line_count(before);
        let new_start = i64::try_from(start).unwrap_or(i64::MAX).saturating_add(shift);
        // A side without lines is named by the line before it.
        let named = |start: i64, count: u64| if count == 0 { start - 1 } else { start };
        let (old_start, new_start) =
            (named(i64::try_from(start).unwrap_or(i64::MAX), body.old), named(new_start, body.new));
        let _ = writeln!(text, "@@ -{old_start},{} +{new_start},{} @@", body.old, body.new);
        text.push_str(&body.text);
        shift += i64::try_from(body.new).unwrap_or(0) - i64::try_from(body.old).unwrap_or(0);
        rest = after;
    }
    (text, hidden)
}

/// The changes in order, and how many places are left out.
fn changes(file: &[u8], plan: &Plan<'_>) -> (Vec<Change>, usize) {
    let (verbatim, crlf) = (plan.replacement.as_bytes(), plan.crlf());
    let mut changes: Vec<Change> = Vec::new();
    let (mut line, mut counted) = (1, 0);
    let mut spans = plan.spans.iter().peekable();
    let mut shown = 0;
    while let Some(span) = spans.next() {
        if changes.len() == MOST_CHANGES {
            return (changes, plan.spans.len() - shown);
        }
        let start = memchr::memrchr(b'\n', &file[..span.range.start]).map_or(0, |at| at + 1);
        line += line_of(&file[counted..], start - counted) - 1;
        counted = start;
        let (mut new, mut done, mut span) = (Vec::new(), start, span);
        loop {
            shown += 1;
            new.extend_from_slice(&file[done..span.range.start]);
            new.extend_from_slice(if span.crlf { &crlf } else { verbatim });
            done = span.range.end;
            // The next place may be on the line on which this one ends.
            let end = line_end(file, done);
            match spans.next_if(|next| next.range.start < end) {
                Some(next) => span = next,
                None => break,
            }
        }
        let end = line_end(file, done);
        new.extend_from_slice(&file[done..end]);
        changes.push(trimmed(file, Change { old: start..end, new, line }));
    }
    (changes, 0)
}

/// Where the line that holds `at` ends, its line feed included.
fn line_end(file: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &file[at..]).map_or(file.len(), |end| at + end + 1)
}

/// The change without the lines that are the same at its start and its end.
fn trimmed(file: &[u8], change: Change) -> Change {
    let Change { mut old, mut new, mut line } = change;
    loop {
        let (a, b) = (first_lines(&file[old.clone()], 1), first_lines(&new, 1));
        if a.is_empty() || a != b {
            break;
        }
        old.start += a.len();
        line += 1;
        new.drain(..a.len());
    }
    loop {
        let (a, b) = (last_lines(&file[old.clone()], 1), last_lines(&new, 1));
        if a.is_empty() || a != b {
            break;
        }
        old.end -= a.len();
        new.truncate(new.len() - a.len());
    }
    Change { old, new, line }
}

fn first_lines(text: &[u8], count: usize) -> &[u8] {
    let end = memchr::memchr_iter(b'\n', text).nth(count - 1);
    end.map_or(text, |at| &text[..=at])
}

fn last_lines(text: &[u8], count: usize) -> &[u8] {
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    let start = memchr::memrchr_iter(b'\n', body).nth(count - 1);
    start.map_or(text, |at| &text[at + 1..])
}

fn is_near(between: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', between).nth(2 * CONTEXT).is_none()
}

fn line_count(text: &[u8]) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', text).count() as u64;
    feeds + u64::from(!text.is_empty() && !text.ends_with(b"\n"))
}

/// A hunk below its header.
#[derive(Default)]
struct Body {
    text: String,
    old: u64,
    new: u64,
}

impl Body {
    fn lines(&mut self, mark: char, text: &[u8]) {
        let count = line_count(text);
        self.old += if mark == '+' { 0 } else { count };
        self.new += if mark == '-' { 0 } else { count };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count <= MOST_LINES {
            self.rows(mark, text);
            return;
        }
        self.rows(mark, first_lines(text, MOST_LINES / 2));
        let _ = writeln!(self.text, "{mark}[… {} lines not shown]", count - MOST_LINES / 2 * 2);
        self.rows(mark, last_lines(text, MOST_LINES / 2));
    }

    fn rows(&mut self, mark: char, text: &[u8]) {
        for row in text.split_inclusive(|byte| *byte == b'\n') {
            let line = row.strip_suffix(b"\n").unwrap_or(row);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            self.text.push(mark);
            if line.len() <= MOST_BYTES {
                self.text.push_str(&String::from_utf8_lossy(line));
            } else {
                // A character that the cut divides is shown as a mark of its own, which is right: it is not all there.
                self.text.push_str(&String::from_utf8_lossy(&line[..MOST_BYTES]));
                let _ = write!(self.text, "[… {} bytes not shown]", line.len() - MOST_BYTES);
            }
            self.text.push('\n');
            if !row.ends_with(b"\n") {
                self.text.push_str("\\ No newline at end of file\n");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::matching::{Choice, Target, find},
        *,
    };

    #[track_caller]
    fn check(file: &str, search: &str, replace: &str, expect: &str) {
        let plan = find(file.as_bytes(), Target::Search(search, Choice::All), replace).expect("it is there");
        assert_eq!(unified(file.as_bytes(), &plan), (expect.to_owned(), 0));
    }

    #[test]
    fn a_change_has_three_lines_around_it() {
        check("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "5", "five", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        check("a b\n", "b", "c", "@@ -1,1 +1,1 @@\n-a b\n+a c\n");
    }

    #[test]
    fn lines_that_stay_are_not_shown_as_changed() {
        check("a\nb\nc\n", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        check("a\nb\n", "b\n", "", "@@ -1,2 +1,1 @@\n a\n-b\n");
        check("a\nc\n", "a\n", "a\nb\n", "@@ -1,2 +1,3 @@\n a\n+b\n c\n");
    }

    #[test]
    fn places_near_each_other_share_a_hunk_and_a_line() {
        check("x x\ny\nx\n", "x", "z", "@@ -1,3 +1,3 @@\n-x x\n+z z\n y\n-x\n+z\n");
        let far = "1\n2\n3\n4\n5\n6\n7\n8\n";
        check(
            &format!("x\n{far}x\n"),
            "x\n",
            "z\nz\n",
            "@@ -1,4 +1,5 @@\n-x\n+z\n+z\n 1\n 2\n 3\n@@ -7,4 +8,5 @@\n 6\n 7\n 8\n-x\n+z\n+z\n",
        );
    }

    #[test]
    fn an_empty_side_is_named_by_the_line_before() {
        check("x\n", "x\n", "", "@@ -1,1 +0,0 @@\n-x\n");
    }

    #[test]
    fn a_missing_newline_is_said() {
        check("a", "a", "b", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n");
    }

    #[test]
    fn it_is_bounded() {
        let many = "x\n\n\n\n\n\n\n\n\n".repeat(30);
        let plan = find(many.as_bytes(), Target::Search("x", Choice::All), "y").expect("it is there");
        let (text, hidden) = unified(many.as_bytes(), &plan);
        assert_eq!((text.matches("@@ -").count(), hidden), (20, 10));
        let (long, wide) = ("l\n".repeat(100), "é".repeat(500));
        let plan = find(long.as_bytes(), Target::Search(&long, Choice::Only), &wide).expect("it is there");
        let (text, _) = unified(long.as_bytes(), &plan);
        assert!(text.contains("-[… 60 lines not shown]\n"), "{text}");
        assert!(text.contains("[… 600 bytes not shown]\n"), "{text}");
    }
}
