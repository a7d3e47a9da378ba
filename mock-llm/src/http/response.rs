//! A response rendered to the bytes that go on the connection, with its writes marked.

use crate::dialect::Encoded;
use crate::plan::Plan;
use bytes::Bytes;
use std::fmt::Write as _;
use std::ops::Range;

/// A whole response, ready to be written. It is made once for a state and served any number of times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rendered {
    /// The status.
    pub status: u16,
    /// Everything that goes on the connection, in order.
    pub wire: Bytes,
    /// The body before its transfer encoding.
    pub body: Bytes,
    /// The writes, in order.
    pub writes: Vec<Write>,
    /// Whether the connection ends after the last write, whatever the client asked.
    pub close: bool,
}

/// One write, followed by a flush.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    /// The bytes of `Rendered::wire`.
    pub wire: Range<usize>,
    /// The bytes of the body it carries.
    pub body: Range<usize>,
}

/// How a body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// Chunked, each planned write being a chunk.
    Chunked,
    /// By its length.
    Length,
    /// By the end of the connection, for clients that know no chunks.
    UntilClose,
}

/// Renders an encoded turn. With `cut` the connection ends inside the body: a stream without its last chunk, a
/// document half way.
pub(crate) fn turn(body: Encoded, plan: &Plan, one_write: bool, cut: bool, old: bool) -> Rendered {
    let transfer = match (body.stream, old) {
        (false, _) => Transfer::Length,
        (true, false) => Transfer::Chunked,
        (true, true) => Transfer::UntilClose,
    };
    let kind = if body.stream { "text/event-stream; charset=utf-8" } else { "application/json" };
    let head = head(200, kind, transfer, body.bytes.len(), &[("cache-control", "no-cache")]);
    let mut writes = plan.writes.clone();
    if cut && !body.stream {
        let half = body.bytes.len() / 2;
        writes.retain(|write| write.start < half);
        if let Some(last) = writes.last_mut() {
            last.end = last.end.min(half);
        }
    }
    let mut out = Out { wire: head.into_bytes(), writes: Vec::with_capacity(writes.len() + 1) };
    let head_len = out.wire.len();
    if !one_write {
        out.writes.push(Write { wire: 0..head_len, body: 0..0 });
    }
    let last = writes.len().saturating_sub(1);
    for (index, range) in writes.into_iter().enumerate() {
        // The last chunk goes out with the end of the body, so that a body of one write is one write.
        let ends = index == last && transfer == Transfer::Chunked && !cut;
        out.piece(&body.bytes, range, transfer, ends, if one_write && index == 0 { head_len } else { 0 });
    }
    let close = cut || transfer == Transfer::UntilClose;
    Rendered { status: 200, wire: out.wire.into(), body: body.bytes.into(), writes: out.writes, close }
}

/// Renders a JSON document that goes out in one write.
pub(crate) fn document(status: u16, body: Vec<u8>, fields: &[(&str, &str)], with_body: bool) -> Rendered {
    let mut wire = head(status, "application/json", Transfer::Length, body.len(), fields).into_bytes();
    let len = if with_body { body.len() } else { 0 };
    wire.extend_from_slice(&body[..len]);
    let write = Write { wire: 0..wire.len(), body: 0..len };
    Rendered { status, wire: wire.into(), body: body.into(), writes: vec![write], close: false }
}

struct Out {
    wire: Vec<u8>,
    writes: Vec<Write>,
}

impl Out {
    /// Appends one write. `joined` bytes that are already on the wire go out with it.
    fn piece(&mut self, body: &[u8], range: Range<usize>, transfer: Transfer, ends: bool, joined: usize) {
        let start = self.wire.len() - joined;
        let data = &body[range.clone()];
        if transfer == Transfer::Chunked {
            self.wire.extend_from_slice(format!("{:x}\r\n", data.len()).as_bytes());
            self.wire.extend_from_slice(data);
            self.wire.extend_from_slice(b"\r\n");
        } else {
            self.wire.extend_from_slice(data);
        }
        if ends {
            self.wire.extend_from_slice(b"0\r\n\r\n");
        }
        self.writes.push(Write { wire: start..self.wire.len(), body: range });
    }
}

/// Writes a response head. No date: a clock would make equal states differ.
fn head(status: u16, kind: &str, transfer: Transfer, len: usize, fields: &[(&str, &str)]) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\ncontent-type: {kind}\r\n", reason(status));
    for (name, value) in fields {
        // Writing to a string cannot fail.
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str(&match transfer {
        Transfer::Chunked => "transfer-encoding: chunked\r\n\r\n".to_owned(),
        Transfer::Length => format!("content-length: {len}\r\n\r\n"),
        Transfer::UntilClose => "connection: close\r\n\r\n".to_owned(),
    });
    head
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        529 => "Overloaded",
        _ => "Status",
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Delivery;

    fn body(stream: bool) -> Encoded {
        let frames = if stream { vec![0..3, 3..5] } else { Vec::new() };
        Encoded { bytes: b"a\n\nb\n".to_vec(), frames, stream }
    }

    #[track_caller]
    fn check(stream: bool, delivery: Delivery, cut: bool, old: bool, expect: &[&str]) {
        let body = body(stream);
        let plan = Plan::new(&body, delivery, &[], 0, 0);
        let rendered = turn(body, &plan, delivery == Delivery::Coalesced, cut, old);
        let writes: Vec<String> = rendered
            .writes
            .iter()
            .map(|write| String::from_utf8(rendered.wire[write.wire.clone()].to_vec()).unwrap())
            .collect();
        assert_eq!(writes, expect);
        assert_eq!(rendered.close, cut || (stream && old));
    }

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
    const LENGTH: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncache-control: no-cache\r\ncontent-length: 5\r\n\r\n";

    #[test]
    fn each_planned_write_is_a_chunk() {
        check(true, Delivery::Frames, false, false, &[CHUNKED, "3\r\na\n\n\r\n", "2\r\nb\n\r\n0\r\n\r\n"]);
    }

    #[test]
    fn coalesced_is_one_write_of_everything() {
        check(true, Delivery::Coalesced, false, false, &[&format!("{CHUNKED}5\r\na\n\nb\n\r\n0\r\n\r\n")]);
        check(false, Delivery::Coalesced, false, false, &[&format!("{LENGTH}a\n\nb\n")]);
    }

    #[test]
    fn a_cut_body_lacks_its_end() {
        check(true, Delivery::Frames, true, false, &[CHUNKED, "3\r\na\n\n\r\n", "2\r\nb\n\r\n"]);
        check(false, Delivery::Frames, true, false, &[LENGTH, "a\n"]);
    }

    #[test]
    fn an_old_client_gets_no_chunks() {
        let head = CHUNKED.replace("transfer-encoding: chunked", "connection: close");
        check(true, Delivery::Frames, false, true, &[&head, "a\n\n", "b\n"]);
    }
}
