//! Reads requests off a connection, one after another, keeping bytes that were pipelined.

use super::body::{BodyLength, chunked_end, dechunk};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longest request head, in bytes.
pub(crate) const MAX_HEAD: usize = 64 << 10;
/// Longest request body after its transfer encoding is taken off, in bytes.
pub(crate) const MAX_BODY: usize = 64 << 20;
/// Most header fields of a request.
const MAX_HEADERS: usize = 128;

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Incoming {
    /// The method.
    pub method: String,
    /// The request target.
    pub path: String,
    /// The head exactly as transmitted, with its empty line.
    pub head: Bytes,
    /// The body, its transfer encoding taken off.
    pub body: Bytes,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    /// Whether the client speaks HTTP/1.0 and so knows no chunked encoding.
    pub old: bool,
}

/// Why no further request can be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The connection ended in the middle of a request, or failed.
    #[error("the connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// What arrived is not acceptable; it is answered with this status and the connection ends.
    #[error("{problem}")]
    Refused {
        /// The status to answer with.
        status: u16,
        /// What is wrong.
        problem: &'static str,
    },
}

fn refuse<T>(status: u16, problem: &'static str) -> Result<T, ReadError> {
    Err(ReadError::Refused { status, problem })
}

/// What the head says of how the request goes on.
struct Head {
    request: Incoming,
    length: BodyLength,
    expects: bool,
}

/// The reading half of a connection's state: bytes that have arrived and are not yet used.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: BytesMut,
}

impl Reader {
    /// Reads the next request. `None` when the connection ended between requests.
    pub(crate) async fn next<IO>(&mut self, io: &mut IO) -> Result<Option<Incoming>, ReadError>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        let Some(mut head) = self.head(io).await? else { return Ok(None) };
        if head.expects && head.length != BodyLength::Known(0) {
            io.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            io.flush().await?;
        }
        head.request.body = match head.length {
            BodyLength::Known(len) => self.known(io, len).await?,
            BodyLength::Chunked => self.chunked(io).await?,
        };
        Ok(Some(head.request))
    }

    /// Waits until the client ends or breaks the connection. Bytes that arrive meanwhile are kept, up to the size of
    /// a head; beyond it the client is not listened to until its request was answered.
    pub(crate) async fn gone<IO: AsyncRead + Unpin>(&mut self, io: &mut IO) {
        while self.buffer.len() < MAX_HEAD {
            if !matches!(io.read_buf(&mut self.buffer).await, Ok(1..)) {
                return;
            }
        }
        std::future::pending::<()>().await;
    }

    async fn head<IO: AsyncRead + Unpin>(&mut self, io: &mut IO) -> Result<Option<Head>, ReadError> {
        loop {
            // A line end left over from the last request is tolerated before the next one.
            while self.buffer.first().is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
                let _ = self.buffer.split_to(1);
            }
            if let Some(head) = parse_head(&mut self.buffer)? {
                return Ok(Some(head));
            }
            if self.buffer.len() > MAX_HEAD {
                return refuse(431, "the request head is longer than 64 KiB");
            }
            if io.read_buf(&mut self.buffer).await? == 0 {
                if self.buffer.is_empty() {
                    return Ok(None);
                }
                return Err(cut("head"));
            }
        }
    }

    async fn known<IO: AsyncRead + Unpin>(&mut self, io: &mut IO, len: usize) -> Result<Bytes, ReadError> {
        while self.buffer.len() < len {
            if io.read_buf(&mut self.buffer).await? == 0 {
                return Err(cut("body"));
            }
        }
        Ok(self.buffer.split_to(len).freeze())
    }

    async fn chunked<IO: AsyncRead + Unpin>(&mut self, io: &mut IO) -> Result<Bytes, ReadError> {
        let mut scanned = 0;
        loop {
            match chunked_end(&self.buffer, &mut scanned) {
                Ok(Some(end)) => {
                    let body = dechunk(&self.buffer[..end]);
                    let _ = self.buffer.split_to(end);
                    return Ok(body.into());
                }
                Ok(None) => {}
                Err(problem) => return refuse(400, problem),
            }
            // The framing of many small chunks is larger than what it carries, but it is bounded as well.
            if self.buffer.len() > MAX_BODY {
                return refuse(413, "the request body is longer than 64 MiB");
            }
            if io.read_buf(&mut self.buffer).await? == 0 {
                return Err(cut("body"));
            }
        }
    }
}

fn cut(part: &str) -> ReadError {
    let message = format!("the client closed in the middle of a request {part}");
    ReadError::Io(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, message))
}

/// Takes a complete head off the buffer. `None` when more bytes are needed.
fn parse_head(buffer: &mut BytesMut) -> Result<Option<Head>, ReadError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let len = match parsed.parse(buffer) {
        Ok(httparse::Status::Complete(len)) if len > MAX_HEAD => {
            return refuse(431, "the request head is longer than 64 KiB");
        }
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return refuse(431, "the request has more than 128 header fields"),
        Err(httparse::Error::Version) => return refuse(505, "only HTTP/1.1 and HTTP/1.0 are spoken here"),
        Err(_) => return refuse(400, "the request head is not HTTP/1.1"),
    };
    let old = parsed.version == Some(0);
    let (mut length, mut chunked, mut expects, mut keep_alive) = (None, false, false, !old);
    for header in parsed.headers.iter() {
        let value = std::str::from_utf8(header.value).unwrap_or_default().trim();
        let named = |name: &str| header.name.eq_ignore_ascii_case(name);
        if named("content-length") {
            let Ok(given) = value.parse::<usize>() else { return refuse(400, "content-length is no number") };
            if length.is_some_and(|known| known != given) {
                return refuse(400, "content-length is given twice, differently");
            }
            length = Some(given);
        } else if named("transfer-encoding") {
            if !value.eq_ignore_ascii_case("chunked") {
                return refuse(501, "only the chunked transfer encoding is known here");
            }
            chunked = true;
        } else if named("expect") {
            expects |= value.eq_ignore_ascii_case("100-continue");
        } else if named("connection") {
            for option in value.split(',').map(str::trim) {
                if option.eq_ignore_ascii_case("close") {
                    keep_alive = false;
                } else if option.eq_ignore_ascii_case("keep-alive") {
                    keep_alive = true;
                }
            }
        }
    }
    let length = match (length, chunked) {
        (Some(_), true) => return refuse(400, "content-length and chunked encoding exclude each other"),
        (_, true) => BodyLength::Chunked,
        (Some(len), _) if len > MAX_BODY => return refuse(413, "the request body is longer than 64 MiB"),
        (len, _) => BodyLength::Known(len.unwrap_or(0)),
    };
    let (method, path) = (parsed.method.unwrap_or_default().to_owned(), parsed.path.unwrap_or_default().to_owned());
    let head = buffer.split_to(len).freeze();
    let request = Incoming { method, path, head, body: Bytes::new(), keep_alive, old };
    Ok(Some(Head { request, length, expects }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads everything in `input`, handed over `step` bytes at a time, and gives one line a request.
    async fn read(input: &[u8], step: usize) -> String {
        let (mut client, mut server) = tokio::io::duplex(1 << 20);
        let parts: Vec<Vec<u8>> = input.chunks(step).map(<[u8]>::to_vec).collect();
        let writer = tokio::spawn(async move {
            for part in parts {
                // A reader that refuses what it sees is gone before the rest is written.
                if client.write_all(&part).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            let mut answered = String::new();
            if client.shutdown().await.is_ok() {
                client.read_to_string(&mut answered).await.unwrap();
            }
            answered
        });
        let (mut reader, mut out) = (Reader::default(), Vec::new());
        loop {
            match reader.next(&mut server).await {
                Ok(Some(request)) => out.push(format!(
                    "{} {} {} {}",
                    request.method,
                    request.path,
                    String::from_utf8_lossy(&request.body),
                    if request.keep_alive { "keep" } else { "close" },
                )),
                Ok(None) => break,
                Err(error) => {
                    out.push(error.to_string());
                    break;
                }
            }
        }
        drop(server);
        let answered = writer.await.unwrap();
        out.extend((!answered.is_empty()).then(|| answered.trim_end().to_owned()));
        out.join(" | ")
    }

    #[track_caller]
    fn check(input: &str, expect: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for step in [1, 7, 1 << 20] {
            assert_eq!(runtime.block_on(read(input.as_bytes(), step)), expect, "{step} bytes at a time");
        }
    }

    #[test]
    fn a_body_has_its_length() {
        check("POST /a HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi", "POST /a hi keep");
    }

    #[test]
    fn pipelined_requests_are_read_one_after_another() {
        check(
            "POST /a HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi\r\nGET /b HTTP/1.1\r\nConnection: close\r\n\r\n",
            "POST /a hi keep | GET /b  close",
        );
    }

    #[test]
    fn a_chunked_body_is_put_together() {
        check(
            "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhi\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\nGET /b HTTP/1.1\r\n\r\n",
            "POST /a hi0123456789 keep | GET /b  keep",
        );
    }

    #[test]
    fn a_client_that_asks_first_is_told_to_go_on() {
        check(
            "POST /a HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\nx",
            "POST /a x keep | HTTP/1.1 100 Continue",
        );
    }

    #[test]
    fn http_1_0_does_not_keep_its_connection() {
        check("GET / HTTP/1.0\r\n\r\n", "GET /  close");
    }

    #[test]
    fn what_is_not_http_is_refused_with_its_reason() {
        for (input, expect) in [
            ("nonsense\r\n\r\n", "the request head is not HTTP/1.1"),
            ("GET / HTTP/3.0\r\n\r\n", "only HTTP/1.1 and HTTP/1.0 are spoken here"),
            ("POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", "content-length is no number"),
            ("POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", "the request body is longer than 64 MiB"),
            (
                "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
                "content-length is given twice, differently",
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
                "content-length and chunked encoding exclude each other",
            ),
            ("POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", "only the chunked transfer encoding is known here"),
            ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "a chunk size is no hexadecimal number"),
            (
                "POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nhi",
                "the connection failed: the client closed in the middle of a request body",
            ),
            ("POST / HT", "the connection failed: the client closed in the middle of a request head"),
        ] {
            check(input, expect);
        }
    }

    #[test]
    fn a_head_is_bounded() {
        let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(MAX_HEAD));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(read(long.as_bytes(), 1 << 14)), "the request head is longer than 64 KiB");
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MAX_HEADERS + 1));
        assert_eq!(runtime.block_on(read(many.as_bytes(), 1 << 14)), "the request has more than 128 header fields");
    }
}
