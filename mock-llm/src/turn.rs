//! A turn as it goes on the wire: bound, filled in and corrupted, but in no dialect yet.

use crate::binding::{Bound, Folders, UnboundOp};
use crate::corrupt;
use crate::script::{Cut, End, Framing, Stop, Turn};
use slot_oracles::trace::{ServedCall, ServedTurn};

/// What an encoder needs to know of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTurn {
    /// Index in the script; ids of the response are made of it.
    pub index: usize,
    /// Reasoning before the text.
    pub reason: String,
    /// The text.
    pub text: String,
    /// The calls as they are sent.
    pub calls: Vec<ServedCall>,
    /// The stop reason.
    pub stop: Stop,
    /// How the stream ends.
    pub end: End,
    /// How frames are written.
    pub framing: Framing,
    /// Texts that no fragment boundary may fall into.
    pub whole: Vec<String>,
}

impl ModelTurn {
    /// Binds a scripted turn.
    ///
    /// # Errors
    ///
    /// When one of its operations is not bound.
    pub fn new(index: usize, turn: &Turn, bound: &Bound, folders: &Folders) -> Result<ModelTurn, UnboundOp> {
        let calls = turn.calls.iter().map(|call| {
            let (name, arguments) = bound.call(call, folders)?;
            Ok(ServedCall {
                id: call.wire_id().to_owned(),
                name,
                arguments: corrupt::mangle_all(arguments, &call.mangle),
            })
        });
        Ok(ModelTurn {
            index,
            reason: turn.reason.clone(),
            text: turn.say.clone(),
            calls: calls.collect::<Result<_, _>>()?,
            stop: turn.stop.unwrap_or(if turn.calls.is_empty() { Stop::Stop } else { Stop::ToolCalls }),
            end: turn.end,
            framing: turn.framing.clone(),
            whole: turn.cut.iter().filter_map(anchor).map(str::to_owned).collect(),
        })
    }

    /// A plain text answer, for side traffic.
    pub fn text(text: &str) -> ModelTurn {
        ModelTurn {
            index: 0,
            reason: String::new(),
            text: text.to_owned(),
            calls: Vec::new(),
            stop: Stop::Stop,
            end: End::Clean,
            framing: Framing::default(),
            whole: Vec::new(),
        }
    }

    /// The turn as a fact of the trace. `terminal` says whether its terminal signal is sent.
    pub fn served(&self, times: usize, terminal: bool) -> ServedTurn {
        let stop = if terminal { stop_name(self.stop).to_owned() } else { String::new() };
        ServedTurn { index: self.index, times, terminal, stop, text: self.text.clone(), calls: self.calls.clone() }
    }

    /// A count of output tokens that depends on the turn alone: about one for four bytes.
    pub fn output_tokens(&self) -> usize {
        let calls: usize = self.calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
        (self.reason.len() + self.text.len() + calls).div_ceil(4).max(1)
    }
}

/// The anchor of a cut.
pub(crate) fn anchor(cut: &Cut) -> Option<&str> {
    cut.inside.as_deref().or(cut.before.as_deref()).or(cut.after.as_deref())
}

/// The neutral name of a stop reason.
fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Stop => "stop",
        Stop::ToolCalls => "tool_calls",
        Stop::MaxTokens => "max_tokens",
        Stop::ContentFilter => "content_filter",
    }
}
