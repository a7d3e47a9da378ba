//! Baselines: known failures of an agent, so that anyone can gate on the suite from the first day.
//!
//! An entry names one check of one case, says why it is known and until when. It excuses that check and nothing else, and
//! it cannot rot: an entry whose check is kept now, whose case or check is gone, or whose day has passed fails the run.

use crate::case::Library;
use crate::run::CaseResult;
use crate::source::{Document, Problem, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// For how many days a new entry holds.
const DAYS: u64 = 90;

/// A baseline file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The known failures.
    #[serde(default)]
    pub known: Vec<Known>,
}

/// A known failure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The agent's name.
    pub agent: String,
    /// The case or twin.
    pub case: String,
    /// The check in it, or the id of the oracle that watches every case.
    pub check: String,
    /// The rule it is about.
    pub rule: String,
    /// Why it is known and not mended.
    pub reason: String,
    /// The last day on which it is excused, as YYYY-MM-DD.
    pub until: String,
}

/// What a baseline made of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    /// The failures that are excused.
    pub excused: Vec<Known>,
    /// Entries that no longer excuse anything, each with why.
    pub stale: Vec<String>,
}

impl Applied {
    /// Whether this check of this case is excused.
    pub fn excuses(&self, case: &str, check: &str, rule: &str) -> bool {
        self.excused.iter().any(|k| k.case == case && k.check == check && k.rule == rule)
    }
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// What is wrong in the file, with its places.
    pub fn read(name: &str, text: &str) -> Result<Baseline, Problems> {
        let document = Document::parse(name, text)?;
        let baseline: Baseline = document.read()?;
        let mut problems: Vec<Problem> = Vec::new();
        for (index, known) in baseline.known.iter().enumerate() {
            let at = format!("known[{index}]");
            if !is_date(&known.until) {
                let problem = format!("{:?} is no day", known.until);
                problems.push(document.find(&at).problem(&format!("{at}.until"), problem).with_fix("write YYYY-MM-DD"));
            }
            if known.reason.trim().is_empty() {
                let problem = document.find(&at).problem(&format!("{at}.reason"), "the reason is empty");
                problems.push(problem.with_fix("say why it is known and not mended"));
            }
        }
        Problems::none_or(problems, baseline)
    }

    /// What it makes of a run of `agent` on `today`. Entries of other agents and of cases that were not run say nothing.
    pub fn apply(&self, agent: &str, today: &str, library: &Library, cases: &[CaseResult]) -> Applied {
        let mut applied = Applied::default();
        for known in self.known.iter().filter(|known| known.agent == agent) {
            let name = format!("{} {} ({})", known.case, known.check, known.rule);
            if library.case(&known.case).is_none() {
                applied.stale.push(format!("{name}: there is no such case"));
                continue;
            }
            let Some(case) = cases.iter().find(|case| case.id == known.case) else { continue };
            let mut checks = case.all().filter(|check| check.name == known.check && check.rule == known.rule);
            let failing = checks.any(|check| !check.outcome.verdict.is_good());
            if !failing {
                applied.stale.push(format!("{name}: it does not fail any more; remove the entry"));
            } else if today > known.until.as_str() {
                applied.stale.push(format!("{name}: it was excused until {}; mend it or set a new day", known.until));
            } else {
                applied.excused.push(known.clone());
            }
        }
        applied
    }

    /// The baseline after a run of `agent`: entries of others and of cases that were not run stay, entries that excuse
    /// something stay, and each new failure gets an entry with `reason`.
    ///
    /// # Errors
    /// When there are new failures and no reason.
    pub fn updated(
        &self,
        agent: &str,
        today: u64,
        reason: Option<&str>,
        cases: &[CaseResult],
    ) -> Result<Baseline, String> {
        let ran = |known: &Known| known.agent == agent && cases.iter().any(|case| case.id == known.case);
        let mut updated: Vec<Known> = self.known.iter().filter(|known| !ran(known)).cloned().collect();
        for case in cases {
            for check in case.all().filter(|check| !check.outcome.verdict.is_good()) {
                let same =
                    |k: &&Known| k.agent == agent && k.case == case.id && k.check == check.name && k.rule == check.rule;
                let old = self.known.iter().find(same).filter(|old| old.until >= date(today));
                let entry = match (old, reason) {
                    (Some(old), _) => old.clone(),
                    (None, Some(reason)) => Known {
                        agent: agent.to_owned(),
                        case: case.id.clone(),
                        check: check.name.clone(),
                        rule: check.rule.clone(),
                        reason: reason.to_owned(),
                        until: date(today + DAYS),
                    },
                    (None, None) => {
                        return Err(format!(
                            "{} {} fails and is not in the baseline; say why it may, with --reason",
                            case.id, check.name
                        ));
                    }
                };
                updated.push(entry);
            }
        }
        updated.sort();
        updated.dedup();
        Ok(Baseline { known: updated })
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut out = String::from(
            "# Known failures, each with a reason and the last day on which it is excused. An entry whose check is kept now, or\n\
             # whose day has passed, fails the run. `slotspec run --baseline FILE --update-baseline --reason ...` writes it.\n",
        );
        for known in &self.known {
            let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
            out.push_str("\n[[known]]\n");
            for (key, value) in [
                ("agent", &known.agent),
                ("case", &known.case),
                ("check", &known.check),
                ("rule", &known.rule),
                ("reason", &known.reason),
                ("until", &known.until),
            ] {
                // Writing to a string cannot fail.
                let _ = writeln!(out, "{key} = {}", quoted(value));
            }
        }
        out
    }
}

/// Today, as days since 1970-01-01.
#[expect(clippy::disallowed_methods, reason = "a baseline's entries end on a day of the calendar")]
pub fn today() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400)
}

/// A day as YYYY-MM-DD, from days since 1970-01-01 in the Gregorian calendar.
pub fn date(days: u64) -> String {
    // Counted from 0000-03-01, so that the leap day is the last of its year.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, len: usize| (part.len() == len).then(|| part.parse::<u32>().ok()).flatten();
    match parts.as_slice() {
        [year, month, day] => {
            number(year, 4).is_some()
                && number(month, 2).is_some_and(|m| (1..=12).contains(&m))
                && number(day, 2).is_some_and(|d| (1..=31).contains(&d))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::CheckResult;
    use crate::verdict::{Outcome, Verdict};

    fn result(verdict: Verdict) -> Vec<CaseResult> {
        let outcome = Outcome::new(verdict, "cause", "detail");
        let check = CheckResult { name: "order".into(), rule: "PAIR-02".into(), outcome };
        vec![CaseResult {
            id: "pair/two-calls".into(),
            title: String::new(),
            checks: vec![check],
            watched: Vec::new(),
            prefix: None,
            repro: None,
            seconds: 0.0,
        }]
    }

    fn baseline(case: &str, until: &str) -> Baseline {
        let text = format!(
            "[[known]]\nagent = 'a'\ncase = '{case}'\ncheck = 'order'\nrule = 'PAIR-02'\nreason = 'slow fix'\nuntil = '{until}'\n"
        );
        Baseline::read("b.toml", &text).unwrap()
    }

    /// How many failures are excused, and what is stale.
    #[track_caller]
    fn check(case: &str, until: &str, agent: &str, verdict: Verdict, expect: (usize, &str)) {
        let library = Library::load(None, None).unwrap();
        let applied = baseline(case, until).apply(agent, "2027-01-01", &library, &result(verdict));
        assert_eq!(applied.excused.len(), expect.0);
        let stale = applied.stale.join("; ");
        assert!(if expect.1.is_empty() { stale.is_empty() } else { stale.contains(expect.1) }, "{stale:?}");
    }

    #[test]
    fn an_entry_excuses_its_failure_until_its_day() {
        check("pair/two-calls", "2027-01-01", "a", Verdict::Fail, (1, ""));
        check("pair/two-calls", "2026-12-31", "a", Verdict::Fail, (0, "it was excused until 2026-12-31"));
        check("pair/two-calls", "2027-01-01", "other", Verdict::Fail, (0, ""));
    }

    #[test]
    fn an_entry_that_excuses_nothing_is_stale() {
        check("pair/two-calls", "2027-01-01", "a", Verdict::Pass, (0, "does not fail any more"));
        check("pair/gone", "2027-01-01", "a", Verdict::Fail, (0, "there is no such case"));
        // A case that exists and was not run says nothing.
        check("pair/cancel", "2027-01-01", "a", Verdict::Fail, (0, ""));
    }

    #[test]
    fn an_update_keeps_reasons_and_demands_one_for_what_is_new() {
        let old = baseline("pair/two-calls", "2027-02-01");
        let kept = old.updated("a", 20_818, None, &result(Verdict::Fail)).unwrap();
        assert_eq!(kept, old);
        assert_eq!(old.updated("a", 20_818, None, &result(Verdict::Pass)).unwrap().known, []);
        let error = Baseline::default().updated("a", 20_818, None, &result(Verdict::Fail)).unwrap_err();
        assert!(error.contains("--reason"), "{error}");
        let new = Baseline::default().updated("a", 20_818, Some("later"), &result(Verdict::Fail)).unwrap();
        assert_eq!(new.known[0].until, date(20_818 + 90));
        assert_eq!(Baseline::read("b.toml", &new.text()).unwrap(), new);
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, expect) in
            [(0, "1970-01-01"), (11_016, "2000-02-29"), (11_017, "2000-03-01"), (20_787, "2026-11-30")]
        {
            assert_eq!(date(days), expect);
        }
    }

    #[test]
    fn a_bad_day_or_no_reason_is_named_with_its_place() {
        let text = "[[known]]\nagent='a'\ncase='c'\ncheck='k'\nrule='r'\nreason=' '\nuntil='soon'\n";
        let problems = Baseline::read("b.toml", text).unwrap_err().to_string();
        assert!(problems.contains("b.toml:1") && problems.contains("write YYYY-MM-DD"), "{problems}");
        assert!(problems.contains("the reason is empty"), "{problems}");
    }
}
