//! `slotspec self-test`, and the hidden command that runs the naive agent.

use super::Sources;
use super::run::INTERRUPTED;
use crate::faults::{embedded::embedded, load, matrix, naive, self_test::SelfTest};
use crate::run::quiet_planted_panics;
use clap::Args;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio_util::sync::CancellationToken;

/// What `self-test` is told.
#[derive(Args)]
pub struct SelfTestArgs {
    /// Planted faults from this file in place of the built-in ones.
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// How many faults are tried beside each other; as many as there are processors when absent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: Option<u32>,
    #[command(flatten)]
    sources: Sources,
}

/// What `naive-agent` is told.
#[derive(Args)]
pub struct NaiveArgs {
    /// The model server.
    #[arg(long)]
    base_url: String,
    /// The folder to work in.
    #[arg(long)]
    workspace: PathBuf,
    /// How it is broken.
    #[arg(long, value_enum, default_value_t = naive::Flaw::None)]
    flaw: naive::Flaw,
    /// What to do.
    prompt: String,
}

/// Runs the naive agent.
pub fn naive_agent(args: &NaiveArgs) -> ExitCode {
    let code = naive::run(&args.base_url, &args.workspace, args.flaw, &args.prompt);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Tries every planted fault and prints the kill matrix. The error is bad input, and nothing was run then.
pub fn self_test(args: &SelfTestArgs) -> Result<ExitCode, String> {
    let library = args.sources.load().map_err(|error| error.to_string())?;
    let faults = match &args.faults {
        None => embedded().map_err(|problems| problems.to_string())?,
        Some(path) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: cannot be read: {error}"))?;
            load([(name.as_str(), text.as_str())]).map_err(|problems| problems.to_string())?
        }
    };
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program's own file: {error}"))?;
    crate::isolate::adopt_orphans();
    quiet_planted_panics();
    let jobs = args.jobs.map_or_else(default_jobs, |jobs| jobs as usize);
    let cancel = CancellationToken::new();
    super::run::watch_for_interrupt(cancel.clone())?;
    let test = SelfTest { library: &library, program, jobs, cancel };
    let live = std::io::stderr().is_terminal();
    let progress = move |done: usize, of: usize| {
        if live {
            let end = if done == of { "\n" } else { "" };
            eprint!("\r{done} of {of} faults tried{end}");
        }
    };
    let matrix = test.run(faults, &progress).map_err(|problems| problems.to_string())?;
    super::print(&matrix::text(&matrix))?;
    Ok(match (matrix.interrupted, matrix.is_good()) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::FAILURE,
    })
}

fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}
