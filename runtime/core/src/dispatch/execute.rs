//! Execution: asking, passing the gate, running and settling.
//!
//! A call that reaches this stage leaves it with exactly one result, whatever happens: a denial, an error, a panic or a
//! cancellation is a result, and fills the slot of its call alone. (A future that is dropped settles nothing; the session
//! answers what was left open before the next request.)

use super::batch::Batch;
use super::call::{Approved, Raw, Refusal, Settled, Stage, Validated, append_note};
use super::gate::{Gate, Held};
use super::nested::{Nested, Share};
use super::plan::{Loaded, Planned};
use super::policy::{Attempt, LoopAdvice, LoopTurn, Policies};
use crate::approval::{ApprovalDecision, ApprovalQuestion, Decider, approved, denied};
use crate::contract::{
    ApprovalRequirement, CallTools, Capability, Exposure, InterruptBehaviour, Role, RunContext, ToolDispatcher,
    ToolError, ToolOutput,
};
use crate::event::{EventKind, EventLog, Mark};
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use serde_json::Value;
use slot_wire::names::quoted;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// How long the calls that a cancelled call has made may take to end.
const INNER_GRACE: Duration = Duration::from_secs(10);

/// What execution needs. Clones share it.
#[derive(Clone)]
pub struct Executor {
    /// The tools.
    pub dispatcher: Arc<dyn ToolDispatcher>,
    /// What the stages consult.
    pub policies: Policies,
    /// Where it is logged.
    pub log: EventLog,
    /// What keeps calls apart that may not overlap.
    pub gate: Passage,
    /// Ends whatever runs.
    pub cancel: CancellationToken,
    /// What the loop guard knows of this user turn.
    pub loops: Arc<dyn LoopTurn>,
    /// Set once the loop guard has paused this user turn: nothing of it runs any more.
    pub paused: Arc<OnceLock<String>>,
    /// The deferred tools that have been loaded.
    pub loaded: Loaded,
}

/// How calls pass the gate.
#[derive(Clone, Debug)]
pub enum Passage {
    /// They take it.
    Take(Gate),
    /// They are made by a call that holds it already, so they do not take it again: a queued call between the two would
    /// wait for the outer one, and the inner one for the queued one.
    Inside,
}

impl Passage {
    async fn shared(&self) -> Option<Held> {
        match self {
            Passage::Take(gate) => Some(gate.shared().await),
            Passage::Inside => None,
        }
    }

    async fn alone(&self) -> Option<Held> {
        match self {
            Passage::Take(gate) => Some(gate.alone().await),
            Passage::Inside => None,
        }
    }
}

/// What a call came to, before it is settled.
struct Outcome {
    content: String,
    is_error: bool,
    cancelled: bool,
    /// Deferred tools that it found.
    found: Vec<String>,
}

impl Outcome {
    fn failed(content: impl Into<String>) -> Self {
        Outcome { content: content.into(), is_error: true, cancelled: false, found: Vec::new() }
    }

    fn cancelled() -> Self {
        Outcome { cancelled: true, ..Outcome::failed(ToolError::Cancelled.to_string()) }
    }
}

impl Executor {
    /// Settles a batch; the results are in call order. `after` are the events that its calls must follow: the ends of the
    /// batch before it. The loop guard counts the calls when the batch begins, and is told how they ended when it has.
    pub async fn settle(&self, batch: Batch, after: &[Mark]) -> Vec<Settled> {
        let (calls, together) = match batch {
            Batch::Serial(call) => (vec![call], false),
            Batch::Parallel(calls) => (calls, true),
        };
        let attempts: Vec<(Attempt, Raw)> = calls.iter().map(|call| (call.attempt(), call.raw().clone())).collect();
        let mut admitted: Vec<Planned> =
            calls.into_iter().zip(&attempts).map(|(call, (attempt, _))| self.admit(call, attempt)).collect();
        let settled = match admitted.pop() {
            Some(Planned::Refused { call, refusal, .. }) if !together => {
                vec![self.done(&call, Outcome::failed(refusal.reason))]
            }
            Some(Planned::Ready { call, level }) if !together => vec![self.serial(*call, level, after).await],
            last => {
                admitted.extend(last);
                self.parallel(admitted, after).await
            }
        };
        settled
            .into_iter()
            .zip(attempts)
            .map(|(settled, (attempt, call))| self.record(settled, &attempt, &call))
            .collect()
    }

    /// Puts a call to the loop guard. A call that was refused already is counted as well, and told if it repeats itself.
    fn admit(&self, call: Planned, attempt: &Attempt) -> Planned {
        let stop = match self.paused.get() {
            Some(reason) => {
                Err(Refusal::new(Stage::LoopGuard, format!("the turn was paused ({reason}); nothing was run")))
            }
            None => self.loops.admit(attempt).and_then(|()| self.deny(&call)),
        };
        let Err(mut refusal) = stop else { return call };
        self.note(call.raw(), EventKind::Refused { stage: refusal.stage.as_str() });
        if let Planned::Refused { refusal: first, .. } = &call {
            refusal.reason = format!("{}\n{}", refusal.reason, first.reason);
        }
        Planned::Refused { call: Box::new(call.raw().clone()), refusal, attempt: attempt.clone() }
    }

    /// Puts a call to the deny rules, before anybody is asked about it.
    fn deny(&self, call: &Planned) -> Result<(), Refusal> {
        let Planned::Ready { call, .. } = call else { return Ok(()) };
        let judged = catch_unwind(AssertUnwindSafe(|| self.policies.deny.judge(call.tool(), call.input())));
        let tool = call.tool().name.as_str();
        let reason = match judged {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(denial)) => {
                format!(
                    "the call of {tool:?} was not run: this session denies it by the rule `{}`. {}",
                    denial.rule, denial.reason
                )
            }
            // Rules that cannot be held against a call do not let it pass.
            Err(_) => format!(
                "the call of {tool:?} was not run: whether this session denies it could not be told. Try other arguments, or go \
                 on without it"
            ),
        };
        Err(Refusal::new(Stage::Deny, reason))
    }

    /// Tells the loop guard how a call ended, and the model what it says to that.
    fn record(&self, settled: Settled, attempt: &Attempt, call: &Raw) -> Settled {
        if settled.is_cancelled() || self.paused.get().is_some() {
            return settled;
        }
        match self.loops.record(attempt, settled.is_error()) {
            LoopAdvice::GoOn => settled,
            LoopAdvice::Warn { failures, text } => {
                self.note(call, EventKind::LoopWarned { tool: attempt.tool.clone(), failures });
                settled.with_note(&text)
            }
            LoopAdvice::Pause { failures, reason } => {
                self.note(call, EventKind::LoopPaused { tool: attempt.tool.clone(), failures });
                let note = format!("{reason}, so the turn was paused; the user decides how to go on");
                // A second pause of the same batch changes nothing.
                let _ = self.paused.set(reason);
                settled.with_note(&note)
            }
        }
    }

    async fn serial(&self, call: Validated, level: ApprovalRequirement, after: &[Mark]) -> Settled {
        let raw = call.raw().clone();
        let call = match self.approve(call, level).await {
            Ok(call) => call,
            Err(outcome) => return self.done(&raw, outcome),
        };
        let held = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return self.done(&raw, Outcome::cancelled()),
            held = self.gate.alone() => held,
        };
        self.start(&call, after);
        let outcome = self.run(&call, Share::Alone).await;
        drop(held);
        self.done(&raw, outcome)
    }

    /// Runs calls at the same time. They start in order; each fills the slot of its own index. Their ends are logged in
    /// reverse order, so that a host that pairs starts and ends by a stack pairs them rightly.
    async fn parallel(&self, calls: Vec<Planned>, after: &[Mark]) -> Vec<Settled> {
        let raws: Vec<Raw> = calls.iter().map(|call| call.raw().clone()).collect();
        let held = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            held = self.gate.shared() => Some(held),
        };
        let mut slots: Vec<Option<Outcome>> = raws.iter().map(|_| None).collect();
        if held.is_some() {
            let running: FuturesUnordered<_> =
                calls.into_iter().enumerate().map(|(index, call)| self.one_of_many(index, call, after)).collect();
            let mut running = running;
            while let Some((index, outcome)) = running.next().await {
                slots[index] = Some(outcome);
            }
        }
        drop(held);
        let mut settled: Vec<Settled> = raws
            .iter()
            .zip(slots)
            .rev()
            .map(|(raw, outcome)| self.done(raw, outcome.unwrap_or_else(Outcome::cancelled)))
            .collect();
        settled.reverse();
        settled
    }

    async fn one_of_many(&self, index: usize, call: Planned, after: &[Mark]) -> (usize, Outcome) {
        let outcome = match call {
            Planned::Refused { refusal, .. } => Outcome::failed(refusal.reason),
            Planned::Ready { call, level } => match self.approve(*call, level).await {
                Err(outcome) => outcome,
                Ok(call) => {
                    self.start(&call, after);
                    self.run(&call, Share::Together).await
                }
            },
        };
        (index, outcome)
    }

    /// Asks whoever must be asked. The error is what a call comes to that may not run.
    async fn approve(&self, call: Validated, level: ApprovalRequirement) -> Result<Approved, Outcome> {
        if self.cancel.is_cancelled() {
            return Err(Outcome::cancelled());
        }
        let decision = if level == ApprovalRequirement::Auto {
            approved(Decider::Level)
        } else {
            let question = question(&call, level);
            self.note(call.raw(), EventKind::ApprovalAsked);
            // Inside the block, so that a policy that panics before it has a future is contained as well.
            let decision = AssertUnwindSafe(async { self.policies.approval.decide(&question).await }).catch_unwind();
            let decided = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(Outcome::cancelled()),
                decided = decision => decided,
            };
            // A policy that panics has not approved anything.
            let mut decision = decided.unwrap_or_else(|_| denied(Decider::NoChannel));
            // What was guessed from a name is approved by whoever has seen both names, and by no grant given before.
            if call.is_guess() && decision.approved && decision.by != Decider::Person {
                decision = denied(Decider::NoChannel);
            }
            let word = if decision.approved { "approved" } else { "denied" };
            self.note(call.raw(), EventKind::ApprovalDecided { decision: word, by: decision.by.as_str() });
            decision
        };
        call.approved(level, decision.clone()).map_err(|call| {
            self.note(call.raw(), EventKind::Refused { stage: Stage::Approval.as_str() });
            Outcome::failed(denial(&call, level, &decision))
        })
    }

    fn start(&self, call: &Approved, after: &[Mark]) {
        self.log.push(call.raw().lane().clone(), EventKind::Started, after.to_vec());
    }

    async fn run(&self, call: &Approved, share: Share) -> Outcome {
        let cancel = self.cancel.child_token();
        // Whatever the run handed on of its context can make no call once it has ended.
        let _ended = cancel.clone().drop_guard();
        let inner = Arc::new(Nested::new(self, call.raw(), share, cancel.clone()));
        let tools = Arc::clone(&inner) as Arc<dyn CallTools>;
        let context = RunContext::new(call.raw().id(), cancel).with_tools(tools);
        let work = AssertUnwindSafe(async { self.dispatcher.run(call, &context).await }).catch_unwind();
        let outcome = match call.tool().interrupt {
            InterruptBehaviour::Finish => Some(work.await),
            InterruptBehaviour::Cancel => {
                let mut work = std::pin::pin!(work);
                tokio::select! {
                    biased;
                    outcome = &mut work => Some(outcome),
                    // Calls that it made see the same cancellation, and one of them may have to finish.
                    () = self.cancel.cancelled() => match inner.is_busy() {
                        true => tokio::time::timeout(INNER_GRACE, work).await.ok(),
                        // The tool's future is dropped here; what it started ends with it.
                        false => None,
                    },
                }
            }
        };
        match outcome {
            None | Some(Ok(Err(ToolError::Cancelled))) => Outcome::cancelled(),
            Some(Ok(Ok(output))) => {
                let is_error = output.is_error;
                let found = self.load(call, &output);
                let mut content = self.policies.results.shape(output);
                call.notes().iter().for_each(|note| append_note(&mut content, note));
                Outcome { content, is_error, cancelled: false, found }
            }
            Some(Ok(Err(error))) => {
                Outcome::failed(self.policies.results.shape(ToolOutput::failed(format!("Error: {error}"))))
            }
            Some(Err(_)) => Outcome::failed(format!(
                "Error: the tool {:?} failed inside and was stopped. Other tools still work; try another way",
                call.tool().name
            )),
        }
    }

    fn done(&self, call: &Raw, mut outcome: Outcome) -> Settled {
        if outcome.cancelled {
            self.note(call, EventKind::Cancelled);
        } else if let Some(notice) = call.mended().and_then(|mended| mended.notice.as_deref()) {
            append_note(&mut outcome.content, notice);
        }
        self.note(call, EventKind::Settled { is_error: outcome.is_error });
        Settled::new(call.id(), outcome.content, outcome.is_error, outcome.cancelled).finding(outcome.found)
    }

    /// Loads the deferred tools that a finder found. Finding one is no permission: its call passes every stage.
    fn load(&self, call: &Approved, output: &ToolOutput) -> Vec<String> {
        if call.tool().role != Role::Finder || output.is_error {
            return Vec::new();
        }
        let snapshot = self.dispatcher.snapshot();
        let deferred = |name: &&str| snapshot.tools.get(*name).is_some_and(|tool| tool.exposure == Exposure::Deferred);
        let named = output.metadata.get("loads").and_then(Value::as_array);
        let names = named.into_iter().flatten().filter_map(Value::as_str).filter(deferred);
        let found: Vec<String> = names.map(str::to_owned).collect();
        found.iter().for_each(|name| self.loaded.add(name));
        if !found.is_empty() {
            self.note(call.raw(), EventKind::ToolsFound { tools: found.clone() });
        }
        found
    }

    fn note(&self, call: &Raw, kind: EventKind) {
        self.log.push(call.lane().clone(), kind, Vec::new());
    }
}

/// Answers a call whose run was dropped before it settled.
pub fn abandoned(call: &Raw, log: &EventLog) -> Settled {
    log.push(call.lane().clone(), EventKind::Cancelled, Vec::new());
    log.push(call.lane().clone(), EventKind::Settled { is_error: true }, Vec::new());
    Settled::new(call.id(), ToolError::Cancelled.to_string(), true, true)
}

fn question(call: &Validated, level: ApprovalRequirement) -> ApprovalQuestion {
    let capabilities: Vec<Capability> = call.tool().capabilities.iter().collect();
    let written = call.raw().written();
    let mut why = reason(&capabilities, call.raw().mended().and_then(|mended| mended.notice.as_deref()));
    if call.is_guess() {
        why = format!("the model wrote {}, which is only the beginning of the name; {why}", quoted(written));
    }
    ApprovalQuestion {
        call_id: call.raw().id().to_owned(),
        tool: call.tool().name.clone(),
        requested: (written != call.tool().name).then(|| written.to_owned()),
        is_guess: call.is_guess(),
        input: call.shared_input(),
        level,
        reason: why,
        capabilities,
    }
}

/// Why a person is asked, in words, and what they should know about the input.
fn reason(capabilities: &[Capability], notice: Option<&str>) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for capability in capabilities {
        reasons.extend(match capability {
            Capability::ExecutesCode => Some("it runs code"),
            Capability::WritesFiles => Some("it writes files"),
            Capability::Network => Some("it talks to another host"),
            Capability::RequiresApproval => Some("it always asks"),
            Capability::Unknown => Some("what it does is not known"),
            Capability::ReadOnly | Capability::Sandboxable => None,
        });
    }
    let mut reason = if reasons.is_empty() { "its input asks for it".to_owned() } else { reasons.join(", ") };
    if let Some(notice) = notice {
        reason.push_str(&format!("; {notice}"));
    }
    reason
}

/// What the model is told about a denial: that it was this call, by whom, and what to do.
fn denial(call: &Validated, level: ApprovalRequirement, decision: &ApprovalDecision) -> String {
    let tool = call.tool().name.as_str();
    if call.is_guess() && decision.by != Decider::Person {
        let written = quoted(call.raw().written());
        return format!(
            "there is no tool {written} here; nothing was run. Did you mean: {tool}? A tool that changes something is only \
             run by its full name"
        );
    }
    let next = "Only this call was refused. Go on without it, or tell the user what you need and why";
    let why = match decision.by {
        Decider::Person => "the user denied it".to_owned(),
        Decider::NoChannel => {
            let word = if level == ApprovalRequirement::Required { "requires" } else { "asks for" };
            format!("it {word} approval, and nobody can be asked in this session")
        }
        Decider::Policy | Decider::Level | Decider::Unattended => {
            "this session denies every call that needs approval".to_owned()
        }
    };
    let comment =
        if decision.comment.is_empty() { String::new() } else { format!(" The user says: {}", decision.comment) };
    format!("the call of {tool:?} was not run: {why}.{comment} {next}")
}
