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
const BURSTS: usize = 300;

/// What happened in all the tries.
#[derive(Debug, Default)]
struct Tally {
    inside: usize,
    refused: usize,
}

/// Runs `act` again and again while `sub`, a folder, and `bait`, a link to the folder outside, swap their names. The
/// swaps come in bursts of growing length, with a try between two bursts, so that whatever the scheduler does there
/// are calm moments with either in place and stormy ones. Ends when there were enough of both.
fn swapping(world: &World, mut act: impl FnMut() -> Result<(), BoundaryError>) -> Tally {
    let (stop, tries, bursts) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut tally = Tally::default();
    let (folder, bait) = (world.inside("sub"), world.inside("bait"));
    let swap = || renameat_with(CWD, &folder, CWD, &bait, RenameFlags::EXCHANGE).expect("both exist");
    thread::scope(|scope| {
        scope.spawn(|| {
            for burst in (1..64).cycle() {
                (0..burst).for_each(|_| swap());
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
