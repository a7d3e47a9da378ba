//! Lines of one file that match, and how they are shown.
//!
//! A file is searched in pieces that end with a line, each no longer than what the pattern makes of it in a short time at
//! the worst, so that whoever waits no more is heard between two of them; a line that is longer goes the way of
//! [`super::long`]. Nothing is taken from a searcher but where its lines begin: numbers, neighbours and cuts are made of the
//! text itself, and only for lines that may be shown.

use super::long::{Halt, Long};
use crate::input::fault;
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkMatch};
use memchr::{memchr, memchr_iter, memrchr};
use regex_automata::hybrid::dfa::Cache;
use slot_runtime::contract::ValidationFault;
use std::{
    io,
    sync::{Arc, OnceLock},
};

/// The longest pattern, in bytes.
const PATTERN_BYTES: usize = 4096;
/// How much memory a pattern may compile to, tried in this order: what a search costs for each byte grows with it.
const COMPILED_BYTES: [usize; 4] = [2 << 10, 16 << 10, 128 << 10, 1 << 20];
/// The most that the bytes of a text and those that its pattern compiles to may come to when they are multiplied, for a
/// search that nobody can stop.
const WORK: usize = 2 << 30;
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

/// A pattern that is looked for.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    manner: Manner,
    fast: RegexMatcher,
    /// The longest text that is searched at once.
    at_once: usize,
    long: Arc<OnceLock<Option<Long>>>,
}

/// Compiles a pattern.
///
/// # Errors
///
/// What is wrong with it, and how to send it.
pub fn compile(pattern: &str, manner: Manner) -> Result<Pattern, ValidationFault> {
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
    builder.dfa_size_limit(CACHE_BYTES).nest_limit(PATTERN_DEPTH);
    let mut said = String::new();
    for bytes in COMPILED_BYTES {
        match builder.size_limit(bytes).build(pattern) {
            Ok(fast) => {
                let text = pattern.to_owned();
                return Ok(Pattern { text, manner, fast, at_once: WORK / bytes, long: Arc::default() });
            }
            Err(error) => said = why(pattern, manner, error.kind()),
        }
        if said != TOO_LARGE {
            break;
        }
    }
    Err(wrong(said))
}

/// What is said of a pattern that does not fit into the memory it may have.
const TOO_LARGE: &str = "is too large once it is compiled; use smaller counts in braces, or fewer alternatives";

/// Why a pattern cannot be used, and what can.
fn why(pattern: &str, manner: Manner, kind: &ErrorKind) -> String {
    let said = kind_text(kind);
    if matches!(kind, ErrorKind::NotAllowed(_) | ErrorKind::InvalidLineTerminator(_)) {
        return "holds a line break, and lines are searched one by one; look for the text of one line, and read the file \
                around it with read_file"
            .to_owned();
    }
    if said.contains("size limit") {
        return TOO_LARGE.to_owned();
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

/// What was found in a file.
#[derive(Debug, Default)]
pub struct Found {
    /// How many lines match.
    pub count: u64,
    /// Where the first of them begin.
    pub starts: Vec<usize>,
}

/// One thread's search for a pattern.
pub struct Search<'a> {
    pattern: &'a Pattern,
    /// Whether nobody waits any more.
    stop: &'a (dyn Fn() -> bool + Sync),
    searcher: Searcher,
    cache: Option<Cache>,
}

impl<'a> Search<'a> {
    /// A search that ends early when `stop` says so.
    pub fn new(pattern: &'a Pattern, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        let mut searcher = SearcherBuilder::new();
        searcher.line_terminator(LineTerminator::crlf()).line_number(false).bom_sniffing(false);
        Search { pattern, stop, searcher: searcher.build(), cache: None }
    }

    /// Counts the lines of `text` that match, and keeps where the first `keep` of them begin; `None` if a line is too long to
    /// be searched.
    pub fn find(&mut self, text: &[u8], keep: usize) -> io::Result<Option<Found>> {
        let (mut found, mut done) = (Found::default(), 0);
        while done < text.len() && !(self.stop)() {
            let rest = &text[done..];
            let reach = rest.len().min(self.pattern.at_once).min(PIECE_BYTES);
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
            let (piece, mut starts) = (&rest[..end], Starts { found: &mut found, base: done, keep });
            if end <= self.pattern.at_once {
                self.searcher.search_slice(&self.pattern.fast, piece, starts)?;
            } else {
                match self.first_end(piece) {
                    Ok(Some(_)) => starts.add(0),
                    Ok(None) => {}
                    Err(Halt::Stopped) => break,
                    Err(Halt::Unable) => return Ok(None),
                }
            }
            done += end;
        }
        Ok(Some(found))
    }

    /// A place in a line at which it matches, once it is known that it does.
    pub fn place(&mut self, line: &[u8]) -> Option<usize> {
        if line.len() > self.pattern.at_once {
            return self.first_end(line).ok().flatten();
        }
        if (self.stop)() {
            return None;
        }
        self.pattern.fast.find(line).ok().flatten().map(|place| place.start())
    }

    fn first_end(&mut self, line: &[u8]) -> Result<Option<usize>, Halt> {
        let Pattern { text, manner, long, .. } = self.pattern;
        let long = long.get_or_init(|| Long::new(text, *manner)).as_ref().ok_or(Halt::Unable)?;
        long.first_end(self.cache.get_or_insert_with(|| long.cache()), line, self.stop)
    }
}

struct Starts<'a> {
    found: &'a mut Found,
    base: usize,
    keep: usize,
}

impl Starts<'_> {
    /// A line matches that begins at `at` in the piece.
    fn add(&mut self, at: usize) {
        self.found.count += 1;
        if self.found.starts.len() < self.keep {
            self.found.starts.push(self.base + at);
        }
    }
}

impl Sink for Starts<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        self.add(usize::try_from(line.absolute_byte_offset()).map_err(io::Error::other)?);
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

/// The lines that begin at `starts`, each with up to `context` lines before and after it, and no line twice. `place` tells
/// where a long line matches.
pub fn rows(text: &[u8], starts: &[usize], context: usize, mut place: impl FnMut(&[u8]) -> Option<usize>) -> Vec<Row> {
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
        let place = if line.len() > LINE_BYTES { place(line) } else { None };
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
mod tests;
