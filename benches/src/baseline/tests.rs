#![allow(clippy::unwrap_used)]

use super::*;

fn baseline(label: &str, cpu: &str, times: &[(&str, f64, f64)], counts: &[(&str, u64)]) -> Baseline {
    let time = |median: f64, spread: f64| Time { median_ns: median, low_ns: median - spread, high_ns: median + spread };
    Baseline {
        schema: SCHEMA,
        label: label.into(),
        machine: Machine { cpu: cpu.into(), cores: 2, rustc: "rustc 1.95.0".into(), profile: "bench".into() },
        times: times.iter().map(|(name, median, spread)| ((*name).to_owned(), time(*median, *spread))).collect(),
        counts: counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
    }
}

#[track_caller]
fn check(base: &Baseline, head: &Baseline, expect: &[&str]) {
    let found = compare(base, head);
    let lines: Vec<&str> = found.lines().filter(|line| !line.is_empty() && !line.starts_with("|---")).collect();
    assert_eq!(lines, expect);
}

#[test]
fn times_are_told_as_ratios() {
    let base =
        baseline("0.1.0", "A", &[("a/1", 1000.0, 10.0), ("a/2", 2e6, 1.0), ("a/3", 10.0, 5.0), ("old", 1.0, 0.0)], &[]);
    let head =
        baseline("main", "A", &[("a/1", 1500.0, 10.0), ("a/2", 1e6, 1.0), ("a/3", 12.0, 5.0), ("new", 3e9, 0.0)], &[]);
    check(
        &base,
        &head,
        &[
            "## main beside 0.1.0",
            "| bench | base | head | ratio | |",
            "| a/1 | 1.00 µs | 1.50 µs | 1.50 | slower |",
            "| a/2 | 2.00 ms | 1.00 ms | 0.50 | faster |",
            "| a/3 | 10.0 ns | 12.0 ns | 1.20 | within noise |",
            "| new | | 3.00 s | | new |",
            "| old | 1.0 ns | | | gone |",
        ],
    );
}

#[test]
fn other_machines_are_named() {
    let (base, head) = (baseline("x", "A|B", &[], &[]), baseline("y", "C", &[], &[]));
    check(
        &base,
        &head,
        &[
            "## y beside x",
            "**The machines differ**, so that ratios of times say little: C with 2 processors and rustc 1.95.0 beside A\\|B \
             with 2 processors and rustc 1.95.0.",
        ],
    );
}

#[test]
fn of_counts_only_changes_are_listed() {
    let base = baseline("x", "A", &[], &[("a", 1), ("b", 2), ("c", 3)]);
    let head = baseline("y", "A", &[], &[("a", 1), ("b", 4), ("d", 5)]);
    check(
        &base,
        &head,
        &[
            "## y beside x",
            "| count | base | head |",
            "| b | 2 | 4 |",
            "| c | 3 |  |",
            "| d |  | 5 |",
            "1 of 4 exact counts are the same.",
        ],
    );
}

#[test]
fn what_criterion_left_is_collected_and_written_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let bench = folder.path().join("criterion/dispatch/1-calls/10-tools");
    for run in ["new", "base"] {
        std::fs::create_dir_all(bench.join(run)).unwrap();
        let value = if run == "new" { 5.0 } else { 7.0 };
        let estimate = serde_json::json!({
            "point_estimate": value, "standard_error": 0.1,
            "confidence_interval": { "confidence_level": 0.95, "lower_bound": value - 1.0, "upper_bound": value + 1.0 },
        });
        let estimates = serde_json::json!({ "mean": estimate, "median": estimate });
        std::fs::write(bench.join(run).join("estimates.json"), estimates.to_string()).unwrap();
        let named = serde_json::json!({ "full_id": "dispatch/1-calls/10-tools", "group_id": "dispatch" });
        std::fs::write(bench.join(run).join("benchmark.json"), named.to_string()).unwrap();
    }
    let counts = folder.path().join("counts.json");
    std::fs::write(&counts, "{\"a\": 3}").unwrap();
    let collected = Baseline::collect("x", &folder.path().join("criterion"), Some(&counts)).unwrap();
    assert_eq!(collected.times["dispatch/1-calls/10-tools"], Time { median_ns: 5.0, low_ns: 4.0, high_ns: 6.0 });
    assert_eq!((collected.times.len(), collected.counts["a"]), (1, 3));
    let file = folder.path().join("baseline.json");
    write(&file, &collected).unwrap();
    assert_eq!(Baseline::read(&file).unwrap(), collected);
}

#[test]
fn what_is_no_baseline_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    let told = |text: &str| {
        std::fs::write(&file, text).unwrap();
        Baseline::read(&file).unwrap_err().to_string()
    };
    assert!(told("{}").contains("is no baseline: missing field"));
    let other = serde_json::to_string(&Baseline { schema: 9, ..baseline("x", "A", &[], &[]) }).unwrap();
    assert!(told(&other).contains("has the schema 9, and this reads 1; collect it again"));
    let nothing = Baseline::collect("x", folder.path(), None).unwrap_err().to_string();
    assert!(nothing.contains("there are no estimates below"), "{nothing}");
}

#[test]
fn other_tools_get_their_own_format() {
    let one = baseline("x", "A", &[("a", 10.0, 1.0)], &[("n", 3)]);
    assert_eq!(
        one.github(),
        serde_json::json!([
            { "name": "a", "unit": "ns/iter", "value": 10.0, "range": "± 1.0" },
            { "name": "n", "unit": "count", "value": 3 },
        ])
    );
    assert_eq!(
        one.bencher(),
        serde_json::json!({
            "a": { "latency": { "value": 10.0, "lower_value": 9.0, "upper_value": 11.0 } },
            "n": { "count": { "value": 3 } },
        })
    );
}

#[test]
fn the_processor_is_named_as_the_system_names_it() {
    assert_eq!(model("processor : 0\nmodel name\t: Some CPU @ 2 GHz\n").as_deref(), Some("Some CPU @ 2 GHz"));
    assert_eq!(model("processor : 0\n"), None);
}

#[test]
fn a_missing_folder_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("baselines/first/1.json");
    write(&path, &"text").unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "\"text\"\n");
}
