use super::*;
use crate::boundary::Workspace;
use std::{
    fs,
    io::{Seek, Write},
    time::SystemTime,
};

struct World {
    folder: tempfile::TempDir,
    files: Workspace,
    known: Freshness,
}

impl World {
    /// A workspace with one file, `a`, that the model has seen.
    fn seen(content: &str) -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let files = Workspace::open(folder.path()).expect("it exists");
        let world = World { folder, files, known: Freshness::default() };
        world.put("a", content);
        world.see("a");
        world
    }

    fn put(&self, path: &str, content: &str) {
        fs::write(self.folder.path().join(path), content).expect("a file");
    }

    fn open(&self, path: &str) -> File {
        File::options().read(true).write(true).open(self.folder.path().join(path)).expect("it is there")
    }

    fn see(&self, path: &str) {
        let print = self.known.print(Path::new(path), &self.open(path)).expect("it can be read");
        self.known.saw(Path::new(path), print);
    }

    #[track_caller]
    fn check(&self, path: &str, expect: &str) {
        let judged = self.known.judge(Path::new(path), &self.open(path));
        assert_eq!(judged.map_or_else(|stale| stale.to_string(), |()| "fresh".to_owned()), expect);
    }

    #[track_caller]
    fn drifted(&self, expect: &[&str]) {
        assert_eq!(
            self.known.drifted(&self.files, &Place::default()),
            expect.iter().map(PathBuf::from).collect::<Vec<_>>()
        );
    }
}

const CHANGED: &str = "changed since it was read";

#[test]
fn what_was_seen_may_be_changed_as_long_as_it_is_so() {
    let world = World::seen("one\n");
    world.put("b", "b");
    world.check("a", "fresh");
    world.check("b", "never read");
    world.put("a", "longer\n");
    world.check("a", CHANGED);
    world.see("a");
    world.check("a", "fresh");
    world.known.removed(Path::new("a"));
    world.check("a", "never read");
}

#[test]
fn a_change_that_keeps_size_and_time_is_seen() {
    let world = World::seen("v1");
    let time = world.open("a").metadata().expect("it is there").modified().expect("a time");
    world.put("a", "v2");
    world.open("a").set_modified(time).expect("its owner may");
    world.check("a", CHANGED);
    world.drifted(&["a"]);
}

#[test]
fn a_new_time_alone_is_no_change() {
    let world = World::seen("v1");
    world.open("a").set_modified(SystemTime::UNIX_EPOCH).expect("its owner may");
    world.check("a", "fresh");
    world.put("a", "v2");
    world.put("a", "v1");
    world.check("a", "fresh");
    world.drifted(&[]);
}

#[test]
fn what_the_model_wrote_is_known() {
    let world = World::seen("one");
    world.put("a", "two");
    world.known.wrote(Path::new("a"), b"two");
    world.check("a", "fresh");
    world.drifted(&[]);
    let large = "x".repeat(3 * 64 * 1024 + 7);
    world.put("a", &large);
    world.known.wrote(Path::new("a"), large.as_bytes());
    world.check("a", "fresh");
    world.see("a");
    world.check("a", "fresh");
}

#[test]
fn a_file_that_is_too_large_to_hash_is_known_by_what_the_system_says() {
    let world = World::seen("");
    world.open("a").set_len(MOST_HASHED + 1).expect("room");
    world.see("a");
    world.check("a", "fresh");
    let mut file = world.open("a");
    file.rewind().and_then(|()| file.write_all(b"x")).expect("it is written");
    file.set_modified(SystemTime::UNIX_EPOCH).expect("its owner may");
    world.check("a", CHANGED);
    world.drifted(&["a"]);
    world.drifted(&[]);
}

#[test]
fn a_change_is_told_once_and_the_next_one_again() {
    let world = World::seen("one");
    world.drifted(&[]);
    world.put("a", "two");
    world.drifted(&["a"]);
    world.drifted(&[]);
    world.put("a", "six");
    world.drifted(&["a"]);
    fs::remove_file(world.folder.path().join("a")).expect("it is there");
    world.drifted(&["a"]);
    world.drifted(&[]);
    world.put("a", "six");
    world.drifted(&["a"]);
    // Back as it was seen, and away again.
    world.put("a", "one");
    world.drifted(&[]);
    world.put("a", "six");
    world.drifted(&["a"]);
}

#[test]
fn a_read_arms_the_telling_again() {
    let world = World::seen("one");
    world.put("a", "two");
    world.drifted(&["a"]);
    world.see("a");
    world.put("a", "one");
    world.put("a", "two");
    world.drifted(&[]);
    world.put("a", "one");
    world.drifted(&["a"]);
}

#[test]
fn what_takes_the_place_of_a_file_is_its_end() {
    let world = World::seen("one");
    fs::remove_file(world.folder.path().join("a")).expect("it is there");
    fs::create_dir(world.folder.path().join("a")).expect("a folder");
    world.drifted(&["a"]);
    world.drifted(&[]);
}

#[test]
fn the_oldest_is_forgotten_first() {
    let world = World::seen("one");
    let print = world.known.print(Path::new("a"), &world.open("a")).expect("it can be read");
    for n in 1..MOST_FILES {
        world.known.saw(&PathBuf::from(format!("f{n}")), print.clone());
    }
    world.check("a", "fresh");
    world.known.saw(Path::new("last"), print);
    world.check("a", "never read");
    assert_eq!(world.known.table().files.len(), MOST_FILES);
}

#[test]
fn two_memories_have_keys_of_their_own() {
    let (one, two) = (Freshness::default(), Freshness::default());
    one.wrote(Path::new("a"), b"x");
    two.wrote(Path::new("a"), b"x");
    let print = |known: &Freshness| known.table().files[Path::new("a")].print.clone();
    assert!(!print(&one).is_like(&print(&two)));
}
