//! How fast an edit is, in memory, beside the least that anyone could do: count with `memmem` and copy around the place.
//!
//! Compare ratios inside one run only. Each differing level looks for the same block near the end of the same file, and
//! pays for the levels before it that find nothing.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use slot_tools::edit_file::matching::{Choice, Target, Tolerated, find, splice};
use std::hint::black_box;
use std::time::Duration;

const LINES: usize = 20_000;

/// About 1 MB of source text; one block of it occurs once.
fn source(line_end: &str) -> String {
    let mut text = String::new();
    for line in 0..LINES {
        if line == LINES - 100 {
            text.push_str("\tif once {\n\t\tsay(“here”);\n\t}\n");
        }
        text.push_str(&format!("\tlet value_{line} = parse(&input[{line}..])?; // and some more words\n"));
    }
    text.replace('\n', line_end)
}

/// What an edit of text that occurs once comes to at least.
fn least(file: &[u8], search: &[u8], replace: &[u8]) -> Vec<u8> {
    let mut places = memchr::memmem::find_iter(file, search);
    let (at, None) = (places.next().unwrap(), places.next()) else { panic!("it occurs once") };
    let mut new = Vec::with_capacity(file.len() - search.len() + replace.len());
    new.extend_from_slice(&file[..at]);
    new.extend_from_slice(replace);
    new.extend_from_slice(&file[at + search.len()..]);
    new
}

fn edit(file: &[u8], search: &str, replace: &str) -> (Vec<u8>, Tolerated) {
    let plan = find(file, Target::Search(search, Choice::Only), replace).unwrap();
    (splice(file, &plan), plan.tolerated)
}

fn edits(criterion: &mut Criterion) {
    let (lf, crlf) = (source("\n"), source("\r\n"));
    let exact = "\tif once {\n\t\tsay(“here”);\n\t}\n";
    let number = LINES - 99;
    let numbered = format!("{number:>6}│ \tif once {{\n{:>6}│ \t\tsay(“here”);\n", number + 1);
    let mut group = criterion.benchmark_group("edit");
    group.throughput(Throughput::Bytes(lf.len() as u64));
    group.sample_size(30).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    group.bench_function("memmem", |bench| {
        bench.iter(|| least(black_box(lf.as_bytes()), exact.as_bytes(), b"\tnew();\n"));
    });
    for (name, file, search, expected) in [
        ("exact", &lf, exact, Tolerated::Nothing),
        ("crlf", &crlf, exact, Tolerated::Nothing),
        ("indentation", &lf, "    if once {\n        say(“here”);\n    }\n", Tolerated::Indentation),
        ("punctuation", &lf, "\tif once {\n\t\tsay(\"here\");\n\t}\n", Tolerated::Punctuation),
        ("line-numbers", &lf, numbered.as_str(), Tolerated::LineNumbers { in_replacement: false }),
    ] {
        assert_eq!(edit(file.as_bytes(), search, "\tnew();\n").1, expected, "{name}");
        group.bench_function(name, |bench| {
            bench.iter(|| edit(black_box(file.as_bytes()), search, "\tnew();\n"));
        });
    }
    group.finish();
}

criterion_group!(benches, edits);
criterion_main!(benches);
