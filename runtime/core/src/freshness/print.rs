//! What a file is recognised by: its size, a hash of its content, and what the file system says of it.

use serde::{Deserialize, Serialize};
use std::{
    fs::{File, Metadata},
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, Read, Seek},
    time::Instant,
};

/// The largest file whose content is hashed when it is read. A larger one is recognised by what the file system says.
pub const MOST_HASHED: u64 = 16 << 20;
/// How much is read at once.
const CHUNK: usize = 64 << 10;
/// How long a file must have looked the same before its look alone is believed: longer than two changes of it can have
/// the same time.
const SETTLED: std::time::Duration = std::time::Duration::from_secs(2);

/// A file as it was at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Print {
    len: u64,
    /// Of the content; nothing where the file is too large to be hashed.
    hash: Option<[u64; 2]>,
    /// What the file system said; nothing where that is not known of the file that has this content.
    look: Option<Look>,
}

/// What the file system says of a file: which one it is, and when it was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Look {
    file: [u64; 2],
    len: u64,
    content_changed: [i64; 2],
    changed: [i64; 2],
}

impl Look {
    #[cfg(unix)]
    pub(super) fn of(metadata: &Metadata) -> Option<Look> {
        use std::os::unix::fs::MetadataExt;
        Some(Look {
            file: [metadata.dev(), metadata.ino()],
            len: metadata.len(),
            content_changed: [metadata.mtime(), metadata.mtime_nsec()],
            changed: [metadata.ctime(), metadata.ctime_nsec()],
        })
    }

    /// Where the system has no time that only a change can set, nothing is believed.
    #[cfg(not(unix))]
    pub(super) fn of(_: &Metadata) -> Option<Look> {
        None
    }
}

/// Hashes content. The keys are this process's own: nobody outside can look for two contents with one hash.
pub(super) struct Hashing([RandomState; 2]);

impl Default for Hashing {
    fn default() -> Self {
        Hashing([RandomState::new(), RandomState::new()])
    }
}

impl Hashing {
    /// The print of a file that is open, which need not be at its start.
    pub(super) fn print(&self, file: &File) -> io::Result<Print> {
        let metadata = file.metadata()?;
        let hash = if metadata.len() <= MOST_HASHED { self.of_file(file, metadata.len())? } else { None };
        Ok(Print { len: metadata.len(), hash, look: Look::of(&metadata) })
    }

    /// The print of a file that holds these bytes, whatever the file system says of it.
    pub(super) fn of_bytes(&self, bytes: &[u8]) -> Print {
        let mut hashers = self.0.each_ref().map(BuildHasher::build_hasher);
        // In the same pieces as a file: where a hash is fed in pieces, they may count.
        bytes.chunks(CHUNK).for_each(|chunk| hashers.iter_mut().for_each(|hasher| hasher.write(chunk)));
        Print { len: bytes.len() as u64, hash: Some(hashers.map(|hasher| hasher.finish())), look: None }
    }

    /// Whether the file that is open has the content that `print` was taken of.
    pub(super) fn holds(&self, print: &Print, file: &File) -> io::Result<bool> {
        let metadata = file.metadata()?;
        if metadata.len() != print.len {
            return Ok(false);
        }
        match print.hash {
            Some(hash) => Ok(self.of_file(file, print.len)? == Some(hash)),
            None => Ok(print.look.is_some() && Look::of(&metadata) == print.look),
        }
    }

    /// The hash of a file of `len` bytes; nothing if it has another length by now.
    fn of_file(&self, mut file: &File, len: u64) -> io::Result<Option<[u64; 2]>> {
        file.rewind()?;
        let mut hashers = self.0.each_ref().map(BuildHasher::build_hasher);
        let (mut buffer, mut left) = (vec![0; CHUNK], len);
        loop {
            let mut filled = 0;
            while filled < CHUNK {
                match file.read(&mut buffer[filled..]) {
                    Ok(0) => break,
                    Ok(more) => filled += more,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            if filled == 0 {
                return Ok((left == 0).then(|| hashers.map(|hasher| hasher.finish())));
            }
            let Some(rest) = left.checked_sub(filled as u64) else { return Ok(None) };
            left = rest;
            hashers.iter_mut().for_each(|hasher| hasher.write(&buffer[..filled]));
        }
    }
}

impl Print {
    /// What the file system said.
    pub(super) fn look(&self) -> Option<Look> {
        self.look.clone()
    }

    /// Whether both are of the same content, as far as that was hashed.
    pub(super) fn is_like(&self, other: &Print) -> bool {
        match (self.hash, other.hash) {
            (Some(one), Some(two)) => self.len == other.len && one == two,
            _ => self == other,
        }
    }
}

/// The look of a file with a known content, and whether it may be believed.
#[derive(Clone, Debug, Default)]
pub(super) struct Believed {
    /// With the moment at which the file was first found to look so.
    look: Option<(Look, Instant)>,
    settled: bool,
}

impl Believed {
    /// Whether a file with this look has the known content for certain.
    pub(super) fn vouches(&self, metadata: &Metadata) -> bool {
        self.settled && Look::of(metadata).is_some_and(|now| self.is(&now))
    }

    /// The print of a file that it vouches for.
    pub(super) fn print(&self, known: &Print) -> Print {
        Print { look: self.look.as_ref().map(|(look, _)| look.clone()), ..known.clone() }
    }

    /// The file was found to have the known content, and looked so before its content was read.
    pub(super) fn seen(&mut self, look: Option<Look>) {
        match (&self.look, look) {
            (_, None) => *self = Believed::default(),
            (Some((known, since)), Some(look)) if *known == look => self.settled |= since.elapsed() >= SETTLED,
            (_, Some(look)) => *self = Believed { look: Some((look, Instant::now())), settled: false },
        }
    }

    fn is(&self, look: &Look) -> bool {
        self.look.as_ref().is_some_and(|(known, _)| known == look)
    }
}
