//! The program as whoever runs it meets it: what its commands can see of it, and how it ends.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may simply fail")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What the model server was sent: the key of the first request, and the tool's result.
type Asked = (String, String);

/// A model that calls for one command, and is done when it has its result.
fn serve(command: &str) -> (String, JoinHandle<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let arguments = serde_json::json!({ "command": command }).to_string();
    let call = serde_json::json!({ "index": 0, "id": "c1", "type": "function",
        "function": { "name": "exec_shell", "arguments": arguments } });
    let turns = [
        serde_json::json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": "tool_calls" }] }),
        serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": "done" }, "finish_reason": "stop" }] }),
    ];
    let served = std::thread::spawn(move || {
        let (key, _) = answer(&listener.accept().unwrap().0, &turns[0]);
        let (_, body) = answer(&listener.accept().unwrap().0, &turns[1]);
        let result = body["messages"].as_array().unwrap().iter().find(|message| message["role"] == "tool").unwrap();
        (key, result["content"].as_str().unwrap().to_owned())
    });
    (url, served)
}

fn answer(mut stream: &TcpStream, turn: &serde_json::Value) -> (String, serde_json::Value) {
    let mut reader = BufReader::new(stream);
    let (mut key, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => key = value.to_owned(),
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().unwrap(),
            None if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {turn}\n\ndata: [DONE]\n\n"
    )
    .unwrap();
    (key, serde_json::from_slice(&body).unwrap())
}

fn slot(url: &str, workspace: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slot"));
    command.args(["exec", "--base-url", url, "--model", "m", "--approve", "auto", "--unattended", "--workspace"]);
    command.arg(workspace).arg("task").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Prints the environments that the shell and every process above it were started with.
const ENVIRONMENTS: &str = "p=$$; while [ \"$p\" -gt 1 ]; do tr '\\0' '\\n' < /proc/$p/environ 2>/dev/null; \
                            p=$(sed 's/.*) . //' /proc/$p/stat | cut -d' ' -f1); done | grep -e CANARY -e HARMLESS | sort -u";

#[test]
fn no_command_finds_a_secret_in_any_environment_above_it() {
    let folder = tempfile::tempdir().unwrap();
    let (url, served) = serve(ENVIRONMENTS);
    let variables = [
        ("SLOT_API_KEY", "CANARY-key"),
        ("OPENAI_API_KEY_2", "CANARY-2"),
        ("BACKEND", "postgres://me:CANARY@db/app"),
        ("OTHER", "HARMLESS"),
    ];
    let output = slot(&url, folder.path()).envs(variables).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let (key, result) = served.join().unwrap();
    assert_eq!((key.as_str(), result.as_str()), ("Bearer CANARY-key", "OTHER=HARMLESS"));
}

#[test]
fn a_key_can_come_by_a_descriptor() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), "CANARY-key\n").unwrap();
    let (url, served) = serve("echo ran");
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", "exec 7<key \"$0\" --key-fd 7 exec --base-url \"$1\" --model m --approve auto --unattended task"]);
    shell.arg(env!("CARGO_BIN_EXE_slot")).arg(&url).current_dir(folder.path()).env("GITHUB_TOKEN", "CANARY");
    assert_eq!(shell.output().unwrap().status.code(), Some(0));
    assert_eq!(served.join().unwrap(), ("Bearer CANARY-key".to_owned(), "ran".to_owned()));
}

#[track_caller]
fn check_bad(arguments: &[&str], key: &str, expect: &str) {
    let mut command = slot("http://127.0.0.1:9/v1", Path::new("/nonexistent"));
    let output = command.args(arguments).env("SLOT_API_KEY", key).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains(expect), "{told}");
}

#[test]
fn bad_input_is_told_to_the_person_who_gave_it() {
    check_bad(&[], "k", "cannot use /nonexistent as the workspace: it does not exist; make it first");
    check_bad(&["--key-fd", "777"], "", "descriptor 777: it is not open");
    check_bad(&["--key-fd", "0"], "", "--key-fd");
    check_bad(&[], &"x".repeat(5000), "no key is longer than 4096");
}

#[test]
fn a_deny_rule_that_cannot_be_read_ends_the_program_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        slot("http://127.0.0.1:9/v1", folder.path()).args(["--deny", "Read", "--deny", "Bash("]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("the deny rule \"Bash(\" cannot be read"), "{told}");
}

#[test]
fn a_denied_command_does_not_run_and_an_idle_rule_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (url, served) = serve("true && touch ran");
    let output = slot(&url, folder.path()).args(["--deny", "Bash(touch:*)", "--deny", "Raed"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(0) && told.contains("the deny rule `Raed` names no tool"), "{told}");
    assert!(served.join().unwrap().1.contains("by the rule `Bash(touch:*)`") && !folder.path().join("ran").exists());
}

#[test]
fn a_trusted_folder_is_trusted_by_the_next_run_too() {
    let base = tempfile::tempdir().unwrap();
    let at = |name: &str| base.path().join(name);
    for folder in ["ws", "lib"] {
        std::fs::create_dir(at(folder)).unwrap();
    }
    std::fs::write(at("lib/a.txt"), "of a library").unwrap();
    // What only looks at files that may be read needs nobody's approval, and there is nobody.
    let run = |trust: bool| {
        let (url, served) = serve(&format!("cat {}", at("lib/a.txt").display()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_slot"));
        command.args(["exec", "--base-url", &url, "--model", "m", "--approve", "auto", "--workspace"]).arg(at("ws"));
        if trust {
            command.arg("--trust").arg(at("trusted.toml"));
        }
        let output = command.arg("task").stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        served.join().unwrap().1.contains("of a library")
    };
    let trust =
        |arguments: &[&Path]| Command::new(env!("CARGO_BIN_EXE_slot")).arg("trust").args(arguments).output().unwrap();
    assert!(!run(false));
    assert_eq!(trust(&[&at("trusted.toml"), &at("absent")]).status.code(), Some(2));
    assert_eq!(trust(&[&at("trusted.toml"), &at("lib")]).status.code(), Some(0));
    assert!(run(true));
    assert!(run(true));
    let listed = String::from_utf8(trust(&[&at("trusted.toml")]).stdout).unwrap();
    assert_eq!(Path::new(listed.trim_end()), at("lib").canonicalize().unwrap());
    // Where the model could write to it, a list is none.
    std::fs::rename(at("trusted.toml"), at("ws/trusted.toml")).unwrap();
    let refused = slot("http://127.0.0.1:9/v1", &at("ws")).arg("--trust").arg(at("ws/trusted.toml")).output().unwrap();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && told.contains("lies in the workspace"), "{told}");
}

/// Starts a command that goes on, in a slot that some signals are ignored in, and waits until it runs.
fn running(folder: &Path, ignoring: &str) -> Child {
    let (url, _) = serve("echo $$ > pid; mv pid ready; sleep 600");
    let program = slot(&url, folder);
    // Whoever runs the tests may ignore signals, as a shell's background job does; that must not be inherited here.
    let mut shell = Command::new("env");
    shell
        .args(["--default-signal", "/bin/sh", "-c", &format!("{ignoring} exec \"$0\" \"$@\"")])
        .arg(program.get_program())
        .args(program.get_args());
    let child = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while !folder.join("ready").exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "the command never started");
        std::thread::yield_now();
    }
    child
}

fn send(child: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
}

#[test]
fn every_request_to_end_ends_the_command_first() {
    use rustix::process::Signal;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = running(folder.path(), "");
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal:?}");
        let shell = std::fs::read_to_string(folder.path().join("ready")).unwrap();
        let (shell, asked) = (Path::new("/proc").join(shell.trim()), Instant::now());
        while shell.exists() {
            assert!(asked.elapsed() < Duration::from_secs(10), "{signal:?}: the command runs on");
            std::thread::yield_now();
        }
    }
}

#[test]
fn what_whoever_started_it_had_ignored_stays_ignored() {
    use rustix::process::Signal;
    let folder = tempfile::tempdir().unwrap();
    let mut child = running(folder.path(), "trap '' HUP;");
    send(&child, Signal::HUP);
    assert_eq!(child.try_wait().unwrap(), None);
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
