//! Agents of one's own, as a person brings them: by a command line, by hand, and by an adapter that a probe wrote. Every
//! test runs real processes over real sockets; the agent is the naive one, which is part of the program.

#![allow(clippy::unwrap_used, reason = "a test may simply fail")]

mod common;

use common::{Place, check_bad, told};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

const SLOTSPEC: &str = env!("CARGO_BIN_EXE_slotspec");

/// Two calls in one turn, and a file.
const CASE: &str = r#"title = "two files are written"
[[turn]]
[[turn.call]]
id = "c1"
op = "WRITE"
with = { path = "a.txt", content = "alpha" }
[[turn.call]]
id = "c2"
op = "WRITE"
with = { path = "b.txt", content = "beta" }
[[turn]]
say = "done"
[check]
written = { rule = "PAIR-05", file."a.txt" = "alpha", file."b.txt" = "beta" }
answered = { rule = "PAIR-01", result.c1.count = 1, result.c2.count = 1 }
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("mine/x.toml", CASE);
    place
}

/// The naive agent as a command line.
fn naive(flaw: &str) -> String {
    format!("{SLOTSPEC} naive-agent --base-url {{base_url}} --workspace {{workspace}} --flaw {flaw} {{prompt}}")
}

/// Runs the case with a command line.
#[track_caller]
fn check_cmd(place: &Place, cmd: &str, extra: &[&str], code: i32, expect: &[&str]) {
    let mut arguments = vec!["run", "mine/x.toml", "--allow-network", "--dialect", "chat", "--cmd", cmd];
    arguments.extend(extra);
    let (got, stdout, stderr) = place.run(&arguments);
    assert_eq!(got, code, "{stdout}{stderr}");
    for expect in expect {
        assert!(stdout.contains(expect), "{expect:?} is not in\n{stdout}{stderr}");
    }
    assert_eq!(place.left(), [] as [&std::path::Path; 0]);
}

#[test]
fn a_command_line_is_judged_without_an_adapter() {
    check_cmd(
        &place(),
        &naive("none"),
        &[],
        0,
        &["PASS            PAIR-01", "\nslotspec: 2 rules, 2 PASS; 1 case in "],
    );
    check_cmd(&place(), &naive("none"), &["--name", "mine-2"], 0, &["\nmine-2: 2 rules, 2 PASS"]);
}

#[test]
fn a_failure_of_a_command_line_is_played_again() {
    let place = place();
    check_cmd(&place, &naive("drop-result"), &["--limit", "20"], 1, &["FAIL            PAIR-01", "missing-result"]);
    let replay = fs::read_to_string(place.path("repro/mine/x/replay.txt")).unwrap();
    // The words are quoted for a shell, so a shell plays them.
    let again = Command::new("sh")
        .args(["-c", &replay.replacen("slotspec", SLOTSPEC, 1)])
        .current_dir(place.path(""))
        .env("TMPDIR", place.path("tmp"))
        .output();
    let (code, stdout, stderr) = told(&again.unwrap());
    assert_eq!(code, 1, "{replay}{stdout}{stderr}");
    assert!(stdout.contains("FAIL            PAIR-01"), "{stdout}{stderr}");
}

#[test]
fn scripts_and_variables_are_taken_from_here() {
    let place = place();
    let script = format!("exec {SLOTSPEC} naive-agent --base-url \"$MODEL_URL\" --workspace . \"$1\"\n");
    place.write("agents/mine.sh", &script);
    check_cmd(&place, "MODEL_URL={base_url} sh agents/mine.sh '{prompt}'", &[], 0, &["\nsh: 2 rules, 2 PASS"]);
}

#[test]
fn a_command_that_does_not_ask_proves_nothing() {
    let expect = ["VACUOUS         PAIR-01", "turn-not-reached"];
    check_cmd(&place(), "sh -c 'exit 3' {base_url} {prompt}", &[], 1, &expect);
}

#[test]
fn wrong_uses_of_cmd_are_bad_input() {
    let run = |extra: &[&'static str], expect: &str| {
        let mut arguments = vec!["run", "--allow-network"];
        arguments.extend(extra);
        check_bad(&[], &arguments, expect);
    };
    run(
        &["--cmd", "sh {base_url} {prompt}"],
        "--cmd needs --dialect: say what the agent speaks, chat or anthropic or responses",
    );
    run(
        &["--cmd", "sh {base_url} {prompt}", "--dialect", "chta"],
        "does not speak the dialect \"chta\"; did you mean \"chat\"?",
    );
    run(&["--dialect", "chat", "--cmd", "sh '{base_url} {prompt}"], "--cmd: a quote is not closed");
    run(
        &["--dialect", "chat", "--cmd", "sh {base_ulr} {prompt}"],
        "--cmd: unknown placeholder {base_ulr}; did you mean \"base_url\"?",
    );
    run(
        &["--dialect", "chat", "--cmd", "sh {base_url}"],
        "--cmd: the agent is never told its task; add an argument with {prompt}",
    );
    run(
        &["--dialect", "chat", "--cmd", "no-such {base_url} {prompt}"],
        "--cmd: `no-such` is not found on the PATH; install it, or",
    );
    run(&["--dialect", "chat", "--name", "A b", "--cmd", "sh {base_url} {prompt}"], "--name \"A b\" is no name");
    run(&["--cmd", "sh", "--agent", "slot"], "cannot be used with");
    run(&["--cmd", "sh", "--bin", "sh=/bin/sh"], "cannot be used with");
    run(&["--cmd", "sh", "--tier", "a"], "cannot be used with");
    run(&["--agent", "slot", "--name", "x"], "--name is for --cmd and --attach");
    run(&["--agent", "slot", "--tier", "a"], "--tier is for the reference runtime");
    run(&["--agent", "./none.toml"], "cannot read the adapter ./none.toml");
    run(&["--limit", "0"], "0 is not in 1..=600");
}

#[test]
fn a_probe_writes_an_adapter_that_a_run_takes() {
    let place = place();
    let cmd = naive("none");
    let probe = ["probe", "--allow-network", "--dialect", "chat", "--name", "mine", "--cmd", &cmd];
    let (code, stdout, stderr) = place.run(&[&probe[..], &["--out", "mine.toml"]].concat());
    assert_eq!((code, stdout.as_str()), (0, ""), "{stderr}");
    assert!(stderr.contains("\n  READ is read_file\n"), "{stderr}");
    let next = format!("next: slotspec run --agent mine.toml --bin mine={SLOTSPEC}\n");
    assert!(stderr.ends_with(&next), "{stderr}");

    let written = fs::read_to_string(place.path("mine.toml")).unwrap();
    let (code, stdout, _) = place.run(&probe);
    assert_eq!((code, stdout), (0, written.clone()), "to the standard output as well");
    assert!(written.contains("\n[binding.WRITE]\n") && !written.contains(SLOTSPEC), "{written}");

    let bin = format!("mine={SLOTSPEC}");
    let run = ["run", "mine/x.toml", "--allow-network", "--agent", "mine.toml", "--bin", &bin];
    let (code, stdout, stderr) = place.run(&run);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("\nmine: 2 rules, 2 PASS"), "{stdout}");

    let (code, _, stderr) = place.run(&[&probe[..], &["--out", "mine.toml"]].concat());
    assert_eq!(code, 2);
    assert_eq!(stderr, "--out mine.toml: it is there already; remove it, or name a new file\n");
    assert_eq!(place.left(), [] as [&std::path::Path; 0]);
}

#[test]
fn a_probe_without_tools_says_what_happened() {
    let place = Place::new();
    let cmd = "sh -c 'echo no key >&2; exit 3' {base_url} {prompt}";
    let (code, stdout, stderr) =
        place.run(&["probe", "--allow-network", "--dialect", "chat", "--cmd", cmd, "--out", "x.toml"]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    let expect = "sh asked the model nothing; check that the command passes {base_url} on (it ends in /v1; {origin} does \
                  not)\n  it ended with code 3\n  it printed as errors: no key\n";
    assert!(stderr.ends_with(expect), "{stderr}");
    assert!(!place.path("x.toml").exists());
    let origin = naive("none").replace("base_url", "origin");
    let (code, _, stderr) = place.run(&["probe", "--allow-network", "--dialect", "anthropic", "--cmd", &origin]);
    assert_eq!(code, 1);
    assert!(stderr.contains("slotspec spoke chat, not anthropic; give --dialect chat\n"), "{stderr}");
}

#[test]
fn wrong_uses_of_probe_are_bad_input() {
    let sh = "sh {base_url} {prompt}";
    check_bad(&[], &["probe", "--dialect", "chat"], "--cmd <COMMAND>");
    check_bad(&[], &["probe", "--cmd", sh], "--dialect <DIALECT>");
    check_bad(&[], &["probe", "--cmd", sh, "--dialect", "x"], "expected one of anthropic, chat, responses");
    check_bad(
        &[],
        &["probe", "--cmd", "sh {prompt}", "--dialect", "chat", "--allow-network"],
        "never told where the model is",
    );
    let limit = ["probe", "--cmd", sh, "--dialect", "chat", "--limit", "601"];
    check_bad(&[], &limit, "601 is not in 1..=600");
    let out = ["probe", "--allow-network", "--cmd", "", "--dialect", "chat", "--out", "x.toml"];
    check_bad(&[("x.toml", "")], &out, "--out x.toml: it is there already");
}

/// A run that waits for a person.
struct ByHand {
    child: Child,
    told: BufReader<std::process::ChildStderr>,
}

impl ByHand {
    fn start(place: &Place, extra: &[&str]) -> ByHand {
        let mut arguments = vec!["run", "mine/x.toml", "--attach", "127.0.0.1:0", "--dialect", "chat"];
        arguments.extend(extra);
        let mut command = place.command(&arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        ByHand { child, told }
    }

    /// What stands behind this word in the next lines.
    fn hears(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.told.read_line(&mut line).unwrap() > 0 {
            if let Some(rest) = line.trim().strip_prefix(word) {
                return rest.split_whitespace().next().unwrap_or_default().to_owned();
            }
            line.clear();
        }
        panic!("{word:?} was never said");
    }

    fn presses_enter(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    fn ends(self) -> (i32, String) {
        let ByHand { mut child, told: rest } = self;
        // Kept open until the end, so that the program never fails to speak.
        drop(child.stdin.take());
        let (code, stdout, _) = told(&child.wait_with_output().unwrap());
        drop(rest);
        (code, stdout)
    }
}

#[test]
fn an_agent_is_driven_by_hand() {
    let place = place();
    let mut run = ByHand::start(&place, &["--name", "by-hand"]);
    let url = run.hears("base URL");
    let workspace = run.hears("workspace");
    assert_eq!(run.hears("task"), "Do");
    run.hears("Let the agent");
    let agent = Command::new(SLOTSPEC)
        .args(["naive-agent", "--base-url", &url, "--workspace", &workspace, "Do the task."])
        .output()
        .unwrap();
    assert!(agent.status.success(), "{agent:?}");
    run.presses_enter();
    let (code, stdout) = run.ends();
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("\nby-hand: 2 rules, 2 PASS"), "{stdout}");
    assert_eq!(place.left(), [] as [&std::path::Path; 0]);
}

#[test]
fn what_nobody_saw_of_an_agent_is_no_pass() {
    let place = place();
    place.write("mine/x.toml", &format!("{CASE}ends = {{ rule = \"LIVE-01\", exit = 0, oracle = \"O52\" }}\n"));
    let mut run = ByHand::start(&place, &[]);
    let url = run.hears("base URL");
    let workspace = run.hears("workspace");
    let mut agent = Command::new(SLOTSPEC);
    agent.args(["naive-agent", "--base-url", &url, "--workspace", &workspace, "Do the task."]);
    assert!(agent.output().unwrap().status.success());
    run.presses_enter();
    let (code, stdout) = run.ends();
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains("UNTESTABLE      LIVE-01"), "{stdout}");
    assert!(stdout.contains("\nattached: 3 rules, 2 PASS, 1 UNTESTABLE"), "{stdout}");
}

#[test]
fn an_agent_that_nobody_drives_is_not_judged() {
    let place = place();
    let mut run = ByHand::start(&place, &[]);
    run.hears("Let the agent");
    run.presses_enter();
    let (code, stdout) = run.ends();
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains("HARNESS-ERROR   PAIR-01"), "{stdout}");
    assert!(stdout.contains("nothing asked the model at http://127.0.0.1:"), "{stdout}");
}

#[test]
fn wrong_uses_of_attach_are_bad_input() {
    check_bad(&[], &["run", "--attach", "127.0.0.1:0"], "--attach needs --dialect: say what the agent speaks");
    check_bad(&[], &["run", "--attach", "https://127.0.0.1:1", "--dialect", "chat"], "the mock speaks plain HTTP");
    check_bad(&[], &["run", "--attach", "pair/x", "--dialect", "chat"], "no other path than /v1");
    check_bad(
        &[],
        &["run", "--attach", "192.0.2.1:80", "--dialect", "chat"],
        "--attach: cannot listen on 192.0.2.1:80",
    );
    check_bad(&[], &["run", "--attach", "8123", "--cmd", "sh"], "cannot be used with");
    check_bad(&[], &["run", "--attach", "8123", "--jobs", "2"], "cannot be used with");
    check_bad(&[], &["run", "--attach", "8123", "--allow-network"], "cannot be used with");
    check_bad(&[], &["run", "--attach", "8123", "--dialect", "chat", "--name", ""], "--name \"\" is no name");
}

#[test]
fn the_bytes_of_a_case_are_shown() {
    let place = place();
    let (code, stdout, stderr) = place.run(&["show", "sse/splits", "--dialect", "anthropic"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(stdout.starts_with("turn 0\n-- write 0: ") && stdout.contains("\nevent: message_stop\\n\n"), "{stdout}");
    let (code, shown, _) = place.run(&["show", "mine/x.toml", "--turn", "1"]);
    assert!(code == 0 && shown.starts_with("turn 1\n") && shown.contains("data: [DONE]\\n"), "{shown}");
    check_bad(&[], &["show", "sse/splts"], "there is no case \"sse/splts\"; did you mean \"sse/splits\"?");
    check_bad(
        &[],
        &["show", "sse/splits", "--dialect", "chta"],
        "there is no dialect \"chta\"; did you mean \"chat\"?",
    );
    check_bad(&[], &["show", "sse/splits", "--turn", "9"], "sse/splits has no turn 9; its turns are 0 to ");
    check_bad(&[], &["show", "missing.toml"], "cannot read missing.toml");
    check_bad(
        &[],
        &["show", "wire/s015-no-index", "--dialect", "anthropic"],
        "can only be said in chat; give one of them as --dialect",
    );
}
