//! `cargo run -p benches -- collect | compare`: baselines of what the benches measured. See [`benches::baseline`].

use benches::baseline::{Baseline, BaselineError, compare, write};
use clap::{Parser, Subcommand};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Collects and compares what the benches measured.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Collects criterion's last estimates into a baseline.
    Collect {
        /// What the baseline is of, such as a release.
        label: String,
        /// Where it is written.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Criterion's folder.
        #[arg(long, value_name = "DIR", default_value = "target/criterion")]
        criterion: PathBuf,
        /// Exact counts that belong to it.
        #[arg(long, value_name = "FILE", default_value = "benches/counts.json")]
        counts: PathBuf,
    },
    /// Prints two baselines beside each other as Markdown.
    Compare {
        /// The one to compare with.
        base: PathBuf,
        /// The one that is judged.
        head: PathBuf,
        /// Writes HEAD as github-action-benchmark reads it (customSmallerIsBetter).
        #[arg(long, value_name = "FILE")]
        github: Option<PathBuf>,
        /// Writes HEAD as Bencher reads it (Bencher Metric Format).
        #[arg(long, value_name = "FILE")]
        bencher: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(text) => {
            // A reader that went away is no reason to fail.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "benches: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<String, BaselineError> {
    match command {
        Command::Collect { label, out, criterion, counts } => {
            let baseline = Baseline::collect(&label, &criterion, Some(&counts))?;
            write(&out, &baseline)?;
            Ok(format!("{}: {} times, {} counts\n", out.display(), baseline.times.len(), baseline.counts.len()))
        }
        Command::Compare { base, head, github, bencher } => {
            let (base, head) = (Baseline::read(&base)?, Baseline::read(&head)?);
            if let Some(path) = github {
                write(&path, &head.github())?;
            }
            if let Some(path) = bencher {
                write(&path, &head.bencher())?;
            }
            Ok(compare(&base, &head))
        }
    }
}
