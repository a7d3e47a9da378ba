//! `mock-llm serve`: a script or a tape behind a URL, for an agent in any language. `mock-llm record`: makes a tape.
//!
//! It owns the command line and the exit code; everything else is the library's.

use clap::{Parser, Subcommand};
use mock_llm::script::Call;
use mock_llm::{Config, JournalMode, Listening, MockLlm, Recorder, Script, Tape, Upstream};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::runtime::Runtime;

/// Plays a scripted or recorded model over HTTP.
#[derive(Parser)]
#[command(name = "mock-llm", version, about)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serves a script or a tape until Ctrl-C, then says what was not reached.
    ///
    /// The base URL is the first line on standard output. A gate is opened by POST /mock/gates/NAME. Exit code 0: every
    /// turn was served and nothing else was asked; 1: something was not reached or not foreseen; 2: bad input.
    Serve {
        /// The script, a case file with a script in it, or a tape.
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
    /// Forwards to a provider until Ctrl-C, and keeps what it answers as a tape that `serve` plays again.
    ///
    /// The base URL is the first line on standard output. Keys and other fields of requests are never on the tape. Exit
    /// code 0: everything was recorded; 1: something was not; 2: bad input.
    Record {
        /// The base URL of the provider, such as http://127.0.0.1:8000/v1. Plain HTTP only.
        #[arg(long, value_parser = Upstream::parse)]
        upstream: Upstream,
        /// The address to listen on; port 0 takes a free one.
        #[arg(long, default_value = "127.0.0.1:0")]
        addr: SocketAddr,
        /// The tape, a new file; or a folder, which gets a file of its own for each session.
        #[arg(long, default_value = "tape.toml")]
        out: PathBuf,
    },
}

/// What is served.
enum Played {
    Script(Script),
    Tape(Tape),
}

/// Most tapes in one folder.
const MOST_TAPES: usize = 1_000;

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Serve { script, addr, journal, workspace, strict } => {
            let config = config(journal.is_some(), workspace, strict);
            load(&script).and_then(|played| serve(played, addr, journal.as_deref(), config))
        }
        Command::Record { upstream, addr, out } => create(&out).and_then(|file| record(upstream, addr, file)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("mock-llm: {message}");
            ExitCode::from(2)
        }
    }
}

fn config(journal: bool, workspace: Option<String>, strict: bool) -> Config {
    let workspace = workspace.or_else(|| Some(std::env::current_dir().ok()?.to_str()?.to_owned()));
    // Nothing else here reads the journal, so without a file for it a long-lived server keeps no requests.
    let kept = if journal { JournalMode::Full } else { JournalMode::Off };
    let mut config = Config { strict, journal: kept, ..Config::default() };
    config.folders.workspace = workspace;
    config.folders.home = std::env::var("HOME").ok();
    config
}

fn load(path: &Path) -> Result<Played, String> {
    let origin = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{origin}: cannot be read: {error}"))?;
    if Tape::is_tape(&text) {
        return Tape::from_toml(&text, &origin).map(Played::Tape).map_err(|error| error.to_string());
    }
    let script = Script::from_either_toml(&text, &origin).map_err(|error| error.to_string())?;
    let outside = |call: &Call| serde_json::to_string(&call.with).is_ok_and(|with| with.contains("$OUTSIDE"));
    match script.turns.iter().flat_map(|turn| &turn.calls).find(|call| outside(call)) {
        Some(call) => Err(format!("{origin}: call `{}` speaks of $OUTSIDE, which only a harness provides", call.id)),
        None => Ok(Played::Script(script)),
    }
}

/// Serves until a signal. `true` when what is played was played to its end and nothing else was asked.
fn serve(played: Played, addr: SocketAddr, journal: Option<&Path>, config: Config) -> Result<bool, String> {
    let mock = match played {
        Played::Script(script) => MockLlm::with_config(script, config),
        Played::Tape(tape) => MockLlm::replay(tape, config),
    };
    runtime()?.block_on(until_stopped(mock.listen(addr), addr, "/v1"))?;
    if let Some(path) = journal {
        std::fs::write(path, mock.journal().to_jsonl())
            .map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
    }
    let report = mock.finish();
    let _ = writeln!(std::io::stdout(), "{report}");
    Ok(report.is_clean())
}

/// Records until a signal. `true` when all of it is on the tape.
fn record(upstream: Upstream, addr: SocketAddr, (file, path): (File, PathBuf)) -> Result<bool, String> {
    let prefix = upstream.path().to_owned();
    let recorder = Recorder::new(upstream, file)
        .map_err(|error| format!("--out {}: cannot be written: {error}", path.display()))?;
    runtime()?.block_on(until_stopped(recorder.listen(addr), addr, &prefix))?;
    let recorded = recorder.recorded();
    let _ = writeln!(std::io::stdout(), "{}: {recorded}", path.display());
    Ok(recorded.problems.is_empty())
}

/// Makes the file of a tape. Nothing that is there is overwritten.
fn create(out: &Path) -> Result<(File, PathBuf), String> {
    let wrong = |error: std::io::Error| {
        let fix = if error.kind() == ErrorKind::AlreadyExists { "; give the name of a new file" } else { "" };
        format!("--out {}: cannot be made: {error}{fix}", out.display())
    };
    if !out.is_dir() {
        return File::create_new(out).map(|file| (file, out.to_owned())).map_err(wrong);
    }
    for number in 1..=MOST_TAPES {
        let path = out.join(format!("tape-{number:03}.toml"));
        match File::create_new(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(wrong(error)),
        }
    }
    Err(format!("--out {}: the folder holds {MOST_TAPES} tapes; give another", out.display()))
}

fn runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        // More threads than processors only take turns.
        .worker_threads(std::thread::available_parallelism().map_or(1, usize::from).min(2))
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime did not start: {error}"))
}

/// Says the base URL, serves until a signal, and lets responses under way come to their end.
async fn until_stopped(
    listening: impl Future<Output = std::io::Result<Listening>>,
    addr: SocketAddr,
    path: &str,
) -> Result<(), String> {
    let listening = listening.await.map_err(|error| format!("--addr {addr}: cannot listen there: {error}"))?;
    // A reader that is gone wants no URL; serving goes on for whoever knows the address.
    let _ = writeln!(std::io::stdout(), "http://{}{path}", listening.addr());
    let _ = std::io::stdout().flush();
    stopped().await.map_err(|error| format!("no signal can be waited for: {error}"))?;
    listening.stop().await;
    Ok(())
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
