//! Where the hunks of a patch stand in a file, and the file with them spliced in.
//!
//! Lines are compared without the blanks at their ends. A hunk that names a line stands there, moved by as much as the
//! hunk before it was; where it does not fit, the lines around are tried up to `fuzz`, and then it must fit in one place
//! alone. Every scan is linear in the file, whatever repeats in it.

use super::{Hunk, Kind, Place};
use std::ops::RangeInclusive;

/// How many lines of a hunk a message shows.
const SHOWN_LINES: usize = 4;
/// How many lines of the file on each side of a place a message shows.
const AROUND: usize = 2;
/// How many places a message names.
const SHOWN_PLACES: usize = 10;

/// A file with the hunks spliced in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// By how many lines each hunk stood away from where it was looked for first.
    pub drifts: Vec<isize>,
}

/// A hunk without a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Which one, from 1.
    pub hunk: usize,
    /// Of how many.
    pub of: usize,
    /// Why it has none.
    pub why: Why,
    /// The first of the lines that it expects.
    pub expected: Vec<String>,
    /// Lines of the file where it was looked for, with their numbers.
    pub around: Vec<(usize, String)>,
}

/// Why a hunk has no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its lines are not where they are looked for.
    Absent {
        /// The line, from 1, where it was looked for.
        line: usize,
        /// The only other line on which they begin.
        elsewhere: Option<usize>,
    },
    /// They are in several places, on these lines.
    Several(Vec<usize>),
    /// A line that it names above itself is not in the file.
    NoHead(String),
    /// It names a line behind the end of the file, which has so many.
    PastEnd(usize),
    /// It stands before the end of the hunk above it.
    OutOfOrder,
}

/// What a new file holds.
pub fn created(hunks: &[Hunk<'_>]) -> Vec<u8> {
    let lines = || hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == Kind::Add);
    let mut bytes: Vec<u8> = lines().flat_map(|line| [line.text.as_bytes(), b"\n"].concat()).collect();
    if lines().next_back().is_some_and(|line| line.unfinished) {
        bytes.pop();
    }
    bytes
}

/// The file with `hunks` spliced in.
pub fn apply(file: &[u8], hunks: &[Hunk<'_>], fuzz: usize) -> Result<Applied, Misfit> {
    let lines = Lines::of(file);
    let mut splice = Splice { lines: &lines, new: Vec::with_capacity(file.len()), done: 0, open: false };
    let (mut drift, mut drifts) = (0, Vec::with_capacity(hunks.len()));
    for (index, hunk) in hunks.iter().enumerate() {
        let search = Search {
            lines: &lines,
            hunk,
            sought: hunk.old().map(|line| line.text.trim_ascii_end().as_bytes()).collect(),
            from: splice.done,
        };
        let (at, moved) = search.locate(drift, fuzz).map_err(|(why, line)| Misfit {
            hunk: index + 1,
            of: hunks.len(),
            why,
            expected: hunk.old().take(SHOWN_LINES).map(|line| line.text.to_owned()).collect(),
            around: around(&lines, line),
        })?;
        drift += moved;
        drifts.push(moved);
        splice.hunk(hunk, at);
    }
    Ok(Applied { bytes: splice.finish(), drifts })
}

/// The lines of a file, found once.
struct Lines<'a> {
    file: &'a [u8],
    /// Where each begins, and where the last one ends.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(file: &'a [u8]) -> Lines<'a> {
        let mut starts = Vec::with_capacity(file.len() / 32 + 2);
        starts.push(0);
        starts.extend(memchr::memchr_iter(b'\n', file).map(|at| at + 1));
        if starts.last() != Some(&file.len()) {
            starts.push(file.len());
        }
        Lines { file, starts }
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// A line with what ends it.
    fn get(&self, index: usize) -> Option<&'a [u8]> {
        Some(&self.file[*self.starts.get(index)?..*self.starts.get(index + 1)?])
    }

    /// A line as it is compared; an empty one behind the end.
    fn key(&self, index: usize) -> &'a [u8] {
        self.get(index).unwrap_or_default().trim_ascii_end()
    }
}

fn around(lines: &Lines<'_>, line: usize) -> Vec<(usize, String)> {
    let first = line.saturating_sub(AROUND).max(1).min(lines.len().saturating_sub(2 * AROUND).max(1));
    (first..=first + 2 * AROUND)
        .map_while(|number| lines.get(number - 1).map(|line| (number, line.trim_ascii_end())))
        .map(|(number, line)| (number, String::from_utf8_lossy(line).into_owned()))
        .collect()
}

/// Looks for one hunk.
struct Search<'a> {
    lines: &'a Lines<'a>,
    hunk: &'a Hunk<'a>,
    sought: Vec<&'a [u8]>,
    /// The first line that no hunk has taken.
    from: usize,
}

impl Search<'_> {
    /// The index of its first line, and by how much it moved; or why it has none, and the line to show.
    fn locate(&self, drift: isize, fuzz: usize) -> Result<(usize, isize), (Why, usize)> {
        match &self.hunk.place {
            Place::Line(line) => self.by_line(*line, drift, fuzz),
            Place::Text { below, at_end } => self.by_text(below, *at_end).map(|at| (at, 0)),
        }
    }

    fn by_line(&self, line: usize, drift: isize, fuzz: usize) -> Result<(usize, isize), (Why, usize)> {
        let index = if self.sought.is_empty() { line } else { line.saturating_sub(1) };
        let wanted = index.saturating_add_signed(drift);
        if self.sought.is_empty() {
            return match wanted {
                at if at > self.lines.len() => Err((Why::PastEnd(self.lines.len()), self.lines.len())),
                at if at < self.from => Err((Why::OutOfOrder, at + 1)),
                at => Ok((at, 0)),
            };
        }
        if wanted >= self.from && self.fits(wanted) {
            return Ok((wanted, 0));
        }
        let window = wanted.saturating_sub(fuzz).max(self.from)..=wanted.saturating_add(fuzz);
        let places = self.places(window);
        match places.as_slice() {
            [at] => Ok((*at, at.wrapping_sub(wanted).cast_signed())),
            [] => {
                let all = self.places(self.from..=self.lines.len());
                let elsewhere = if let [at] = all.as_slice() { Some(at + 1) } else { None };
                // A header may name any number.
                let line = wanted.saturating_add(1);
                let why = if wanted < self.from { Why::OutOfOrder } else { Why::Absent { line, elsewhere } };
                Err((why, line))
            }
            _ => Err((Why::Several(told(&places)), places[0] + 1)),
        }
    }

    fn by_text(&self, below: &[&str], at_end: bool) -> Result<usize, (Why, usize)> {
        let mut from = self.from;
        for head in below {
            let named = head.trim_ascii().as_bytes();
            let found = (from..self.lines.len()).find(|index| self.lines.key(*index).trim_ascii() == named);
            let Some(found) = found else { return Err((Why::NoHead((*head).to_owned()), from + 1)) };
            from = found + 1;
        }
        if self.sought.is_empty() {
            return Ok(if below.is_empty() { self.lines.len() } else { from });
        }
        let mut places = self.places(from..=self.lines.len());
        if at_end {
            places.retain(|at| at + self.sought.len() == self.lines.len());
        }
        match places.as_slice() {
            [at] => Ok(*at),
            // Behind a line that was named, the next place is meant.
            [at, ..] if !below.is_empty() => Ok(*at),
            [] => Err((Why::Absent { line: from + 1, elsewhere: None }, from + 1)),
            _ => Err((Why::Several(told(&places)), places[0] + 1)),
        }
    }

    /// Whether the hunk fits with its first line at this index.
    fn fits(&self, at: usize) -> bool {
        let end = at.saturating_add(self.sought.len());
        end <= self.lines.len()
            && self.sought.iter().zip(at..).all(|(sought, index)| *sought == self.lines.key(index))
            && self.may_end_at(end)
    }

    /// Whether its old lines may end there: at the end of the file, if the patch says that no newline ends them.
    fn may_end_at(&self, end: usize) -> bool {
        end == self.lines.len() || !self.hunk.lines.iter().any(|line| line.unfinished)
    }

    /// The indices in `window` at which it fits. Knuth, Morris and Pratt: no line of the file is looked at twice.
    fn places(&self, window: RangeInclusive<usize>) -> Vec<usize> {
        let sought = &self.sought;
        let mut fall = vec![0; sought.len()];
        let mut matched = 0;
        for index in 1..sought.len() {
            while matched > 0 && sought[index] != sought[matched] {
                matched = fall[matched - 1];
            }
            matched += usize::from(sought[index] == sought[matched]);
            fall[index] = matched;
        }
        let end = window.end().saturating_add(sought.len()).min(self.lines.len());
        let mut places = Vec::new();
        matched = 0;
        for index in *window.start()..end {
            let key = self.lines.key(index);
            while matched > 0 && key != sought[matched] {
                matched = fall[matched - 1];
            }
            matched += usize::from(key == sought[matched]);
            if matched == sought.len() {
                let at = index + 1 - sought.len();
                if window.contains(&at) && self.may_end_at(index + 1) {
                    places.push(at);
                }
                matched = fall[matched - 1];
            }
        }
        places
    }
}

/// Lines from 1, of the first places.
fn told(places: &[usize]) -> Vec<usize> {
    places.iter().take(SHOWN_PLACES).map(|at| at + 1).collect()
}

/// The new file, as far as it is known.
struct Splice<'a> {
    lines: &'a Lines<'a>,
    new: Vec<u8>,
    /// How many old lines are done.
    done: usize,
    /// Whether the last line written has no line feed yet, though another may follow.
    open: bool,
}

impl Splice<'_> {
    fn hunk(&mut self, hunk: &Hunk<'_>, at: usize) {
        self.keep(at);
        let crlf = self.is_crlf(at);
        // A patch whose every old line has a carriage return that the file does not have was changed on its way.
        let count = hunk.old().count();
        let foreign = count > 0
            && hunk.old().all(|line| line.text.ends_with('\r'))
            && (at..at + count).all(|index| !self.lines.get(index).unwrap_or_default().ends_with(b"\r\n"));
        for line in &hunk.lines {
            match line.kind {
                Kind::Keep => self.keep(self.done + 1),
                Kind::Remove => self.done += 1,
                Kind::Add => {
                    let text = if foreign { line.text.trim_end_matches('\r') } else { line.text };
                    self.close(crlf);
                    self.new.extend_from_slice(text.as_bytes());
                    self.new.extend_from_slice(if crlf && !text.ends_with('\r') { b"\r\n" } else { b"\n" });
                }
            }
        }
        if self.done == self.lines.len() {
            self.end(hunk);
        }
    }

    /// Whether a new last line ends in a newline: as the patch says, else as the file did.
    fn end(&mut self, hunk: &Hunk<'_>) {
        let Some(last) = hunk.lines.iter().rfind(|line| line.kind != Kind::Remove) else { return };
        if last.kind != Kind::Add {
            return;
        }
        let was_open = !self.lines.file.is_empty() && !self.lines.file.ends_with(b"\n");
        let said_open = hunk.old().last().is_some_and(|line| line.unfinished);
        if last.unfinished || (was_open && !said_open) {
            let crlf = self.new.ends_with(b"\r\n") && !last.text.ends_with('\r');
            self.new.truncate(self.new.len() - if crlf { 2 } else { 1 });
        }
    }

    /// Lines of the file stay, up to this one.
    fn keep(&mut self, to: usize) {
        if self.done < to {
            self.close(self.is_crlf(self.done));
            let kept = &self.lines.file[self.lines.starts[self.done]..self.lines.starts[to]];
            self.new.extend_from_slice(kept);
            self.open = !kept.ends_with(b"\n");
        }
        self.done = to;
    }

    /// Ends the last line, if nothing ends it yet.
    fn close(&mut self, crlf: bool) {
        if std::mem::take(&mut self.open) {
            self.new.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
        }
    }

    /// Whether the lines around an index end in `\r\n`: the line there tells, else the one before.
    fn is_crlf(&self, at: usize) -> bool {
        let ended = |line: &&[u8]| line.ends_with(b"\n");
        let there = self.lines.get(at).filter(ended);
        there
            .or_else(|| self.lines.get(at.checked_sub(1)?).filter(ended))
            .or_else(|| self.lines.get(0).filter(ended))
            .is_some_and(|line| line.ends_with(b"\r\n"))
    }

    fn finish(mut self) -> Vec<u8> {
        self.keep(self.lines.len());
        self.new
    }
}
