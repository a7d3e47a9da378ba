//! The gate: calls that may overlap hold it together, a call that may not holds it alone.
//!
//! A batch takes the gate once for all of its calls. A tool that calls tools already holds it, so its inner calls do not
//! take it again ([`Passage::Inside`]).

use std::sync::Arc;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The gate of one set of tools. Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<RwLock<()>>);

/// The gate, held.
#[derive(Debug)]
pub enum Held {
    /// Together with others.
    Shared(OwnedRwLockReadGuard<()>),
    /// Alone.
    Alone(OwnedRwLockWriteGuard<()>),
}

impl Gate {
    /// Waits until no call holds the gate alone. Whoever waits to hold it alone goes first.
    pub async fn shared(&self) -> Held {
        Held::Shared(Arc::clone(&self.0).read_owned().await)
    }

    /// Waits until nobody holds the gate.
    pub async fn alone(&self) -> Held {
        Held::Alone(Arc::clone(&self.0).write_owned().await)
    }
}

/// How calls pass the gate.
#[derive(Clone, Debug)]
pub enum Passage {
    /// They take it.
    Take(Gate),
    /// They are made by a call that holds it already, so they do not take it again: a queued call between the two would
    /// wait for the outer one, and the inner one for the queued one.
    Inside,
}

impl Passage {
    /// Waits until no call holds the gate alone.
    pub async fn shared(&self) -> Option<Held> {
        match self {
            Passage::Take(gate) => Some(gate.shared().await),
            Passage::Inside => None,
        }
    }

    /// Waits until nobody holds the gate.
    pub async fn alone(&self) -> Option<Held> {
        match self {
            Passage::Take(gate) => Some(gate.alone().await),
            Passage::Inside => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn calls_that_share_overlap() {
        let gate = Gate::default();
        let first = gate.shared().now_or_never().unwrap();
        let second = gate.shared().now_or_never().unwrap();
        drop((first, second));
    }

    #[test]
    fn a_call_that_is_alone_excludes_both_kinds() {
        let gate = Gate::default();
        let alone = gate.alone().now_or_never().unwrap();
        assert!(gate.shared().now_or_never().is_none());
        assert!(gate.alone().now_or_never().is_none());
        drop(alone);
        assert!(gate.shared().now_or_never().is_some());
    }

    #[test]
    fn a_call_that_waits_to_be_alone_is_not_starved_by_later_sharers() {
        let gate = Gate::default();
        let shared = gate.shared().now_or_never().unwrap();
        let mut alone = Box::pin(gate.alone());
        assert!(alone.as_mut().now_or_never().is_none());
        assert!(gate.shared().now_or_never().is_none());
        drop(shared);
        assert!(alone.now_or_never().is_some());
    }

    #[test]
    fn a_call_that_gives_up_waiting_blocks_nobody() {
        let gate = Gate::default();
        let shared = gate.shared().now_or_never().unwrap();
        assert!(gate.alone().now_or_never().is_none());
        assert!(gate.shared().now_or_never().is_some());
        drop(shared);
    }
}
