//! How many tier-A cases a second the suite judges: those that start no process, on pipes in memory and in virtual time,
//! with as many jobs as there are processors.
//!
//! Each round runs every case and twin once, judging included; the median round counts. With `--profile dev` it measures
//! what a contributor waits for; the profile is named in the output.
#![allow(missing_docs, clippy::unwrap_used)]

use slotspec::agent::in_process::{InProcess, Tier};
use slotspec::case::{CaseSet, Library};
use slotspec::run::{Runner, quiet_planted_panics, run_all};
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: usize = 9;

fn main() {
    // `cargo test` runs benches as tests, to see that they work; then one round will do.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 1 };
    quiet_planted_panics();
    // As `slotspec run` does it: whoever adopts orphans knows without a look around that there are none.
    slotspec::isolate::adopt_orphans();
    let library = Library::load(None, None).unwrap();
    let quiet = |set: &&CaseSet| set.all().all(|case| !case.starts_processes());
    let sets: Vec<CaseSet> = library.cases.iter().filter(quiet).cloned().collect();
    let cases: usize = sets.iter().map(|set| set.all().count()).sum();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let runner = Runner { virtual_time: true, ..Runner::new(Arc::new(InProcess::new(Tier::A))) };
    let mut seconds = Vec::new();
    let mut slowest = (0.0, String::new());
    for _ in 0..rounds {
        let started = Instant::now();
        let (results, missing) = run_all(&runner, &library.rules, &sets, jobs, &|_, _, _| {}, |_| {});
        seconds.push(started.elapsed().as_secs_f64());
        assert_eq!((results.len(), missing), (cases, 0));
        for result in results {
            if result.seconds > slowest.0 {
                slowest = (result.seconds, result.id);
            }
        }
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let profile = if cfg!(debug_assertions) { "dev" } else { "optimised" };
    println!(
        "tier A, {cases} cases that start no process, {jobs} jobs, {profile} profile: {:.0} cases/s \
         (median of {rounds} rounds of {median:.2} s, {:.2} to {:.2} s; slowest case {:.0} ms: {})",
        cases as f64 / median,
        seconds[0],
        seconds[seconds.len() - 1],
        slowest.0 * 1e3,
        slowest.1,
    );
}
