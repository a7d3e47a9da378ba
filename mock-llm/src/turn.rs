//! A turn as it goes on the wire: bound, filled in and corrupted, but in no dialect yet.

use crate::binding::{Bound, Folders, UnboundOp};
use crate::corrupt;
use crate::fault::Words;
use crate::script::{Call, Cut, End, Framing, Stop, Turn};
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
    /// Binds the turn at `index` of a script's turns.
    ///
    /// # Errors
    ///
    /// When one of its operations is not bound, or that of a call that its words name.
    pub fn new(index: usize, turns: &[Turn], bound: &Bound, folders: &Folders) -> Result<ModelTurn, UnboundOp> {
        let turn = &turns[index];
        let words = |text: &str| said(text, turns, bound, folders).map(|(text, _)| text);
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
            reason: words(&turn.reason)?,
            text: words(&turn.say)?,
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

/// A text with the words of calls in the place of their names, and what names no call of the script.
pub(crate) fn said(
    text: &str,
    turns: &[Turn],
    bound: &Bound,
    folders: &Folders,
) -> Result<(String, Vec<String>), UnboundOp> {
    let mut missing = Vec::new();
    if !text.contains('$') {
        return Ok((text.to_owned(), missing));
    }
    let named = |call: &&Call| text.contains(&format!("({})", call.id));
    let script: Vec<Call> = turns.iter().flat_map(|turn| &turn.calls).filter(named).cloned().collect();
    let sent: Vec<ServedCall> = script
        .iter()
        .map(|call| {
            let (name, arguments) = bound.call(call, folders)?;
            Ok(ServedCall { id: call.wire_id().to_owned(), name, arguments })
        })
        .collect::<Result<_, _>>()?;
    let filled = Words { script: &script, sent: &sent }.fill(text.as_bytes(), &mut missing);
    // Texts are put between the characters of a text, so nothing is lost here.
    Ok((String::from_utf8_lossy(&filled).into_owned(), missing))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;

    #[test]
    fn words_name_the_calls_of_any_turn_as_they_are_bound() {
        let text = "[[turn]]\nsay = '$NAME(c1) for $5'\n[[turn.call]]\nid = 'c1'\ntool = 'run'\nwith = { a = 'ü' }\n\
                    [[turn]]\nreason = '<call>$NAME(c1)$JSON(c1)</call>'\nsay = '$ID(c1)'";
        let script = Script::from_toml(text, "s.toml").unwrap();
        let turn = |index| ModelTurn::new(index, &script.turns, &Bound::default(), &Folders::default()).unwrap();
        assert_eq!(turn(0).text, "run for $5");
        assert_eq!((turn(1).reason.as_str(), turn(1).text.as_str()), (r#"<call>run{"a":"ü"}</call>"#, "c1"));
    }
}
