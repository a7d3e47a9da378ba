//! What a tool is, in three layers, each knowing only what it must.
//!
//! 1. [`Tool`]: it has a name, a description, an input schema, and can be run. Host-agnostic and advisory.
//! 2. [`ToolSpec`]: how it is governed: what it can do to the world, and from that, derived, who must be asked.
//! 3. [`ToolDispatcher`]: all the engine holds. It asks an eager snapshot of metadata and hands over approved calls; it
//!    never sees a concrete tool.
//!
//! Nothing here runs a tool, asks a person or touches a file.

mod capability;
mod dispatcher;
mod invocation;
mod origin;
mod output;
mod spec;

pub use capability::{ApprovalRequirement, Capability, CapabilitySet};
pub use dispatcher::{MetadataSnapshot, ToolDispatcher, ToolMetadata};
pub use invocation::{InvokedBy, ToolInvocation};
pub use origin::{ActivationScope, Origin, OriginKind};
pub use output::{CallTools, InnerCall, InnerResult, ReportProgress, RunContext, ToolError, ToolOutput};
pub use spec::{BoxFuture, Exposure, InterruptBehaviour, Presentation, Role, Tool, ToolSpec, ValidationFault};
