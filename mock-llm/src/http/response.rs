//! A response rendered to the bytes that go on the connection, with its writes marked.

use crate::dialect::Encoded;
use crate::fault::Break;
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
    /// Before which write the response stops, and how. Past the last one: after everything.
    pub stop: Option<(usize, Stop)>,
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

/// How a response stops part way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Until the gate opens; without one, until the client leaves.
    Stall(Option<String>),
    /// These bytes again and again, until the client leaves.
    Repeat(&'static str),
    /// With a FIN.
    Close,
    /// With a RST.
    Reset,
}

/// What shapes a response beside its body and its plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape<'a> {
    /// Head and body go out together where the plan has one write.
    pub one_write: bool,
    /// The client speaks HTTP/1.0.
    pub old: bool,
    /// The place in the body at which the response breaks, and how. The plan has a write that begins there.
    pub broken: Option<(usize, Break)>,
    /// The response breaks before its head; the place in the body is its begin.
    pub before_head: bool,
    /// The gate that ends a stall.
    pub until: Option<&'a str>,
    /// A content length that is so many bytes off, in place of chunks.
    pub length: Option<i64>,
    /// The body is compressed.
    pub gzip: bool,
    /// Another content type than the body's own.
    pub content_type: Option<&'a str>,
}

/// How a body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transfer {
    /// Chunked, each planned write being a chunk.
    Chunked,
    /// By this length, be it true or not.
    Length(usize),
    /// By the end of the connection, for clients that know no chunks.
    UntilClose,
}

/// Renders an encoded turn.
pub(crate) fn turn(body: Encoded, plan: &Plan, shape: &Shape<'_>) -> Rendered {
    let len = body.bytes.len();
    let transfer = match (shape.length, body.stream, shape.old) {
        (Some(off), ..) => Transfer::Length(len.saturating_add_signed(isize::try_from(off).unwrap_or(0))),
        (None, false, _) => Transfer::Length(len),
        (None, true, false) => Transfer::Chunked,
        (None, true, true) => Transfer::UntilClose,
    };
    let own_kind = if body.stream { "text/event-stream; charset=utf-8" } else { "application/json" };
    let mut fields = vec![("cache-control", "no-cache")];
    fields.extend(shape.gzip.then_some(("content-encoding", "gzip")));
    let head = head(200, shape.content_type.unwrap_or(own_kind), transfer, &fields);
    let (writes, stop) = stopped(plan, shape, transfer);
    let half_chunk = matches!(shape.broken, Some((_, Break::HalfChunk)));
    let ends_badly = matches!(stop, Some((_, Stop::Close | Stop::Reset | Stop::Repeat(_) | Stop::Stall(None))));

    let mut out = Out { wire: head.into_bytes(), writes: Vec::with_capacity(writes.len() + 1), transfer };
    let head_len = out.wire.len();
    // A response that breaks before its first byte of body still has a head.
    let own_head = !shape.one_write || writes.is_empty();
    if own_head {
        out.writes.push(Write { wire: 0..head_len, body: 0..0 });
    }
    if writes.is_empty() && !ends_badly && transfer == Transfer::Chunked {
        // Nothing carries the end of an empty body but the head.
        out.wire.extend_from_slice(b"0\r\n\r\n");
        out.writes[0].wire.end = out.wire.len();
    }
    let last = writes.len().saturating_sub(1);
    for (index, range) in writes.into_iter().enumerate() {
        // The last chunk goes out with the end of the body, so that a body of one write is one write.
        let ends = index == last && !ends_badly;
        let promised = range.len() * if half_chunk && index == last { 2 } else { 1 };
        out.piece(&body.bytes, range, promised, ends, if !own_head && index == 0 { head_len } else { 0 });
    }
    let close = ends_badly || transfer == Transfer::UntilClose || shape.length.is_some();
    if shape.before_head && ends_badly {
        out.writes.clear();
    }
    let heads = usize::from(own_head && !shape.before_head);
    let stop = stop.map(|(index, stop)| (index + heads, stop));
    Rendered { status: 200, wire: out.wire.into(), body: body.bytes.into(), writes: out.writes, stop, close }
}

/// The planned writes that remain, and before which of them the response stops.
fn stopped(plan: &Plan, shape: &Shape<'_>, transfer: Transfer) -> (Vec<Range<usize>>, Option<(usize, Stop)>) {
    let Some((place, how)) = shape.broken else { return (plan.writes.clone(), None) };
    let index = plan.writes.iter().take_while(|write| write.end <= place).count();
    let stop = match how {
        Break::Stall => Stop::Stall(shape.until.map(str::to_owned)),
        Break::Comments if transfer == Transfer::Chunked => Stop::Repeat("7\r\n: yes\n\n\r\n"),
        Break::Comments => Stop::Repeat(": yes\n\n"),
        Break::Close | Break::HalfChunk => Stop::Close,
        Break::Reset => Stop::Reset,
    };
    let resumes = matches!(stop, Stop::Stall(Some(_)));
    let kept = if resumes { plan.writes.len() } else { index };
    (plan.writes[..kept].to_vec(), Some((index, stop)))
}

/// Renders a JSON document that goes out in one write.
pub(crate) fn document(status: u16, body: Vec<u8>, fields: &[(&str, &str)], with_body: bool) -> Rendered {
    let mut wire = head(status, "application/json", Transfer::Length(body.len()), fields).into_bytes();
    let len = if with_body { body.len() } else { 0 };
    wire.extend_from_slice(&body[..len]);
    let write = Write { wire: 0..wire.len(), body: 0..len };
    Rendered { status, wire: wire.into(), body: body.into(), writes: vec![write], stop: None, close: false }
}

struct Out {
    wire: Vec<u8>,
    writes: Vec<Write>,
    transfer: Transfer,
}

impl Out {
    /// Appends one write. A chunk of it promises so many bytes. `joined` bytes that are already on the wire go out
    /// with it.
    fn piece(&mut self, body: &[u8], range: Range<usize>, promised: usize, ends: bool, joined: usize) {
        let start = self.wire.len() - joined;
        let data = &body[range.clone()];
        if self.transfer == Transfer::Chunked {
            self.wire.extend_from_slice(format!("{promised:x}\r\n").as_bytes());
            self.wire.extend_from_slice(data);
            if promised == data.len() {
                self.wire.extend_from_slice(b"\r\n");
            }
            if ends {
                self.wire.extend_from_slice(b"0\r\n\r\n");
            }
        } else {
            self.wire.extend_from_slice(data);
        }
        self.writes.push(Write { wire: start..self.wire.len(), body: range });
    }
}

/// Writes a response head. No date: a clock would make equal states differ.
fn head(status: u16, kind: &str, transfer: Transfer, fields: &[(&str, &str)]) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\ncontent-type: {kind}\r\n", reason(status));
    for (name, value) in fields {
        // Writing to a string cannot fail.
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str(&match transfer {
        Transfer::Chunked => "transfer-encoding: chunked\r\n\r\n".to_owned(),
        Transfer::Length(len) => format!("content-length: {len}\r\n\r\n"),
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
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        529 => "Overloaded",
        _ => "Status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Cut, Delivery};

    fn body(stream: bool) -> Encoded {
        let frames = if stream { vec![0..3, 3..5] } else { Vec::new() };
        Encoded { bytes: b"a\n\nb\n".to_vec(), frames, stream, terminal: None }
    }

    /// Renders the body above; a break gets a write of its own, as the engine plans it.
    fn render(stream: bool, delivery: Delivery, shape: &Shape<'_>) -> Rendered {
        let body = body(stream);
        let cuts: Vec<Cut> = shape
            .broken
            .iter()
            .map(|(place, _)| Cut { after: Some("a\n\nb"[..*place].to_owned()), ..Cut::default() })
            .collect();
        let plan = Plan::new(&body, delivery, &cuts, 0, 0);
        turn(body, &plan, shape)
    }

    #[track_caller]
    fn check(stream: bool, delivery: Delivery, shape: Shape<'_>, expect: &[&str]) {
        let shape = Shape { one_write: delivery == Delivery::Coalesced, ..shape };
        let rendered = render(stream, delivery, &shape);
        let writes: Vec<String> = rendered
            .writes
            .iter()
            .map(|write| String::from_utf8(rendered.wire[write.wire.clone()].to_vec()).unwrap())
            .collect();
        assert_eq!(writes, expect);
    }

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
    const LENGTH: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncache-control: no-cache\r\ncontent-length: 5\r\n\r\n";

    #[test]
    fn each_planned_write_is_a_chunk() {
        let expect = [CHUNKED, "3\r\na\n\n\r\n", "2\r\nb\n\r\n0\r\n\r\n"];
        check(true, Delivery::Frames, Shape::default(), &expect);
    }

    #[test]
    fn coalesced_is_one_write_of_everything() {
        check(true, Delivery::Coalesced, Shape::default(), &[&format!("{CHUNKED}5\r\na\n\nb\n\r\n0\r\n\r\n")]);
        check(false, Delivery::Coalesced, Shape::default(), &[&format!("{LENGTH}a\n\nb\n")]);
    }

    #[test]
    fn an_empty_body_ends_as_well() {
        for delivery in [Delivery::Frames, Delivery::Coalesced] {
            let body = Encoded { stream: true, ..Encoded::default() };
            let plan = Plan::new(&body, delivery, &[], 0, 0);
            let shape = Shape { one_write: delivery == Delivery::Coalesced, ..Shape::default() };
            let rendered = turn(body, &plan, &shape);
            assert_eq!(rendered.writes, [Write { wire: 0..rendered.wire.len(), body: 0..0 }]);
            assert_eq!(rendered.wire, format!("{CHUNKED}0\r\n\r\n"));
        }
    }

    #[test]
    fn a_body_that_breaks_lacks_its_end() {
        let broken = |how| Shape { broken: Some((1, how)), ..Shape::default() };
        for how in [Break::Close, Break::Reset, Break::Stall] {
            check(true, Delivery::Frames, broken(how), &[CHUNKED, "1\r\na\r\n"]);
            assert!(render(true, Delivery::Frames, &broken(how)).close);
        }
        check(true, Delivery::Frames, broken(Break::HalfChunk), &[CHUNKED, "2\r\na"]);
        check(false, Delivery::Frames, broken(Break::Close), &[LENGTH, "a"]);
    }

    #[test]
    fn a_stall_that_ends_is_followed_by_the_rest() {
        let shape = Shape { broken: Some((1, Break::Stall)), until: Some("g"), ..Shape::default() };
        check(
            true,
            Delivery::Frames,
            shape.clone(),
            &[CHUNKED, "1\r\na\r\n", "2\r\n\n\n\r\n", "2\r\nb\n\r\n0\r\n\r\n"],
        );
        let rendered = render(true, Delivery::Frames, &shape);
        assert_eq!((rendered.stop, rendered.close), (Some((2, Stop::Stall(Some("g".into())))), false));
    }

    #[test]
    fn comments_are_chunks_of_their_own() {
        let shape = Shape { broken: Some((3, Break::Comments)), ..Shape::default() };
        check(true, Delivery::Frames, shape.clone(), &[CHUNKED, "3\r\na\n\n\r\n"]);
        let rendered = render(true, Delivery::Frames, &shape);
        assert_eq!((rendered.stop, rendered.close), (Some((2, Stop::Repeat("7\r\n: yes\n\n\r\n"))), true));
    }

    #[test]
    fn a_break_may_come_before_the_head() {
        let broken = |how, until| Shape { broken: Some((0, how)), before_head: true, until, ..Shape::default() };
        for how in [Break::Close, Break::Reset, Break::Stall] {
            check(true, Delivery::Frames, broken(how, None), &[]);
            check(true, Delivery::Coalesced, broken(how, None), &[]);
            assert_eq!(render(true, Delivery::Frames, &broken(how, None)).stop.unwrap().0, 0);
        }
        let held = broken(Break::Stall, Some("g"));
        check(true, Delivery::Frames, held.clone(), &[CHUNKED, "3\r\na\n\n\r\n", "2\r\nb\n\r\n0\r\n\r\n"]);
        assert_eq!(render(true, Delivery::Frames, &held).stop, Some((0, Stop::Stall(Some("g".into())))));
    }

    #[test]
    fn an_old_client_gets_no_chunks() {
        let head = CHUNKED.replace("transfer-encoding: chunked", "connection: close");
        check(true, Delivery::Frames, Shape { old: true, ..Shape::default() }, &[&head, "a\n\n", "b\n"]);
    }

    #[test]
    fn a_length_may_be_off() {
        for (off, said) in [(3, 8), (-3, 2), (-9, 0)] {
            let head = CHUNKED.replace("transfer-encoding: chunked", &format!("content-length: {said}"));
            check(true, Delivery::Frames, Shape { length: Some(off), ..Shape::default() }, &[&head, "a\n\n", "b\n"]);
        }
    }
}
