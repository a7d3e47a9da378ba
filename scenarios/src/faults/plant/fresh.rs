//! What the reference runtime knows of files, and its gates before them, in the ways in which they go wrong.

use super::Seam;
use serde_json::Value;
use slot_runtime::boundary::{BoundaryError, Change};
use slot_runtime::contract::BoxFuture;
use slot_runtime::dispatch::observe::{Observed, Observer};
use slot_runtime::freshness::{Freshness, Probe, SHELL_PROBE_TOOLS};
use slot_tools::file_gates::FileGates;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The gates, without what the seam leaves out.
pub(super) fn gates(seam: Seam, gates: FileGates) -> FileGates {
    match seam {
        Seam::FreshOff => FileGates { freshness: None, ..gates },
        Seam::ParseOff | Seam::ParseState | Seam::ParseTidies => FileGates { parse: false, ..gates },
        _ => gates,
    }
}

/// Whoever learns from calls, as this seam spoils it.
pub(super) fn observer(seam: Seam, probe: Probe, known: Freshness, root: &Path) -> Arc<dyn Observer> {
    match seam {
        Seam::FreshCommandsRead
        | Seam::FreshAlarm
        | Seam::ProbeOff
        | Seam::ProbeSuccess
        | Seam::ProbeRepeats
        | Seam::ProbeAll => Arc::new(Spoilt { seam, probe, known, root: root.to_owned(), said: Mutex::default() }),
        _ => Arc::new(probe),
    }
}

struct Spoilt {
    seam: Seam,
    probe: Probe,
    known: Freshness,
    root: PathBuf,
    said: Mutex<Option<String>>,
}

impl Spoilt {
    /// A file that is named by a command is taken for one that was read.
    fn read_by_name(&self, command: &str) {
        let words =
            command.split(|c: char| c.is_whitespace() || "';&|<>\"".contains(c)).filter(|word| !word.is_empty());
        for word in words {
            let Ok(file) = std::fs::File::open(self.root.join(word)) else { continue };
            if let Ok(print) = self.known.print(Path::new(word), &file) {
                self.known.saw(Path::new(word), print);
            }
        }
    }
}

impl Observer for Spoilt {
    fn observe<'a>(&'a self, call: Observed<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let is_shell = SHELL_PROBE_TOOLS.contains(&call.tool.name.as_str());
            let text = |field: &str| call.input[field].as_str().unwrap_or_default();
            match self.seam {
                Seam::ProbeOff if is_shell => return None,
                Seam::ProbeSuccess if is_shell && call.facts.get("exit_code").and_then(Value::as_i64) != Some(0) => {
                    return None;
                }
                Seam::FreshCommandsRead if is_shell => self.read_by_name(text("command")),
                // What the model itself wrote counts as written by somebody else.
                Seam::FreshAlarm if call.input.get("content").is_some() || call.input.get("replace").is_some() => {
                    self.known.wrote(Path::new(text("path")), b"something else");
                }
                _ => {}
            }
            let said = self.probe.observe(call).await;
            match self.seam {
                Seam::ProbeRepeats if is_shell => {
                    let mut last = self.said.lock().unwrap_or_else(PoisonError::into_inner);
                    *last = said.or_else(|| last.take());
                    last.clone()
                }
                Seam::ProbeAll => said.map(|said| said.replace("and 2 more", "f.txt, g.txt")),
                _ => said,
            }
        })
    }
}

/// The content that is written in place of what was sent; refused where the seam judges the state of a file alone.
pub(super) fn written(seam: Seam, change: &Change<'_>) -> Result<Option<Vec<u8>>, BoundaryError> {
    let Change::Write { path, bytes, .. } = change else { return Ok(None) };
    if !path.ends_with(".json") {
        return Ok(None);
    }
    let value: Result<Value, _> = serde_json::from_slice(bytes);
    match (seam, value) {
        (Seam::ParseState, Err(_)) => Err(BoundaryError::Refused { reason: format!("{path} would be no valid JSON") }),
        (Seam::ParseTidies, Ok(value)) => Ok(serde_json::to_vec_pretty(&value).ok()),
        _ => Ok(None),
    }
}
