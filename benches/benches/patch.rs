//! How fast a patch of 50 hunks is applied to 20,000 lines, in memory: where it was made, and 37 lines below. Beside it
//! `diffy` applies the same patch, in the same run; compare ratios inside one run only.
//!
//! Both are given a patch that was read before. What it costs to read one, and to say that it does not fit, is measured for
//! ours alone.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use slot_tools::apply_patch::patch::{MOST_FUZZ, apply, parse};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

const LINES: usize = 20_000;
const HUNKS: usize = 50;
/// How many lines stand above the drifted file.
const DRIFT: usize = 37;
const CONTEXT: usize = 3;

fn line(number: usize) -> String {
    format!("    let value_{number} = parse(&input[{number}..])?; // and some more words\n")
}

/// The file, the patch, and the patched file. Each hunk takes a line out and puts two in its place.
fn patched() -> (String, String, String) {
    let old: String = (1..=LINES).map(line).collect();
    let (mut patch, mut new) = (String::from("--- a/f\n+++ b/f\n"), String::new());
    let every = LINES / HUNKS;
    for number in 1..=LINES {
        if number % every != every / 2 {
            new.push_str(&line(number));
            continue;
        }
        let added = format!("    let value_{number} = 1;\n    let more_{number} = 2;\n");
        new.push_str(&added);
        let (first, count) = (number - CONTEXT, 2 * CONTEXT + 1);
        let before = number / every;
        writeln!(patch, "@@ -{first},{count} +{},{} @@", first + before, count + 1).unwrap();
        (first..number).for_each(|near| write!(patch, " {}", line(near)).unwrap());
        write!(patch, "-{}", line(number)).unwrap();
        added.lines().for_each(|added| writeln!(patch, "+{added}").unwrap());
        (number + 1..=number + CONTEXT).for_each(|near| write!(patch, " {}", line(near)).unwrap());
    }
    (old, patch, new)
}

fn patches(criterion: &mut Criterion) {
    let (old, patch, new) = patched();
    let above: String = (0..DRIFT).map(|number| format!("// {number}\n")).collect();
    let (drifted, moved) = ([above.as_str(), &old].concat(), [above.as_str(), &new].concat());
    let files = parse(&patch, None).unwrap();
    let hunks = &files[0].hunks;
    let peer = diffy::Patch::from_str(&patch).unwrap();
    let mut group = criterion.benchmark_group("patch");
    group.throughput(Throughput::Bytes(old.len() as u64));
    group.sample_size(30).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    for (name, file, expected) in [("in-place", &old, &new), ("drifted", &drifted, &moved)] {
        assert_eq!(apply(file.as_bytes(), hunks, MOST_FUZZ).unwrap().bytes, expected.as_bytes());
        assert_eq!(&diffy::apply(file, &peer).unwrap(), expected);
        group.bench_function(name, |bench| bench.iter(|| apply(black_box(file.as_bytes()), hunks, MOST_FUZZ)));
        group.bench_function(format!("{name}/diffy"), |bench| bench.iter(|| diffy::apply(black_box(file), &peer)));
    }
    let other = old.replace(&line(LINES / 2 + LINES / HUNKS / 2), "");
    assert!(apply(other.as_bytes(), hunks, MOST_FUZZ).is_err());
    group.bench_function("refused", |bench| bench.iter(|| apply(black_box(other.as_bytes()), hunks, MOST_FUZZ)));
    group.bench_function("read", |bench| bench.iter(|| parse(black_box(&patch), None)));
    group.finish();
}

criterion_group!(benches, patches);
criterion_main!(benches);
