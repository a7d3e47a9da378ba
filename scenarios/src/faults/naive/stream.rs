//! Reading a turn from the pieces of a body, the way a simple client does: all of it, at the end.

use super::Flaw;
use serde_json::Value;

/// The longest line that a reader with [`Flaw::ShortLines`] takes.
const SHORT_LINE: usize = 64 << 10;

/// A turn as it was understood.
#[derive(Debug, Default)]
pub struct Turn {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<Call>,
    /// Whether a finish reason or `[DONE]` was seen.
    pub ended: bool,
    /// Whether the server reported an error, or an event could not be read.
    pub broken: bool,
    /// The finish reason.
    pub reason: String,
    /// The call that each index is bound to.
    indices: Vec<(u64, usize)>,
}

/// A call as it was understood.
#[derive(Debug, Default)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: String,
    /// Another call of the turn has the same id, name and arguments.
    is_again: bool,
}

/// Reads a turn.
pub fn read(pieces: &[Vec<u8>], flaw: Flaw) -> Turn {
    let text = match flaw {
        Flaw::LossyPieces => pieces.iter().map(|p| String::from_utf8_lossy(p)).collect(),
        _ => String::from_utf8_lossy(&pieces.concat()).into_owned(),
    };
    let mut turn = Turn::default();
    for data in events(&text, flaw) {
        if data == "[DONE]" {
            turn.ended = true;
            if flaw != Flaw::ReadPastEnd {
                break;
            }
            continue;
        }
        match serde_json::from_str::<Value>(&data) {
            Ok(chunk) if chunk["error"].is_object() => turn.broken = true,
            Ok(chunk) => turn.take(&chunk, flaw),
            Err(_) if data.starts_with('{') => turn.broken = true,
            // No JSON at all: not an event of this protocol.
            Err(_) => turn.broken |= flaw == Flaw::FirstChoiceOrDie,
        }
    }
    turn.settle(flaw);
    turn
}

/// The data of each event of a whole stream.
fn events(text: &str, flaw: Flaw) -> Vec<String> {
    let text = match flaw {
        Flaw::LfOnly => text.to_owned(),
        _ => text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n"),
    };
    let mut events = Vec::new();
    let mut data: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if line.is_empty() {
            if !data.is_empty() {
                events.push(data.join("\n"));
            }
            data.clear();
            continue;
        }
        if flaw == Flaw::ShortLines && line.len() > SHORT_LINE {
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" || flaw == Flaw::EveryLineIsData {
            if flaw == Flaw::LastDataLine {
                data.clear();
            }
            data.push(value.strip_prefix(' ').unwrap_or(value));
        }
    }
    events
}

/// What one piece of a call says. An empty id or name says nothing.
struct Piece<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: &'a Value,
}

impl<'a> Piece<'a> {
    fn of(fragment: &'a Value) -> Self {
        let said = |value: &'a Value| value.as_str().filter(|text| !text.is_empty());
        let function = &fragment["function"];
        Piece {
            index: fragment["index"].as_u64(),
            id: said(&fragment["id"]),
            name: said(&function["name"]),
            arguments: &function["arguments"],
        }
    }
}

impl Turn {
    fn take(&mut self, chunk: &Value, flaw: Flaw) {
        let choice = &chunk["choices"][0];
        if choice.is_null() {
            self.broken |= flaw == Flaw::FirstChoiceOrDie;
            return;
        }
        let delta = &choice["delta"];
        self.text.push_str(delta["content"].as_str().unwrap_or_default());
        self.reasoning.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
        for fragment in delta["tool_calls"].as_array().into_iter().flatten() {
            let piece = Piece::of(fragment);
            self.piece(&piece, flaw);
            if flaw == Flaw::EmptyOverwrites
                && piece.name.is_none()
                && fragment["function"].get("name").is_some()
                && let Some(call) = self.calls.last_mut()
            {
                call.name.clear();
            }
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.ended = true;
            reason.clone_into(&mut self.reason);
        }
    }

    /// The call that a piece belongs to: one that it begins, the one of its id, of its index, or the last.
    fn route(&mut self, piece: &Piece<'_>, flaw: Flaw) -> Option<usize> {
        let bound = self.indices.iter().find(|(index, _)| Some(*index) == piece.index).map(|(_, at)| *at);
        let by_id = piece.id.and_then(|id| self.calls.iter().rposition(|call| call.id == id));
        // A known id on an index of its own is sent again, or is another call: told apart at the end.
        let own_index = piece.name.is_some() && piece.index.is_some() && bound.is_none();
        let known = by_id.filter(|_| !own_index || flaw == Flaw::MergeById);
        let begins = match flaw {
            Flaw::MergeByIndex => piece.name.is_some() && bound.is_none(),
            Flaw::NewIdNewCall => piece.id.is_some() && known.is_none(),
            _ => piece.name.is_some() && piece.id.is_some() && known.is_none(),
        };
        let at = if begins {
            self.calls.push(Call::default());
            self.calls.len() - 1
        } else {
            let by_index = bound.filter(|_| flaw != Flaw::LastTakesAll);
            known.or(by_index).or(self.calls.len().checked_sub(1))?
        };
        if let Some(index) = piece.index.filter(|_| begins || bound.is_none()) {
            self.indices.retain(|(taken, _)| *taken != index);
            self.indices.push((index, at));
        }
        Some(at)
    }

    fn piece(&mut self, piece: &Piece<'_>, flaw: Flaw) {
        let Some(at) = self.route(piece, flaw) else { return };
        let call = &mut self.calls[at];
        if let Some(id) = piece.id.filter(|_| call.id.is_empty()) {
            id.clone_into(&mut call.id);
        }
        match piece.name {
            Some(name) if call.name.is_empty() => name.clone_into(&mut call.name),
            Some(name) if flaw == Flaw::AppendNames => call.name.push_str(name),
            // Another name under a known id: not this call's, and nobody else's.
            Some(name) if name != call.name && flaw != Flaw::FirstNameWins => return,
            _ => {}
        }
        match piece.arguments {
            Value::String(text) => call.arguments.push_str(text),
            Value::Object(_) if flaw == Flaw::ObjectAsText => call.arguments.push_str("[object Object]"),
            Value::Object(_) if call.arguments.is_empty() => call.arguments = piece.arguments.to_string(),
            _ => {}
        }
    }

    /// Finds calls that were sent twice, and gives ids to calls that share one.
    fn settle(&mut self, flaw: Flaw) {
        for at in 1..self.calls.len() {
            let (before, rest) = self.calls.split_at_mut(at);
            let call = &mut rest[0];
            let Some(first) = before.iter().find(|first| first.id == call.id && !call.id.is_empty()) else { continue };
            if first.name == call.name && first.arguments == call.arguments && flaw != Flaw::TwiceIsTwo {
                call.is_again = true;
            } else {
                call.id = format!("{}-{at}", call.id);
            }
        }
        self.calls.retain(|call| !call.is_again);
    }
}
