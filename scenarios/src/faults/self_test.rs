//! The self-test: every planted fault must turn its rule red, and every MUST rule needs such a fault.
//!
//! Each fault is preceded by its control: the same cases without the fault must leave the rule unbroken, or else the red
//! would prove nothing.

use super::load::{Fault, FaultKind, flaw_name};
use super::naive::Flaw;
use super::plant::Plant;
use crate::adapter::Adapter;
use crate::agent::Agent;
use crate::agent::command::CommandAgent;
use crate::agent::in_process::{InProcess, Tier};
use crate::case::{Case, CaseSet, Library};
use crate::rule::{Level, RuleBook};
use crate::run::{CaseResult, Runner, judge_set, judge_trace, run_bounded};
use crate::source::Problems;
use crate::verdict::Verdict;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a run with a fault may take: long enough for a sound one, short enough to wait for one that hangs.
const LIMIT: Duration = Duration::from_secs(4);

/// What became of one fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The fault.
    pub fault: Fault,
    /// What it came to.
    pub end: End,
}

/// How a try ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The rule turned red.
    Killed {
        /// In this case, by this check or oracle.
        by: String,
        /// For this cause.
        cause: String,
    },
    /// The rule stayed as it was: the suite is blind to the fault.
    Survived,
    /// The try proves nothing, because of this.
    Void(String),
}

/// The kill matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// Every fault, in order of rule.
    pub tried: Vec<Tried>,
    /// MUST rules that no fault turned red.
    pub blind: Vec<String>,
    /// Whether it was interrupted.
    pub interrupted: bool,
}

impl Matrix {
    /// Whether every fault was killed and every MUST rule is covered.
    pub fn is_good(&self) -> bool {
        !self.interrupted && self.blind.is_empty() && self.tried.iter().all(|t| matches!(t.end, End::Killed { .. }))
    }

    /// How many faults were killed.
    pub fn killed(&self) -> usize {
        self.tried.iter().filter(|t| matches!(t.end, End::Killed { .. })).count()
    }
}

/// What the self-test needs.
pub struct SelfTest<'a> {
    /// Rules and cases.
    pub library: &'a Library,
    /// The program that runs the naive agent as `naive-agent`: this one.
    pub program: PathBuf,
    /// How many faults are tried at a time.
    pub jobs: usize,
    /// Ends it.
    pub cancel: CancellationToken,
}

impl SelfTest<'_> {
    /// Tries every fault. `progress` is called after each, with how many are done.
    ///
    /// # Errors
    /// When a fault names a rule or a case that does not exist.
    pub fn run(&self, mut faults: Vec<Fault>, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Matrix, Problems> {
        faults.sort_by(|a, b| (&a.rule, &a.id).cmp(&(&b.rule, &b.id)));
        self.check_names(&faults)?;
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let tried: Mutex<Vec<Option<Tried>>> = Mutex::new(vec![None; faults.len()]);
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, faults.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(fault) = faults.get(index).filter(|_| !self.cancel.is_cancelled()) else { break };
                        let end = self.try_fault(fault);
                        let mut tried = tried.lock().unwrap_or_else(PoisonError::into_inner);
                        tried[index] = Some(Tried { fault: fault.clone(), end });
                        progress(done.fetch_add(1, Ordering::Relaxed) + 1, faults.len());
                    }
                });
            }
        });
        let tried: Vec<Tried> =
            tried.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect();
        let red: BTreeSet<&str> =
            tried.iter().filter(|t| matches!(t.end, End::Killed { .. })).map(|t| t.fault.rule.as_str()).collect();
        let blind = self
            .library
            .rules
            .iter()
            .filter(|booked| booked.rule.level == Level::Must && !red.contains(booked.rule.id.as_str()))
            .map(|booked| booked.rule.id.clone())
            .collect();
        Ok(Matrix { blind, interrupted: self.cancel.is_cancelled(), tried })
    }

    fn check_names(&self, faults: &[Fault]) -> Result<(), Problems> {
        let mut problems = Vec::new();
        for fault in faults {
            if self.library.rules.get(&fault.rule).is_none() {
                problems.push(fault.problem(format!("there is no rule {}", fault.rule)));
            }
            for case in fault.cases.iter().filter(|case| self.library.case(case).is_none()) {
                problems.push(fault.problem(format!("there is no case {case}")));
            }
            if fault.cases.is_empty() {
                problems.push(fault.problem("it is aimed at no case".to_owned()));
            }
        }
        Problems::none_or(problems, ())
    }

    fn try_fault(&self, fault: &Fault) -> End {
        let mut last = End::Survived;
        for id in &fault.cases {
            let end = match fault.kind {
                FaultKind::Trace(_) => self.try_trace(fault, id),
                FaultKind::Seam(seam) => {
                    let sound = InProcess::new(Tier::A);
                    self.try_agents(fault, id, Arc::new(sound), Arc::new(in_process(seam)), true)
                }
                FaultKind::Agent(flaw) => match (self.naive(Flaw::None), self.naive(flaw)) {
                    (Ok(sound), Ok(broken)) => self.try_agents(fault, id, sound, broken, false),
                    (Err(problem), _) | (_, Err(problem)) => End::Void(problem),
                },
            };
            // One that is killed ends it, unless each must be; one that is not ends it where each must be.
            let goes_on = if fault.each { matches!(end, End::Killed { .. }) } else { end == End::Survived };
            if !goes_on {
                return end;
            }
            last = end;
        }
        last
    }

    /// Runs a case with a sound agent and with a broken one.
    fn try_agents(
        &self,
        fault: &Fault,
        id: &str,
        sound: Arc<dyn Agent>,
        broken: Arc<dyn Agent>,
        virtual_time: bool,
    ) -> End {
        let Some(set) = self.set_of(id, virtual_time) else { return End::Void(format!("there is no case {id}")) };
        for (agent, is_control) in [(sound, true), (broken, false)] {
            let dialect = dialect_of(&set);
            let runner = Runner { virtual_time, dialect, cancel: self.cancel.clone(), ..Runner::new(agent) };
            let wanted = |case: &str| case == id;
            let results = match judge_set(&runner, &self.library.rules, &set, wanted, |_, _, _| {}) {
                Ok(results) => results,
                Err(error) => return End::Void(error.to_string()),
            };
            let red = red(&results, &fault.rule);
            if is_control {
                if let Some(problem) = control(&results, &fault.rule, red.as_ref()) {
                    return End::Void(format!("without the fault, {problem}"));
                }
            } else if let Some(end) = red {
                return end;
            }
        }
        End::Survived
    }

    /// Runs a case once, soundly, and judges what was seen before and after the mutation.
    fn try_trace(&self, fault: &Fault, id: &str) -> End {
        let FaultKind::Trace(mutation) = fault.kind else { return End::Survived };
        let Some(set) = self.set_of(id, true) else { return End::Void(format!("there is no case {id}")) };
        let runner = Runner {
            virtual_time: true,
            dialect: dialect_of(&set),
            cancel: self.cancel.clone(),
            ..Runner::new(Arc::new(InProcess::new(Tier::A)) as Arc<dyn Agent>)
        };
        let case: &Case = set.all().find(|case| case.id == id).unwrap_or(&set.base);
        let (run, base) = match (run_bounded(&runner, case), run_bounded(&runner, &set.base)) {
            (Ok(run), Ok(base)) => (run, base),
            (Err(error), _) | (_, Err(error)) => return End::Void(error.to_string()),
        };
        // For a base this is its repetition, for a twin the run it differs from.
        let other = Some(&base.seen.trace);
        let rules: &RuleBook = &self.library.rules;
        let before = [judge_trace(rules, case, &run.seen, other)];
        if let Some(problem) = control(&before, &fault.rule, red(&before, &fault.rule).as_ref()) {
            return End::Void(format!("without the fault, {problem}"));
        }
        let mut seen = run.seen;
        if !mutation.apply(&mut seen.trace) {
            return End::Void(format!("the trace of {id} has nothing that {} could change", fault.kind.describe()));
        }
        red(&[judge_trace(rules, case, &seen, other)], &fault.rule).unwrap_or(End::Survived)
    }

    /// The case's set, with limits that a self-test can wait for. In virtual time no limit is waited for.
    fn set_of(&self, id: &str, virtual_time: bool) -> Option<CaseSet> {
        let mut set = self.library.cases.iter().find(|set| set.all().any(|case| case.id == id))?.clone();
        for case in std::iter::once(&mut set.base).chain(&mut set.twins) {
            if !virtual_time || case.starts_processes() {
                case.limit = case.limit.min(LIMIT);
            }
        }
        Some(set)
    }

    fn naive(&self, flaw: Flaw) -> Result<Arc<dyn Agent>, String> {
        let name = flaw_name(flaw);
        let text = format!(
            "name = \"naive\"\ntitle = \"The naive agent\"\ninstall = \"it is part of this program\"\n\
             program = \"slotspec\"\nversion = [\"--version\"]\n\
             args = [\"naive-agent\", \"--base-url\", \"{{base_url}}\", \"--workspace\", \"{{workspace}}\", \
             \"--flaw\", \"{name}\", \"{{prompt}}\"]\n\
             dialects = [\"chat\"]\n[modes.unattended]\n"
        );
        let adapter = Adapter::parse("the naive agent", &text).map_err(|problems| problems.to_string())?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Ok(Arc::new(CommandAgent::new(adapter, self.program.clone(), version)))
    }
}

/// The dialect to try a fault in: the first of the case's own, if it has any.
fn dialect_of(set: &CaseSet) -> String {
    set.base.dialects.first().cloned().unwrap_or_else(|| "chat".to_owned())
}

fn in_process(seam: impl Plant + 'static) -> InProcess {
    InProcess::with_plant(Tier::A, Arc::new(seam))
}

/// The first thing that turned the rule red.
fn red(results: &[CaseResult], rule: &str) -> Option<End> {
    results.iter().find_map(|result| {
        let check = result.all().find(|check| check.rule == rule && check.outcome.verdict == Verdict::Fail)?;
        Some(End::Killed { by: format!("{} {}", result.id, check.name), cause: check.outcome.cause.clone() })
    })
}

/// Why a control proves nothing, if it does not. What the agent does not offer says nothing either way.
fn control(results: &[CaseResult], rule: &str, red: Option<&End>) -> Option<String> {
    if let Some(End::Killed { by, cause }) = red {
        return Some(format!("the rule is broken already: {cause} in {by}"));
    }
    let checks = || results.iter().flat_map(CaseResult::all).filter(|check| check.rule == rule);
    let empty = |verdict: Verdict| !verdict.is_seen() && verdict != Verdict::NotApplicable;
    if let Some(check) = checks().find(|check| empty(check.outcome.verdict)) {
        return Some(format!("{} is {}: {}", check.name, check.outcome.verdict, check.outcome.detail));
    }
    // A rule that no check names here is watched by an oracle alone, which is silent while it is kept.
    let idle = checks().count() > 0 && !checks().any(|check| check.outcome.verdict.is_seen());
    idle.then(|| format!("no check of {rule} applies"))
}
