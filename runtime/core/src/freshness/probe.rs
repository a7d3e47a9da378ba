//! What freshness has to do with calls: reads that count, and a look at the files after commands.

use super::{Freshness, MOST_TOLD, Print, READS, SHELL_PROBE_TOOLS};
use crate::boundary::FileBoundary;
use crate::contract::{BoxFuture, ToolOutput};
use crate::dispatch::observe::{Observed, Observer};
use crate::place::Place;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Where a tool that shows a file says so, for [`Probe`].
const SEEN: &str = "file_seen";

/// What a command says that has not ended.
const RUNNING: &str = "Running";

/// Watches the calls of a session for a [`Freshness`].
#[derive(Clone)]
pub struct Probe {
    known: Freshness,
    files: Arc<dyn FileBoundary>,
    place: Place,
}

impl Probe {
    /// A probe that looks at files through this boundary, which is that of the workspace, for a session that is at `place`.
    pub fn new(known: Freshness, files: Arc<dyn FileBoundary>, place: Place) -> Self {
        Probe { known, files, place }
    }

    /// Says in the facts of an output that it shows the file at this resolved path, as the workspace names it.
    pub fn mark(output: &mut ToolOutput, path: &Path, print: &Print) {
        let seen = serde_json::to_value((path, print));
        // A name that is no text cannot be written down; its file counts as not read.
        seen.ok().map(|seen| output.metadata.insert(SEEN.to_owned(), seen));
    }
}

impl Observer for Probe {
    fn observe<'a>(&'a self, call: Observed<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let name = call.tool.name.as_str();
            if !call.tool.origin.is_builtin() {
                return None;
            }
            if READS.contains(&name) && call.reaches_model {
                let seen = call.facts.get(SEEN).cloned().and_then(|seen| serde_json::from_value(seen).ok());
                if let Some((path, print)) = seen {
                    let (path, print): (PathBuf, Print) = (path, print);
                    self.known.saw(&path, print);
                }
            }
            let ended = call.facts.get("status").and_then(Value::as_str) != Some(RUNNING);
            if !SHELL_PROBE_TOOLS.contains(&name) || !ended {
                return None;
            }
            let probe = self.clone();
            let drifted = tokio::task::spawn_blocking(move || probe.known.drifted(probe.files.as_ref(), &probe.place));
            told(&drifted.await.unwrap_or_default())
        })
    }
}

/// What the model is told of files that have changed.
fn told(drifted: &[PathBuf]) -> Option<String> {
    if drifted.is_empty() {
        return None;
    }
    // A name may hold anything; what is told is one line.
    let shown = |path: &PathBuf| path.display().to_string().escape_debug().to_string();
    let mut paths: Vec<String> = drifted.iter().take(MOST_TOLD).map(shown).collect();
    if drifted.len() > MOST_TOLD {
        paths.push(format!("and {} more", drifted.len() - MOST_TOLD));
    }
    Some(format!(
        "Files changed on disk since they were last read, possibly by this command: {}. Read them again with read_file before \
         you change them",
        paths.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(paths: &[&str], expect: Option<&str>) {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let told = told(&paths);
        assert_eq!(told.as_deref().map(|text| text.split(": ").nth(1).expect("a list")), expect);
    }

    #[test]
    fn at_most_five_paths_are_told_on_one_line() {
        check(&[], None);
        check(&["a"], Some("a. Read them again with read_file before you change them"));
        check(
            &["1", "2", "3", "4", "5", "6", "7"],
            Some("1, 2, 3, 4, 5, and 2 more. Read them again with read_file before you change them"),
        );
        check(&["a\n]\u{1b}[0mb"], Some("a\\n]\\u{1b}[0mb. Read them again with read_file before you change them"));
    }
}
