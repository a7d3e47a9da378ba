//! Where each tool stands: the one seam through which deny rules, modes and deferral decide what a model sees.
//!
//! It is asked once for every tool when the tools are put together, and says nothing of a single call.

use super::contained;
use crate::contract::{Exposure, ToolMetadata};

/// Says when the model sees a tool.
pub trait Placement: Send + Sync {
    /// When the model sees it. A placement that fails has hidden it.
    fn place(&self, tool: &ToolMetadata) -> Exposure;

    /// The names of tools that stand before all others in the catalog, in this order.
    fn first(&self) -> &[String] {
        &[]
    }
}

/// Every tool stands where it says itself.
pub struct AsDeclared;

impl Placement for AsDeclared {
    fn place(&self, tool: &ToolMetadata) -> Exposure {
        tool.exposure
    }
}

/// Asks the placement; an error in it is a tool that is not shown.
pub(super) fn placed(tool: &ToolMetadata, placement: &dyn Placement) -> Exposure {
    contained(|| placement.place(tool)).unwrap_or(Exposure::Hidden)
}
