//! A report as JUnit XML, which every CI system reads: one test for each check of each case.
//!
//! A test fails exactly when it keeps the run from being good; what only should be kept is skipped with its reason, for
//! JUnit has no word between.

use super::Report;
use crate::rule::Level;
use crate::run::{CaseResult, CheckResult};
use crate::verdict::Verdict;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Renders the report.
pub fn render(report: &Report) -> String {
    let levels: BTreeMap<&str, Level> = report.rules.iter().map(|rule| (rule.id.as_str(), rule.level)).collect();
    let tests: Vec<(&CaseResult, &CheckResult, Mark)> = report
        .cases
        .iter()
        .flat_map(|case| case.all().map(move |check| (case, check)))
        .map(|(case, check)| (case, check, mark(check, levels.get(check.rule.as_str()).copied())))
        .collect();
    let count = |mark: Mark| tests.iter().filter(|(_, _, m)| *m == mark).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\">",
        escape(&format!("slotspec {} {} {}", report.agent.name, report.agent.version, report.dialect)),
        tests.len(),
        count(Mark::Failure),
        count(Mark::Error),
        count(Mark::Skipped),
        report.seconds
    );
    for (case, check, mark) in &tests {
        test(&mut out, case, check, *mark);
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Passed,
    Failure,
    Error,
    Skipped,
}

fn mark(check: &CheckResult, level: Option<Level>) -> Mark {
    match check.outcome.verdict {
        Verdict::Pass | Verdict::NonStrict => Mark::Passed,
        Verdict::NotApplicable => Mark::Skipped,
        _ if level.is_some_and(|level| level != Level::Must) => Mark::Skipped,
        Verdict::HarnessError => Mark::Error,
        Verdict::Fail | Verdict::Vacuous | Verdict::Untestable | Verdict::Flaky => Mark::Failure,
    }
}

fn test(out: &mut String, case: &CaseResult, check: &CheckResult, mark: Mark) {
    let name = format!("{} {}", check.rule, check.name);
    let _ = write!(out, "<testcase classname=\"{}\" name=\"{}\"", escape(&case.id), escape(&name));
    let outcome = &check.outcome;
    let message = format!("{} {}: {}", outcome.verdict, outcome.cause, outcome.detail);
    match mark {
        Mark::Passed => out.push_str("/>\n"),
        Mark::Skipped => {
            let _ = writeln!(out, "><skipped message=\"{}\"/></testcase>", escape(&message));
        }
        Mark::Failure | Mark::Error => {
            let element = if mark == Mark::Error { "error" } else { "failure" };
            let kept = case.repro.as_ref().map(|dir| format!("see {dir}")).unwrap_or_default();
            let _ = writeln!(
                out,
                "><{element} type=\"{}\" message=\"{}\">{}</{element}></testcase>",
                outcome.verdict,
                escape(&message),
                escape(&kept)
            );
        }
    }
}

/// Text for XML: what has a meaning there is escaped, and what XML 1.0 cannot hold at all is replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\r' | '\t' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{case, report};

    #[test]
    fn each_check_is_a_test_with_its_fate() {
        let cases = vec![
            case("a/b", &[("x", "PAIR-01", Verdict::Pass), ("y", "PAIR-01", Verdict::NotApplicable)]),
            case("a/c", &[("x", "PAIR-02", Verdict::Fail), ("y", "PAIR-03", Verdict::Vacuous)]),
            case("a/d", &[("x", "PAIR-01", Verdict::HarnessError)]),
        ];
        let mut report = report(cases);
        report.cases[1].repro = Some("repro/a/c".into());
        assert_eq!(
            render(&report),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n\
             <testsuite name=\"slotspec reference 0.1.0 chat\" tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"2\" time=\"1.250\">\n\
             <testcase classname=\"a/b\" name=\"PAIR-01 x\"/>\n\
             <testcase classname=\"a/b\" name=\"PAIR-01 y\"><skipped message=\"NOT-APPLICABLE y-cause: y detail\"/></testcase>\n\
             <testcase classname=\"a/c\" name=\"PAIR-02 x\"><skipped message=\"FAIL x-cause: x detail\"/></testcase>\n\
             <testcase classname=\"a/c\" name=\"PAIR-03 y\"><failure type=\"VACUOUS\" message=\"VACUOUS y-cause: y detail\">see repro/a/c</failure></testcase>\n\
             <testcase classname=\"a/d\" name=\"PAIR-01 x\"><error type=\"HARNESS-ERROR\" message=\"HARNESS-ERROR x-cause: x detail\"></error></testcase>\n\
             </testsuite>\n</testsuites>\n"
        );
    }

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(escape("a<b>&\"\n\u{0}\u{1b}ü"), "a&lt;b&gt;&amp;&quot;&#10;\u{fffd}\u{fffd}ü");
    }
}
