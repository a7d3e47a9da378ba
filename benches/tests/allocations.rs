//! How often a turn allocates on its way through the pipeline, as exact integers: `counts.json` holds what it was when it
//! was last accepted. A change is a decision: `COUNTS=accept cargo test -p benches --test allocations` writes the new ones.
#![expect(unsafe_code, reason = "an allocator can only be wrapped by an unsafe impl")]
#![allow(clippy::unwrap_used, reason = "a test may simply fail")]

use benches::dispatch::Slot;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

struct Counting;

thread_local! {
    /// What this thread allocated; the test harness allocates on others.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: every call is passed to the system allocator with the arguments as they came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often a turn of `calls` calls allocates with `tools` tools registered, once everything is warm.
fn dispatch(tools: usize, calls: usize) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let slot = Slot::new(tools);
    let once = || {
        let turn = slot.turn(calls);
        let before = ALLOCATIONS.get();
        let settled = runtime.block_on(slot.run(turn));
        let after = ALLOCATIONS.get();
        assert_eq!(settled.len(), calls);
        after - before
    };
    once();
    let (second, third) = (once(), once());
    assert_eq!(second, third, "a count that is not the same twice can gate nothing");
    third
}

#[test]
fn a_turn_allocates_as_often_as_it_was_accepted() {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for tools in [10, 1_000] {
        for calls in [0, 1, 10] {
            found.insert(format!("allocations/dispatch/{calls}-calls/{tools}-tools"), dispatch(tools, calls));
        }
    }
    for calls in [0, 1, 10] {
        let by = |tools: usize| found[&format!("allocations/dispatch/{calls}-calls/{tools}-tools")];
        assert_eq!(by(10), by(1_000), "what a call costs does not depend on how many tools there are");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.json");
    let text = format!("{}\n", serde_json::to_string_pretty(&found).unwrap());
    if std::env::var_os("COUNTS").is_some_and(|word| word == "accept") {
        std::fs::write(&file, &text).unwrap();
    }
    let accepted = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, accepted, "counts changed; if that is meant, accept them with COUNTS=accept");
}
