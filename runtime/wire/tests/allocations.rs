//! The SSE decoder allocates nothing per event once its buffers have grown, at any chunk size.
#![expect(unsafe_code, reason = "an allocator can only be wrapped by an unsafe impl")]

use slot_wire::sse::SseDecoder;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// What this thread allocated; the test harness allocates on others.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
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

#[test]
fn no_allocation_per_event_in_the_steady_state() {
    let event = "id: 17\nevent: content_block_delta\ndata: {\"type\":\"input_json_delta\",\ndata:  \"partial_json\":\"let ü\"}\n\n";
    let single =
        "event: content_block_delta\ndata: {\"type\":\"input_json_delta\",\"partial_json\":\"let value = 1;\"}\r\n\r\n";
    let stream = [event, single, ": keep-alive\n\n", single].concat().repeat(1_000).into_bytes();
    for size in [1, 7, 64, 1_400, 16_384] {
        let mut decoder = SseDecoder::default();
        let mut events = 0;
        let mut feed = |bytes: &[u8]| {
            for chunk in bytes.chunks(size) {
                assert!(decoder.feed(chunk, |_| events += 1).is_ok());
            }
        };
        feed(&stream);
        let before = ALLOCATIONS.get();
        feed(&stream);
        let after = ALLOCATIONS.get();
        assert_eq!(events, 6_000);
        assert_eq!(after - before, 0, "at {size} byte chunks");
    }
}
