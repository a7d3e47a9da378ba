//! Lines of one file that match, and how they are shown.
//!
//! A file is searched in pieces that end with a line, so that whoever waits no more is heard between two of them. Nothing is
//! taken from a searcher but where its lines begin: numbers, neighbours and cuts are made of the text itself, and only for
//! lines that may be shown.

use crate::input::fault;
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkMatch};
use memchr::{memchr, memchr_iter, memrchr};
use slot_runtime::contract::ValidationFault;
use std::io;
use tokio_util::sync::CancellationToken;

/// The longest pattern, in bytes.
const PATTERN_BYTES: usize = 4096;
/// The most memory that a pattern may compile to: what a search costs for each byte grows with it.
const COMPILED_BYTES: usize = 1 << 20;
/// The most memory for what is worked out of a pattern while it searches.
const CACHE_BYTES: usize = 8 << 20;
/// How deep groups of a pattern may lie in one another.
const PATTERN_DEPTH: u32 = 100;
/// What is searched between two looks at whether anybody still waits.
const PIECE_BYTES: usize = 64 * 1024;
/// The longest line that is searched, since it is searched in one piece.
pub const MOST_LINE_BYTES: usize = 1 << 20;
/// The most bytes of a line that are shown.
const LINE_BYTES: usize = 400;
/// How many of them may stand before the first match in it.
const LEAD_BYTES: usize = 100;

/// How text is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Whether the pattern is the text itself.
    pub literal: bool,
    /// Whether upper and lower case are the same.
    pub any_case: bool,
}

/// Compiles a pattern.
///
/// # Errors
///
/// What is wrong with it, and how to send it.
pub fn compile(pattern: &str, manner: Manner) -> Result<RegexMatcher, ValidationFault> {
    let wrong = |what: String| fault("pattern", format!("pattern {what}"));
    if pattern.is_empty() {
        return Err(wrong("is empty, and would match every line; pass the text to look for".to_owned()));
    }
    if pattern.len() > PATTERN_BYTES {
        let length = pattern.len();
        return Err(wrong(format!("is {length} bytes long; the limit is {PATTERN_BYTES}. Look for a part of it")));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(manner.any_case).fixed_strings(manner.literal).multi_line(true).crlf(true);
    builder.size_limit(COMPILED_BYTES).dfa_size_limit(CACHE_BYTES).nest_limit(PATTERN_DEPTH);
    builder.build(pattern).map_err(|error| wrong(why(pattern, manner, error.kind())))
}

/// Why a pattern cannot be used, and what can.
fn why(pattern: &str, manner: Manner, kind: &ErrorKind) -> String {
    let said = kind_text(kind);
    if matches!(kind, ErrorKind::NotAllowed(_) | ErrorKind::InvalidLineTerminator(_)) {
        return "holds a line break, and lines are searched one by one; look for the text of one line, and read the file \
                around it with read_file"
            .to_owned();
    }
    if said.contains("size limit") {
        return "is too large once it is compiled; use smaller counts in braces, or fewer alternatives".to_owned();
    }
    if said.contains("look-around") || said.contains("backreference") {
        return format!(
            "uses what this engine has not: {said}. Look for a simpler pattern, and read what it finds with read_file"
        );
    }
    let escaped = regex::escape(pattern);
    let call = |pattern: &str, literal: &str| {
        format!("call grep_files with pattern={}{literal}", serde_json::Value::from(pattern))
    };
    if manner.literal {
        return format!("cannot be used: {said}");
    }
    format!(
        "is no regular expression: {said}. For the text as it is, {}; as a part of a longer expression it is written {}",
        call(pattern, " literal=true"),
        serde_json::Value::from(escaped)
    )
}

/// The last line of what the parser says, which is the fault itself.
fn kind_text(kind: &ErrorKind) -> String {
    let text = match kind {
        ErrorKind::Regex(text) => text.clone(),
        ErrorKind::NotAllowed(text) => format!("{text:?} is not allowed"),
        other => format!("{other:?}"),
    };
    let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    last.trim().trim_start_matches("error: ").to_owned()
}

/// A searcher whose answers [`find`] understands.
pub fn searcher() -> Searcher {
    SearcherBuilder::new().line_terminator(LineTerminator::crlf()).line_number(false).bom_sniffing(false).build()
}

/// What was found in a file.
#[derive(Debug, Default)]
pub struct Found {
    /// How many lines match.
    pub count: u64,
    /// Where the first of them begin.
    pub starts: Vec<usize>,
}

/// Counts the lines of `text` that match, and keeps where the first `keep` of them begin. Ends early when nobody waits;
/// `None` if a line is too long to be searched.
pub fn find(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    text: &[u8],
    keep: usize,
    stop: &CancellationToken,
) -> io::Result<Option<Found>> {
    let (mut found, mut done) = (Found::default(), 0);
    while done < text.len() && !stop.is_cancelled() {
        let rest = &text[done..];
        let reach = rest.len().min(PIECE_BYTES);
        // A piece ends with a line; a line that is longer than a piece is one of its own.
        let end = if reach == rest.len() {
            reach
        } else {
            match memrchr(b'\n', &rest[..reach]) {
                Some(at) => at + 1,
                None => memchr(b'\n', rest).map_or(rest.len(), |at| at + 1),
            }
        };
        if end > MOST_LINE_BYTES {
            return Ok(None);
        }
        searcher.search_slice(matcher, &rest[..end], Starts { found: &mut found, base: done, keep })?;
        done += end;
    }
    Ok(Some(found))
}

struct Starts<'a> {
    found: &'a mut Found,
    base: usize,
    keep: usize,
}

impl Sink for Starts<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        self.found.count += 1;
        if self.found.starts.len() < self.keep {
            let at = usize::try_from(line.absolute_byte_offset()).map_err(io::Error::other)?;
            self.found.starts.push(self.base + at);
        }
        Ok(true)
    }
}

/// A line as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number, from 1.
    pub number: u64,
    /// Whether it matches, and is not shown for its neighbour.
    pub hit: bool,
    /// Its text, cut where it is long.
    pub text: String,
}

/// The lines that begin at `starts`, each with up to `context` lines before and after it, and no line twice.
pub fn rows(text: &[u8], starts: &[usize], context: usize, matcher: &RegexMatcher) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    // The number of the line that begins at `at`, and the end of the last line that has a row.
    let (mut number, mut at, mut covered) = (1_u64, 0, 0);
    for (index, &start) in starts.iter().enumerate() {
        number += memchr_iter(b'\n', &text[at..start]).count() as u64;
        at = start;
        let before: Vec<usize> = before(text, start, context).take_while(|line| *line >= covered).collect();
        for (back, &line) in before.iter().enumerate().rev() {
            rows.push(Row { number: number - (back as u64 + 1), hit: false, text: cut(line_at(text, line), None) });
        }
        let line = line_at(text, start);
        let place = matcher.find(line).ok().flatten().map(|place| place.start());
        rows.push(Row { number, hit: true, text: cut(line, place) });
        covered = start + line.len();
        let next = starts.get(index + 1).copied().unwrap_or(text.len());
        for after in 1..=context as u64 {
            if covered >= next || covered >= text.len() {
                break;
            }
            let line = line_at(text, covered);
            rows.push(Row { number: number + after, hit: false, text: cut(line, None) });
            covered += line.len();
        }
    }
    rows
}

/// The starts of the lines before the one at `start`, the nearest first.
fn before(text: &[u8], start: usize, context: usize) -> impl Iterator<Item = usize> + '_ {
    let above = move |start: &usize| {
        let end = start.checked_sub(1)?;
        Some(memrchr(b'\n', &text[..end]).map_or(0, |at| at + 1))
    };
    std::iter::successors(above(&start), above).take(context)
}

/// The line that begins at `start`, with its newline.
fn line_at(text: &[u8], start: usize) -> &[u8] {
    let rest = &text[start..];
    &rest[..memchr(b'\n', rest).map_or(rest.len(), |at| at + 1)]
}

/// A line without its end, as text; of a long one what lies around `place`.
fn cut(line: &[u8], place: Option<usize>) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= LINE_BYTES {
        return plain(line);
    }
    let start = place.unwrap_or(0).saturating_sub(LEAD_BYTES).min(line.len() - LINE_BYTES);
    let is_inner = |at: &usize| line.get(*at).is_some_and(|byte| (0x80..0xc0).contains(byte));
    // No character is cut: at most three bytes of one follow its first.
    let start = (start..start + 4).find(|at| !is_inner(at)).unwrap_or(start);
    let end = (start + LINE_BYTES).min(line.len());
    let end = (end.saturating_sub(3)..=end).rev().find(|at| !is_inner(at)).unwrap_or(end);
    let (lead, trail) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{lead}{}{trail} [line of {} bytes]", plain(&line[start..end]), line.len())
}

/// Text of one line in which nothing moves the cursor.
fn plain(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    if !text.contains(|c: char| c.is_control() && c != '\t') {
        return text.into_owned();
    }
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn manner() -> Manner {
        Manner { literal: false, any_case: false }
    }

    fn search(pattern: &str, text: &[u8], keep: usize, context: usize) -> (u64, Vec<String>) {
        let matcher = compile(pattern, manner()).expect("a pattern");
        let found = find(&mut searcher(), &matcher, text, keep, &CancellationToken::new());
        let found = found.expect("a search").expect("no line is too long");
        let rows = rows(text, &found.starts, context, &matcher);
        let shown = |row: &Row| format!("{}{}{}", row.number, if row.hit { ":" } else { "-" }, row.text);
        (found.count, rows.iter().map(shown).collect())
    }

    #[track_caller]
    fn check(pattern: &str, text: &str, context: usize, expect: &[&str]) {
        assert_eq!(search(pattern, text.as_bytes(), 100, context).1, expect);
    }

    #[track_caller]
    fn check_refused(pattern: &str, expect: &str) {
        let fault = compile(pattern, manner()).expect_err("no pattern");
        assert_eq!(fault.pointer, "/pattern");
        assert!(fault.message.contains(expect), "{}", fault.message);
    }

    #[test]
    fn lines_are_found_whatever_ends_them() {
        check("b$", "a\r\nab\r\nb\r\nbc\r\nb", 0, &["2:ab", "3:b", "5:b"]);
        check("^b", "a\nb\nab\nbb", 0, &["2:b", "4:bb"]);
    }

    #[test]
    fn neighbours_are_shown_once() {
        let text = "1\n2\nx3\n4\nx5\n6\n7\n8\nx9\n";
        check("x", text, 1, &["2-2", "3:x3", "4-4", "5:x5", "6-6", "8-8", "9:x9"]);
        check("x", text, 2, &["1-1", "2-2", "3:x3", "4-4", "5:x5", "6-6", "7-7", "8-8", "9:x9"]);
        check("x", "x\nx\n", 3, &["1:x", "2:x"]);
    }

    #[test]
    fn all_are_counted_and_the_first_are_kept() {
        let text = "x\n".repeat(300_000);
        let (count, rows) = search("x", text.as_bytes(), 2, 0);
        assert_eq!((count, rows), (300_000, vec!["1:x".to_owned(), "2:x".to_owned()]));
    }

    #[test]
    fn a_line_longer_than_a_piece_is_one_line() {
        let text = format!("a\n{}x\nb x\n", "y".repeat(2 * PIECE_BYTES));
        let (count, rows) = search("x", text.as_bytes(), 9, 0);
        assert_eq!(count, 2);
        assert!(rows[0].starts_with("2:…yyy") && rows[0].ends_with("yx [line of 131073 bytes]"), "{}", rows[0]);
        assert_eq!(rows[1], "3:b x");
        let matcher = compile("x", manner()).expect("a pattern");
        let text = "x".repeat(MOST_LINE_BYTES + 1);
        for (text, searched) in [(&text[1..], true), (&text[..], false)] {
            let found = find(&mut searcher(), &matcher, text.as_bytes(), 9, &CancellationToken::new());
            assert_eq!(found.expect("a search").is_some(), searched);
        }
    }

    #[test]
    fn a_long_line_is_cut_around_its_match_and_between_characters() {
        let text = format!("{}x{}", "ü".repeat(500), "ü".repeat(500));
        let (_, rows) = search("x", text.as_bytes(), 9, 0);
        assert!(rows[0].contains("üxü") && rows[0].starts_with("1:…ü") && !rows[0].contains('\u{fffd}'), "{}", rows[0]);
        assert!(rows[0].len() < LINE_BYTES + 60);
    }

    #[test]
    fn what_is_no_text_is_shown_as_such() {
        let (_, rows) = search("x", b"\xffx\x1b[31m\n", 9, 0);
        assert_eq!(rows, ["1:\u{fffd}x\u{fffd}[31m"]);
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_explained_with_the_next_call() {
        check_refused("foo(", "call grep_files with pattern=\"foo(\" literal=true");
        check_refused("foo(", "it is written \"foo\\\\(\"");
        check_refused("foo(", "unclosed group");
        check_refused("a\nb", "holds a line break");
        check_refused(r"a\nb", "holds a line break");
        check_refused("(?=x)", "uses what this engine has not");
        check_refused(r"(a)\1", "uses what this engine has not");
        check_refused("", "is empty");
        check_refused(&"a".repeat(5000), "5000 bytes");
        check_refused(r"(\w{100}){100}", "too large once it is compiled");
        check_refused(&"(".repeat(200), "is no regular expression");
    }

    #[test]
    fn text_as_it_is_needs_no_escapes() {
        let matcher = compile("a.b(", Manner { literal: true, any_case: true }).expect("text");
        let found = find(&mut searcher(), &matcher, b"A.B(\naxb(\n", 9, &CancellationToken::new());
        let found = found.expect("a search").expect("no line is too long");
        assert_eq!((found.count, found.starts), (1, vec![0]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// The lines found are those that a naive search finds, with their numbers.
        #[test]
        fn agrees_with_a_naive_search(lines in prop::collection::vec("[xab\u{e9}]{0,4}", 0..40), context in 0..3_usize) {
            let text = lines.join("\n");
            let expect: Vec<u64> = (1..).zip(text.lines()).filter(|(_, line)| line.contains('x')).map(|(n, _)| n).collect();
            let matcher = compile("x", manner()).expect("a pattern");
            let found = find(&mut searcher(), &matcher, text.as_bytes(), 1000, &CancellationToken::new());
        let found = found.expect("a search").expect("no line is too long");
            prop_assert_eq!(found.count, expect.len() as u64);
            let rows = rows(text.as_bytes(), &found.starts, context, &matcher);
            let hits: Vec<u64> = rows.iter().filter(|row| row.hit).map(|row| row.number).collect();
            prop_assert_eq!(hits, expect);
            let all: Vec<&str> = text.lines().collect();
            for row in &rows {
                prop_assert_eq!(&row.text, all[usize::try_from(row.number).expect("small") - 1]);
            }
            prop_assert!(rows.windows(2).all(|pair| pair[0].number < pair[1].number));
        }
    }
}
