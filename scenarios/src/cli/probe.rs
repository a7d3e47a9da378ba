//! `slotspec probe`: runs an agent once, looks at the tools it sends, and writes an adapter for it.

use super::agent::{command_line, isolated, spoken};
use super::run::{INTERRUPTED, watch_for_interrupt};
use crate::adapter::Probed;
use crate::agent::AgentEnd;
use crate::agent::command::CommandAgent;
use crate::case::{self, Case};
use crate::isolate;
use crate::repro::shell_word;
use crate::rule::RuleBook;
use crate::run::{HarnessError, Run, Runner, run_bounded};
use clap::Args;
use mock_llm::journal::Kind;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// What the agent is run with: one turn without calls.
const CASE: &str = "title = 'a probe'\n[[turn]]\nsay = 'done'\n[check]\nasked = { rule = 'PROBE-01', requests = 1 }\n";
/// A case needs a rule; this one is judged by nobody.
const RULES: &str = "area = 'PROBE'\ntitle = 'Probe'\n[[rule]]\nid = 'PROBE-01'\ntitle = 'It asks'\nstatement = 'It asks.'\n\
                     level = 'may'\nprofile = 'house'\nobserver = 'wire'\norigin = 'probe'\n";
/// Characters of what the agent printed that a message shows.
const SHOWN: usize = 400;

/// What `probe` is told.
#[derive(Args)]
pub struct ProbeArgs {
    /// The command that starts the agent, as for run --cmd: 'my-agent --url {base_url} {prompt}'.
    #[arg(long, value_name = "COMMAND")]
    cmd: String,
    /// The dialect it speaks: chat, anthropic or responses.
    #[arg(long)]
    dialect: String,
    /// What the agent is called; its program's name when absent.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Writes the adapter into this new file, and not to the standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The most time that the agent gets.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    limit: u64,
    /// Runs the agent with the network it would have anyway.
    #[arg(long)]
    allow_network: bool,
}

/// Probes an agent. The error is bad input, and nothing was run then.
pub fn probe(args: &ProbeArgs) -> Result<ExitCode, String> {
    if let Some(path) = args.out.as_deref().filter(|path| path.symlink_metadata().is_ok()) {
        return Err(exists(path));
    }
    let dialect = spoken(Some(&args.dialect), "--cmd")?;
    // A namespace belongs to a thread and what it starts, so this comes before any other thread.
    let note = isolated(args.allow_network)?;
    isolate::adopt_orphans();
    let mut line = command_line(&args.cmd, args.name.as_deref(), &dialect)?;
    line.adapter.limit_ms = args.limit * 1_000;
    let least_limit = line.adapter.limit();
    let agent = CommandAgent::new(line.adapter.clone(), line.program.clone(), String::new());
    let runner = Runner { dialect: dialect.clone(), least_limit, ..Runner::new(Arc::new(agent)) };
    watch_for_interrupt(runner.cancel.clone())?;
    eprintln!("{note}");
    let run = match run_bounded(&runner, &case()?) {
        Ok(run) => run,
        Err(HarnessError::Interrupted) => return Ok(ExitCode::from(INTERRUPTED)),
        Err(error) => return Err(error.to_string()),
    };
    let probed = match Probed::new(line.adapter, &dialect, &run.seen.trace.wire.requests) {
        Ok(probed) => probed,
        Err(error) => {
            eprintln!("{error}{}", what_happened(&run));
            return Ok(ExitCode::FAILURE);
        }
    };
    let text = probed.text().map_err(|problems| problems.to_string())?;
    match &args.out {
        Some(path) => write_new(path, &text)?,
        None => {
            super::print(&text)?;
        }
    }
    eprintln!("{}", summary(&probed, args.out.as_deref(), &line.program));
    Ok(ExitCode::SUCCESS)
}

fn case() -> Result<Case, String> {
    let rules = RuleBook::read([("the rule of a probe", RULES)]).map_err(|problems| problems.to_string())?;
    let set =
        case::read("the case of a probe", "probe/probe", CASE, &rules).map_err(|problems| problems.to_string())?;
    Ok(set.base)
}

fn exists(path: &Path) -> String {
    format!("--out {}: it is there already; remove it, or name a new file", path.display())
}

fn write_new(path: &Path, text: &str) -> Result<(), String> {
    let written = std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(path),
        _ => format!("--out {}: cannot be written: {error}", path.display()),
    })
}

/// What a person wants to know of a run in which no tools were seen: how it ended, what it asked for and printed.
fn what_happened(run: &Run) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = match &run.seen.trace.wire.end {
        AgentEnd::Finished { code } => write!(out, "\n  it ended with code {code}"),
        AgentEnd::TimedOut { limit_ms } => write!(out, "\n  it did not end within {} s", limit_ms / 1_000),
        AgentEnd::Signalled { signal } => write!(out, "\n  it was ended by signal {signal}"),
        AgentEnd::NotStarted { reason } => write!(out, "\n  it did not start: {reason}"),
        AgentEnd::NotRun | AgentEnd::Unseen => Ok(()),
    };
    for record in run.journal.requests() {
        let head = String::from_utf8_lossy(&record.head.0);
        let asked = head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1");
        let _ = match &record.kind {
            Kind::Unmatched => write!(out, "\n  it asked for {asked}, which no dialect serves"),
            Kind::Malformed { problem } => write!(out, "\n  it asked for {asked} with a body that is none: {problem}"),
            _ => Ok(()),
        };
    }
    for (name, text) in [("printed", &run.seen.stdout), ("printed as errors", &run.stderr)] {
        let text: String = run.neutral(text.trim()).chars().take(SHOWN).collect();
        if !text.is_empty() {
            let _ = write!(out, "\n  it {name}: {}", text.replace('\n', "\n    "));
        }
    }
    out
}

/// What was bound to what, and what to do next.
fn summary(probed: &Probed, out: Option<&Path>, program: &Path) -> String {
    let adapter = &probed.adapter;
    let bound = adapter.binding.0.iter().map(|(op, tool)| format!("  {op} is {}\n", tool.tool));
    let unbound = probed.unbound.iter().map(|unbound| format!("  {} is not bound: {}\n", unbound.op, unbound.reason));
    let file = out.map_or("FILE".to_owned(), |path| path.display().to_string());
    let file = if file.contains('/') || file.ends_with(".toml") { file } else { format!("./{file}") };
    let mut words = vec![shell_word(&file)];
    if crate::adapter::Locator::from_env().on_path(&adapter.program).as_deref() != Some(program) {
        words.extend(["--bin".to_owned(), shell_word(&format!("{}={}", adapter.name, program.display()))]);
    }
    format!(
        "{} advertised {} tools:\n{}{}next: slotspec run --agent {}",
        adapter.name,
        probed.advertised.len(),
        bound.collect::<String>(),
        unbound.collect::<String>(),
        words.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_of_a_probe_is_a_case() {
        let case = case().unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!((case.script.turns.len(), case.starts_processes()), (1, false));
    }
}
