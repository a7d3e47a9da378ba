//! The folders outside of the workspace that its user trusts: a list in a file, which outlives sessions.
//!
//! Nothing gets onto the list but by its user's hand. A list that cannot be read, or holds anything that is not understood,
//! is not the same as an empty one: it is an error, and whoever starts a session with it does not start.

use super::{BoundaryError, Workspace, WriteMode};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::{
    fs::OpenOptions,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// The most folders on a list.
const MOST: usize = 64;
/// The longest file, in bytes.
const MOST_FILE: u64 = 1 << 18;

/// Why a list of trusted folders cannot be used.
#[derive(Debug, Error)]
pub enum TrustFileError {
    /// It cannot be read.
    #[error("cannot read the list of trusted folders {path}: {source}; add a folder to it first, or name another list")]
    Read {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write the list of trusted folders {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: BoundaryError,
    },
    /// It is not what such a list holds.
    #[error("the list of trusted folders {path} is not understood, so that nothing is trusted by it: {problem}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where and what.
        problem: String,
    },
    /// A folder cannot be on it.
    #[error("cannot trust {folder}: {problem}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
}

/// A list of trusted folders, as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedRoots {
    folders: Vec<PathBuf>,
}

impl TrustedRoots {
    /// The list in this file.
    ///
    /// # Errors
    /// If it cannot be read, is not understood, or holds what no such list can hold.
    pub fn read(path: &Path) -> Result<TrustedRoots, TrustFileError> {
        let at = |source| TrustFileError::Read { path: path.to_owned(), source };
        let broken = |problem: String| TrustFileError::Broken { path: path.to_owned(), problem };
        // A pipe must not let a session wait for ever.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(at)?;
        if !opened.metadata().map_err(at)?.is_file() {
            return Err(broken("it is no file".to_owned()));
        }
        let mut text = String::new();
        let read = opened.take(MOST_FILE + 1).read_to_string(&mut text).map_err(at)?;
        if read as u64 > MOST_FILE {
            return Err(broken(format!("it is longer than {MOST_FILE} bytes")));
        }
        let roots: TrustedRoots = toml::from_str(&text).map_err(|error| broken(error.message().to_owned()))?;
        if roots.folders.len() > MOST {
            return Err(broken(format!("it holds more than {MOST} folders")));
        }
        roots.folders.iter().try_for_each(|folder| usable(folder))?;
        Ok(roots)
    }

    /// Adds a folder to the list in this file, which is made if it is not there. Answers whether it is new on it.
    ///
    /// # Errors
    /// If the folder does not exist or is the whole disk, or the list cannot be read or written.
    pub fn add(path: &Path, folder: &Path) -> Result<bool, TrustFileError> {
        let problem =
            |error: io::Error| TrustFileError::Folder { folder: folder.to_owned(), problem: error.to_string() };
        let folder = folder.canonicalize().map_err(problem)?;
        usable(&folder)?;
        let mut roots = if path.symlink_metadata().is_ok() { Self::read(path)? } else { Self::default() };
        if roots.folders.contains(&folder) {
            return Ok(false);
        }
        if roots.folders.len() == MOST {
            let problem = format!("the list holds {MOST} folders already; take one off it first");
            return Err(TrustFileError::Folder { folder, problem });
        }
        roots.folders.push(folder);
        roots.write(path)?;
        Ok(true)
    }

    /// The folders, in the order in which they were added.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// `workspace` with every folder of the list as a root.
    ///
    /// # Errors
    /// If one of them cannot be opened, or is a link now or lies behind one.
    pub fn under(&self, workspace: &Workspace) -> Result<Workspace, TrustFileError> {
        let mut trusting = workspace.clone();
        for folder in &self.folders {
            let refused = |problem: String| TrustFileError::Folder { folder: folder.clone(), problem };
            let real = folder.canonicalize();
            let real = real.map_err(|error| refused(format!("{error}; make it, or take it off the list")))?;
            // Who may put a link in the place of a folder must not choose what is trusted by it.
            if real != *folder {
                return Err(refused(format!("it leads to {}; put that on the list, if it is meant", real.display())));
            }
            trusting = trusting.with_trusted_root(folder).map_err(|error| refused(error.to_string()))?;
        }
        Ok(trusting)
    }

    fn write(&self, path: &Path) -> Result<(), TrustFileError> {
        let failed = |source| TrustFileError::Write { path: path.to_owned(), source };
        let io = |error| failed(BoundaryError::from_io(&path.to_string_lossy(), "write", error));
        let text = toml::to_string(self).map_err(|error| io(io::Error::other(error)))?;
        let path = std::path::absolute(path).map_err(io)?;
        let (folder, name) = (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
        let folder = Workspace::open(folder).map_err(failed)?;
        folder.write_atomic(&name.to_string_lossy(), text.as_bytes(), WriteMode::Overwrite).map_err(failed)?;
        Ok(())
    }
}

/// Whether a folder can be on a list.
fn usable(folder: &Path) -> Result<(), TrustFileError> {
    let problem = if !folder.is_absolute() {
        "the path of a trusted folder begins with /"
    } else if folder.parent().is_none() {
        "that is the whole disk; name the folders that are needed"
    } else if folder.components().any(|part| part == std::path::Component::ParentDir) {
        "write the path without .."
    } else {
        return Ok(());
    };
    Err(TrustFileError::Folder { folder: folder.to_owned(), problem: problem.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[track_caller]
    fn check(text: &str, expect: Result<&[&str], &str>) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("trusted.toml");
        fs::write(&file, text).expect("a file");
        match (TrustedRoots::read(&file), expect) {
            (Ok(roots), Ok(expect)) => {
                assert_eq!(roots.folders(), expect.iter().map(PathBuf::from).collect::<Vec<_>>(), "{text}");
            }
            (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{error}"),
            (read, _) => panic!("{text}: {read:?}"),
        }
    }

    #[test]
    fn a_list_is_read_or_is_an_error() {
        check("folders = []", Ok(&[]));
        check("folders = [\"/srv/a\", \"/srv/b\"]", Ok(&["/srv/a", "/srv/b"]));
        check("", Err("missing field"));
        check("folders = [1]", Err("not understood"));
        check("folders = []\nall = true", Err("unknown field"));
        check("folders = [\"srv\"]", Err("begins with /"));
        check("folders = [\"/\"]", Err("the whole disk"));
        check("folders = [\"/srv/../etc\"]", Err("without .."));
        check(&format!("folders = [{}]", "\"/a\",".repeat(MOST + 1)), Err("more than 64 folders"));
        check(&"#".repeat(1 << 19), Err("longer than"));
    }

    #[test]
    fn what_is_added_is_there_after_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it exists");
        let (file, lib) = (base.join("trusted.toml"), base.join("lib"));
        fs::create_dir_all(base.join("ws")).expect("a folder");
        fs::create_dir(&lib).expect("a folder");
        fs::write(lib.join("a.txt"), "a").expect("a file");
        assert!(TrustedRoots::read(&file).is_err(), "no list is no empty list");
        assert!(TrustedRoots::add(&file, &lib).expect("it exists"));
        assert!(!TrustedRoots::add(&file, &lib).expect("it is on the list"));
        assert!(TrustedRoots::add(&file, &base.join("absent")).is_err());
        let workspace = Workspace::open(&base.join("ws")).expect("a folder");
        let inside = lib.join("a.txt").to_string_lossy().into_owned();
        assert!(workspace.open_file(&inside).expect_err("nobody trusts it").is_escape());
        let roots = TrustedRoots::read(&file).expect("a list");
        assert!(roots.under(&workspace).expect("it exists").open_file(&inside).is_ok());
        fs::remove_dir_all(&lib).expect("it exists");
        let error = roots.under(&workspace).expect_err("it is gone").to_string();
        assert!(error.contains("take it off the list"), "{error}");
        std::os::unix::fs::symlink("/", &lib).expect("a link");
        let error = roots.under(&workspace).expect_err("a link took its place").to_string();
        assert!(error.contains("it leads to /;"), "{error}");
    }
}
