//! The body of `path_gate`: any paths in any small tree, against a neighbour that nobody may touch.
//!
//! An input is a script, one step a line. Lines that begin with `D`, `F` and `L` make folders, files and links of the
//! workspace before anything else; every other line is an operation, whose letter is in [`operate`]. `{in}` and `{out}`
//! stand for the two folders.

use crate::boundary::{Change, OpenFile, Permissions, Workspace, WriteMode};
use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    os::unix::fs::{MetadataExt, symlink},
    path::{Component, Path, PathBuf},
};

/// What lies outside, and what is protected.
const CANARY: &str = "canary: not to be read or changed";
/// The longest script; every step of it costs a few system calls.
const MOST_STEPS: usize = 32;

struct World {
    base: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

impl World {
    fn new() -> World {
        let base = tempfile::tempdir().expect("a folder for temporary files");
        let at = |name: &str| base.path().join(name);
        for folder in ["ws/sub/deep", "ws/.git/hooks", "outside/dir"] {
            fs::create_dir_all(at(folder)).expect("a folder");
        }
        for file in ["outside/secret", "outside/dir/secret", "ws/.git/config"] {
            fs::write(at(file), CANARY).expect("a file");
        }
        for file in ["ws/a", "ws/sub/b"] {
            fs::write(at(file), "inside").expect("a file");
        }
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, at("ws/pipe"), rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
        let real = |name: &str| at(name).canonicalize().expect("it exists");
        let (root, outside) = (real("ws"), real("outside"));
        World { base, root, outside }
    }

    fn expand(&self, text: &str) -> String {
        text.replace("{in}", &self.root.to_string_lossy()).replace("{out}", &self.outside.to_string_lossy())
    }

    /// Makes one entry of the workspace, where its path holds nothing but names and leads through no link: the world must not
    /// itself write outside.
    fn plant(&self, kind: &str, path: &str, target: &str) {
        let relative = Path::new(path);
        let plain = relative.components().all(|part| matches!(part, Component::Normal(name) if name != ".git"));
        let through_a_link = relative
            .ancestors()
            .any(|part| self.root.join(part).symlink_metadata().is_ok_and(|found| found.is_symlink()));
        if !plain || through_a_link || path.is_empty() || path.contains('\0') {
            return;
        }
        let at = self.root.join(relative);
        // What cannot be made is not there; that is a world too.
        let _ = match kind {
            "D" => fs::create_dir_all(&at),
            "F" => at
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| if at.exists() { Ok(()) } else { fs::write(&at, "inside") }),
            _ => at.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| symlink(self.expand(target), &at)),
        };
    }

    /// Everything outside, and everything that is protected.
    fn untouchable(&self) -> BTreeMap<PathBuf, (u64, u32, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.outside.clone(), self.root.join(".git")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder").flatten() {
                let path = entry.path();
                let metadata = path.symlink_metadata().expect("it exists");
                let content = if metadata.is_file() { fs::read(&path).expect("a file") } else { Vec::new() };
                if metadata.is_dir() {
                    folders.push(path.clone());
                }
                found.insert(path, (metadata.ino(), metadata.mode(), content));
            }
        }
        found
    }

    /// Where something was found must be where it is: inside, by names alone.
    fn assert_inside(&self, path: &Path) {
        let real = self.root.join(path).canonicalize().expect("it was just there");
        assert!(real.starts_with(&self.root), "{} leads out", path.display());
        assert_eq!(real, self.root.join(path), "a resolved path has no links");
    }
}

/// No path reads or changes anything outside the workspace, or changes what is protected, in any tree of links, and none waits.
/// Both ways of opening agree.
pub fn path_gate(input: &[u8]) {
    let Ok(script) = std::str::from_utf8(input) else { return };
    let world = World::new();
    let steps: Vec<(&str, &str)> = script.lines().take(MOST_STEPS).filter_map(|line| line.split_once(' ')).collect();
    for (kind, rest) in steps.iter().filter(|(kind, _)| matches!(*kind, "D" | "F" | "L")) {
        let (path, target) = rest.split_once(' ').unwrap_or((rest, "a"));
        world.plant(kind, path, target);
    }
    let kernel = Workspace::open(&world.root).expect("it exists");
    let components = kernel.clone().without_openat2();
    let before = world.untouchable();
    for (index, (kind, path)) in steps.iter().enumerate() {
        let path = world.expand(path);
        let workspace = if index % 2 == 0 { &kernel } else { &components };
        operate(&world, workspace, kind, &path);
        let (one, other) = (kernel.metadata(&path), components.metadata(&path));
        match (&one, &other) {
            (Ok(one), Ok(other)) => assert_eq!(one, other),
            (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
            _ => panic!("{path}: {one:?} and {other:?}"),
        }
    }
    assert_eq!(world.untouchable(), before, "something outside or protected was touched");
    drop(world.base);
}

/// One operation, and what must hold of its answer.
fn operate(world: &World, workspace: &Workspace, kind: &str, path: &str) {
    let write =
        |mode| Change::Write { path, bytes: b"written", mode, like: None, permissions: Permissions::Executable(true) };
    let written = |at: &Path| {
        world.assert_inside(at);
        assert_eq!(fs::read(world.root.join(at)).expect("it was written"), b"written");
    };
    match kind {
        "R" => {
            if let Ok(OpenFile { mut file, path: at, len }) = workspace.open_file(path) {
                let mut text = String::new();
                file.read_to_string(&mut text).expect("every file holds text");
                assert_eq!(len, text.len() as u64);
                assert!(text != CANARY || at.starts_with(".git"), "the canary was read");
                world.assert_inside(&at);
            }
        }
        "W" | "C" => {
            let mode = if kind == "W" { WriteMode::Overwrite } else { WriteMode::Create };
            if let Ok(done) = workspace.write_atomic(path, b"written", mode) {
                written(&done.path);
            }
        }
        "A" => {
            if let Ok(done) = workspace.change_all(&[write(WriteMode::Overwrite), write(WriteMode::Overwrite)]) {
                done.iter().for_each(|done| written(&done.path));
            }
        }
        "X" => {
            // The second of the two cannot be: nothing is removed.
            let twice = workspace.change_all(&[Change::Remove { path }, Change::Remove { path }]);
            assert!(twice.is_err(), "a file was removed twice");
            if let Ok(done) = workspace.change_all(&[Change::Remove { path }]) {
                let at = world.root.join(&done[0].path);
                assert!(at.symlink_metadata().is_err(), "a removed file is there");
            }
        }
        "M" => {
            if let Ok(made) = workspace.create_dirs(path) {
                world.assert_inside(&plain(&made));
            }
        }
        "T" => {
            if let Ok(listing) = workspace.list_dir(path, 4) {
                assert!(listing.entries.len() <= 4 && listing.entries.len() <= listing.total);
            }
        }
        "N" => {
            let (folder, path) = path.split_once(' ').unwrap_or((path, "."));
            if let Ok((inner, at)) = workspace.narrowed(folder) {
                world.assert_inside(&plain(&at));
                assert!(inner.metadata("..").is_err(), "the folder that was taken has one above it");
                within(&inner, path);
            }
        }
        "K" if workspace.remove_tree(path).is_ok() => {
            assert!(world.root.join(".git/config").exists(), "what is protected is gone");
        }
        "O" => {
            if let Ok(open) = workspace.open_dir(path) {
                let (opened, named) = (fs::metadata(open.spawn_path()), fs::metadata(&open.absolute));
                assert_eq!(opened.expect("it is open").ino(), named.expect("it exists").ino());
                assert!(open.absolute.starts_with(&world.root));
            }
        }
        _ => {}
    }
}

/// A resolved path, with the root as no name at all.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Whatever a narrowed boundary opens or writes lies in its own folder.
fn within(inner: &Workspace, path: &str) {
    let own = inner.root().to_owned();
    let lies_within = |at: &Path| {
        let real = own.join(plain(at)).canonicalize().expect("it was just there");
        assert!(real.starts_with(&own), "{} leads out of {}", at.display(), own.display());
    };
    if let Ok(open) = inner.open_file(path) {
        lies_within(&open.path);
    }
    if let Ok(written) = inner.write_atomic(path, b"written", WriteMode::Overwrite) {
        lies_within(&written.path);
    }
    if let Ok(open) = inner.open_dir(path) {
        lies_within(&open.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Paths of a few names, so that links, folders and operations meet.
    fn path() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "a", "sub", "b", "deep", "l", "m", "new", "..", ".", ".git", ".GIT", "config", "pipe", "secret", "outside",
            "~",
        ]);
        let head = prop::sample::select(vec!["", "", "", "{in}/", "{out}/", "/proc/self/root", "../"]);
        let tail = prop::sample::select(vec!["", "", "", "/", "/."]);
        (head, prop::collection::vec(part, 1..5), tail)
            .prop_map(|(head, parts, tail)| format!("{head}{}{tail}", parts.join("/")))
    }

    fn step() -> impl Strategy<Value = String> {
        let kind = prop::sample::select(vec!["D", "F", "L", "L", "R", "W", "C", "A", "X", "M", "T", "O", "N", "K"]);
        (kind, path(), path()).prop_map(|(kind, path, target)| match kind {
            "L" | "N" => format!("{kind} {path} {target}"),
            _ => format!("{kind} {path}"),
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_path_leads_out(steps in prop::collection::vec(step(), 1..24)) {
            path_gate(steps.join("\n").as_bytes());
        }
    }
}
