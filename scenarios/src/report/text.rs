//! A report as lines for a person: one for each rule, and one at the end.

use super::{Report, RuleResult};
use crate::rule::Level;
use crate::verdict::Verdict;
use std::fmt::Write as _;

/// How much of a detail a line shows, in characters; the rest is in the repro folder and in the JSON report.
const SHOWN: usize = 300;

/// Writes one line for each rule; what could not be observed stands apart at the end.
pub fn rules(report: &Report, out: &mut String) {
    let unseen = |rule: &&RuleResult| rule.verdict == Verdict::Untestable;
    for rule in report.rules.iter().filter(|rule| !unseen(rule)) {
        line(report, rule, out);
    }
    if report.rules.iter().any(|rule| unseen(&rule)) {
        out.push_str("\nNot observed, and so neither kept nor broken:\n");
        report.rules.iter().filter(unseen).for_each(|rule| line(report, rule, out));
    }
    for stale in report.baseline.iter().flat_map(|baseline| &baseline.stale) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "STALE           {stale}");
    }
}

fn line(report: &Report, rule: &RuleResult, out: &mut String) {
    let level = if rule.level == Level::Must { String::new() } else { format!(" ({})", rule.level) };
    // Writing to a string cannot fail.
    let _ = write!(out, "{:<14}  {}  {}{level}", rule.verdict, rule.id, rule.title);
    if rule.verdict == Verdict::Pass {
        let _ = write!(out, "  ({})", counted(rule.checks, "check"));
    } else {
        let first = rule.at.first().map_or("", String::as_str);
        let more = match rule.at.len() {
            0 | 1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        let known = if !rule.verdict.is_good() && report.is_excused(&rule.id) { " (known)" } else { "" };
        let _ = write!(out, "{known}: {} in {first}{more}: {}", rule.cause, shorten(&rule.detail));
    }
    out.push('\n');
}

/// The last line: how many rules of each verdict, how many cases, how long.
pub fn summary(report: &Report) -> String {
    let mut parts = vec![counted(report.rules.len(), "rule")];
    for verdict in [
        Verdict::Pass,
        Verdict::NonStrict,
        Verdict::Fail,
        Verdict::Vacuous,
        Verdict::Untestable,
        Verdict::NotApplicable,
        Verdict::Flaky,
        Verdict::HarnessError,
    ] {
        match report.count(verdict) {
            0 => {}
            n => parts.push(format!("{n} {verdict}")),
        }
    }
    let agent = format!("{} {}", report.agent.name, report.agent.version);
    format!(
        "{}: {}; {} in {:.1} s",
        agent.trim(),
        parts.join(", "),
        counted(report.cases.len(), "case"),
        report.seconds
    )
}

/// `1 check`, `2 checks`.
pub fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn shorten(text: &str) -> String {
    let one_line = text.replace(['\n', '\r'], " ");
    match one_line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &one_line[..at]),
        None => one_line,
    }
}
