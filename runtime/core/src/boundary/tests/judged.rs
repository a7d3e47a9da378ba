//! The last word on a change: whoever has it sees the file that would go, and no other one goes.

use super::*;
use std::{
    io::{self, Read},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// Admits what `judge` admits: told the old content and the new one.
struct Judge<F>(F);

impl<F: Fn(Option<&str>, Option<&str>) -> bool + Send + Sync> ChangeGate for Judge<F> {
    fn judge(&self, change: &Pending<'_>) -> Result<(), BoundaryError> {
        let old = change.old.map(|mut file| {
            let mut text = String::new();
            file.read_to_string(&mut text).expect("text");
            text
        });
        let new = change.new.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        match (self.0)(old.as_deref(), new.as_deref()) {
            true => Ok(()),
            false => Err(BoundaryError::Refused { reason: format!("not {}", change.resolved.display()) }),
        }
    }
}

#[track_caller]
fn holds(world: &World, path: &str, expect: &str) {
    assert_eq!(fs::read_to_string(world.inside(path)).expect("it is there"), expect);
    let left = tree(&world.inside("")).into_iter().filter(|name| name.contains(".slot-")).count();
    assert_eq!(left, 0, "something temporary was left behind");
}

#[test]
fn a_gate_sees_what_would_go_and_what_would_come() {
    let world = World::new();
    for workspace in world.both() {
        let seen = Mutex::new(Vec::new());
        let gate = Judge(|old: Option<&str>, new: Option<&str>| {
            seen.lock().expect("no panic").push((old.map(str::to_owned), new.map(str::to_owned)));
            true
        });
        let changes = [write("a.txt", "new"), write("x/n.txt", "n"), Change::Remove { path: "sub/b.txt" }];
        workspace.change_gated(&changes, Some(&gate)).expect("all is admitted");
        let text = |text: &str| Some(text.to_owned());
        let expect = [(text("a"), text("new")), (None, text("n")), (text("b"), None)];
        assert_eq!(seen.into_inner().expect("no panic"), expect);
        holds(&world, "a.txt", "new");
        fs::write(world.inside("a.txt"), "a").expect("a file");
        fs::write(world.inside("sub/b.txt"), "b").expect("a file");
        fs::remove_dir_all(world.inside("x")).expect("it was made");
    }
}

/// Also when the name that it was moved from has been taken by a change before.
#[test]
fn a_gate_sees_what_a_file_was_moved_from() {
    struct Froms(Mutex<Vec<Option<String>>>);
    impl ChangeGate for Froms {
        fn judge(&self, change: &Pending<'_>) -> Result<(), BoundaryError> {
            let from = change.moved_from.map(|file| io::read_to_string(file).expect("text"));
            self.0.lock().expect("no panic").push(from);
            Ok(())
        }
    }
    let world = World::new();
    for workspace in world.both() {
        let moved = |path, bytes, like, mode| Change::Write {
            path,
            bytes,
            mode,
            like: Some(like),
            permissions: Permissions::Kept,
        };
        let changes = [
            moved("a.txt", b"b", "sub/b.txt", WriteMode::Overwrite),
            moved("sub/b.txt", b"a", "a.txt", WriteMode::Overwrite),
            moved("c.txt", b"c", "a.txt", WriteMode::Create),
            Change::Remove { path: "c.txt" },
        ];
        let gate = Froms(Mutex::default());
        workspace.change_gated(&changes, Some(&gate)).expect("all is admitted");
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(gate.0.into_inner().expect("no panic")[..2], [text("b"), text("a")]);
        holds(&world, "a.txt", "b");
        holds(&world, "sub/b.txt", "a");
        let absent = workspace.change_gated(&[moved("n", b"n", "gone", WriteMode::Create)], None);
        assert_eq!(variant(&absent.expect_err("nothing is there")), "not found");
        fs::write(world.inside("a.txt"), "a").expect("a file");
        fs::write(world.inside("sub/b.txt"), "b").expect("a file");
    }
}

#[test]
fn what_is_refused_is_not_made_and_takes_the_rest_back() {
    let world = World::new();
    for workspace in world.both() {
        for refused in [write("sub/b.txt", "no"), write("y/new.txt", "no"), Change::Remove { path: "sub/b.txt" }] {
            let gate = Judge(|_: Option<&str>, new: Option<&str>| new == Some("yes"));
            let error = workspace.change_gated(&[write("a.txt", "yes"), refused], Some(&gate)).expect_err("refused");
            assert_eq!(variant(&error), "refused", "{error}");
            holds(&world, "a.txt", "a");
            holds(&world, "sub/b.txt", "b");
            assert!(!world.inside("y").exists());
        }
    }
}

/// Makes `change` with somebody who acts once, right after it was admitted.
fn with_rival(world: &World, change: Change<'_>, act: impl Fn() + Send + Sync) -> (Vec<String>, &'static str) {
    let seen = Mutex::new(Vec::new());
    let gate = Judge(|old: Option<&str>, _: Option<&str>| {
        let mut seen = seen.lock().expect("no panic");
        seen.push(old.unwrap_or_default().to_owned());
        if seen.len() == 1 {
            act();
        }
        old == Some("a")
    });
    let result = world.workspace().change_gated(&[change], Some(&gate));
    (seen.into_inner().expect("no panic"), result.as_ref().map_or_else(variant, |_| "made"))
}

#[test]
fn what_takes_the_place_of_the_judged_file_is_judged_itself() {
    for change in [write("a.txt", "mine"), Change::Remove { path: "a.txt" }] {
        let world = World::new();
        let swap = || {
            fs::write(world.inside("other"), "rival").expect("a file");
            fs::rename(world.inside("other"), world.inside("a.txt")).expect("a rename");
        };
        assert_eq!(with_rival(&world, change, swap), (vec!["a".to_owned(), "rival".to_owned()], "refused"));
        holds(&world, "a.txt", "rival");
    }
}

#[test]
fn what_is_written_into_the_judged_file_is_found() {
    for change in [write("a.txt", "mine"), Change::Remove { path: "a.txt" }] {
        let world = World::new();
        let add = || fs::write(world.inside("a.txt"), "a and more").expect("a file");
        assert_eq!(with_rival(&world, change, add), (vec!["a".to_owned(), "a and more".to_owned()], "refused"));
        holds(&world, "a.txt", "a and more");
    }
}

#[test]
fn a_link_in_the_place_of_the_judged_file_is_neither_followed_nor_lost() {
    for change in [write("a.txt", "mine"), Change::Remove { path: "a.txt" }] {
        let world = World::new();
        let link = || {
            fs::remove_file(world.inside("a.txt")).expect("a file");
            symlink(world.outside("secret"), world.inside("a.txt")).expect("a link");
        };
        assert_eq!(with_rival(&world, change, link), (vec!["a".to_owned()], "escape"));
        assert!(world.inside("a.txt").is_symlink());
        world.assert_untouched();
    }
}

#[test]
fn a_file_that_is_gone_since_is_made_anew_only_as_a_new_one() {
    let world = World::new();
    let remove = || fs::remove_file(world.inside("a.txt")).expect("a file");
    assert_eq!(with_rival(&world, write("a.txt", "mine"), remove).1, "refused");
    assert!(!world.inside("a.txt").exists());
}

/// A thread that puts a file of its own in the place of ours at any moment never loses it to a write that was to replace
/// ours.
#[test]
fn no_write_replaces_what_came_after_the_judgement() {
    const ROUNDS: usize = 300;
    let world = World::new();
    fs::write(world.inside("a.txt"), "mine").expect("a file");
    let (tries, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let put = |content: &str| {
        fs::write(world.inside("other"), content).expect("a file");
        fs::rename(world.inside("other"), world.inside("a.txt")).expect("a rename");
    };
    let a_whole_try = || {
        let from = tries.load(Ordering::Acquire);
        while tries.load(Ordering::Acquire) < from + 2 && !stop.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    };
    let lost = thread::scope(|scope| {
        let rival = scope.spawn(|| {
            let mut lost = 0;
            for round in 0..ROUNDS {
                (0..round % 7).for_each(|_| thread::yield_now());
                put("rival");
                a_whole_try();
                lost += usize::from(fs::read_to_string(world.inside("a.txt")).expect("it is there") != "rival");
                put("mine");
            }
            stop.store(true, Ordering::Relaxed);
            lost
        });
        let workspace = world.workspace();
        let gate: Arc<dyn ChangeGate> = Arc::new(Judge(|old: Option<&str>, _: Option<&str>| old == Some("mine")));
        while !stop.load(Ordering::Relaxed) && !rival.is_finished() {
            match workspace.change_gated(&[write("a.txt", "mine")], Some(gate.as_ref())) {
                Ok(_) => {}
                Err(error) => assert!(["refused", "unstable"].contains(&variant(&error)), "{error}"),
            }
            tries.fetch_add(1, Ordering::Release);
        }
        rival.join().expect("it ends")
    });
    assert_eq!(lost, 0);
}
