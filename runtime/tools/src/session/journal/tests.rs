use super::*;
use crate::testing::World;
use slot_runtime::place::{Away, Placed};
use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

fn journal(world: &World) -> (Journal, UserTurns) {
    let turns = UserTurns::default();
    (Journal::new(world.boundary(), turns.clone(), Place::default()), turns)
}

fn write(journal: &Journal, path: &str, content: &str) {
    journal.write_atomic(path, content.as_bytes(), WriteMode::Overwrite).expect("it is written");
}

#[track_caller]
fn check(journal: &Journal, expect: Result<&[(&str, How)], &str>) {
    match (journal.revert(), expect) {
        (Ok(reverted), Ok(expect)) => {
            let reverted: Vec<_> = reverted.iter().map(|one| (one.path.to_str().expect("text"), one.how)).collect();
            assert_eq!(reverted, expect);
        }
        (Err(error), Err(expect)) => assert!(error.to_string().starts_with(expect), "{error}"),
        (got, expect) => panic!("{got:?} is not {expect:?}"),
    }
}

#[track_caller]
fn holds(world: &World, path: &str, expect: Option<&str>) {
    assert_eq!(fs::read_to_string(world.path(path)).ok().as_deref(), expect, "{path}");
}

#[test]
fn a_turn_is_taken_back_to_before_its_first_change() {
    let world = World::new().with("a", "one").with("gone", "x");
    let (journal, _) = journal(&world);
    write(&journal, "a", "two");
    write(&journal, "./a", "three");
    write(&journal, "d/new", "n");
    journal.change_all(&[Change::Remove { path: "gone" }]).expect("it is removed");
    check(&journal, Ok(&[("a", How::Restored), ("d/new", How::Removed), ("gone", How::BroughtBack)]));
    holds(&world, "a", Some("one"));
    holds(&world, "d/new", None);
    holds(&world, "gone", Some("x"));
    check(&journal, Err("no file tool has changed anything yet"));
}

#[test]
fn only_the_last_turn_with_changes_is_taken_back() {
    let world = World::new().with("a", "one").with("b", "one");
    let (journal, turns) = journal(&world);
    write(&journal, "a", "two");
    turns.begin();
    write(&journal, "b", "two");
    turns.begin();
    check(&journal, Ok(&[("b", How::Restored)]));
    holds(&world, "a", Some("two"));
    check(&journal, Err("no file tool has changed anything yet"));
}

#[test]
fn what_changed_since_keeps_the_whole_turn() {
    let world = World::new().with("a", "one").with("b", "one");
    let (journal, _) = journal(&world);
    write(&journal, "a", "two");
    write(&journal, "b", "two");
    let world = world.with("b", "by hand");
    check(&journal, Err("b has changed since the turn wrote it"));
    holds(&world, "a", Some("two"));
    holds(&world, "b", Some("by hand"));
    fs::remove_file(world.path("b")).expect("a file");
    check(&journal, Err("b has changed since the turn wrote it"));
    // As the turn left it: it can be taken back again.
    let world = world.with("b", "two");
    check(&journal, Ok(&[("a", How::Restored), ("b", How::Restored)]));
    holds(&world, "b", Some("one"));
}

fn bits(world: &World, path: &str) -> u32 {
    fs::metadata(world.path(path)).expect("it is there").permissions().mode() & BITS
}

fn set_bits(world: &World, path: &str, bits: u32) {
    fs::set_permissions(world.path(path), fs::Permissions::from_mode(bits)).expect("its owner may");
}

/// What a patch does to `a`, after which it can be run.
fn run(journal: &Journal) {
    let permissions = Permissions::Executable(true);
    let change = Change::Write { path: "a", bytes: b"one", mode: WriteMode::Overwrite, like: None, permissions };
    journal.change_all(&[change]).expect("it is written");
}

#[test]
fn permissions_are_taken_back() {
    let world = World::new().with("a", "one").with("gone", "x");
    let (journal, _) = journal(&world);
    set_bits(&world, "a", 0o640);
    set_bits(&world, "gone", 0o751);
    run(&journal);
    assert_eq!(bits(&world, "a"), 0o750);
    write(&journal, "a", "two");
    journal.change_all(&[Change::Remove { path: "gone" }]).expect("it is removed");
    check(&journal, Ok(&[("a", How::Restored), ("gone", How::BroughtBack)]));
    assert_eq!((bits(&world, "a"), bits(&world, "gone")), (0o640, 0o751));
}

#[test]
fn permissions_that_others_changed_are_theirs() {
    let world = World::new().with("a", "one").with("b", "one");
    let (journal, _) = journal(&world);
    set_bits(&world, "a", 0o640);
    run(&journal);
    write(&journal, "b", "two");
    write(&journal, "new", "two");
    set_bits(&world, "a", 0o600);
    check(&journal, Err("a has changed since the turn wrote it"));
    set_bits(&world, "a", 0o750);
    // The turn did not touch these.
    set_bits(&world, "b", 0o600);
    set_bits(&world, "new", 0o700);
    check(&journal, Ok(&[("a", How::Restored), ("b", How::Restored), ("new", How::Removed)]));
    assert_eq!((bits(&world, "a"), bits(&world, "b")), (0o640, 0o600));
}

#[test]
fn what_changes_at_the_last_moment_keeps_the_whole_turn() {
    let world = World::new().with("a", "one").with("b", "one").with("gone", "x");
    for (path, expect) in
        [("a", "a has changed since"), ("new", "new has changed since"), ("gone", "already exists: gone")]
    {
        let (at, armed) = (world.path(path), Arc::new(AtomicBool::new(false)));
        let acts = Arc::clone(&armed);
        let files = world.boundary().with_step_gate(Arc::new(move |_| {
            if acts.swap(false, Ordering::Relaxed) { fs::write(&at, "by hand") } else { Ok(()) }
        }));
        let journal = Journal::new(Arc::new(files), UserTurns::default(), Place::default());
        ["a", "b", "new"].iter().for_each(|path| write(&journal, path, "two"));
        journal.change_all(&[Change::Remove { path: "gone" }]).expect("it is removed");
        armed.store(true, Ordering::Relaxed);
        check(&journal, Err(expect));
        holds(&world, path, Some("by hand"));
        holds(&world, "b", Some("two"));
        ["a", "b", "gone"].iter().for_each(|path| fs::write(world.path(path), "one").expect("a file"));
        fs::remove_file(world.path("new")).expect("it is there");
    }
}

/// What is taken back is the file that was written, not another one that its path has come to name.
#[test]
fn a_folder_that_became_a_link_keeps_the_whole_turn() {
    let world = World::new().with("d/a", "one").with("b", "one");
    let (journal, _) = journal(&world);
    write(&journal, "d/a", "two");
    write(&journal, "b", "two");
    let world = world.with("other/a", "two");
    fs::rename(world.path("d"), world.path("away")).expect("a folder");
    std::os::unix::fs::symlink("other", world.path("d")).expect("a link");
    check(&journal, Err("d/a has changed since the turn wrote it"));
    holds(&world, "other/a", Some("two"));
    holds(&world, "b", Some("two"));
}

#[test]
fn a_file_that_came_and_went_is_nothing() {
    let world = World::new();
    let (journal, _) = journal(&world);
    write(&journal, "a", "x");
    journal.change_all(&[Change::Remove { path: "a" }]).expect("it is removed");
    check(&journal, Err("no file tool has changed anything yet"));
}

#[test]
fn what_was_not_kept_is_told_and_nothing_is_taken_back() {
    let world = World::new().with("a", "one").with("big", "0123456789");
    let (mut journal, _) = journal(&world);
    journal.most = 12;
    write(&journal, "a", "two");
    write(&journal, "big", "9876543210");
    check(&journal, Err("what big held before was not kept"));
    holds(&world, "a", Some("two"));
}

#[test]
fn a_failed_write_is_no_change() {
    let world = World::new().with("a", "one");
    let (journal, _) = journal(&world);
    assert!(journal.write_atomic("../x", b"x", WriteMode::Overwrite).is_err());
    assert!(journal.write_atomic("a", b"x", WriteMode::Create).is_err());
    check(&journal, Err("no file tool has changed anything yet"));
}

#[test]
fn each_place_has_a_turn_of_its_own() {
    let world = World::new().with("tree/a", "one").with("a", "one");
    let place = Place::default();
    let files = Arc::new(Placed::new(world.boundary(), place.clone()));
    let journal = Journal::new(files, UserTurns::default(), place.clone());
    write(&journal, "a", "two");
    let enter = || {
        let Narrowed { files, path } = FileBoundary::narrowed(world.boundary().as_ref(), "tree").expect("a folder");
        place.enter(Away { name: "t".to_owned(), base: path, files });
    };
    enter();
    check(&journal, Err("no file tool has changed anything yet"));
    write(&journal, "a", "three");
    check(&journal, Ok(&[("a", How::Restored)]));
    write(&journal, "a", "four");
    place.leave();
    enter();
    check(&journal, Err("no file tool has changed anything yet"));
    place.leave();
    holds(&world, "tree/a", Some("four"));
    check(&journal, Ok(&[("a", How::Restored)]));
    holds(&world, "a", Some("one"));
}
