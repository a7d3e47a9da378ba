//! One page of a file, read as a stream: memory for a page, and work for what lies before it.
//!
//! Lines are separated by `\n`; a `\r` before it belongs to the line, so that the pages of a file, joined, are the
//! file. Nothing is decoded here.

use memchr::{memchr, memchr_iter, memrchr};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
};
use tokio_util::sync::CancellationToken;

/// The most bytes of lines in a page, each line counted with its newline.
pub const PAGE_BYTES: usize = 16 * 1024;
/// Up to this size the rest of a file is read to count its lines; beyond, the number is a lower bound.
const COUNTED_BYTES: u64 = 16 << 20;
/// What is read at once for a page.
const CHUNK: usize = PAGE_BYTES;
/// What is read at once on the way to a page far behind.
const LONG_CHUNK: usize = 128 * 1024;
/// From this line on a page is far behind.
const FAR: u64 = 1000;

/// Which page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first line, from 1.
    pub line: u64,
    /// How many bytes of that line to leave out.
    pub byte: u64,
    /// The most lines.
    pub lines: u64,
}

/// Consecutive lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The number of the first one.
    first: u64,
    /// The lines without their newlines, one after the other.
    bytes: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Rows {
    /// The lines with their numbers, without their newlines.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        (self.first..).zip(starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end]))
    }

    /// The numbers of the first and the last line; `None` if there are none.
    pub fn span(&self) -> Option<(u64, u64)> {
        let count = self.len();
        (count > 0).then(|| (self.first, self.first + count - 1))
    }

    /// Whether any line holds `byte`.
    pub fn contains(&self, byte: u8) -> bool {
        memchr(byte, &self.bytes).is_some()
    }

    /// Takes `prefix` from the start of the first line of the file; whether it was there.
    pub fn strip_from_file(&mut self, prefix: &[u8]) -> bool {
        let found = self.first == 1 && self.ends.first().is_some_and(|end| self.bytes[..*end].starts_with(prefix));
        if found {
            self.bytes.drain(..prefix.len());
            self.ends.iter_mut().for_each(|end| *end -= prefix.len());
        }
        found
    }

    fn len(&self) -> u64 {
        self.ends.len() as u64
    }

    fn start_of_next(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The lines.
    pub rows: Rows,
    /// Where the next page starts: a line, and the bytes of it that are known already. `None` at the end.
    pub next: Option<(u64, u64)>,
    /// How many lines the file has.
    pub total: Total,
    /// Whether the last line shown is the last of the file and has no newline.
    pub unfinished: bool,
}

/// A number of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// All were counted.
    Exact(u64),
    /// There are at least so many; the file is too large to count for one page.
    AtLeast(u64),
}

/// Why there is no page.
#[derive(Debug)]
pub enum PageError {
    /// The first line is shorter than the bytes to leave out; it has so many.
    PastLine(u64),
    /// Nobody wants the page any more.
    Stopped,
    /// The file could not be read.
    Io(io::Error),
}

impl From<io::Error> for PageError {
    fn from(error: io::Error) -> Self {
        PageError::Io(error)
    }
}

/// Reads the page at `range` of a file that had `len` bytes when it was opened. What is appended meanwhile is left out.
pub fn read(file: File, len: u64, range: Range, stop: &CancellationToken) -> Result<Page, PageError> {
    // Files that the system makes up as they are read have no size.
    let limit = if len == 0 { COUNTED_BYTES } else { len };
    let mut reader = Reader {
        source: BufReader::with_capacity(if range.line < FAR { CHUNK } else { LONG_CHUNK }, file.take(limit)),
        stop,
        line: 1,
        line_bytes: 0,
    };
    if !reader.skip_to(range.line)? {
        return Ok(reader.end());
    }
    reader.skip_bytes(range.byte)?;
    let mut page = reader.window(range)?;
    if page.next.is_some() {
        page.total = if limit <= COUNTED_BYTES { reader.count()? } else { page.total };
    }
    Ok(page)
}

struct Reader<'a> {
    source: BufReader<io::Take<File>>,
    stop: &'a CancellationToken,
    /// The line that the next byte belongs to.
    line: u64,
    /// How many bytes of it were read.
    line_bytes: u64,
}

/// What ended a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Newline,
    EndOfFile,
    /// Nothing did: enough of it was taken.
    Full,
}

impl Reader<'_> {
    fn chunk(&mut self) -> Result<&[u8], PageError> {
        if self.stop.is_cancelled() {
            return Err(PageError::Stopped);
        }
        Ok(self.source.fill_buf()?)
    }

    /// Goes to the start of `line`; false if the file ends before it.
    fn skip_to(&mut self, line: u64) -> Result<bool, PageError> {
        while self.line < line {
            let wanted = line - self.line;
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(false);
            }
            // Counting is much faster than looking at each newline; only the last chunk needs the latter.
            let (used, newlines, after) = match counted(chunk) {
                (newlines, after) if newlines < wanted => (chunk.len(), newlines, after),
                _ => {
                    let nth = usize::try_from(wanted - 1).unwrap_or(usize::MAX);
                    let after = memchr_iter(b'\n', chunk).nth(nth).map_or(chunk.len(), |at| at + 1);
                    (after, wanted, after)
                }
            };
            self.advance(used, newlines, after);
        }
        // A file that ends with a newline has no line after it.
        Ok(!self.chunk()?.is_empty())
    }

    /// Takes note of `used` bytes with so many newlines, the last of which ended at `after`.
    fn advance(&mut self, used: usize, newlines: u64, after: usize) {
        self.source.consume(used);
        self.line += newlines;
        let rest = (used - after) as u64;
        self.line_bytes = if newlines == 0 { self.line_bytes + rest } else { rest };
    }

    /// Leaves out `bytes` of the line.
    fn skip_bytes(&mut self, bytes: u64) -> Result<(), PageError> {
        while self.line_bytes < bytes {
            let wanted = bytes - self.line_bytes;
            let known = self.line_bytes;
            let chunk = self.chunk()?;
            let reach = usize::try_from(wanted).map_or(chunk.len(), |wanted| wanted.min(chunk.len()));
            if let Some(newline) = memchr(b'\n', &chunk[..reach]) {
                return Err(PageError::PastLine(known + newline as u64));
            }
            if reach == 0 {
                return Err(PageError::PastLine(known));
            }
            self.advance(reach, 0, 0);
        }
        Ok(())
    }

    /// Takes up to `room` bytes of the line to the end of `taken`, and its newline if it is met.
    fn take_line(&mut self, mut room: usize, taken: &mut Vec<u8>) -> Result<LineEnd, PageError> {
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(LineEnd::EndOfFile);
            }
            // One byte more than there is room for, which may be the newline.
            let reach = (room + 1).min(chunk.len());
            if let Some(newline) = memchr(b'\n', &chunk[..reach]) {
                taken.extend_from_slice(&chunk[..newline]);
                self.advance(newline + 1, 1, newline + 1);
                return Ok(LineEnd::Newline);
            }
            let fits = room.min(chunk.len());
            taken.extend_from_slice(&chunk[..fits]);
            self.advance(fits, 0, 0);
            room -= fits;
            if reach > fits {
                return Ok(LineEnd::Full);
            }
        }
    }

    fn window(&mut self, range: Range) -> Result<Page, PageError> {
        let mut rows = Rows { first: self.line, bytes: Vec::with_capacity(PAGE_BYTES), ends: Vec::new() };
        while rows.len() < range.lines && rows.bytes.len() + rows.ends.len() < PAGE_BYTES {
            let (line, start) = (self.line, rows.start_of_next());
            // Each line counts with its newline.
            let room = PAGE_BYTES - rows.bytes.len() - rows.ends.len() - 1;
            match self.take_line(room, &mut rows.bytes)? {
                LineEnd::Newline => rows.ends.push(rows.bytes.len()),
                LineEnd::EndOfFile if self.line_bytes == 0 => return Ok(self.ended(rows, false)),
                LineEnd::EndOfFile => {
                    rows.ends.push(rows.bytes.len());
                    return Ok(self.ended(rows, true));
                }
                // A whole line that does not fit begins the next page; one that fits no page is cut.
                LineEnd::Full if rows.len() > 0 => {
                    rows.bytes.truncate(start);
                    return Ok(self.cut(rows, line, 0));
                }
                LineEnd::Full => {
                    rows.bytes.truncate(rows.bytes.len() - unfinished_char(&rows.bytes));
                    rows.ends.push(rows.bytes.len());
                    let byte = range.byte + rows.bytes.len() as u64;
                    return Ok(self.cut(rows, line, byte));
                }
            }
        }
        if self.chunk()?.is_empty() { Ok(self.ended(rows, false)) } else { Ok(self.cut(rows, self.line, 0)) }
    }

    /// The page with which the file ends.
    fn ended(&self, rows: Rows, unfinished: bool) -> Page {
        Page { rows, next: None, total: Total::Exact(self.lines_so_far()), unfinished }
    }

    /// A page that others follow.
    fn cut(&self, rows: Rows, line: u64, byte: u64) -> Page {
        Page { rows, next: Some((line, byte)), total: Total::AtLeast(self.lines_so_far().max(line)), unfinished: false }
    }

    /// The page of a file that ends before it.
    fn end(&self) -> Page {
        self.ended(Rows::default(), false)
    }

    fn lines_so_far(&self) -> u64 {
        if self.line_bytes == 0 { self.line - 1 } else { self.line }
    }

    /// Reads on to the end for the number of lines.
    fn count(&mut self) -> Result<Total, PageError> {
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(Total::Exact(self.lines_so_far()));
            }
            let (used, (newlines, after)) = (chunk.len(), counted(chunk));
            self.advance(used, newlines, after);
        }
    }
}

/// How many newlines a chunk has, and where the last one ends.
fn counted(chunk: &[u8]) -> (u64, usize) {
    (memchr_iter(b'\n', chunk).count() as u64, memrchr(b'\n', chunk).map_or(0, |at| at + 1))
}

/// How many bytes at the end of `text` are the beginning of a character whose rest is missing.
fn unfinished_char(text: &[u8]) -> usize {
    for back in 1..=3.min(text.len()) {
        let byte = text[text.len() - back];
        let needs = match byte {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if needs > back { back } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::pages::{check_all_pages, page};
    use proptest::prelude::*;
    use std::io::{Seek, Write};

    fn range(line: u64, byte: u64, lines: u64) -> Range {
        Range { line, byte, lines }
    }

    /// `expect` is the rows as `number:text`, the next page and the total.
    #[track_caller]
    fn check(content: &str, asked: Range, rows: &[&str], next: Option<(u64, u64)>, total: u64) {
        let page = page(content.as_bytes(), asked).expect("a page");
        let found: Vec<String> =
            page.rows.iter().map(|(n, text)| format!("{n}:{}", String::from_utf8_lossy(text))).collect();
        assert_eq!(found, rows);
        assert_eq!((page.next, page.total), (next, Total::Exact(total)));
    }

    #[test]
    fn a_window_is_cut_by_lines() {
        let ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
        check(ten, range(3, 0, 4), &["3:3", "4:4", "5:5", "6:6"], Some((7, 0)), 10);
        check(ten, range(9, 0, 2), &["9:9", "10:10"], None, 10);
        check(ten, range(9, 0, 200), &["9:9", "10:10"], None, 10);
        check(ten, range(11, 0, 1), &[], None, 10);
        check("a\nb\nc", range(99, 0, 5), &[], None, 3);
    }

    #[test]
    fn the_last_line_may_have_no_newline() {
        check("a\nb", range(1, 0, 9), &["1:a", "2:b"], None, 2);
        assert!(page(b"a\nb", range(1, 0, 9)).expect("a page").unfinished);
        assert!(!page(b"a\nb\n", range(1, 0, 9)).expect("a page").unfinished);
        check("a\nb", range(2, 0, 1), &["2:b"], None, 2);
        check("a\nb", range(3, 0, 1), &[], None, 2);
    }

    #[test]
    fn empty_files_and_empty_lines() {
        check("", range(1, 0, 9), &[], None, 0);
        check("\n", range(1, 0, 9), &["1:"], None, 1);
        check("\n\n\n", range(2, 0, 1), &["2:"], Some((3, 0)), 3);
    }

    #[test]
    fn the_byte_cap_cuts_before_a_line_that_does_not_fit() {
        let line = "x".repeat(PAGE_BYTES / 2 - 1);
        let content = format!("{line}\n{line}\ny\n");
        // Two lines with their newlines fill the page exactly.
        check(&content, range(1, 0, 9), &[&format!("1:{line}"), &format!("2:{line}")], Some((3, 0)), 3);
        let content = format!("a\n{line}\n{line}\n");
        check(&content, range(1, 0, 9), &["1:a", &format!("2:{line}")], Some((3, 0)), 3);
    }

    #[test]
    fn a_line_that_fits_no_page_is_continued_within() {
        let long = "é".repeat(PAGE_BYTES);
        let content = format!("{long}\nz\n");
        let first = page(content.as_bytes(), range(1, 0, 9)).expect("a page");
        let (line, byte) = first.next.expect("there is more");
        assert_eq!((line, byte), (1, PAGE_BYTES as u64 - 2), "cut between two characters");
        assert_eq!(first.total, Total::Exact(2));
        let second = page(content.as_bytes(), range(line, byte, 9)).expect("a page");
        assert_eq!(second.rows.span(), Some((1, 1)));
        assert_eq!(second.next, Some((1, 2 * byte)));
    }

    #[test]
    fn bytes_beyond_a_line_are_told() {
        assert!(matches!(page(b"abc\nd", range(1, 4, 1)), Err(PageError::PastLine(3))));
        assert!(matches!(page(b"abc\nd", range(2, 9, 1)), Err(PageError::PastLine(1))));
        check("abc\nd", range(1, 3, 1), &["1:"], Some((2, 0)), 2);
    }

    #[test]
    fn the_lines_of_a_huge_file_are_a_lower_bound() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"a\nb\nc\n").expect("content");
        // A hole: ten gibibytes that take no room.
        file.set_len(10 << 30).expect("a size");
        file.rewind().expect("a file");
        let page = read(file, 10 << 30, range(1, 0, 2), &CancellationToken::new()).expect("a page");
        assert_eq!((page.rows.len(), page.next, page.total), (2, Some((3, 0)), Total::AtLeast(3)));
    }

    #[test]
    fn a_page_nobody_wants_is_given_up() {
        let stop = CancellationToken::new();
        stop.cancel();
        let file = tempfile::tempfile().expect("a file");
        assert!(matches!(read(file, 1, range(1_000_000, 0, 1), &stop), Err(PageError::Stopped)));
    }

    #[test]
    fn what_is_appended_meanwhile_is_left_out() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"a\nb\nc\n").expect("content");
        file.rewind().expect("a file");
        let page = read(file, 4, range(1, 0, 9), &CancellationToken::new()).expect("a page");
        assert_eq!((page.rows.len(), page.total), (2, Total::Exact(2)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        /// Whatever the file and the size of the pages, the pages joined are the file, and the total is right.
        #[test]
        fn pages_join_to_the_file(
            lines in prop::collection::vec((prop::collection::vec(any::<u8>().prop_filter("a newline", |b| *b != b'\n'), 0..40), 1..900_usize), 0..8),
            finished in any::<bool>(),
            per_page in 1..500_u64,
        ) {
            let lines: Vec<Vec<u8>> = lines.into_iter().map(|(line, times)| line.repeat(times)).collect();
            let mut content = lines.join(&b'\n');
            if finished && !lines.is_empty() {
                content.push(b'\n');
            }
            check_all_pages(&content, per_page);
        }

        /// A page far behind, which is reached in larger steps, begins with the line it is asked for.
        #[test]
        fn a_far_page_begins_where_it_should(length in 0..90_usize, line in 990..2100_u64) {
            let content: Vec<u8> = (1..=2000).flat_map(|n| format!("{n}{}\n", "x".repeat(length)).into_bytes()).collect();
            let page = page(&content, range(line, 0, 1)).expect("a page");
            let expect = (line <= 2000).then(|| (line, format!("{line}{}", "x".repeat(length)).into_bytes()));
            prop_assert_eq!(page.rows.iter().next().map(|(n, text)| (n, text.to_vec())), expect);
            prop_assert_eq!(page.total, Total::Exact(2000));
        }

        /// The bytes that a cut leaves for the next page are exactly an unfinished character.
        #[test]
        fn a_cut_never_splits_a_character(text in "\\PC{0,12}", at in 0..40_usize) {
            let bytes = &text.as_bytes()[..at.min(text.len())];
            let kept = &bytes[..bytes.len() - unfinished_char(bytes)];
            let valid = std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
            prop_assert_eq!(kept.len(), valid);
        }
    }
}
