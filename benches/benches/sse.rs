//! How fast `slot_wire::sse` parses, beside the named peers, at four chunk sizes.
//!
//! Compare ratios inside one run only. Peers that take a stream of `Bytes` pay for cutting it into chunks, most of all
//! at one byte; `slot-wire/stream` pays the same, `slot-wire` and `sse-parse` are fed slices.
#![allow(missing_docs, clippy::unwrap_used)]

use benches::{Tally, delta_stream};
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use eventsource_stream::Eventsource;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use slot_wire::sse::SseDecoder;
use std::convert::Infallible;
use std::hint::black_box;
use std::time::Duration;

const EVENTS: usize = 20_000;

type Parser = fn(&Bytes, usize) -> Tally;

const PARSERS: [(&str, Parser); 5] = [
    ("slot-wire", slot_wire_slices),
    ("slot-wire/stream", slot_wire_stream),
    ("sse-stream", sse_stream_crate),
    ("sse-parse", sse_parse_crate),
    ("eventsource-stream", eventsource_stream_crate),
];

fn chunks(body: &Bytes, size: usize) -> impl Stream<Item = Result<Bytes, Infallible>> + Unpin {
    let body = body.clone();
    stream::iter((0..body.len()).step_by(size).map(move |at| Ok(body.slice(at..body.len().min(at + size)))))
}

fn slot_wire_slices(body: &Bytes, size: usize) -> Tally {
    let mut tally = Tally::default();
    let mut decoder = SseDecoder::default();
    for chunk in body.chunks(size) {
        decoder.feed(chunk, |event| tally.add(black_box(event.data))).unwrap();
    }
    tally
}

fn slot_wire_stream(body: &Bytes, size: usize) -> Tally {
    let mut tally = Tally::default();
    let mut decoder = SseDecoder::default();
    let mut chunks = chunks(body, size);
    while let Some(chunk) = chunks.next().now_or_never().unwrap() {
        decoder.feed(&chunk.unwrap(), |event| tally.add(black_box(event.data))).unwrap();
    }
    tally
}

fn sse_stream_crate(body: &Bytes, size: usize) -> Tally {
    let mut tally = Tally::default();
    let mut events = sse_stream::SseByteStream::new(chunks(body, size));
    while let Some(event) = events.next().now_or_never().unwrap() {
        tally.add(black_box(event.unwrap().data.as_deref().unwrap_or_default()));
    }
    tally
}

fn sse_parse_crate(body: &Bytes, size: usize) -> Tally {
    let mut tally = Tally::default();
    let mut parser = sse_parse::SseParser::new();
    for chunk in body.chunks(size) {
        parser.feed(chunk);
        while let Some(event) = parser.next_event() {
            tally.add(black_box(&event.data));
        }
    }
    tally
}

fn eventsource_stream_crate(body: &Bytes, size: usize) -> Tally {
    let mut tally = Tally::default();
    let mut events = chunks(body, size).eventsource();
    while let Some(event) = events.next().now_or_never().unwrap() {
        tally.add(black_box(&event.unwrap().data));
    }
    tally
}

fn parse(criterion: &mut Criterion) {
    let body = Bytes::from(delta_stream(EVENTS));
    let expected = slot_wire_slices(&body, body.len());
    assert_eq!(expected.events, EVENTS);
    let mut group = criterion.benchmark_group("sse-parse-only");
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.sampling_mode(SamplingMode::Flat).sample_size(30);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    for size in [1, 64, 1_400, 16_384] {
        for (name, parser) in PARSERS {
            assert_eq!(parser(&body, size), expected, "{name} at {size} byte chunks");
            group.bench_with_input(BenchmarkId::new(name, size), &size, |bench, &size| {
                bench.iter(|| parser(black_box(&body), size));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
