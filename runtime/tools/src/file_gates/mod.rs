//! The gates of the tools that read and change files, put around them from outside.
//!
//! A [`Gated`] tool is the tool over a boundary of its own for each run ([`Watched`]), which knows what the run may do:
//!
//! - What a reader opens is noted, and counts as read once the result goes to the model ([`slot_runtime::freshness`]).
//! - What a writer opens must be as the model has seen it, and so must what it replaces, right before it does; and what
//!   parsed before parses after ([`ParseGate`]).
//!
//! No tool knows of it, and nothing here knows what a tool does.

mod parse;
mod rust;

#[cfg(test)]
mod tests;

pub use parse::ParseGate;

use serde_json::{Value, json};
use slot_runtime::{
    approval::Assessment,
    boundary::{
        BoundaryError, Change, ChangeGate, FileBoundary, Listing, Metadata, Narrowed, OpenDir, OpenFile, Pending, Tree,
        Written,
    },
    contract::{
        ApprovalRequirement, BoxFuture, CapabilitySet, Exposure, InterruptBehaviour, Origin, Presentation, Role,
        RunContext, Tool, ToolError, ToolOutput, ToolSpec, ValidationFault,
    },
    freshness::{Freshness, Print, Probe, Stale},
    place::Place,
};
use std::{
    fs::File,
    io::Seek,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// Which gates there are.
#[derive(Clone)]
pub struct FileGates {
    /// What the model has seen of files. Without it, whatever is there may be changed: whoever keeps it lets a
    /// [`Probe`] observe the calls of the session.
    pub freshness: Option<Freshness>,
    /// Whether what parsed must go on parsing.
    pub parse: bool,
    /// Where the session is.
    pub place: Place,
}

impl Default for FileGates {
    fn default() -> Self {
        FileGates { freshness: None, parse: true, place: Place::default() }
    }
}

/// What a tool does with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It shows them.
    Reads,
    /// It changes them.
    Writes,
}

/// How a tool is made over a boundary.
pub type Make = fn(Arc<dyn FileBoundary>) -> Arc<dyn ToolSpec>;

/// What a model must know of each gate before it calls a tool that changes files.
const MUST_BE_FRESH: &str = "A file that exists must have been read in this session, and not have changed since. ";
const MUST_PARSE: &str = "A .rs, .toml or .json file that parses is not changed into one that does not. ";

/// A tool behind the gates.
pub struct Gated {
    /// The tool as it describes itself.
    tool: Arc<dyn ToolSpec>,
    /// Its description, with what the gates ask for.
    description: String,
    make: Make,
    files: Arc<dyn FileBoundary>,
    gates: FileGates,
    uses: Use,
}

impl Gated {
    /// The tool that `make` makes, over these files and behind these gates.
    pub fn tool(files: Arc<dyn FileBoundary>, gates: &FileGates, uses: Use, make: Make) -> Arc<dyn ToolSpec> {
        let tool = make(Arc::clone(&files));
        let description = describe(tool.description(), gates, uses);
        Arc::new(Gated { tool, description, make, files, gates: gates.clone(), uses })
    }

    /// Says in the output which file it shows, if it still is the file that was opened.
    async fn mark(&self, watched: Arc<Watched>, output: &mut ToolOutput) {
        let seen = tokio::task::spawn_blocking(move || watched.seen()).await;
        if let Ok(Some((path, print))) = seen {
            Probe::mark(output, &path, &print);
        }
    }
}

impl Tool for Gated {
    fn name(&self) -> &str {
        self.tool.name()
    }
    fn description(&self) -> &str {
        &self.description
    }
    fn input_schema(&self) -> Value {
        self.tool.input_schema()
    }
    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let watched = Arc::new(Watched {
                files: Arc::clone(&self.files),
                gates: self.gates.clone(),
                uses: self.uses,
                opened: Mutex::default(),
            });
            let tool = (self.make)(Arc::clone(&watched) as Arc<dyn FileBoundary>);
            let mut output = tool.run(input, run).await?;
            if self.uses == Use::Reads && !output.is_error {
                self.mark(watched, &mut output).await;
            }
            Ok(output)
        })
    }
}

impl ToolSpec for Gated {
    fn capabilities(&self) -> CapabilitySet {
        self.tool.capabilities()
    }
    fn origin(&self) -> Origin {
        self.tool.origin()
    }
    fn approval_for_input(&self, input: &Value) -> Option<ApprovalRequirement> {
        self.tool.approval_for_input(input)
    }
    fn assess_input(&self, input: &Value) -> Option<Assessment> {
        self.tool.assess_input(input)
    }
    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        self.tool.validate_input(input)
    }
    fn supports_parallel(&self) -> bool {
        self.tool.supports_parallel()
    }
    fn is_interactive(&self) -> bool {
        self.tool.is_interactive()
    }
    fn is_destructive(&self) -> bool {
        self.tool.is_destructive()
    }
    fn polls(&self) -> bool {
        self.tool.polls()
    }
    fn changes_session_only(&self) -> bool {
        self.tool.changes_session_only()
    }
    fn may_start_early(&self) -> bool {
        self.tool.may_start_early()
    }
    fn interrupt_behaviour(&self) -> InterruptBehaviour {
        self.tool.interrupt_behaviour()
    }
    fn exposure(&self) -> Exposure {
        self.tool.exposure()
    }
    fn role(&self) -> Role {
        self.tool.role()
    }
    fn aliases(&self) -> &[&str] {
        self.tool.aliases()
    }
    fn search_hint(&self) -> Option<&str> {
        self.tool.search_hint()
    }
    fn output_schema(&self) -> Option<Value> {
        self.tool.output_schema()
    }
    fn presentation(&self) -> Presentation {
        self.tool.presentation()
    }
}

/// A description with what the gates ask for, before its examples.
fn describe(description: &str, gates: &FileGates, uses: Use) -> String {
    let (text, examples) = description.split_at(description.rfind("Example").unwrap_or(description.len()));
    let asked = |is_asked: bool, text: &'static str| if is_asked && uses == Use::Writes { text } else { "" };
    let (fresh, parse) = (asked(gates.freshness.is_some(), MUST_BE_FRESH), asked(gates.parse, MUST_PARSE));
    format!("{text}{fresh}{parse}{examples}")
}

/// The files of one run.
struct Watched {
    files: Arc<dyn FileBoundary>,
    gates: FileGates,
    uses: Use,
    /// What a reader opened last.
    opened: Mutex<Option<Opened>>,
}

struct Opened {
    path: PathBuf,
    file: File,
    print: Print,
}

impl Watched {
    /// Notes what a reader opened. What cannot be noted counts as not read, and is read all the same.
    fn note(&self, known: &Freshness, open: &OpenFile) {
        let noted = open.file.try_clone().and_then(|file| {
            let path = self.gates.place.qualified(&open.path);
            let print = known.print(&path, &file)?;
            Ok(Opened { path, file, print })
        });
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = noted.ok();
    }

    /// What the run has read: the file it opened, if that is now what it was then.
    fn seen(&self) -> Option<(PathBuf, Print)> {
        let known = self.gates.freshness.as_ref()?;
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let again = known.print(&opened.path, &opened.file).ok()?;
        (again == opened.print).then_some((opened.path, opened.print))
    }

    fn fresh(&self, path: &str, resolved: &Path, file: &File) -> Result<(), BoundaryError> {
        let Some(known) = &self.gates.freshness else { return Ok(()) };
        known
            .judge(&self.gates.place.qualified(resolved), file)
            .map_err(|stale| BoundaryError::Refused { reason: stale_words(path, &stale) })
    }
}

impl ChangeGate for Watched {
    fn judge(&self, change: &Pending<'_>) -> Result<(), BoundaryError> {
        if let Some(old) = change.old {
            self.fresh(change.path, change.resolved, old)?;
        }
        if self.gates.parse { ParseGate.judge(change) } else { Ok(()) }
    }
}

impl FileBoundary for Watched {
    fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
        let mut open = self.files.open_file(path)?;
        match (self.uses, &self.gates.freshness) {
            (Use::Reads, Some(known)) => self.note(known, &open),
            (Use::Writes, Some(_)) => self.fresh(path, &open.path, &open.file)?,
            (_, None) => return Ok(open),
        }
        // It was read through the same handle.
        let rewound = open.file.rewind();
        rewound.map_err(|source| BoundaryError::Io { path: path.to_owned(), doing: "read", source })?;
        Ok(open)
    }

    fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
        self.files.open_dir(path)
    }

    fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
        self.files.metadata(path)
    }

    fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError> {
        self.files.list_dir_until(path, limit, stop)
    }

    fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
        self.files.tree(path)
    }

    fn change_gated(
        &self,
        changes: &[Change<'_>],
        outer: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError> {
        let written = self.files.change_gated(changes, Some(&Both(self, outer)))?;
        if let Some(known) = &self.gates.freshness {
            for (change, written) in changes.iter().zip(&written) {
                let path = self.gates.place.qualified(&written.path);
                match change {
                    Change::Write { bytes, .. } => known.wrote(&path, bytes),
                    Change::Remove { .. } => known.removed(&path),
                }
            }
        }
        Ok(written)
    }

    fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
        self.files.create_dirs(path)
    }

    fn narrowed(&self, path: &str) -> Result<Narrowed, BoundaryError> {
        self.files.narrowed(path)
    }

    fn administering(&self) -> Arc<dyn FileBoundary> {
        self.files.administering()
    }

    fn remove_tree(&self, path: &str) -> Result<(), BoundaryError> {
        self.files.remove_tree(path)
    }
}

/// A gate, and another one that somebody further out wants as well.
struct Both<'a>(&'a Watched, Option<&'a dyn ChangeGate>);

impl ChangeGate for Both<'_> {
    fn judge(&self, change: &Pending<'_>) -> Result<(), BoundaryError> {
        self.0.judge(change)?;
        self.1.map_or(Ok(()), |outer| outer.judge(change))
    }
}

fn stale_words(path: &str, stale: &Stale) -> String {
    let call = json!({ "path": path });
    match stale {
        Stale::NeverRead => format!(
            "{path} has not been read in this session, so it was not changed: whatever else it holds would be lost or \
             broken. Call read_file with {call} first, then make this change based on what it shows"
        ),
        Stale::Changed => format!(
            "{path} has changed on disk since it was last read, so nothing was changed: that change would be lost. Call \
             read_file with {call} again, then make this change based on what it shows"
        ),
        Stale::Unknown(error) => format!(
            "whether {path} has changed since it was last read could not be told ({error}), so nothing was changed. Call \
             read_file with {call}, then try again"
        ),
    }
}
