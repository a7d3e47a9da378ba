use super::*;
use crate::rule;
use crate::verdict::Outcome;

fn book() -> RuleBook {
    rule::sample(&[("PAIR-01", "must"), ("PAIR-02", "should"), ("PAIR-03", "must")])
}

pub(super) fn case(id: &str, checks: &[(&str, &str, Verdict)]) -> CaseResult {
    let check = |(name, rule, verdict): &(&str, &str, Verdict)| {
        let outcome = match verdict {
            Verdict::Pass => Outcome::pass(),
            other => Outcome::new(*other, format!("{name}-cause"), format!("{name} detail")),
        };
        CheckResult { name: (*name).into(), rule: (*rule).into(), outcome }
    };
    CaseResult {
        id: id.into(),
        title: "t".into(),
        checks: checks.iter().map(check).collect(),
        watched: Vec::new(),
        prefix: None,
        repro: None,
        seconds: 0.0,
    }
}

pub(super) fn report(cases: Vec<CaseResult>) -> Report {
    Report {
        schema: SCHEMA_VERSION,
        slotspec: "0.1.0".into(),
        agent: AgentInfo { name: "reference".into(), version: "0.1.0".into() },
        dialect: "chat".into(),
        rules: rules(&book(), &cases),
        cases,
        missing: 0,
        baseline: None,
        seconds: 1.25,
    }
}

/// Whether the report is good, and the verdict of each rule.
#[track_caller]
fn check(cases: &[CaseResult], good: bool, expect: &[(&str, Verdict, usize)]) {
    let report = report(cases.to_vec());
    let found: Vec<_> = report.rules.iter().map(|r| (r.id.as_str(), r.verdict, r.checks)).collect();
    assert_eq!(found, expect);
    assert_eq!(report.is_good(), good);
}

#[test]
fn the_gravest_verdict_counts() {
    check(
        &[case("a/b", &[("x", "PAIR-01", Verdict::Pass), ("y", "PAIR-01", Verdict::Fail)])],
        false,
        &[("PAIR-01", Verdict::Fail, 2)],
    );
    check(
        &[case("a/b", &[("x", "PAIR-01", Verdict::Vacuous)]), case("a/c", &[("x", "PAIR-01", Verdict::Pass)])],
        false,
        &[("PAIR-01", Verdict::Vacuous, 2)],
    );
}

#[test]
fn what_does_not_apply_counts_only_alone() {
    let applies = case("a/b", &[("x", "PAIR-01", Verdict::Pass)]);
    let not = case("a/c", &[("x", "PAIR-01", Verdict::NotApplicable)]);
    check(&[applies, not.clone()], true, &[("PAIR-01", Verdict::Pass, 1)]);
    check(&[not], true, &[("PAIR-01", Verdict::NotApplicable, 0)]);
}

#[test]
fn only_what_must_be_kept_decides() {
    check(&[case("a/b", &[("x", "PAIR-02", Verdict::Fail)])], true, &[("PAIR-02", Verdict::Fail, 1)]);
    check(&[case("a/b", &[("x", "PAIR-01", Verdict::Untestable)])], false, &[("PAIR-01", Verdict::Untestable, 1)]);
    check(&[case("a/b", &[("x", "PAIR-01", Verdict::NonStrict)])], true, &[("PAIR-01", Verdict::NonStrict, 1)]);
}

#[test]
fn an_oracle_that_watches_counts_like_a_check() {
    let mut watched = case("a/b", &[("x", "PAIR-01", Verdict::Pass)]);
    watched.watched = case("", &[("O01", "PAIR-03", Verdict::Fail)]).checks;
    check(&[watched], false, &[("PAIR-01", Verdict::Pass, 1), ("PAIR-03", Verdict::Fail, 1)]);
}

#[test]
fn a_partial_report_is_not_good() {
    let mut report = report(vec![case("a/b", &[("x", "PAIR-01", Verdict::Pass)])]);
    assert!(report.is_good());
    report.missing = 1;
    assert!(!report.is_good());
}

#[test]
fn lines_name_the_cause_and_the_place() {
    let report = report(vec![
        case("a/b", &[("x", "PAIR-01", Verdict::Pass), ("y", "PAIR-02", Verdict::NonStrict)]),
        case("a/c", &[("x", "PAIR-03", Verdict::Fail), ("y", "PAIR-03", Verdict::Fail)]),
    ]);
    let mut out = String::new();
    text::rules(&report, &mut out);
    assert_eq!(
        out,
        "PASS            PAIR-01  title of PAIR-01  (1 check)\n\
         NON-STRICT      PAIR-02  title of PAIR-02 (should): y-cause in a/b: y: y detail\n\
         FAIL            PAIR-03  title of PAIR-03: x-cause in a/c: x (and 1 more): x detail\n"
    );
    assert_eq!(text::summary(&report), "reference 0.1.0: 3 rules, 1 PASS, 1 NON-STRICT, 1 FAIL; 2 cases in 1.2 s");
}

#[test]
fn what_could_not_be_observed_stands_apart() {
    let report = report(vec![case("a/b", &[("x", "PAIR-01", Verdict::Untestable), ("y", "PAIR-02", Verdict::Pass)])]);
    let mut out = String::new();
    text::rules(&report, &mut out);
    assert_eq!(
        out,
        "PASS            PAIR-02  title of PAIR-02 (should)  (1 check)\n\
         \n\
         Not observed, and so neither kept nor broken:\n\
         UNTESTABLE      PAIR-01  title of PAIR-01: x-cause in a/b: x: x detail\n"
    );
}

#[test]
fn a_report_in_json_is_read_back() {
    let report = report(vec![case("a/b", &[("x", "PAIR-01", Verdict::Fail)])]);
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}

#[test]
fn a_report_is_three_files() {
    let dir = tempfile::tempdir().unwrap();
    let report = report(vec![case("a/b", &[("x", "PAIR-01", Verdict::Pass)])]);
    report.write(&dir.path().join("deep/report")).unwrap();
    let mut names: Vec<_> =
        std::fs::read_dir(dir.path().join("deep/report")).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["junit.xml", "report.json", "report.md"]);
}

#[test]
fn a_known_failure_is_shown_and_does_not_fail_the_run_until_it_is_stale() {
    use crate::baseline::{Applied, Known};
    let mut report = report(vec![case("a/b", &[("k", "PAIR-01", Verdict::Fail), ("o", "PAIR-03", Verdict::Pass)])]);
    assert!(!report.is_good());
    let known = |case: &CaseResult, check: &CheckResult| Known {
        agent: "reference".into(),
        case: case.id.clone(),
        check: check.name.clone(),
        rule: check.rule.clone(),
        reason: "slow".into(),
        until: "2099-01-01".into(),
    };
    let wrong = report.cases.iter().flat_map(|case| case.all().map(move |check| (case, check)));
    let excused = wrong.filter(|(_, c)| !c.outcome.verdict.is_good()).map(|(case, check)| known(case, check)).collect();
    report.baseline = Some(Applied { excused, stale: Vec::new() });
    assert!(report.is_good());
    let mut out = String::new();
    text::rules(&report, &mut out);
    assert!(out.contains(" (known): "), "{out}");
    report.baseline.as_mut().unwrap().stale.push("a/b k (PAIR-01): it does not fail any more".into());
    assert!(!report.is_good());
}
