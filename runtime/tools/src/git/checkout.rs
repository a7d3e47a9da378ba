//! A commit written out into a folder, by `git` over the view: no hook runs, no filter of the repository is known, and the
//! repository itself is not written to.

use super::Repository;
use slot_runtime::{boundary::OpenDir, contract::ToolError};
use std::{fs, ops::ControlFlow, time::Duration};
use tokio_util::sync::CancellationToken;

/// The most files of a commit that are written out.
const MOST_FILES: u64 = 200_000;
/// The most bytes of them together.
const MOST_BYTES: u64 = 4 << 30;
/// The longest list of an index that is read, in bytes.
const MOST_LISTED: usize = 256 << 20;
/// How long writing them out may take.
const TIME: Duration = Duration::from_secs(300);

impl Repository<'_> {
    /// Writes the files of a commit into a folder that is empty: the index that goes with them.
    pub fn check_out(&self, commit: &str, folder: &OpenDir, stop: &CancellationToken) -> Result<Vec<u8>, ToolError> {
        self.weigh(commit, stop)?;
        let index = self.view.path().join("index");
        // The copy of the repository's own: the new folder has nothing of what that tells of.
        match fs::remove_file(&index) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(unwritten(&error)),
            _ => {}
        }
        let arguments = ["read-tree", "--reset", "-u", commit];
        let done = self.run_in(folder, TIME, &arguments, stop, &mut |_| ControlFlow::Continue(()))?;
        if !done.ok {
            return Err(self.failed(&done.messages));
        }
        fs::read(&index).map_err(|error| unwritten(&error))
    }

    /// The submodules that the index names.
    pub fn submodules(&self, stop: &CancellationToken) -> Result<Vec<String>, ToolError> {
        self.entries("--stage", stop, |entry| {
            let entry = entry.strip_prefix(b"160000 ")?;
            entry.splitn(2, |byte| *byte == b'\t').nth(1)
        })
    }

    /// The files of the index at whose changes `git` was told not to look: a status says nothing of them.
    pub fn unwatched(&self, stop: &CancellationToken) -> Result<Vec<String>, ToolError> {
        self.entries("-v", stop, |entry| match entry {
            [tag, b' ', name @ ..] if tag.is_ascii_lowercase() || *tag == b'S' => Some(name),
            _ => None,
        })
    }

    /// The names that `name` finds in the entries of the index, each in the form that `form` asks for.
    fn entries(
        &self,
        form: &str,
        stop: &CancellationToken,
        name: impl Fn(&[u8]) -> Option<&[u8]>,
    ) -> Result<Vec<String>, ToolError> {
        let mut list = Vec::new();
        let listed = self.run(&["ls-files", form, "-z"], stop, &mut |bytes| {
            list.extend_from_slice(bytes);
            if list.len() > MOST_LISTED { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if listed.cut || !listed.ok {
            return Err(self.failed(&listed.messages));
        }
        let names = list.split(|byte| *byte == 0).filter_map(name);
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Refuses a commit that holds more than anybody wants to have twice: a few kilobytes can name the same file millions
    /// of times.
    fn weigh(&self, commit: &str, stop: &CancellationToken) -> Result<(), ToolError> {
        let mut weight = Weight::default();
        let listed = self.run(&["ls-tree", "-r", "-l", "-z", commit], stop, &mut |bytes| weight.take(bytes))?;
        if weight.is_too_much() {
            return Err(ToolError::InvalidInput(format!(
                "the commit holds more than {MOST_FILES} files or {} GiB, too much to be written out a second time; work in \
                 the workspace itself",
                MOST_BYTES >> 30
            )));
        }
        if listed.ok { Ok(()) } else { Err(self.failed(&listed.messages)) }
    }
}

fn unwritten(error: &std::io::Error) -> ToolError {
    ToolError::Failed(format!("the index of the new files could not be made: {error}; try again"))
}

/// Adds up what `git ls-tree -r -l -z` prints, piece by piece.
#[derive(Default)]
struct Weight {
    files: u64,
    bytes: u64,
    /// The beginning of a line whose tab has not come yet; what is behind the tab is a name.
    begun: Vec<u8>,
    in_name: bool,
}

impl Weight {
    fn take(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        for byte in bytes {
            match (self.in_name, byte) {
                (true, 0) => self.in_name = false,
                (false, b'\t') => {
                    let line = String::from_utf8_lossy(&self.begun);
                    // What is no file has no size.
                    let size = line.rsplit(' ').next().and_then(|size| size.parse().ok()).unwrap_or(0_u64);
                    self.bytes = self.bytes.saturating_add(size);
                    self.files += 1;
                    self.begun.clear();
                    self.in_name = true;
                }
                // A line is a mode, a kind, a hash and a size; whatever is longer is none.
                (false, byte) if self.begun.len() < 200 => self.begun.push(*byte),
                _ => {}
            }
            if self.is_too_much() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn is_too_much(&self) -> bool {
        self.files > MOST_FILES || self.bytes > MOST_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_added_up_across_pieces() {
        let text =
            b"100644 blob 0123 \x20\x2012\ta b\t9\x00160000 commit 0123       -\tsub\x00100755 blob 0123       30\tc\0";
        let mut weight = Weight::default();
        for byte in text {
            assert!(weight.take(&[*byte]).is_continue());
        }
        assert_eq!((weight.files, weight.bytes), (3, 42));
        let huge = format!("100644 blob 0123 {MOST_BYTES}\tx\0");
        assert!(weight.take(huge.as_bytes()).is_break());
        let mut many = Weight { files: MOST_FILES, ..Weight::default() };
        assert!(many.take(b"100644 blob 0123 1\tx\0").is_break());
    }
}
