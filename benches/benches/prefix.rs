//! The prefix meter over the six canonical sessions: all of it, and its byte part beside a comparison and a copy of the same
//! bytes in memory.
//!
//! `read` lays out the requests, `bytes` compares each with the one before it (what the target is set for), `measure` adds
//! breaks and the simulated caches. Compare ratios inside one run only.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use slot_oracles::prefix::{Captured, Prompt, common, measure};
use slot_oracles::trace::WireRequest;
use slotspec::case::Library;
use slotspec::prefix::canonical::{CANONICAL, play};
use slotspec::prefix::providers;
use std::hint::black_box;
use std::time::Duration;

/// How many bytes the byte part reads at least, so that calls and branches are not what is measured.
const LEAST: usize = 4 << 20;

fn session(requests: &[WireRequest]) -> Vec<Captured<'_>> {
    let captured = |request| Captured { prompt: Prompt::from_wire(request), at: None, declared: None };
    requests.iter().map(captured).collect()
}

fn compare(session: &[Captured<'_>]) -> usize {
    session.windows(2).map(|pair| common(&pair[0].prompt, &pair[1].prompt).bytes).sum()
}

/// The text of a request as one piece.
fn rendered(prompt: &Prompt<'_>) -> Vec<u8> {
    prompt.parts().iter().flat_map(|part| part.text.bytes().chain([0x1f])).collect()
}

fn canonical(criterion: &mut Criterion) {
    let library = Library::load(None, None).unwrap();
    let providers = providers();
    let mut group = criterion.benchmark_group("prefix");
    group.sampling_mode(SamplingMode::Flat).sample_size(20);
    group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    for id in CANONICAL {
        let name = id.rsplit('/').next().unwrap();
        let requests = play(&library, id, "anthropic").unwrap();
        let session = session(&requests);
        let texts: Vec<Vec<u8>> = session.iter().map(|captured| rendered(&captured.prompt)).collect();
        let once: usize = compare(&session);
        let rounds = LEAST.div_ceil(once.max(1));
        group.throughput(Throughput::Bytes((once * rounds) as u64));
        group.bench_function(BenchmarkId::new("bytes", name), |bench| {
            bench.iter(|| (0..rounds).map(|_| compare(black_box(&session))).sum::<usize>());
        });
        group.bench_function(BenchmarkId::new("memcmp", name), |bench| {
            let same = |pair: &[Vec<u8>]| {
                let len = pair[0].len().min(pair[1].len());
                usize::from(pair[0][..len] == pair[1][..len])
            };
            bench.iter(|| (0..rounds).map(|_| black_box(&texts).windows(2).map(same).sum::<usize>()).sum::<usize>());
        });
        group.bench_function(BenchmarkId::new("memcpy", name), |bench| {
            let mut into: Vec<u8> = Vec::with_capacity(LEAST);
            bench.iter(|| {
                for _ in 0..rounds {
                    for text in black_box(&texts[..texts.len() - 1]) {
                        into.clear();
                        into.extend_from_slice(text);
                        black_box(&into);
                    }
                }
            });
        });
        let all: usize = texts.iter().map(Vec::len).sum();
        group.throughput(Throughput::Bytes(all as u64));
        group.bench_function(BenchmarkId::new("read", name), |bench| {
            bench.iter(|| black_box(&requests).iter().map(|request| Prompt::from_wire(request).bytes()).sum::<usize>());
        });
        group.bench_function(BenchmarkId::new("measure", name), |bench| {
            bench.iter(|| measure(black_box(&session), &providers));
        });
    }
    group.finish();
}

criterion_group!(benches, canonical);
criterion_main!(benches);
