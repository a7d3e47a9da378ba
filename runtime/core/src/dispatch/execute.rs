//! Execution: asking, passing the gate, running and settling.
//!
//! A call that reaches this stage leaves it with exactly one result, whatever happens: a denial, an error, a panic or a
//! cancellation is a result, and fills the slot of its call alone. (A future that is dropped settles nothing; the session
//! answers what was left open before the next request.)

use super::asking::{denial, denied_by_rule, forbidden, judged_again, question};
use super::batch::Batch;
use super::call::{Approved, Raw, Refusal, Settled, Stage, Validated, append_note};
use super::early::Early;
use super::gate::Passage;
use super::hooks::HookEnd;
use super::last::{LastStages, hand_out};
use super::nested::{Nested, Share};
use super::observe::Observed;
use super::plan::{Loaded, Planned};
use super::policy::{Attempt, LoopAdvice, LoopTurn, Policies};
use super::render::Rendering;
use super::telemetry::Ending;
use crate::approval::{Decider, approved, denied};
use crate::contract::{
    ApprovalRequirement, CallTools, Exposure, InterruptBehaviour, InvokedBy, Role, RunContext, ToolDispatcher,
    ToolError, ToolOutput,
};
use crate::event::{EventKind, EventLog, Mark};
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use serde_json::{Map, Value};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::time::Instant;
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
    /// Where calls are shown.
    pub blocks: Rendering,
    /// What was read early for the calls of this turn.
    pub early: Early,
}

/// What a call came to, before it is settled.
struct Outcome {
    content: String,
    is_error: bool,
    cancelled: bool,
    ending: Ending,
    /// Deferred tools that it found.
    found: Vec<String>,
    /// What the tool says for the host alone.
    facts: Map<String, Value>,
}

impl Outcome {
    fn failed(content: impl Into<String>) -> Self {
        Outcome {
            content: content.into(),
            is_error: true,
            cancelled: false,
            ending: Ending::NotStarted,
            found: Vec::new(),
            facts: Map::new(),
        }
    }

    fn refused(refusal: Refusal) -> Self {
        Outcome { ending: Ending::Refused(refusal.stage), ..Outcome::failed(refusal.reason) }
    }

    fn cancelled() -> Self {
        Outcome { cancelled: true, ..Outcome::failed(ToolError::Cancelled.to_string()) }
    }
}

/// A call that may go on to approval, or what it came to already.
type Waiting = Result<(Validated, ApprovalRequirement), Outcome>;

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
                vec![self.done(&call, Outcome::refused(refusal))]
            }
            Some(Planned::Ready { call, level }) if !together => vec![self.serial(*call, level, after).await],
            last => {
                admitted.extend(last);
                self.parallel(admitted, after).await
            }
        };
        let snapshot = self.dispatcher.snapshot();
        let each = settled.into_iter().zip(attempts);
        each.map(|((settled, ending), (attempt, call))| {
            let settled = self.record(settled, &attempt, &call);
            let tool = snapshot.tools.get(&attempt.tool).map(AsRef::as_ref);
            hand_out(&call, tool, ending, &settled, self.stages());
            settled
        })
        .collect()
    }

    /// What the last stages of a call consult.
    pub(super) fn stages(&self) -> LastStages<'_> {
        LastStages { log: &self.log, policies: &self.policies, blocks: &self.blocks }
    }

    /// Puts a call to the loop guard. A call that was refused already is counted as well, and told if it repeats itself.
    fn admit(&self, call: Planned, attempt: &Attempt) -> Planned {
        let stop = match self.paused.get() {
            Some(reason) => {
                Err(Refusal::new(Stage::LoopGuard, format!("the turn was paused ({reason}); nothing was run")))
            }
            None => self.loops.admit(attempt).and_then(|()| self.deny(&call)),
        };
        let stop = match &call {
            Planned::Ready { call, .. } => stop.and_then(|()| self.in_mode(call)),
            Planned::Refused { .. } => stop,
        };
        let Err(mut refusal) = stop else { return call };
        self.note(call.raw(), EventKind::Refused { stage: refusal.stage.as_str() });
        if let Planned::Refused { refusal: first, .. } = &call {
            refusal.reason = format!("{}\n{}", refusal.reason, first.reason);
        }
        Planned::Refused { call: Box::new(call.raw().clone()), refusal, attempt: attempt.clone() }
    }

    /// Asks the mode of the session. A gate that panics has refused.
    fn in_mode(&self, call: &Validated) -> Result<(), Refusal> {
        let judged = catch_unwind(AssertUnwindSafe(|| self.policies.mode.admit(call.tool())));
        judged.unwrap_or_else(|_| {
            let reason = format!("the mode of the session could not be told, so {:?} was not run", call.tool().name);
            Err(Refusal::new(Stage::Mode, reason))
        })
    }

    /// Puts a call to the deny rules, before anybody is asked about it.
    fn deny(&self, call: &Planned) -> Result<(), Refusal> {
        match call {
            Planned::Ready { call, .. } => denied_by_rule(&self.policies, call),
            Planned::Refused { .. } => Ok(()),
        }
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

    async fn serial(&self, call: Validated, level: ApprovalRequirement, after: &[Mark]) -> (Settled, Ending) {
        let raw = call.raw().clone();
        let stay = self.policies.place.stay();
        let asked = match self.before(call, level).await {
            Ok((call, level)) => self.approve(call, level).await,
            Err(outcome) => Err(outcome),
        };
        let call = match asked {
            Ok(call) => call,
            Err(outcome) => return self.done(&raw, outcome),
        };
        let held = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return self.done(&raw, Outcome::cancelled()),
            held = self.gate.alone() => held,
        };
        // Whatever else passed the gate while this call waited for it may have changed what it names.
        if let Err(outcome) = self.still_approved(&call, stay) {
            return self.done(&raw, outcome);
        }
        self.start(&call, after);
        let outcome = self.run(&call, Share::Alone).await;
        drop(held);
        let outcome = self.after(&call, outcome).await;
        self.done(&raw, outcome)
    }

    /// Runs calls at the same time. They start in order; each fills the slot of its own index. Their ends are logged in
    /// reverse order, so that a host that pairs starts and ends by a stack pairs them rightly.
    async fn parallel(&self, calls: Vec<Planned>, after: &[Mark]) -> Vec<(Settled, Ending)> {
        let raws: Vec<Raw> = calls.iter().map(|call| call.raw().clone()).collect();
        let mut waiting: Vec<Waiting> = Vec::with_capacity(calls.len());
        for call in calls {
            waiting.push(match call {
                Planned::Refused { refusal, .. } => Err(Outcome::refused(refusal)),
                Planned::Ready { call, level } => self.before(*call, level).await,
            });
        }
        let held = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            held = self.gate.shared() => Some(held),
        };
        let mut slots: Vec<Option<(Outcome, Option<Approved>)>> = raws.iter().map(|_| None).collect();
        if held.is_some() {
            let running: FuturesUnordered<_> =
                waiting.into_iter().enumerate().map(|(index, call)| self.one_of_many(index, call, after)).collect();
            let mut running = running;
            while let Some((index, outcome, ran)) = running.next().await {
                slots[index] = Some((outcome, ran));
            }
        }
        drop(held);
        let mut outcomes = Vec::with_capacity(slots.len());
        for slot in slots {
            outcomes.push(match slot {
                None => Outcome::cancelled(),
                Some((outcome, None)) => outcome,
                Some((outcome, Some(call))) => self.after(&call, outcome).await,
            });
        }
        let mut settled: Vec<(Settled, Ending)> =
            raws.iter().zip(outcomes).rev().map(|(raw, outcome)| self.done(raw, outcome)).collect();
        settled.reverse();
        settled
    }

    async fn one_of_many(&self, index: usize, call: Waiting, after: &[Mark]) -> (usize, Outcome, Option<Approved>) {
        let asked = match call {
            Ok((call, level)) => self.approve(call, level).await,
            Err(outcome) => Err(outcome),
        };
        match asked {
            Err(outcome) => (index, outcome, None),
            Ok(call) => {
                self.start(&call, after);
                let outcome = self.run(&call, Share::Together).await;
                (index, outcome, Some(call))
            }
        }
    }

    /// Puts a call to the host's hooks, right before anybody is asked to approve it.
    async fn before(&self, call: Validated, level: ApprovalRequirement) -> Waiting {
        if self.policies.hooks.each().next().is_none() {
            return Ok((call, level));
        }
        let note = |kind| self.note(call.raw(), kind);
        let asked = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(Outcome::cancelled()),
            asked = self.policies.hooks.before(&call, level, &note) => asked,
        };
        match asked {
            Ok(annotations) => Ok((call.annotated(annotations), level)),
            Err(refusal) => {
                note(EventKind::Refused { stage: refusal.stage.as_str() });
                Err(Outcome::refused(refusal))
            }
        }
    }

    /// Puts what a call came to to the host's hooks.
    async fn after(&self, call: &Approved, mut outcome: Outcome) -> Outcome {
        let (content, is_error, cancelled) = (outcome.content.as_str(), outcome.is_error, outcome.cancelled);
        let end = HookEnd { content, is_error, cancelled };
        let note = |kind| self.note(call.raw(), kind);
        let said = self.policies.hooks.after(call.validated(), call.level(), &end, &note).await;
        if cancelled {
            return outcome;
        }
        let facts = std::mem::take(&mut outcome.facts);
        let withheld = said.withheld.is_some();
        let mut outcome = match said.withheld {
            Some(reason) => Outcome { ending: outcome.ending, ..Outcome::failed(reason) },
            None => {
                let notes = call.validated().annotations().iter().chain(&said.notes);
                notes.for_each(|note| append_note(&mut outcome.content, note));
                outcome
            }
        };
        let observed = Observed { tool: call.tool(), input: call.input(), facts: &facts, reaches_model: !withheld };
        if let Some(note) = self.observe(observed).await {
            append_note(&mut outcome.content, &note);
        }
        outcome
    }

    /// Lets whoever learns from calls take notice of one. One that panics has learnt nothing.
    async fn observe(&self, call: Observed<'_>) -> Option<String> {
        let observer = self.policies.observer.as_ref()?;
        AssertUnwindSafe(async { observer.observe(call).await }).catch_unwind().await.unwrap_or_default()
    }

    /// Asks whoever must be asked. The error is what a call comes to that may not run.
    async fn approve(&self, call: Validated, level: ApprovalRequirement) -> Result<Approved, Outcome> {
        if self.cancel.is_cancelled() {
            return Err(Outcome::cancelled());
        }
        let level = self.judge_again(&call, level)?;
        let question = question(&self.policies, self.dispatcher.as_ref(), &call, level);
        let decision = if let Some(forbidden) = forbidden(&self.policies, &question) {
            self.note(call.raw(), EventKind::ApprovalDecided { decision: "denied", by: forbidden.by.as_str() });
            forbidden
        } else if level == ApprovalRequirement::Auto {
            approved(Decider::Level)
        } else {
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
        // Whoever was asked took their time, and the mode may have changed in it.
        if decision.approved
            && let Err(refusal) = self.in_mode(&call)
        {
            self.note(call.raw(), EventKind::Refused { stage: refusal.stage.as_str() });
            return Err(Outcome::failed(refusal.reason));
        }
        call.approved(level, decision.clone()).map_err(|call| {
            self.note(call.raw(), EventKind::Refused { stage: Stage::Approval.as_str() });
            Outcome::refused(Refusal::new(Stage::Approval, denial(&call, level, &decision)))
        })
    }

    /// Judges a call as things are now: it was judged when its turn was planned, and the calls before it have run since.
    fn judge_again(&self, call: &Validated, level: ApprovalRequirement) -> Result<ApprovalRequirement, Outcome> {
        let judged = judged_again(self.dispatcher.as_ref(), call, level).map_err(|refusal| {
            self.note(call.raw(), EventKind::Refused { stage: refusal.stage.as_str() });
            Outcome::refused(refusal)
        })?;
        if judged > level {
            let capabilities = call.tool().capabilities.iter().collect();
            let derived = call.tool().requirement;
            self.note(call.raw(), EventKind::ApprovalLevel { capabilities, derived, level: judged, lowered: None });
        }
        Ok(judged)
    }

    /// Whether the call is still no more than what was approved, in the place for which it was: that of this stay.
    fn still_approved(&self, call: &Approved, stay: u64) -> Result<(), Outcome> {
        let changed = if self.policies.place.stay() != stay {
            "the session works in another place since it was judged"
        } else if self.judge_again(call.validated(), call.level())? > call.level() {
            "what it names has changed since it was judged"
        } else {
            return Ok(());
        };
        self.note(call.raw(), EventKind::Refused { stage: Stage::Approval.as_str() });
        let reason = format!(
            "the call of {:?} was not run: {changed}, and it would have to be approved now. Call it again",
            call.tool().name
        );
        Err(Outcome::refused(Refusal::new(Stage::Approval, reason)))
    }

    fn start(&self, call: &Approved, after: &[Mark]) {
        self.log.push(call.raw().lane().clone(), EventKind::Started, after.to_vec());
        let outer = match &call.raw().invocation().invoked_by {
            InvokedBy::Tool { call_id } => Some(call_id.as_str()),
            _ => None,
        };
        self.blocks.open(call, outer);
    }

    async fn run(&self, call: &Approved, share: Share) -> Outcome {
        let started = Instant::now();
        let outcome = self.run_to_its_end(call, share).await;
        Outcome { ending: Ending::Ran(started.elapsed()), ..outcome }
    }

    async fn run_to_its_end(&self, call: &Approved, share: Share) -> Outcome {
        let cancel = self.cancel.child_token();
        // Whatever the run handed on of its context can make no call once it has ended.
        let _ended = cancel.clone().drop_guard();
        let inner = Arc::new(Nested::new(self, call.raw(), share, cancel.clone()));
        let tools = Arc::clone(&inner) as Arc<dyn CallTools>;
        let progress = Arc::new(self.blocks.clone());
        let context = RunContext::new(call.raw().id(), cancel).with_tools(tools).with_progress(progress);
        let work = AssertUnwindSafe(async {
            match self.early.of(call, self.policies.early.as_deref()).await {
                Some(output) => Ok(output),
                None => self.dispatcher.run(call, &context).await,
            }
        })
        .catch_unwind();
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
                let facts = output.metadata.clone();
                let mut content = self.policies.results.shape(output);
                call.notes().iter().for_each(|note| append_note(&mut content, note));
                Outcome { content, is_error, cancelled: false, ending: Ending::NotStarted, found, facts }
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

    fn done(&self, call: &Raw, mut outcome: Outcome) -> (Settled, Ending) {
        if outcome.cancelled {
            self.note(call, EventKind::Cancelled);
        } else if let Some(notice) = call.mended().and_then(|mended| mended.notice.as_deref()) {
            append_note(&mut outcome.content, notice);
        }
        self.note(call, EventKind::Settled { is_error: outcome.is_error });
        let Outcome { content, is_error, cancelled, ending, found, facts: _ } = outcome;
        (Settled::new(call.id(), content, is_error, cancelled).finding(found), ending)
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
