//! Where an edit applies: a pure function of the file's bytes and of what was asked for.
//!
//! A search is looked for as it was sent; only when it is nowhere, one difference after the other is set aside:
//! indentation, typographic punctuation, line-number prefixes. Each of these must find exactly one place. Whatever was
//! set aside, the answer is a range of the file itself, and a caller that replaces only that range leaves every other
//! byte as it was. Every scan goes on behind a whole match, so that work is linear and no range cuts a character.
//!
//! The form of line ends is never a difference: whoever reads a file sees lines, so `\n` finds `\r\n`, and new text
//! takes the form of the lines it replaces. Text that was sent with `\r` is taken as it is.
//!
//! Nothing here opens a file or words a message.

mod near;
mod numbers;
mod view;

pub use near::{Difference, Near, nearest};

use memchr::memmem::Finder;
use std::{borrow::Cow, ops::Range};
use view::{Aside, View, has_long_dash, indentation, look};

/// How many lines of places are kept for a message.
const KEPT_PLACES: usize = 10;
/// How many places one edit may replace.
pub const MOST_PLACES: usize = 100_000;

/// What an edit names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A text, and which of its places.
    Search(&'a str, Choice),
    /// Everything from the only place of the first to the next place of the second, both included.
    Anchors(&'a str, &'a str),
    /// Everything behind the only place of the first and before the next place of the second; nothing where they touch.
    Hole(&'a str, &'a str),
}

/// Which places of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The only one.
    Only,
    /// This one, from 1.
    Nth(u64),
    /// All of them.
    All,
}

/// What was set aside to find a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerated {
    /// Nothing.
    Nothing,
    /// Blanks and tabs at the start of lines.
    Indentation,
    /// Curly quotes, dashes and no-break spaces.
    Punctuation,
    /// Line-number prefixes of the search.
    LineNumbers {
        /// Whether the replacement carried the same prefixes, and lost them too.
        in_replacement: bool,
    },
}

/// A place that will be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The bytes of the file.
    pub range: Range<usize>,
    /// Whether line feeds of the new text are written as `\r\n` here.
    pub crlf: bool,
}

/// What an edit comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<'a> {
    /// The places in order, none overlapping another. At least one.
    pub spans: Vec<Span>,
    /// How many places the search has in all.
    pub found: u64,
    /// What was set aside.
    pub tolerated: Tolerated,
    /// What is written.
    pub replacement: Cow<'a, str>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// The search is nowhere.
    Absent,
    /// It has several places, and nothing chooses among them.
    Several(Places),
    /// It has one place, and another that overlaps it: which of the two is meant is as open as with several.
    Overlapping(Places),
    /// It has several places once this is set aside.
    SeveralTolerated(Tolerated, Places),
    /// A place was asked for beyond the last.
    Beyond {
        /// What was asked for.
        asked: u64,
        /// What there is.
        places: Places,
    },
    /// More places than one edit may replace.
    TooMany(u64),
    /// The first anchor is nowhere.
    NoStart,
    /// The first anchor has several places.
    Starts(Places),
    /// The second anchor is not behind the first, whose line this is.
    NoEnd(u64),
}

/// Where a text stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// How often.
    pub count: u64,
    /// The lines of the first ones, from 1.
    pub lines: Vec<u64>,
}

/// Where to write `replacement`.
pub fn find<'a>(file: &[u8], target: Target<'_>, replacement: &'a str) -> Result<Plan<'a>, Miss> {
    match target {
        Target::Anchors(start, end) | Target::Hole(start, end) => {
            let (first, last) = anchors(file, start, end)?;
            let range = match target {
                Target::Hole(..) => first.end..last.start,
                _ => first.start..last.end,
            };
            let verbatim = start.contains('\r') || end.contains('\r');
            Ok(plan(file, vec![range], 1, Tolerated::Nothing, Cow::Borrowed(replacement), verbatim))
        }
        Target::Search(search, choice) => {
            if let Some(found) = exact(file, search, choice)? {
                let verbatim = search.contains('\r');
                let (spans, replacement) = (found.kept, Cow::Borrowed(replacement));
                return Ok(plan(file, spans, found.count, Tolerated::Nothing, replacement, verbatim));
            }
            tolerant(file, search, choice, replacement)
        }
    }
}

/// The file with the plan carried out.
pub fn splice(file: &[u8], plan: &Plan<'_>) -> Vec<u8> {
    let (verbatim, crlf) = (plan.replacement.as_bytes(), plan.crlf());
    let mut new = Vec::with_capacity(plan.len_after(file.len()));
    let mut done = 0;
    for span in &plan.spans {
        new.extend_from_slice(&file[done..span.range.start]);
        new.extend_from_slice(if span.crlf { &crlf } else { verbatim });
        done = span.range.end;
    }
    new.extend_from_slice(&file[done..]);
    new
}

impl Plan<'_> {
    /// The replacement with every line feed written as `\r\n`.
    pub fn crlf(&self) -> Vec<u8> {
        if self.spans.iter().any(|span| span.crlf) {
            self.replacement.replace('\n', "\r\n").into_bytes()
        } else {
            Vec::new()
        }
    }

    /// How long a file of `len` bytes is after it.
    pub fn len_after(&self, len: usize) -> usize {
        let feeds = self.replacement.bytes().filter(|byte| *byte == b'\n').count();
        self.spans.iter().fold(len, |len, span| {
            let new = self.replacement.len() + if span.crlf { feeds } else { 0 };
            (len - span.range.len()).saturating_add(new)
        })
    }
}

/// `text` without the line numbers that all of its lines carry; `None` if they do not.
pub fn without_numbers(text: &str) -> Option<String> {
    numbers::strip(text).map(|stripped| stripped.text)
}

/// The number of the line, from 1, on which `at` lies.
pub fn line_of(file: &[u8], at: usize) -> u64 {
    memchr::memchr_iter(b'\n', &file[..at]).count() as u64 + 1
}

fn plan<'a>(
    file: &[u8],
    ranges: Vec<Range<usize>>,
    found: u64,
    tolerated: Tolerated,
    replacement: Cow<'a, str>,
    verbatim: bool,
) -> Plan<'a> {
    let ends = !verbatim && replacement.contains('\n') && !replacement.contains('\r');
    let span = |range: Range<usize>| Span { crlf: ends && is_crlf(file, &range), range };
    Plan { spans: ranges.into_iter().map(span).collect(), found, tolerated, replacement }
}

/// Whether the lines at `range` end in `\r\n`: the first line end within it tells, else the next, else the one before.
fn is_crlf(file: &[u8], range: &Range<usize>) -> bool {
    let end = memchr::memchr(b'\n', &file[range.start..])
        .map(|at| range.start + at)
        .or_else(|| memchr::memrchr(b'\n', &file[..range.start]));
    end.is_some_and(|at| at > 0 && file[at - 1] == b'\r')
}

/// The places of a needle in a text, of which only some are kept.
#[derive(Debug, Default)]
struct Found {
    count: u64,
    /// What the choice asks for; while it is not known, all.
    kept: Vec<Range<usize>>,
    /// Where the first ones begin.
    first: Vec<usize>,
    /// Where another place begins within the only one.
    overlapping: Option<usize>,
}

impl Found {
    /// The only place and the one that overlaps it, if there is one.
    fn pair(&self, file: &[u8]) -> Option<Places> {
        let (first, second) = (*self.first.first()?, self.overlapping?);
        Some(Places { count: 2, lines: vec![line_of(file, first), line_of(file, second)] })
    }

    fn add(&mut self, range: Range<usize>, choice: Choice) {
        self.count += 1;
        if self.first.len() < KEPT_PLACES {
            self.first.push(range.start);
        }
        let wanted = match choice {
            Choice::Only => self.kept.is_empty(),
            Choice::Nth(n) => self.count == n,
            Choice::All => self.kept.len() < MOST_PLACES,
        };
        if wanted {
            self.kept.push(range);
        }
    }

    fn places(&self, file: &[u8]) -> Places {
        let (mut line, mut done) = (1, 0);
        let lines = self.first.iter().map(|at| {
            line += memchr::memchr_iter(b'\n', &file[done..*at]).count() as u64;
            done = *at;
            line
        });
        Places { count: self.count, lines: lines.collect() }
    }
}

/// The search as it was sent, but for the form of line ends. `None` if it is nowhere.
fn exact(file: &[u8], search: &str, choice: Choice) -> Result<Option<Found>, Miss> {
    let mut found = Found::default();
    let any_ends = search.contains('\n') || search.contains('\r');
    if search.contains('\r') || !any_ends {
        let second = scan(file, search.as_bytes(), |range| found.add(range, choice));
        found.overlapping = second.map(|range| range.start);
    }
    if found.count == 0 && any_ends {
        let view = View::of(file, Aside::Nothing);
        let second = scan(view.text(), &look(search, Aside::Nothing), |range| {
            if let Some(range) = view.file_range(range) {
                found.add(range, choice);
            }
        });
        found.overlapping = second.and_then(|range| Some(view.file_range(range)?.start));
    }
    match (found.count, choice) {
        (0, _) => Ok(None),
        (1, Choice::Only) => found.pair(file).map_or(Ok(Some(found)), |pair| Err(Miss::Overlapping(pair))),
        (_, Choice::Only) => Err(Miss::Several(found.places(file))),
        (count, Choice::Nth(asked)) if asked > count => Err(Miss::Beyond { asked, places: found.places(file) }),
        (count, Choice::All) if count > MOST_PLACES as u64 => Err(Miss::TooMany(count)),
        _ => Ok(Some(found)),
    }
}

/// Calls `hit` with each place of `needle`, going on behind it. Where there is but one, the next that overlaps it is
/// given back: `aa` has one place in `aaa`, and another.
fn scan(text: &[u8], needle: &[u8], mut hit: impl FnMut(Range<usize>)) -> Option<Range<usize>> {
    if needle.is_empty() {
        return None;
    }
    let mut starts = memchr::memmem::find_iter(text, needle);
    let first = starts.next()?;
    hit(first..first + needle.len());
    let mut is_only = true;
    for at in starts {
        is_only = false;
        hit(at..at + needle.len());
    }
    is_only.then(|| overlapping(text, &Finder::new(needle), first + 1, needle.len())).flatten()
}

/// The place of a needle of `len` bytes that `finder` sees at `from` or less than `len` bytes behind it.
fn overlapping(text: &[u8], finder: &Finder<'_>, from: usize, len: usize) -> Option<Range<usize>> {
    let end = text.len().min(from + 2 * len - 2);
    let at = from + finder.find(text.get(from..end)?)?;
    Some(at..at + len)
}

fn tolerant<'a>(file: &[u8], search: &str, choice: Choice, replacement: &'a str) -> Result<Plan<'a>, Miss> {
    let verbatim = search.contains('\r');
    for (tolerated, found) in levels(file, search) {
        let Some(range) = found.kept.first().cloned() else { continue };
        match choice {
            _ if found.count > 1 => return Err(Miss::SeveralTolerated(tolerated, found.places(file))),
            Choice::Only if found.overlapping.is_some() => {
                let pair = found.pair(file).unwrap_or_else(|| found.places(file));
                return Err(Miss::SeveralTolerated(tolerated, pair));
            }
            Choice::Nth(asked) if asked > 1 => return Err(Miss::Beyond { asked, places: found.places(file) }),
            _ => return Ok(plan(file, vec![range], 1, tolerated, Cow::Borrowed(replacement), verbatim)),
        }
    }
    let Some(stripped) = numbers::strip(search) else { return Err(Miss::Absent) };
    let Some(range) = numbered(file, &stripped) else { return Err(Miss::Absent) };
    if let Choice::Nth(asked @ 2..) = choice {
        let places = Places { count: 1, lines: vec![stripped.first] };
        return Err(Miss::Beyond { asked, places });
    }
    // Numbers of the replacement are prefixes only where those of the search were, and in the same form.
    let new = numbers::strip(replacement)
        .filter(|new| new.first == stripped.first && new.separator == stripped.separator)
        .map(|new| new.text);
    let tolerated = Tolerated::LineNumbers { in_replacement: new.is_some() };
    Ok(plan(file, vec![range], 1, tolerated, new.map_or(Cow::Borrowed(replacement), Cow::Owned), verbatim))
}

/// What setting aside one difference finds, level by level; each is looked for only when it is reached.
fn levels(file: &[u8], search: &str) -> impl Iterator<Item = (Tolerated, Found)> {
    // A long dash stands for a hyphen as often as for two. Where there is none, both readings are one.
    let dashes: [&'static [u8]; 2] = [b"-", b"--"];
    let readings = std::iter::once_with(move || if has_long_dash(file, search) { 2 } else { 1 });
    let punctuation = readings
        .flat_map(move |count| dashes.into_iter().take(count))
        .map(move |dash| (Tolerated::Punctuation, punctuated(file, search, dash)));
    std::iter::once_with(move || (Tolerated::Indentation, indented(file, search))).chain(punctuation)
}

/// The places of `search` with the indentation of every line set aside.
///
/// A search that begins with blanks quotes the start of a line, and its place begins there; one that begins with
/// something else begins where that stands, and what is before it on its line stays. The same holds for the end.
fn indented(file: &[u8], search: &str) -> Found {
    let mut found = Found::default();
    let needle = look(search, Aside::Indentation);
    if needle.iter().all(u8::is_ascii_whitespace) {
        return found;
    }
    let view = View::of(file, Aside::Indentation);
    let from_line_start = indentation(search.as_bytes()) > 0;
    let last_line = search.rsplit('\n').next().unwrap_or_default();
    let ends_in_indentation = !last_line.is_empty() && indentation(last_line.as_bytes()) == last_line.len();
    let mut add = |range: Range<usize>| {
        let Some(mut range) = view.file_range(range) else { return };
        if from_line_start {
            range.start = memchr::memrchr(b'\n', &file[..range.start]).map_or(0, |at| at + 1);
        }
        if ends_in_indentation {
            range.end += indentation(&file[range.end..]);
        }
        found.add(range, Choice::Only);
    };
    if !from_line_start {
        let second = scan(view.text(), &needle, add);
        found.overlapping = second.and_then(|range| Some(view.file_range(range)?.start));
        return found;
    }
    let mut from = 0;
    if view.text().starts_with(&needle) {
        add(0..needle.len());
        from = needle.len();
    }
    // Sought with the line feed before it, so that no place in the middle of a line can hide one at the start. That
    // feed may be the last byte of the place before.
    let fed: Vec<u8> = std::iter::once(b'\n').chain(needle.iter().copied()).collect();
    let finder = Finder::new(&fed);
    let mut first = (from > 0).then_some(0);
    from = from.saturating_sub(1);
    while let Some(at) = finder.find(&view.text()[from..]).map(|at| from + at + 1) {
        add(at..at + needle.len());
        first.get_or_insert(at);
        from = at + needle.len() - 1;
    }
    // A place that overlaps begins behind a line feed within the only one.
    if let (1, Some(first)) = (found.count, first) {
        let second = overlapping(view.text(), &finder, first, fed.len());
        found.overlapping = second.and_then(|range| Some(view.file_range(range)?.start + 1));
    }
    found
}

/// The places of `search` with typographic punctuation read as plain.
fn punctuated(file: &[u8], search: &str, dash: &'static [u8]) -> Found {
    let mut found = Found::default();
    let view = View::of(file, Aside::Punctuation(dash));
    let second = scan(view.text(), &look(search, Aside::Punctuation(dash)), |range| {
        if let Some(range) = view.file_range(range) {
            found.add(range, Choice::Only);
        }
    });
    found.overlapping = second.and_then(|range| Some(view.file_range(range)?.start));
    found
}

/// The lines of the file that a search without its numbers names. They must begin where the first number says; after a
/// colon, which stands in times and addresses too, they must be whole lines.
fn numbered(file: &[u8], stripped: &numbers::Stripped) -> Option<Range<usize>> {
    let view = View::of(file, Aside::Nothing);
    let text = look(&stripped.text, Aside::Nothing);
    let start = view::line_start(view.text(), stripped.first)?;
    let end = start + text.len();
    if view.text().get(start..end)? != text {
        return None;
    }
    let whole = text.ends_with(b"\n") || matches!(view.text().get(end), None | Some(b'\n'));
    if stripped.separator == numbers::Separator::Colon && !whole {
        return None;
    }
    view.file_range(start..end)
}

/// The only place of `start` and the next place of `end` behind it.
fn anchors(file: &[u8], start: &str, end: &str) -> Result<(Range<usize>, Range<usize>), Miss> {
    let first = match exact(file, start, Choice::Only) {
        Ok(Some(found)) => found.kept.into_iter().next().ok_or(Miss::NoStart)?,
        Ok(None) => return Err(Miss::NoStart),
        Err(Miss::Several(places) | Miss::Overlapping(places)) => return Err(Miss::Starts(places)),
        Err(other) => return Err(other),
    };
    let rest = &file[first.end..];
    match exact(rest, end, Choice::Nth(1)) {
        Ok(Some(found)) => {
            let last = found.kept.into_iter().next().ok_or(Miss::NoEnd(line_of(file, first.start)))?;
            let last = first.end + last.start..first.end + last.end;
            Ok((first, last))
        }
        _ => Err(Miss::NoEnd(line_of(file, first.start))),
    }
}

#[cfg(test)]
mod tests;
