//! From runs to verdicts: a case and its twins, each with its checks, and what oracles see that watch every case.

use super::prefix::PrefixNumbers;
use super::{HarnessError, Run, Runner, run_bounded};
use crate::agent::{Abilities, Mode};
use crate::case::{Ability, Case, CaseSet, Check};
use crate::check::{self, Seen};
use crate::rule::RuleBook;
use crate::verdict::{Outcome, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slot_oracles::Trace;
use slot_oracles::trace::AgentEnd;
use std::time::{Duration, Instant};

/// What came of one case or twin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseResult {
    /// The id of the case.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What its checks say, in order of name.
    pub checks: Vec<CheckResult>,
    /// What oracles found that watch every case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<CheckResult>,
    /// What its requests come to by the prefix meter; absent where none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<PrefixNumbers>,
    /// Where what is needed to play it again was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repro: Option<String>,
    /// How long it took, in real seconds.
    pub seconds: f64,
}

/// What one check says, or one oracle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// The check's name in its case, or the oracle's id.
    pub name: String,
    /// The rule it is about.
    pub rule: String,
    /// What it says.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl CaseResult {
    /// Everything that was said of the case.
    pub fn all(&self) -> impl Iterator<Item = &CheckResult> {
        self.checks.iter().chain(&self.watched)
    }

    /// Whether something in it is not good.
    pub fn is_bad(&self) -> bool {
        self.all().any(|check| !check.outcome.verdict.is_good())
    }
}

/// Runs a case and its twins (or only those that `wanted` names, with their base), and judges them. `keep` sees every
/// run together with its result, before its world is gone.
///
/// # Errors
/// When the harness is interrupted. Any other failure of the harness is a verdict.
pub fn judge_set(
    runner: &Runner,
    rules: &RuleBook,
    set: &CaseSet,
    wanted: impl Fn(&str) -> bool,
    mut keep: impl FnMut(&Case, &Run, &mut CaseResult),
) -> Result<Vec<CaseResult>, HarnessError> {
    let mut results = Vec::new();
    let (base, base_run) = judge_case(runner, rules, &set.base, None)?;
    let base = finish(base, &set.base, base_run.as_ref(), &mut keep);
    for twin in set.twins.iter().filter(|twin| wanted(&twin.id)) {
        let other = base_run.as_ref().map(|run| &run.seen.trace);
        let (mut result, run) = judge_case(runner, rules, twin, Some(other))?;
        lean_on(twin, &base, &mut result);
        results.push(finish(result, twin, run.as_ref(), &mut keep));
    }
    if wanted(&set.base.id) {
        results.insert(0, base);
    }
    Ok(results)
}

fn finish(
    mut result: CaseResult,
    case: &Case,
    run: Option<&Run>,
    keep: &mut impl FnMut(&Case, &Run, &mut CaseResult),
) -> CaseResult {
    if let Some(run) = run {
        keep(case, run, &mut result);
    }
    result
}

/// Runs and judges one case. `base` is the base's trace for a twin (`Some(None)` when the base has none), and `None` for
/// a base, which is compared with a repetition of itself.
fn judge_case(
    runner: &Runner,
    rules: &RuleBook,
    case: &Case,
    base: Option<Option<&Trace>>,
) -> Result<(CaseResult, Option<Run>), HarnessError> {
    let started = Instant::now();
    if let Some(outcome) = not_applicable(case, runner) {
        return Ok((all_of(case, &outcome, started.elapsed()), None));
    }
    let run = match run_bounded(runner, case) {
        Ok(run) => run,
        Err(HarnessError::Interrupted) => return Err(HarnessError::Interrupted),
        Err(error) => return Ok((all_of(case, &harness_error(&error), started.elapsed()), None)),
    };
    let repeated = match base {
        None if case.compares() => match run_bounded(runner, case) {
            Ok(run) => Some(run.seen.trace),
            Err(HarnessError::Interrupted) => return Err(HarnessError::Interrupted),
            Err(error) => return Ok((all_of(case, &harness_error(&error), started.elapsed()), Some(run))),
        },
        _ => None,
    };
    let other = base.map_or(repeated.as_ref(), |base| base);
    let result = judge_trace(rules, case, &run.seen, other);
    let prefix = PrefixNumbers::of(&run.seen.trace);
    Ok((CaseResult { prefix, seconds: started.elapsed().as_secs_f64(), ..result }, Some(run)))
}

/// Judges what was seen of one case: a pure function, for whoever has a trace and wants to know what follows from it.
pub fn judge_trace(rules: &RuleBook, case: &Case, seen: &Seen, other: Option<&Trace>) -> CaseResult {
    let judged = each(case, |check| check::judge(case, check, seen, other));
    CaseResult { watched: watched(rules, case, seen), ..judged }
}

/// The result in which this is said of each check, and nothing else.
fn each(case: &Case, outcome: impl Fn(&Check) -> Outcome) -> CaseResult {
    let said =
        |check: &Check| CheckResult { name: check.name.clone(), rule: check.rule.clone(), outcome: outcome(check) };
    CaseResult {
        id: case.id.clone(),
        title: case.title.clone(),
        checks: case.checks.iter().map(said).collect(),
        watched: Vec::new(),
        prefix: None,
        repro: None,
        seconds: 0.0,
    }
}

/// The oracle of repeated prefixes, and the rule about the tools in them.
const KEEPS_PREFIX: &str = "O56";
const KEEPS_TOOLS: &str = "CACHE-01";

/// What oracles find that watch every case: only what is wrong.
fn watched(rules: &RuleBook, case: &Case, seen: &Seen) -> Vec<CheckResult> {
    let mut found = Vec::new();
    // An agent that was not started broke no rule.
    if matches!(seen.trace.wire.end, AgentEnd::NotRun | AgentEnd::NotStarted { .. }) {
        return found;
    }
    for booked in rules.iter() {
        let rule = &booked.rule;
        for oracle in rule.oracles.iter().filter_map(|id| slot_oracles::oracles::by_id(id)) {
            for finding in check::watch(oracle, &rule.id, seen).unwrap_or_default() {
                // Whoever changes the tools has broken the prefix, and no runtime could have kept it.
                if case.world.takes_tools_away() && oracle.id == KEEPS_PREFIX && rule.id == KEEPS_TOOLS {
                    continue;
                }
                found.push(CheckResult {
                    name: oracle.id.to_owned(),
                    rule: rule.id.clone(),
                    outcome: Outcome::new(Verdict::Fail, finding.cause, format!("{}: {}", finding.at, finding.detail)),
                });
            }
        }
    }
    found
}

/// A twin whose base did not show what it leans on proves nothing.
fn lean_on(twin: &Case, base: &CaseResult, result: &mut CaseResult) {
    let Some(name) = &twin.base_check else { return };
    let Some(check) = base.checks.iter().find(|check| check.name == *name) else { return };
    let verdict = check.outcome.verdict;
    if verdict.is_seen() {
        return;
    }
    let detail = format!("its base did not show {name:?}: {verdict} {}", check.outcome.detail);
    let empty = match verdict {
        Verdict::NotApplicable => Outcome::new(Verdict::NotApplicable, "base-not-applicable", detail.trim()),
        _ => Outcome::new(Verdict::Vacuous, "base-not-seen", detail.trim()),
    };
    for check in &mut result.checks {
        // What is already worse than empty stays.
        if check.outcome.verdict < empty.verdict {
            check.outcome = empty.clone();
        }
    }
}

/// What is said of every check of a case that cannot be played in this dialect, or on an agent with these abilities;
/// `None` when it can.
pub fn not_applicable(case: &Case, runner: &Runner) -> Option<Outcome> {
    if runner.dialect_of(case).is_none() {
        let detail = format!("it can only be said in {}, not in {}", case.dialects.join(", "), runner.dialect);
        return Some(Outcome::new(Verdict::NotApplicable, "other-dialect", detail));
    }
    lack(case, runner.agent.abilities()).map(|lack| Outcome::new(Verdict::NotApplicable, "not-offered", lack))
}

/// Why an agent cannot be asked to play this case, if it cannot.
fn lack(case: &Case, abilities: &Abilities) -> Option<String> {
    let has = |ability: &Ability| match ability {
        Ability::ExtensionTools => abilities.extension_tools,
        Ability::Cancellation => abilities.cancellation,
        Ability::RuntimeEvents => abilities.runtime_events,
        Ability::ToolPool => abilities.tool_pool,
        Ability::FileTools => abilities.file_tools,
    };
    if let Some(ability) = case.needs.iter().find(|ability| !has(ability)) {
        return Some(format!("the agent does not offer {ability}"));
    }
    (!abilities.modes.contains(&case.mode))
        .then(|| format!("the agent does not offer the mode {}", mode_name(case.mode)))
}

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Unattended => "unattended",
        Mode::Auto => "auto",
        Mode::Ask => "ask",
        Mode::Deny => "deny",
    }
}

fn harness_error(error: &HarnessError) -> Outcome {
    let cause = match error {
        HarnessError::World(_) => "world",
        HarnessError::Start(_) => "start",
        HarnessError::Panicked(_) => "panic",
        HarnessError::Interrupted => "interrupted",
    };
    Outcome::new(Verdict::HarnessError, cause, error.to_string())
}

/// The same outcome for every check.
fn all_of(case: &Case, outcome: &Outcome, took: Duration) -> CaseResult {
    CaseResult { seconds: took.as_secs_f64(), ..each(case, |_| outcome.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(verdict: Verdict) -> CaseResult {
        let outcome = Outcome::new(verdict, "cause", "detail");
        CaseResult {
            id: "a/b".into(),
            title: String::new(),
            checks: vec![CheckResult { name: "k".into(), rule: "PAIR-01".into(), outcome }],
            watched: Vec::new(),
            prefix: None,
            repro: None,
            seconds: 0.0,
        }
    }

    fn twin() -> Case {
        let rules = crate::rule::sample(&[("PAIR-01", "must")]);
        let text = "title = 't'\n[[turn]]\nsay = 'x'\n[check]\nk = { rule = 'PAIR-01', requests = 1 }\n\
                    [twin.t]\nset = { mode = 'deny' }\nneeds = 'k'\ncheck = { k = { rule = 'PAIR-01', requests = 1 } }\n";
        crate::case::read("x", "a/b", text, &rules).unwrap().twins.remove(0)
    }

    /// The verdict of a twin's check that came to `own`, over a base check that came to `seen`.
    #[track_caller]
    fn check(seen: Verdict, own: Verdict, expect: Verdict) {
        let mut result = base(own);
        lean_on(&twin(), &base(seen), &mut result);
        assert_eq!(result.checks[0].outcome.verdict, expect);
    }

    #[test]
    fn a_twin_counts_only_when_its_base_was_seen() {
        check(Verdict::Pass, Verdict::Pass, Verdict::Pass);
        check(Verdict::NonStrict, Verdict::Pass, Verdict::Pass);
        check(Verdict::Fail, Verdict::Pass, Verdict::Vacuous);
        check(Verdict::Vacuous, Verdict::Pass, Verdict::Vacuous);
        check(Verdict::Fail, Verdict::Fail, Verdict::Fail);
        check(Verdict::NotApplicable, Verdict::NotApplicable, Verdict::NotApplicable);
    }

    #[test]
    fn a_case_asks_for_what_it_uses() {
        let mut case = twin();
        let all = Abilities {
            runtime_events: true,
            extension_tools: true,
            tool_pool: true,
            cancellation: true,
            file_tools: true,
            modes: vec![Mode::Unattended, Mode::Deny],
        };
        assert_eq!(lack(&case, &all), None);
        assert_eq!(lack(&case, &Abilities::default()), Some("the agent does not offer the mode deny".into()));
        case.needs.insert(Ability::Cancellation);
        let none = Abilities { cancellation: false, ..all };
        assert_eq!(lack(&case, &none), Some("the agent does not offer cancellation".into()));
    }
}
