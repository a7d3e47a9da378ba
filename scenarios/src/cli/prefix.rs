//! `slotspec prefix`: what captured requests repeat of each other, and what a provider's cache makes of it.

use crate::prefix::{Capture, capture, providers, report, table};
use clap::Args;
use slot_oracles::prefix::Provider;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `prefix` is told.
#[derive(Args)]
pub struct PrefixArgs {
    /// Captured requests, one JSON object a line: request bodies, {"path": …, "body": …}, or a journal of mock-llm; `-`
    /// for the standard input. {"declared": "compaction"} declares that the next request need not repeat.
    #[arg(required = true, value_name = "CAPTURE.jsonl")]
    captures: Vec<PathBuf>,
    /// Prints the report as JSON.
    #[arg(long)]
    json: bool,
    /// Only the caches of these providers, by their names in the table.
    #[arg(long, value_name = "ID")]
    provider: Vec<String>,
    /// The rules of the providers from this file in place of the built-in ones.
    #[arg(long, value_name = "FILE.toml")]
    table: Option<PathBuf>,
}

/// Meters captures. The error is bad input.
pub fn prefix(args: &PrefixArgs) -> Result<ExitCode, String> {
    let providers = chosen(args)?;
    let mut all = Capture::default();
    for path in &args.captures {
        let name = path.display().to_string();
        let text = read(path).map_err(|error| format!("{name}: cannot be read: {error}"))?;
        all.append(Capture::read(&name, &text).map_err(|error| error.to_string())?);
    }
    let told = report(&all, &providers);
    let text = match args.json {
        true => serde_json::to_string_pretty(&told).map_err(|error| error.to_string())? + "\n",
        false => crate::prefix::report::text(&told),
    };
    super::print(&text)?;
    Ok(if told.undeclared() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(args: &PrefixArgs) -> Result<Vec<Provider>, String> {
    let all = match &args.table {
        None => providers(),
        Some(path) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: cannot be read: {error}"))?;
            table::read(&name, &text).map_err(|problems| problems.to_string())?
        }
    };
    let known: Vec<&str> = all.iter().map(|provider| provider.id.as_str()).collect();
    if let Some(id) = args.provider.iter().find(|id| !known.contains(&id.as_str())) {
        return Err(format!("there is no provider {id:?}; {}", crate::source::did_you_mean(id, &known)));
    }
    let wanted = |provider: &Provider| args.provider.is_empty() || args.provider.contains(&provider.id);
    Ok(all.iter().filter(|provider| wanted(provider)).cloned().collect())
}

/// Reads a file, or the standard input, up to the limit of a capture.
fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let source: Box<dyn std::io::Read> = match path.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(std::fs::File::open(path)?),
    };
    source.take(capture::MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > capture::MOST_BYTES {
        let limit = format!("it has more than {} bytes; cut it into sessions", capture::MOST_BYTES);
        return Err(std::io::Error::other(limit));
    }
    Ok(text)
}
