//! Planted faults: what must turn a rule red.
//!
//! A suite that cannot fail proves nothing, so every MUST rule names at least one fault that breaks it, and the self-test
//! runs the rule's cases with the fault planted. Faults live here and never in the runtime. There are three kinds:
//!
//! - [`mutate`]: a sound run's trace is changed, and the oracles and checks judge it again;
//! - [`plant`]: one seam of the reference runtime is decorated (a policy is skipped, inverted, doubled);
//! - [`naive`]: a small agent with one flaw is run as a command, through the black-box door.
//!
//! Which fault is aimed at which rule is data: `faults/*.toml`.

pub mod embedded;
pub mod load;
pub mod matrix;
pub mod mutate;
pub mod naive;
pub mod plant;
pub mod self_test;

pub use load::{Fault, FaultKind, load};
pub use plant::{Plant, Seam, Sound};
