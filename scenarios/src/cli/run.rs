//! `slotspec run`.

use super::Sources;
use super::agent::AgentArgs;
use crate::baseline::{self, Baseline};
use crate::case::{Case, CaseSet, Library};
use crate::isolate;
use crate::report::{self, AgentInfo, Report, progress::ProgressLine, text};
use crate::repro::{self, Replay};
use crate::rule::Profile;
use crate::run::{CaseResult, Run, Runner, merge, quiet_planted_panics, run_all};
use clap::{Args, ValueEnum};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Most jobs at a time.
const MOST_JOBS: u32 = 256;
/// Interrupted.
pub(super) const INTERRUPTED: u8 = 130;

/// What `run` is told.
#[derive(Args)]
pub struct RunArgs {
    /// Cases by the beginning of their ids, such as pair/ or pair/two-calls; by a rule they check, such as PAIR-01; or
    /// the path of a case file. All when absent.
    #[arg(value_name = "CASE")]
    patterns: Vec<String>,
    #[command(flatten)]
    agent: AgentArgs,
    /// Judges only the rules that bind every agent, or only the house rules.
    #[arg(long, value_enum)]
    profile: Option<ProfileArg>,
    /// How many cases are run beside each other; as many as there are processors when absent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_JOBS)))]
    jobs: Option<u32>,
    /// Runs every case so many times; a check whose verdict changes is FLAKY.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Runs one part of the cases: the I-th of N equal ones, such as 1/4.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Known failures of the agent, which do not fail the run.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Writes what failed into the baseline, and removes what fails no more.
    #[arg(long, requires = "baseline")]
    update_baseline: bool,
    /// With --update-baseline: why the new failures are known and not mended.
    #[arg(long, value_name = "TEXT", requires = "update_baseline")]
    reason: Option<String>,
    /// Prints the report as JSON.
    #[arg(long)]
    json: bool,
    /// Writes report.json, junit.xml and report.md into this folder.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Where what is needed to replay a failure is kept.
    #[arg(long, value_name = "DIR", default_value = "repro")]
    keep_repro: PathBuf,
    #[command(flatten)]
    sources: Sources,
}

/// A part of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    /// Which part, from 0.
    index: usize,
    /// Of how many.
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse::<usize>().ok()?, n.parse::<usize>().ok()?)));
        match parts {
            Some((i, n)) if (1..=n).contains(&i) => Ok(Shard { index: i - 1, of: n }),
            _ => Err("write I/N with I from 1 to N, such as 1/4".to_owned()),
        }
    }
}

impl Shard {
    /// Its sets: neighbours go to different parts, so that a slow area is spread.
    fn of(self, sets: Vec<CaseSet>) -> Vec<CaseSet> {
        sets.into_iter().enumerate().filter(|(n, _)| n % self.of == self.index).map(|(_, set)| set).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProfileArg {
    /// The rules that bind every agent.
    Universal,
    /// The rules of a runtime built after this design.
    House,
}

/// Runs the command. The error is bad input, and nothing was run then.
pub fn run(args: &RunArgs) -> Result<ExitCode, String> {
    let (library, sets) = choose(args)?;
    let sets = args.shard.map_or(sets.clone(), |shard| shard.of(sets));
    let baseline = args.baseline.as_deref().map(|path| read_baseline(path, args.update_baseline)).transpose()?;
    // A namespace belongs to a thread and what it starts, so this comes before any other thread.
    let note = args.agent.isolate()?;
    isolate::adopt_orphans();
    quiet_planted_panics();
    let runner = args.agent.runner()?;
    watch_for_interrupt(runner.cancel.clone())?;
    if !args.json
        && let Some(note) = note
    {
        eprintln!("{note}");
    }
    if let Some(dir) = &args.report {
        // Told before the run, not after it.
        std::fs::create_dir_all(dir).map_err(|error| format!("cannot make the folder {}: {error}", dir.display()))?;
    }
    let mut report = execute(args, &runner, &library, &sets);
    if let Some((path, baseline)) = args.baseline.as_deref().zip(baseline) {
        apply_baseline(args, path, baseline, &library, &mut report)?;
    }
    print_report(args, &report)?;
    if let Some(dir) = &args.report {
        report.write(dir).map_err(|error| format!("cannot write the report into {}: {error}", dir.display()))?;
    }
    if runner.cancel.is_cancelled() {
        let done = report.cases.len();
        eprintln!("interrupted: the report is partial ({done} of {} cases)", done + report.missing);
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The library, and the cases of it that are to be run.
fn choose(args: &RunArgs) -> Result<(Library, Vec<CaseSet>), String> {
    let file = |pattern: &String| pattern.ends_with(".toml") || Path::new(pattern).is_file();
    let mut library = if let [pattern] = args.patterns.as_slice()
        && file(pattern)
    {
        Library::load_case(args.sources.rules.as_deref(), Path::new(pattern)).map_err(|error| error.to_string())?
    } else {
        args.sources.load().map_err(|error| error.to_string())?
    };
    let patterns: Vec<String> = args.patterns.iter().filter(|pattern| !file(pattern)).cloned().collect();
    if patterns.len() != args.patterns.len() && args.patterns.len() > 1 {
        return Err("a case file stands alone; give either one file or patterns".to_owned());
    }
    let sets = library.choose(&patterns).map_err(|pattern| unknown(pattern, &library))?;
    let Some(profile) = args.profile else { return Ok((library, sets)) };
    let wanted = match profile {
        ProfileArg::Universal => Profile::Universal,
        ProfileArg::House => Profile::House,
    };
    library.keep_rules(|rule| rule.profile == wanted);
    // What a pattern names may be of the other profile alone.
    let of_profile: Vec<String> =
        patterns.iter().filter(|pattern| library.choose(std::slice::from_ref(*pattern)).is_ok()).cloned().collect();
    if of_profile.is_empty() && !patterns.is_empty() {
        return Err(format!("no rule of the profile is judged in {}; leave --profile out", patterns.join(", ")));
    }
    let sets = library.choose(&of_profile).map_err(|pattern| unknown(pattern, &library))?;
    Ok((library, sets))
}

/// What is told of a pattern that names nothing.
fn unknown(pattern: &str, library: &Library) -> String {
    let mut known = library.rules.ids();
    known.extend(library.all().map(|case| case.id.as_str()));
    let fix = match crate::source::nearest(pattern, &known) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "see slotspec list".to_owned(),
    };
    format!("no case begins with {pattern:?}, and no rule is called so; {fix}")
}

/// The baseline of this file. One that is about to be written may be absent.
fn read_baseline(path: &Path, may_be_absent: bool) -> Result<Baseline, String> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Baseline::read(&name, &text).map_err(|problems| problems.to_string()),
        Err(error) if may_be_absent && error.kind() == std::io::ErrorKind::NotFound => Ok(Baseline::default()),
        Err(error) => Err(format!("{name}: cannot be read: {error}; --update-baseline writes a new one")),
    }
}

/// Excuses what is known, or writes what is to be known from now on.
fn apply_baseline(
    args: &RunArgs,
    path: &Path,
    mut baseline: Baseline,
    library: &Library,
    report: &mut Report,
) -> Result<(), String> {
    let (agent, today) = (report.agent.name.clone(), baseline::today());
    if args.update_baseline && report.missing == 0 {
        baseline = baseline.updated(&agent, today, args.reason.as_deref(), &report.cases)?;
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
            file.write_all(baseline.text().as_bytes())?;
            file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
            file.persist(path).map_err(|error| error.error)
        });
        written.map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
    }
    report.baseline = Some(baseline.apply(&agent, &baseline::date(today), library, &report.cases));
    Ok(())
}

/// Cancels the run at the first interrupt, quit, hang-up or request to terminate. A second one ends the process at once.
/// What whoever started the program had it ignore (`nohup`) stays ignored.
pub(super) fn watch_for_interrupt(cancel: CancellationToken) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    let ignored = ignored_signals();
    let mut signals = Vec::new();
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()] {
        if !ignored.contains(&kind.as_raw_value()) {
            let _inside = runtime.enter();
            signals.push(signal(kind).map_err(|error| format!("cannot listen for signals: {error}"))?);
        }
    }
    let watch = move || {
        runtime.block_on(async {
            for first in [true, false] {
                std::future::poll_fn(|context| {
                    match signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
                        true => std::task::Poll::Ready(()),
                        false => std::task::Poll::Pending,
                    }
                })
                .await;
                if first {
                    cancel.cancel();
                } else {
                    std::process::exit(i32::from(INTERRUPTED));
                }
            }
        });
    };
    std::thread::Builder::new().spawn(watch).map(|_| ()).map_err(|error| format!("cannot start: {error}"))
}

/// The numbers of the signals that are ignored; none where that cannot be told.
fn ignored_signals() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (1..64).filter(|number| mask & (1 << (number - 1)) != 0).collect()
}

fn execute(args: &RunArgs, runner: &Runner, library: &Library, sets: &[CaseSet]) -> Report {
    let started = Instant::now();
    let jobs = match args.jobs {
        _ if args.agent.by_hand() => 1,
        Some(jobs) => jobs as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let replay = Replay { arguments: replay_arguments(args) };
    let unwritten = Mutex::new(None);
    let keep = |case: &Case, run: &Run, result: &mut CaseResult| {
        if !result.is_bad() {
            return;
        }
        match repro::write(&args.keep_repro, case, run, result, &replay) {
            Ok(dir) => result.repro = Some(dir.display().to_string()),
            Err(error) => *unwritten.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string()),
        }
    };
    let mut line = if args.agent.by_hand() { ProgressLine::none() } else { ProgressLine::new() };
    let (mut runs, mut missing) = (Vec::new(), 0);
    for _ in 0..args.repeat {
        let (cases, left) = run_all(runner, &library.rules, sets, jobs, &keep, |progress| line.step(&progress));
        line.clear();
        runs.push(cases);
        missing += left;
    }
    let cases = merge(runs);
    if let Some(error) = unwritten.into_inner().unwrap_or_else(PoisonError::into_inner) {
        eprintln!("what is needed for a replay could not be kept in {}: {error}", args.keep_repro.display());
    }
    Report {
        schema: report::SCHEMA_VERSION,
        slotspec: env!("CARGO_PKG_VERSION").to_owned(),
        agent: AgentInfo { name: runner.agent.name().to_owned(), version: runner.agent.version().to_owned() },
        dialect: runner.dialect.clone(),
        rules: report::rules(&library.rules, &cases),
        cases,
        missing,
        baseline: None,
        seconds: started.elapsed().as_secs_f64(),
    }
}

/// The flags without which a replay would be another run.
fn replay_arguments(args: &RunArgs) -> String {
    let mut words = args.agent.replay();
    if let Some(rules) = &args.sources.rules {
        words.extend(["--rules".to_owned(), rules.display().to_string()]);
    }
    words.iter().map(|word| repro::shell_word(word)).collect::<Vec<_>>().join(" ")
}

fn print_report(args: &RunArgs, report: &Report) -> Result<(), String> {
    if args.json {
        let json = serde_json::to_string_pretty(report).map_err(|error| format!("cannot write the report: {error}"))?;
        return super::print(&format!("{json}\n")).map(|_| ());
    }
    let mut out = String::new();
    text::rules(report, &mut out);
    for case in report.cases.iter().filter(|case| case.repro.is_some()) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}: see {}", case.id, case.repro.as_deref().unwrap_or_default());
    }
    let _ = writeln!(out, "\n{}", text::summary(report));
    super::print(&out).map(|_| ())
}
