//! What a check says of a trace.
//!
//! Everything here is a pure function of a case and a trace (two traces where an oracle compares runs). A check first
//! asks whether what it is about happened at all: a turn that was never reached, or a run that the harness could not
//! judge, is never a pass.

mod events;
mod files;
mod wire;

use crate::case::{Case, Check, Expect, See};
use crate::verdict::{Outcome, Verdict};
use slot_oracles::trace::AgentEnd;
use slot_oracles::{Finding, Oracle, OracleCheck, Trace, oracles};
use std::borrow::Cow;

/// What a run left for the checks, beside its trace.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The trace.
    pub trace: Trace,
    /// What the agent printed.
    pub stdout: String,
    /// Operations that no tool of the agent stands for, each with the reason.
    pub unbound: Vec<String>,
    /// What came that the script did not foresee.
    pub unexpected: Vec<String>,
    /// Cuts that the encoded body had no place for.
    pub lost_cuts: Vec<String>,
}

/// What one expectation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// It holds.
    Yes,
    /// It does not.
    No(Miss),
    /// It could not be seen.
    Unseen(String),
}

/// An expectation that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    /// A stable slug.
    pub cause: Cow<'static, str>,
    /// What was expected and what was seen.
    pub detail: String,
}

impl Met {
    pub(crate) fn no(cause: &'static str, detail: impl Into<String>) -> Met {
        Met::No(Miss { cause: cause.into(), detail: detail.into() })
    }

    pub(crate) fn when(holds: bool, cause: &'static str, detail: impl FnOnce() -> String) -> Met {
        if holds { Met::Yes } else { Met::no(cause, detail()) }
    }
}

/// Judges one check. `other` is the run to compare with where an oracle compares: the repetition of a base, or the base
/// of a twin.
pub fn judge(case: &Case, check: &Check, seen: &Seen, other: Option<&Trace>) -> Outcome {
    if let Some(outcome) = barred(case, check, seen) {
        return outcome;
    }
    let strict = expectations(check, &check.expect, seen, other);
    let outcome = settle(strict);
    let Some(lenient) = check.lenient.as_ref().filter(|_| outcome.verdict == Verdict::Fail) else {
        return blamed(outcome, seen);
    };
    match settle(holds(lenient, seen)) {
        Outcome { verdict: Verdict::Pass, .. } => Outcome { verdict: Verdict::NonStrict, ..outcome },
        Outcome { verdict: Verdict::Untestable, cause, detail } => Outcome::new(Verdict::Untestable, cause, detail),
        _ => blamed(outcome, seen),
    }
}

/// The findings against `rule` of an oracle that watches every case; `None` when it cannot see this run.
pub fn watch(oracle: &Oracle, rule: &str, seen: &Seen) -> Option<Vec<Finding>> {
    oracle.can_see(&seen.trace).then(|| against(rule, oracle.judge(&seen.trace)))
}

/// Why a check cannot be judged at all on this run, if it cannot.
fn barred(case: &Case, check: &Check, seen: &Seen) -> Option<Outcome> {
    let wire = &seen.trace.wire;
    match &wire.end {
        AgentEnd::NotRun => return Some(Outcome::new(Verdict::HarnessError, "not-run", "the agent was never run")),
        AgentEnd::NotStarted { reason } => {
            return Some(Outcome::new(
                Verdict::HarnessError,
                "not-started",
                format!("the agent did not start: {reason}"),
            ));
        }
        _ => {}
    }
    if let Some(unbound) = seen.unbound.first() {
        return Some(Outcome::new(Verdict::NotApplicable, "no-tool", unbound.clone()));
    }
    if check.see == See::Runtime && seen.trace.runtime.is_none() {
        return Some(Outcome::new(Verdict::NotApplicable, "no-events", "the agent hands out no runtime events"));
    }
    if let Some(lost) = seen.lost_cuts.first() {
        return Some(Outcome::new(Verdict::Vacuous, "cut-lost", lost.clone()));
    }
    let (turn, why) = needed_turns(case, check).into_iter().find(|(turn, _)| !reached(seen, *turn))?;
    let mut detail = format!("turn {turn}{why} was never reached");
    if let Some(unexpected) = seen.unexpected.first() {
        detail = format!("{detail}; {unexpected}");
    }
    match &wire.end {
        // The run broke off before: that is the cause, and the turn only its consequence.
        AgentEnd::TimedOut { limit_ms } => Some(Outcome::new(
            Verdict::Fail,
            "liveness",
            format!("the agent did not end within {limit_ms} ms; {detail}"),
        )),
        AgentEnd::Signalled { signal } => {
            Some(Outcome::new(Verdict::Fail, "crash", format!("the agent was ended by signal {signal}; {detail}")))
        }
        _ => Some(Outcome::new(Verdict::Vacuous, "turn-not-reached", detail)),
    }
}

fn reached(seen: &Seen, turn: usize) -> bool {
    seen.trace.wire.served.iter().any(|served| served.index == turn && served.times > 0)
}

/// The turns without which the check is about nothing: those of the calls it names; for a check of effects that names
/// none, every turn with calls; and always the first.
fn needed_turns(case: &Case, check: &Check) -> Vec<(usize, String)> {
    let expects = std::iter::once(&check.expect).chain(&check.lenient);
    let mut calls: Vec<&str> = expects.clone().flat_map(Expect::calls).collect();
    let about_effects = expects.clone().any(|e| !e.file.is_empty() || !e.outside.is_empty() || !e.home.is_empty());
    if calls.is_empty() && (about_effects || check.oracle.is_some()) {
        calls = case.script.turns.iter().flat_map(|turn| turn.calls.iter().map(|call| call.id.as_str())).collect();
    }
    let mut turns: Vec<(usize, String)> = calls
        .iter()
        .filter_map(|call| Some((case.turn_of(call)?, format!(", which holds the call {call},"))))
        .collect();
    turns.push((0, String::new()));
    turns.sort();
    turns
}

/// Everything a check expects strictly.
fn expectations(check: &Check, expect: &Expect, seen: &Seen, other: Option<&Trace>) -> Vec<Met> {
    let mut all = holds(expect, seen);
    let Some(oracle) = check.oracle.as_deref().and_then(oracles::by_id) else { return all };
    let findings = match (oracle.check, other) {
        (OracleCheck::Pair(compare), Some(other)) => compare(other, &seen.trace),
        (OracleCheck::Pair(_), None) => {
            all.push(Met::Unseen(format!("oracle {} compares two runs, and there was one", oracle.id)));
            return all;
        }
        _ if !oracle.can_see(&seen.trace) => {
            all.push(Met::Unseen(format!("{}, which oracle {} cannot judge", wire::DRIVEN, oracle.id)));
            return all;
        }
        _ => oracle.judge(&seen.trace),
    };
    for finding in against(&check.rule, findings) {
        all.push(Met::No(Miss { cause: finding.cause.into(), detail: format!("{}: {}", finding.at, finding.detail) }));
    }
    all
}

fn against(rule: &str, findings: Vec<Finding>) -> Vec<Finding> {
    findings.into_iter().filter(|finding| finding.rule.0 == rule).collect()
}

/// Every expectation, in the order of the format's description.
fn holds(expect: &Expect, seen: &Seen) -> Vec<Met> {
    let wire = &seen.trace.wire;
    let mut all = Vec::new();
    for (path, want) in &expect.file {
        all.push(files::file(&format!("file {path}"), wire.workspace.after.get(path), want));
    }
    for (folder, files) in [("outside", &expect.outside), ("home", &expect.home)] {
        for (path, want) in files {
            let key = format!("{folder}/{path}");
            all.push(files::file(&key, wire.outside.after.get(&key), want));
        }
    }
    all.extend(expect.result.iter().flat_map(|(id, want)| wire::result(&seen.trace, id, want)));
    all.extend(expect.replay.iter().flat_map(|(id, want)| wire::replay(wire, id, want)));
    all.extend(expect.requests.map(|want| wire::requests(wire, want)));
    all.extend(expect.catalog.iter().flat_map(|want| wire::catalog(wire, want)));
    all.extend(expect.text.iter().flat_map(|want| wire::replayed_text(wire, want)));
    all.extend(expect.sent.iter().flat_map(|want| wire::transmitted(wire, want)));
    all.extend(expect.prefix.map(|_| wire::prefix_is_stable(wire)));
    all.extend(expect.exit.map(|want| wire::exit(&wire.end, want)));
    if wire.end == AgentEnd::Unseen && expect.stdout.is_some() {
        all.push(Met::Unseen(format!("{}, so that its output is not seen", wire::DRIVEN)));
    } else {
        all.extend(expect.stdout.iter().flat_map(|want| wire::text("stdout", &seen.stdout, want, "wrong-output")));
    }
    if let Some(runtime) = &seen.trace.runtime {
        all.extend(expect.event.iter().flat_map(|(name, want)| events::counts(runtime, name, want)));
        all.extend(expect.lane.iter().map(|(id, want)| events::lane(runtime, id, want)));
    } else if expect.needs_events() {
        all.push(Met::Unseen("the agent hands out no runtime events".to_owned()));
    }
    all
}

/// Of many expectations the first miss counts, then the first that could not be seen.
fn settle(all: Vec<Met>) -> Outcome {
    let misses: Vec<&Miss> = all
        .iter()
        .filter_map(|met| match met {
            Met::No(miss) => Some(miss),
            _ => None,
        })
        .collect();
    if let Some(first) = misses.first() {
        let details: Vec<&str> = misses.iter().map(|miss| miss.detail.as_str()).collect();
        return Outcome::new(Verdict::Fail, first.cause.clone(), details.join("; "));
    }
    for met in &all {
        if let Met::Unseen(why) = met {
            return Outcome::new(Verdict::Untestable, "unseen", why.clone());
        }
    }
    Outcome::pass()
}

/// A miss in a run that did not end by itself is the fault of that end.
fn blamed(outcome: Outcome, seen: &Seen) -> Outcome {
    if outcome.verdict != Verdict::Fail {
        return outcome;
    }
    match &seen.trace.wire.end {
        AgentEnd::TimedOut { limit_ms } => Outcome::new(
            Verdict::Fail,
            "liveness",
            format!("the agent did not end within {limit_ms} ms; {}", outcome.detail),
        ),
        AgentEnd::Signalled { signal } => {
            Outcome::new(Verdict::Fail, "crash", format!("the agent was ended by signal {signal}; {}", outcome.detail))
        }
        _ => outcome,
    }
}

#[cfg(test)]
mod tests;
