//! Approval: who is asked, and what follows when nobody can be.
//!
//! The level of a call is derived from its tool's capabilities (see [`crate::contract::CapabilitySet`]) and may be set by
//! the tool for an input. Whatever is not [`ApprovalRequirement::Auto`] is put to an [`ApprovalPolicy`]. The policies
//! here are the whole choice: a person, nobody, or a named decision that nobody needs to be asked. There is no default
//! that lets a call pass.
//!
//! What a shell command is, is judged by [`command`]; what one decision says about other calls, by [`fingerprint`]; and
//! [`grants`] remembers, and asks only about what no grant covers.

pub mod command;
pub mod fingerprint;
pub mod grants;
mod prompt;

pub use prompt::{Assessment, Prompt};

use crate::contract::{ApprovalRequirement, BoxFuture, Capability};
use fingerprint::{Rule, Subject};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalQuestion {
    /// The id of the call.
    pub call_id: String,
    /// The tool that would run.
    pub tool: String,
    /// The name that the model wrote, where it is another: whoever is asked must see both.
    pub requested: Option<String>,
    /// Whether the tool was guessed from the beginning of a name. Only a person who sees both names can approve that; the
    /// engine takes no other approval, so a policy that grants by itself must ask here.
    pub is_guess: bool,
    /// The input it would run with: the same parsed value that will be run.
    pub input: Arc<Value>,
    /// How far the call must be approved; never `Auto`.
    pub level: ApprovalRequirement,
    /// What the tool can do, at most.
    pub capabilities: Vec<Capability>,
    /// Why it is asked, in words for a person.
    pub reason: String,
    /// What the call is to grants and denials.
    pub subject: Subject,
    /// What an approval that lasts would stand for; `None` where none may last.
    pub rule: Option<Rule>,
    /// What else a person is to be told.
    pub prompt: Prompt,
}

/// What was decided, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// Whether the call may run.
    pub approved: bool,
    /// Who decided.
    pub by: Decider,
    /// What was added, for the model; empty if nothing.
    pub comment: String,
    /// For how long a person has decided.
    pub lasts: Lasts,
}

/// For how long a decision holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lasts {
    /// For this call.
    #[default]
    Once,
    /// Until the user says something else.
    Turn,
    /// Until the session ends.
    Session,
    /// For good.
    Always,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// The call's level asks for nobody.
    Level,
    /// A person.
    Person,
    /// A grant that was given before.
    Grant,
    /// A person has denied the same call before.
    Remembered,
    /// A rule that denies.
    Rule,
    /// Nobody could be asked.
    NoChannel,
    /// The session was started with an explicit decision to pass such calls.
    Unattended,
    /// The session was started with a decision to deny.
    Policy,
}

impl Decider {
    /// The spelling in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Decider::Level => "level",
            Decider::Person => "person",
            Decider::Grant => "grant",
            Decider::Remembered => "remembered",
            Decider::Rule => "rule",
            Decider::NoChannel => "no_channel",
            Decider::Unattended => "unattended",
            Decider::Policy => "policy",
        }
    }
}

/// Decides about calls that need approval.
pub trait ApprovalPolicy: Send + Sync {
    /// Decides. Anything but an explicit approval is a denial; a policy that fails has denied.
    fn decide<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision>;

    /// A decision against the call that holds whatever its level is: asked about every call, those that ask nobody
    /// included.
    fn forbids(&self, _question: &ApprovalQuestion) -> Option<ApprovalDecision> {
        None
    }

    /// The user has said something: what was decided for one turn ends.
    fn user_turn(&self) {}
}

/// Reaches a person.
pub trait ApprovalChannel: Send + Sync {
    /// Asks, and waits for the answer. `None` means that the channel is gone.
    fn ask<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, Option<PersonAnswer>>;
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonAnswer {
    /// Yes or no.
    pub approved: bool,
    /// What they said besides.
    pub comment: String,
    /// For how long.
    pub lasts: Lasts,
}

/// Asks a person about every such call.
pub struct AskPerson<C>(pub C);

/// There is nobody to ask: denies. This is what an embedder gets who says nothing.
pub struct NoChannel;

/// Denies everything that asks, by decision.
pub struct DenyAll;

/// Passes suggested calls without a person and asks the inner policy about required ones.
pub struct PassSuggested<P>(pub P);

/// Passes everything without a person. Only ever right where the whole process is confined; it has to be named.
pub struct Unattended;

impl<C: ApprovalChannel> ApprovalPolicy for AskPerson<C> {
    fn decide<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async move {
            match self.0.ask(question).await {
                Some(PersonAnswer { approved, comment, lasts }) => {
                    ApprovalDecision { approved, by: Decider::Person, comment, lasts }
                }
                None => denied(Decider::NoChannel),
            }
        })
    }
}

impl ApprovalPolicy for NoChannel {
    fn decide<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async { denied(Decider::NoChannel) })
    }
}

impl ApprovalPolicy for DenyAll {
    fn decide<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async { denied(Decider::Policy) })
    }
}

impl<P: ApprovalPolicy> ApprovalPolicy for PassSuggested<P> {
    fn decide<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision> {
        match question.level {
            ApprovalRequirement::Auto | ApprovalRequirement::Suggest => {
                Box::pin(async { approved(Decider::Unattended) })
            }
            ApprovalRequirement::Required => self.0.decide(question),
        }
    }

    fn forbids(&self, question: &ApprovalQuestion) -> Option<ApprovalDecision> {
        self.0.forbids(question)
    }

    fn user_turn(&self) {
        self.0.user_turn();
    }
}

impl ApprovalPolicy for Unattended {
    fn decide<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async { approved(Decider::Unattended) })
    }
}

impl<P: ApprovalPolicy + ?Sized> ApprovalPolicy for Arc<P> {
    fn decide<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision> {
        (**self).decide(question)
    }

    fn forbids(&self, question: &ApprovalQuestion) -> Option<ApprovalDecision> {
        (**self).forbids(question)
    }

    fn user_turn(&self) {
        (**self).user_turn();
    }
}

/// An approval by `by`.
pub fn approved(by: Decider) -> ApprovalDecision {
    ApprovalDecision { approved: true, by, comment: String::new(), lasts: Lasts::Once }
}

/// A denial by `by`.
pub fn denied(by: Decider) -> ApprovalDecision {
    ApprovalDecision { approved: false, by, comment: String::new(), lasts: Lasts::Once }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Person(Option<bool>);

    impl ApprovalChannel for Person {
        fn ask<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, Option<PersonAnswer>> {
            let answer = self.0.map(|approved| PersonAnswer { approved, comment: String::new(), lasts: Lasts::Once });
            Box::pin(async move { answer })
        }
    }

    #[track_caller]
    fn check(policy: &dyn ApprovalPolicy, level: ApprovalRequirement, expect: (bool, Decider)) {
        let question = ApprovalQuestion {
            call_id: "c1".into(),
            tool: "t".into(),
            requested: None,
            is_guess: false,
            input: Arc::new(Value::Null),
            level,
            capabilities: Vec::new(),
            reason: String::new(),
            subject: Subject::of_input("t", &Value::Null),
            rule: None,
            prompt: Prompt::default(),
        };
        let decision = futures_util::FutureExt::now_or_never(policy.decide(&question)).unwrap();
        assert_eq!((decision.approved, decision.by), expect);
    }

    use ApprovalRequirement::{Required, Suggest};

    #[test]
    fn nobody_to_ask_is_a_denial() {
        check(&NoChannel, Suggest, (false, Decider::NoChannel));
        check(&NoChannel, Required, (false, Decider::NoChannel));
        check(&AskPerson(Person(None)), Required, (false, Decider::NoChannel));
    }

    #[test]
    fn a_person_decides_both_levels() {
        check(&AskPerson(Person(Some(true))), Suggest, (true, Decider::Person));
        check(&AskPerson(Person(Some(false))), Required, (false, Decider::Person));
    }

    #[test]
    fn passing_suggested_calls_does_not_pass_required_ones() {
        check(&PassSuggested(NoChannel), Suggest, (true, Decider::Unattended));
        check(&PassSuggested(NoChannel), Required, (false, Decider::NoChannel));
        check(&PassSuggested(AskPerson(Person(Some(true)))), Required, (true, Decider::Person));
    }

    #[test]
    fn unattended_and_denial_have_to_be_named() {
        check(&Unattended, Required, (true, Decider::Unattended));
        check(&DenyAll, Suggest, (false, Decider::Policy));
    }
}
