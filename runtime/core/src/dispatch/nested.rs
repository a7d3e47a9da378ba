//! Calls made by a tool while it runs.
//!
//! An inner call is a call like any other: it passes every stage and is governed as what it is, whoever makes it. It skips
//! the gate, which its outer call holds. If the outer call shares the gate, only calls that may share it are let in.
//!
//! Every inner call comes to its end in the log: those that are open when whoever waits for them is dropped are settled as
//! abandoned.

use super::batch::{Batch, partition};
use super::call::{Raw, Refusal, Stage};
use super::early::Early;
use super::execute::Executor;
use super::gate::Passage;
use super::last::abandoned;
use super::plan::{Planned, Planner};
use super::policy::Attempt;
use crate::contract::{BoxFuture, CallTools, InnerCall, InnerResult, InvokedBy, ToolError, ToolInvocation};
use crate::event::{EventKind, Lane, Mark};
use slot_wire::{RawCall, StopReason};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// How the outer call holds the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Together with others.
    Together,
    /// Alone.
    Alone,
}

/// The most inner calls of one run.
const MOST_CALLS: usize = 64;

/// The slot from within one call.
pub struct Nested {
    executor: Executor,
    outer: Raw,
    share: Share,
    /// An inner call cannot call tools in its turn.
    allowed: bool,
    /// How many calls the run has made, so that each has an id of its own.
    made: AtomicUsize,
    /// Held while calls are settled.
    one: Mutex<()>,
    /// How many calls are taken in and not settled.
    open: AtomicUsize,
}

/// The calls that one waiter waits for, in order, without those that are settled.
struct Open<'a> {
    calls: VecDeque<Raw>,
    count: &'a AtomicUsize,
    executor: &'a Executor,
}

impl<'a> Open<'a> {
    fn new(calls: VecDeque<Raw>, nested: &'a Nested) -> Self {
        nested.open.fetch_add(calls.len(), Ordering::Relaxed);
        Open { calls, count: &nested.open, executor: &nested.executor }
    }

    fn settled(&mut self, count: usize) {
        let count = self.calls.drain(..count.min(self.calls.len())).count();
        self.count.fetch_sub(count, Ordering::Relaxed);
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(self.calls.len(), Ordering::Relaxed);
        for call in &self.calls {
            abandoned(call, self.executor.stages());
        }
    }
}

impl Nested {
    /// The slot from within `outer`, which holds the gate as `share` says and ends with `cancel`.
    pub fn new(executor: &Executor, outer: &Raw, share: Share, cancel: CancellationToken) -> Self {
        let allowed = matches!(executor.gate, Passage::Take(_));
        let executor = Executor { gate: Passage::Inside, cancel, early: Early::default(), ..executor.clone() };
        let (made, open) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Nested { executor, outer: outer.clone(), share, allowed, made, one: Mutex::new(()), open }
    }

    /// Whether calls are open: whoever ends the outer call gives them time to end.
    pub fn is_busy(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    async fn settle(&self, calls: Vec<InnerCall>) -> Vec<InnerResult> {
        // One at a time: calls of one run that were made at once would overlap although they may not.
        let _one = self.one.lock().await;
        if self.executor.cancel.is_cancelled() {
            let content = ToolError::Cancelled.to_string();
            return calls.iter().map(|_| InnerResult { content: content.clone(), is_error: true }).collect();
        }
        let first = self.made.fetch_add(calls.len(), Ordering::Relaxed);
        if !self.allowed || first.saturating_add(calls.len()) > MOST_CALLS {
            let reason = if self.allowed {
                format!("a call can make at most {MOST_CALLS} calls; nothing more was run. Make fewer")
            } else {
                "a call that a tool makes cannot call tools itself; nothing was run. Make the calls directly".to_owned()
            };
            return calls.iter().map(|_| InnerResult { content: reason.clone(), is_error: true }).collect();
        }
        let snapshot = self.executor.dispatcher.snapshot().inside();
        let planner = Planner {
            dispatcher: self.executor.dispatcher.as_ref(),
            snapshot: &snapshot,
            policies: &self.executor.policies,
            log: &self.executor.log,
            stop: &StopReason::ToolCalls,
            torn: false,
            loaded: &self.executor.loaded,
        };
        // They go back as one result, so that each has its share of what one may hold.
        let mut executor = self.executor.clone();
        executor.policies.results = executor.policies.results.share(calls.len());
        let raws: Vec<Raw> = calls.into_iter().enumerate().map(|(n, call)| self.raw(first + n, call)).collect();
        let mut open = Open::new(raws.iter().cloned().collect(), self);
        let planned = planner.plan(raws);
        let mut results = Vec::new();
        let mut before: Vec<Mark> = Vec::new();
        for batch in partition(planned) {
            let batch = self.admit(batch);
            let lanes: Vec<Lane> = lanes(&batch);
            for settled in executor.settle(batch, &before).await {
                open.settled(1);
                results.push(InnerResult { content: settled.content().to_owned(), is_error: settled.is_error() });
            }
            before = lanes.iter().filter_map(|lane| self.executor.log.last(lane)).collect();
        }
        results
    }

    fn raw(&self, index: usize, call: InnerCall) -> Raw {
        let id = format!("{}/{index}", self.outer.id());
        let lane = match self.outer.lane() {
            Lane::Call { turn, index: outer, .. } => Lane::Call { turn: *turn, index: *outer, id: id.clone() },
            Lane::Session => Lane::Session,
        };
        let after = self.executor.log.last(self.outer.lane()).into_iter().collect();
        self.executor.log.push(lane.clone(), EventKind::Received { tool: call.tool.clone() }, after);
        let invoked_by = InvokedBy::Tool { call_id: self.outer.id().to_owned() };
        let call = RawCall { id, name: call.tool, arguments: call.input.to_string() };
        Raw::new(ToolInvocation { call, index, invoked_by }, lane)
    }

    /// Lets in only what may overlap with the calls that share the gate with the outer one.
    fn admit(&self, batch: Batch) -> Batch {
        match batch {
            Batch::Serial(Planned::Ready { call, .. }) if self.share == Share::Together => {
                let reason = format!(
                    "{:?} must run by itself, and the calling tool runs beside others; it was not run. Call it directly",
                    call.tool().name
                );
                self.executor.log.push(
                    call.raw().lane().clone(),
                    EventKind::Refused { stage: Stage::Run.as_str() },
                    Vec::new(),
                );
                let attempt = Attempt::of(&call);
                let refusal = Refusal::new(Stage::Run, reason);
                Batch::Serial(Planned::Refused { call: Box::new(call.raw().clone()), refusal, attempt })
            }
            batch => batch,
        }
    }
}

fn lanes(batch: &Batch) -> Vec<Lane> {
    match batch {
        Batch::Serial(call) => vec![call.raw().lane().clone()],
        Batch::Parallel(calls) => calls.iter().map(|call| call.raw().lane().clone()).collect(),
    }
}

impl CallTools for Nested {
    fn call_tools(&self, calls: Vec<InnerCall>) -> BoxFuture<'_, Vec<InnerResult>> {
        Box::pin(self.settle(calls))
    }
}
