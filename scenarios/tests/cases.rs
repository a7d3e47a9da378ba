//! Every case and twin as a named test of the reference runtime, with its transcript as a snapshot.
//!
//! `a::<dialect>::<case>` runs on in-memory pipes, in virtual time where no process is started. Each case has a snapshot in
//! its first dialect, and must have the same canonical log in every other that can say it. `b::<case>` runs a sample over
//! real sockets and demands the same canonical log.

use libtest_mimic::{Arguments, Failed, Trial};
use slot_oracles::RuntimeTrace;
use slot_wire::Dialect;
use slotspec::agent::in_process::{InProcess, Tier};
use slotspec::case::{Case, CaseSet, Library};
use slotspec::report::transcript;
use slotspec::repro::findings;
use slotspec::run::{CaseResult, Run, Runner, judge_set, run_bounded};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    slotspec::run::quiet_planted_panics();
    let library = match Library::load(None, None) {
        Ok(library) => Arc::new(library),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let mut trials = Vec::new();
    let mut sampled = BTreeSet::new();
    for set in &library.cases {
        // The first case of each area, and every case that starts real processes.
        let first = sampled.insert(set.base.id.split('/').next().unwrap_or_default().to_owned());
        for case in set.all() {
            let dialects = Dialect::ALL.into_iter().map(Dialect::name).filter(|dialect| case.speaks(dialect));
            let dialects: Vec<&str> = dialects.collect();
            for dialect in &dialects {
                let (library, set, case) = (Arc::clone(&library), set.clone(), case.clone());
                let (dialect, first) = (*dialect, dialects[0]);
                let name = format!("a::{dialect}::{}", case.id);
                trials.push(Trial::test(name, move || in_memory(&library, &set, &case, dialect, first)));
            }
            if first || case.starts_processes() {
                let case = case.clone();
                trials.push(Trial::test(format!("b::{}", case.id), move || same_on_sockets(&case)));
            }
        }
    }
    trials.push(Trial::test("snapshots", move || no_stale_snapshot(&library)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn runner(tier: Tier, dialect: &str) -> Runner {
    let runner = Runner::new(Arc::new(InProcess::new(tier)));
    Runner { virtual_time: tier == Tier::A, dialect: dialect.to_owned(), ..runner }
}

/// Judges a case in a dialect; `first` is the one whose transcript is kept.
fn in_memory(library: &Library, set: &CaseSet, case: &Case, dialect: &str, first: &str) -> Result<(), Failed> {
    let id = case.id.as_str();
    let (mut told, mut log) = (String::new(), None);
    let keep = |case: &Case, run: &Run, _: &mut CaseResult| {
        if case.id == id {
            told = transcript::render(case, &run.seen, |text| run.neutral(text));
            log = run.seen.trace.runtime.clone();
        }
    };
    let results = judge_set(&runner(Tier::A, dialect), &library.rules, set, |wanted| wanted == id, keep)?;
    let result = results.iter().find(|result| result.id == id).ok_or("the case was not run")?;
    let bad = findings(result);
    if !bad.is_empty() {
        return Err(format!("{bad}\n{told}").into());
    }
    if dialect == first {
        return snapshot(id, &told);
    }
    let other = run_bounded(&runner(Tier::A, first), case)?.seen.trace.runtime;
    let (log, other) = (log.map(without_dialect), other.map(without_dialect));
    if log == other {
        return Ok(());
    }
    Err(format!("in {dialect}:\n{log:#?}\nin {first}:\n{other:#?}").into())
}

/// The log without what a dialect cannot help: its name, and a stop reason that denies calls, which Responses cannot say.
fn without_dialect(mut log: RuntimeTrace) -> RuntimeTrace {
    for event in &mut log.events {
        if let Some(dialect) = event.get_mut("dialect") {
            *dialect = "any".into();
        }
        if event["event"] == "turn_received" && event["stop"] == "stop" && event["calls"] != 0 {
            event["stop"] = "tool_calls".into();
        }
    }
    log
}

/// Compares with the snapshot of the case. insta panics with the difference; a test of this harness returns it.
fn snapshot(id: &str, told: &str) -> Result<(), Failed> {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let name = id.replace('/', "__");
    settings.bind(|| insta::assert_snapshot!(name, told));
    Ok(())
}

/// A snapshot without its case would be trusted by nobody and kept by everybody.
fn no_stale_snapshot(library: &Library) -> Result<(), Failed> {
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let Some(id) = name.strip_suffix(".snap") else { continue };
        if library.case(&id.replace("__", "/")).is_none() {
            return Err(format!("snapshots/{name} belongs to no case; remove it").into());
        }
    }
    Ok(())
}

/// The canonical log must not depend on how bytes travel.
fn same_on_sockets(case: &Case) -> Result<(), Failed> {
    let dialect = case.dialects.first().map_or("chat", String::as_str);
    let log = |tier| run_bounded(&runner(tier, dialect), case).map(|run| run.seen.trace.runtime);
    let (pipes, sockets) = (log(Tier::A)?, log(Tier::B)?);
    if pipes == sockets {
        return Ok(());
    }
    Err(format!("on pipes:\n{pipes:#?}\non sockets:\n{sockets:#?}").into())
}
