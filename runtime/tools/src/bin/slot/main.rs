//! `slot`: the headless agent over the governed runtime.
//!
//! It owns the command line, what a person sees, and the exit code. It decides nothing about tools.
//!
//! Exit codes: 0 the model was done; 1 a turn could not be had; 2 bad input; 3 the loop guard paused the run; 4 the limit
//! of turns was met; 130 cancelled.

mod ask;
mod files;
mod key;
mod print;
mod signals;

use ask::Terminal;
use clap::{Args, Parser, Subcommand, ValueEnum};
use print::Printer;
use signals::Signals;
use slot_runtime::approval::grants::Remembering;
use slot_runtime::approval::{ApprovalPolicy, AskPerson, DenyAll, NoChannel, PassSuggested, Unattended};
use slot_runtime::boundary::{FileBoundary, Workspace};
use slot_runtime::contract::ToolDispatcher;
use slot_runtime::deny::{DenyPolicy, DenyRules, Guarded, LiveRules, Roots};
use slot_runtime::dispatch::Policies;
use slot_runtime::dispatch::render::Screen;
use slot_runtime::event::EventLog;
use slot_runtime::freshness::{Freshness, Probe};
use slot_runtime::mode::{PlanMode, UserTurns};
use slot_runtime::place::Place;
use slot_runtime::registry::SchemaForm;
use slot_runtime::transport::{Endpoint, HttpLimits, ModelClient, TcpConnector};
use slot_runtime::{Outcome, Session, SessionConfig};
use slot_tools::file_gates::FileGates;
use slot_tools::pool::{LivePool, Mode, PoolSettings};
use slot_tools::session::{Person, SessionHost};
use slot_tools::tool_search::Shelf;
use slot_wire::Dialect;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A headless coding agent over the slot runtime.
#[derive(Parser)]
#[command(name = "slot", version)]
struct Cli {
    /// Reads the API key from this open descriptor, in place of the variable SLOT_API_KEY.
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(i32).range(3..))]
    key_fd: Option<i32>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs one task to its end.
    ///
    /// Exit codes: 0 the model was done; 1 a turn could not be had; 2 bad input; 3 the run was paused because a tool kept
    /// failing; 4 the limit of turns was met; 130 cancelled. The API key is read from the environment variable
    /// SLOT_API_KEY, or from a descriptor. No command that the model runs can read it, nor any other variable that looks
    /// like a secret, unless it runs as root.
    Exec(Box<Exec>),
    /// Lists the folders besides the workspace that tools may use, or adds one.
    ///
    /// The list is a file that outlives sessions; `slot exec --trust FILE` uses it. Nothing but this command and an editor
    /// writes to it.
    Trust(files::Trust),
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
    /// The file that holds what is approved and denied for good; an answer `always` is written to it. It must be there, and
    /// outside of the workspace. What it denies is denied whatever `--approve` says.
    #[arg(long, value_name = "FILE")]
    grants: Option<PathBuf>,
    /// The list of folders besides the workspace that tools may use; see `slot trust`. It must be there, and outside of the
    /// workspace.
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
    /// The folder in which the model may keep what later sessions are to know. Without it nothing is kept.
    #[arg(long, value_name = "DIR")]
    memory: Option<PathBuf>,
    /// The most model turns.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_turns: u32,
    /// Denies what this rule says, whoever would approve it: a tool (`Bash`, `write_file`, `mcp__SERVER`), or some of its
    /// calls (`Bash(git push:*)`, `Read(secrets/**)`). May be given several times. A rule that cannot be read ends the
    /// program before anything is sent.
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// Which tools there are: all, the few of every task, those that only look, or simple steps through one tool alone.
    #[arg(long, value_enum, default_value_t = ModeArg::Standard)]
    mode: ModeArg,
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

#[derive(Clone, Copy, ValueEnum)]
enum ModeArg {
    /// Every tool.
    Standard,
    /// Reading, editing, and commands.
    Simple,
    /// Nothing that changes anything.
    Plan,
    /// Simple steps through `parallel`.
    Wrapper,
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
    let Cli { key_fd, command } = Cli::parse();
    let exec = match command {
        Command::Exec(exec) => exec,
        Command::Trust(trust) => return files::trust(&trust),
    };
    let key = match key::take(key_fd) {
        Ok(key) => key,
        Err(message) => return bad_input(&message),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return bad_input(&format!("cannot start: {error}")),
    };
    match prepare(&exec, key) {
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
fn prepare(exec: &Exec, key: Option<String>) -> Result<(Session, Arc<Printer>), String> {
    if exec.unattended && exec.approve != Approve::Auto {
        return Err("--unattended goes with --approve auto; add it, or leave --unattended out".to_owned());
    }
    if exec.task.trim().is_empty() {
        return Err("the task is empty; say what to do as the last argument".to_owned());
    }
    let endpoint = Endpoint::parse(&exec.base_url).map_err(|e| e.to_string())?;
    let workspace = files::open(exec)?;
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
    let (mode, turns, known) = (PlanMode::default(), UserTurns::default(), Freshness::default());
    let place = Place::default();
    let host = SessionHost {
        person: asks(exec).then(|| Arc::new(Terminal { keeps: exec.grants.is_some() }) as Arc<dyn Person>),
        memory: exec.memory.clone(),
        mode: Some(mode.clone()),
        turns: Some(turns.clone()),
        place: Some(place.clone()),
        gates: FileGates { freshness: Some(known.clone()), ..FileGates::default() },
        ..SessionHost::default()
    };
    let Tools { pool, rules, files } = tools(exec, workspace, &host)?;
    let session = Session::new(
        config,
        client,
        Arc::new(pool),
        Policies {
            approval: remembering(exec)?,
            deny: rules,
            mode: Arc::new(mode),
            observer: Some(Arc::new(Probe::new(known, files, place.clone()))),
            place,
            screen: Some(Arc::clone(&printer) as Arc<dyn Screen>),
            ..Policies::default()
        },
        EventLog::new(Some(Arc::clone(&printer) as Arc<dyn slot_runtime::event::EventSink>)),
        Arc::clone(&printer) as Arc<dyn slot_runtime::session::TurnObserver>,
    );
    Ok((session.counting(turns), printer))
}

/// The tools, what is denied, and the files behind both.
struct Tools {
    pool: LivePool,
    rules: Arc<LiveRules>,
    files: Arc<dyn FileBoundary>,
}

/// The tools, under the rules and in the mode that were asked for.
fn tools(exec: &Exec, workspace: Workspace, host: &SessionHost) -> Result<Tools, String> {
    // Where links in its own path lead does not matter to rules; where files lie does.
    let root = std::fs::canonicalize(&exec.workspace).map_err(|error| format!("cannot use the workspace: {error}"))?;
    let roots = Roots { workspace: Some(root), home: std::env::home_dir() };
    let rules = DenyRules::parse(&exec.deny, roots).map_err(|error| error.to_string())?;
    let rules = Arc::new(LiveRules::new(rules));
    let files: Arc<dyn FileBoundary> = Arc::new(Guarded::new(Arc::new(workspace), Arc::clone(&rules)));
    let mode = match exec.mode {
        ModeArg::Standard => Mode::Standard,
        ModeArg::Simple => Mode::Simple,
        ModeArg::Plan => Mode::Plan,
        ModeArg::Wrapper => Mode::Wrapper,
    };
    let form = if exec.strict_schemas { SchemaForm::Strict } else { SchemaForm::Cleaned };
    let deny = Arc::clone(&rules) as Arc<dyn DenyPolicy>;
    let pool = LivePool::new(
        slot_tools::builtins_for(Arc::clone(&files), std::env::vars_os().collect(), Vec::new(), host),
        PoolSettings { mode, deny, form, ..PoolSettings::default() },
        Shelf::default(),
    );
    let snapshot = pool.snapshot();
    for rule in rules.current().idle(snapshot.tools.values().map(AsRef::as_ref)) {
        print::err(&format!("slot: the deny rule `{rule}` names no tool of this session; check its spelling"));
    }
    Ok(Tools { pool, rules, files })
}

/// The policy with what was decided before, in this session and for good.
fn remembering(exec: &Exec) -> Result<Arc<dyn ApprovalPolicy>, String> {
    let inner = approval(exec);
    let Some(path) = &exec.grants else { return Ok(Arc::new(Remembering::new(inner))) };
    files::outside(path, &exec.workspace, "the grants file")?;
    Ok(Arc::new(Remembering::with_file(inner, path).map_err(|error| error.to_string())?))
}

fn approval(exec: &Exec) -> Arc<dyn ApprovalPolicy> {
    match (exec.approve, exec.unattended) {
        (Approve::Auto, true) => Arc::new(Unattended),
        (Approve::Auto, false) => Arc::new(PassSuggested(NoChannel)),
        (Approve::Deny, _) => Arc::new(DenyAll),
        (Approve::Ask, _) if asks(exec) => Arc::new(AskPerson(Terminal { keeps: exec.grants.is_some() })),
        (Approve::Ask, _) => Arc::new(NoChannel),
    }
}

/// Whether a person is there to be asked.
fn asks(exec: &Exec) -> bool {
    exec.approve == Approve::Ask && std::io::stderr().is_terminal() && Terminal::open().is_some()
}

async fn run(mut session: Session, printer: &Printer, task: &str) -> ExitCode {
    let cancel = CancellationToken::new();
    let watch = tokio::spawn(cancel_on_signal(cancel.clone(), Signals::listen()));
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

/// Cancels on the first signal to end: calls are answered and processes ended. A second one ends the program.
async fn cancel_on_signal(cancel: CancellationToken, mut signals: Signals) {
    signals.next().await;
    cancel.cancel();
    signals.next().await;
    std::process::exit(130);
}
