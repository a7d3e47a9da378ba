//! The policies that the stages consult: a handful of narrow traits, each with the one implementation the runtime uses.
//!
//! They exist so that a policy can be replaced by itself. The conformance harness plants its faults here: a policy that
//! is skipped, inverted or late must turn a rule red.

use super::call::{Refusal, Stage, Validated};
use crate::approval::{ApprovalPolicy, NoChannel};
use crate::contract::{Exposure, MetadataSnapshot, ToolOutput};
use slot_wire::StopReason;
use slot_wire::repair::{ArgumentFault, Arguments, TurnEnd, read_arguments};
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
    /// Reads argument text.
    pub arguments: Arc<dyn ArgumentReader>,
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
            arguments: Arc::new(ArgumentLadder),
        }
    }
}

/// Reads the arguments of a call.
pub trait ArgumentReader: Send + Sync {
    /// The one object that `text` means, or why it means none. The text of the answer is what the history keeps.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn read<'a>(&self, text: &'a str, end: TurnEnd) -> Result<Arguments<'a>, ArgumentFault>;
}

/// Reads valid text as it stands and mends what can be mended without guessing: see `slot_wire::repair`, where its limits
/// stand as well.
pub struct ArgumentLadder;

impl ArgumentReader for ArgumentLadder {
    fn read<'a>(&self, text: &'a str, end: TurnEnd) -> Result<Arguments<'a>, ArgumentFault> {
        read_arguments(text, end)
    }
}

/// Tells how a turn ended, as far as its calls are concerned: it stops half-written calls of a turn that was cut.
pub trait TruncationGate: Send + Sync {
    /// How a turn with this stop reason ended; `torn` where a piece of a call got lost. In one that was cut nothing is
    /// mended, and a call that is not whole is refused.
    fn end(&self, stop: &StopReason, torn: bool) -> TurnEnd;
}

/// Admits a call of a cut turn only if its arguments are strictly valid: half a sentence never becomes a command.
///
/// A reason that is not known counts as a cut: most of them are one, such as an abort, a lack of resources, or a limit under
/// another name. So does a turn that lost a piece of a call, because nobody knows which call lacks it.
pub struct OnlyWholeCalls;

impl TruncationGate for OnlyWholeCalls {
    fn end(&self, stop: &StopReason, torn: bool) -> TurnEnd {
        match stop {
            StopReason::Stop | StopReason::ToolCalls if !torn => TurnEnd::Clean,
            _ => TurnEnd::Cut,
        }
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
}

/// Cuts a result at a number of bytes, on a character boundary, and says so.
pub struct CappedResults {
    /// The most bytes of content that go back. Default 100 KiB.
    pub max_bytes: usize,
}

impl Default for CappedResults {
    fn default() -> Self {
        CappedResults { max_bytes: 102_400 }
    }
}

impl ResultShaper for CappedResults {
    fn shape(&self, output: ToolOutput) -> String {
        let mut content = output.content;
        if content.len() <= self.max_bytes {
            return content;
        }
        let total = content.len();
        let mut end = self.max_bytes;
        while !content.is_char_boundary(end) {
            end -= 1;
        }
        content.truncate(end);
        content.push_str(&format!(
            "\n\n[Output truncated: the first {end} of {total} bytes are shown. Ask for a narrower range to see the rest.]"
        ));
        content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_cut_on_a_character_boundary_and_says_so() {
        let shaper = CappedResults { max_bytes: 4 };
        assert_eq!(shaper.shape(ToolOutput::ok("abcd")), "abcd");
        let cut = shaper.shape(ToolOutput::ok("abcéf"));
        assert!(cut.starts_with("abc\n\n[Output truncated: the first 3 of 6 bytes"), "{cut}");
    }
}
