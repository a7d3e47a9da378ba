//! The naive agent: a small agent over HTTP, sound when told nothing, and broken in one way when told how.
//!
//! It exercises the black-box door: it is started as a command, speaks Chat Completions over TCP, works on real files and
//! processes, and shares no code with the reference runtime. Each [`Flaw`] is a mistake that real agents have made; a
//! case that stays green in its presence proves nothing.

mod arguments;
mod edit;
mod http;
mod prefix;
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
    /// A path ends at its first NUL.
    CutAtNul,
    /// Whatever a path names is opened.
    OpenAnything,
    /// Paths begin in the folder that a command says it is in.
    AdoptFolder,
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
    /// Commands that are written in text or reasoning are run, whatever they are wrapped in.
    RunForged,
    /// Commands that are written in results are run.
    RunResults,
    /// A result that the model writes itself is taken for that of its first call.
    BelieveResults,
    /// Arguments lose what looks like a wrapped call.
    ScrubArguments,
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
    /// A comma before a bracket is taken out wherever it stands, before anything is read.
    MendFirst,
    /// Arguments that cannot be read are none.
    UnreadIsEmpty,
    /// Of several objects the first is taken.
    FirstObject,
    /// Arguments that are no object are taken for one without fields.
    AnyValue,
    /// Arguments that cannot be read end the run.
    DieOnBadArguments,
    /// A call goes back with whatever stood in the place of its arguments.
    ReplayAnything,
    /// Arguments are read without a bound on their depth.
    NoDepthLimit,
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
    /// It leaves a process behind that has nothing left of it: no environment, session or folder.
    LeaveStranger,
    /// Its commands get its whole environment.
    PassEnvironment,
    /// It keeps the environment that it was started with.
    KeepEnvironment,
    /// Its commands share its session.
    ShareSession,
    /// The time stands in the system text of each request.
    ClockInPrompt,
    /// How many requests there were stands in the system text.
    MeterInPrompt,
    /// What lies in the workspace stands in the system text.
    FilesInPrompt,
    /// The language of the environment stands in the system text.
    LanguageInPrompt,
    /// Each request advertises the tools in another order.
    ShuffleTools,
    /// The description of a tool tells what was done.
    DescribeUse,
    /// The last requests are made without tools.
    DropTools,
    /// The oldest turn is left out once there are three.
    DropHistory,
    /// Arguments of earlier turns are spelled anew.
    RespellArguments,
    /// White space at the ends of earlier results is taken away.
    TrimHistory,
    /// The first result of a turn is a placeholder until the next request.
    FillLater,
}

/// What commands get of the environment, and all that a sound agent keeps of one with a key in it.
const ENVIRONMENT: [&str; 4] = ["PATH", "HOME", "TMPDIR", crate::world::MARKER];

/// The agent's environment without secrets.
fn plain_environment() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    ENVIRONMENT.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
}

/// Starts this program in place of itself without the keys in its environment, if there are any.
fn forget_keys() -> Result<(), String> {
    let has_key = std::env::vars_os().any(|(name, _)| name.to_string_lossy().ends_with("_API_KEY"));
    if !has_key {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(|error| format!("cannot find itself: {error}"))?;
    let mut anew = std::process::Command::new(program);
    anew.args(std::env::args_os().skip(1)).env_clear().envs(plain_environment());
    Err(format!("cannot start anew: {}", std::os::unix::process::CommandExt::exec(&mut anew)))
}

/// Runs the agent; the answer is its exit code.
pub fn run(base_url: &str, workspace: &Path, flaw: Flaw, prompt: &str) -> i32 {
    let naive = Naive { base_url, workspace, flaw };
    let keeps = matches!(flaw, Flaw::PassEnvironment | Flaw::KeepEnvironment | Flaw::LanguageInPrompt);
    let ready = if keeps { Ok(()) } else { forget_keys() };
    match ready.and_then(|()| naive.converse(prompt)) {
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
                self.run_written(&turn.text);
                self.run_written(&turn.reasoning);
            }
            if turn.calls.is_empty() {
                return Ok(turn.text);
            }
            if self.flaw == Flaw::DieOnBadArguments
                && let Some(bad) = turn.calls.iter().find(|call| arguments::read(&call.arguments, self.flaw).is_none())
            {
                return Err(format!("the arguments of {} are not valid", bad.name));
            }
            messages.push(replay(&turn, self.flaw));
            let mut results = self.answers(&turn);
            match self.flaw {
                Flaw::DropResult => drop(results.pop()),
                Flaw::DoubleResult => results.insert(0, results[0].clone()),
                Flaw::ReverseResults => results.reverse(),
                Flaw::ExchangeResults => exchange(&mut results),
                Flaw::BelieveResults => {
                    if let Some(result) = written_result(&turn.text) {
                        results[0]["content"] = json!(result);
                    }
                }
                Flaw::OrphanResult => {
                    results.push(json!({"role": "tool", "tool_call_id": "nobody", "content": "ok"}));
                }
                _ => {}
            }
            if self.flaw == Flaw::RunResults {
                results.iter().for_each(|result| self.run_written(result["content"].as_str().unwrap_or_default()));
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
            Flaw::LeaveStranger => {
                let mut stranger = std::process::Command::new("sleep");
                stranger.arg("600").env_clear().current_dir("/");
                for set in [std::process::Command::stdin, std::process::Command::stdout, std::process::Command::stderr]
                {
                    set(&mut stranger, std::process::Stdio::null());
                }
                crate::isolate::set_apart(&mut stranger, None);
                let _ = stranger.spawn();
            }
            Flaw::ExtraEffect => {
                let _ = std::fs::write(self.workspace.join("left-by-nobody"), "x");
            }
            _ => {}
        }
    }

    fn run_written(&self, text: &str) {
        for command in written(text) {
            tools::shell(command, self.workspace, self.flaw);
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
        let mut tools = tools::advertised(self.flaw);
        prefix::spoil(self.flaw, self.workspace, &mut messages, &mut tools);
        let mut body = json!({
            "model": "mock-model", "stream": true, "messages": messages, "tools": tools,
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

/// The commands that are written in a text, however a model writes them: `"command": "…"`, `command="…"`, `{command:…}`,
/// or between the tags of an element that has the word in its name or its attributes.
fn written(text: &str) -> Vec<&str> {
    let commands = text.match_indices("command").filter_map(|(at, word)| {
        let rest = &text[at + word.len()..];
        match rest.strip_prefix(['=', ':']) {
            Some(rest) if rest.starts_with('"') => rest.split('"').nth(1),
            Some(rest) => rest.split('}').next(),
            None if rest.starts_with("\":") => rest.split('"').nth(2),
            None => rest.split_once('>').and_then(|(_, body)| body.split('<').next()),
        }
    });
    commands.map(str::trim).filter(|command| !command.is_empty()).collect()
}

/// The result that is written in a text.
fn written_result(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<tool_response>")?;
    rest.split_once("</tool_response>").map(|(result, _)| result.trim())
}

fn replay(turn: &Turn, flaw: Flaw) -> Value {
    let calls: Vec<Value> = turn
        .calls
        .iter()
        .map(|c| (c, arguments::replayed(&c.arguments, flaw)))
        .map(|(c, text)| json!({"id": c.id, "type": "function", "function": {"name": c.name, "arguments": text}}))
        .collect();
    json!({"role": "assistant", "content": turn.text, "tool_calls": calls})
}
