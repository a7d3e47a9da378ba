//! What it costs that tools come and go: the pool put together anew beside so many tools of servers, and finding tools among
//! them by words, by a pattern and by name. The target is a search over 3,000 tools in under 1 ms.
//!
//! `after-a-change` searches with the index made anew, as the first search after a server came does.
#![allow(missing_docs, clippy::unwrap_used)]

use benches::sample::servers;
use criterion::{BatchSize, BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use serde_json::{Value, json};
use slot_runtime::boundary::Workspace;
use slot_runtime::contract::{RunContext, Tool, ToolDispatcher, ToolOutput};
use slot_tools::pool::{Discovery, LivePool, PoolSettings, finders};
use slot_tools::tool_search::{Shelf, ToolSearch};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The pool of a session: every built-in tool, and so many of servers, which are deferred.
fn pool(tools: usize) -> (tempfile::TempDir, LivePool) {
    let folder = tempfile::tempdir().unwrap();
    let settings = PoolSettings { discovery: Some(Discovery::default()), ..PoolSettings::default() };
    let shelf = Shelf::default();
    let mut made = slot_tools::builtins(Arc::new(Workspace::open(folder.path()).unwrap()));
    made.extend(finders(&shelf, &settings));
    let pool = LivePool::new(made, settings, shelf);
    servers(tools).into_iter().for_each(|(server, tools)| pool.replace(&server, tools));
    (folder, pool)
}

fn rebuild(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pool-rebuild");
    group.sampling_mode(SamplingMode::Flat).sample_size(20);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    for tools in [0, 100, 1_000] {
        let (_folder, pool) = pool(tools);
        assert!(pool.snapshot().tools.len() >= tools + 10);
        group.bench_function(BenchmarkId::from_parameter(format!("{tools}-of-servers")), |bench| {
            bench.iter(|| pool.refresh());
        });
    }
    group.finish();
}

/// One search, through the tool, as a call runs it.
fn search(tool: &ToolSearch, input: &Value) -> ToolOutput {
    let context = RunContext::new("c1", CancellationToken::new());
    futures_util::future::FutureExt::now_or_never(tool.run(input, &context)).unwrap().unwrap()
}

fn searches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tool-search");
    group.sample_size(50).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    for tools in [100, 3_000] {
        let (_folder, pool) = pool(tools);
        let snapshot = pool.snapshot();
        let shelf = Shelf::default();
        shelf.put(Arc::clone(&snapshot));
        let tool = ToolSearch::new(shelf.clone(), false);
        let name = snapshot.tools.keys().rfind(|name| name.starts_with("mcp__")).unwrap();
        let inputs = [
            // Words of two kinds of tools, and one that every tool has.
            ("words", json!({"query": "archive the invoices of a customer in this workspace"})),
            ("words-of-one", json!({"query": "k42"})),
            ("regex", json!({"query": "archive.*invoice", "by": "regex"})),
            // No word must be there, so that every text is read.
            ("regex-anywhere", json!({"query": r"[0-4]\W$", "by": "regex"})),
            ("name", json!({"query": name, "by": "name"})),
        ];
        for (way, input) in inputs {
            assert!(search(&tool, &input).metadata["loads"].as_array().is_some_and(|loads| !loads.is_empty()), "{way}");
            group.bench_function(BenchmarkId::new(way, format!("{tools}-tools")), |bench| {
                bench.iter(|| search(&tool, black_box(&input)));
            });
        }
        let input = json!({"query": "archive the invoices of a customer in this workspace"});
        group.bench_function(BenchmarkId::new("after-a-change", format!("{tools}-tools")), |bench| {
            let change = || shelf.put(Arc::clone(&snapshot));
            bench.iter_batched(change, |()| search(&tool, &input), BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, rebuild, searches);
criterion_main!(benches);
