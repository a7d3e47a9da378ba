//! One shell and everything it starts: begun in a session of its own, ended as a tree, always reaped.
//!
//! A command runs under a keeper: a second shell that waits for it, tells its exit code, and stays until it is let go. The
//! keeper is the parent of every process below it that loses its own, so that as long as it lives everything the command
//! started is a descendant of it, whatever session, group, folder and environment that took on. A session of their own
//! keeps both from the terminal of whoever started this program.
//!
//! The whole life of a command is one blocking function on one thread, [`supervise`], and nothing in it depends on an
//! async runtime: not the clock, which a test may have stopped, and not the signals by which a runtime learns of ended
//! children. Whoever waits for it holds a [`Leash`], and when nobody waits any more the leash is pulled.
//!
//! Not owned here: a command that kills its keeper by SIGKILL. That is told, and only its session is found again. Nor a
//! command that opens a terminal by its own name (`/dev/pts/N`) or another process's descriptors, which takes another user.

use super::{capture::Capture, tree};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, Signal, kill_process_group},
};
use std::{
    io::{self, Read},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How long processes that outlive the shell may hold its output open.
const LINGER: Duration = Duration::from_secs(2);
/// How long what was killed may take to be gone.
const SETTLE: Duration = Duration::from_secs(2);
/// How often it is looked whether it is gone.
const LOOK: Duration = Duration::from_millis(1);
/// What is read of a pipe at once.
const CHUNK: usize = 64 * 1024;
/// More than any exit code has digits.
const MOST_CODE: usize = 16;

/// What the keeper does. Its standard input is a socket: the exit code goes out on it, and its end is the sign to go. The
/// traps keep it alive when a command signals its whole group (`kill 0`); what it starts has them reset. Its own messages,
/// such as "Killed", go nowhere. If nobody is left to let it go, it takes its group with it.
const KEEPER: &str = "\
trap : HUP INT QUIT ABRT USR1 USR2 PIPE ALRM TERM
exec 3>&2 2>/dev/null
(exec /bin/sh -c \"$1\" </dev/null 2>&3 3>&-)
code=$?
exec >/dev/null 3>&-
echo $code >&0
read code
kill -9 0
";

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// With this exit code; 128 and a signal's number stand for that signal.
    Code(i32),
    /// It killed its keeper, and how it ended itself is not known.
    Unwatched,
    /// Even a kill did not end it in time.
    Running,
}

/// What became of a command.
#[derive(Debug)]
pub struct Ended {
    /// How the shell ended.
    pub status: Status,
    /// Whether it was killed because its time was up.
    pub timed_out: bool,
    /// Whether processes that it left behind were killed after it.
    pub left_over: bool,
    /// Whether all of its processes that could be found are gone.
    pub all_gone: bool,
    /// Its standard output.
    pub stdout: Capture,
    /// Its standard error.
    pub stderr: Capture,
}

/// A shell that runs `command` under a keeper.
pub fn shell(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", KEEPER, "/bin/sh", command]);
    shell
}

/// Gives the command a session of its own, so that it has no terminal, and makes it the parent of orphans below it.
#[expect(unsafe_code, reason = "what happens between fork and exec can be said in no other way")]
fn set_apart(command: &mut Command) {
    let apart = || {
        rustix::process::setsid()?;
        #[cfg(target_os = "linux")]
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        Ok(())
    };
    // SAFETY: the closure runs in the forked child of a process with threads, where only what is safe in a signal handler
    // may be done. It makes three system calls, and neither allocates, locks nor panics.
    unsafe { command.pre_exec(apart) };
}

/// Ends the command it belongs to. A command that has not begun will not begin.
#[derive(Clone, Debug, Default)]
pub struct Leash(Arc<Mutex<State>>);

#[derive(Debug, Default)]
enum State {
    #[default]
    NotBegun,
    Running(Pid),
    Over,
}

impl Leash {
    /// Kills everything below the keeper, now.
    pub fn pull(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            State::NotBegun => *state = State::Over,
            // The number is its own until the keeper is reaped, which happens after this state.
            State::Running(keeper) => tree::kill_below(keeper),
            State::Over => {}
        }
    }

    /// Begins the command unless the leash has been pulled.
    fn begin(&self, command: &mut Command) -> io::Result<Option<(Child, Pid)>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*state, State::NotBegun) {
            return Ok(None);
        }
        let child = command.spawn()?;
        let Some(keeper) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return Err(io::Error::other("the system gave a process number that is none"));
        };
        *state = State::Running(keeper);
        Ok(Some((child, keeper)))
    }

    /// Kills whatever is left below the keeper, then the keeper, and reaps it: whether there was something, and whether
    /// all of it is gone.
    fn finish(&self, mut child: Child, keeper: Pid) -> (bool, bool) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = State::Over;
        let deadline = Instant::now() + SETTLE;
        let (mut found, mut gone) = (false, false);
        let mut below = Vec::new();
        while !gone && Instant::now() < deadline {
            let living = tree::below(keeper);
            below.extend(living.iter().map(|process| process.pid));
            let mut living = living.iter().filter(|process| process.lives).peekable();
            gone = living.peek().is_none();
            found |= !gone;
            living.for_each(|process| tree::kill(process.pid));
            if !gone {
                pause();
            }
        }
        // The only error left is that nobody is there any more.
        let _ = kill_process_group(keeper, Signal::KILL);
        while Instant::now() < deadline && !matches!(child.try_wait(), Ok(Some(_))) {
            pause();
        }
        if !matches!(child.try_wait(), Ok(Some(_))) {
            // It ends when the system lets it; somebody has to be there then.
            let _ = thread::Builder::new().name("reaper".into()).spawn(move || child.wait());
        }
        // Where this process is the parent of orphans, what has ended below the keeper is now its own to reap.
        below.into_iter().for_each(tree::reap);
        (found, gone)
    }
}

/// Runs a [`shell`] to its end, or for `timeout`. `None` if the leash was pulled before it began.
pub fn supervise(mut command: Command, leash: &Leash, timeout: Duration) -> io::Result<Option<Ended>> {
    let (control, theirs) = UnixStream::pair()?;
    command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
    set_apart(&mut command);
    let Some((mut child, keeper)) = leash.begin(&mut command)? else { return Ok(None) };
    // It holds the keeper's end of the socket.
    drop(command);
    let mut watch = Watch {
        stdout: child.stdout.take(),
        stderr: child.stderr.take(),
        control,
        said: Vec::new(),
        status: None,
        captured: Default::default(),
    };
    let watched = watch.listen(leash, timeout);
    let (left_over, all_gone) = leash.finish(child, keeper);
    let (timed_out, lingered) = watched?;
    let status = watch.status.unwrap_or(Status::Running);
    let (stdout, stderr) = watch.captured;
    Ok(Some(Ended { status, timed_out, left_over: left_over || lingered, all_gone, stdout, stderr }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The shell runs.
    Running,
    /// The shell has ended, and something still holds its output open.
    Lingering,
    /// Everything was killed.
    Killed,
}

/// What a running command is heard through; a stream is `None` once it is over.
struct Watch {
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// The keeper's: open until it is to go.
    control: UnixStream,
    /// What the keeper has said so far.
    said: Vec<u8>,
    /// How the shell ended, once it has.
    status: Option<Status>,
    captured: (Capture, Capture),
}

impl Watch {
    /// Listens until everything is over or was killed: whether its time was up, and whether something outlived the
    /// shell.
    fn listen(&mut self, leash: &Leash, timeout: Duration) -> io::Result<(bool, bool)> {
        let mut phase = Phase::Running;
        let mut deadline = Instant::now().checked_add(timeout).unwrap_or_else(Instant::now);
        let (mut timed_out, mut lingered) = (false, false);
        while !self.is_over() {
            if phase == Phase::Running && self.status.is_some() {
                phase = Phase::Lingering;
                deadline = Instant::now() + LINGER;
            }
            // Looked at in every round: one that prints without pause is out of time as well.
            if Instant::now() < deadline {
                self.wait(deadline)?;
                continue;
            }
            match phase {
                Phase::Running => timed_out = true,
                Phase::Lingering => lingered = true,
                Phase::Killed => break,
            }
            leash.pull();
            phase = Phase::Killed;
            deadline = Instant::now() + SETTLE;
        }
        Ok((timed_out, lingered))
    }

    fn is_over(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none() && self.status.is_some()
    }

    /// Waits until something happens or the deadline has come, and takes note of what happened.
    fn wait(&mut self, deadline: Instant) -> io::Result<()> {
        let mut polled = Vec::with_capacity(3);
        polled.extend(self.stdout.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        polled.extend(self.stderr.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        polled.extend(self.status.is_none().then(|| PollFd::new(&self.control, PollFlags::IN)));
        let left = deadline.saturating_duration_since(Instant::now());
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(0) | Err(Errno::INTR) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = polled.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>().into_iter();
        let mut next = |open: bool| open && ready.next().unwrap_or(false);
        let (out, err, control) =
            (next(self.stdout.is_some()), next(self.stderr.is_some()), next(self.status.is_none()));
        if out {
            read_into(&mut self.stdout, &mut self.captured.0);
        }
        if err {
            read_into(&mut self.stderr, &mut self.captured.1);
        }
        if control {
            self.hear();
        }
        Ok(())
    }

    /// Takes in what the keeper says: one line with the exit code. If it goes before that, it was killed.
    fn hear(&mut self) {
        let mut buffer = [0; MOST_CODE];
        match self.control.read(&mut buffer) {
            Ok(read) if read > 0 => self.said.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            _ => self.status = Some(Status::Unwatched),
        }
        if self.said.ends_with(b"\n") || self.said.len() > MOST_CODE {
            let code = std::str::from_utf8(&self.said).ok().and_then(|said| said.trim().parse().ok());
            self.status = Some(code.map_or(Status::Unwatched, Status::Code));
        }
    }
}

/// Reads what is there; the stream is dropped at its end, and on an error, after which there is nothing to read.
fn read_into<S: Read>(stream: &mut Option<S>, capture: &mut Capture) {
    let Some(open) = stream else { return };
    let mut buffer = vec![0; CHUNK];
    match open.read(&mut buffer) {
        Ok(read) if read > 0 => capture.push(&buffer[..read]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        _ => *stream = None,
    }
}

/// Waits a moment in real time: nothing tells when a process that is no child of this one is gone.
fn pause() {
    // An interruption only makes it shorter.
    let _ = poll(&mut [], Some(&timespec(LOOK)));
}

fn timespec(duration: Duration) -> Timespec {
    // One millisecond more, so that a deadline is never met a moment too early and waited for again.
    let duration = duration.saturating_add(Duration::from_millis(1));
    Timespec { tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX), tv_nsec: duration.subsec_nanos().into() }
}
