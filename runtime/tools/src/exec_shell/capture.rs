//! The output of one stream, kept in bounded memory: its beginning and its end.

use std::{collections::VecDeque, fmt::Write};

/// Up to this many bytes a stream is kept whole.
pub const WHOLE_BYTES: usize = HEAD_BYTES + TAIL_BYTES;
/// How much of the beginning is kept of a longer one.
const HEAD_BYTES: usize = 22_000;
/// How much of its end.
const TAIL_BYTES: usize = 8_000;

/// What is kept of a stream.
#[derive(Debug, Default)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(TAIL_BYTES)..];
        let overflow = (self.tail.len() + rest.len()).saturating_sub(TAIL_BYTES);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
    }

    /// How many bytes the stream had.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The text to show. What is no UTF-8 is replaced; what is left out is counted, and cut between characters.
    pub fn into_text(self) -> String {
        let tail: Vec<u8> = self.tail.into();
        if self.total <= WHOLE_BYTES as u64 {
            return String::from_utf8_lossy(&[self.head, tail].concat()).into_owned();
        }
        let head = &self.head[..self.head.len() - broken_end(&self.head)];
        let tail = &tail[broken_start(&tail)..];
        let omitted = self.total - head.len() as u64 - tail.len() as u64;
        let mut text = String::from_utf8_lossy(head).into_owned();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n\n[Output truncated: {omitted} bytes are left out here, between the first {} and the last {} of {}. To see \
             them, run the command again with its output redirected to a file, and read the file in pages.]\n\n",
            head.len(),
            tail.len(),
            self.total
        );
        text.push_str(&String::from_utf8_lossy(tail));
        text
    }
}

/// How many bytes at the end of `bytes` begin a character that was cut.
fn broken_end(bytes: &[u8]) -> usize {
    for back in 1..=3.min(bytes.len()) {
        let needs = match bytes[bytes.len() - back] {
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

/// How many bytes at the start of `bytes` end a character that was cut.
fn broken_start(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| (0x80..=0xbf).contains(*byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(chunks: &[&[u8]]) -> Capture {
        let mut capture = Capture::default();
        for chunk in chunks {
            capture.push(chunk);
        }
        capture
    }

    /// `expect` is what is shown before the notice, the number left out, and what is shown after.
    #[track_caller]
    fn check_cut(content: &[u8], head: &str, omitted: usize, tail: &str) {
        for size in [1, 7, 4096, content.len()] {
            let text = capture(&content.chunks(size).collect::<Vec<_>>()).into_text();
            let (before, rest) = text.split_once("\n\n[Output truncated: ").expect("a notice");
            let (notice, after) = rest.split_once("]\n\n").expect("a notice");
            assert!(before == head && after == tail, "chunks of {size}");
            assert!(notice.starts_with(&format!("{omitted} bytes are left out")), "{notice}");
        }
    }

    #[test]
    fn what_fits_is_shown_whole() {
        for length in [0, 1, HEAD_BYTES, WHOLE_BYTES] {
            let content = "x".repeat(length);
            assert!(capture(&[content.as_bytes()]).into_text() == content);
            assert!(capture(&content.as_bytes().chunks(999).collect::<Vec<_>>()).into_text() == content);
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_in_the_middle() {
        let content = [vec![b'a'; HEAD_BYTES], vec![b'b'], vec![b'c'; TAIL_BYTES]].concat();
        check_cut(&content, &"a".repeat(HEAD_BYTES), 1, &"c".repeat(TAIL_BYTES));
        let content = [vec![b'a'; 500_000], vec![b'c'; 500_000]].concat();
        check_cut(&content, &"a".repeat(HEAD_BYTES), 970_000, &"c".repeat(TAIL_BYTES));
    }

    #[test]
    fn a_cut_falls_between_characters() {
        // Three bytes each: neither 22,000 nor 8,000 is a multiple.
        let content = "€".repeat(20_000);
        check_cut(content.as_bytes(), &"€".repeat(7333), 60_000 - 3 * (7333 + 2666), &"€".repeat(2666));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(capture(&[b"a\xffb"]).into_text(), "a\u{fffd}b");
        // A character that arrives in two pieces is whole.
        assert_eq!(capture(&[b"\xc3", b"\xbc"]).into_text(), "ü");
    }
}
