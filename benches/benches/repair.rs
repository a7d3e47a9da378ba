//! The argument ladder beside `serde_json` and the two best crates that repair JSON: which classes come out as they were
//! meant, how long it takes, and what hostile texts do.
//!
//! A peer hands out text, which its caller parses: that parse is part of its time. A time for a class that a peer gets
//! wrong is no result; the first table, which is printed before anything is timed, tells which those are.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use benches::arguments::{Class, Sample, hostile, large, samples};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use serde_json::Value;
use slot_wire::repair::{TurnEnd, read_arguments};
use std::hint::black_box;
use std::time::{Duration, Instant};

type Read = fn(&str) -> Option<Value>;

const READERS: [(&str, Read); 4] =
    [("slot-wire", ladder), ("serde_json", strict), ("jsonrepair-rs", jsonrepair_rs), ("llm_json", llm_json)];

fn ladder(text: &str) -> Option<Value> {
    read_arguments(text, TurnEnd::Clean).ok().map(|read| read.value)
}

fn strict(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn jsonrepair_rs(text: &str) -> Option<Value> {
    jsonrepair_rs::jsonrepair(text).ok().and_then(|text| strict(&text))
}

fn llm_json(text: &str) -> Option<Value> {
    llm_json::repair_json(text, &llm_json::RepairOptions::default()).ok().and_then(|text| strict(&text))
}

/// Prints how many of 200 samples of each class come out as meant, as something else, and not at all.
fn exactness() {
    println!("exact / another value / refused, of 200");
    for class in Class::ALL {
        let samples = samples(class, 200);
        let cells = READERS.map(|(name, read)| {
            let read: Vec<_> = samples.iter().map(|sample| (read(&sample.text), &sample.meant)).collect();
            let exact = read.iter().filter(|(read, meant)| read.as_ref() == Some(*meant)).count();
            let refused = read.iter().filter(|(read, _)| read.is_none()).count();
            format!("{name} {exact}/{}/{refused}", samples.len() - exact - refused)
        });
        println!("{class:?}: {}", cells.join(", "));
    }
}

/// Prints the time of each hostile text at 200,000 bytes and at four times as many: linear is a factor of four.
fn endurance() {
    println!("hostile texts: 200 kB, 800 kB, factor");
    let best = |text: &str| {
        let once = || {
            let start = Instant::now();
            let _ = black_box(ladder(black_box(text)));
            start.elapsed()
        };
        (0..7).map(|_| once()).min().unwrap_or_default()
    };
    for ((name, small), (_, large)) in hostile(200_000).into_iter().zip(hostile(800_000)) {
        let (small, large) = (best(&small), best(&large));
        println!("{name}: {small:?}, {large:?}, {:.1}", large.as_secs_f64() / small.as_secs_f64());
    }
}

fn repair(criterion: &mut Criterion) {
    exactness();
    endurance();
    let mut group = criterion.benchmark_group("arguments");
    group.sampling_mode(SamplingMode::Flat).sample_size(20);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    let valid: Vec<String> = samples(Class::Valid, 1_000).into_iter().map(|sample| sample.text).collect();
    for class in [Class::Valid, Class::TrailingComma, Class::Unclosed, Class::RawNewlineTab, Class::ExtraCloser] {
        let texts: Vec<String> = samples(class, 1_000).into_iter().map(|sample| sample.text).collect();
        group.throughput(Throughput::Elements(texts.len() as u64));
        for (name, read) in READERS {
            // The strict reader has a time only for what is valid: the measure for all the others.
            let texts = if name == "serde_json" { &valid } else { &texts };
            group.bench_with_input(BenchmarkId::new(name, format!("{class:?}")), texts, |bench, texts| {
                bench.iter(|| texts.iter().filter(|text| black_box(read(black_box(text))).is_some()).count());
            });
        }
    }
    for class in [Class::Valid, Class::TrailingComma, Class::RawNewlineTab] {
        let (Sample { text, .. }, valid) = (large(class, 1_000_000), large(Class::Valid, 1_000_000));
        assert!(text.len() <= 1 << 20, "{class:?} has {} bytes", text.len());
        for (name, read) in READERS {
            let text = if name == "serde_json" { &valid.text } else { &text };
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_with_input(BenchmarkId::new(name, format!("{class:?}, 1 MiB")), text, |bench, text| {
                bench.iter(|| black_box(read(black_box(text))));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, repair);
criterion_main!(benches);
