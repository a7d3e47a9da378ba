//! The binary: its first line, its exit codes, its wire log.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

mod support;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use support::{Client, chat, history, result, user};

const SCRIPT: &str =
    "[[turn]]\n[[turn.call]]\nid = 'c1'\nop = 'READ'\nwith = { path = '$WORKSPACE/a' }\n[[turn]]\nsay = 'done'\n";

/// The running binary; ended when the test ends, however it ends.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(dir: &Path, name: &str, text: &str, more: &[&str]) -> Served {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_mock-llm"))
        .args(["serve", name])
        .args(more)
        .current_dir(dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Served(child)
}

/// Plays `rounds` requests, asks the binary to end, and gives its exit status and what it said.
async fn play(mut served: Served, rounds: usize) -> (ExitStatus, String) {
    let mut out = BufReader::new(served.0.stdout.take().unwrap());
    let mut url = String::new();
    out.read_line(&mut url).unwrap();
    let addr = url.trim().strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap().to_owned();
    let mut client = Client::new(tokio::net::TcpStream::connect(addr).await.unwrap());
    for messages in [vec![user("go")], history(&["c1"], &[result("c1", "ok")])].into_iter().take(rounds) {
        assert_eq!(client.post(&chat(&messages)).await.status, 200);
    }
    let pid = served.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let mut said = String::new();
    out.read_to_string(&mut said).unwrap();
    (served.0.wait().unwrap(), said)
}

/// The argument text of the first answer in a wire log.
fn arguments(log: &str) -> String {
    let entries = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answer = entries.into_iter().find(|entry| entry["event"] == "answer").unwrap();
    let frames = answer["body"].as_str().unwrap().split("\n\n").filter_map(|frame| frame.strip_prefix("data: {"));
    let deltas = frames.map(|rest| serde_json::from_str::<Value>(&format!("{{{rest}")).unwrap());
    deltas
        .filter_map(|delta| {
            let call = &delta["choices"][0]["delta"]["tool_calls"][0];
            Some(call["function"]["arguments"].as_str()?.to_owned())
        })
        .collect()
}

#[tokio::test]
async fn a_script_that_was_played_out_is_success() {
    let dir = tempfile::tempdir().unwrap();
    let served = start(dir.path(), "s.toml", SCRIPT, &["--journal", "wire.jsonl"]);
    let (status, said) = play(served, 2).await;
    assert_eq!((status.code(), said.trim()), (Some(0), "every turn was served, and nothing else was asked"));
    let log = std::fs::read_to_string(dir.path().join("wire.jsonl")).unwrap();
    let workspace = std::fs::canonicalize(dir.path()).unwrap();
    assert_eq!(arguments(&log), format!(r#"{{"path":"{}/a"}}"#, workspace.display()));
    assert!(log.lines().all(|line| line.starts_with("{\"seq\":")), "{log}");
}

#[tokio::test]
async fn what_was_not_reached_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let case = format!("title = 'a case'\n{SCRIPT}[check]\nx = 1\n");
    let (status, said) = play(start(dir.path(), "case.toml", &case, &[]), 1).await;
    assert_eq!((status.code(), said.trim()), (Some(1), "not reached: turn 1 (says \"done\")"));
}

#[tokio::test]
async fn what_was_recorded_is_served_without_the_upstream() {
    let dir = tempfile::tempdir().unwrap();
    let mut upstream = start(dir.path(), "s.toml", SCRIPT, &[]);
    let mut url = String::new();
    BufReader::new(upstream.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let recording = Command::new(env!("CARGO_BIN_EXE_mock-llm"))
        .args(["record", "--out", ".", "--upstream", url.trim()])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (status, said) = play(Served(recording), 2).await;
    assert_eq!((status.code(), said.trim()), (Some(0), "./tape-001.toml: 2 exchanges recorded"));
    drop(upstream);
    let tape = std::fs::read_to_string(dir.path().join("tape-001.toml")).unwrap();
    let (status, said) = play(start(dir.path(), "t.toml", &tape, &[]), 2).await;
    assert_eq!((status.code(), said.trim()), (Some(0), "every turn was served, and nothing else was asked"));
}

#[test]
fn a_recording_needs_a_plain_upstream_and_a_new_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("old.toml"), "").unwrap();
    for (args, expect) in [
        (["--upstream", "https://x/v1", "--out", "t.toml"], "TLS is not spoken here; put something in front"),
        (["--upstream", "http://x/v1", "--out", "old.toml"], "--out old.toml: cannot be made: File exists"),
        (["--upstream", "http://x/v1", "--out", "no/t.toml"], "--out no/t.toml: cannot be made: No such file"),
    ] {
        let out = Command::new(env!("CARGO_BIN_EXE_mock-llm"))
            .arg("record")
            .args(args)
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(2));
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(said.contains(expect), "{said}");
    }
}

#[test]
fn bad_input_is_one_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text, more, expect) in [
        ("bad.toml", "[[turn]]\nsays = 1\n", &[][..], "mock-llm: bad.toml:2:1: turn[0].says: unknown field"),
        ("addr.toml", SCRIPT, &["--addr", "203.0.113.1:1"][..], "mock-llm: --addr 203.0.113.1:1: cannot listen there"),
        ("flag.toml", SCRIPT, &["--addr", "nowhere"][..], "error: invalid value 'nowhere' for '--addr <ADDR>'"),
    ] {
        let mut served = start(dir.path(), name, text, more);
        let mut said = String::new();
        served.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(served.0.wait().unwrap().code(), Some(2), "{said}");
        assert!(said.starts_with(expect), "{said}");
    }
}
