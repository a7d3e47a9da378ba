//! A response as it arrives from upstream: where its head and its body end, and what of it goes on the tape.

use super::secrets::{Secrets, fields, kept};
use crate::http::{chunk_ranges, chunked_end};
use crate::tape::taped;

/// Longest response that is recorded, in bytes.
const LONGEST: usize = 64 << 20;
/// A head that is longer is none.
const LONGEST_HEAD: usize = 64 << 10;

/// What has arrived.
#[derive(Debug)]
pub(super) struct Response {
    bytes: Vec<u8>,
    /// Where each write ends.
    ends: Vec<usize>,
    /// Where the last head begins, or the body once `framing` is known.
    at: usize,
    framing: Option<Framing>,
    /// Whether there is never a body, since only the head was asked for.
    head_only: bool,
    /// The status, 0 when what arrived is no response.
    pub status: u16,
    /// Whether the connection ends after it.
    pub closes: bool,
}

/// How the end of the body is known.
#[derive(Clone, Copy, Debug)]
enum Framing {
    Length(usize),
    /// Chunks, walked so far.
    Chunked(usize),
    UntilClose,
}

/// How far a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    Complete,
    TooLong,
}

impl Response {
    pub(super) fn new(head_only: bool) -> Response {
        Response { bytes: Vec::new(), ends: Vec::new(), at: 0, framing: None, head_only, status: 0, closes: false }
    }

    /// Takes what one read brought.
    pub(super) fn push(&mut self, piece: &[u8]) -> Progress {
        self.bytes.extend_from_slice(piece);
        self.ends.push(self.bytes.len());
        if self.bytes.len() > LONGEST {
            return Progress::TooLong;
        }
        while self.framing.is_none() && self.head() {}
        let body = &self.bytes[self.at..];
        let complete = match &mut self.framing {
            None | Some(Framing::UntilClose) => false,
            Some(Framing::Length(len)) => body.len() >= *len,
            Some(Framing::Chunked(scanned)) => match chunked_end(body, scanned) {
                Ok(end) => end.is_some(),
                Err(_) => {
                    // What is no chunk has no end but that of the connection.
                    self.framing = Some(Framing::UntilClose);
                    false
                }
            },
        };
        if complete { Progress::Complete } else { Progress::More }
    }

    /// Whether nothing has arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads one head. `true` when it was an interim one and another follows at once.
    fn head(&mut self) -> bool {
        let mut headers = [httparse::EMPTY_HEADER; 128];
        let mut parsed = httparse::Response::new(&mut headers);
        let len = match parsed.parse(&self.bytes[self.at..]) {
            Ok(httparse::Status::Complete(len)) => len,
            Ok(httparse::Status::Partial) if self.bytes.len() - self.at <= LONGEST_HEAD => return false,
            _ => {
                self.framing = Some(Framing::UntilClose);
                return false;
            }
        };
        let status = parsed.code.unwrap_or(0);
        let old = parsed.version == Some(0);
        let head = &self.bytes[self.at..self.at + len];
        self.at += len;
        if matches!(status, 100 | 102..=199) {
            return true;
        }
        let value = |wanted: &str| {
            let found = fields(head).find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map(|(_, value)| String::from_utf8_lossy(value).to_ascii_lowercase())
        };
        self.status = status;
        self.closes = value("connection").map_or(old, |value| value.contains("close"));
        let chunked = value("transfer-encoding").is_some_and(|value| value.contains("chunked"));
        self.framing = Some(if self.head_only || matches!(status, 204 | 304) {
            Framing::Length(0)
        } else if chunked {
            Framing::Chunked(0)
        } else {
            value("content-length").and_then(|len| len.parse().ok()).map_or(Framing::UntilClose, Framing::Length)
        });
        false
    }

    /// Covers what is spread over several chunks.
    fn cover_chunks(&mut self, secrets: &Secrets) {
        let ranges = chunk_ranges(&self.bytes[self.at..]);
        let places: Vec<usize> = ranges.into_iter().flatten().map(|place| place + self.at).collect();
        let mut data: Vec<u8> = places.iter().map(|place| self.bytes[*place]).collect();
        secrets.cover(&mut data);
        for (place, byte) in places.into_iter().zip(data) {
            self.bytes[place] = byte;
        }
    }

    /// The writes as they go on the tape. Where the head loses fields it is one write, with what came with its end.
    pub(super) fn writes(mut self, secrets: &Secrets) -> Vec<String> {
        secrets.cover(&mut self.bytes);
        if let Some(Framing::Chunked(_)) = self.framing {
            self.cover_chunks(secrets);
        }
        // A head that is not complete is looked at as one all the same.
        let heads = if self.framing.is_some() { self.at } else { self.bytes.len() };
        let head = kept(&self.bytes[..heads]);
        let mut from = 0;
        let mut out = Vec::with_capacity(self.ends.len());
        if head.len() != heads {
            let end = self.ends.iter().copied().find(|end| *end >= heads).unwrap_or(heads);
            out.push(taped(&[&head, &self.bytes[heads..end]].concat()));
            from = end;
        }
        for end in self.ends.into_iter().filter(|end| *end > from).collect::<Vec<_>>() {
            out.push(taped(&self.bytes[from..end]));
            from = end;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far the response is after each piece, and what goes on the tape.
    #[track_caller]
    fn check(pieces: &[&str], progress: &[Progress], writes: &[&str]) {
        let mut response = Response::new(false);
        let got: Vec<Progress> = pieces.iter().map(|piece| response.push(piece.as_bytes())).collect();
        assert_eq!(got, progress);
        let secrets = Secrets::of(b"GET / HTTP/1.1\r\nx-api-key: 12345678\r\n\r\n");
        assert_eq!(response.writes(&secrets), writes);
    }

    use Progress::{Complete, More};

    #[test]
    fn boundaries_are_kept_where_nothing_is_left_out() {
        check(
            &["HTTP/1.1 200 OK\r\ncontent-", "length: 3\r\n\r\na", "bc"],
            &[More, More, Complete],
            &[r"HTTP/1.1 200 OK\r\ncontent-", r"length: 3\r\n\r\na", "bc"],
        );
    }

    #[test]
    fn a_head_that_loses_fields_is_one_write() {
        check(
            &["HTTP/1.1 200 OK\r\nserver: x", "\r\ncontent-length: 9\r\n\r\n1", "2345678", "x"],
            &[More, More, More, Complete],
            &[r"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n*", "*******", "x"],
        );
        check(&["HTTP/1.1 200 OK\r\nset-cookie: secr"], &[More], &[r"HTTP/1.1 200 OK\r\n"]);
    }

    #[test]
    fn chunks_end_with_their_trailers() {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let taped = r"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        check(&[head, "1\r\na\r\n0\r\n", "\r\n"], &[More, More, Complete], &[taped, r"1\r\na\r\n0\r\n", r"\r\n"]);
        check(
            &[head, "3\r\n123\r\n", "5\r\n45678\r\n0\r\n\r\n"],
            &[More, More, Complete],
            &[taped, r"3\r\n***\r\n", r"5\r\n*****\r\n0\r\n\r\n"],
        );
        check(&[head, "zz\r\n"], &[More, More], &[taped, r"zz\r\n"]);
    }

    #[test]
    fn interim_answers_come_before_the_answer() {
        check(
            &["HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"],
            &[Complete],
            &[r"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"],
        );
    }

    #[test]
    fn what_is_no_http_lasts_until_the_end() {
        check(&["hello\n", "x"], &[More, More], &[r"hello\n", "x"]);
    }
}
