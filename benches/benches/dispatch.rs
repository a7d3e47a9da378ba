//! What governing a call costs: a turn of no, one and ten parallel calls of a tool that does nothing, through every stage,
//! with 10, 100 and 1,000 tools registered. The target is 20 µs a call.
#![allow(missing_docs, clippy::unwrap_used)]

use benches::dispatch::Slot;
use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use std::time::Duration;

fn dispatch(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut group = criterion.benchmark_group("dispatch");
    group.sample_size(50).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    for tools in [10, 100, 1_000] {
        let slot = Slot::new(tools);
        for calls in [0, 1, 10] {
            let settled = runtime.block_on(slot.run(slot.turn(calls)));
            assert!(settled.len() == calls && settled.iter().all(|settled| !settled.is_error()));
            group.bench_function(BenchmarkId::new(format!("{calls}-calls"), format!("{tools}-tools")), |bench| {
                bench.iter_batched(|| slot.turn(calls), |turn| runtime.block_on(slot.run(turn)), BatchSize::SmallInput);
            });
        }
    }
    group.finish();
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
