//! slotspec
pub mod adapter;
pub mod agent;
pub mod case;
pub mod check;
pub mod faults;
pub mod isolate;
pub mod report;
pub mod repro;
pub mod rule;
pub mod run;
pub mod source;
pub mod verdict;
pub mod world;
