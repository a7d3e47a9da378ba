//! The last word on a change, spoken under the write.
//!
//! A check that is made before a write is out of date by the time of the write. So whoever has something to say about a
//! change says it here: after the new content lies on the disk under another name, right before it takes the name of the
//! old one, and over a handle on the old one, not over its path.
//!
//! What the system calls force, on Linux: the two files exchange their names in one step, and the file that comes out must
//! be the one that was judged, with the time and the size it had; else the names are exchanged back, and everything starts
//! again with what is there now. So a file that is put in the place of the judged one is found. What is left is a process
//! that holds the old file open and writes to it after its names were looked at for the last time, which no system call
//! can forbid; and, where the file system cannot exchange names, the instant between the judgement and the rename.

use super::BoundaryError;
use std::{fs::File, path::Path};

/// Judges changes in the last moment before they are made.
pub trait ChangeGate: Send + Sync {
    /// Whether the change may be made. It may be asked again about the same change, when something else changed the file
    /// meanwhile.
    ///
    /// # Errors
    /// Why not, most likely as [`BoundaryError::Refused`]. Nothing is changed then, and what was made together with it is
    /// taken back.
    fn judge(&self, change: &Pending<'_>) -> Result<(), BoundaryError>;
}

/// A change that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Pending<'a> {
    /// The file, as it was written.
    pub path: &'a str,
    /// Where it is.
    pub resolved: &'a Path,
    /// What would be replaced or removed, open for reading at its start; nothing where the file is new.
    pub old: Option<&'a File>,
    /// The file that it was moved from, open for reading.
    pub moved_from: Option<&'a File>,
    /// What it would hold; nothing where it is removed.
    pub new: Option<&'a [u8]>,
}
