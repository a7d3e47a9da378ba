//! The gate under every order in which a scheduler may run its holders.
//!
//! Shuttle chooses which task goes on at each await; a run is repeated from its printed schedule.

use shuttle::future::{block_on, spawn, yield_now};
use slot_runtime::dispatch::gate::Gate;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// How many schedules are tried.
const SCHEDULES: usize = 2_000;

#[derive(Default)]
struct Inside {
    shared: AtomicUsize,
    alone: AtomicUsize,
    overlapped: AtomicUsize,
}

async fn share(gate: Gate, inside: Arc<Inside>) {
    let held = gate.shared().await;
    assert_eq!(inside.alone.load(Ordering::Relaxed), 0, "a shared call overlaps with one that is alone");
    if inside.shared.fetch_add(1, Ordering::Relaxed) > 0 {
        inside.overlapped.fetch_add(1, Ordering::Relaxed);
    }
    yield_now().await;
    inside.shared.fetch_sub(1, Ordering::Relaxed);
    drop(held);
}

async fn alone(gate: Gate, inside: Arc<Inside>) {
    let held = gate.alone().await;
    assert_eq!(inside.shared.load(Ordering::Relaxed), 0, "a call that is alone overlaps with a shared one");
    assert_eq!(inside.alone.fetch_add(1, Ordering::Relaxed), 0, "two calls are alone at the same time");
    yield_now().await;
    inside.alone.fetch_sub(1, Ordering::Relaxed);
    drop(held);
}

fn contend() -> usize {
    let (gate, inside) = (Gate::default(), Arc::new(Inside::default()));
    let tasks = [
        spawn(share(gate.clone(), Arc::clone(&inside))),
        spawn(alone(gate.clone(), Arc::clone(&inside))),
        spawn(share(gate.clone(), Arc::clone(&inside))),
        spawn(alone(gate.clone(), Arc::clone(&inside))),
        spawn(share(gate, Arc::clone(&inside))),
    ];
    block_on(async {
        for task in tasks {
            assert!(task.await.is_ok(), "a call panicked");
        }
    });
    inside.overlapped.load(Ordering::Relaxed)
}

#[test]
fn no_schedule_lets_a_call_that_is_alone_overlap_and_none_deadlocks() {
    let overlaps = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&overlaps);
    shuttle::check_random(
        move || {
            seen.fetch_add(contend(), Ordering::Relaxed);
        },
        SCHEDULES,
    );
    // The gate must not buy exclusion by letting nobody overlap.
    assert!(overlaps.load(Ordering::Relaxed) > 0, "shared calls never overlapped");
}

#[test]
fn no_schedule_with_few_preemptions_breaks_the_gate() {
    shuttle::check_pct(
        || {
            contend();
        },
        SCHEDULES,
        3,
    );
}
