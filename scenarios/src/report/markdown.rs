//! A report as Markdown: a table of rules, then what was not good, for a pull request or a release note.

use super::{Report, text};
use crate::rule::Level;
use crate::verdict::Verdict;
use std::fmt::Write as _;

/// Renders the report.
pub fn render(report: &Report) -> String {
    let mut out = format!("# slotspec {}\n\n{}\n", report.slotspec, cell(&text::summary(report)));
    // Writing to a string cannot fail.
    if report.missing > 0 {
        let _ = writeln!(out, "\nThe run was interrupted; not run: {}.", text::counted(report.missing, "case"));
    }
    out.push_str("\n| Verdict | Rule | Level | Title | Checks |\n|---|---|---|---|---|\n");
    for rule in &report.rules {
        let verdict =
            if rule.verdict == Verdict::Pass { rule.verdict.to_string() } else { format!("**{}**", rule.verdict) };
        let _ = writeln!(out, "| {verdict} | {} | {} | {} | {} |", rule.id, rule.level, cell(&rule.title), rule.checks);
    }
    for case in report.cases.iter().filter(|case| case.is_bad()) {
        let _ = writeln!(out, "\n## {}\n\n{}\n", case.id, cell(&case.title));
        for check in case.all().filter(|check| !check.outcome.verdict.is_good()) {
            let level = report.rules.iter().find(|rule| rule.id == check.rule).map(|rule| rule.level);
            let level =
                level.filter(|level| *level != Level::Must).map(|level| format!(" ({level})")).unwrap_or_default();
            let outcome = &check.outcome;
            let _ = writeln!(
                out,
                "- {} {}{level}, {}: {}: {}",
                outcome.verdict,
                check.rule,
                cell(&check.name),
                outcome.cause,
                cell(&outcome.detail)
            );
        }
        if let Some(dir) = &case.repro {
            let _ = writeln!(out, "\nReplay: `{dir}/replay.txt`");
        }
    }
    out
}

/// Text that stays in its place: on one line, and without a meaning of its own in Markdown.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '<' | '>' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' => {
                out.push('\\');
                out.push(c);
            }
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
    fn rules_are_a_table_and_faults_a_list() {
        let cases = vec![
            case("a/b", &[("x", "PAIR-01", Verdict::Pass), ("y", "PAIR-02", Verdict::Fail)]),
            case("a/c", &[("x", "PAIR-03", Verdict::Vacuous)]),
        ];
        let mut report = report(cases);
        report.cases[1].repro = Some("repro/a/c".into());
        report.missing = 1;
        assert_eq!(
            render(&report),
            "# slotspec 0.1.0\n\nreference 0.1.0: 3 rules, 1 PASS, 1 FAIL, 1 VACUOUS; 2 cases in 1.2 s\n\n\
             The run was interrupted; not run: 1 case.\n\n\
             | Verdict | Rule | Level | Title | Checks |\n|---|---|---|---|---|\n\
             | PASS | PAIR-01 | must | title of PAIR-01 | 1 |\n\
             | **FAIL** | PAIR-02 | should | title of PAIR-02 | 1 |\n\
             | **VACUOUS** | PAIR-03 | must | title of PAIR-03 | 1 |\n\
             \n## a/b\n\nt\n\n- FAIL PAIR-02 (should), y: y-cause: y detail\n\
             \n## a/c\n\nt\n\n- VACUOUS PAIR-03, x: x-cause: x detail\n\nReplay: `repro/a/c/replay.txt`\n"
        );
    }

    #[test]
    fn text_stays_in_its_cell() {
        assert_eq!(cell("a|b\n<c>_"), "a\\|b \\<c\\>\\_");
    }
}
