//! Slotspec: a conformance test harness for coding-agent tool runtimes.
//!
//! A scripted model plays the worst model there is, over real streams, and what a runtime does with it is judged by
//! rules. The way of a run through this crate:
//!
//! 1. [`source`] reads TOML with places; [`rule`] and [`case`] make rules and cases of it, [`adapter`] a way to launch
//!    an agent.
//! 2. [`run`] builds a [`world`], starts the mock model, and lets an [`agent`] play; [`isolate`] keeps it from the
//!    network and finds what it leaves behind.
//! 3. [`check`] judges the trace, [`verdict`] has the words for it.
//! 4. [`report`] tells it, and [`repro`] keeps what is needed to play a failure again.
//!
//! [`prefix`] meters what requests repeat of each other, those of cases and anyone's captured ones.
//! [`faults`] turns every rule red on purpose, [`schema`] describes the files for editors, [`cli`] is the command line, and
//! [`harness`] puts the cases into another project's `cargo test`.

pub mod adapter;
pub mod agent;
pub mod baseline;
pub mod case;
pub mod check;
pub mod cli;
pub mod faults;
pub mod harness;
pub mod isolate;
pub mod prefix;
pub mod report;
pub mod repro;
pub mod rule;
pub mod run;
pub mod schema;
pub mod source;
pub mod verdict;
pub mod world;
