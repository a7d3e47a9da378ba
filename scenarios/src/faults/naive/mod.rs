//! The naive agent: a small agent over HTTP, sound when told nothing, and broken in one way when told how.
//!
//! It exercises the black-box door: it is started as a command, speaks Chat Completions over TCP, works on real files and
//! processes, and shares no code with the reference runtime. Each [`Flaw`] is a mistake that real agents have made; a
//! case that stays green in its presence proves nothing.

mod edit;
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
    /// Earlier results are shortened in later requests.
    RewriteHistory,
    /// Pieces go to their index alone, and a second call on a busy index is more of the first.
    MergeByIndex,
    /// A piece without an id goes to the last call, whatever its index is.
    LastTakesAll,
    /// A fresh id begins a call, with or without a name.
    NewIdNewCall,
    /// An empty name overwrites the name.
    EmptyOverwrites,
    /// Names are put together from pieces.
    AppendNames,
    /// A call that is sent again is another call.
    TwiceIsTwo,
    /// Calls with the same id are one call.
    MergeById,
    /// A piece with a known id is taken, whatever name it has.
    FirstNameWins,
    /// Arguments that are an object are put into words.
    ObjectAsText,
    /// A turn whose finish reason is not `tool_calls` has no calls.
    TrustReason,
    /// Brackets that are missing are added, also in a turn that was cut.
    MendArguments,
    /// An empty stream is an empty answer.
    EmptyIsFine,
    /// A second try says that it is one.
    RetryDiffers,
    /// A broken stream is asked for again, whatever came of it.
    RetryAlways,
    /// An error in the stream is passed over.
    ErrorIsNothing,
    /// Lines past 64 KiB are left out.
    ShortLines,
    /// Frames without choices or JSON end the turn.
    FirstChoiceOrDie,
    /// Reading goes on after the end.
    ReadPastEnd,
    /// A compressed body is read as text.
    IgnoreEncoding,
    /// After a call that failed, the rest of the turn is left out.
    StopAtFailure,
    /// The results of a turn are exchanged.
    ExchangeResults,
    /// The calls of a turn run in reverse order.
    RunBackwards,
    /// A file that is edited is tidied: plain newlines, one at the end, and no byte-order mark.
    EditTidies,
    /// Of several places the first is edited.
    EditFirst,
    /// `$&` in new text stands for what was found.
    EditPattern,
    /// Quotes in new text turn curly.
    EditCurls,
    /// A block is found by its first and last line.
    EditByEnds,
    /// A block is found by its lines without their blanks, and the first that fits is taken.
    EditTrims,
    /// Numbers before lines are taken away, whatever they are.
    EditNumbers,
    /// A file that is written is tidied like one that is edited.
    WriteTidies,
    /// A file that is written is removed and made anew.
    WriteAnew,
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
            if turn.calls.is_empty() {
                return Ok(turn.text);
            }
            messages.push(replay(&turn));
            let mut results = self.answers(&turn);
            match self.flaw {
                Flaw::DropResult => drop(results.pop()),
                Flaw::DoubleResult => results.insert(0, results[0].clone()),
                Flaw::ReverseResults => results.reverse(),
                Flaw::ExchangeResults => exchange(&mut results),
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
        let mut body = json!({
            "model": "mock-model", "stream": true, "messages": messages, "tools": tools::advertised(self.flaw),
        });
        for _ in 0..MOST_ATTEMPTS {
            let pieces = http::post(self.base_url, &body.to_string(), self.flaw == Flaw::IgnoreEncoding)?;
            let mut turn = stream::read(&pieces, self.flaw);
            if (turn.ended && !turn.broken) || self.runs_anyway(&turn) {
                if self.flaw == Flaw::TrustReason && turn.reason != "tool_calls" {
                    turn.calls.clear();
                }
                return Ok(turn);
            }
            if (!turn.text.is_empty() || !turn.calls.is_empty()) && self.flaw != Flaw::RetryAlways {
                return Err("the stream broke in the middle of a turn".to_owned());
            }
            if self.flaw == Flaw::RetryDiffers {
                body["messages"][0]["content"] = json!("You are a naive agent, at a second try.");
            }
        }
        Err("the stream keeps ending without its terminal signal".to_owned())
    }

    /// Whether a turn that did not end well is taken for one that did.
    fn runs_anyway(&self, turn: &Turn) -> bool {
        match self.flaw {
            Flaw::RunOnEof => true,
            Flaw::ErrorIsNothing => turn.broken,
            Flaw::EmptyIsFine => turn.text.is_empty() && turn.calls.is_empty(),
            _ => false,
        }
    }

    fn answers(&self, turn: &Turn) -> Vec<Value> {
        let mut calls: Vec<&Call> = turn.calls.iter().collect();
        if self.flaw == Flaw::RunBackwards {
            calls.reverse();
        }
        let mut results: Vec<Value> = Vec::new();
        for call in calls {
            results.push(self.answer(call));
            let failed = results.last().is_some_and(|r| r["content"].as_str().is_some_and(|c| c.starts_with("cannot")));
            if failed && self.flaw == Flaw::StopAtFailure {
                break;
            }
        }
        if self.flaw == Flaw::RunBackwards {
            results.reverse();
        }
        results
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

/// Exchanges the contents of the first and the last result.
fn exchange(results: &mut [Value]) {
    if let [first, .., last] = results {
        let content = first["content"].take();
        first["content"] = last["content"].take();
        last["content"] = content;
    }
}

fn replay(turn: &Turn) -> Value {
    let calls: Vec<Value> = turn
        .calls
        .iter()
        .map(|c| json!({"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}))
        .collect();
    json!({"role": "assistant", "content": turn.text, "tool_calls": calls})
}
