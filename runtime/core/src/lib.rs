//! The governed tool runtime: one slot through which every tool call of a coding agent passes.
pub mod boundary;
