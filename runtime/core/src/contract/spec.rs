//! [`Tool`] and [`ToolSpec`]: what can be executed, and how it is governed.

use crate::approval::Assessment;

use super::{ApprovalRequirement, CapabilitySet, Origin, RunContext, ToolError, ToolOutput};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{future::Future, pin::Pin};

/// A boxed future, so that tools of every source fit one registry.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What can be executed. This layer knows nothing of approval, sandboxes or hosts.
pub trait Tool: Send + Sync {
    /// The tool's name, `^[a-zA-Z0-9_-]{1,64}$`.
    fn name(&self) -> &str;

    /// What the model reads: when to use the tool, and what not to use. Byte-stable: no clock, path or pid.
    fn description(&self) -> &str;

    /// The JSON Schema of the input; its root is an object type. Byte-stable.
    fn input_schema(&self) -> Value;

    /// Runs the tool on input that has been validated and approved.
    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// How a tool is governed. A tool declares what it can do; what follows from that is derived here and in the engine.
pub trait ToolSpec: Tool {
    /// What the tool can do to the world, at most.
    fn capabilities(&self) -> CapabilitySet;

    /// Where it comes from.
    fn origin(&self) -> Origin {
        Origin::builtin()
    }

    /// Who must be asked for this input, where the input decides it; `None` leaves the level that follows from the
    /// capabilities. `input` has passed [`ToolSpec::validate_input`].
    fn approval_for_input(&self, input: &Value) -> Option<ApprovalRequirement> {
        self.assess_input(input).map(|assessment| assessment.level)
    }

    /// What the input is to grants and denials, and what a person is to be told of it, where that depends on more than its
    /// value; with it the level of [`ToolSpec::approval_for_input`]. `None` for most tools: a decision about their calls is
    /// one about exactly that input. `input` has passed [`ToolSpec::validate_input`].
    fn assess_input(&self, _input: &Value) -> Option<Assessment> {
        None
    }

    /// Judges the meaning of the input, before anybody is asked to approve it. Its shape has been checked already.
    fn validate_input(&self, _input: &Value) -> Result<(), ValidationFault> {
        Ok(())
    }

    /// Whether calls may overlap with other parallel calls. Only a tool that says so does.
    fn supports_parallel(&self) -> bool {
        false
    }

    /// Whether the tool talks to a person while it runs. Such a call never overlaps with another.
    fn is_interactive(&self) -> bool {
        false
    }

    /// Whether the tool destroys what cannot be brought back.
    fn is_destructive(&self) -> bool {
        false
    }

    /// Whether the tool waits for something, so that asking the same thing again is how it is used. Such calls are no
    /// repetition to the loop guard, up to its absolute cap.
    fn polls(&self) -> bool {
        false
    }

    /// Whether all that the tool changes is the state of its session, such as a list that the user sees: nothing that
    /// another call could meet.
    fn changes_session_only(&self) -> bool {
        false
    }

    /// Whether a call may be run before it is certain that it comes: running it for nothing leaves nothing behind and
    /// consumes nothing. A read that marks messages as read, empties a buffer or waits for something must not say so.
    fn may_start_early(&self) -> bool {
        false
    }

    /// What a cancellation does to a running call.
    fn interrupt_behaviour(&self) -> InterruptBehaviour {
        InterruptBehaviour::Cancel
    }

    /// When the model sees the tool.
    fn exposure(&self) -> Exposure {
        Exposure::Auto
    }

    /// What it is to the other tools.
    fn role(&self) -> Role {
        Role::Plain
    }

    /// Other names under which the tool is found.
    fn aliases(&self) -> &[&str] {
        &[]
    }

    /// Words for the tool search that the name and the description do not hold.
    fn search_hint(&self) -> Option<&str> {
        None
    }

    /// The JSON Schema of the output, where it is structured.
    fn output_schema(&self) -> Option<Value> {
        None
    }

    /// How the tool and its calls are shown to a person.
    fn presentation(&self) -> Presentation {
        Presentation::default()
    }
}

/// When the model sees a tool. One enum in place of two flags, so that no illegal pair can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exposure {
    /// From the first request on, whatever the deferral policy says.
    Always,
    /// As the deferral policy decides.
    #[default]
    Auto,
    /// Only after the model found it.
    Deferred,
    /// Never; it is called by the host alone.
    Hidden,
    /// Never by itself: only a tool that calls tools reaches it.
    Inner,
}

/// What a tool is to the others. Only a tool that ships with the runtime can be anything but plain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It does its own work.
    #[default]
    Plain,
    /// It finds tools. The deferred ones that its result names under `loads` can be called from the next turn on.
    Finder,
    /// It stands for others: a call `{"tool": NAME, "input": OBJECT}` of it is a call of that tool, and is governed as
    /// such in every stage. It never runs itself.
    Proxy,
}

/// What a cancellation does to a running call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptBehaviour {
    /// The call is stopped, and its processes with it.
    #[default]
    Cancel,
    /// The call is let finish, because half of its work is worse than all of it.
    Finish,
}

/// How a tool and its calls are shown to a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presentation {
    /// The name a person reads; the tool's own name when absent.
    pub title: Option<String>,
    /// What a running call is said to be doing, such as "Reading a file".
    pub activity: Option<String>,
    /// The tool only wraps others: their calls are shown, it has no result block of its own.
    pub transparent: bool,
}

/// Why an input was refused before anybody was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationFault {
    /// A JSON pointer to the value at fault; empty for the input as a whole.
    pub pointer: String,
    /// What is wrong and what would be right, for the model.
    pub message: String,
}

impl ValidationFault {
    /// A fault at `pointer`.
    pub fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        ValidationFault { pointer: pointer.into(), message: message.into() }
    }
}
