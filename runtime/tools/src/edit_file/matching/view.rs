//! A file as it looks once a difference is set aside, and the way from each place in that look back to the file.
//!
//! A view is made in one pass and remembers only where it departs from the file, so that its cost is that of the file.

use memchr::{memchr, memchr_iter, memmem};
use std::{borrow::Cow, ops::Range};

/// What is set aside besides the form of line ends, which always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aside {
    /// Nothing more.
    Nothing,
    /// Blanks and tabs at the start of lines.
    Indentation,
    /// Typographic punctuation; a long dash is read as this.
    Punctuation(&'static [u8]),
}

/// A part of a view and the part of the file that it shows: byte for byte where both are equally long, else as one
/// piece that cannot be divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    view: usize,
    file: usize,
    view_len: usize,
    file_len: usize,
}

impl Piece {
    fn is_verbatim(&self) -> bool {
        self.view_len == self.file_len
    }
}

/// The look of a text.
pub(super) struct View<'a> {
    text: Cow<'a, [u8]>,
    /// In order, without the parts that are not shown. Empty where the look is the text.
    pieces: Vec<Piece>,
}

impl<'a> View<'a> {
    /// The look of `file` with `aside` set aside.
    pub(super) fn of(file: &'a [u8], aside: Aside) -> View<'a> {
        let ends = has_crlf(file);
        let same = match aside {
            Aside::Nothing => true,
            Aside::Indentation => !is_indented(file),
            Aside::Punctuation(_) => {
                !memchr::memchr2_iter(0xe2, 0xc2, file).any(|at| typographic(&file[at..]).is_some())
            }
        };
        if !ends && same {
            return View { text: Cow::Borrowed(file), pieces: Vec::new() };
        }
        let mut builder = Builder { text: Vec::with_capacity(file.len()), pieces: Vec::new(), ends };
        match aside {
            Aside::Nothing => builder.plain(file, 0),
            Aside::Indentation => {
                for line in lines(file) {
                    let start = line.start + indentation(&file[line.clone()]);
                    builder.plain(&file[start..line.end], start);
                }
            }
            Aside::Punctuation(dash) => builder.punctuation(file, dash),
        }
        View { text: Cow::Owned(builder.text), pieces: builder.pieces }
    }

    /// The text as it looks.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The part of the file that a part of the view shows. `None` where the part begins or ends within a piece that
    /// cannot be divided, or is empty.
    pub(super) fn file_range(&self, range: Range<usize>) -> Option<Range<usize>> {
        if range.is_empty() {
            return None;
        }
        if self.pieces.is_empty() {
            return Some(range);
        }
        let (first, last) = (self.piece(range.start)?, self.piece(range.end - 1)?);
        let start = match range.start - first.view {
            0 => first.file,
            inside if first.is_verbatim() => first.file + inside,
            _ => return None,
        };
        let end = match range.end - last.view {
            all if all == last.view_len => last.file + last.file_len,
            inside if last.is_verbatim() => last.file + inside,
            _ => return None,
        };
        Some(start..end)
    }

    /// The piece that shows the byte at `at` of the view.
    fn piece(&self, at: usize) -> Option<Piece> {
        let index = self.pieces.partition_point(|piece| piece.view <= at);
        self.pieces.get(index.checked_sub(1)?).copied()
    }
}

/// The text that is sought, as it looks with `aside` set aside.
pub(super) fn look(text: &str, aside: Aside) -> Vec<u8> {
    View::of(text.as_bytes(), aside).text.into_owned()
}

struct Builder {
    text: Vec<u8>,
    pieces: Vec<Piece>,
    /// Whether there are any `\r\n` to be shown as plain.
    ends: bool,
}

impl Builder {
    /// Shows `part`, which stands at `at` in the file, with plain line ends.
    fn plain(&mut self, part: &[u8], at: usize) {
        let mut done = 0;
        // Not sought as a pair: making a searcher for every line costs more than the line.
        let feeds = self.ends.then(|| memchr_iter(b'\n', part)).into_iter().flatten();
        for feed in feeds.filter(|feed| *feed > 0 && part[feed - 1] == b'\r') {
            self.verbatim(&part[done..feed - 1], at + done);
            self.piece(b"\n", at + feed - 1, 2);
            done = feed + 1;
        }
        self.verbatim(&part[done..], at + done);
    }

    fn punctuation(&mut self, file: &[u8], dash: &[u8]) {
        let mut done = 0;
        for at in memchr::memchr2_iter(0xe2, 0xc2, file) {
            let Some((len, sign)) = typographic(&file[at..]) else { continue };
            self.plain(&file[done..at], done);
            let shown = match sign {
                Sign::Plain(plain) => plain,
                Sign::LongDash => dash,
            };
            self.piece(shown, at, len);
            done = at + len;
        }
        self.plain(&file[done..], done);
    }

    fn verbatim(&mut self, part: &[u8], at: usize) {
        if part.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some(last) if last.is_verbatim() && last.file + last.file_len == at => {
                last.view_len += part.len();
                last.file_len += part.len();
            }
            _ => {
                let view = self.text.len();
                self.pieces.push(Piece { view, file: at, view_len: part.len(), file_len: part.len() });
            }
        }
        self.text.extend_from_slice(part);
    }

    fn piece(&mut self, shown: &[u8], at: usize, file_len: usize) {
        self.pieces.push(Piece { view: self.text.len(), file: at, view_len: shown.len(), file_len });
        self.text.extend_from_slice(shown);
    }
}

enum Sign {
    Plain(&'static [u8]),
    LongDash,
}

/// The typographic sign at the start of `text`: its length, and what it stands for. No sign is as long as its plain
/// form, which is what tells an indivisible piece from a verbatim one.
fn typographic(text: &[u8]) -> Option<(usize, Sign)> {
    match text {
        [0xe2, 0x80, 0x9c | 0x9d, ..] => Some((3, Sign::Plain(b"\""))),
        [0xe2, 0x80, 0x98 | 0x99, ..] => Some((3, Sign::Plain(b"'"))),
        [0xe2, 0x80, 0x93, ..] => Some((3, Sign::Plain(b"-"))),
        [0xe2, 0x80, 0x94, ..] => Some((3, Sign::LongDash)),
        [0xc2, 0xa0, ..] => Some((2, Sign::Plain(b" "))),
        _ => None,
    }
}

/// Whether any line ends in `\r\n`. Most files have no `\r` at all, and one byte is found faster than two.
fn has_crlf(text: &[u8]) -> bool {
    memchr(b'\r', text).is_some_and(|at| memmem::find(&text[at..], b"\r\n").is_some())
}

/// Whether a long dash is in either text.
pub(super) fn has_long_dash(file: &[u8], search: &str) -> bool {
    memmem::find(file, "—".as_bytes()).is_some() || search.contains('—')
}

/// The ranges of the lines of `text`, each with its line feed. A text without any has one line.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let ends = memchr_iter(b'\n', text).map(|at| at + 1).chain(std::iter::once(text.len()));
    let mut start = 0;
    ends.map(move |end| std::mem::replace(&mut start, end)..end).filter(|line| !line.is_empty())
}

/// How many blanks and tabs `line` begins with.
pub(super) fn indentation(line: &[u8]) -> usize {
    line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

fn is_indented(text: &[u8]) -> bool {
    let blank = |at: usize| matches!(text.get(at), Some(b' ' | b'\t'));
    blank(0) || memchr_iter(b'\n', text).any(|at| blank(at + 1))
}

/// Where the line with this number, from 1, begins.
pub(super) fn line_start(text: &[u8], number: u64) -> Option<usize> {
    match usize::try_from(number).ok()?.checked_sub(2) {
        None => Some(0),
        Some(before) => memchr_iter(b'\n', text).nth(before).map(|feed| feed + 1),
    }
}
