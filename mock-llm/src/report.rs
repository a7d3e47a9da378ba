//! What a script's end looks like: what was not reached, and what came that it did not foresee.

use crate::binding::UnboundOp;
use serde::Serialize;
use std::fmt;

/// The outcome of a script, apart from what the oracles say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Turns that no request reached.
    pub unserved: Vec<String>,
    /// Requests in no known state, each with the nearest expected step.
    pub unexpected: Vec<String>,
    /// Operations that no advertised tool stands for: the script could not be played on this agent.
    pub unbound: Vec<UnboundOp>,
    /// Cuts that could not be made, because the body of this binding or dialect does not hold their anchor.
    pub lost_cuts: Vec<String>,
}

impl Report {
    /// Whether the script was played to its end and nothing else was asked.
    pub fn is_clean(&self) -> bool {
        self.unserved.is_empty() && self.unexpected.is_empty() && self.unbound.is_empty() && self.lost_cuts.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("every turn was served, and nothing else was asked");
        }
        let mut lines: Vec<String> = Vec::new();
        lines.extend(self.unserved.iter().map(|turn| format!("not reached: {turn}")));
        lines.extend(self.unexpected.iter().map(|request| format!("unexpected: {request}")));
        lines.extend(self.unbound.iter().map(|unbound| format!("not playable: {unbound}")));
        lines.extend(self.lost_cuts.iter().map(|cut| format!("not cut: {cut}")));
        f.write_str(&lines.join("\n"))
    }
}
