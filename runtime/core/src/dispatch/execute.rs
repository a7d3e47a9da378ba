//! Execution: asking, running and settling, in call order.
//!
//! A call that reaches this stage leaves it with exactly one result, whatever happens: a denial, an error, a panic or a
//! cancellation is a result. (A future that is dropped settles nothing; the session answers what was left open before
//! the next request.)

use super::call::{Approved, Raw, Settled, Stage, Validated};
use super::plan::Planned;
use super::policy::Policies;
use crate::approval::{ApprovalDecision, ApprovalQuestion, Decider, approved, denied};
use crate::contract::{
    ApprovalRequirement, Capability, InterruptBehaviour, RunContext, ToolDispatcher, ToolError, ToolOutput,
};
use crate::event::{EventKind, EventLog, Mark};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use tokio_util::sync::CancellationToken;

/// What execution needs.
pub struct Executor<'a> {
    /// The tools.
    pub dispatcher: &'a dyn ToolDispatcher,
    /// What the stages consult.
    pub policies: &'a Policies,
    /// Where it is logged.
    pub log: &'a EventLog,
    /// Ends whatever runs.
    pub cancel: &'a CancellationToken,
}

impl Executor<'_> {
    /// Settles one call. `after` is the event that this call must follow, such as the end of the call before it.
    pub async fn settle(&self, planned: Planned, after: Option<Mark>) -> Settled {
        match planned {
            Planned::Refused { call, refusal } => self.done(&call, refusal.reason, true),
            Planned::Ready { call, level } => match self.approve(*call, level).await {
                Ok(call) => self.run(call, after).await,
                Err(settled) => settled,
            },
        }
    }

    /// Asks whoever must be asked. The error is the result of a call that may not run.
    async fn approve(&self, call: Validated, level: ApprovalRequirement) -> Result<Approved, Settled> {
        if self.cancel.is_cancelled() {
            return Err(self.cancelled(call.raw()));
        }
        let decision = if level == ApprovalRequirement::Auto {
            approved(Decider::Level)
        } else {
            let question = question(&call, level);
            self.log.push(call.raw().lane().clone(), EventKind::ApprovalAsked, Vec::new());
            let decision = AssertUnwindSafe(self.policies.approval.decide(&question)).catch_unwind();
            let decided = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(self.cancelled(call.raw())),
                decided = decision => decided,
            };
            // A policy that panics has not approved anything.
            let decision = decided.unwrap_or_else(|_| denied(Decider::NoChannel));
            let word = if decision.approved { "approved" } else { "denied" };
            let kind = EventKind::ApprovalDecided { decision: word, by: decision.by.as_str() };
            self.log.push(call.raw().lane().clone(), kind, Vec::new());
            decision
        };
        call.approved(level, decision.clone()).map_err(|call| {
            self.note_refused(call.raw());
            self.done(call.raw(), denial(call.tool().name.as_str(), level, &decision), true)
        })
    }

    async fn run(&self, call: Approved, after: Option<Mark>) -> Settled {
        self.log.push(call.raw().lane().clone(), EventKind::Started, after.into_iter().collect());
        let context = RunContext { call_id: call.raw().id().to_owned(), cancel: self.cancel.child_token() };
        let work = AssertUnwindSafe(self.dispatcher.run(&call, &context)).catch_unwind();
        let outcome = match call.tool().interrupt {
            InterruptBehaviour::Finish => Some(work.await),
            InterruptBehaviour::Cancel => tokio::select! {
                biased;
                outcome = work => Some(outcome),
                // The tool's future is dropped here; what it started ends with it.
                () = self.cancel.cancelled() => None,
            },
        };
        match outcome {
            None | Some(Ok(Err(ToolError::Cancelled))) => self.cancelled(call.raw()),
            Some(Ok(Ok(output))) => {
                let is_error = output.is_error;
                let content = self.policies.results.shape(output);
                self.done(call.raw(), content, is_error)
            }
            Some(Ok(Err(error))) => {
                let content = self.policies.results.shape(ToolOutput::failed(format!("Error: {error}")));
                self.done(call.raw(), content, true)
            }
            Some(Err(_)) => self.done(
                call.raw(),
                format!(
                    "Error: the tool {:?} failed inside and was stopped. Other tools still work; try another way",
                    call.tool().name
                ),
                true,
            ),
        }
    }

    fn note_refused(&self, call: &Raw) {
        let kind = EventKind::Refused { stage: Stage::Approval.as_str() };
        self.log.push(call.lane().clone(), kind, Vec::new());
    }

    /// The result of a call that was cancelled.
    fn cancelled(&self, call: &Raw) -> Settled {
        self.log.push(call.lane().clone(), EventKind::Cancelled, Vec::new());
        self.done(call, ToolError::Cancelled.to_string(), true)
    }

    fn done(&self, call: &Raw, content: String, is_error: bool) -> Settled {
        self.log.push(call.lane().clone(), EventKind::Settled { is_error }, Vec::new());
        Settled::new(call.id(), content, is_error)
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
