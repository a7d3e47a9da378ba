//! `slot`, the headless agent of this project, through the doors that are open to any agent: a command line, an adapter
//! that a probe wrote, and a person's hand. Its binary belongs to another package; where it was not built beside this
//! test, the tests are listed as ignored, with the command that builds it.

#![allow(clippy::unwrap_used, reason = "a test may simply fail")]

mod common;

use common::{Place, told};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

type Test = fn(&str) -> Result<(), Failed>;

fn main() -> ExitCode {
    let slot = Path::new(env!("CARGO_BIN_EXE_slotspec")).with_file_name("slot");
    let tests: [(&str, Test); 3] = [
        ("a_command_line", a_command_line),
        ("a_probe_and_its_adapter", a_probe_and_its_adapter),
        ("a_persons_hand", a_persons_hand),
    ];
    let trials = tests.map(|(name, test)| {
        let slot: PathBuf = slot.clone();
        Trial::ignorable_test(name, move || {
            if !slot.is_file() {
                return Ok(Completion::ignored_with("build it first: cargo build -p slot-tools --bin slot"));
            }
            test(&slot.display().to_string()).map(|()| Completion::Completed)
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

fn words(slot: &str, dialect: &str) -> String {
    format!(
        "{slot} exec --dialect {dialect} --base-url {{base_url}} --model {{model}} --workspace {{workspace}} --approve auto \
         --unattended --json -- {{prompt}}"
    )
}

fn check(holds: bool, otherwise: impl Into<String>) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(otherwise.into().into()) }
}

fn a_command_line(slot: &str) -> Result<(), Failed> {
    let cmd = words(slot, "anthropic");
    let run = ["run", "pair/two-calls", "PATH-01", "--allow-network", "--dialect", "anthropic", "--cmd", &cmd];
    let (code, stdout, stderr) = Place::new().run(&run);
    check(code == 0 && stdout.contains("\nslot: ") && !stdout.contains("FAIL"), format!("{code}\n{stdout}{stderr}"))
}

fn a_probe_and_its_adapter(slot: &str) -> Result<(), Failed> {
    let place = Place::new();
    let cmd = words(slot, "responses");
    let probe = ["probe", "--allow-network", "--dialect", "responses", "--cmd", &cmd, "--out", "slot.toml"];
    let (code, _, stderr) = place.run(&probe);
    check(code == 0 && stderr.contains("\n  WRITE is write_file\n"), stderr.as_str())?;
    let next = stderr.rsplit_once("next: slotspec ").ok_or("no next step")?.1;
    let mut words: Vec<&str> = next.split_whitespace().collect();
    words.extend(["pair/two-calls", "--allow-network"]);
    let (code, stdout, stderr) = place.run(&words);
    check(code == 0 && stdout.contains("PASS            PAIR-01"), format!("{words:?}\n{stdout}{stderr}"))
}

/// The person reads what is printed, starts the agent there, and says when it is done.
fn a_persons_hand(slot: &str) -> Result<(), Failed> {
    let place = Place::new();
    let run = ["run", "pair/two-calls", "--attach", "127.0.0.1:0", "--dialect", "chat", "--name", "slot"];
    let mut program = place.command(&run);
    let mut program = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (mut url, mut workspace) = (String::new(), String::new());
    let mut lines = BufReader::new(program.stderr.take().ok_or("no stderr")?).lines();
    let mut input = program.stdin.take().ok_or("no stdin")?;
    while let Some(line) = lines.next().transpose()? {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("base"), Some("URL"), Some(given)) => url = given.to_owned(),
            (Some("workspace"), Some(given), _) => workspace = given.to_owned(),
            (Some("Let"), ..) => {
                let arguments = ["exec", "--dialect", "chat", "--base-url", &url, "--workspace", &workspace];
                let approvals = ["--model", "m", "--approve", "auto", "--unattended", "--", "Do the task."];
                let agent = Command::new(slot).args(arguments).args(approvals).output()?;
                check(agent.status.success(), format!("{agent:?}"))?;
                input.write_all(b"\n")?;
            }
            _ => {}
        }
    }
    let (code, stdout, _) = told(&program.wait_with_output()?);
    // A check of the case asks how the agent ended, which nobody saw.
    let as_it_is =
        code == 1 && stdout.contains("PASS            PAIR-01") && stdout.contains("UNTESTABLE      LIVE-01");
    check(as_it_is && !stdout.contains("FAIL") && !stdout.contains("VACUOUS"), format!("{code}\n{stdout}"))
}
