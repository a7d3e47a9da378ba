//! What lies on the disk, as facts that can be compared: links are not followed, nothing that blocks is opened, and
//! the work is bounded.

use slot_oracles::trace::Node;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Entries of one tree beyond which nothing is recorded.
pub(super) const MAX_ENTRIES: usize = 10_000;
/// Bytes of one tree that are read; a file beyond them is recorded by its length alone.
pub(super) const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Longer files are blobs.
const MAX_TEXT: u64 = 64 * 1024;
/// The entry that stands for everything beyond [`MAX_ENTRIES`]. It differs from every tree within the limit, so that a
/// flood of files is a change like any other.
pub(super) const OVERFLOW: &str = "(more than 10000 entries)";

/// A tree being recorded.
#[derive(Default)]
pub(super) struct Snapshot<'a> {
    nodes: BTreeMap<String, Node>,
    bytes: u64,
    /// Tells by its key what is left out, with everything below it.
    left_out: Option<&'a dyn Fn(&str) -> bool>,
}

impl<'a> Snapshot<'a> {
    /// A snapshot without what `left_out` says.
    pub(super) fn without(left_out: &'a dyn Fn(&str) -> bool) -> Self {
        Snapshot { left_out: Some(left_out), ..Snapshot::default() }
    }

    /// Everything that was recorded.
    pub(super) fn into_nodes(self) -> BTreeMap<String, Node> {
        self.nodes
    }

    /// Records everything below `folder` (not the folder itself) under `prefix`.
    pub(super) fn tree(&mut self, folder: &Path, prefix: &str) {
        let mut pending = vec![(folder.to_owned(), prefix.to_owned())];
        while let Some((folder, prefix)) = pending.pop() {
            // A folder that cannot be listed is recorded as one, with nothing in it.
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).take(MAX_ENTRIES + 1).collect();
            names.sort();
            for name in names {
                let (path, key) = (folder.join(&name), format!("{prefix}{}", printable(&name)));
                if self.left_out.is_some_and(|left_out| left_out(&key)) {
                    continue;
                }
                if !self.entry(&path, &key) {
                    return;
                }
                if matches!(self.nodes.get(&key), Some(Node::Dir { .. })) {
                    pending.push((path, format!("{key}/")));
                }
            }
        }
    }

    /// Records one path under `key`; a path that is not there is not recorded. False when the limit is reached.
    pub(super) fn entry(&mut self, path: &Path, key: &str) -> bool {
        if self.nodes.len() >= MAX_ENTRIES {
            self.nodes.insert(OVERFLOW.to_owned(), Node::Special);
            return false;
        }
        if let Some(node) = self.node(path) {
            self.nodes.insert(key.to_owned(), node);
        }
        true
    }

    fn node(&mut self, path: &Path) -> Option<Node> {
        let meta = std::fs::symlink_metadata(path).ok()?;
        let (kind, mode) = (meta.file_type(), meta.mode() & 0o7777);
        Some(if kind.is_symlink() {
            let target =
                std::fs::read_link(path).map_or_else(|_| String::new(), |target| printable(target.as_os_str()));
            Node::Link { target }
        } else if kind.is_dir() {
            Node::Dir { mode }
        } else if kind.is_file() {
            self.file(path, meta.len(), mode)
        } else {
            Node::Special
        })
    }

    fn file(&mut self, path: &Path, len: u64, mode: u32) -> Node {
        let unread = Node::Blob { len, hash: 0, mode };
        if self.bytes.saturating_add(len) > MAX_BYTES {
            return unread;
        }
        // The file may have been replaced since it was looked at: a link is not followed, and opening a FIFO for
        // reading without blocking succeeds at once and is then seen to be no file.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let opened = std::fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
        let Ok(file) = opened else { return unread };
        if !file.metadata().is_ok_and(|meta| meta.is_file()) {
            return Node::Special;
        }
        let mut content = Vec::new();
        if file.take(MAX_BYTES - self.bytes).read_to_end(&mut content).is_err() {
            return unread;
        }
        self.bytes += content.len() as u64;
        let (len, hash) = (content.len() as u64, fnv1a(&content));
        match String::from_utf8(content) {
            Ok(text) if len <= MAX_TEXT => Node::File { text, mode },
            _ => Node::Blob { len, hash, mode },
        }
    }
}

/// A file name as text: bytes that are no UTF-8 are written as `\xNN`, so that two names never become one.
fn printable(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// The 64-bit FNV-1a hash: the same for the same bytes on every machine and in every release.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt as _;

    fn nodes(folder: &Path) -> BTreeMap<String, Node> {
        let mut snapshot = Snapshot::default();
        snapshot.tree(folder, "");
        let mut nodes = snapshot.into_nodes();
        // What these depend on is looked at in a test of its own.
        nodes.values_mut().filter_map(Node::mode_mut).for_each(|mode| *mode = 0);
        nodes
    }

    #[track_caller]
    fn check(make: impl Fn(&Path), expect: &[(&str, Node)]) {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        let expect = expect.iter().map(|(key, node)| ((*key).to_owned(), node.clone())).collect();
        assert_eq!(nodes(folder.path()), expect);
    }

    fn link(target: &str) -> Node {
        Node::Link { target: target.to_owned() }
    }

    #[test]
    fn files_folders_and_links_are_told_apart() {
        check(
            |root| {
                std::fs::create_dir(root.join("d")).unwrap();
                std::fs::write(root.join("d/a"), "hello").unwrap();
                std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
                std::os::unix::fs::symlink("d", root.join("into")).unwrap();
            },
            &[
                ("d", Node::Dir { mode: 0 }),
                ("d/a", Node::text("hello")),
                ("dangling", link("nowhere")),
                ("into", link("d")),
            ],
        );
    }

    #[test]
    fn bytes_that_are_no_text_and_long_texts_are_blobs() {
        check(
            |root| {
                std::fs::write(root.join("raw"), b"\xff").unwrap();
                std::fs::write(root.join("long"), "x".repeat(64 * 1024 + 1)).unwrap();
                std::fs::write(root.join("longest text"), "x".repeat(64 * 1024)).unwrap();
            },
            &[
                ("raw", Node::Blob { len: 1, hash: 0xaf64_724c_8602_eb6e, mode: 0 }),
                ("long", Node::Blob { len: 65537, hash: fnv1a("x".repeat(65537).as_bytes()), mode: 0 }),
                ("longest text", Node::text("x".repeat(64 * 1024))),
            ],
        );
    }

    #[test]
    fn a_fifo_and_a_socket_are_special_and_block_nothing() {
        check(
            |root| {
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
                std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
            },
            &[("fifo", Node::Special), ("socket", Node::Special)],
        );
    }

    #[test]
    fn a_name_that_is_no_text_keeps_its_bytes() {
        check(
            |root| std::fs::write(root.join(OsStr::from_bytes(b"a\xff\xfe")), "").unwrap(),
            &[("a\\xff\\xfe", Node::text(""))],
        );
    }

    #[test]
    fn a_flood_of_entries_is_cut_and_shows() {
        let folder = tempfile::tempdir().unwrap();
        for index in 0..MAX_ENTRIES + 5 {
            std::fs::File::create(folder.path().join(index.to_string())).unwrap();
        }
        let nodes = nodes(folder.path());
        assert_eq!(nodes.len(), MAX_ENTRIES + 1);
        assert_eq!(nodes.get(OVERFLOW), Some(&Node::Special));
    }

    #[test]
    fn a_file_beyond_the_byte_limit_is_recorded_by_length() {
        let folder = tempfile::tempdir().unwrap();
        let sparse = std::fs::File::create(folder.path().join("big")).unwrap();
        sparse.set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(nodes(folder.path())["big"], Node::Blob { len: MAX_BYTES + 1, hash: 0, mode: 0 });
    }

    #[test]
    fn permissions_are_recorded_and_what_is_left_out_is_not() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("cache/deep")).unwrap();
        std::fs::write(folder.path().join("tool"), "x").unwrap();
        std::fs::set_permissions(folder.path().join("tool"), std::fs::Permissions::from_mode(0o4755)).unwrap();
        let left_out = |key: &str| key == "p/cache";
        let mut snapshot = Snapshot::without(&left_out);
        snapshot.tree(folder.path(), "p/");
        let expect = [("p/tool".to_owned(), Node::File { text: "x".into(), mode: 0o4755 })].into();
        assert_eq!(snapshot.into_nodes(), expect);
    }
}
