//! What tests of the program share: a folder to run it in, and what came of a run.

#![allow(clippy::unwrap_used, dead_code, reason = "a test may simply fail, and not every target uses everything")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder to run in, with a folder for temporary files.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("tmp")).unwrap();
        Place(dir)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slotspec"));
        command.args(arguments).current_dir(self.0.path()).env("TMPDIR", self.path("tmp")).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        told(&self.command(arguments).output().unwrap())
    }

    /// What lies in the folder for temporary files.
    pub fn left(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

/// The exit code and both outputs.
pub fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Bad input: exit 2, one message, nothing on the standard output, nothing on the disk.
#[track_caller]
pub fn check_bad(files: &[(&str, &str)], arguments: &[&str], expect: &str) {
    let place = Place::new();
    for (name, text) in files {
        place.write(name, text);
    }
    let (code, stdout, stderr) = place.run(arguments);
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    assert!(stderr.contains(expect), "{stderr}");
    assert_eq!(place.left(), [] as [&Path; 0]);
    assert!(!place.path("repro").exists());
}
