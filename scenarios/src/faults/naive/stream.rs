//! Reading a turn from the pieces of a body, the way a simple client does: all of it, at the end.

use super::Flaw;
use serde_json::Value;

/// A turn as it was understood.
#[derive(Debug, Default)]
pub struct Turn {
    pub text: String,
    pub calls: Vec<Call>,
    /// Whether a finish reason or `[DONE]` was seen.
    pub ended: bool,
}

/// A call as it was understood.
#[derive(Debug, Default)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: String,
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
        } else if let Ok(chunk) = serde_json::from_str::<Value>(&data) {
            take(&mut turn, &chunk["choices"][0]);
        }
    }
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

fn take(turn: &mut Turn, choice: &Value) {
    let delta = &choice["delta"];
    turn.text.push_str(delta["content"].as_str().unwrap_or_default());
    for fragment in delta["tool_calls"].as_array().into_iter().flatten() {
        let index = fragment["index"].as_u64().and_then(|i| usize::try_from(i).ok()).unwrap_or(0).min(64);
        while turn.calls.len() <= index {
            turn.calls.push(Call::default());
        }
        let call = &mut turn.calls[index];
        call.id.push_str(fragment["id"].as_str().unwrap_or_default());
        call.name.push_str(fragment["function"]["name"].as_str().unwrap_or_default());
        call.arguments.push_str(fragment["function"]["arguments"].as_str().unwrap_or_default());
    }
    turn.ended |= choice["finish_reason"].is_string();
}
