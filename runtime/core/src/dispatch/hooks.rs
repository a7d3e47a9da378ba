//! Hooks: what a host says about calls, before and after they run.
//!
//! A hook may deny a call, annotate it, or say nothing. It cannot change one: it is shown borrowed values, and what it
//! answers holds no input, no tool and no result.
//!
//! ```compile_fail
//! use slot_runtime::dispatch::hooks::HookCall;
//! fn rewrite(call: &HookCall<'_>) {
//!     call.input()["path"] = "elsewhere".into();
//! }
//! ```
//!
//! Where they stand:
//!
//! - *Before*: behind validation, the loop guard and deny rules, so that a hook sees only calls that could run, as the
//!   value that would run; and in front of approval, so that nobody is asked about a call that a hook denies, and whoever
//!   is asked reads what the hooks say. The calls of a parallel batch are put to them one by one, in call order, before
//!   the first of them starts.
//! - *After*: one call at a time, in call order, when the batch has ended; in front of the loop record, so that a result
//!   that is withheld counts as a failure. Only calls that started are put to them, cancelled ones among them.
//!
//! A hook that fails, panics or takes too long has denied the call before it runs. After it ran, what is done is done:
//! the failure is noted, and the result goes on.

use super::call::{Refusal, Stage, Validated};
use crate::contract::{ApprovalRequirement, BoxFuture, InvokedBy, ToolMetadata};
use crate::event::EventKind;
use futures_util::FutureExt;
use serde_json::Value;
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use thiserror::Error;

/// How long one hook may take over one call by default.
const LIMIT: Duration = Duration::from_secs(10);

/// The most bytes of one annotation or reason that are passed on.
const MOST_TEXT: usize = 2048;

/// Something of the host's that watches calls. Both methods are asked about calls that tools make as well. A hook must
/// not block the thread it is asked on: one that does cannot be timed out.
pub trait Hook: Send + Sync {
    /// Its name, for the log and for refusals. Read once.
    fn name(&self) -> String;

    /// Judges a call that is about to be approved and run.
    ///
    /// # Errors
    /// Whatever kept it from judging; the call is refused.
    fn before<'a>(&'a self, call: &'a HookCall<'a>) -> BoxFuture<'a, Result<Before, HookError>> {
        let _ = call;
        Box::pin(async { Ok(Before::Pass) })
    }

    /// Judges what a call that started came to.
    ///
    /// # Errors
    /// Whatever kept it from judging; that is noted, and changes nothing.
    fn after<'a>(&'a self, call: &'a HookCall<'a>, end: &'a HookEnd<'a>) -> BoxFuture<'a, Result<After, HookError>> {
        let _ = (call, end);
        Box::pin(async { Ok(After::Pass) })
    }

    /// Whether [`Hook::before`] may be asked about a call that then never comes, because asking leaves nothing behind.
    /// One hook that says no, as it does by default, keeps every call from being started early.
    fn may_be_asked_early(&self) -> bool {
        false
    }
}

/// What a hook says before a call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Pass,
    /// The call goes on; whoever is asked for approval reads this, and the model does with the result.
    Annotate(String),
    /// The call does not run, for this reason, which the model reads.
    Deny(String),
}

/// What a hook says of what a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing.
    Pass,
    /// The result goes on, and the model reads this with it.
    Annotate(String),
    /// The model does not get the result, for this reason, which it reads instead.
    Withhold(String),
}

/// Why a hook could not judge. The text is for the host's own log; the model is told only that the hook failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct HookError(pub String);

/// A call as a hook sees it.
pub struct HookCall<'a> {
    call: &'a Validated,
    level: ApprovalRequirement,
}

impl<'a> HookCall<'a> {
    pub(super) fn new(call: &'a Validated, level: ApprovalRequirement) -> Self {
        HookCall { call, level }
    }

    /// The id of the call.
    pub fn id(&self) -> &str {
        self.call.raw().id()
    }

    /// The tool that will run.
    pub fn tool(&self) -> &ToolMetadata {
        self.call.tool()
    }

    /// The input it will run with: the same value that is approved and run.
    pub fn input(&self) -> &Value {
        self.call.input()
    }

    /// How far it must be approved.
    pub fn level(&self) -> ApprovalRequirement {
        self.level
    }

    /// Who made it.
    pub fn invoked_by(&self) -> &InvokedBy {
        &self.call.raw().invocation().invoked_by
    }
}

/// What a call came to, as a hook sees it.
pub struct HookEnd<'a> {
    pub(super) content: &'a str,
    pub(super) is_error: bool,
    pub(super) cancelled: bool,
}

impl HookEnd<'_> {
    /// What the model would read.
    pub fn content(&self) -> &str {
        self.content
    }

    /// Whether the model would be told that the call failed.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// Whether it was cancelled before it finished.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }
}

/// The hooks of a session, in the order in which they are asked. Clones share them.
#[derive(Clone, Default)]
pub struct Hooks(Arc<Vec<Named>>);

struct Named {
    name: String,
    hook: Arc<dyn Hook>,
    limit: Duration,
}

/// What all hooks together say of what a call came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Afterwards {
    /// What the model reads with the result.
    pub(super) notes: Vec<String>,
    /// What it reads in place of the result.
    pub(super) withheld: Option<String>,
}

impl Hooks {
    /// These hooks, each with ten seconds for a call.
    pub fn new(hooks: impl IntoIterator<Item = Arc<dyn Hook>>) -> Self {
        Self::within(LIMIT, hooks)
    }

    /// These hooks, each with `limit` for a call.
    pub fn within(limit: Duration, hooks: impl IntoIterator<Item = Arc<dyn Hook>>) -> Self {
        let named = hooks.into_iter().map(|hook| Named { name: hook.name(), hook, limit });
        Hooks(Arc::new(named.collect()))
    }

    /// The hooks themselves, in order.
    pub fn each(&self) -> impl Iterator<Item = &Arc<dyn Hook>> {
        self.0.iter().map(|named| &named.hook)
    }

    /// Whether every one of them may be asked about a call that then never comes.
    pub fn may_be_asked_early(&self) -> bool {
        let says_so = |named: &Named| std::panic::catch_unwind(AssertUnwindSafe(|| named.hook.may_be_asked_early()));
        self.0.iter().all(|named| says_so(named).unwrap_or(false))
    }

    /// Puts a call to each hook in order until one denies it. Each answer is handed to `note`.
    ///
    /// # Errors
    /// The refusal, for the model.
    pub(super) async fn before(
        &self,
        call: &Validated,
        level: ApprovalRequirement,
        note: &(dyn Fn(EventKind) + Sync),
    ) -> Result<Vec<String>, Refusal> {
        let seen = HookCall::new(call, level);
        let mut notes = Vec::new();
        for Named { name, hook, limit } in self.0.iter() {
            let answer = contained(*limit, async { hook.before(&seen).await }).await;
            let verdict = match &answer {
                Ok(Before::Pass) => "passed",
                Ok(Before::Annotate(_)) => "annotated",
                Ok(Before::Deny(_)) => "denied",
                Err(failed) => failed.as_str(),
            };
            note(EventKind::Hook { hook: name.clone(), when: "before", verdict });
            match answer {
                Ok(Before::Pass) => {}
                Ok(Before::Annotate(text)) => notes.push(format!("{name}: {}", within(&text))),
                Ok(Before::Deny(reason)) => {
                    return Err(refusal(call, name, &format!("denied it: {}", within(&reason))));
                }
                Err(failed) => {
                    failed.tell(name, "before");
                    return Err(refusal(
                        call,
                        name,
                        &format!("{}, and what it did not judge is not run", failed.words()),
                    ));
                }
            }
        }
        Ok(notes)
    }

    /// Puts what a call came to to each hook in order. Each answer is handed to `note`.
    pub(super) async fn after(
        &self,
        call: &Validated,
        level: ApprovalRequirement,
        end: &HookEnd<'_>,
        note: &(dyn Fn(EventKind) + Sync),
    ) -> Afterwards {
        let seen = HookCall::new(call, level);
        let mut said = Afterwards::default();
        for Named { name, hook, limit } in self.0.iter() {
            let answer = contained(*limit, async { hook.after(&seen, end).await }).await;
            let verdict = match &answer {
                Ok(After::Pass) => "passed",
                Ok(After::Annotate(_)) => "annotated",
                Ok(After::Withhold(_)) => "withheld",
                Err(failed) => failed.as_str(),
            };
            note(EventKind::Hook { hook: name.clone(), when: "after", verdict });
            match answer {
                Ok(After::Pass) => {}
                Ok(After::Annotate(text)) => said.notes.push(format!("{name}: {}", within(&text))),
                Ok(After::Withhold(reason)) => {
                    let tool = &call.tool().name;
                    said.withheld.get_or_insert_with(|| {
                        format!(
                            "the call of {tool:?} ran, and the hook {name:?} withheld its result: {}. What it did is done; do \
                             not make it again. Go on without the result, or tell the user what you need and why",
                            within(&reason)
                        )
                    });
                }
                Err(failed) => failed.tell(name, "after"),
            }
        }
        said
    }
}

/// How a hook failed.
enum Failed {
    Error(HookError),
    Panicked,
    TimedOut(Duration),
}

impl Failed {
    fn as_str(&self) -> &'static str {
        match self {
            Failed::Error(_) => "failed",
            Failed::Panicked => "panicked",
            Failed::TimedOut(_) => "timed_out",
        }
    }

    fn words(&self) -> String {
        match self {
            Failed::Error(_) => "failed".to_owned(),
            Failed::Panicked => "failed inside".to_owned(),
            Failed::TimedOut(limit) => format!("did not answer within {} ms", limit.as_millis()),
        }
    }

    /// Tells the host. What the hook itself says may quote the call, and is for whoever asks for details.
    fn tell(&self, hook: &str, when: &'static str) {
        tracing::warn!(target: "slot_runtime::hook", hook, when, failure = self.as_str(), "a hook could not judge a call");
        if let Failed::Error(error) = self {
            tracing::trace!(target: "slot_runtime::hook", hook, when, %error, "what it said");
        }
    }
}

/// What a hook answers, if it does in time and without a panic. The future is made inside, so that a panic before there
/// is one is contained as well.
async fn contained<T>(limit: Duration, work: impl Future<Output = Result<T, HookError>>) -> Result<T, Failed> {
    match tokio::time::timeout(limit, AssertUnwindSafe(work).catch_unwind()).await {
        Ok(Ok(Ok(answer))) => Ok(answer),
        Ok(Ok(Err(error))) => Err(Failed::Error(error)),
        Ok(Err(_)) => Err(Failed::Panicked),
        Err(_) => Err(Failed::TimedOut(limit)),
    }
}

fn refusal(call: &Validated, hook: &str, why: &str) -> Refusal {
    let tool = &call.tool().name;
    let next = "Only this call was refused. Go on without it, or tell the user what you need and why";
    Refusal::new(Stage::Hook, format!("the call of {tool:?} was not run: the hook {hook:?} {why}. {next}"))
}

/// As much of a hook's text as is passed on.
fn within(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_TEXT)]
}
