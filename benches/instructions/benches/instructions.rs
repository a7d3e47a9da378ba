//! How many instructions every call pays for: the pipeline, the catalog, the reading of commands, arguments and streams, and
//! a search for tools. A count that grows by more than two of a hundred against the baseline fails the run.
//!
//! Everything that is only made once is made in the setup, which is not counted; and what is made lazily is made there too.
//! What the setup made is handed back, so that its end is not counted either.
#![allow(missing_docs, clippy::unwrap_used)]

use benches::arguments::{Class, samples};
use benches::delta_stream;
use benches::dispatch::Slot;
use benches::sample::{Sample, servers};
use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind, LibraryBenchmarkConfig};
use slot_runtime::approval::command::{Analysis, analyse};
use slot_runtime::boundary::Workspace;
use slot_runtime::contract::{MetadataSnapshot, ToolDispatcher, ToolSpec};
use slot_runtime::dispatch::{Raw, Settled};
use slot_runtime::registry::Registry;
use slot_tools::pool::{Discovery, LivePool, PoolSettings};
use slot_tools::tool_search::{Library, Shelf};
use slot_wire::repair::{TurnEnd, read_arguments};
use slot_wire::sse::SseDecoder;
use std::hint::black_box;
use std::sync::Arc;
use tokio::runtime::Runtime;

fn turn(calls: usize) -> (Runtime, Slot, Vec<Raw>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let slot = Slot::new(100);
    runtime.block_on(slot.run(slot.turn(calls)));
    let turn = slot.turn(calls);
    (runtime, slot, turn)
}

#[library_benchmark]
#[bench::one_call(args = (1), setup = turn)]
#[bench::ten_calls(args = (10), setup = turn)]
fn dispatch((runtime, slot, turn): (Runtime, Slot, Vec<Raw>)) -> (Vec<Settled>, Slot, Runtime) {
    let settled = black_box(runtime.block_on(slot.run(black_box(turn))));
    (settled, slot, runtime)
}

fn tools(count: usize) -> Vec<Arc<dyn ToolSpec>> {
    (0..count).map(|at| Arc::new(Sample::built_in(at)) as _).collect()
}

#[library_benchmark]
#[bench::of_120_tools(args = (120), setup = tools)]
fn catalog(tools: Vec<Arc<dyn ToolSpec>>) -> (Arc<MetadataSnapshot>, Registry) {
    let registry = Registry::new(black_box(tools));
    (black_box(registry.snapshot()), registry)
}

fn command(text: &'static str) -> &'static str {
    analyse(text);
    text
}

#[library_benchmark]
#[bench::look(args = ("ls -la src"), setup = command)]
#[bench::chain(args = ("cd src && grep -rn 'fn main' . | head -20 && git commit -m \"Say why\""), setup = command)]
#[bench::opaque(args = ("for f in $(ls); do sed -i \"s/a/b/\" \"$f\"; done"), setup = command)]
fn analysis(text: &str) -> Analysis {
    black_box(analyse(black_box(text)))
}

fn library(tools: usize) -> Library {
    let folder = tempfile::tempdir().unwrap();
    let settings = PoolSettings { discovery: Some(Discovery::default()), ..PoolSettings::default() };
    let made = slot_tools::builtins(Arc::new(Workspace::open(folder.path()).unwrap()));
    let pool = LivePool::new(made, settings, Shelf::default());
    // At once, for each change puts the pool together anew.
    pool.replace("servers", servers(tools).into_iter().flat_map(|(_, tools)| tools).collect());
    Library::of(&pool.snapshot())
}

#[library_benchmark]
#[bench::of_3000_tools(args = (3_000), setup = library)]
fn search(library: Library) -> (usize, Library) {
    let found = black_box(black_box(&library).described("archive the invoices of a customer", None).len());
    (found, library)
}

fn text(class: Class) -> String {
    samples(class, 1).remove(0).text
}

#[library_benchmark]
#[bench::valid(args = (Class::Valid), setup = text)]
#[bench::trailing_comma(args = (Class::TrailingComma), setup = text)]
fn arguments(text: String) -> bool {
    black_box(read_arguments(black_box(&text), TurnEnd::Clean).is_ok())
}

#[library_benchmark]
#[bench::thousand_events(args = (1_000), setup = delta_stream)]
fn stream(body: Vec<u8>) -> usize {
    let (mut decoder, mut bytes) = (SseDecoder::default(), 0);
    for chunk in black_box(&body).chunks(1_400) {
        decoder.feed(chunk, |event| bytes += event.data.len()).unwrap();
    }
    black_box(bytes)
}

library_benchmark_group!(name = counted, benchmarks = [dispatch, catalog, analysis, search, arguments, stream]);

main!(
    config = LibraryBenchmarkConfig::default().tool(Callgrind::default().soft_limits([(EventKind::Ir, 2.0)])),
    library_benchmark_groups = counted
);
