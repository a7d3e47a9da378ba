//! Reports: from what was said of cases to what is said of rules, and how that is shown.
//!
//! [`Report`] is the whole outcome of a run as data, with a versioned schema; the other modules only render it.

pub mod junit;
pub mod markdown;
pub mod progress;
pub mod text;
pub mod transcript;

use crate::baseline::Applied;
use crate::rule::{Level, Profile, RuleBook};
use crate::run::{CaseResult, CheckResult};
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::Path;

/// The version of [`Report`]'s format. Counts its incompatible changes.
pub const SCHEMA_VERSION: u32 = 1;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema: u32,
    /// The version of this tool, and of the rules and cases in it.
    pub slotspec: String,
    /// What was judged.
    pub agent: AgentInfo,
    /// The dialect it spoke.
    pub dialect: String,
    /// One entry for each rule, sorted by id.
    pub rules: Vec<RuleResult>,
    /// One entry for each case and twin, in order of id.
    pub cases: Vec<CaseResult>,
    /// How many cases were not run because the run was interrupted.
    pub missing: usize,
    /// What a baseline made of it, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Applied>,
    /// How long it took, in real seconds.
    pub seconds: f64,
}

/// What was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentInfo {
    /// Its name.
    pub name: String,
    /// Its version as probed, empty when unknown.
    pub version: String,
}

/// What is said of one rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleResult {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How binding it is.
    pub level: Level,
    /// Whom it binds.
    pub profile: Profile,
    /// The gravest verdict of its checks.
    pub verdict: Verdict,
    /// How many checks said something of it.
    pub checks: usize,
    /// The checks with that verdict, unless it is a pass, as `case: check`.
    pub at: Vec<String>,
    /// The cause of the first of them.
    pub cause: String,
    /// What the first of them expected and saw.
    pub detail: String,
}

impl Report {
    /// Whether every rule that must be kept is kept or excused, nothing is missing, and no excuse is stale.
    pub fn is_good(&self) -> bool {
        let kept = |rule: &RuleResult| rule.level != Level::Must || rule.verdict.is_good() || self.is_excused(&rule.id);
        let stale = self.baseline.as_ref().is_some_and(|baseline| !baseline.stale.is_empty());
        self.missing == 0 && !stale && self.rules.iter().all(kept)
    }

    /// Whether everything that is wrong with the rule is in the baseline.
    pub fn is_excused(&self, rule: &str) -> bool {
        let Some(baseline) = &self.baseline else { return false };
        self.cases.iter().all(|case| {
            let wrong = case.all().filter(|check| check.rule == rule && !check.outcome.verdict.is_good());
            wrong.into_iter().all(|check| baseline.excuses(&case.id, &check.name, rule))
        })
    }

    /// Writes `report.json`, `junit.xml` and `report.md` into a folder, which is made if it is not there. Each file is
    /// replaced as a whole.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        std::fs::create_dir_all(dir)?;
        let json = format!("{}\n", serde_json::to_string_pretty(self)?);
        for (name, text) in
            [("report.json", json), ("junit.xml", junit::render(self)), ("report.md", markdown::render(self))]
        {
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            file.write_all(text.as_bytes())?;
            file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
            file.persist(dir.join(name))?;
        }
        Ok(())
    }

    /// How many rules have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rules.iter().filter(|rule| rule.verdict == verdict).count()
    }
}

/// What follows for the rules. A rule that nothing spoke of is left out.
pub fn rules(book: &RuleBook, cases: &[CaseResult]) -> Vec<RuleResult> {
    let mut results = Vec::new();
    for booked in book.iter() {
        let rule = &booked.rule;
        let said: Vec<(&CaseResult, &CheckResult)> = cases
            .iter()
            .flat_map(|case| case.all().map(move |check| (case, check)))
            .filter(|(_, c)| c.rule == rule.id)
            .collect();
        let Some(verdict) = said.iter().map(|(_, check)| check.outcome.verdict).max() else { continue };
        let worst: Vec<&(&CaseResult, &CheckResult)> =
            said.iter().filter(|(_, check)| check.outcome.verdict == verdict && verdict != Verdict::Pass).collect();
        let first = worst.first().map(|(_, check)| &check.outcome);
        results.push(RuleResult {
            id: rule.id.clone(),
            title: rule.title.clone(),
            level: rule.level,
            profile: rule.profile,
            verdict,
            checks: said.iter().filter(|(_, check)| check.outcome.verdict != Verdict::NotApplicable).count(),
            at: worst.iter().map(|(case, check)| format!("{}: {}", case.id, check.name)).collect(),
            cause: first.map(|outcome| outcome.cause.clone()).unwrap_or_default(),
            detail: first.map(|outcome| outcome.detail.clone()).unwrap_or_default(),
        });
    }
    results
}

#[cfg(test)]
mod tests;
