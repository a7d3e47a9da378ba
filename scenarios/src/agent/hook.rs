//! Hooks that a case registers in the runtime under test, broken ones among them.

use crate::world::{HookAct, HookSpec};
use slot_runtime::contract::BoxFuture;
use slot_runtime::dispatch::hooks::{After, Before, Hook, HookCall, HookEnd, HookError, Hooks};
use std::sync::Arc;
use std::time::Duration;

/// How long a hook of a case may take, where the case does not say how patient the runtime is.
const PATIENCE: Duration = Duration::from_secs(10);

/// The hooks of these specs.
pub(super) fn hooks(specs: &[HookSpec], patience: Option<Duration>) -> Hooks {
    let each = specs.iter().map(|spec| Arc::new(CaseHook(spec.clone())) as Arc<dyn Hook>);
    Hooks::within(patience.unwrap_or(PATIENCE), each)
}

/// A hook that does what its case says.
struct CaseHook(HookSpec);

impl CaseHook {
    /// What it does about this call.
    fn act<'a>(&self, call: &HookCall<'_>, act: &'a Option<HookAct>) -> &'a HookAct {
        let about = self.0.tool.as_ref().is_none_or(|tool| *tool == call.tool().name);
        act.as_ref().filter(|_| about).unwrap_or(&HookAct::Pass)
    }
}

impl Hook for CaseHook {
    fn name(&self) -> String {
        self.0.name.clone()
    }

    fn before<'a>(&'a self, call: &'a HookCall<'a>) -> BoxFuture<'a, Result<Before, HookError>> {
        Box::pin(async move {
            match self.act(call, &self.0.before) {
                HookAct::Pass => Ok(Before::Pass),
                HookAct::Annotate(text) => Ok(Before::Annotate(text.clone())),
                HookAct::Stop(reason) => Ok(Before::Deny(reason.clone())),
                HookAct::Fail => Err(HookError("planted by the case: it fails".to_owned())),
                HookAct::Panic => panic!("planted by the case: it panics"),
                HookAct::Hang => std::future::pending().await,
            }
        })
    }

    fn after<'a>(&'a self, call: &'a HookCall<'a>, _: &'a HookEnd<'a>) -> BoxFuture<'a, Result<After, HookError>> {
        Box::pin(async move {
            match self.act(call, &self.0.after) {
                HookAct::Pass => Ok(After::Pass),
                HookAct::Annotate(text) => Ok(After::Annotate(text.clone())),
                HookAct::Stop(reason) => Ok(After::Withhold(reason.clone())),
                HookAct::Fail => Err(HookError("planted by the case: it fails".to_owned())),
                HookAct::Panic => panic!("planted by the case: it panics"),
                HookAct::Hang => std::future::pending().await,
            }
        })
    }

    fn may_be_asked_early(&self) -> bool {
        self.0.early
    }
}
