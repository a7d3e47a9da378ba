//! mock
pub mod script;
