//! Markup in a model's words that looks like a tool call, and its removal.
//!
//! It owns one question: which bytes of a message's text or reasoning imitate a call, a result or a chat template. It
//! refuses to own what a call is. Calls come through the provider's channel alone; what is recognised here can feed a
//! notice and nothing else, and no type of this module converts into a [`RawCall`](crate::RawCall).
//!
//! - A marker is found wherever its bytes are cut, and closed by its own ending only.
//! - Code is left alone: fenced blocks, closed or not, and inline spans to the end of their line. A fenced pseudo-call is
//!   text. The answer for a position never depends on what comes later.
//! - What a marker opens is held back until its ending comes. When [`HELD`] bytes have come without it, or the message
//!   ends, the marker alone is removed and the text behind it is let go (and searched in turn): a person loses no words,
//!   and the history holds no open marker that the next turn could feel bound to close.
//! - Where a removal would join the text before and behind it to a new marker or another code mark, [`SEAM`] is left
//!   between them. Stripping a stripped text changes nothing.
//! - Work is linear in the text, whatever it holds; memory is bounded by [`HELD`] and the chunk at hand.

mod families;
mod index;
mod json;
mod markdown;
mod pattern;
mod recognise;
pub(crate) mod steps;

#[cfg(test)]
mod tests;

pub(crate) use families::Ends;
pub use families::Family;
pub(crate) use families::ROWS;
pub use recognise::{RecognisedForgery, recognise};

use index::{Begins, Marker};
use markdown::Markdown;
use std::collections::BTreeSet;
use std::mem;
use steps::spend;

/// The most bytes that are held back while a marker waits for its ending. 64 KiB.
pub const HELD: usize = 64 << 10;

/// What is left where a removal would otherwise make a marker out of the text around it.
pub const SEAM: char = '…';

/// What a message held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stripped {
    /// How many pieces were removed.
    pub removed: usize,
    /// How many bytes they had together.
    pub bytes: usize,
    /// Whose calls they imitate.
    pub families: BTreeSet<Family>,
    /// Whether a marker was still open when the message ended, so that it was removed without what followed it.
    pub open: bool,
}

/// A marker whose ending has not come.
#[derive(Clone, Copy, Debug)]
struct Opened {
    marker: Marker,
    /// Where its JSON stands: how many bytes behind the marker's first, and the brackets up to there.
    json: Option<(usize, json::Brackets)>,
}

/// What to do at a byte that may begin a marker.
enum Step {
    /// Nothing: it is text.
    Keep,
    /// More text is needed.
    Wait,
    /// Remove so many bytes.
    Remove(usize),
}

/// Removes the forgeries of one message's text, or of its reasoning, while it streams.
///
/// ```
/// use slot_wire::forge::Stripper;
///
/// let (mut stripper, mut shown) = (Stripper::new(), String::new());
/// for chunk in ["Look: <tool_", "call>{\"name\": \"rm\"}</tool", "_call>done."] {
///     stripper.push(chunk, &mut shown);
/// }
/// let stripped = stripper.finish(&mut shown);
/// assert_eq!((shown.as_str(), stripped.removed), ("Look: done.", 1));
/// ```
#[derive(Debug)]
pub struct Stripper {
    limit: usize,
    /// What has come and is not decided, from `from` on.
    held: String,
    from: usize,
    /// The position in the message of the first undecided byte.
    done: usize,
    code: Markdown,
    /// The marker that the undecided text begins with, when it is known.
    opened: Option<Opened>,
    /// By row: up to which position of the message no ending begins that an earlier search has missed.
    searched: Vec<usize>,
    /// Up to which position of the message JSON was counted without an end, so that no second count begins there.
    counted: usize,
    /// Up to which position of the message the text fits the beginning of a marker.
    fits: usize,
    /// The last byte let go.
    tail: u8,
    /// The marker that is honest markup the next time it comes.
    spared: Option<&'static str>,
    stripped: Stripped,
}

impl Default for Stripper {
    fn default() -> Self {
        Self::new()
    }
}

impl Stripper {
    /// A stripper at the start of a message.
    pub fn new() -> Self {
        Self::with_limit(HELD)
    }

    /// A stripper that holds back at most `limit` bytes.
    pub(crate) fn with_limit(limit: usize) -> Self {
        Stripper {
            limit,
            held: String::new(),
            from: 0,
            done: 0,
            code: Markdown::default(),
            opened: None,
            searched: Vec::new(),
            counted: 0,
            fits: 0,
            tail: 0,
            spared: None,
            stripped: Stripped::default(),
        }
    }

    /// Takes the next piece of the message and adds to `out` what is decided.
    pub fn push(&mut self, chunk: &str, out: &mut String) {
        if self.held.len() == self.from {
            let taken = self.run(chunk, false, out);
            self.held.clear();
            self.from = 0;
            self.held.push_str(&chunk[taken..]);
            spend(chunk.len() - taken);
            return;
        }
        let mut held = mem::take(&mut self.held);
        held.push_str(chunk);
        spend(chunk.len());
        self.from += self.run(&held[self.from..], false, out);
        self.held = held;
        // Moved to the front only once the gap is the larger part, so that each byte is moved a bounded number of times.
        if self.from * 2 > self.held.len() {
            spend(self.held.len() - self.from);
            self.held.drain(..self.from);
            self.from = 0;
        }
    }

    /// Ends the message: what was held back is let go, without the marker that opened it.
    pub fn finish(mut self, out: &mut String) -> Stripped {
        let held = mem::take(&mut self.held);
        self.run(&held[self.from..], true, out);
        self.stripped
    }

    /// How many bytes are held back.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn pending(&self) -> usize {
        self.held.len()
    }

    /// Decides what can be decided of `text`, which begins at the first undecided byte; answers how many bytes that were.
    fn run(&mut self, text: &str, last: bool, out: &mut String) -> usize {
        let bytes = text.as_bytes();
        // `from..at` is decided to stay and not yet let go.
        let (mut from, mut at) = (0, 0);
        while at < bytes.len() {
            if self.code.is_code() {
                at += self.code.code(&bytes[at..]);
                continue;
            }
            let plain = candidate(&bytes[at..]);
            spend(plain + 1);
            self.code.prose(&bytes[at..at + plain]);
            at += plain;
            let Some(&first) = bytes.get(at) else { break };
            if first == b'`' || (first == b'~' && self.code.at_line_start()) {
                self.code.begin_run(first);
                continue;
            }
            let step = match first {
                b'~' => Step::Keep,
                b'@' if !self.code.at_line_start() => Step::Keep,
                _ => self.marker(&bytes[at..], self.done + at, last),
            };
            match step {
                Step::Keep => {
                    self.code.prose(&bytes[at..=at]);
                    at += 1;
                }
                Step::Wait => break,
                Step::Remove(len) => {
                    self.let_go(&text[from..at], out);
                    self.seam(self.done + at, out);
                    self.stripped.removed += 1;
                    self.stripped.bytes += len;
                    at += len;
                    from = at;
                }
            }
        }
        self.let_go(&text[from..at], out);
        self.done += at;
        at
    }

    fn let_go(&mut self, text: &str, out: &mut String) {
        if let Some(&tail) = text.as_bytes().last() {
            self.tail = tail;
            spend(text.len());
            out.push_str(text);
        }
    }

    /// Keeps the text before a removal at `position` apart from the text behind it, where they could make a marker or a
    /// run of marks together.
    fn seam(&mut self, position: usize, out: &mut String) {
        if self.fits >= position && position > 0 || matches!(self.tail, b'`' | b'~') {
            let mut seam = [0; 4];
            self.let_go(SEAM.encode_utf8(&mut seam), out);
            self.code.prose(seam.as_slice());
            self.fits = 0;
        }
    }

    /// What to do at `text`, which begins at `position` of the message with a byte that may begin a marker.
    fn marker(&mut self, text: &[u8], position: usize, last: bool) -> Step {
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => match index::at(text, last) {
                Begins::Nothing { viable } => {
                    self.fits = self.fits.max(position + viable);
                    return Step::Keep;
                }
                Begins::Partial => return Step::Wait,
                Begins::With(marker) => Opened { marker, json: None },
            },
        };
        let Marker { row, len, alone } = opened.marker;
        let step = match ROWS[row].ends {
            _ if alone => Step::Remove(len),
            Ends::Alone if self.spared == Some(ROWS[row].open) => {
                self.spared = None;
                Step::Keep
            }
            Ends::Alone => Step::Remove(len),
            Ends::Spares(ending) => {
                self.spared = Some(ending);
                Step::Keep
            }
            Ends::At(endings) | Ends::Within(endings) => self.ending(endings, opened, text, position, last),
            Ends::Json { bare } => self.json(bare, opened, text, position, last),
        };
        if matches!(step, Step::Remove(_)) {
            self.stripped.families.insert(ROWS[row].family);
        }
        step
    }

    /// Looks for the ending of a marker at `position`, from where an earlier search for it stopped.
    fn ending(&mut self, endings: &[&str], opened: Opened, text: &[u8], position: usize, last: bool) -> Step {
        let Marker { row, len, .. } = opened.marker;
        if self.searched.is_empty() {
            self.searched = vec![0; ROWS.len()];
        }
        let first = endings[0].as_bytes()[0];
        let end = self.window(text);
        let mut at = len.max(self.searched[row].saturating_sub(position)).min(end);
        while let Some(next) = memchr::memchr(first, &text[at..end]) {
            spend(next + 1);
            at += next;
            let mut partial = false;
            for ending in endings {
                match pattern::at_start(ending, &text[at..end], false) {
                    pattern::Seen::Full { len, .. } => return Step::Remove(at + len),
                    pattern::Seen::Partial => partial = true,
                    pattern::Seen::No { .. } => {}
                }
            }
            if partial && !(last && end == text.len()) {
                self.searched[row] = position + at;
                return self.unclosed(opened, text, last);
            }
            at += 1;
        }
        spend(end - at);
        self.searched[row] = position + end;
        self.unclosed(opened, text, last)
    }

    /// Looks for the end of the JSON behind a marker at `position`.
    fn json(&mut self, bare: bool, mut opened: Opened, text: &[u8], position: usize, last: bool) -> Step {
        let len = opened.marker.len;
        let (at, mut brackets) = match opened.json {
            Some(found) => found,
            None => match json::begin(&text[len..], bare, last) {
                // A marker that stands for nothing by itself is text, to which a removal must join no JSON.
                json::Begin::No { viable } if !bare => {
                    self.fits = self.fits.max(position + len + viable);
                    return Step::Keep;
                }
                json::Begin::No { .. } => return Step::Remove(len),
                json::Begin::Partial => {
                    self.opened = Some(opened);
                    return Step::Wait;
                }
                // No bracket was closed from an earlier marker on, so none is looked for again.
                json::Begin::At(_) if position < self.counted => return Step::Remove(len),
                json::Begin::At(at) => (len + at, json::Brackets::default()),
            },
        };
        let end = self.window(text);
        if let Some(value) = text.get(at..end).and_then(|rest| brackets.end(rest)) {
            return Step::Remove(at + value);
        }
        opened.json = Some((end.max(at), brackets));
        let step = self.unclosed(opened, text, last);
        if matches!(step, Step::Remove(_)) {
            self.counted = position + end;
        }
        step
    }

    /// How many bytes of `text` may be held back: the limit, rounded down to whole characters.
    fn window(&self, text: &[u8]) -> usize {
        let mut end = text.len().min(self.limit);
        while text.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
            end -= 1;
        }
        end
    }

    /// What to do with a marker whose ending is not in the window of `text`, which begins with it.
    fn unclosed(&mut self, opened: Opened, text: &[u8], last: bool) -> Step {
        let full = text.len() >= self.limit;
        if !last && !full {
            self.opened = Some(opened);
            return Step::Wait;
        }
        self.stripped.open |= !full;
        Step::Remove(opened.marker.len)
    }
}

/// How many bytes come before the first that may begin a marker or code.
fn candidate(bytes: &[u8]) -> usize {
    // Without a branch in the inner loop, so that it becomes a few vector comparisons.
    let is = |byte: u8| matches!(byte, b'<' | b'[' | b'@' | b'`' | b'~');
    let mut at = 0;
    for block in bytes.chunks(32) {
        if block.iter().fold(false, |any, &byte| any | is(byte)) {
            return at + block.iter().position(|&byte| is(byte)).unwrap_or(0);
        }
        at += block.len();
    }
    at
}
