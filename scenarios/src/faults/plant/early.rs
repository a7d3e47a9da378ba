//! Decorators on what starts while its turn still streams.

use super::Seam;
use slot_runtime::contract::ApprovalRequirement;
use slot_runtime::dispatch::early::{Decided, EarlyStart};
use slot_runtime::dispatch::{Approved, Planned, Validated};
use std::sync::Arc;
use std::time::Duration;

pub(super) fn decorates(seam: Seam) -> bool {
    matches!(seam, Seam::EarlyAny | Seam::EarlyGuess | Seam::EarlyMixed | Seam::EarlyStale)
}

/// The policy as this seam has it.
pub(super) fn plant(seam: Seam, inner: Option<Arc<dyn EarlyStart>>) -> Option<Arc<dyn EarlyStart>> {
    inner.map(|inner| Arc::new(Broken { seam, inner }) as Arc<dyn EarlyStart>)
}

struct Broken {
    seam: Seam,
    inner: Arc<dyn EarlyStart>,
}

impl EarlyStart for Broken {
    fn decides(&self, text: &str) -> Option<Decided> {
        let decided = self.inner.decides(text);
        if self.seam == Seam::EarlyGuess && decided.is_none() {
            return Some(Decided { text: format!("{text}\"}}"), closed: true });
        }
        decided
    }

    fn may_follow(&self, earlier: &Planned) -> bool {
        matches!(self.seam, Seam::EarlyAny | Seam::EarlyStale) || self.inner.may_follow(earlier)
    }

    fn may_start(&self, call: &Validated, level: ApprovalRequirement) -> bool {
        self.seam == Seam::EarlyAny || self.inner.may_start(call, level)
    }

    fn may_use(&self, early: &Approved, call: &Approved, age: Duration) -> bool {
        match self.seam {
            Seam::EarlyMixed => early.tool().name == call.tool().name && early.input() != call.input(),
            _ => self.inner.may_use(early, call, age),
        }
    }
}
