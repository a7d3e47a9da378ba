//! What is asked about a call, of whom, and what the model is told when the answer is no.
//!
//! Nothing here runs, waits or logs: when each question is asked is decided where calls are executed.

use super::call::{Refusal, Stage, Validated};
use super::policy::Policies;
use crate::approval::fingerprint::Subject;
use crate::approval::{ApprovalDecision, ApprovalQuestion, Decider, Prompt, denied};
use crate::contract::{ApprovalRequirement, Capability, ToolDispatcher};
use slot_wire::names::quoted;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a call must be approved to, judged as things are now. It was judged when its turn was planned: a file that it names
/// may be another since. The level only rises.
///
/// # Errors
/// What is wrong with its input by now.
pub(super) fn judged_again(
    dispatcher: &dyn ToolDispatcher,
    call: &Validated,
    level: ApprovalRequirement,
) -> Result<ApprovalRequirement, Refusal> {
    dispatcher.validate(call.parsed()).map_err(|faults| {
        let told: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        let reason = format!(
            "the call of {:?} was not run: since it was read, something that it names has changed: {}",
            call.tool().name,
            told.join("; ")
        );
        Refusal::new(Stage::Validate, reason)
    })?;
    Ok(dispatcher.requirement(call).max(level))
}

/// Whether a rule of the session denies the call.
pub(super) fn denied_by_rule(policies: &Policies, call: &Validated) -> Result<(), Refusal> {
    let judged = catch_unwind(AssertUnwindSafe(|| policies.deny.judge(call.tool(), call.input())));
    let tool = call.tool().name.as_str();
    let reason = match judged {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(denial)) => format!(
            "the call of {tool:?} was not run: this session denies it by the rule `{}`. {}",
            denial.rule, denial.reason
        ),
        // Rules that cannot be held against a call do not let it pass.
        Err(_) => format!(
            "the call of {tool:?} was not run: whether this session denies it could not be told. Try other arguments, or go \
             on without it"
        ),
    };
    Err(Refusal::new(Stage::Deny, reason))
}

/// What is decided against the call whatever its level is. A policy that panics has decided so.
pub(super) fn forbidden(policies: &Policies, question: &ApprovalQuestion) -> Option<ApprovalDecision> {
    let decided = catch_unwind(AssertUnwindSafe(|| policies.approval.forbids(question)));
    let decision = decided.unwrap_or_else(|_| Some(denied(Decider::NoChannel)))?;
    // Whatever such a decision says of itself, it is one against the call.
    Some(ApprovalDecision { approved: false, ..decision })
}

/// What is asked about a call, as it would run in the place where the session is.
pub(super) fn question(
    policies: &Policies,
    dispatcher: &dyn ToolDispatcher,
    call: &Validated,
    level: ApprovalRequirement,
) -> ApprovalQuestion {
    let capabilities: Vec<Capability> = call.tool().capabilities.iter().collect();
    let written = call.raw().written();
    let mut why = reason(&capabilities, call.raw().mended().and_then(|mended| mended.notice.as_deref()));
    if call.is_guess() {
        why = format!("the model wrote {}, which is only the beginning of the name; {why}", quoted(written));
    }
    for said in call.annotations() {
        why.push_str("; ");
        why.push_str(said);
    }
    if let Some(away) = policies.place.away() {
        why.push_str(&format!("; it works in the working tree {} ({})", away.name, away.base.display()));
    }
    let (mut subject, rule, prompt) = match dispatcher.assess(call) {
        Some(assessment) => (assessment.subject, assessment.rule, assessment.prompt),
        None => {
            let subject = Subject::of_input(&call.tool().name, call.input());
            let rule = subject.rule();
            let covers = rule.as_ref().map(|_| format!("calls of {} with exactly this input", call.tool().name));
            (subject, rule, Prompt { covers, ..Prompt::default() })
        }
    };
    subject.cwd = policies.place.folder_of_call(&subject.cwd);
    ApprovalQuestion {
        call_id: call.raw().id().to_owned(),
        tool: call.tool().name.clone(),
        requested: (written != call.tool().name).then(|| written.to_owned()),
        is_guess: call.is_guess(),
        input: call.shared_input(),
        level,
        reason: why,
        capabilities,
        subject,
        rule: rule.filter(|_| !call.is_guess()),
        prompt,
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
pub(super) fn denial(call: &Validated, level: ApprovalRequirement, decision: &ApprovalDecision) -> String {
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
        Decider::Remembered => "the user has denied this very call before; do not make it again".to_owned(),
        Decider::Rule => "a rule of the user denies it, whoever is asked".to_owned(),
        Decider::Policy | Decider::Level | Decider::Unattended | Decider::Grant => {
            "this session denies every call that needs approval".to_owned()
        }
    };
    let comment = match decision.by {
        _ if decision.comment.is_empty() => String::new(),
        Decider::Person => format!(" The user says: {}", decision.comment),
        _ => format!(" {}.", decision.comment),
    };
    format!("the call of {tool:?} was not run: {why}.{comment} {next}")
}
