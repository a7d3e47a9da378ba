//! What the tests of all tools share: a workspace in a folder of its own, a repository in it, and a call.

use serde_json::Value;
use slot_runtime::{
    boundary::Workspace,
    contract::{RunContext, Tool, ToolError, ToolOutput},
};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};
use tokio_util::sync::CancellationToken;

/// A workspace that ends with the test.
pub struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub fn new() -> World {
        let world = World { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(world.path("")).expect("a folder");
        world
    }

    /// The world with one more file.
    pub fn with(self, path: &str, content: impl AsRef<[u8]>) -> World {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it lies in the workspace")).expect("folders");
        fs::write(path, content).expect("a file");
        self
    }

    /// The absolute path of a name in the workspace.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("ws").join(path)
    }

    pub fn boundary(&self) -> Arc<Workspace> {
        Arc::new(Workspace::open(&self.path("")).expect("it exists"))
    }
}

pub fn context() -> RunContext {
    RunContext::new("c1", CancellationToken::new())
}

/// One call on a runtime of its own.
pub fn call(tool: &dyn Tool, input: Value) -> Result<ToolOutput, ToolError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(tool.run(&input, &context()))
}

/// The `git` and environment of this process, without what belongs to whoever runs the tests.
pub fn plain(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs([
            ("GIT_AUTHOR_NAME", "Ann"),
            ("GIT_AUTHOR_EMAIL", "ann@example"),
            ("GIT_AUTHOR_DATE", "1700000000 +0100"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "Ann"),
            ("GIT_COMMITTER_EMAIL", "ann@example"),
            ("GIT_COMMITTER_DATE", "1700000000 +0100"),
        ])
        .output()
        .expect("git is needed for these tests");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Commits everything.
pub fn commit(world: &World, message: &str) {
    plain(&world.path(""), &["add", "-A"]);
    plain(&world.path(""), &["commit", "-q", "--allow-empty", "-m", message]);
}

/// A repository with one commit of `a.txt` and `d/b.txt`.
pub fn repository() -> World {
    let world = World::new().with("a.txt", "one\ntwo\n").with("d/b.txt", "b\n");
    plain(&world.path(""), &["init", "-q", "-b", "main"]);
    commit(&world, "first");
    world
}

/// The variables with which tools that start programs are made.
pub fn inherited() -> Vec<(OsString, OsString)> {
    vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default()), ("MY_TOKEN".into(), "secret".into())]
}
