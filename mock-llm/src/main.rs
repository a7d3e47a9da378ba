//! `mock-llm serve`: a script behind a URL, for an agent in any language.
//!
//! It owns the command line and the exit code; everything else is the library's.

use clap::{Parser, Subcommand};
use mock_llm::script::Call;
use mock_llm::{Config, JournalMode, MockLlm, Script};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Plays a scripted model over HTTP.
#[derive(Parser)]
#[command(name = "mock-llm", version, about)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serves a script until Ctrl-C, then says what was not reached.
    ///
    /// The base URL is the first line on standard output. A gate is opened by POST /mock/gates/NAME. Exit code 0: every
    /// turn was served and nothing else was asked; 1: something was not reached or not foreseen; 2: bad input.
    Serve {
        /// The script, or a case file with a script in it.
        script: PathBuf,
        /// The address to listen on; port 0 takes a free one.
        #[arg(long, default_value = "127.0.0.1:0")]
        addr: SocketAddr,
        /// Writes the wire log here at the end, one JSON object a line.
        #[arg(long)]
        journal: Option<PathBuf>,
        /// What $WORKSPACE stands for in the script; the current folder when it is not given.
        #[arg(long)]
        workspace: Option<String>,
        /// Answers a request that a provider would refuse with the provider's own error.
        #[arg(long)]
        strict: bool,
    },
}

fn main() -> ExitCode {
    let Command::Serve { script, addr, journal, workspace, strict } = Args::parse().command;
    let workspace = workspace.or_else(|| Some(std::env::current_dir().ok()?.to_str()?.to_owned()));
    // Nothing else here reads the journal, so without a file for it a long-lived server keeps no requests.
    let kept = if journal.is_some() { JournalMode::Full } else { JournalMode::Off };
    let mut config = Config { strict, journal: kept, ..Config::default() };
    config.folders.workspace = workspace;
    config.folders.home = std::env::var("HOME").ok();
    let outcome = load(&script).and_then(|script| run(script, addr, journal.as_deref(), config));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("mock-llm: {message}");
            ExitCode::from(2)
        }
    }
}

fn load(path: &Path) -> Result<Script, String> {
    let origin = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{origin}: cannot be read: {error}"))?;
    let script = Script::from_either_toml(&text, &origin).map_err(|error| error.to_string())?;
    let outside = |call: &Call| serde_json::to_string(&call.with).is_ok_and(|with| with.contains("$OUTSIDE"));
    match script.turns.iter().flat_map(|turn| &turn.calls).find(|call| outside(call)) {
        Some(call) => Err(format!("{origin}: call `{}` speaks of $OUTSIDE, which only a harness provides", call.id)),
        None => Ok(script),
    }
}

/// Serves until a signal. `true` when the script was played to its end and nothing else was asked.
fn run(script: Script, addr: SocketAddr, journal: Option<&Path>, config: Config) -> Result<bool, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(1, usize::from).min(2))
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime did not start: {error}"))?;
    runtime.block_on(async {
        let mock = MockLlm::with_config(script, config);
        let listening =
            mock.listen(addr).await.map_err(|error| format!("--addr {addr}: cannot listen there: {error}"))?;
        // A reader that is gone wants no URL; serving goes on for whoever knows the address.
        let _ = writeln!(std::io::stdout(), "{}", listening.base_url());
        let _ = std::io::stdout().flush();
        stopped().await.map_err(|error| format!("no signal can be waited for: {error}"))?;
        listening.stop().await;
        if let Some(path) = journal {
            std::fs::write(path, mock.journal().to_jsonl())
                .map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
        }
        let report = mock.finish();
        let _ = writeln!(std::io::stdout(), "{report}");
        Ok(report.is_clean())
    })
}

/// Waits for Ctrl-C or a request to terminate.
#[cfg(unix)]
async fn stopped() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed,
        _ = terminate.recv() => Ok(()),
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
async fn stopped() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
