//! Recording a session and playing it again: byte for byte, write for write, and without a key.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

mod support;

use mock_llm::{Config, MockLlm, Recorder, Script, Tape, Upstream};
use std::io::Write;
use std::sync::{Arc, Mutex};
use support::{chat, history, result, user};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// A tape in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Memory {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A recorder in front of a mock, both in this process.
fn recorder(mock: &MockLlm) -> (Recorder, Memory, impl Fn() -> DuplexStream) {
    let memory = Memory::default();
    let recorder = Recorder::new(Upstream::parse("http://mock").unwrap(), memory.clone()).unwrap();
    let (front, mock) = (recorder.clone(), mock.clone());
    let connect = move || {
        let (near, far) = tokio::io::duplex(1 << 20);
        let mock = mock.clone();
        let dial = move || {
            let (near, far) = tokio::io::duplex(1 << 20);
            tokio::spawn(mock.serve_io(far));
            async move { Ok(near) }
        };
        tokio::spawn(front.serve_io(far, dial));
        near
    };
    (recorder, memory, connect)
}

fn direct(mock: &MockLlm) -> DuplexStream {
    let (near, far) = tokio::io::duplex(1 << 20);
    tokio::spawn(mock.serve_io(far));
    near
}

/// Sends one request and gives every read until the connection ends or nothing more comes, which the paused clock tells
/// at once.
async fn reads(mut io: DuplexStream, body: &str) -> Vec<Vec<u8>> {
    let head = "POST /v1/chat/completions?key=sk-in-the-query HTTP/1.1\r\nhost: mock\r\n\
                authorization: Bearer sk-in-the-head\r\nx-api-key: sk-in-a-field\r\n";
    io.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
    let (mut all, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    while let Ok(Ok(len @ 1..)) =
        tokio::time::timeout(std::time::Duration::from_secs(3_600), io.read(&mut buffer)).await
    {
        all.push(buffer[..len].to_vec());
    }
    all
}

/// Two turns: one with a cut inside a character and bytes drawn from the seed, after two attempts that fail.
const SCRIPT: &str = "
seed = 7
[[turn]]
say = 'aüb'
delivery = 'random'
cut = [{ inside = 'ü', byte = 1 }]
[[turn.call]]
id = 'c1'
tool = 'read_file'
with = { path = \"it's 'quoted' \\\\\" }
[[turn.attempt]]
status = 429
retry_after = '1'
[[turn.attempt]]
then = 'half_chunk'
[[turn]]
say = 'done'
";

/// The requests of a session that meets both failing attempts.
fn session() -> Vec<String> {
    let first = chat(&[user("go")]);
    vec![first.clone(), first.clone(), first, chat(&history(&["c1"], &[result("c1", "ok")]))]
}

async fn play(connect: impl Fn() -> DuplexStream) -> Vec<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for body in session() {
        all.push(reads(connect(), &body).await);
    }
    all
}

#[tokio::test(start_paused = true)]
async fn a_replay_is_the_session_write_for_write() {
    let script = || MockLlm::new(Script::from_toml(SCRIPT, "s").unwrap());
    let mock = script();
    let original = play(|| direct(&mock)).await;
    assert!(original[2].iter().any(|read| std::str::from_utf8(read).is_err()), "a write ends inside the ü");
    assert!(original[2].len() > 20, "{} writes", original[2].len());

    let mock = script();
    let (recorder, memory, connect) = recorder(&mock);
    assert_eq!(play(connect).await, original, "the client sees what it would see without the recorder");
    assert_eq!(recorder.recorded().to_string(), "4 exchanges recorded");

    let tape = Tape::from_toml(&memory.text(), "t").unwrap();
    let replay = MockLlm::replay(tape, Config::default());
    assert_eq!(play(|| direct(&replay)).await, original);
    assert!(replay.finish().is_clean(), "{}", replay.finish());
}

#[tokio::test(start_paused = true)]
async fn no_key_is_on_a_tape() {
    let script = "[[turn]]\nsay = 'your key is sk-in-the-head, or sk-in-a-field'\ndelivery = 'coalesced'\n\
                  cut = [{ inside = 'sk-in-the-head', byte = 1 }, { inside = 'sk-in-a-field', byte = 3 }]\n";
    let mock = MockLlm::new(Script::from_toml(script, "s").unwrap());
    let (_, memory, connect) = recorder(&mock);
    let seen = reads(connect(), &chat(&[user("go")])).await.concat();
    assert!(String::from_utf8_lossy(&seen).contains("k-in-the-head"), "the client still gets what was sent");
    let tape = memory.text();
    for secret in ["in-the-head", "in-a-field", "in-the-query", "authorization", "api-key"] {
        assert!(!tape.contains(secret), "{secret} in {tape}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stall_that_the_client_left_stalls_again() {
    let script = "[[turn]]\nsay = 'hello'\nfault = { then = 'stall', at = { after = 'hell' } }\n";
    let mock = MockLlm::new(Script::from_toml(script, "s").unwrap());
    let (recorder, memory, connect) = recorder(&mock);
    let seen = reads(connect(), &chat(&[user("go")])).await;
    while recorder.recorded().exchanges == 0 {
        tokio::task::yield_now().await;
    }
    assert!(memory.text().ends_with("end = 'stall'\n"), "{}", memory.text());
    let replay = MockLlm::replay(Tape::from_toml(&memory.text(), "t").unwrap(), Config::default());
    assert_eq!(reads(direct(&replay), &chat(&[user("go")])).await, seen);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_taped_is_an_error_that_names_the_nearest() {
    let mock = MockLlm::new(Script::from_toml(SCRIPT, "s").unwrap());
    let (_, memory, connect) = recorder(&mock);
    reads(connect(), &session()[0]).await;
    let replay = MockLlm::replay(Tape::from_toml(&memory.text(), "t").unwrap(), Config::default());
    let answer = reads(direct(&replay), &session()[3]).await.concat();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    let reason = "no taped answer has this history; the nearest is that of exchange 0, which has its end at entry 2, \
                  where this has `assistant c1`";
    assert_eq!(replay.finish().unexpected, [format!("request 0: {reason}")]);
    assert_eq!(replay.finish().unserved, ["exchange 0 (POST /v1/chat/completions, 2 entries of history)"]);
}

#[tokio::test]
async fn over_sockets_a_reset_is_taped_and_an_absent_upstream_told() {
    let script = "[[turn]]\nsay = 'hello'\nfault = { then = 'reset', before_head = true }\n";
    let mock = MockLlm::new(Script::from_toml(script, "s").unwrap());
    let any = "127.0.0.1:0".parse().unwrap();
    let upstream = mock.listen(any).await.unwrap();
    let memory = Memory::default();
    let recorder = Recorder::new(Upstream::parse(&upstream.base_url()).unwrap(), memory.clone()).unwrap();
    let listening = recorder.listen(any).await.unwrap();
    let ask = async || {
        let mut socket = tokio::net::TcpStream::connect(listening.addr()).await.unwrap();
        let body = chat(&[user("go")]);
        let head = "POST /v1/chat/completions HTTP/1.1\r\nconnection: close\r\n";
        socket.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
        let mut read = String::new();
        socket.read_to_string(&mut read).await.map(|_| read)
    };
    assert_eq!(ask().await.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert!(memory.text().ends_with("writes = [\n]\nend = 'reset'\n"), "{}", memory.text());
    upstream.stop().await;
    let refused = ask().await.unwrap();
    assert!(refused.starts_with("HTTP/1.1 502 Bad Gateway\r\n") && refused.contains("cannot be reached"), "{refused}");
    let recorded = recorder.recorded();
    assert_eq!((recorded.exchanges, recorded.problems.len()), (1, 1));
}
