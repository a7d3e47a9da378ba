//! Flaws of what is sent again: ways in which agents break the prefix that a provider has seen.

use super::Flaw;
use serde_json::{Value, json};
use std::path::Path;
use std::time::SystemTime;

/// Spoils a request that is about to be sent. What the agent itself remembers stays whole.
pub(super) fn spoil(flaw: Flaw, workspace: &Path, messages: &mut Vec<Value>, tools: &mut Value) {
    let turns = messages.iter().filter(|message| message["role"] == "assistant").count();
    match flaw {
        Flaw::ClockInPrompt => {
            #[expect(clippy::disallowed_methods, reason = "reading the wall clock is the flaw")]
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            say(messages, &format!("It is {now:?} past the epoch."));
        }
        Flaw::MeterInPrompt => say(messages, &format!("You have used {turns} turns.")),
        Flaw::FilesInPrompt => {
            let entries = std::fs::read_dir(workspace).into_iter().flatten().flatten();
            let mut names: Vec<String> =
                entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            say(messages, &format!("The workspace holds {}.", names.join(", ")));
        }
        Flaw::LanguageInPrompt => {
            let language = std::env::var("LANGUAGE").unwrap_or_default();
            say(messages, &format!("Speak {language}."));
        }
        Flaw::ShuffleTools => {
            if let Some(list) = tools.as_array_mut() {
                let by = turns % list.len().max(1);
                list.rotate_left(by);
            }
        }
        Flaw::DescribeUse => {
            let text = format!("Runs a command. Turn {turns}.");
            tools[1]["function"]["description"] = json!(text);
        }
        Flaw::DropTools if turns > 1 => *tools = json!([]),
        Flaw::DropHistory if turns > 2 => {
            let mut starts = (0..messages.len()).filter(|at| messages[*at]["role"] == "assistant");
            if let (Some(first), Some(second)) = (starts.next(), starts.next()) {
                messages.drain(first..second);
            }
        }
        Flaw::RespellArguments => earlier(messages, |message| {
            for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
                let text = call["function"]["arguments"].as_str().unwrap_or_default();
                if let Ok(value) = serde_json::from_str::<Value>(text) {
                    call["function"]["arguments"] = json!(format!("{value:#}"));
                }
            }
        }),
        Flaw::TrimHistory => earlier(messages, |message| {
            if message["role"] == "tool" {
                let text = message["content"].as_str().unwrap_or_default().trim().to_owned();
                message["content"] = json!(text);
            }
        }),
        Flaw::FillLater => {
            let last = messages.iter().rposition(|message| message["role"] == "assistant");
            if let Some(result) = last.and_then(|at| messages.get_mut(at + 1)).filter(|next| next["role"] == "tool") {
                result["content"] = json!("[pending]");
            }
        }
        _ => {}
    }
}

fn say(messages: &mut [Value], text: &str) {
    messages[0]["content"] = json!(format!("You are a naive agent. {text}"));
}

/// Changes every message before the latest turn.
fn earlier(messages: &mut [Value], change: impl Fn(&mut Value)) {
    let latest = messages.iter().rposition(|message| message["role"] == "assistant").unwrap_or(0);
    messages[..latest].iter_mut().for_each(change);
}
