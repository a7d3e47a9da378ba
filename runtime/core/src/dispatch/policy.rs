//! The policies that the stages consult: a handful of narrow traits, each with the one implementation the runtime uses.
//!
//! They exist so that a policy can be replaced by itself. The conformance harness plants its faults here: a policy that
//! is skipped, inverted or late must turn a rule red.

use super::call::{Raw, Refusal, Validated};
use super::early::{EarlyStart, OnlyPlainReads};
use super::hooks::Hooks;
use super::loop_guard::RepetitionGuard;
use super::names::NameLadder;
use super::observe::Observer;
use super::render::{ResultStore, Screen};
use crate::approval::{ApprovalPolicy, NoChannel};
use crate::contract::{MetadataSnapshot, ToolMetadata, ToolOutput};
use crate::deny::{DenyPolicy, DenyRules};
use crate::mode::{ModeGate, PlanMode};
use crate::place::Place;
use serde_json::Value;
use slot_wire::StopReason;
use slot_wire::names::{NameMatch, legal_form};
use slot_wire::repair::{ArgumentFault, Arguments, TurnEnd, read_arguments};
use std::hash::{DefaultHasher, Hasher};
use std::{io, sync::Arc};

/// What a session's stages consult.
#[derive(Clone)]
pub struct Policies {
    /// Stops half-written calls of a turn that was cut.
    pub truncation: Arc<dyn TruncationGate>,
    /// Finds the tool that a name means.
    pub names: Arc<dyn NameResolver>,
    /// Stops repetition.
    pub loops: Arc<dyn LoopGuard>,
    /// Tells what is denied whoever would approve it.
    pub deny: Arc<dyn DenyPolicy>,
    /// Decides what needs approval.
    pub approval: Arc<dyn ApprovalPolicy>,
    /// Bounds what goes back to the model.
    pub results: Arc<dyn ResultShaper>,
    /// Reads argument text.
    pub arguments: Arc<dyn ArgumentReader>,
    /// What the host says about calls.
    pub hooks: Hooks,
    /// Decides what may start while its turn still streams; without it nothing does.
    pub early: Option<Arc<dyn EarlyStart>>,
    /// Keeps results beyond the session; nothing does by default.
    pub store: Option<Arc<dyn ResultStore>>,
    /// Shows calls to a person; nothing does by default.
    pub screen: Option<Arc<dyn Screen>>,
    /// Judges calls by the mode of the session.
    pub mode: Arc<dyn ModeGate>,
    /// Where the session works: what is approved holds there alone.
    pub place: Place,
    /// Learns from what calls come to; nobody does by default.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Default for Policies {
    /// The runtime's own policies; nobody can be asked, so whatever needs approval is denied.
    fn default() -> Self {
        Policies {
            truncation: Arc::new(OnlyWholeCalls),
            names: Arc::new(NameLadder),
            loops: Arc::new(RepetitionGuard::default()),
            deny: Arc::new(DenyRules::default()),
            approval: Arc::new(NoChannel),
            results: Arc::new(CappedResults::default()),
            arguments: Arc::new(ArgumentLadder),
            hooks: Hooks::default(),
            early: Some(Arc::new(OnlyPlainReads)),
            store: None,
            screen: None,
            mode: Arc::new(PlanMode::default()),
            place: Place::default(),
            observer: None,
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
    /// The tool in `snapshot` that the name means, or why there is none. Every tool takes part, hidden ones too; whoever
    /// resolves a name must not hand out a hidden one.
    fn resolve(&self, requested: &str, snapshot: &MetadataSnapshot) -> Result<Resolution, Refusal>;
}

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The tool's own name.
    pub tool: String,
    /// How far the name had to be bent.
    pub how: NameMatch,
}

/// Stops repetition. It holds no state of its own: each user turn has one.
pub trait LoopGuard: Send + Sync {
    /// The state of a new user turn.
    fn user_turn(&self) -> Arc<dyn LoopTurn>;
}

/// What the loop guard knows of one user turn.
pub trait LoopTurn: Send + Sync {
    /// Counts a call right before it would go on to approval, and admits it, or refuses it and tells the model to try
    /// another way. Calls that an earlier stage refused are counted as well.
    fn admit(&self, attempt: &Attempt) -> Result<(), Refusal>;

    /// Whether a call like this would be admitted now. Asks without counting.
    fn admits(&self, attempt: &Attempt) -> bool {
        let _ = attempt;
        true
    }

    /// Notes how a call ended; called once for each that was not cancelled, in call order, when its batch has ended.
    fn record(&self, attempt: &Attempt, failed: bool) -> LoopAdvice;
}

/// A call as the loop guard sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The tool's own name; where there is no such tool, the name as it was written, made legal.
    pub tool: String,
    /// Stands for the arguments.
    pub fingerprint: Fingerprint,
    /// Whether the tool changes nothing that another call could meet.
    pub read_only: bool,
    /// Whether asking the same thing again is how the tool is used.
    pub polls: bool,
}

impl Attempt {
    /// The attempt that a valid call is.
    pub fn of(call: &Validated) -> Self {
        Attempt {
            tool: call.tool().name.clone(),
            fingerprint: Fingerprint::of(call.input()),
            read_only: call.tool().read_only || call.tool().session_only,
            polls: call.tool().polls,
        }
    }

    /// The attempt that a refused call was; `tool` is the one it was for, where that is known.
    pub(super) fn refused(call: &Raw, tool: Option<&ToolMetadata>) -> Self {
        let call = &call.invocation().call;
        Attempt {
            tool: tool.map_or_else(|| legal_form(&call.name), |tool| tool.name.clone()),
            fingerprint: Fingerprint::of_text(&call.arguments),
            read_only: tool.is_some_and(|tool| tool.read_only || tool.session_only),
            polls: tool.is_some_and(|tool| tool.polls),
        }
    }
}

/// Stands for arguments: equal for equal values, however they were written. It never leaves the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint([u64; 2]);

/// The longest unreadable argument text that is parsed a second time for its fingerprint.
const REPARSED: usize = 1 << 20;

impl Fingerprint {
    /// The fingerprint of a value. Keys have one order in a value, so that theirs in the text does not matter.
    pub fn of(value: &Value) -> Self {
        let mut sink = Hashing::new();
        // A value always serialises, and this sink takes everything.
        let _ = serde_json::to_writer(&mut sink, value);
        sink.done()
    }

    /// The fingerprint of argument text: that of its value where it has one.
    fn of_text(text: &str) -> Self {
        let value = if text.len() <= REPARSED { serde_json::from_str::<Value>(text).ok() } else { None };
        value.map_or_else(
            || {
                let mut sink = Hashing::new();
                sink.take(text.as_bytes());
                sink.done()
            },
            |value| Fingerprint::of(&value),
        )
    }
}

/// Two hashes that differ in their start, so that one collision is not enough.
struct Hashing([DefaultHasher; 2]);

impl Hashing {
    fn new() -> Self {
        let mut second = DefaultHasher::new();
        second.write_u8(1);
        Hashing([DefaultHasher::new(), second])
    }

    fn take(&mut self, bytes: &[u8]) {
        self.0.iter_mut().for_each(|hasher| hasher.write(bytes));
    }

    fn done(self) -> Fingerprint {
        Fingerprint(self.0.map(|hasher| hasher.finish()))
    }
}

impl io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What follows from how a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopAdvice {
    /// Nothing.
    GoOn,
    /// The model is told, in the result.
    Warn {
        /// Failures of this tool in a row.
        failures: u32,
        /// What it is told.
        text: String,
    },
    /// The user turn ends here, with every call answered.
    Pause {
        /// Failures of this tool in a row.
        failures: u32,
        /// Why, for a person.
        reason: String,
    },
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
