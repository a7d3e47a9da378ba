//! `slot`: the headless agent over the governed runtime.
//!
//! It owns the command line, what a person sees, and the exit code. It decides nothing about tools.
//!
//! Exit codes: 0 the model was done; 1 a turn could not be had; 2 bad input; 3 the loop guard paused the run; 4 the limit
//! of turns was met; 130 cancelled.

mod ask;
mod print;

use ask::Terminal;
use clap::{Args, Parser, Subcommand, ValueEnum};
use print::Printer;
use slot_runtime::approval::{ApprovalPolicy, AskPerson, DenyAll, NoChannel, PassSuggested, Unattended};
use slot_runtime::boundary::Workspace;
use slot_runtime::dispatch::Policies;
use slot_runtime::event::EventLog;
use slot_runtime::registry::{Registry, SchemaForm};
use slot_runtime::transport::{Endpoint, HttpLimits, ModelClient, TcpConnector};
use slot_runtime::{Outcome, Session, SessionConfig};
use slot_wire::Dialect;
use std::{io::IsTerminal, path::PathBuf, process::ExitCode, sync::Arc};
use tokio_util::sync::CancellationToken;

/// The environment variable that holds the API key. Nothing else is read for it, and it is never printed or logged.
const KEY_VARIABLE: &str = "SLOT_API_KEY";

/// A headless coding agent over the slot runtime.
#[derive(Parser)]
#[command(name = "slot", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs one task to its end.
    ///
    /// Exit codes: 0 the model was done; 1 a turn could not be had; 2 bad input; 3 the run was paused because a tool kept
    /// failing; 4 the limit of turns was met; 130 cancelled. The API key is read from the environment variable SLOT_API_KEY only.
    Exec(Exec),
}

#[derive(Args)]
struct Exec {
    /// The dialect that the model server speaks.
    #[arg(long, value_enum, default_value_t = DialectArg::Chat)]
    dialect: DialectArg,
    /// The model server, such as http://127.0.0.1:8080/v1.
    #[arg(long, value_name = "URL")]
    base_url: String,
    /// The model's name.
    #[arg(long)]
    model: String,
    /// The folder that the tools work in, and cannot leave.
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,
    /// What happens to calls that need approval. `auto` passes suggested ones (files) and denies required ones (code);
    /// `ask` asks on the terminal and denies where there is none; `deny` denies.
    #[arg(long, value_enum, default_value_t = Approve::Ask)]
    approve: Approve,
    /// With `--approve auto`: passes calls that require approval as well. Only for a machine that may be lost.
    #[arg(long)]
    unattended: bool,
    /// The most model turns.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_turns: u32,
    /// Advertises tools in the strict form that some providers require, where their schemas can be said in it.
    #[arg(long)]
    strict_schemas: bool,
    /// Prints events as JSON lines instead of text for a person.
    #[arg(long)]
    json: bool,
    /// What to do.
    task: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum DialectArg {
    /// OpenAI Chat Completions.
    Chat,
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Approve {
    /// Pass suggested calls, deny required ones.
    Auto,
    /// Ask on the terminal.
    Ask,
    /// Deny.
    Deny,
}

fn main() -> ExitCode {
    let Command::Exec(exec) = Cli::parse().command;
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return bad_input(&format!("cannot start: {error}")),
    };
    match prepare(&exec) {
        Ok((session, printer)) => {
            let code = runtime.block_on(run(session, &printer, &exec.task));
            // A question that was cancelled may still wait for a line; the program does not.
            runtime.shutdown_background();
            code
        }
        Err(message) => bad_input(&message),
    }
}

fn bad_input(message: &str) -> ExitCode {
    print::err(&format!("slot: {message}"));
    ExitCode::from(2)
}

/// Everything that can be wrong with the input, judged before anything is sent.
fn prepare(exec: &Exec) -> Result<(Session, Arc<Printer>), String> {
    if exec.unattended && exec.approve != Approve::Auto {
        return Err("--unattended goes with --approve auto; add it, or leave --unattended out".to_owned());
    }
    if exec.task.trim().is_empty() {
        return Err("the task is empty; say what to do as the last argument".to_owned());
    }
    let endpoint = Endpoint::parse(&exec.base_url).map_err(|e| e.to_string())?;
    let workspace = Workspace::open(&exec.workspace)
        .map_err(|e| format!("cannot use {} as the workspace: {e}", exec.workspace.display()))?;
    let key = std::env::var(KEY_VARIABLE).ok().filter(|key| !key.is_empty());
    let printer = Arc::new(Printer::new(exec.json));
    let client = ModelClient::new(Arc::new(TcpConnector), endpoint, key, HttpLimits::default());
    let dialect = match exec.dialect {
        DialectArg::Chat => Dialect::Chat,
        DialectArg::Anthropic => Dialect::Anthropic,
        DialectArg::Responses => Dialect::Responses,
    };
    let config = SessionConfig {
        system: slot_tools::SYSTEM_TEXT.to_owned(),
        max_turns: exec.max_turns,
        ..SessionConfig::new(&exec.model, dialect)
    };
    let form = if exec.strict_schemas { SchemaForm::Strict } else { SchemaForm::Cleaned };
    let session = Session::new(
        config,
        client,
        Arc::new(Registry::in_form(slot_tools::builtins(Arc::new(workspace)), form)),
        Policies { approval: approval(exec), ..Policies::default() },
        EventLog::new(Some(Arc::clone(&printer) as Arc<dyn slot_runtime::event::EventSink>)),
        Arc::clone(&printer) as Arc<dyn slot_runtime::session::TurnObserver>,
    );
    Ok((session, printer))
}

fn approval(exec: &Exec) -> Arc<dyn ApprovalPolicy> {
    match (exec.approve, exec.unattended) {
        (Approve::Auto, true) => Arc::new(Unattended),
        (Approve::Auto, false) => Arc::new(PassSuggested(NoChannel)),
        (Approve::Deny, _) => Arc::new(DenyAll),
        (Approve::Ask, _) if std::io::stderr().is_terminal() && Terminal::open().is_some() => {
            Arc::new(AskPerson(Terminal))
        }
        (Approve::Ask, _) => Arc::new(NoChannel),
    }
}

async fn run(mut session: Session, printer: &Printer, task: &str) -> ExitCode {
    let cancel = CancellationToken::new();
    let watch = tokio::spawn(cancel_on_signal(cancel.clone()));
    let outcome = session.run(task, &cancel).await;
    watch.abort();
    printer.outcome(&outcome);
    ExitCode::from(match outcome {
        Outcome::Completed { .. } => 0,
        Outcome::Failed { .. } => 1,
        Outcome::Paused { .. } => 3,
        Outcome::TurnLimit { .. } => 4,
        Outcome::Cancelled => 130,
    })
}

/// Cancels on the first Ctrl-C or SIGTERM: calls are answered and processes ended. A second one ends the program.
async fn cancel_on_signal(cancel: CancellationToken) {
    wait_for_signal().await;
    cancel.cancel();
    wait_for_signal().await;
    std::process::exit(130);
}

#[cfg(unix)]
async fn wait_for_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        // Without a handler the signal ends the program as it always did.
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}

#[cfg(not(unix))]
async fn wait_for_signal() {
    drop(tokio::signal::ctrl_c().await);
}
