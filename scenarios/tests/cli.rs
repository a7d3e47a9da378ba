//! The program as a person meets it: exit codes, messages, what is left on the disk.

#![allow(clippy::unwrap_used, reason = "a test may simply fail")]

mod common;

use common::{Place, check_bad, told};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CASE: &str = r#"title = "a file is written"
[[turn]]
[[turn.call]]
id = "c1"
op = "WRITE"
with = { path = "a.txt", content = "alpha" }
[[turn]]
say = "done"
[check]
written = { rule = "PAIR-05", file."a.txt" = "alpha" }
"#;

#[test]
fn bad_flags_are_bad_input() {
    check_bad(&[], &["run", "--tier", "c"], "invalid value 'c'");
    check_bad(&[], &["run", "--jobs", "0"], "0 is not in 1..=256");
    check_bad(&[], &["run", "--jops", "2"], "--jobs");
    check_bad(&[], &["schema", "cas"], "invalid value 'cas'");
    check_bad(&[], &["run", "--dialect", "chta"], "does not speak the dialect \"chta\"; did you mean \"chat\"?");
}

#[test]
fn what_is_unknown_is_bad_input() {
    check_bad(
        &[],
        &["run", "pair/two-cals"],
        "no case begins with \"pair/two-cals\", and no rule is called so; did you mean",
    );
    check_bad(&[], &["run", "PAIR-99"], "did you mean \"PAIR-0");
    check_bad(&[], &["run", "schema/", "--profile", "universal"], "no rule of the profile is judged in schema/; leave");
    check_bad(&[], &["explain", "reg/bad-nam"], "did you mean \"reg/bad-name\"?");
    check_bad(&[], &["run", "--agent", "nobody", "--allow-network"], "no agent is called `nobody`");
    check_bad(&[], &["run", "missing.toml"], "cannot read missing.toml");
    check_bad(&[], &["list", "--cases", "missing"], "cannot read missing");
}

#[test]
fn a_malformed_case_is_bad_input_with_its_place() {
    let bad = CASE.replace("op = \"WRITE\"", "op = \"WRIT\"").replace("say", "sya");
    check_bad(
        &[("x.toml", &bad)],
        &["run", "x.toml"],
        "x.toml:5:6: unknown value \"WRIT\" in turn[0].call[0].op; did you mean \"WRITE\"?\n\
         x.toml:8:1: unknown field \"sya\" in turn[1]; did you mean \"say\"?\n",
    );
    check_bad(&[("c/a/x.toml", "title = ")], &["list", "--cases", "c"], "c/a/x.toml:1:9: ");
}

#[test]
fn malformed_rules_are_bad_input() {
    check_bad(
        &[("r/x.toml", "area = 'X'\ntitel = 'x'\n")],
        &["list", "--rules", "r"],
        "r/x.toml:2:1: unknown field \"titel\"",
    );
    let rule = "area = 'X'\ntitle = 'x'\n[[rule]]\nid = 'X-01'\ntitle = 't'\nstatement = 's'\nlevel = 'must'\n\
                profile = 'house'\nobserver = 'wire'\norigin = 'o'\n";
    let case = CASE.replace("PAIR-05", "X-02");
    check_bad(
        &[("r/x.toml", rule), ("c/a/x.toml", &case)],
        &["list", "--rules", "r", "--cases", "c"],
        "no rule \"X-02\"",
    );
    let two = format!("{rule}[[rule]]\nid = 'X-02'\n{}", rule.split_once("id = 'X-01'\n").unwrap().1);
    check_bad(
        &[("r/x.toml", &two), ("c/a/x.toml", &case)],
        &["list", "--rules", "r", "--cases", "c"],
        "no case names the rule X-01",
    );
}

#[test]
fn a_good_case_of_ones_own_passes() {
    let place = Place::new();
    place.write("mine/x.toml", CASE);
    for arguments in [&["run", "mine/x.toml"][..], &["run", "--cases", "mine/x.toml", "--tier", "a"]] {
        let (code, stdout, stderr) = place.run(arguments);
        assert_eq!(code, 0, "{stdout}{stderr}");
        assert!(stdout.contains("PASS            PAIR-05  Every effect belongs to a call  (1 check)\n"), "{stdout}");
        assert!(stdout.contains("\nreference 0.1.0: 1 rule, 1 PASS; 1 case in "), "{stdout}");
        assert_eq!(stderr, "");
    }
    assert_eq!(place.left(), [] as [&Path; 0]);
    assert!(!place.path("repro").exists());
}

#[test]
fn a_failure_is_told_kept_and_played_again() {
    let place = Place::new();
    place.write("mine/x.toml", &CASE.replace("file.\"a.txt\" = \"alpha\"", "file.\"a.txt\" = \"omega\""));
    let (code, stdout, _) = place.run(&["run", "--cases", "mine/x.toml", "--tier", "a"]);
    assert_eq!(code, 1, "{stdout}");
    let line = "FAIL            PAIR-05  Every effect belongs to a call: wrong-content in mine/x: written: file a.txt \
                holds \"alpha\", expected \"omega\"\nmine/x: see repro/mine/x\n";
    assert!(stdout.starts_with(line), "{stdout}");
    let kept = |name: &str| fs::read_to_string(place.path("repro/mine/x").join(name)).unwrap();
    assert_eq!(
        kept("findings.txt"),
        "FAIL PAIR-05 written: wrong-content: file a.txt holds \"alpha\", expected \"omega\"\n"
    );
    assert!(kept("wire.jsonl").lines().count() > 3);
    assert!(kept("trace.json").contains("\"workspace\""));
    assert!(kept("transcript.txt").contains("call c1 write_file"));
    assert_eq!(kept("replay.txt"), "slotspec run --cases repro/mine/x/case.toml --tier a\n");
    for name in ["wire.jsonl", "trace.json", "transcript.txt"] {
        assert!(!kept(name).contains(place.path("tmp").to_str().unwrap()), "{name} names a folder of the run");
    }
    let replay = kept("replay.txt");
    let words: Vec<&str> = replay.split_whitespace().skip(1).collect();
    let (code, again, _) = place.run(&words);
    assert_eq!(code, 1);
    assert!(again.starts_with(line), "{again}");
}

#[test]
fn the_report_in_json_is_a_report() {
    let place = Place::new();
    let (code, stdout, stderr) = place.run(&["run", "--json", "--tier", "a", "reg/"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    let report: slotspec::report::Report = serde_json::from_str(&stdout).unwrap();
    assert!(report.is_good() && report.cases.iter().all(|case| case.id.starts_with("reg/")));
}

#[test]
fn a_report_is_written_for_those_who_gate_on_it() {
    let place = Place::new();
    place.write("mine/x.toml", &CASE.replace("file.\"a.txt\" = \"alpha\"", "file.\"a.txt\" = \"omega\""));
    let (code, _, stderr) = place.run(&["run", "mine/x.toml", "--tier", "a", "--report", "out"]);
    assert_eq!((code, stderr.as_str()), (1, ""));
    let read = |name: &str| fs::read_to_string(place.path("out").join(name)).unwrap();
    let report: slotspec::report::Report = serde_json::from_str(&read("report.json")).unwrap();
    assert_eq!(report.rules.len(), 1);
    assert!(read("junit.xml").contains("<failure type=\"FAIL\""));
    assert!(read("report.md").contains("| **FAIL** | PAIR-05 |"));
    check_bad(&[("out", "a file")], &["run", "--report", "out"], "cannot make the folder out");
}

#[test]
fn rules_and_cases_are_listed_and_explained() {
    let place = Place::new();
    let (code, stdout, _) = place.run(&["list"]);
    assert!(
        code == 0
            && stdout.contains("\nPAIR-01  must   universal wire    Every call gets")
            && stdout.contains("pair/two-calls@one-fails")
    );
    let (_, rules, _) = place.run(&["list", "rules"]);
    let (_, cases, _) = place.run(&["list", "cases"]);
    assert_eq!(stdout, format!("{rules}\n{cases}"));
    let (code, stdout, _) = place.run(&["explain", "PAIR-01"]);
    assert!(code == 0 && stdout.starts_with("PAIR-01  Every call gets exactly one result\n"));
    let (code, stdout, _) = place.run(&["schema", "case"]);
    assert!(code == 0 && serde_json::from_str::<serde_json::Value>(&stdout).unwrap()["title"] == "CaseFile");
}

#[test]
fn an_interrupt_leaves_nothing_behind_and_says_that_the_report_is_partial() {
    check_stopped_by(rustix::process::Signal::INT);
}

#[test]
fn a_request_to_terminate_is_an_interrupt() {
    check_stopped_by(rustix::process::Signal::TERM);
}

#[test]
fn a_hang_up_and_a_quit_are_interrupts() {
    check_stopped_by(rustix::process::Signal::HUP);
    check_stopped_by(rustix::process::Signal::QUIT);
}

/// The same command, with no signal ignored: whoever runs the tests may ignore some, as a shell's background job does.
fn with_default_signals(command: &Command) -> Command {
    let mut plain = Command::new("env");
    plain.arg("--default-signal").arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => plain.env(name, value),
            None => plain.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        plain.current_dir(folder);
    }
    plain
}

#[track_caller]
fn check_stopped_by(signal: rustix::process::Signal) {
    let place = Place::new();
    let slow = CASE
        .replace("op = \"WRITE\"", "op = \"SHELL\"")
        .replace("{ path = \"a.txt\", content = \"alpha\" }", "{ command = \"echo alpha > a.txt; sleep 600\" }");
    place.write("mine/a/slow.toml", &format!("limit_ms = 500000\n{slow}"));
    place.write("mine/a/slower.toml", &format!("limit_ms = 500000\n{slow}"));
    let child = with_default_signals(&place.command(&["run", "--cases", "mine", "--jobs", "1"]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first command has started when its file is there.
    let started = Instant::now();
    while !place.left().iter().any(|world| world.join("workspace/a.txt").exists()) {
        assert!(started.elapsed() < Duration::from_secs(30), "the run never started");
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, signal).unwrap();
    let (code, _, stderr) = told(&child.wait_with_output().unwrap());
    assert_eq!(code, 130, "{stderr}");
    assert!(stderr.contains("interrupted: the report is partial (0 of 2 cases)"), "{stderr}");
    assert_eq!(place.left(), [] as [&Path; 0]);
}
