//! Many cases beside each other, in a bounded number of threads, with results in the order of the cases.

use super::{CaseResult, HarnessError, Run, Runner, judge_set};
use crate::case::{Case, CaseSet};
use crate::rule::RuleBook;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// How far a run of many cases is.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// How many cases and twins are done.
    pub done: usize,
    /// Of how many.
    pub of: usize,
    /// What came of the last one.
    pub last: &'a CaseResult,
}

/// Runs and judges all cases, at most `jobs` sets at a time. `keep` sees every run before its world is gone, from the
/// worker's thread; `progress` is called from this one. The second value is how many cases were left out because of an
/// interruption.
pub fn run_all(
    runner: &Runner,
    rules: &RuleBook,
    sets: &[CaseSet],
    jobs: usize,
    keep: &(dyn Fn(&Case, &Run, &mut CaseResult) + Sync),
    mut progress: impl FnMut(Progress<'_>),
) -> (Vec<CaseResult>, usize) {
    let next = AtomicUsize::new(0);
    let of = sets.iter().map(|set| set.all().count()).sum();
    let mut by_set: Vec<Vec<CaseResult>> = vec![Vec::new(); sets.len()];
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..jobs.clamp(1, sets.len().max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(set) = sets.get(index).filter(|_| !runner.cancel.is_cancelled()) else { break };
                    match judge_set(runner, rules, set, |_| true, keep) {
                        Ok(results) => {
                            if sender.send((index, results)).is_err() {
                                break;
                            }
                        }
                        Err(HarnessError::Interrupted) => break,
                        // Every other failure is a verdict already.
                        Err(_) => {}
                    }
                }
            });
        }
        drop(sender);
        let mut done = 0;
        for (index, results) in receiver {
            for result in &results {
                done += 1;
                progress(Progress { done, of, last: result });
            }
            by_set[index] = results;
        }
    });
    let results: Vec<CaseResult> = by_set.into_iter().flatten().collect();
    let missing = of - results.len();
    (results, missing)
}
