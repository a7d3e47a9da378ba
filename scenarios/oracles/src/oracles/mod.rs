//! The oracles, one module per area, and the table of them.

use crate::{Finding, RuntimeTrace, WireTrace};

pub mod catalog;
pub mod files;
pub mod pairing;
pub mod processes;
pub mod runtime;

/// One oracle: a stable id and a function.
#[derive(Clone, Copy)]
pub struct Oracle {
    /// The stable id, such as `O01`.
    pub id: &'static str,
    /// What it watches, in one line.
    pub title: &'static str,
    /// The rules it can find broken.
    pub rules: &'static [&'static str],
    /// The function.
    pub check: OracleCheck,
}

/// What an oracle may look at.
#[derive(Clone, Copy)]
pub enum OracleCheck {
    /// Judges any agent from outside.
    Wire(fn(&WireTrace) -> Vec<Finding>),
    /// Judges the reference runtime, with its events beside the wire.
    Runtime(fn(&WireTrace, &RuntimeTrace) -> Vec<Finding>),
}

/// Every oracle, in order of id.
pub const ORACLES: &[Oracle] = &[];
