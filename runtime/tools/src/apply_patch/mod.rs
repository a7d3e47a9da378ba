//! `apply_patch`: many places in many files, all of them or none.
//!
//! What a patch says and where it fits is decided in [`patch`], which knows no file; here are the input, the plan over
//! several files, and the texts. The boundary makes the changes together.

pub mod patch;

mod words;

use crate::{
    edit_file::content,
    input::{fault, invalid, optional_count, optional_text, text},
    over_files::{Does, FileTool, OverFiles},
    work::refused,
};
use patch::{Action, FilePatch, MOST_FUZZ, apply, created, parse};
use serde_json::{Value, json};
use slot_runtime::{
    boundary::{BoundaryError, Change, FileBoundary, Permissions, WriteMode},
    contract::{ToolError, ValidationFault},
};
use std::path::{Component, Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// How far from its line a hunk is looked for where nothing is said.
const FUZZ: u64 = 3;

const DESCRIPTION: &str = "\
Apply a patch to files of the workspace: many places, in one file or in several, all of them or none. Use this instead of \
patch or git apply in exec_shell, and instead of many edit_file calls. patch is a unified diff (--- a/PATH, +++ b/PATH, @@ \
-LINE,COUNT +LINE,COUNT @@; /dev/null for a file that is made or removed), or has the form *** Begin Patch, *** Update \
File: PATH (or *** Add File, *** Delete File, with *** Move to: PATH), @@, *** End Patch, which needs no line numbers. Copy \
the lines that stay and go verbatim from a prior read_file result, three around each change. A hunk that does not fit on its \
line is looked for up to fuzz lines away (3 when absent, 50 at most) and must then fit in one place alone; blanks at the \
ends of lines are not compared. Lines that stay, their CRLF and a missing newline at the end stay as they are. A file that \
is added or moved to must not exist. The lines of git may move a file or change its mode (100644, 100755); binary sections \
are refused. Do not use it for a single small change, or to replace a whole file. \
Example: {\"patch\": \"--- a/src/main.rs\\n+++ b/src/main.rs\\n@@ -3,3 +3,3 @@\\n fn main() {\\n-    run(80);\\n+    \
run(8080);\\n }\\n\"}.";

/// What was asked for.
struct Request<'a> {
    files: Vec<FilePatch<'a>>,
    fuzz: usize,
}

impl<'a> Request<'a> {
    fn of(input: &'a Value) -> Result<Request<'a>, ValidationFault> {
        let fuzz = optional_count(input, "fuzz", 0)?.unwrap_or(FUZZ);
        let fuzz = usize::try_from(fuzz).ok().filter(|fuzz| *fuzz <= MOST_FUZZ).ok_or_else(|| {
            fault("fuzz", format!("fuzz is the number of lines a hunk may have moved by, {MOST_FUZZ} at most"))
        })?;
        let files = parse(text(input, "patch")?, optional_text(input, "path")?)
            .map_err(|problem| fault("patch", format!("line {} of the patch: {}", problem.line, problem.reason)))?;
        Ok(Request { files, fuzz })
    }
}

/// The tool.
pub type ApplyPatch = OverFiles<Patch>;

/// What it is.
pub struct Patch;

impl FileTool for Patch {
    const NAME: &'static str = "apply_patch";
    const DESCRIPTION: &'static str = DESCRIPTION;
    const HINT: &'static str = "diff hunk unified git apply change several files rename delete";
    const SHOWN: [&'static str; 2] = ["Apply patch", "Patching files"];
    const DOES: Does = Does::Changes;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "patch": { "type": "string", "description": "The patch, whole." },
                "path": {
                    "type": "string",
                    "description": "The file, relative to the workspace, for a patch that has hunks and names no file.",
                },
                "fuzz": {
                    "type": "integer", "minimum": 0, "maximum": MOST_FUZZ,
                    "description": "By how many lines a hunk may have moved: 3 when absent.",
                },
            },
            "required": ["patch"],
            "additionalProperties": false,
        })
    }

    fn check(input: &Value) -> Result<(), ValidationFault> {
        Request::of(input).map(drop)
    }

    fn act(files: &dyn FileBoundary, input: &Value, _: &CancellationToken) -> Result<String, ToolError> {
        patch_files(files, &Request::of(input).map_err(invalid)?)
    }
}

/// A file that the patch touches, as it will be.
struct Touched {
    /// As the patch names it first.
    path: String,
    /// Where it is, if it is there.
    resolved: Option<PathBuf>,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    /// The file it was moved from.
    like: Option<String>,
    /// Whether it can be run, where the patch says so.
    executable: Option<bool>,
}

impl Touched {
    /// What comes under its name after this is another file.
    fn gone(&mut self) {
        (self.after, self.like, self.executable) = (None, None, None);
    }
}

/// All files that the patch touches, in its order.
struct Plan<'a> {
    boundary: &'a dyn FileBoundary,
    touched: Vec<Touched>,
    /// What is told of each section.
    told: Vec<String>,
}

fn patch_files(boundary: &dyn FileBoundary, request: &Request<'_>) -> Result<String, ToolError> {
    let mut plan = Plan { boundary, touched: Vec::new(), told: Vec::new() };
    for file in &request.files {
        plan.section(file, request.fuzz)?;
    }
    // Files are written before any is removed, so that what a new one is like is still there.
    let write = |file: &'_ Touched| file.after.is_some() && (file.after != file.before || file.executable.is_some());
    let writes = plan.touched.iter().filter(|file| write(file)).map(|file| Change::Write {
        path: &file.path,
        bytes: file.after.as_deref().unwrap_or_default(),
        mode: if file.before.is_some() { WriteMode::Overwrite } else { WriteMode::Create },
        like: file.like.as_deref(),
        permissions: file.executable.map_or(Permissions::Kept, Permissions::Executable),
    });
    let removes = plan.touched.iter().filter(|file| file.before.is_some() && file.after.is_none());
    let changes: Vec<Change<'_>> = writes.chain(removes.map(|file| Change::Remove { path: &file.path })).collect();
    boundary.change_all(&changes).map_err(refused)?;
    Ok(words::done(&plan.told, changes.is_empty()))
}

impl Plan<'_> {
    fn section(&mut self, file: &FilePatch<'_>, fuzz: usize) -> Result<(), ToolError> {
        match &file.action {
            Action::Create { path } => {
                let index = self.absent(path)?;
                (self.touched[index].after, self.touched[index].executable) =
                    (Some(created(&file.hunks)), file.executable);
                self.told.push(format!("A {path}{}", words::mode(file.executable)));
            }
            Action::Delete { path, blind } => {
                let index = self.present(path)?;
                if !blind {
                    let left = self.applied(index, path, file, fuzz)?;
                    if !left.is_empty() {
                        return Err(ToolError::InvalidInput(words::not_all(path)));
                    }
                }
                self.touched[index].gone();
                self.told.push(format!("D {path}"));
            }
            Action::Update { path, to } => {
                let index = self.present(path)?;
                let new = self.applied(index, path, file, fuzz)?;
                let executable = file.executable.or(self.touched[index].executable);
                let what = format!("{}{}", words::hunks(file.hunks.len()), words::mode(file.executable));
                let Some(to) = to else {
                    (self.touched[index].after, self.touched[index].executable) = (Some(new), executable);
                    self.told.push(format!("M {path}{what}"));
                    return Ok(());
                };
                let target = self.absent(to)?;
                let from = &mut self.touched[index];
                let like = if from.before.is_some() { Some(from.path.clone()) } else { from.like.take() };
                from.gone();
                let moved = &mut self.touched[target];
                (moved.after, moved.like, moved.executable) = (Some(new), like, executable);
                self.told.push(format!("R {path} -> {to}{what}"));
            }
        }
        Ok(())
    }

    /// The file at `path` with the hunks of a section in it.
    fn applied(&mut self, index: usize, path: &str, file: &FilePatch<'_>, fuzz: usize) -> Result<Vec<u8>, ToolError> {
        let now = self.touched[index].after.as_deref().unwrap_or_default();
        let applied = apply(now, &file.hunks, fuzz)
            .map_err(|misfit| ToolError::InvalidInput(words::misfit(path, &misfit, fuzz)))?;
        let moved = (1..).zip(&applied.drifts).filter(|(_, drift)| **drift != 0);
        self.told.extend(moved.map(|(hunk, drift)| words::moved(path, hunk, *drift)));
        Ok(applied.bytes)
    }

    /// The file at `path`, which must be there.
    fn present(&mut self, path: &str) -> Result<usize, ToolError> {
        let index = self.look(path)?;
        match self.touched[index].after {
            Some(_) => Ok(index),
            None => Err(ToolError::NotFound(words::absent(path))),
        }
    }

    /// The place of `path`, where nothing may be.
    fn absent(&mut self, path: &str) -> Result<usize, ToolError> {
        let index = self.look(path)?;
        match self.touched[index].after {
            None => Ok(index),
            Some(_) => Err(ToolError::InvalidInput(words::exists(path))),
        }
    }

    fn look(&mut self, path: &str) -> Result<usize, ToolError> {
        let resolved = match self.boundary.metadata(path) {
            Ok(metadata) => Some(metadata.path),
            Err(BoundaryError::NotFound { .. }) => None,
            Err(error) => return Err(refused(error)),
        };
        let known = self.touched.iter().position(|file| match &resolved {
            Some(resolved) => file.resolved.as_ref() == Some(resolved),
            None => file.resolved.is_none() && plain(&file.path).eq(plain(path)),
        });
        if let Some(index) = known {
            return Ok(index);
        }
        let before = match &resolved {
            Some(_) => Some(content(path, self.boundary.open_file(path).map_err(refused)?)?),
            None => None,
        };
        let (path, after) = (path.to_owned(), before.clone());
        self.touched.push(Touched { path, resolved, after, before, like: None, executable: None });
        Ok(self.touched.len() - 1)
    }
}

/// The names of a path without the points that stand for where they are.
fn plain(path: &str) -> impl Iterator<Item = Component<'_>> {
    Path::new(path).components().filter(|part| *part != Component::CurDir)
}

#[cfg(test)]
mod tests;
