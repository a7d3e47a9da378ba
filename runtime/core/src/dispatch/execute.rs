//! Execution: asking, passing the gate, running and settling.
//!
//! A call that reaches this stage leaves it with exactly one result, whatever happens: a denial, an error, a panic or a
//! cancellation is a result, and fills the slot of its call alone. (A future that is dropped settles nothing; the session
//! answers what was left open before the next request.)

use super::batch::Batch;
use super::call::{Approved, Raw, Settled, Stage, Validated};
use super::gate::{Gate, Held};
use super::nested::{Nested, Share};
use super::plan::Planned;
use super::policy::Policies;
use crate::approval::{ApprovalDecision, ApprovalQuestion, Decider, approved, denied};
use crate::contract::{
    ApprovalRequirement, CallTools, Capability, InterruptBehaviour, RunContext, ToolDispatcher, ToolError, ToolOutput,
};
use crate::event::{EventKind, EventLog, Mark};
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
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
}

impl Outcome {
    fn failed(content: impl Into<String>) -> Self {
        Outcome { content: content.into(), is_error: true, cancelled: false }
    }

    fn cancelled() -> Self {
        Outcome { content: ToolError::Cancelled.to_string(), is_error: true, cancelled: true }
    }
}

impl Executor {
    /// Settles a batch; the results are in call order. `after` are the events that its calls must follow: the ends of the
    /// batch before it.
    pub async fn settle(&self, batch: Batch, after: &[Mark]) -> Vec<Settled> {
        match batch {
            Batch::Serial(Planned::Refused { call, refusal }) => {
                vec![self.done(&call, Outcome::failed(refusal.reason))]
            }
            Batch::Serial(Planned::Ready { call, level }) => vec![self.serial(*call, level, after).await],
            Batch::Parallel(calls) => self.parallel(calls, after).await,
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
            let decision = decided.unwrap_or_else(|_| denied(Decider::NoChannel));
            let word = if decision.approved { "approved" } else { "denied" };
            self.note(call.raw(), EventKind::ApprovalDecided { decision: word, by: decision.by.as_str() });
            decision
        };
        call.approved(level, decision.clone()).map_err(|call| {
            self.note(call.raw(), EventKind::Refused { stage: Stage::Approval.as_str() });
            Outcome::failed(denial(call.tool().name.as_str(), level, &decision))
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
                Outcome { content: self.policies.results.shape(output), is_error, cancelled: false }
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

    fn done(&self, call: &Raw, outcome: Outcome) -> Settled {
        if outcome.cancelled {
            self.note(call, EventKind::Cancelled);
        }
        self.note(call, EventKind::Settled { is_error: outcome.is_error });
        Settled::new(call.id(), outcome.content, outcome.is_error)
    }

    fn note(&self, call: &Raw, kind: EventKind) {
        self.log.push(call.lane().clone(), kind, Vec::new());
    }
}

/// Answers a call whose run was dropped before it settled.
pub fn abandoned(call: &Raw, log: &EventLog) -> Settled {
    log.push(call.lane().clone(), EventKind::Cancelled, Vec::new());
    log.push(call.lane().clone(), EventKind::Settled { is_error: true }, Vec::new());
    Settled::new(call.id(), ToolError::Cancelled.to_string(), true)
}

fn question(call: &Validated, level: ApprovalRequirement) -> ApprovalQuestion {
    let capabilities: Vec<Capability> = call.tool().capabilities.iter().collect();
    ApprovalQuestion {
        call_id: call.raw().id().to_owned(),
        tool: call.tool().name.clone(),
        input: call.shared_input(),
        level,
        reason: reason(&capabilities),
        capabilities,
    }
}

/// Why a person is asked, in words.
fn reason(capabilities: &[Capability]) -> String {
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
    if reasons.is_empty() { "its input asks for it".to_owned() } else { reasons.join(", ") }
}

/// What the model is told about a denial: that it was this call, by whom, and what to do.
fn denial(tool: &str, level: ApprovalRequirement, decision: &ApprovalDecision) -> String {
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
