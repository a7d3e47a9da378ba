//! What the tests of all tools share: a workspace in a folder of its own, and a call.

use serde_json::Value;
use slot_runtime::{
    boundary::Workspace,
    contract::{RunContext, Tool, ToolError, ToolOutput},
};
use std::{fs, path::PathBuf, sync::Arc};
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
