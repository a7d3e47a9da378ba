//! A thread that does nothing but put a link in the place of a folder and back, while the boundary works on paths
//! through it. Whatever an operation answers, it must never have been outside.

use super::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::{
    io::Read,
    os::unix::fs::MetadataExt,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

/// The least number of tries, and of bursts of swaps between them.
const TRIES: usize = 2000;
const BURSTS: usize = 80;

/// What happened in all the tries.
#[derive(Debug, Default)]
struct Tally {
    inside: usize,
    refused: usize,
}

/// Runs `act` again and again while `sub`, a folder, and `bait`, a link to the folder outside, swap their names. The
/// swaps come in bursts of many lengths, with a try between two bursts, so that whatever the scheduler does there
/// are calm moments with either in place and stormy ones. Ends when there were enough of both.
fn swapping(world: &World, mut act: impl FnMut() -> Result<(), BoundaryError>) -> Tally {
    let (stop, tries, bursts) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut tally = Tally::default();
    let (folder, bait) = (world.inside("sub"), world.inside("bait"));
    let swap = || renameat_with(CWD, &folder, CWD, &bait, RenameFlags::EXCHANGE).expect("both exist");
    thread::scope(|scope| {
        scope.spawn(|| {
            for burst in (0..).map(|n: usize| n * 389 % 1009) {
                (0..=burst).for_each(|_| swap());
                bursts.fetch_add(1, Ordering::Release);
                let seen = tries.load(Ordering::Acquire);
                while tries.load(Ordering::Acquire) == seen && !stop.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            while tries.load(Ordering::Relaxed) < TRIES || bursts.load(Ordering::Acquire) < BURSTS {
                match act() {
                    Ok(()) => tally.inside += 1,
                    Err(error) => {
                        assert!(["escape", "unstable", "not found"].contains(&variant(&error)), "{error}");
                        tally.refused += 1;
                    }
                }
                tries.fetch_add(1, Ordering::Release);
                thread::yield_now();
            }
        }));
        // The other thread must end whatever happened here.
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    tally
}

fn world() -> World {
    let world = World::new().link("bait", "{out}/dir");
    fs::write(world.inside("sub/secret"), "inside").expect("a file");
    world
}

#[track_caller]
fn assert_both_happened(tally: &Tally) {
    // A race that always fell the same way would have tested nothing.
    assert!(tally.inside > 0 && tally.refused > 0, "{tally:?}");
}

#[test]
fn a_swapped_folder_never_leads_a_read_outside() {
    let world = world();
    for workspace in world.both() {
        let tally = swapping(&world, || {
            let mut text = String::new();
            workspace.open_file("sub/secret")?.file.read_to_string(&mut text).expect("text");
            assert_eq!(text, "inside");
            Ok(())
        });
        assert_both_happened(&tally);
    }
    world.assert_untouched();
}

#[test]
fn a_swapped_folder_never_leads_a_write_outside() {
    let world = world();
    for workspace in world.both() {
        let tally = swapping(&world, || {
            workspace.write_atomic("sub/secret", b"inside", WriteMode::Overwrite)?;
            workspace.write_atomic("sub/x/new", b"inside", WriteMode::Overwrite)?;
            Ok(())
        });
        assert_both_happened(&tally);
    }
    world.assert_untouched();
}

#[test]
fn a_swapped_folder_never_leads_changes_that_belong_together_outside() {
    let world = world();
    for workspace in world.both() {
        let tally = swapping(&world, || {
            let mode = WriteMode::Overwrite;
            let write =
                |path| Change::Write { path, bytes: b"inside", mode, like: None, permissions: Permissions::Kept };
            workspace.change_all(&[write("sub/secret"), write("sub/x/new")])?;
            workspace.change_all(&[Change::Remove { path: "sub/x/new" }, write("sub/secret")])?;
            Ok(())
        });
        assert_both_happened(&tally);
    }
    world.assert_untouched();
}

#[test]
fn elsewhere_a_swapped_folder_never_leads_outside_either() {
    let world = world();
    let workspace = world.elsewhere();
    let tally = swapping(&world, || {
        let act = || {
            let mut text = String::new();
            workspace.open_file("sub/secret")?.file.read_to_string(&mut text).expect("text");
            assert_eq!(text, "inside");
            workspace.write_atomic("sub/secret", b"inside", WriteMode::Overwrite)?;
            workspace.write_atomic("sub/x/new", b"inside", WriteMode::Overwrite)?;
            Ok(())
        };
        // It tells a path that changed by whatever the system said of it.
        act().map_err(|_: BoundaryError| BoundaryError::Unstable { path: "sub".to_owned() })
    });
    assert_both_happened(&tally);
    world.assert_untouched();
}

#[test]
fn a_swapped_folder_never_leads_a_listing_or_a_start_outside() {
    let world = world();
    let inside = fs::metadata(world.inside("sub")).expect("a folder").ino();
    for workspace in world.both() {
        let tally = swapping(&world, || {
            let listing = workspace.list_dir("sub", 10)?;
            assert_eq!(listing.total, 3, "the folder inside holds three names, the one outside only one");
            let started = fs::metadata(workspace.open_dir("sub")?.spawn_path()).expect("the handle is open");
            assert_eq!(started.ino(), inside);
            Ok(())
        });
        assert_both_happened(&tally);
    }
}

/// What one operation answers when `sub` becomes a link to the outside between its walk and its open, and, if
/// `restored`, is a folder again whenever it looks anew.
#[track_caller]
fn check_rival(restored: bool, act: impl Fn(&Workspace) -> Result<(), BoundaryError>, expect: &str) {
    let world = world();
    fs::create_dir(world.outside("dir/deep")).expect("a folder");
    for workspace in world.both() {
        let is_link = Arc::new(AtomicBool::new(false));
        let (folder, bait, seen) = (world.inside("sub"), world.inside("bait"), Arc::clone(&is_link));
        let rival = move |walked: bool| {
            let swap = if walked { !seen.load(Ordering::Relaxed) } else { restored && seen.load(Ordering::Relaxed) };
            if swap {
                renameat_with(CWD, &folder, CWD, &bait, RenameFlags::EXCHANGE).expect("both exist");
                seen.fetch_xor(true, Ordering::Relaxed);
            }
        };
        let error = act(&workspace.with_rival(Arc::new(rival))).expect_err("the path never held still");
        assert_eq!(variant(&error), expect, "{error}");
        if is_link.load(Ordering::Relaxed) {
            renameat_with(CWD, world.inside("sub"), CWD, world.inside("bait"), RenameFlags::EXCHANGE)
                .expect("both exist");
        }
    }
    fs::remove_dir(world.outside("dir/deep")).expect("nothing was put into it");
    world.assert_untouched();
    assert!(!tree(&world.inside("")).iter().any(|name| name.contains("new") || name.ends_with(".tmp")));
}

#[track_caller]
fn check_both_rivals(act: impl Fn(&Workspace) -> Result<(), BoundaryError>) {
    check_rival(false, &act, "escape");
    check_rival(true, &act, "unstable");
}

#[test]
fn a_folder_swapped_between_look_and_use_is_never_followed() {
    check_both_rivals(|workspace| workspace.open_file("sub/secret").map(drop));
    check_both_rivals(|workspace| workspace.open_file("sub/deep/../secret").map(drop));
    check_both_rivals(|workspace| workspace.metadata("sub").map(drop));
    check_both_rivals(|workspace| workspace.metadata("sub/secret").map(drop));
    check_both_rivals(|workspace| workspace.list_dir("sub", 10).map(drop));
    check_both_rivals(|workspace| workspace.list_dir("sub/deep", 10).map(drop));
    check_both_rivals(|workspace| workspace.open_dir("sub/deep").map(drop));
    check_both_rivals(|workspace| workspace.write_atomic("sub/secret", b"new", WriteMode::Overwrite).map(drop));
    check_both_rivals(|workspace| workspace.write_atomic("sub/new", b"new", WriteMode::Overwrite).map(drop));
    check_both_rivals(|workspace| workspace.write_atomic("sub/deep/new", b"new", WriteMode::Create).map(drop));
    check_both_rivals(|workspace| workspace.write_atomic("sub/new/new", b"new", WriteMode::Create).map(drop));
    check_both_rivals(|workspace| workspace.create_dirs("sub/new/new").map(drop));
    check_both_rivals(|workspace| workspace.change_all(&[Change::Remove { path: "sub/secret" }]).map(drop));
}

/// A write whose target becomes a link to the outside just before the rename: the link is replaced, not followed.
#[test]
fn a_target_swapped_before_the_rename_is_replaced() {
    let world = World::new();
    let (target, out) = (world.inside("a.txt"), world.outside("secret"));
    let workspace = world.workspace().with_step_gate(Arc::new(move |step| {
        if step == WriteStep::Rename {
            fs::remove_file(&target)?;
            symlink(&out, &target)?;
        }
        Ok(())
    }));
    workspace.write_atomic("a.txt", b"new", WriteMode::Overwrite).expect("a write");
    assert_eq!(fs::read_link(world.inside("a.txt")).expect_err("no link").kind(), io::ErrorKind::InvalidInput);
    assert_eq!(fs::read_to_string(world.inside("a.txt")).expect("a file"), "new");
    world.assert_untouched();
}

/// A new file whose name is taken just before the rename: what took it stays, and is then written like any old file.
#[test]
fn a_name_taken_before_the_rename_is_looked_at_again() {
    let world = World::new().link("trap", "{out}/secret");
    let taken = AtomicBool::new(false);
    let (target, trap) = (world.inside("new"), world.inside("trap"));
    let workspace = world.workspace().with_step_gate(Arc::new(move |step| {
        if step == WriteStep::Rename && !taken.swap(true, Ordering::Relaxed) {
            fs::rename(&trap, &target)?;
        }
        Ok(())
    }));
    let error = workspace.write_atomic("new", b"new", WriteMode::Overwrite).expect_err("a link out took the name");
    assert_eq!(variant(&error), "escape");
    world.assert_untouched();
    assert!(!tree(&world.inside("")).iter().any(|name| name.ends_with(".tmp")));
}
