//! Writes Server-Sent Events, with every freedom that the format allows.
//!
//! It knows frames and nothing of what they carry. Reading SSE is the business of whoever is under test; no decoder
//! lives in this crate, so that an error in one cannot hide an error in the other.

use crate::script::{Eol, Framing};
use std::ops::Range;

/// Collects frames into one body and remembers where each begins.
#[derive(Debug)]
pub struct FrameWriter {
    framing: Framing,
    body: Vec<u8>,
    frames: Vec<Range<usize>>,
}

impl FrameWriter {
    /// Starts a body.
    pub fn new(framing: &Framing) -> Self {
        FrameWriter { framing: framing.clone(), body: Vec::new(), frames: Vec::new() }
    }

    /// Appends one frame. `event` is the value of the `event:` field, `data` the payload.
    pub fn frame(&mut self, event: Option<&str>, data: &str) {
        let start = self.body.len();
        if start == 0 && self.framing.bom {
            self.body.extend_from_slice("\u{feff}".as_bytes());
        }
        if self.framing.comments {
            self.line(&[": keep-alive"]);
        }
        if let Some(event) = event {
            self.field("event", event);
        }
        if self.framing.extra_fields {
            let id = (self.frames.len() + 1).to_string();
            self.field("id", &id);
            self.field("retry", "3000");
            self.field("x-unknown", "1");
        }
        if self.framing.multi_line {
            for part in json_lines(data) {
                self.field("data", part);
            }
        } else {
            self.field("data", data);
        }
        self.line(&[]);
        self.frames.push(start..self.body.len());
    }

    /// How many frames there are so far.
    pub fn count(&self) -> usize {
        self.frames.len()
    }

    /// The body, and the range of each frame in it.
    pub fn finish(self) -> (Vec<u8>, Vec<Range<usize>>) {
        (self.body, self.frames)
    }

    fn field(&mut self, name: &str, value: &str) {
        let colon = if self.framing.no_space { ":" } else { ": " };
        self.line(&[name, colon, value]);
    }

    fn line(&mut self, parts: &[&str]) {
        for part in parts {
            self.body.extend_from_slice(part.as_bytes());
        }
        self.body.extend_from_slice(match self.framing.eol {
            Eol::Lf => b"\n",
            Eol::Crlf => b"\r\n",
            Eol::Cr => b"\r",
        });
    }
}

/// Splits JSON text after the comma that ends each member of its outermost object or array, where a line end is
/// white space to JSON. Text that is no JSON container stays whole.
fn json_lines(text: &str) -> Vec<&str> {
    if !text.starts_with(['{', '[']) {
        return vec![text];
    }
    let (mut depth, mut in_string, mut escaped, mut start) = (0_usize, false, false, 0);
    let mut lines = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => {
                lines.push(&text[start..=at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    lines.push(&text[start..]);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(framing: Framing, expect: &str) {
        let mut writer = FrameWriter::new(&framing);
        writer.frame(Some("e"), r#"{"a":[1,2],"b":"x,y"}"#);
        writer.frame(None, "[DONE]");
        let (body, frames) = writer.finish();
        assert_eq!(String::from_utf8(body.clone()).unwrap(), expect);
        assert_eq!(frames.len(), 2);
        assert_eq!((frames[0].start, frames[0].end, frames[1].end), (0, frames[1].start, body.len()));
    }

    #[test]
    fn plain_frames_are_what_providers_send() {
        check(Framing::default(), "event: e\ndata: {\"a\":[1,2],\"b\":\"x,y\"}\n\ndata: [DONE]\n\n");
    }

    #[test]
    fn line_ends_are_the_ones_asked_for() {
        check(
            Framing { eol: Eol::Crlf, ..Framing::default() },
            "event: e\r\ndata: {\"a\":[1,2],\"b\":\"x,y\"}\r\n\r\ndata: [DONE]\r\n\r\n",
        );
        check(
            Framing { eol: Eol::Cr, ..Framing::default() },
            "event: e\rdata: {\"a\":[1,2],\"b\":\"x,y\"}\r\rdata: [DONE]\r\r",
        );
    }

    #[test]
    fn a_byte_order_mark_comes_once() {
        check(
            Framing { bom: true, no_space: true, ..Framing::default() },
            "\u{feff}event:e\ndata:{\"a\":[1,2],\"b\":\"x,y\"}\n\ndata:[DONE]\n\n",
        );
    }

    #[test]
    fn comments_and_extra_fields_surround_the_payload() {
        check(
            Framing { comments: true, extra_fields: true, ..Framing::default() },
            ": keep-alive\nevent: e\nid: 1\nretry: 3000\nx-unknown: 1\ndata: {\"a\":[1,2],\"b\":\"x,y\"}\n\n\
             : keep-alive\nid: 2\nretry: 3000\nx-unknown: 1\ndata: [DONE]\n\n",
        );
    }

    #[test]
    fn many_data_lines_break_only_where_json_allows_it() {
        check(
            Framing { multi_line: true, ..Framing::default() },
            "event: e\ndata: {\"a\":[1,2],\ndata: \"b\":\"x,y\"}\n\ndata: [DONE]\n\n",
        );
    }
}
