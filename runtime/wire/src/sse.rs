//! An incremental decoder of `text/event-stream` bytes.
//!
//! It owns the framing: line ends (LF, CRLF, lone CR), the byte order mark, comments, the fields `data`, `event`, `id`
//! and `retry`, and where in the stream a fault lies. It refuses to own what the data means, reconnection and time.
//!
//! The algorithm is that of the WHATWG HTML standard, section "Server-sent events", with two deliberate differences:
//! bytes that are not UTF-8 are a fault with an offset and never become replacement characters, and the size of an
//! event is capped. The result never depends on how the bytes were cut into chunks.

use memchr::memchr2;
use std::mem;
use thiserror::Error;

#[cfg(test)]
mod tests;

/// What a stream may make the decoder hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseLimits {
    /// The most bytes that the lines of one event may have together. Line ends, comments and unknown fields are not
    /// held and do not count towards an event, but no single line may be longer than this either.
    pub max_event_bytes: usize,
}

impl Default for SseLimits {
    /// 16 MiB, the most that a call's arguments may have, and 64 KiB for what surrounds them.
    fn default() -> Self {
        Self { max_event_bytes: (16 << 20) + (64 << 10) }
    }
}

/// One event, borrowed from the chunk or from the decoder for the time of the callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The value of the last `event` field, empty when there was none.
    pub name: &'a str,
    /// The values of the `data` fields, joined by line feeds.
    pub data: &'a str,
    /// The last event id of the stream, which stays in force until another one replaces it.
    pub id: &'a str,
    /// Position in the stream, in bytes from 0, of the first field line of the event.
    pub offset: u64,
}

/// Why a stream cannot be decoded any further. The same error answers every later call.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SseError {
    /// An event or a line is longer than the limit.
    #[error(
        "the event passes the limit of {limit} bytes at byte {offset} of the stream; raise the limit or ask for less"
    )]
    TooLarge {
        /// Position in the stream of the first byte beyond the limit.
        offset: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// A line is not UTF-8.
    #[error("byte {offset} of the stream is not valid UTF-8; check the sender's encoding and compression")]
    InvalidUtf8 {
        /// Position in the stream of the first byte that does not belong to a valid sequence.
        offset: u64,
    },
}

/// Where a stream stood when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEnd {
    /// How many bytes the stream had.
    pub bytes: u64,
    /// How many bytes at its end belong to an event (or a line) that was never completed, and so was not dispatched.
    pub pending: u64,
}

/// What the event under construction borrows from the chunk at hand.
#[derive(Default)]
struct Lent<'c> {
    data: Option<&'c str>,
    name: Option<&'c str>,
}

/// The decoder. Feed it chunks as they come; it calls back once per event.
///
/// An event that lies in one chunk with a single data line is handed out as a slice of that chunk; everything else goes
/// through buffers that are kept, so that a long stream allocates nothing per event.
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    /// Position in the stream of the next byte to be fed.
    offset: u64,
    /// The bytes of a line whose end has not come yet.
    carry: Vec<u8>,
    /// The last byte fed was a CR that ended a line: an LF that follows belongs to it.
    after_cr: bool,
    /// No line has been completed yet, so a byte order mark may still come.
    first_line: bool,
    /// Data of the current event that is no longer in the chunk; valid from `data_from` on, if `held`.
    data: String,
    data_from: usize,
    held: bool,
    name: String,
    id: String,
    retry: Option<u64>,
    /// Bytes of the lines that the current event consists of so far.
    used: usize,
    /// Position of the current event's first line, valid while `used` is not 0.
    event_start: u64,
    failed: Option<SseError>,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new(SseLimits::default())
    }
}

impl SseDecoder {
    /// A decoder at the start of a stream.
    pub fn new(limits: SseLimits) -> Self {
        Self {
            limit: limits.max_event_bytes,
            offset: 0,
            carry: Vec::new(),
            after_cr: false,
            first_line: true,
            data: String::new(),
            data_from: 0,
            held: false,
            name: String::new(),
            id: String::new(),
            retry: None,
            used: 0,
            event_start: 0,
            failed: None,
        }
    }

    /// Takes the next bytes of the stream and calls `sink` once for each event that they complete, in order.
    ///
    /// # Errors
    /// [`SseError`] at the first fault; events before it have been handed out. The decoder takes nothing more after it.
    pub fn feed(&mut self, chunk: &[u8], mut sink: impl FnMut(SseEvent<'_>)) -> Result<(), SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut pos = 0;
        if self.after_cr && !chunk.is_empty() {
            self.after_cr = false;
            pos = usize::from(chunk[0] == b'\n');
        }
        if !self.carry.is_empty() {
            let rest = &chunk[pos..];
            let Some(length) = line_end(rest) else {
                self.extend_carry(rest, pos)?;
                self.offset += chunk.len() as u64;
                return Ok(());
            };
            self.extend_carry(&rest[..length], pos)?;
            self.carried_line(pos + length)?;
            pos = self.after_line_end(chunk, pos + length);
        }
        let mut lent = Lent::default();
        while let Some(&first) = chunk.get(pos) {
            if first == b'\n' || first == b'\r' {
                self.dispatch(&mut lent, &mut sink);
                pos = self.after_line_end(chunk, pos);
                continue;
            }
            let rest = &chunk[pos..];
            let Some(length) = line_end(rest) else {
                self.extend_carry(rest, pos)?;
                break;
            };
            self.line(&rest[..length], self.offset + pos as u64, &mut lent)?;
            pos = self.after_line_end(chunk, pos + length);
        }
        self.keep(lent);
        self.offset += chunk.len() as u64;
        Ok(())
    }

    /// Ends the stream. An event that no blank line ended is dropped, as the standard demands, and counted here.
    pub fn finish(&self) -> SseEnd {
        let pending = if self.used > 0 { self.offset - self.event_start } else { self.carry.len() as u64 };
        SseEnd { bytes: self.offset, pending }
    }

    /// The reconnection time in milliseconds, when a `retry` field of digits has named one.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// The position after the line end at `pos`, which takes the LF of a CRLF along where it is already there.
    fn after_line_end(&mut self, chunk: &[u8], pos: usize) -> usize {
        if chunk[pos] == b'\n' {
            return pos + 1;
        }
        match chunk.get(pos + 1) {
            Some(b'\n') => pos + 2,
            Some(_) => pos + 1,
            None => {
                self.after_cr = true;
                pos + 1
            }
        }
    }

    /// Adds `part`, which begins at `pos` of the chunk at hand, to the unfinished line.
    fn extend_carry(&mut self, part: &[u8], pos: usize) -> Result<(), SseError> {
        let length = self.carry.len() + part.len();
        if length > self.limit - self.used {
            let start = self.offset + pos as u64 - self.carry.len() as u64;
            return Err(self.too_large(start));
        }
        self.carry.extend_from_slice(part);
        Ok(())
    }

    /// Takes the line that `carry` holds, whose end lies at `end` of the chunk at hand.
    fn carried_line(&mut self, end: usize) -> Result<(), SseError> {
        let bytes = mem::take(&mut self.carry);
        let start = self.offset + end as u64 - bytes.len() as u64;
        // The usual long line is the only data line of its event: its buffer becomes the data buffer, uncopied.
        if !self.held && !self.first_line && bytes.starts_with(b"data:") {
            let text = match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => return Err(self.invalid_utf8(start, error.utf8_error())),
            };
            self.retain(start, text.len());
            self.data_from = text.len() - without_space(&text["data:".len()..]).len();
            self.carry = mem::replace(&mut self.data, text).into_bytes();
            self.held = true;
        } else {
            let mut lent = Lent::default();
            self.line(&bytes, start, &mut lent)?;
            self.keep(lent);
            self.carry = bytes;
        }
        self.carry.clear();
        Ok(())
    }

    /// Takes one complete, non-empty line that begins at `start` of the stream.
    fn line<'c>(&mut self, bytes: &'c [u8], start: u64, lent: &mut Lent<'c>) -> Result<(), SseError> {
        if bytes.len() > self.limit - self.used {
            return Err(self.too_large(start));
        }
        let mut line = match str::from_utf8(bytes) {
            Ok(line) => line,
            Err(error) => return Err(self.invalid_utf8(start, error)),
        };
        if self.first_line {
            self.first_line = false;
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if let Some(value) = line.strip_prefix("data:") {
            self.retain(start, bytes.len());
            self.add_data(without_space(value), lent);
        } else if let Some(value) = line.strip_prefix("event:") {
            self.retain(start, bytes.len());
            lent.name = Some(without_space(value));
        } else if self.rare_field(line, lent) {
            self.retain(start, bytes.len());
        }
        Ok(())
    }

    /// The lines that are neither `data:` nor `event:`. Answers whether the line belongs to an event.
    fn rare_field<'c>(&mut self, line: &'c str, lent: &mut Lent<'c>) -> bool {
        let (field, value) = match line.split_once(':') {
            Some((field, value)) => (field, without_space(value)),
            None => (line, ""),
        };
        match field {
            "data" => self.add_data(value, lent),
            "event" => lent.name = Some(value),
            "id" if value.contains('\0') => {}
            "id" => {
                self.id.clear();
                self.id.push_str(value);
            }
            "retry" => {
                if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
                    self.retry = Some(value.parse().unwrap_or(u64::MAX));
                }
                return false;
            }
            // Comments (an empty field name) and unknown fields.
            _ => return false,
        }
        true
    }

    fn add_data<'c>(&mut self, value: &'c str, lent: &mut Lent<'c>) {
        if let Some(first) = lent.data.take() {
            self.hold(first);
        }
        if self.held {
            self.data.push('\n');
            self.data.push_str(value);
        } else {
            lent.data = Some(value);
        }
    }

    /// Moves the first data line of an event out of the chunk.
    fn hold(&mut self, value: &str) {
        self.data.clear();
        self.data.push_str(value);
        self.data_from = 0;
        self.held = true;
    }

    /// Counts a line of `length` bytes that belongs to the current event.
    fn retain(&mut self, start: u64, length: usize) {
        if self.used == 0 {
            self.event_start = start;
        }
        self.used += length;
    }

    /// Ends the current event: hands it out if it has data, and starts the next one.
    fn dispatch(&mut self, lent: &mut Lent<'_>, sink: &mut impl FnMut(SseEvent<'_>)) {
        let data = match lent.data.take() {
            Some(data) => Some(data),
            None if self.held => Some(&self.data[self.data_from..]),
            None => None,
        };
        self.first_line = false;
        let name = lent.name.take().unwrap_or(&self.name);
        if let Some(data) = data {
            sink(SseEvent { name, data, id: &self.id, offset: self.event_start });
        }
        self.held = false;
        self.name.clear();
        self.used = 0;
    }

    /// Copies what the event still borrows from a chunk that is about to go.
    fn keep(&mut self, lent: Lent<'_>) {
        if let Some(data) = lent.data {
            self.hold(data);
        }
        if let Some(name) = lent.name {
            self.name.clear();
            self.name.push_str(name);
        }
    }

    fn too_large(&mut self, line_start: u64) -> SseError {
        let offset = line_start + (self.limit - self.used) as u64;
        self.fail(SseError::TooLarge { offset, limit: self.limit })
    }

    fn invalid_utf8(&mut self, line_start: u64, error: std::str::Utf8Error) -> SseError {
        self.fail(SseError::InvalidUtf8 { offset: line_start + error.valid_up_to() as u64 })
    }

    /// Nothing is read behind a fault: the stream is as long as it was read, whatever else the chunk holds.
    fn fail(&mut self, error: SseError) -> SseError {
        let (SseError::TooLarge { offset, .. } | SseError::InvalidUtf8 { offset }) = error;
        self.offset = offset;
        self.failed = Some(error);
        error
    }
}

/// The length of the line at the start of `bytes`, when its end is there.
fn line_end(bytes: &[u8]) -> Option<usize> {
    // A stream that trickles in byte by byte must not pay for a vector search on each of them.
    if bytes.len() < 8 {
        bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r')
    } else {
        memchr2(b'\n', b'\r', bytes)
    }
}

/// A field's value, which may be set off from the colon by one space.
fn without_space(value: &str) -> &str {
    value.strip_prefix(' ').unwrap_or(value)
}
