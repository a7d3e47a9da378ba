//! A client of a few lines, independent of any HTTP library, and short forms of requests and scripts.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of several test files; a test may fail"
)]

use mock_llm::Script;
use mock_llm::script::{Call, Turn};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub fn script(turns: Vec<Turn>) -> Script {
    Script { turns, seed: 0 }
}

pub fn call(id: &str, tool: &str, with: Value) -> Turn {
    let call =
        Call { id: id.to_owned(), tool: Some(tool.to_owned()), with: with.as_object().cloned(), ..Call::default() };
    Turn { calls: vec![call], ..Turn::default() }
}

pub fn text(say: &str) -> Turn {
    Turn { say: say.to_owned(), ..Turn::default() }
}

pub fn tools() -> Value {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    json!([{"type": "function", "function": {"name": "read_file", "description": "", "parameters": parameters}}])
}

pub fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

/// A user message, an assistant that made these calls, and what followed.
pub fn history(ids: &[&str], after: &[Value]) -> Vec<Value> {
    let calls: Vec<Value> = ids
        .iter()
        .map(|id| json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": "{}"}}))
        .collect();
    let mut all = vec![user("go"), json!({"role": "assistant", "content": null, "tool_calls": calls})];
    all.extend_from_slice(after);
    all
}

/// A streamed chat request.
pub fn chat(messages: &[Value]) -> String {
    json!({"model": "m", "stream": true, "messages": messages, "tools": tools()}).to_string()
}

/// A response, its transfer encoding taken off.
#[derive(Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
    /// Whether the body ended as its head promised.
    pub complete: bool,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

pub struct Client<IO> {
    io: IO,
    buffer: Vec<u8>,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Client<IO> {
    pub fn new(io: IO) -> Self {
        Client { io, buffer: Vec::new() }
    }

    pub async fn post(&mut self, body: &str) -> Response {
        self.request("POST", "/v1/chat/completions", body).await
    }

    pub async fn request(&mut self, method: &str, path: &str, body: &str) -> Response {
        Client::send(&mut self.io, method, path, body).await;
        self.receive(method).await
    }

    pub async fn send(io: &mut IO, method: &str, path: &str, body: &str) {
        let head = format!("{method} {path} HTTP/1.1\r\nhost: mock\r\ncontent-length: {}\r\n\r\n", body.len());
        io.write_all(head.as_bytes()).await.unwrap();
        io.write_all(body.as_bytes()).await.unwrap();
        io.flush().await.unwrap();
    }

    /// Reads more; `false` at the end of the connection.
    async fn more(&mut self) -> bool {
        matches!(self.io.read_buf(&mut self.buffer).await, Ok(1..))
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.buffer.drain(..at + 2).take(at).collect();
                return Some(String::from_utf8(line).unwrap());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn exactly(&mut self, len: usize) -> (Vec<u8>, bool) {
        while self.buffer.len() < len {
            if !self.more().await {
                return (std::mem::take(&mut self.buffer), false);
            }
        }
        (self.buffer.drain(..len).collect(), true)
    }

    pub async fn receive(&mut self, method: &str) -> Response {
        let mut head = String::new();
        loop {
            let line = self.line().await.expect("the connection ended before a response head did");
            if line.is_empty() {
                break;
            }
            head.push_str(&line);
            head.push('\n');
        }
        let status = head[9..12].parse().unwrap();
        let mut response = Response { status, head, body: String::new(), complete: true };
        let mut body = Vec::new();
        if response.header("transfer-encoding") == Some("chunked") {
            response.complete = false;
            while let Some(size) = self.line().await {
                let size = usize::from_str_radix(&size, 16).unwrap();
                body.extend(self.exactly(size).await.0);
                let ended = self.line().await.is_none_or(|line| !line.is_empty());
                if size == 0 || ended {
                    response.complete = size == 0 && !ended;
                    break;
                }
            }
        } else if method != "HEAD" {
            let length = response.header("content-length").and_then(|len| len.parse().ok()).unwrap_or(0);
            (body, response.complete) = self.exactly(length).await;
        }
        response.body = String::from_utf8(body).unwrap();
        response
    }
}
