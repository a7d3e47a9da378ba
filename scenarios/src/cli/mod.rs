//! The command line. It reads flags and files, calls the library, prints, and chooses the exit code; it decides nothing.
//!
//! Exit codes: 0 every rule that must be kept is kept; 1 one is not, or nothing can be said of one; 2 bad input; 130
//! interrupted.

mod agent;
mod explain;
mod prefix;
mod probe;
mod run;
mod self_test;
mod show;

use crate::case::{Library, LibraryError};
use crate::schema::Format;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Bad input.
const BAD_INPUT: u8 = 2;

/// Judges coding-agent tool runtimes against a scripted model: a verdict for each rule, and a replay for each failure.
#[derive(Parser)]
#[command(name = "slotspec", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs cases and prints a verdict for each rule.
    ///
    /// Exit codes: 0 every rule that must be kept is kept; 1 one is not, or nothing can be said of one; 2 bad input; 130
    /// interrupted.
    Run(Box<run::RunArgs>),
    /// Runs an agent once, looks at the tools it sends, and writes an adapter that `run --agent FILE` takes.
    ///
    /// Exit codes: 0 the adapter is written; 1 the agent showed no tools; 2 bad input; 130 interrupted.
    Probe(Box<probe::ProbeArgs>),
    /// Lists rules and cases.
    List(ListArgs),
    /// Explains a rule or a case.
    Explain(ExplainArgs),
    /// Shows the exact bytes that the mock sends in a case, with every write marked.
    Show(show::ShowArgs),
    /// Meters captured requests: what each repeats of the one before it, what broke that, and what caches make of it.
    ///
    /// Exit codes: 0 every request repeats the one before it, or a declared event says why not; 1 one does not; 2 bad input.
    Prefix(prefix::PrefixArgs),
    /// Plants faults and demands that each turns its rule red: the suite's own test. Prints the kill matrix.
    ///
    /// Exit codes: 0 every fault was found and every rule that must be kept has one; 1 not so; 2 bad input; 130
    /// interrupted.
    SelfTest(self_test::SelfTestArgs),
    /// A small agent with one flaw, for the self-test.
    #[command(hide = true)]
    NaiveAgent(self_test::NaiveArgs),
    /// Prints the JSON Schema of a file format, for editors.
    Schema {
        /// Which format.
        #[arg(value_enum)]
        format: Format,
    },
}

/// Where rules and cases come from.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Sources {
    /// Rules from this folder in place of the built-in ones.
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Cases from this folder, or the one case of this file, in place of the built-in ones.
    #[arg(long, value_name = "DIR|FILE")]
    cases: Option<PathBuf>,
}

impl Sources {
    fn load(&self) -> Result<Library, LibraryError> {
        match &self.cases {
            Some(path) if path.is_file() => Library::load_case(self.rules.as_deref(), path),
            cases => Library::load(self.rules.as_deref(), cases.as_deref()),
        }
    }
}

#[derive(Args)]
struct ListArgs {
    /// What is listed; both when absent.
    #[arg(value_enum)]
    what: Option<Listed>,
    #[command(flatten)]
    sources: Sources,
}

/// What can be listed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Listed {
    /// The rules.
    Rules,
    /// The cases and their twins.
    Cases,
}

#[derive(Args)]
struct ExplainArgs {
    /// A rule such as PAIR-01, a case such as pair/two-calls, or a twin such as pair/two-calls@one-fails.
    id: String,
    #[command(flatten)]
    sources: Sources,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let code = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Probe(args) => probe::probe(&args),
        Command::List(args) => list(&args),
        Command::Explain(args) => explain(&args),
        Command::Show(args) => show::show(&args),
        Command::Prefix(args) => prefix::prefix(&args),
        Command::SelfTest(args) => self_test::self_test(&args),
        Command::NaiveAgent(args) => Ok(self_test::naive_agent(&args)),
        Command::Schema { format } => print(&format!("{:#}\n", crate::schema::of(format).to_value())),
    };
    code.unwrap_or_else(|problem| {
        eprintln!("{problem}");
        ExitCode::from(BAD_INPUT)
    })
}

/// Prints to the standard output. A reader that went away is no error.
fn print(text: &str) -> Result<ExitCode, String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("cannot print: {error}")),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn list(args: &ListArgs) -> Result<ExitCode, String> {
    let library = args.sources.load().map_err(|error| error.to_string())?;
    let mut out = String::new();
    if args.what != Some(Listed::Cases) {
        for booked in library.rules.iter() {
            let rule = &booked.rule;
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "{:<8} {:<6} {:<9} {:<7} {}",
                rule.id, rule.level, rule.profile, rule.observer, rule.title
            );
        }
    }
    if args.what != Some(Listed::Rules) {
        if !out.is_empty() {
            out.push('\n');
        }
        let width = library.all().map(|case| case.id.chars().count()).max().unwrap_or_default();
        for case in library.all() {
            let _ = writeln!(out, "{:<width$}  {}", case.id, case.title);
        }
    }
    print(&out)
}

fn explain(args: &ExplainArgs) -> Result<ExitCode, String> {
    let library = args.sources.load().map_err(|error| error.to_string())?;
    match explain::explain(&library, &args.id) {
        Some(text) => print(&text),
        None => {
            let mut known: Vec<&str> = library.rules.ids();
            known.extend(library.all().map(|case| case.id.as_str()));
            let fix = match crate::source::nearest(&args.id, &known) {
                Some(near) => format!("did you mean {near:?}?"),
                None => "see slotspec list".to_owned(),
            };
            Err(format!("there is no rule and no case {:?}; {fix}", args.id))
        }
    }
}
