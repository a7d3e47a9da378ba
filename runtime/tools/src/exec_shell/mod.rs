//! `exec_shell`: one shell command, in the foreground.
//!
//! [`process`] runs it and [`capture`] keeps its output; this module says with what it is run and tells the model what
//! became of it.

mod capture;
mod process;

use crate::{
    input::{fault, invalid, optional_count, optional_text, text},
    work::{blocking, refused},
};
use process::{Ended, Leash, supervise};
use serde_json::{Value, json};
use slot_runtime::{
    boundary::{FileBoundary, OpenDir},
    contract::{
        BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
        ValidationFault,
    },
};
use std::{
    ffi::{OsStr, OsString},
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus},
    sync::Arc,
    time::Duration,
};

/// How long a command may take when nothing else is asked for.
pub const DEFAULT_TIMEOUT_MS: u64 = 120_000;
/// The longest that can be asked for.
pub const MAX_TIMEOUT_MS: u64 = 600_000;
/// The longest command, in bytes: what the system takes as one argument.
const MAX_COMMAND_BYTES: usize = 128 * 1024 - 1;

const DESCRIPTION: &str = "\
Run one command with /bin/sh in the workspace and wait until it ends. Use it to build, test, run programs and use \
version control. Use the file tools instead of it for what they do: read_file instead of cat, head and tail, list_dir \
instead of ls, write_file instead of heredocs and redirected echo; they need no approval or less, and quote nothing. \
Each call is a shell of its own: `cd` and variables do not reach the next call, so pass cwd or join commands with &&. \
There is no terminal and no input: pass flags such as -y, and never start an editor, a pager or a prompt. The command and \
all its processes are killed after timeout_ms (120000 when absent, 600000 at most), and processes it leaves behind are \
killed when it ends, so a server started with & does not outlive the call. Output over 30000 bytes is cut in the middle. \
Variables that look like secrets are not passed on. \
Examples: {\"command\": \"cargo test -q 2>&1 | tail -40\"}; {\"command\": \"npm test\", \"cwd\": \"web\", \
\"timeout_ms\": 300000}.";

/// The tool.
pub struct ExecShell {
    boundary: Arc<dyn FileBoundary>,
    environment: Arc<[(OsString, OsString)]>,
}

impl ExecShell {
    /// The tool, starting commands in folders behind `boundary`. Commands get the variables of this process that are not
    /// named like secrets, and then `variables`, whatever their names: those are the host's own choice.
    pub fn new(boundary: Arc<dyn FileBoundary>, variables: Vec<(String, String)>) -> Self {
        Self::inheriting(boundary, std::env::vars_os(), variables)
    }

    fn inheriting(
        boundary: Arc<dyn FileBoundary>,
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
        variables: Vec<(String, String)>,
    ) -> Self {
        let inherited = inherited.into_iter().filter(|(name, _)| !is_secret(name));
        let chosen = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        ExecShell { boundary, environment: inherited.chain(chosen).collect() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    command: String,
    cwd: String,
    timeout_ms: u64,
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
        Ok(Request { command: command.to_owned(), cwd, timeout_ms })
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
        Request::of(input).map(drop)
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
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(&request.command).current_dir(folder.spawn_path());
    // Nobody is there to answer a prompt of git; a host may say otherwise.
    command.env_clear().env("GIT_TERMINAL_PROMPT", "0");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

/// Whether a variable is named like a secret. A command that needs one asks for it by a file or by the user.
fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let ends = ["API_KEY", "APIKEY", "ACCESS_KEY", "ACCESS_KEY_ID", "PRIVATE_KEY", "TOKEN"];
    let holds = ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"];
    ends.iter().any(|end| name.ends_with(end)) || holds.iter().any(|part| name.contains(part))
}

/// What the model reads.
fn output(ended: Ended, timeout_ms: u64) -> ToolOutput {
    let Ended { status, timed_out, left_over, stdout, stderr } = ended;
    let silent = stdout.total() == 0 && stderr.total() == 0;
    let mut parts = Vec::new();
    if stdout.total() > 0 {
        parts.push(stdout.into_text());
    }
    if stderr.total() > 0 {
        parts.push(format!("STDERR:\n{}", stderr.into_text()));
    }
    let (note, ok) = if timed_out {
        let advice = if timeout_ms < MAX_TIMEOUT_MS {
            format!("Pass a larger timeout_ms (at most {MAX_TIMEOUT_MS}), or run less at once.")
        } else {
            "Run less at once.".to_owned()
        };
        (
            Some(format!("[Timed out after {timeout_ms} ms: the command and all its processes were killed. {advice}]")),
            false,
        )
    } else {
        told(status, silent)
    };
    parts.extend(note);
    if left_over && !timed_out {
        parts.push(
            "[Processes that the command left running were killed when it ended. Run what must keep running within the \
             command that needs it.]"
                .to_owned(),
        );
    }
    let content = parts.iter().map(|part| part.trim_end_matches('\n')).collect::<Vec<_>>().join("\n\n");
    let mut output = if ok { ToolOutput::ok(content) } else { ToolOutput::failed(content) };
    output.metadata.insert("exit_code".into(), json!(status.and_then(|status| status.code())));
    output.metadata.insert("timed_out".into(), json!(timed_out));
    output
}

/// The line about how the shell ended, if there is something to say, and whether it ended well.
fn told(status: Option<ExitStatus>, silent: bool) -> (Option<String>, bool) {
    let Some(status) = status else {
        return (Some("[The command was killed, but the system has not ended it yet.]".to_owned()), false);
    };
    match (status.code(), status.signal()) {
        (Some(0), _) if silent => (Some("[No output; exit code 0]".to_owned()), true),
        (Some(0), _) => (None, true),
        (Some(code), _) if silent => (Some(format!("[No output; exit code {code}]")), false),
        (Some(code), _) => (Some(format!("[Exit code {code}]")), false),
        (None, Some(signal)) => (Some(format!("[Killed by signal {signal}{}]", signal_name(signal))), false),
        (None, None) => (Some(format!("[Ended abnormally: {status}]")), false),
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        25 => " (SIGXFSZ)",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
