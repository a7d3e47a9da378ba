//! Every case and twin as a named test of the reference runtime, with its transcript as a snapshot.
//!
//! `a::<dialect>::<case>` runs on in-memory pipes, in virtual time where no process is started. Each case has a snapshot in
//! its first dialect, and must have the same canonical log in every other that can say it. `b::<case>` runs a sample over
//! real sockets and demands the same canonical log. A case is played once in each dialect, together with its set, whichever
//! of its tests comes first.

use libtest_mimic::{Arguments, Failed, Trial};
use slot_oracles::RuntimeTrace;
use slot_wire::Dialect;
use slotspec::agent::in_process::{InProcess, Tier};
use slotspec::case::{Case, CaseSet, Library};
use slotspec::report::transcript;
use slotspec::repro::findings;
use slotspec::run::{CaseResult, Run, Runner, judge_set, run_bounded};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

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
    let mut trials: Vec<(Turn, Trial)> = Vec::new();
    let mut sampled = BTreeSet::new();
    for set in &library.cases {
        // The first case of each area, and every case that starts real processes.
        let sample = sampled.insert(set.base.id.split('/').next().unwrap_or_default().to_owned());
        let plays = Dialect::ALL.map(|dialect| Arc::new(Play::new(&library, set, dialect.name())));
        for (place, case) in set.all().enumerate() {
            let plays: Vec<&Arc<Play>> = plays.iter().filter(|play| case.speaks(play.dialect)).collect();
            let [first, ..] = plays[..] else { continue };
            for (at, play) in plays.iter().enumerate() {
                let name = format!("a::{}::{}", play.dialect, case.id);
                let (play, first, id) = (Arc::clone(play), Arc::clone(first), case.id.clone());
                trials.push((Turn::InMemory(place, at), Trial::test(name, move || in_memory(&id, &play, &first))));
            }
            if sample || case.starts_processes() {
                let (case, first) = (case.clone(), Arc::clone(first));
                let name = format!("b::{}", case.id);
                trials.push((Turn::OnSockets, Trial::test(name, move || same_on_sockets(&case, &first))));
            }
        }
    }
    trials.push((Turn::Snapshots, Trial::test("snapshots", move || no_stale_snapshot(&library))));
    trials.sort_by_key(|(turn, _)| *turn);
    libtest_mimic::run(&arguments, trials.into_iter().map(|(_, trial)| trial).collect()).exit_code()
}

/// When a test has its turn: one that plays a set comes before those that use what was played, so that nobody waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// The place of the case in its set, and of the dialect among those that it speaks.
    InMemory(usize, usize),
    OnSockets,
    Snapshots,
}

fn runner(tier: Tier, dialect: &str) -> Runner {
    let runner = Runner::new(Arc::new(InProcess::new(tier)));
    Runner { virtual_time: tier == Tier::A, dialect: dialect.to_owned(), ..runner }
}

/// A set of cases in one dialect, played in memory when it is first asked for, and gone with the last test that asks.
struct Play {
    library: Arc<Library>,
    set: CaseSet,
    dialect: &'static str,
    told: OnceLock<Result<BTreeMap<String, Told>, String>>,
}

/// What a case came to.
#[derive(Default)]
struct Told {
    /// What is not good.
    bad: String,
    transcript: String,
    log: Option<RuntimeTrace>,
}

impl Play {
    fn new(library: &Arc<Library>, set: &CaseSet, dialect: &'static str) -> Self {
        Play { library: Arc::clone(library), set: set.clone(), dialect, told: OnceLock::new() }
    }

    /// What the case of this id came to.
    fn told(&self, id: &str) -> Result<&Told, Failed> {
        let told = self.told.get_or_init(|| self.play()).as_ref()?;
        told.get(id).ok_or_else(|| "the case was not run".into())
    }

    fn play(&self) -> Result<BTreeMap<String, Told>, String> {
        let mut told: BTreeMap<String, Told> = BTreeMap::new();
        let keep = |case: &Case, run: &Run, _: &mut CaseResult| {
            let transcript = transcript::render(case, &run.seen, |text| run.neutral(text));
            let log = run.seen.trace.runtime.clone();
            told.insert(case.id.clone(), Told { transcript, log, ..Told::default() });
        };
        let runner = runner(Tier::A, self.dialect);
        let results = judge_set(&runner, &self.library.rules, &self.set, |_| true, keep);
        for result in results.map_err(|error| error.to_string())? {
            // A case that gave nothing to judge has findings alone.
            told.entry(result.id.clone()).or_default().bad = findings(&result);
        }
        Ok(told)
    }
}

/// Judges a case in a dialect; `first` is the play whose transcript is kept.
fn in_memory(id: &str, play: &Play, first: &Play) -> Result<(), Failed> {
    let told = play.told(id)?;
    if !told.bad.is_empty() {
        return Err(format!("{}\n{}", told.bad, told.transcript).into());
    }
    if play.dialect == first.dialect {
        return snapshot(id, &told.transcript);
    }
    let kept = [told, first.told(id)?].map(|told| told.log.clone().map(without_dialect));
    if kept[0] == kept[1] {
        return Ok(());
    }
    let [log, other] = kept;
    Err(format!("in {}:\n{log:#?}\nin {}:\n{other:#?}", play.dialect, first.dialect).into())
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
fn same_on_sockets(case: &Case, play: &Play) -> Result<(), Failed> {
    let pipes = &play.told(&case.id)?.log;
    let sockets = run_bounded(&runner(Tier::B, play.dialect), case)?.seen.trace.runtime;
    if *pipes == sockets {
        return Ok(());
    }
    Err(format!("on pipes:\n{pipes:#?}\non sockets:\n{sockets:#?}").into())
}
