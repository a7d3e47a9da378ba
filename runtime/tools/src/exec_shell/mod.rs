//! `exec_shell`: one shell command, in the foreground.
//!
//! [`process`] runs it and [`capture`] keeps its output; this module says with what it is run and tells the model what
//! became of it.

mod assess;
mod capture;
mod permissions;
mod process;
mod tree;

use crate::{
    input::{fault, invalid, optional_count, optional_text, text},
    secrets::is_secret,
    work::{blocking, refused},
};
use permissions::Permissions;
use process::{Ended, Leash, Status, shell, supervise};
use serde_json::{Value, json};
use slot_runtime::{
    approval::Assessment,
    boundary::{FileBoundary, OpenDir},
    contract::{
        BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
        ValidationFault,
    },
};
use std::{ffi::OsString, process::Command, sync::Arc, time::Duration};

/// How long a command may take when nothing else is asked for.
pub const DEFAULT_TIMEOUT_MS: u64 = 120_000;
/// The longest that can be asked for.
pub const MAX_TIMEOUT_MS: u64 = 600_000;
/// The longest command, in bytes: what the system takes as one argument.
const MAX_COMMAND_BYTES: usize = 128 * 1024 - 1;

const DESCRIPTION: &str = "\
Run one command with /bin/sh in the workspace and wait until it ends. Use it to build, test, run programs and use \
version control. Use the file tools instead of it for what they do: read_file instead of cat, head and tail, list_dir \
instead of ls, grep_files instead of grep and rg, glob_files instead of find, write_file instead of heredocs and redirected \
echo; they need no approval or less, and quote nothing. \
Each call is a shell of its own: `cd` and variables do not reach the next call, so pass cwd or join commands with &&. \
There is no terminal and no input: pass flags such as -y, and never start an editor, a pager or a prompt. The command and \
all its processes are killed after timeout_ms (120000 when absent, 600000 at most), and processes it leaves behind are \
killed when it ends, so a server started with & does not outlive the call. Commands that only look, in the workspace, run \
at once; the user is asked about all others, and a command that is one plain program with literal arguments is the easiest to \
approve. There is no sandbox: nothing but that question holds a command back. Output over 30000 bytes is cut in the middle. \
Variables that look like secrets are not passed on. \
Examples: {\"command\": \"cargo test -q 2>&1 | tail -40\"}; {\"command\": \"npm test\", \"cwd\": \"web\", \
\"timeout_ms\": 300000}.";

/// The tool.
pub struct ExecShell {
    boundary: Arc<dyn FileBoundary>,
    environment: Arc<[(OsString, OsString)]>,
}

impl ExecShell {
    /// The tool, starting commands in folders behind `boundary`. Commands get the variables of this process that are no
    /// secrets ([`crate::secrets`]), and then `variables`, whatever they are: those are the host's own choice. They can
    /// still read the environment that this process was started with; a host that holds secrets there starts itself anew
    /// without them, as `slot` does.
    pub fn new(boundary: Arc<dyn FileBoundary>, variables: Vec<(String, String)>) -> Self {
        Self::inheriting(boundary, std::env::vars_os(), variables)
    }

    /// The tool, with `inherited` in place of the variables of this process.
    pub fn inheriting(
        boundary: Arc<dyn FileBoundary>,
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
        variables: Vec<(String, String)>,
    ) -> Self {
        let inherited = inherited.into_iter().filter(|(name, value)| !is_secret(name, value));
        let chosen = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        ExecShell { boundary, environment: inherited.chain(chosen).collect() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    command: String,
    cwd: String,
    timeout_ms: u64,
    permissions: Permissions,
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        let command = text(input, "command")?;
        if command.trim().is_empty() {
            return Err(fault("command", "the command is empty; pass what the shell is to run"));
        }
        if command.contains('\0') {
            return Err(fault("command", "the command contains a NUL character, which no command can; remove it"));
        }
        if command.len() > MAX_COMMAND_BYTES {
            return Err(fault(
                "command",
                format!(
                    "the command has {} bytes, and the system takes {MAX_COMMAND_BYTES}; write it to a script file and run \
                     that",
                    command.len()
                ),
            ));
        }
        let timeout_ms = optional_count(input, "timeout_ms", 1)?.unwrap_or(DEFAULT_TIMEOUT_MS);
        if timeout_ms > MAX_TIMEOUT_MS {
            return Err(fault(
                "timeout_ms",
                format!("the longest timeout_ms is {MAX_TIMEOUT_MS}; split the work into shorter commands"),
            ));
        }
        let cwd = optional_text(input, "cwd")?.unwrap_or(".").to_owned();
        let permissions = Permissions::of(input)?;
        Ok(Request { command: command.to_owned(), cwd, timeout_ms, permissions })
    }
}

impl Tool for ExecShell {
    fn name(&self) -> &str {
        "exec_shell"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "The command line, as sh -c takes it." },
                "cwd": {
                    "type": "string",
                    "description": "The folder to run in, relative to the workspace; the workspace itself when absent.",
                },
                "timeout_ms": {
                    "type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS,
                    "description": "After how many milliseconds it is killed: 120000 when absent.",
                },
                "sandbox_permissions": permissions::schema(),
                "justification": {
                    "type": "string", "maxLength": permissions::MOST_JUSTIFICATION,
                    "description": "One sentence for the user, who is asked: what the command is for.",
                },
                "prefix_rule": {
                    "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": permissions::MOST_WORDS,
                    "description": "The first words of the command that an answer for the session should cover, as narrow as \
                                    they can be, such as [\"cargo\", \"test\"]. The user decides.",
                },
                "additional_permissions": permissions::additional_schema(),
            },
            "required": ["command"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let request = Request::of(input).map_err(invalid)?;
            let (boundary, environment) = (Arc::clone(&self.boundary), Arc::clone(&self.environment));
            let leash = Leash::default();
            let _pulled_when_dropped = Pull(leash.clone());
            let held = leash.clone();
            let mut work = std::pin::pin!(blocking(run, move |_| {
                let folder = boundary.open_dir(&request.cwd).map_err(refused)?;
                let command = command(&request, &folder, &environment);
                let timeout = Duration::from_millis(request.timeout_ms);
                let ended = supervise(command, &held, timeout).map_err(|error| {
                    ToolError::Failed(format!(
                        "the shell could not be started or watched: {error}; try again, and tell the user if it goes on"
                    ))
                })?;
                ended.map(|ended| output(ended, request.timeout_ms)).ok_or(ToolError::Cancelled)
            }));
            tokio::select! {
                biased;
                done = &mut work => done,
                () = run.cancel.cancelled() => {
                    leash.pull();
                    // The group is gone before the call says so.
                    let _ = work.await;
                    Err(ToolError::Cancelled)
                }
            }
        })
    }
}

impl ToolSpec for ExecShell {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ExecutesCode])
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        self.judge(&Request::of(input)?)
    }

    fn assess_input(&self, input: &Value) -> Option<Assessment> {
        // What has no request has no assessment, and so the level of the tool: a person is asked.
        Request::of(input).ok().map(|request| self.assess(&request))
    }

    fn is_destructive(&self) -> bool {
        true
    }

    fn search_hint(&self) -> Option<&str> {
        Some("bash sh terminal command run build test program process")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Run command".into()),
            activity: Some("Running a command".into()),
            transparent: false,
        }
    }
}

/// Pulls the leash when the future that waits for the command is dropped.
struct Pull(Leash);

impl Drop for Pull {
    fn drop(&mut self) {
        self.0.pull();
    }
}

fn command(request: &Request, folder: &OpenDir, environment: &[(OsString, OsString)]) -> Command {
    let mut command = shell(&request.command);
    command.current_dir(folder.spawn_path());
    // Nobody is there to answer a prompt of git; a host may say otherwise.
    command.env_clear().env("GIT_TERMINAL_PROMPT", "0");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

/// What the model reads.
fn output(ended: Ended, timeout_ms: u64) -> ToolOutput {
    let Ended { status, timed_out, left_over, all_gone, stdout, stderr } = ended;
    let silent = stdout.total() == 0 && stderr.total() == 0;
    let mut parts = Vec::new();
    if stdout.total() > 0 {
        parts.push(stdout.into_text());
    }
    if stderr.total() > 0 {
        parts.push(format!("STDERR:\n{}", stderr.into_text()));
    }
    let (note, ok) = if timed_out { (Some(told_timeout(timeout_ms, all_gone)), false) } else { told(status, silent) };
    parts.extend(note);
    if !timed_out && !all_gone {
        parts.push(SURVIVED.to_owned());
    } else if left_over && !timed_out {
        parts.push(
            "[Processes that the command left running were killed when it ended. Run what must keep running within the \
             command that needs it.]"
                .to_owned(),
        );
    }
    let content = parts.iter().map(|part| part.trim_end_matches('\n')).collect::<Vec<_>>().join("\n\n");
    let mut output = if ok { ToolOutput::ok(content) } else { ToolOutput::failed(content) };
    let code = match status {
        Status::Code(code) if !timed_out => Some(code),
        _ => None,
    };
    output.metadata.insert("exit_code".into(), json!(code));
    output.metadata.insert("timed_out".into(), json!(timed_out));
    output
}

const SURVIVED: &str = "[Processes of the command were killed, but the system has not ended them yet. Do not rely on what they \
                        hold, and tell the user.]";

fn told_timeout(timeout_ms: u64, all_gone: bool) -> String {
    let advice = if timeout_ms < MAX_TIMEOUT_MS {
        format!("Pass a larger timeout_ms (at most {MAX_TIMEOUT_MS}), or run less at once.")
    } else {
        "Run less at once.".to_owned()
    };
    let killed = if all_gone { "were killed" } else { "were killed, but the system has not ended all of them yet" };
    format!("[Timed out after {timeout_ms} ms: the command and all its processes {killed}. {advice}]")
}

/// The line about how the shell ended, if there is something to say, and whether it ended well.
fn told(status: Status, silent: bool) -> (Option<String>, bool) {
    let no_output = if silent { "No output; exit code" } else { "Exit code" };
    match status {
        Status::Code(0) => (silent.then(|| format!("[{no_output} 0]")), true),
        Status::Code(code) => (Some(format!("[{no_output} {code}{}]", signal_name(code - 128))), false),
        Status::Running => (Some("[The command was killed, but the system has not ended it yet.]".to_owned()), false),
        Status::Unwatched => (
            Some(
                "[The command killed the process that watches over it, so that its exit code is not known, and processes \
                 that left its session may still run. Do not kill the parent of the shell, or group 0 by SIGKILL.]"
                    .to_owned(),
            ),
            false,
        ),
    }
}

/// A shell tells a command that was ended by a signal from one that exits with 128 and its number by nothing.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => ", as after SIGHUP",
        2 => ", as after SIGINT",
        4 => ", as after SIGILL",
        6 => ", as after SIGABRT",
        8 => ", as after SIGFPE",
        9 => ", as after SIGKILL",
        11 => ", as after SIGSEGV",
        13 => ", as after SIGPIPE",
        15 => ", as after SIGTERM",
        24 => ", as after SIGXCPU",
        25 => ", as after SIGXFSZ",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
