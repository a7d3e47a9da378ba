//! The catalog of 120 tools: made anew, and put into a request once it is made, beside a copy of its bytes.
//!
//! `first` registers the tools and encodes them for every dialect, as a change of tools does. `cached` is what a request
//! pays for the catalog: an empty conversation encoded around it. The target is 2.5 copies. Compare ratios inside one run.
#![allow(missing_docs, clippy::unwrap_used)]

use benches::sample::Sample;
use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use slot_runtime::contract::{ToolDispatcher, ToolSpec};
use slot_runtime::registry::Registry;
use slot_wire::dialect::RequestOptions;
use slot_wire::{Conversation, Dialect};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const TOOLS: usize = 120;

fn catalog(criterion: &mut Criterion) {
    let tools: Vec<Arc<dyn ToolSpec>> = (0..TOOLS).map(|at| Arc::new(Sample::built_in(at)) as _).collect();
    let shown = Registry::new(tools.clone()).snapshot();
    assert_eq!(shown.catalog.names().len(), TOOLS);
    let conversation = Conversation::default();
    let mut group = criterion.benchmark_group("catalog-120-tools");
    group.sampling_mode(SamplingMode::Flat).sample_size(30);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    group.bench_function("first", |bench| bench.iter(|| Registry::new(black_box(&tools).iter().cloned()).snapshot()));
    for dialect in Dialect::ALL {
        let bytes = shown.catalog.encoded(dialect);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(format!("cached/{}", dialect.name()), |bench| {
            bench.iter(|| {
                let catalog = black_box(&shown).catalog.encoded(dialect);
                let options = RequestOptions { model: "m", catalog, max_tokens: None };
                dialect.encode_request(&conversation, &options)
            });
        });
        group.bench_function(format!("memcpy/{}", dialect.name()), |bench| {
            bench.iter(|| black_box(bytes).as_bytes().to_vec());
        });
    }
    group.finish();
}

criterion_group!(benches, catalog);
criterion_main!(benches);
