//! Several runs of the same cases as one: a check whose verdict changes from run to run is FLAKY.

use super::{CaseResult, CheckResult};
use crate::verdict::{Outcome, Verdict};
use std::collections::BTreeMap;

/// Joins the results of several runs. The cases are those of the first run; a finding that only a later run made counts
/// as well.
pub fn merge(mut runs: Vec<Vec<CaseResult>>) -> Vec<CaseResult> {
    if runs.len() < 2 {
        return runs.pop().unwrap_or_default();
    }
    let first = runs[0].clone();
    first.into_iter().map(|case| merge_case(&case, &runs)).collect()
}

fn merge_case(case: &CaseResult, runs: &[Vec<CaseResult>]) -> CaseResult {
    let same: Vec<&CaseResult> = runs.iter().filter_map(|run| run.iter().find(|other| other.id == case.id)).collect();
    let checks = case.checks.iter().map(|check| merge_check(check, &same)).collect();
    // An oracle that watches every case is silent when all is well, so its absence in a run is a pass.
    let mut watched: Vec<CheckResult> = Vec::new();
    for finding in same.iter().flat_map(|run| &run.watched) {
        if watched.iter().any(|seen| seen.name == finding.name && seen.rule == finding.rule) {
            continue;
        }
        let times =
            same.iter().filter(|run| run.watched.iter().any(|w| w.name == finding.name && w.rule == finding.rule));
        let times = times.count();
        let mut finding = finding.clone();
        if times < runs.len() {
            finding.outcome = flaky(&format!("found in {times} of {} runs: {}", runs.len(), finding.outcome.detail));
        }
        watched.push(finding);
    }
    CaseResult {
        checks,
        watched,
        repro: same.iter().find_map(|run| run.repro.clone()),
        seconds: same.iter().map(|run| run.seconds).sum(),
        ..case.clone()
    }
}

fn merge_check(check: &CheckResult, runs: &[&CaseResult]) -> CheckResult {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    let mut worst = &check.outcome;
    for run in runs {
        for other in run.checks.iter().filter(|other| other.name == check.name && other.rule == check.rule) {
            *counts.entry(other.outcome.verdict).or_default() += 1;
            if other.outcome.verdict > worst.verdict {
                worst = &other.outcome;
            }
        }
    }
    if counts.len() < 2 {
        return check.clone();
    }
    let told: Vec<String> = counts.iter().map(|(verdict, n)| format!("{n} {verdict}")).collect();
    let detail = format!("{}: {} {}", told.join(", "), worst.cause, worst.detail);
    CheckResult { outcome: flaky(detail.trim()), ..check.clone() }
}

fn flaky(detail: &str) -> Outcome {
    Outcome::new(Verdict::Flaky, "runs-disagree", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(verdict: Verdict, watched: bool) -> Vec<CaseResult> {
        let check = |name: &str, verdict| CheckResult {
            name: name.into(),
            rule: "PAIR-01".into(),
            outcome: Outcome::new(verdict, "cause", "detail"),
        };
        vec![CaseResult {
            id: "a/b".into(),
            title: String::new(),
            checks: vec![check("k", verdict)],
            watched: if watched { vec![check("O01", Verdict::Fail)] } else { Vec::new() },
            prefix: None,
            repro: None,
            seconds: 1.0,
        }]
    }

    #[track_caller]
    fn check(verdicts: &[Verdict], expect: Verdict) {
        let merged = merge(verdicts.iter().map(|v| run(*v, false)).collect());
        assert_eq!(merged[0].checks[0].outcome.verdict, expect);
    }

    #[test]
    fn runs_that_agree_keep_their_verdict() {
        check(&[Verdict::Pass, Verdict::Pass, Verdict::Pass], Verdict::Pass);
        check(&[Verdict::Fail, Verdict::Fail], Verdict::Fail);
        check(&[Verdict::Fail], Verdict::Fail);
    }

    #[test]
    fn runs_that_disagree_are_flaky_whatever_came_first() {
        check(&[Verdict::Pass, Verdict::Fail, Verdict::Pass], Verdict::Flaky);
        check(&[Verdict::Fail, Verdict::Pass], Verdict::Flaky);
        check(&[Verdict::Pass, Verdict::NonStrict], Verdict::Flaky);
    }

    #[test]
    fn a_finding_that_only_some_runs_made_is_flaky() {
        let merged = merge(vec![run(Verdict::Pass, false), run(Verdict::Pass, true)]);
        assert_eq!(merged[0].watched[0].outcome.verdict, Verdict::Flaky);
        let merged = merge(vec![run(Verdict::Pass, true), run(Verdict::Pass, true)]);
        assert_eq!(merged[0].watched[0].outcome.verdict, Verdict::Fail);
        assert_eq!(merged[0].seconds, 2.0);
    }
}
