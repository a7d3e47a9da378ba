//! Early starts: a call that only reads may start while its turn still streams.
//!
//! An early start is a bet that the call will come as it looks now. Nothing depends on whether it was made: the call
//! passes every stage when its turn has ended, as if nothing had been started, and only where it then comes to run, as
//! the same value for the same tool, is what was read early taken instead of being read again. So the log, the loop
//! guard, the hooks and the history say the same whatever the arrival of bytes was, and a bet that is lost is dropped
//! without a trace.
//!
//! What may start ([`EarlyStart`]; the runtime's own is [`OnlyPlainReads`]):
//!
//! - a call whose text so far decides it: a whole object, strictly valid, or one that lacks nothing but its last bracket
//!   because every field that a closed schema declares is there;
//! - of a tool that declares that reading leaves nothing behind and consumes nothing, that only observes, asks for nobody
//!   whatever its input, talks to no other host and to no person, and does not poll;
//! - that passed planning as any call does (name, schema, input), for this input without approval; that the loop guard
//!   would admit; that no deny rule and no remembered denial stops; and that no hook denies, where every hook may
//!   be asked early;
//! - behind no call of its turn that could change what it reads.
//!
//! A turn that does not end with its terminal signal runs nothing, so whatever it started early is dropped with it.

use super::asking::{denied_by_rule, forbidden, question};
use super::batch::may_overlap;
use super::call::{Approved, Raw, Validated};
use super::plan::{Loaded, Planned, Planner};
use super::policy::{Attempt, LoopTurn, Policies};
use crate::approval::{Decider, approved};
use crate::contract::{
    ApprovalRequirement, BoxFuture, Capability, InterruptBehaviour, InvokedBy, MetadataSnapshot, OriginKind,
    RunContext, ToolDispatcher, ToolInvocation, ToolMetadata, ToolOutput,
};
use crate::event::{EventLog, Lane};
use futures_util::FutureExt;
use futures_util::future::{MaybeDone, maybe_done};
use serde::de::IgnoredAny;
use serde_json::Value;
use slot_wire::names::NameMatch;
use slot_wire::{CallDelta, RawCall, StopReason, Turn, TurnDelta};
use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The most calls of a turn that are started early.
const MOST_CALLS: usize = 8;

/// The most bytes of arguments of a call that is started early.
const MOST_BYTES: usize = 16 << 10;

/// How often the text of one call is read to see whether it is decided, and that of all calls of a turn together. Both
/// bound what a stream costs that comes byte by byte.
const MOST_LOOKS: u32 = 64;
const MOST_LOOKS_OF_A_TURN: u32 = 512;

/// How old a result that was read early may be when it is used. A turn may stream for minutes, and the world goes on.
const MOST_AGE: Duration = Duration::from_secs(30);

/// Decides which calls start early, and which early results are used.
pub trait EarlyStart: Send + Sync {
    /// What the text of a call so far decides, if it does.
    fn decides(&self, text: &str) -> Option<Decided> {
        decided(text)
    }

    /// Whether a call may be read for early behind `earlier`, a call before it in its turn.
    fn may_follow(&self, earlier: &Planned) -> bool {
        may_overlap(earlier)
    }

    /// Whether the call, which has passed planning at this level, may start.
    fn may_start(&self, call: &Validated, level: ApprovalRequirement) -> bool;

    /// Whether what `early` read may be used as what `call` reads, `age` after it started.
    fn may_use(&self, early: &Approved, call: &Approved, age: Duration) -> bool;
}

/// The arguments that a text decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Their text.
    pub text: String,
    /// Whether the object is closed. Where it is not, it is decided only if nothing can be added to it.
    pub closed: bool,
}

/// Starts plain reads only: see the module's text.
pub struct OnlyPlainReads;

impl EarlyStart for OnlyPlainReads {
    fn may_start(&self, call: &Validated, level: ApprovalRequirement) -> bool {
        let tool = call.tool();
        let from_here = matches!(tool.origin.kind, OriginKind::Builtin | OriginKind::Extension { .. });
        tool.may_start_early
            && from_here
            && tool.fail_closed.is_none()
            && tool.read_only
            && !tool.capabilities.contains(Capability::Network)
            && tool.supports_parallel
            && !tool.interactive
            && !tool.polls
            && tool.interrupt == InterruptBehaviour::Cancel
            && tool.requirement == ApprovalRequirement::Auto
            && level == ApprovalRequirement::Auto
            && call.how() == NameMatch::Exact
    }

    fn may_use(&self, early: &Approved, call: &Approved, age: Duration) -> bool {
        // The same tool of the same snapshot, not one that has taken its name since.
        std::ptr::eq(early.tool(), call.tool())
            && early.raw().invocation().index == call.raw().invocation().index
            && early.input() == call.input()
            && call.level() == ApprovalRequirement::Auto
            && age <= MOST_AGE
    }
}

/// What a text decides: itself where it is a whole object, and with one more bracket where that makes it one and its last
/// value can not go on, as a number could.
fn decided(text: &str) -> Option<Decided> {
    let text = text.trim_ascii();
    if !may_be_decided(text) {
        return None;
    }
    let is_object = |text: &str| text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if text.ends_with('}') && is_object(text) {
        return Some(Decided { text: text.to_owned(), closed: true });
    }
    let open = format!("{text}}}");
    is_object(&open).then_some(Decided { text: open, closed: false })
}

/// Whether it is worth reading a text: its last value has an end of its own.
fn may_be_decided(text: &str) -> bool {
    text.trim_ascii_end().ends_with(['"', '}', ']'])
}

/// Whether nothing can be added to an input without a fault: the schema is closed, and every field it declares is there.
fn is_full(tool: &ToolMetadata, input: &Value) -> bool {
    let (Some(fields), Some(input)) = (tool.schema["properties"].as_object(), input.as_object()) else { return false };
    tool.schema["additionalProperties"] == Value::Bool(false)
        && tool.schema.get("patternProperties").is_none()
        && fields.keys().all(|field| input.contains_key(field))
}

/// What a call reads, or `None` where it has to be read again.
type Work = Pin<Box<MaybeDone<BoxFuture<'static, Option<ToolOutput>>>>>;

/// A call that was started early. Dropping it ends it.
struct Started {
    call: Arc<Approved>,
    attempt: Attempt,
    since: Instant,
    work: Work,
}

/// The calls of one turn that were started early, and have not been used. Clones share them.
#[derive(Clone, Default)]
pub struct Early(Arc<Mutex<Vec<Started>>>);

impl Early {
    /// Drops what was read for calls behind the first `count` of the turn.
    pub fn keep_first(&self, count: usize) {
        let behind = |started: &Started| started.call.raw().invocation().index >= count;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|started| !behind(started));
    }

    /// What was read early for this call, if it is the call that was started.
    pub(super) async fn of(&self, call: &Approved, policy: Option<&dyn EarlyStart>) -> Option<ToolOutput> {
        let mut work = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let at =
                all.iter().position(|one| policy.is_some_and(|p| p.may_use(&one.call, call, one.since.elapsed())))?;
            all.swap_remove(at).work
        };
        work.as_mut().await;
        let output = work.as_mut().take_output().flatten();
        tracing::debug!(target: "slot_runtime::early", tool = call.tool().name, used = output.is_some(), "an early start");
        output
    }
}

/// What starting early reads.
pub struct Starting<'a> {
    /// The tools.
    pub dispatcher: &'a Arc<dyn ToolDispatcher>,
    /// What is known of them in this turn.
    pub snapshot: &'a MetadataSnapshot,
    /// What the stages consult.
    pub policies: &'a Policies,
    /// The deferred tools that have been loaded.
    pub loaded: &'a Loaded,
    /// What the loop guard knows of this user turn.
    pub loops: &'a dyn LoopTurn,
    /// Who makes the calls.
    pub invoked_by: InvokedBy,
}

/// Starts the calls of one turn while it streams. Dropping it drops what it started.
pub struct Starter<'a> {
    reads: &'a Starting<'a>,
    started: Vec<Started>,
    /// How many calls from the first on are decided, and may be followed. Only the next one is looked at.
    through: usize,
    /// How often the next call was read, and all calls together.
    looks: (u32, u32),
}

impl<'a> Starter<'a> {
    /// At the start of a turn.
    pub fn new(reads: &'a Starting<'a>) -> Self {
        Starter { reads, started: Vec::new(), through: 0, looks: (0, 0) }
    }

    /// Looks at what has changed of a turn, and starts what may start.
    pub fn look(&mut self, turn: &Turn, deltas: &[TurnDelta]) {
        let Some(policy) = self.reads.policies.early.as_deref() else { return };
        if !deltas.iter().any(|delta| call_of(delta) == Some(self.through)) {
            return;
        }
        while let Some(call) = turn.calls.get(self.through).filter(|_| !turn.torn && self.started.len() < MOST_CALLS) {
            if !self.look_at(call, policy) {
                return;
            }
            self.through += 1;
            self.looks.0 = 0;
        }
    }

    /// Looks at the next call, and starts it if it may start; whether the one after it may be looked at.
    fn look_at(&mut self, call: &RawCall, policy: &dyn EarlyStart) -> bool {
        let (of_call, of_turn) = self.looks;
        if of_call >= MOST_LOOKS || of_turn >= MOST_LOOKS_OF_A_TURN || call.arguments.len() > MOST_BYTES {
            return false;
        }
        let looks = u32::from(may_be_decided(&call.arguments));
        self.looks = (of_call + looks, of_turn + looks);
        let Some(decided) = policy.decides(&call.arguments) else { return false };
        let planned = self.reads.plan(self.through, call, decided.text);
        if !policy.may_follow(&planned) {
            return false;
        }
        let Planned::Ready { call, level } = planned else { return false };
        if !decided.closed && !is_full(call.tool(), call.input()) {
            return false;
        }
        let attempt = Attempt::of(&call);
        let again = self.started.iter().any(|started| started.attempt == attempt);
        if !again && policy.may_start(&call, level) && self.reads.loops.admits(&attempt) {
            self.started.extend(self.reads.start(*call, level, attempt));
        }
        true
    }

    /// Lets what was started go on for a moment.
    pub async fn step(&mut self) {
        poll_fn(|context| {
            for started in &mut self.started {
                let _ = started.work.as_mut().poll(context);
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Lets what was started go on for as long as this is waited for.
    pub async fn go_on(&mut self) -> Infallible {
        poll_fn(|context| {
            for started in &mut self.started {
                let _ = started.work.as_mut().poll(context);
            }
            Poll::Pending
        })
        .await
    }

    /// Hands over what was started, once the turn has ended with its terminal signal.
    pub fn hand_over(self) -> Early {
        Early(Arc::new(Mutex::new(self.started)))
    }
}

fn call_of(delta: &TurnDelta) -> Option<usize> {
    match delta {
        TurnDelta::Call(CallDelta::Opened { index, .. } | CallDelta::Arguments { index, .. }) => Some(*index),
        TurnDelta::Text(_) | TurnDelta::Reasoning(_) => None,
    }
}

impl Starting<'_> {
    /// Plans a call as it will be planned when its turn has ended, with a log that nobody reads. The turn is taken for one
    /// that was cut, so that nothing is mended.
    fn plan(&self, index: usize, call: &RawCall, arguments: String) -> Planned {
        let log = EventLog::default();
        let planner = Planner {
            dispatcher: self.dispatcher.as_ref(),
            snapshot: self.snapshot,
            policies: self.policies,
            log: &log,
            stop: &StopReason::MaxTokens,
            torn: false,
            loaded: self.loaded,
        };
        let call = RawCall { id: call.id.clone(), name: call.name.clone(), arguments };
        let lane = Lane::Call { turn: 0, index: u32::try_from(index).unwrap_or(u32::MAX), id: call.id.clone() };
        let raw = Raw::new(ToolInvocation { call, index, invoked_by: self.invoked_by.clone() }, lane);
        planner.plan_alone(raw)
    }

    fn start(&self, call: Validated, level: ApprovalRequirement, attempt: Attempt) -> Option<Started> {
        let hooks = self.policies.hooks.clone();
        if !hooks.may_be_asked_early() {
            return None;
        }
        denied_by_rule(self.policies, &call).ok()?;
        if forbidden(self.policies, &question(self.policies, self.dispatcher.as_ref(), &call, level)).is_some() {
            return None;
        }
        let call = Arc::new(call.approved(level, approved(Decider::Level)).ok()?);
        let (dispatcher, given) = (Arc::clone(self.dispatcher), Arc::clone(&call));
        let work: BoxFuture<'static, Option<ToolOutput>> = Box::pin(async move {
            let call = given;
            hooks.before(call.validated(), level, &|_| ()).await.ok()?;
            let cancel = CancellationToken::new();
            let _ended = cancel.clone().drop_guard();
            // It can make no calls and report no progress.
            let context = RunContext::new(call.raw().id(), cancel);
            let run = AssertUnwindSafe(async { dispatcher.run(&call, &context).await }).catch_unwind().await;
            // Whatever went wrong is tried again in its time, and told then.
            run.ok()?.ok().filter(|output| !output.is_error)
        });
        Some(Started { call, attempt, since: Instant::now(), work: Box::pin(maybe_done(work)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expect: Option<(&str, bool)>) {
        let found = decided(text);
        assert_eq!(found.as_ref().map(|decided| (decided.text.as_str(), decided.closed)), expect, "{text}");
    }

    #[test]
    fn a_whole_object_is_decided() {
        check("{}", Some(("{}", true)));
        check(" {\"a\":{}} \n", Some(("{\"a\":{}}", true)));
    }

    #[test]
    fn one_that_lacks_only_its_bracket_is_decided_where_its_last_value_is_whole() {
        check("{\"path\":\"a\"", Some(("{\"path\":\"a\"}", false)));
        check("{\"a\":{\"b\":1}", Some(("{\"a\":{\"b\":1}}", false)));
        check("{\"a\":[1] ", Some(("{\"a\":[1]}", false)));
    }

    #[test]
    fn what_may_go_on_is_not_decided() {
        for text in [
            "",
            "{",
            "{\"path\":\"a",
            "{\"path\":\"a\\\"",
            "{\"path\"",
            "{\"n\":1",
            "{\"n\":1.",
            "{\"n\":-",
            "{\"b\":tru",
        ] {
            check(text, None);
        }
        check("{\"path\":\"a\",", None);
        check("{\"path\":\"\\ud83d", None);
    }

    /// Values of every kind, with strings that hold what JSON is made of.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c\"\\\\{}:, é\n]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(2, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[ab\"]{1,2}", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn no_beginning_decides_a_value_that_the_whole_has_otherwise(
            fields in prop::collection::btree_map("[ab\"\\\\]{1,2}", value(), 0..4),
            pretty in any::<bool>(),
        ) {
            let whole = Value::Object(fields.into_iter().collect());
            let text = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) };
            let text = text.unwrap();
            for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                let Some(decided) = decided(&text[..end]) else { continue };
                let part: Value = serde_json::from_str(&decided.text).unwrap();
                prop_assert!(!decided.closed || part == whole, "{}", &text[..end]);
                for (field, value) in part.as_object().unwrap() {
                    prop_assert_eq!(Some(value), whole.get(field), "{}", &text[..end]);
                }
            }
            prop_assert!(decided(&text).is_some_and(|decided| decided.closed));
        }
    }

    #[test]
    fn what_is_no_object_or_not_valid_is_not_decided() {
        for text in ["[]", "\"{}\"", "{}{}", "{} {", "{\"a\":1}}", "```{}```", "{'a':'b'}", "{\"a\":1,}"] {
            check(text, None);
        }
    }
}
