//! The types a call passes through. Every constructor but the first is private to [`crate::dispatch`].

use crate::approval::ApprovalDecision;
use crate::contract::{ApprovalRequirement, ToolInvocation, ToolMetadata};
use crate::dispatch::arguments::Mended;
use crate::event::Lane;
use serde_json::Value;
use slot_wire::names::NameMatch;
use std::sync::Arc;

/// A call as it came, with its lane in the log.
#[derive(Clone, Debug)]
pub struct Raw {
    invocation: ToolInvocation,
    lane: Lane,
    mended: Option<Arc<Mended>>,
    /// The name that a call of a proxy means.
    stands_for: Option<String>,
}

impl Raw {
    /// Takes a call in.
    pub fn new(invocation: ToolInvocation, lane: Lane) -> Self {
        Raw { invocation, lane, mended: None, stands_for: None }
    }

    /// The call exactly as it came.
    pub fn invocation(&self) -> &ToolInvocation {
        &self.invocation
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.invocation.call.id
    }

    /// The name that the model wrote for the tool it means: where it calls a proxy, the one inside of the arguments.
    pub fn written(&self) -> &str {
        self.stands_for.as_deref().unwrap_or(&self.invocation.call.name)
    }

    pub(super) fn standing_for(self, name: String) -> Self {
        Raw { stands_for: Some(name), ..self }
    }

    /// Its lane in the log.
    pub fn lane(&self) -> &Lane {
        &self.lane
    }

    /// How its arguments were mended, where what was sent is no object as it stands. `None` before it was read.
    pub fn mended(&self) -> Option<&Mended> {
        self.mended.as_deref()
    }

    pub(super) fn mended_as(self, mended: Option<Mended>) -> Self {
        Raw { mended: mended.map(Arc::new), ..self }
    }

    pub(super) fn resolved(self, tool: Arc<ToolMetadata>, how: NameMatch) -> Resolved {
        Resolved { raw: self, tool, how }
    }
}

/// A call whose name has been resolved to a tool.
#[derive(Clone, Debug)]
pub struct Resolved {
    raw: Raw,
    tool: Arc<ToolMetadata>,
    how: NameMatch,
}

impl Resolved {
    /// The call as it came.
    pub fn raw(&self) -> &Raw {
        &self.raw
    }

    /// The tool it is for.
    pub fn tool(&self) -> &ToolMetadata {
        &self.tool
    }

    pub(super) fn shared_tool(&self) -> Arc<ToolMetadata> {
        Arc::clone(&self.tool)
    }

    /// How its name came to mean the tool.
    pub fn how(&self) -> NameMatch {
        self.how
    }

    pub(super) fn parsed(self, input: Value) -> Parsed {
        Parsed { resolved: self, input: Arc::new(input) }
    }
}

/// A call whose arguments have been read. From here on there is one value, and it is the one that runs.
#[derive(Clone, Debug)]
pub struct Parsed {
    resolved: Resolved,
    input: Arc<Value>,
}

impl Parsed {
    /// The call as it came.
    pub fn raw(&self) -> &Raw {
        &self.resolved.raw
    }

    /// The tool it is for.
    pub fn tool(&self) -> &ToolMetadata {
        &self.resolved.tool
    }

    /// The arguments.
    pub fn input(&self) -> &Value {
        &self.input
    }

    /// How its name came to mean the tool.
    pub fn how(&self) -> NameMatch {
        self.resolved.how
    }

    pub(super) fn validated(self, notes: Vec<String>) -> Validated {
        Validated { parsed: self, notes, annotations: Vec::new() }
    }
}

/// A call whose arguments are what the tool takes.
#[derive(Clone, Debug)]
pub struct Validated {
    parsed: Parsed,
    notes: Vec<String>,
    annotations: Vec<String>,
}

impl Validated {
    /// The call as it came.
    pub fn raw(&self) -> &Raw {
        self.parsed.raw()
    }

    /// The tool it is for.
    pub fn tool(&self) -> &ToolMetadata {
        self.parsed.tool()
    }

    /// The arguments.
    pub fn input(&self) -> &Value {
        self.parsed.input()
    }

    /// The arguments, shared.
    pub fn shared_input(&self) -> Arc<Value> {
        Arc::clone(&self.parsed.input)
    }

    /// How its name came to mean the tool.
    pub fn how(&self) -> NameMatch {
        self.parsed.how()
    }

    /// Whether the tool is a guess that must not run unseen: the name is only a beginning of the tool's, and the tool may
    /// change something.
    pub fn is_guess(&self) -> bool {
        self.how() == NameMatch::Prefix && !self.tool().read_only
    }

    /// What the model is told with the result although the input is valid.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What hooks say of it: for whoever is asked for approval, and for the model with the result, whatever that is.
    pub fn annotations(&self) -> &[String] {
        &self.annotations
    }

    pub(super) fn parsed(&self) -> &Parsed {
        &self.parsed
    }

    pub(super) fn annotated(self, annotations: Vec<String>) -> Self {
        Validated { annotations, ..self }
    }

    pub(super) fn approved(
        self,
        level: ApprovalRequirement,
        decision: ApprovalDecision,
    ) -> Result<Approved, Box<Validated>> {
        if decision.approved { Ok(Approved { validated: self, level, decision }) } else { Err(Box::new(self)) }
    }
}

/// A call that may run. Only such a call can be handed to a tool.
#[derive(Clone, Debug)]
pub struct Approved {
    validated: Validated,
    level: ApprovalRequirement,
    decision: ApprovalDecision,
}

impl Approved {
    /// The call as it came.
    pub fn raw(&self) -> &Raw {
        self.validated.raw()
    }

    /// The tool it is for.
    pub fn tool(&self) -> &ToolMetadata {
        self.validated.tool()
    }

    /// The arguments: the same value that was validated and approved.
    pub fn input(&self) -> &Value {
        self.validated.input()
    }

    /// What the model is told with the result although the input is valid.
    pub fn notes(&self) -> &[String] {
        self.validated.notes()
    }

    pub(super) fn validated(&self) -> &Validated {
        &self.validated
    }

    /// How far it had to be approved.
    pub fn level(&self) -> ApprovalRequirement {
        self.level
    }

    /// Who approved it.
    pub fn decision(&self) -> &ApprovalDecision {
        &self.decision
    }
}

/// A call that has its one result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    call_id: String,
    content: String,
    is_error: bool,
    cancelled: bool,
    found: Vec<String>,
}

impl Settled {
    pub(super) fn new(call_id: &str, content: String, is_error: bool, cancelled: bool) -> Self {
        Settled { call_id: call_id.to_owned(), content, is_error, cancelled, found: Vec::new() }
    }

    pub(super) fn finding(mut self, tools: Vec<String>) -> Self {
        self.found = tools;
        self
    }

    /// The deferred tools that it found, for a dialect that can refer to them.
    pub fn found(&self) -> &[String] {
        &self.found
    }

    pub(super) fn with_note(mut self, note: &str) -> Self {
        append_note(&mut self.content, note);
        self
    }

    /// The call it answers.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// What the model reads.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// Whether the model is told that it failed.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// Whether it was cancelled before it finished.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }
}

/// Adds what the runtime has to say to a result, apart from the tool's own words.
pub(super) fn append_note(content: &mut String, note: &str) {
    if !content.is_empty() {
        content.push_str("\n\n");
    }
    content.push_str(&format!("[{note}]"));
}

/// A stage of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The turn was cut by the output limit.
    Truncation,
    /// The name is resolved.
    Name,
    /// A deferred tool's schema is handed out.
    Hydration,
    /// The arguments are read.
    Parse,
    /// The arguments are judged.
    Validate,
    /// Repetition is stopped.
    LoopGuard,
    /// The mode of the session is asked.
    Mode,
    /// Deny rules are asked.
    Deny,
    /// The host's hooks are asked.
    Hook,
    /// Somebody is asked.
    Approval,
    /// The tool runs.
    Run,
}

impl Stage {
    /// The spelling in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Truncation => "truncation",
            Stage::Name => "name",
            Stage::Hydration => "hydration",
            Stage::Parse => "parse",
            Stage::Validate => "validate",
            Stage::LoopGuard => "loop_guard",
            Stage::Mode => "mode",
            Stage::Deny => "deny",
            Stage::Hook => "hook",
            Stage::Approval => "approval",
            Stage::Run => "run",
        }
    }
}

/// Why a stage refused a call. The reason is for the model: what, where, and the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which stage.
    pub stage: Stage,
    /// Why.
    pub reason: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(stage: Stage, reason: impl Into<String>) -> Self {
        Refusal { stage, reason: reason.into() }
    }
}
