//! Working trees of the reference runtime, in the ways in which they go wrong.

use super::Seam;
use super::wrapped::{Flaws, Wrapped};
use serde_json::{Value, json};
use slot_runtime::boundary::{
    BoundaryError, Change, ChangeGate, FileBoundary, Listing, Metadata, Narrowed, OpenDir, OpenFile, Tree, Written,
};
use slot_runtime::contract::{BoxFuture, RunContext, ToolError, ToolOutput, ToolSpec};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The tool that a seam breaks.
fn broken(seam: Seam) -> Option<&'static str> {
    match seam {
        Seam::TreeByHand => Some("enter_worktree"),
        Seam::TreeDiscards => Some("exit_worktree"),
        Seam::TreeGitAround => Some("git_show"),
        _ => None,
    }
}

/// Whether this seam breaks one of the tools.
pub(super) fn decorates(seam: Seam) -> bool {
    broken(seam).is_some()
}

/// The tools, with the one that the seam breaks replaced.
pub(super) fn plant(seam: Seam, tools: &[Arc<dyn ToolSpec>]) -> Vec<Arc<dyn ToolSpec>> {
    let shell = tools.iter().find(|tool| tool.name() == "exec_shell").map(Arc::clone);
    let plant = |tool: &Arc<dyn ToolSpec>| {
        if broken(seam) == Some(tool.name()) {
            Wrapped::tool(Arc::clone(tool), Broken { seam, shell: shell.clone() })
        } else {
            Arc::clone(tool)
        }
    };
    tools.iter().map(plant).collect()
}

struct Broken {
    seam: Seam,
    /// The way around the tool.
    shell: Option<Arc<dyn ToolSpec>>,
}

impl Flaws for Broken {
    fn run<'a>(
        &'a self,
        inner: &'a dyn ToolSpec,
        input: &'a Value,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match (self.seam, &self.shell) {
                (Seam::TreeByHand, Some(shell)) => {
                    let name = input["name"].as_str().unwrap_or_default();
                    let command = format!("git worktree add -q -b worktree-{name} .worktrees/{name}");
                    shell.run(&json!({ "command": command }), run).await?;
                    inner.run(input, run).await
                }
                (Seam::TreeGitAround, Some(shell)) => {
                    let command = format!("git show {}", input["rev"].as_str().unwrap_or_default());
                    shell.run(&json!({ "command": command }), run).await
                }
                (Seam::TreeDiscards, _) => {
                    inner.run(&json!({ "action": "remove", "discard_changes": true }), run).await
                }
                _ => inner.run(input, run).await,
            }
        })
    }
}

/// A boundary whose narrowed ones go wrong in the way of their seam.
pub(super) struct Trees {
    seam: Seam,
    inner: Arc<dyn FileBoundary>,
    /// The workspace.
    root: PathBuf,
    /// The tree, from the workspace; empty outside of one.
    base: PathBuf,
}

impl Trees {
    pub(super) fn new(seam: Seam, inner: Arc<dyn FileBoundary>, root: &Path) -> Self {
        Trees { seam, inner, root: root.to_owned(), base: PathBuf::new() }
    }

    /// Where this seam takes a path to lie.
    fn at(&self, path: &str) -> String {
        let text = Path::new(path);
        let inside = text.strip_prefix(&self.root).unwrap_or(text);
        if self.base.as_os_str().is_empty() || inside != text {
            return inside.to_string_lossy().into_owned();
        }
        self.base.join(path).to_string_lossy().into_owned()
    }
}

impl FileBoundary for Trees {
    fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
        self.inner.open_file(&self.at(path))
    }

    fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
        self.inner.open_dir(&self.at(path))
    }

    fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
        self.inner.metadata(&self.at(path))
    }

    fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError> {
        self.inner.list_dir_until(&self.at(path), limit, stop)
    }

    fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
        self.inner.tree(&self.at(path))
    }

    fn change_gated(
        &self,
        changes: &[Change<'_>],
        gate: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError> {
        if let [Change::Write { path, bytes, mode, like, permissions }] = changes {
            let path = &self.at(path);
            let change = Change::Write { path, bytes, mode: *mode, like: *like, permissions: *permissions };
            return self.inner.change_gated(&[change], gate);
        }
        self.inner.change_gated(changes, gate)
    }

    fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
        self.inner.create_dirs(&self.at(path))
    }

    fn narrowed(&self, path: &str) -> Result<Narrowed, BoundaryError> {
        let Narrowed { files: _, path } = self.inner.narrowed(path)?;
        let base = if self.seam == Seam::TreePrefix { path.clone() } else { PathBuf::new() };
        let files = Trees { seam: self.seam, inner: Arc::clone(&self.inner), root: self.root.clone(), base };
        Ok(Narrowed { files: Arc::new(files), path })
    }

    fn administering(&self) -> Arc<dyn FileBoundary> {
        self.inner.administering()
    }

    fn remove_tree(&self, path: &str) -> Result<(), BoundaryError> {
        self.inner.remove_tree(path)
    }
}
