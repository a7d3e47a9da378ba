//! One run of `git`: without a terminal, without the environment of this process, bounded in bytes and in time.
//!
//! A run is one blocking function on one thread, and nothing in it depends on an async runtime. It ends when `git` ends,
//! when enough has been read, when its time is up, or when the call is cancelled; `git` and all of its group are gone
//! then, but for what the system itself does not let go.

use super::Git;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, Signal, kill_process_group},
};
use slot_runtime::contract::ToolError;
use std::{
    ffi::OsStr,
    io::{self, Read},
    ops::ControlFlow,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// How long a run may take that only looks.
pub const LOOKS: Duration = Duration::from_secs(30);
/// How often it is looked whether the call is still wanted.
const LOOK: Duration = Duration::from_millis(20);
/// How long what was killed may take to be gone.
const SETTLE: Duration = Duration::from_secs(2);
/// What is read of a pipe at once.
const CHUNK: usize = 64 * 1024;
/// How much of the messages is kept.
const MESSAGES: usize = 4096;

/// Settings that hold whatever a configuration says. The view has no configuration of the repository's own; these are for
/// the day on which that is not so.
///
/// What only makes reading faster (the graph of commits, the index over packs) can say other things than the objects do,
/// and is left out as well.
const SETTINGS: [&str; 20] = [
    "core.commitGraph=false",
    "core.multiPackIndex=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.untrackedCache=false",
    "core.bigFileThreshold=16m",
    "core.quotePath=false",
    "core.sshCommand=false",
    "color.ui=false",
    "diff.autoRefreshIndex=false",
    "diff.external=",
    "gc.auto=0",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
];

/// Where `git` is to work.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// What takes the place of the repository's folder.
    pub view: &'a Path,
    /// The folder it is started in, which is the root of the files.
    pub files: &'a Path,
    /// How long it may take.
    pub time: Duration,
}

/// What a run came to.
#[derive(Debug)]
pub struct Finished {
    /// Whether it ended with 0, or was stopped because enough was read.
    pub ok: bool,
    /// Whether it was stopped because enough was read.
    pub cut: bool,
    /// The beginning of its messages.
    pub messages: String,
}

/// Runs `git` with `arguments` and hands what it prints to `take`, until that has enough.
pub fn run<S: AsRef<OsStr>>(
    git: &Git,
    place: Place<'_>,
    arguments: &[S],
    stop: &CancellationToken,
    take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<Finished, ToolError> {
    let Some(program) = &git.program else {
        return Err(ToolError::Unavailable(
            "git is not installed, or not in a folder of PATH; tell the user, and go on without it".to_owned(),
        ));
    };
    let mut command = command(program, git, place, arguments);
    let mut running = Running::start(&mut command).map_err(|error| {
        ToolError::Failed(format!("git could not be started: {error}; try again, and tell the user if it goes on"))
    })?;
    let ended = running.listen(place.time, stop, take);
    let (code, messages) = running.finish();
    match ended.map_err(|error| ToolError::Failed(format!("git could not be listened to: {error}; try again")))? {
        End::Cancelled => Err(ToolError::Cancelled),
        End::TimedOut => Err(ToolError::Failed(format!(
            "git took longer than {} s and was stopped; ask for less, such as one path or fewer commits",
            place.time.as_secs()
        ))),
        End::Enough => Ok(Finished { ok: true, cut: true, messages }),
        End::Over => Ok(Finished { ok: code == Some(0), cut: false, messages }),
    }
}

fn command<S: AsRef<OsStr>>(program: &Path, git: &Git, place: Place<'_>, arguments: &[S]) -> Command {
    let mut command = Command::new(program);
    command.args(["--no-pager", "--literal-pathspecs", "--no-replace-objects"]);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command.args(arguments);
    command.current_dir(place.files).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that it can be ended with whatever it started.
    command.process_group(0);
    command.env_clear();
    command.env("PATH", &git.folders).env("HOME", place.view).env("XDG_CONFIG_HOME", place.view);
    command.env("GIT_DIR", place.view).env("GIT_WORK_TREE", ".");
    command.envs([
        ("LC_ALL", "C"),
        ("TZ", "UTC"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_ALLOW_PROTOCOL", ""),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", "false"),
        ("GIT_EDITOR", "false"),
        ("GIT_PAGER", "cat"),
    ]);
    command
}

/// Why nothing more is listened to.
enum End {
    Over,
    Enough,
    TimedOut,
    Cancelled,
}

struct Running {
    child: Child,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    messages: Vec<u8>,
}

impl Running {
    fn start(command: &mut Command) -> io::Result<Running> {
        let mut child = command.spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Ok(Running { child, stdout, stderr, messages: Vec::new() })
    }

    fn listen(
        &mut self,
        time: Duration,
        stop: &CancellationToken,
        take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> io::Result<End> {
        let deadline = Instant::now() + time;
        let mut buffer = vec![0; CHUNK];
        while self.stdout.is_some() || self.stderr.is_some() {
            // Looked at in every round: one that prints without pause is cancelled and out of time as well.
            if stop.is_cancelled() {
                return Ok(End::Cancelled);
            }
            if Instant::now() >= deadline {
                return Ok(End::TimedOut);
            }
            let (out, err) = self.wait()?;
            if err {
                let read = read(&mut self.stderr, &mut buffer);
                let room = MESSAGES - self.messages.len();
                self.messages.extend_from_slice(&buffer[..read.min(room)]);
            }
            if out {
                let read = read(&mut self.stdout, &mut buffer);
                if read > 0 && take(&buffer[..read]).is_break() {
                    return Ok(End::Enough);
                }
            }
        }
        Ok(End::Over)
    }

    /// Waits a moment for output: whether there is some, on each stream.
    fn wait(&self) -> io::Result<(bool, bool)> {
        let mut polled = Vec::with_capacity(2);
        polled.extend(self.stdout.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        polled.extend(self.stderr.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        match poll(&mut polled, Some(&timespec(LOOK))) {
            Ok(0) | Err(Errno::INTR) => return Ok((false, false)),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = polled.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>().into_iter();
        let mut next = |open: bool| open && ready.next().unwrap_or(false);
        Ok((next(self.stdout.is_some()), next(self.stderr.is_some())))
    }

    /// Ends what is left and reaps it: the exit code, where it ended by itself, and its messages.
    fn finish(mut self) -> (Option<i32>, String) {
        let over = self.stdout.is_none() && self.stderr.is_none();
        // Both streams are over: it is about to end.
        let code = if over { self.reap() } else { None };
        if code.is_none() {
            if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
                // The number is its own until it is reaped; the only error left is that nobody is there any more.
                let _ = kill_process_group(group, Signal::KILL);
            }
            if self.reap().is_none() {
                // It ends when the system lets it; somebody has to be there then.
                let mut child = self.child;
                let _ = thread::Builder::new().name("reaper".into()).spawn(move || child.wait());
            }
        }
        (code, String::from_utf8_lossy(&self.messages).into_owned())
    }

    /// Waits for its end: the exit code, where a signal counts as -1. `None` if it is still there after a while.
    fn reap(&mut self) -> Option<i32> {
        let deadline = Instant::now() + SETTLE;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status.code().unwrap_or(-1)),
                Ok(None) if Instant::now() < deadline => pause(),
                _ => return None,
            }
        }
    }
}

/// Reads what is there; the stream is dropped at its end, and on an error, after which there is nothing to read.
fn read<S: Read>(stream: &mut Option<S>, buffer: &mut [u8]) -> usize {
    let Some(open) = stream else { return 0 };
    match open.read(buffer) {
        Ok(read) if read > 0 => read,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
        _ => {
            *stream = None;
            0
        }
    }
}

/// Waits a moment in real time.
fn pause() {
    // An interruption only makes it shorter.
    let _ = poll(&mut [], Some(&timespec(Duration::from_millis(1))));
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX), tv_nsec: duration.subsec_nanos().into() }
}
