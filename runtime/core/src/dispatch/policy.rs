//! The policies that the stages consult: a handful of narrow traits, each with the one implementation the runtime uses.
//!
//! They exist so that a policy can be replaced by itself. The conformance harness plants its faults here: a policy that
//! is skipped, inverted or late must turn a rule red.

use super::call::{Raw, Refusal, Stage, Validated};
use crate::approval::{ApprovalPolicy, NoChannel};
use crate::contract::{Exposure, MetadataSnapshot, ToolOutput};
use serde_json::Value;
use slot_wire::StopReason;
use std::sync::Arc;

/// What a session's stages consult.
#[derive(Clone)]
pub struct Policies {
    /// Stops half-written calls of a turn that was cut.
    pub truncation: Arc<dyn TruncationGate>,
    /// Finds the tool that a name means.
    pub names: Arc<dyn NameResolver>,
    /// Stops repetition.
    pub loops: Arc<dyn LoopGuard>,
    /// Decides what needs approval.
    pub approval: Arc<dyn ApprovalPolicy>,
    /// Bounds what goes back to the model.
    pub results: Arc<dyn ResultShaper>,
    /// Bounds of argument text.
    pub arguments: ArgumentLimits,
}

impl Default for Policies {
    /// The runtime's own policies; nobody can be asked, so whatever needs approval is denied.
    fn default() -> Self {
        Policies {
            truncation: Arc::new(OnlyWholeCalls),
            names: Arc::new(ExactNames),
            loops: Arc::new(NoLoopGuard),
            approval: Arc::new(NoChannel),
            results: Arc::new(CappedResults::default()),
            arguments: ArgumentLimits::default(),
        }
    }
}

/// Bounds of argument text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentLimits {
    /// Bytes of strictly valid argument text. Default 16 MiB.
    pub max_bytes: usize,
}

impl Default for ArgumentLimits {
    fn default() -> Self {
        ArgumentLimits { max_bytes: 16 << 20 }
    }
}

/// Stops half-written calls of a turn that the output limit cut.
pub trait TruncationGate: Send + Sync {
    /// Admits the call, or refuses it and tells the model to send it again.
    fn admit(&self, call: &Raw, stop: &StopReason) -> Result<(), Refusal>;
}

/// Admits a call of a cut turn only if its arguments are strictly valid: half a sentence never becomes a command.
pub struct OnlyWholeCalls;

impl TruncationGate for OnlyWholeCalls {
    fn admit(&self, call: &Raw, stop: &StopReason) -> Result<(), Refusal> {
        let call = &call.invocation().call;
        if !matches!(stop, StopReason::MaxTokens | StopReason::ContentFilter)
            || serde_json::from_str::<Value>(&call.arguments).is_ok_and(|v| v.is_object())
        {
            return Ok(());
        }
        Err(Refusal::new(
            Stage::Truncation,
            format!(
                "this turn was cut (output limit or filter) before the arguments of {:?} were complete, so it was NOT executed. \
                 Send the whole call again; if it is long, split it into several calls",
                call.name
            ),
        ))
    }
}

/// Finds the tool that a name means.
pub trait NameResolver: Send + Sync {
    /// The name of a tool in `snapshot`, or why there is none.
    fn resolve(&self, requested: &str, snapshot: &MetadataSnapshot) -> Result<String, Refusal>;
}

/// Takes a name exactly as it is.
pub struct ExactNames;

impl NameResolver for ExactNames {
    fn resolve(&self, requested: &str, snapshot: &MetadataSnapshot) -> Result<String, Refusal> {
        match snapshot.tools.get(requested) {
            Some(tool) if tool.exposure != Exposure::Hidden => Ok(tool.name.clone()),
            _ => Err(Refusal::new(
                Stage::Name,
                format!(
                    "there is no tool {requested:?} here; nothing was run. The tools are: {}",
                    snapshot.catalog.names().join(", ")
                ),
            )),
        }
    }
}

/// Stops repetition.
pub trait LoopGuard: Send + Sync {
    /// Admits the call, or refuses it and tells the model to try another way.
    fn admit(&self, call: &Validated) -> Result<(), Refusal>;
}

/// Admits every call.
pub struct NoLoopGuard;

impl LoopGuard for NoLoopGuard {
    fn admit(&self, _: &Validated) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Bounds what goes back to the model.
pub trait ResultShaper: Send + Sync {
    /// The text the model reads.
    fn shape(&self, output: ToolOutput) -> String;

    /// The shaper of each of `count` results that go back together, as the result of the call that made them.
    fn share(&self, count: usize) -> Arc<dyn ResultShaper>;
}

/// Cuts a result at a number of bytes, on a character boundary, and says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CappedResults {
    /// The most bytes of content that go back. Default 100 KiB.
    pub max_bytes: usize,
    /// Whether a character counts as many bytes as it has within a JSON text: so is it passed on by a tool that calls
    /// tools.
    pub as_json: bool,
}

impl Default for CappedResults {
    fn default() -> Self {
        CappedResults { max_bytes: 102_400, as_json: false }
    }
}

impl CappedResults {
    /// What is left to a tool that calls tools for its own words: a part of the whole, and something for each result.
    const OWN_PART: usize = 8;
    const EACH: usize = 256;

    fn cost(self, c: char) -> usize {
        match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' if self.as_json => 2,
            '\0'..='\u{1f}' if self.as_json => 6,
            c => c.len_utf8(),
        }
    }

    /// Where the content must end.
    fn end(self, content: &str) -> usize {
        let mut spent = 0;
        let past = content.char_indices().find(|(_, c)| {
            spent += self.cost(*c);
            spent > self.max_bytes
        });
        past.map_or(content.len(), |(at, _)| at)
    }
}

impl ResultShaper for CappedResults {
    fn shape(&self, output: ToolOutput) -> String {
        let mut content = output.content;
        let (total, end) = (content.len(), self.end(&content));
        if end == total {
            return content;
        }
        content.truncate(end);
        content.push_str(&format!(
            "\n\n[Output truncated: the first {end} of {total} bytes are shown. Ask for a narrower range to see the rest.]"
        ));
        content
    }

    fn share(&self, count: usize) -> Arc<dyn ResultShaper> {
        let whole = self.max_bytes - self.max_bytes / Self::OWN_PART;
        let max_bytes = (whole / count.max(1)).saturating_sub(Self::EACH);
        Arc::new(CappedResults { max_bytes, as_json: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_cut_on_a_character_boundary_and_says_so() {
        let shaper = CappedResults { max_bytes: 4, as_json: false };
        assert_eq!(shaper.shape(ToolOutput::ok("abcd")), "abcd");
        let cut = shaper.shape(ToolOutput::ok("abcéf"));
        assert!(cut.starts_with("abc\n\n[Output truncated: the first 3 of 6 bytes"), "{cut}");
    }

    #[test]
    fn shares_of_a_whole_fit_into_it_as_json() {
        let shaper = CappedResults::default();
        for count in [1, 2, 16, 64] {
            for piece in ["x", "\"", "\n", "\u{1}", "é"] {
                let share = shaper.share(count).shape(ToolOutput::ok(piece.repeat(200_000)));
                assert!(share.contains("[Output truncated: the first "), "{count} {piece:?}");
                let all = serde_json::json!({ "results": vec![share; count] }).to_string();
                assert!(all.len() <= shaper.max_bytes, "{count} {piece:?}: {}", all.len());
            }
        }
        assert_eq!(shaper.share(16).shape(ToolOutput::ok("short")), "short");
    }
}
