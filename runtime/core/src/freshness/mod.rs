//! Freshness: nothing is changed that the model has not seen as it is.
//!
//! A [`Freshness`] remembers of every file what it held when its content went to the model, or came from it: a size and
//! a hash of the content, and what the file system said. A content hash decides; what the file system says only saves
//! hashing, and is believed only where no change can hide from it. Reading one page of a file counts as reading it.
//!
//! Three things follow:
//!
//! - Before a change, the file that would go must hold what was seen ([`Freshness::judge`], asked under the write).
//! - After a command has run, the files that no longer hold it are told, once for each change ([`Probe`]).
//! - Only a read whose result goes to the model counts: [`Probe`] notes it when the call is settled, so that a read that
//!   was made early and not used leaves nothing, nor does a path in the input of a command.
//!
//! Paths are those of the whole workspace wherever the session is, so that a file of a working tree is not taken for the one
//! of which it is a copy.
//!
//! Not owned here: which tools read and which write ([`READS`] and [`SHELL_PROBE_TOOLS`] say it by name), and how a
//! write is made.

mod print;
mod probe;

#[cfg(test)]
mod tests;

pub use print::{MOST_HASHED, Print};
pub use probe::Probe;

use crate::boundary::{BoundaryError, FileBoundary};
use crate::place::Place;
use print::{Believed, Hashing, Look};
use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The tools whose results show a file.
pub const READS: &[&str] = &["read_file"];

/// The tools after which files are looked at again, because a command may have changed them. A rule
/// that denies the shell denies these. A test of the tools holds this against the list of them.
pub const SHELL_PROBE_TOOLS: &[&str] = &[
    "exec_shell",
    "exec_shell_wait",
    "exec_shell_interact",
    "exec_shell_cancel",
    "exec_wait",
    "exec_interact",
    "write_stdin",
    "task_shell_start",
    "task_shell_wait",
    "task_shell_output",
    "run_tests",
    "monitor",
];

/// The most files that are remembered. Whoever changes one that was forgotten has to read it again.
const MOST_FILES: usize = 4096;
/// The most files that are told after a command.
const MOST_TOLD: usize = 5;

/// What the model has seen of files. Clones are the same memory.
#[derive(Clone, Default)]
pub struct Freshness(Arc<Inner>);

#[derive(Default)]
struct Inner {
    hashing: Hashing,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// By resolved path, as the workspace names it.
    files: BTreeMap<PathBuf, Known>,
    /// How many were noted.
    noted: u64,
}

/// A file as the model knows it.
struct Known {
    print: Print,
    believed: Believed,
    /// The change that was told already.
    told: Option<Drift>,
    /// Which note it was.
    nth: u64,
}

/// How a file departs from what is known of it.
#[derive(Clone, Debug)]
enum Drift {
    Gone,
    Holds(Print),
}

impl Drift {
    fn is_like(&self, other: &Drift) -> bool {
        match (self, other) {
            (Drift::Gone, Drift::Gone) => true,
            (Drift::Holds(one), Drift::Holds(two)) => one.is_like(two),
            _ => false,
        }
    }
}

/// Why a file must not be changed.
#[derive(Debug, thiserror::Error)]
pub enum Stale {
    /// The model has not seen it.
    #[error("never read")]
    NeverRead,
    /// It does not hold what the model has seen.
    #[error("changed since it was read")]
    Changed,
    /// Whether it does could not be found out.
    #[error("could not be compared with what was read: {0}")]
    Unknown(#[from] io::Error),
}

impl Freshness {
    fn table(&self) -> MutexGuard<'_, Table> {
        // An entry is whole or not there, whatever happened in another thread.
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the file at this resolved path, which is open, is recognised by. It may be read from its start, wherever it
    /// is, and may be anywhere then.
    ///
    /// # Errors
    /// What the system says.
    pub fn print(&self, path: &Path, file: &File) -> io::Result<Print> {
        let now = file.metadata()?;
        if let Some(known) = self.table().files.get(path).filter(|known| known.believed.vouches(&now)) {
            return Ok(known.believed.print(&known.print));
        }
        self.0.hashing.print(file)
    }

    /// The model has seen the file at this resolved path, as it was then.
    pub fn saw(&self, path: &Path, print: Print) {
        let mut table = self.table();
        table.noted += 1;
        let mut believed = match table.files.remove(path) {
            Some(known) if known.print.is_like(&print) => known.believed,
            _ => Believed::default(),
        };
        believed.seen(print.look());
        let known = Known { believed, print, told: None, nth: table.noted };
        table.files.insert(path.to_owned(), known);
        if table.files.len() > MOST_FILES {
            let oldest = table.files.iter().min_by_key(|(_, known)| known.nth).map(|(path, _)| path.clone());
            oldest.map(|path| table.files.remove(&path));
        }
    }

    /// The file at this resolved path holds these bytes, which came from the model.
    pub fn wrote(&self, path: &Path, bytes: &[u8]) {
        self.saw(path, self.0.hashing.of_bytes(bytes));
    }

    /// The model has removed the file at this resolved path.
    pub fn removed(&self, path: &Path) {
        self.table().files.remove(path);
    }

    /// Whether the file at this resolved path, which is open, holds what the model has seen of it.
    ///
    /// # Errors
    /// Why it must not be changed.
    pub fn judge(&self, path: &Path, file: &File) -> Result<(), Stale> {
        let print = self.table().files.get(path).map(|known| known.print.clone()).ok_or(Stale::NeverRead)?;
        if self.0.hashing.holds(&print, file)? { Ok(()) } else { Err(Stale::Changed) }
    }

    /// The files of this place that no longer hold what the model has seen, as they are named there, without those that
    /// were told as they are now. They count as told. `files` is the whole workspace.
    pub fn drifted(&self, files: &dyn FileBoundary, place: &Place) -> Vec<PathBuf> {
        let paths: Vec<PathBuf> = self.table().files.keys().cloned().collect();
        let here = paths.iter().filter_map(|path| Some((path, place.named_here(path)?)));
        here.filter(|(path, _)| self.has_drifted_anew(path, files)).map(|(_, here)| here.to_owned()).collect()
    }

    fn has_drifted_anew(&self, path: &Path, files: &dyn FileBoundary) -> bool {
        // A name that is no text was reached through a link, and cannot be asked for.
        let Some(text) = path.to_str() else { return false };
        let drift = match files.open_file(text) {
            Ok(open) => match self.departs(path, &open.file) {
                Ok(drift) => drift,
                Err(_) => return false,
            },
            Err(BoundaryError::NotFound { .. } | BoundaryError::NotAFile { .. }) => Some(Drift::Gone),
            // Whatever else is wrong may pass.
            Err(_) => return false,
        };
        let mut table = self.table();
        let Some(known) = table.files.get_mut(path) else { return false };
        let is_new = match (&drift, &known.told) {
            (None, _) => false,
            (Some(now), Some(told)) => !now.is_like(told),
            (Some(_), None) => true,
        };
        known.told = drift;
        is_new
    }

    /// How the file at `path`, which is open, departs from what is known of it.
    fn departs(&self, path: &Path, file: &File) -> io::Result<Option<Drift>> {
        let before = file.metadata()?;
        let print = match self.table().files.get(path) {
            Some(known) if !known.believed.vouches(&before) => known.print.clone(),
            _ => return Ok(None),
        };
        if !self.0.hashing.holds(&print, file)? {
            return Ok(Some(Drift::Holds(self.0.hashing.print(file)?)));
        }
        if let Some(known) = self.table().files.get_mut(path) {
            known.believed.seen(Look::of(&before));
        }
        Ok(None)
    }
}
