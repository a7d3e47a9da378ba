//! The naive agent: a small agent over HTTP, sound when told nothing, and broken in one way when told how.
//!
//! It exercises the black-box door: it is started as a command, speaks Chat Completions over TCP, works on real files and
//! processes, and shares no code with the reference runtime. Each [`Flaw`] is a mistake that real agents have made; a
//! case that stays green in its presence proves nothing.

mod http;
mod stream;
mod tools;

use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::Path;
use stream::{Call, Turn};

/// The most turns of a run.
const MOST_TURNS: usize = 20;
/// How often a stream that ended without its terminal signal is asked for.
const MOST_ATTEMPTS: usize = 2;

/// One way to be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Flaw {
    /// None: the control.
    None,
    /// The last result of a turn is left out.
    DropResult,
    /// The first result of a turn is sent twice.
    DoubleResult,
    /// Results go back in reverse order.
    ReverseResults,
    /// A result for a call that nobody made is added.
    OrphanResult,
    /// Each call runs twice.
    RunTwice,
    /// A file that no call named is left in the workspace.
    ExtraEffect,
    /// A stream that ends without its terminal signal is taken for a whole turn.
    RunOnEof,
    /// Each piece of the body is decoded as text by itself.
    LossyPieces,
    /// Only line feeds end a line.
    LfOnly,
    /// Every line is taken for data, whatever its field is.
    EveryLineIsData,
    /// Only the last `data` line of an event counts.
    LastDataLine,
    /// Paths are opened as they are.
    FollowPaths,
    /// A refused path is answered without a way out.
    TerseRefusal,
    /// Links are refused even when they stay inside.
    RefuseLinks,
    /// The process id stands in the system text.
    VolatilePrompt,
    /// A tool is advertised twice.
    DuplicateTool,
    /// A tool is advertised under a name with a blank.
    IllegalName,
    /// A tool is advertised without an object schema.
    BadSchema,
    /// Every call is answered as unknown.
    UnknownTool,
    /// The tools are advertised in another order.
    UnsortedTools,
    /// Calls that are written in text are run.
    RunForged,
    /// Earlier results are shortened in later requests.
    RewriteHistory,
    /// It never ends.
    Hang,
    /// It ends by a signal.
    Crash,
    /// It leaves a process behind.
    LeaveProcess,
}

/// Runs the agent; the answer is its exit code.
pub fn run(base_url: &str, workspace: &Path, flaw: Flaw, prompt: &str) -> i32 {
    let naive = Naive { base_url, workspace, flaw };
    match naive.converse(prompt) {
        Ok(text) => {
            println!("{text}");
            0
        }
        Err(error) => {
            eprintln!("naive-agent: {error}");
            1
        }
    }
}

struct Naive<'a> {
    base_url: &'a str,
    workspace: &'a Path,
    flaw: Flaw,
}

impl Naive<'_> {
    fn converse(&self, prompt: &str) -> Result<String, String> {
        let system = match self.flaw {
            Flaw::VolatilePrompt => format!("You are a naive agent, process {}.", std::process::id()),
            _ => "You are a naive agent.".to_owned(),
        };
        let mut messages =
            vec![json!({"role": "system", "content": system}), json!({"role": "user", "content": prompt})];
        for _ in 0..MOST_TURNS {
            let turn = self.ask(&messages)?;
            self.misbehave();
            if self.flaw == Flaw::RunForged {
                forged(&turn.text).iter().for_each(|call| drop(tools::run(call, self.workspace, self.flaw)));
            }
            if turn.calls.is_empty() {
                return Ok(turn.text);
            }
            messages.push(replay(&turn));
            let mut results: Vec<Value> = turn.calls.iter().map(|call| self.answer(call)).collect();
            match self.flaw {
                Flaw::DropResult => drop(results.pop()),
                Flaw::DoubleResult => results.insert(0, results[0].clone()),
                Flaw::ReverseResults => results.reverse(),
                Flaw::OrphanResult => {
                    results.push(json!({"role": "tool", "tool_call_id": "nobody", "content": "ok"}));
                }
                _ => {}
            }
            messages.extend(results);
        }
        Err("too many turns".to_owned())
    }

    /// What some flaws do besides the conversation.
    fn misbehave(&self) {
        match self.flaw {
            Flaw::Hang => loop {
                std::thread::park();
            },
            Flaw::Crash => std::process::abort(),
            Flaw::LeaveProcess => {
                // In a group of its own, so that ending the agent's group does not end it.
                let _ = std::os::unix::process::CommandExt::process_group(&mut std::process::Command::new("sleep"), 0)
                    .arg("600")
                    .stdin(std::process::Stdio::null())
                    .stdout(std::process::Stdio::null())
                    .stderr(std::process::Stdio::null())
                    .spawn();
            }
            Flaw::ExtraEffect => {
                let _ = std::fs::write(self.workspace.join("left-by-nobody"), "x");
            }
            _ => {}
        }
    }

    fn ask(&self, messages: &[Value]) -> Result<Turn, String> {
        let mut messages = messages.to_vec();
        if self.flaw == Flaw::RewriteHistory {
            let results = messages.iter().rposition(|m| m["role"] == "assistant").unwrap_or(0);
            for message in messages[..results].iter_mut().filter(|m| m["role"] == "tool") {
                message["content"] = json!("[shortened]");
            }
        }
        let body = json!({
            "model": "mock-model", "stream": true, "messages": messages, "tools": tools::advertised(self.flaw),
        });
        for _ in 0..MOST_ATTEMPTS {
            let pieces = http::post(self.base_url, &body.to_string())?;
            let turn = stream::read(&pieces, self.flaw);
            if turn.ended || self.flaw == Flaw::RunOnEof {
                return Ok(turn);
            }
            if !turn.text.is_empty() || !turn.calls.is_empty() {
                return Err("the stream broke in the middle of a turn".to_owned());
            }
        }
        Err("the stream keeps ending without its terminal signal".to_owned())
    }

    fn answer(&self, call: &Call) -> Value {
        let content = if self.flaw == Flaw::UnknownTool {
            format!("Unknown tool: {}", call.name)
        } else {
            if self.flaw == Flaw::RunTwice {
                tools::run(call, self.workspace, self.flaw);
            }
            tools::run(call, self.workspace, self.flaw)
        };
        json!({"role": "tool", "tool_call_id": call.id, "content": content})
    }
}

/// The calls that are written in a text, between the tags that many a model was trained on.
fn forged(text: &str) -> Vec<Call> {
    let bodies = text.split("<tool_call>").skip(1).filter_map(|rest| rest.split_once("</tool_call>"));
    let calls = bodies.filter_map(|(body, _)| serde_json::from_str::<Value>(body.trim()).ok());
    calls
        .map(|call| Call {
            id: String::new(),
            name: call["name"].as_str().unwrap_or_default().to_owned(),
            arguments: call["arguments"].to_string(),
        })
        .collect()
}

fn replay(turn: &Turn) -> Value {
    let calls: Vec<Value> = turn
        .calls
        .iter()
        .map(|c| json!({"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}))
        .collect();
    json!({"role": "assistant", "content": turn.text, "tool_calls": calls})
}
