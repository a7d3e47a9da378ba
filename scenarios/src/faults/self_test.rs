//! The self-test: every planted fault must turn its rule red, by the check or oracle and for the cause that it declares.
//! Every MUST rule needs such a fault, and every oracle one that aims at it.
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
use crate::run::{CaseResult, CheckResult, Runner, judge_set, judge_trace, run_bounded};
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
    /// The rule turned red, but not by what the fault aims at, or not for its cause: what it aims at may be asleep.
    Elsewhere {
        /// Everything that turned red, as check or oracle and cause.
        by: Vec<(String, String)>,
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
    /// Oracles that no fault woke.
    pub asleep: Vec<String>,
    /// Whether it was interrupted.
    pub interrupted: bool,
}

impl Matrix {
    /// Whether every fault was killed and every MUST rule is covered.
    pub fn is_good(&self) -> bool {
        let covered = self.blind.is_empty() && self.asleep.is_empty();
        !self.interrupted && covered && self.tried.iter().all(|t| matches!(t.end, End::Killed { .. }))
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
        let asleep = self.asleep(&tried);
        Ok(Matrix { blind, asleep, interrupted: self.cancel.is_cancelled(), tried })
    }

    /// The oracles that no killed fault aims at: by their own name, or by a check that holds nothing else.
    fn asleep(&self, tried: &[Tried]) -> Vec<String> {
        let killed: Vec<&Fault> =
            tried.iter().filter(|t| matches!(t.end, End::Killed { .. })).map(|t| &t.fault).collect();
        let wakes = |fault: &Fault, oracle: &str| {
            let checks = fault.cases.iter().filter_map(|id| self.library.case(id)).flat_map(|case| &case.checks);
            let mut asks = checks.filter(|check| check.name == fault.by && check.expect.is_empty());
            fault.by == oracle || asks.any(|check| check.oracle.as_deref() == Some(oracle))
        };
        let oracles = slot_oracles::ORACLES.iter().map(|oracle| oracle.id);
        oracles.filter(|id| !killed.iter().any(|fault| wakes(fault, id))).map(str::to_owned).collect()
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

    /// Tries the fault in its cases, until one of them kills it.
    fn try_fault(&self, fault: &Fault) -> End {
        let mut last = End::Survived;
        let mut elsewhere = None;
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
            match (&end, fault.each) {
                (End::Killed { .. }, true) | (End::Survived, false) => {}
                (End::Elsewhere { .. }, false) => elsewhere = Some(end.clone()),
                _ => return end,
            }
            last = end;
        }
        elsewhere.unwrap_or(last)
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
            if !is_control {
                return judged(&results, fault);
            }
            if let Some(problem) = control(&results, &fault.rule) {
                return End::Void(format!("without the fault, {problem}"));
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
        if let Some(problem) = control(&before, &fault.rule) {
            return End::Void(format!("without the fault, {problem}"));
        }
        let mut seen = run.seen;
        if !mutation.apply(&mut seen.trace) {
            return End::Void(format!("the trace of {id} has nothing that {} could change", fault.kind.describe()));
        }
        judged(&[judge_trace(rules, case, &seen, other)], fault)
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

/// Everything that turned the rule red, with the case it did so in.
fn red<'a>(results: &'a [CaseResult], rule: &str) -> Vec<(&'a str, &'a CheckResult)> {
    let of = |result: &'a CaseResult| result.all().map(|check| (result.id.as_str(), check));
    let reds = results.iter().flat_map(of);
    reds.filter(|(_, check)| check.rule == rule && check.outcome.verdict == Verdict::Fail).collect()
}

/// What a run with the fault came to.
fn judged(results: &[CaseResult], fault: &Fault) -> End {
    let red = red(results, &fault.rule);
    let meant = red.iter().find(|(_, check)| check.name == fault.by && check.outcome.cause == fault.cause);
    match meant {
        Some((case, check)) => {
            End::Killed { by: format!("{case} {}", check.name), cause: check.outcome.cause.to_string() }
        }
        None if red.is_empty() => End::Survived,
        None => End::Elsewhere {
            by: red.iter().map(|(_, check)| (check.name.clone(), check.outcome.cause.to_string())).collect(),
        },
    }
}

/// Why a control proves nothing, if it does not. What the agent does not offer says nothing either way.
fn control(results: &[CaseResult], rule: &str) -> Option<String> {
    if let Some((case, check)) = red(results, rule).first() {
        return Some(format!("the rule is broken already: {} in {case} {}", check.outcome.cause, check.name));
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
