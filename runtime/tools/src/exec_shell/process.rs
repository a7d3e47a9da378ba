//! One shell and everything it starts: begun as a process group of its own, ended as a group, always reaped.
//!
//! The whole life of a process is one blocking function on one thread, [`supervise`], and nothing in it depends on an
//! async runtime: not the clock, which a test may have stopped, and not the signals by which a runtime learns of ended
//! children. Whoever waits for it holds a [`Leash`], and when nobody waits any more the leash is pulled.
//!
//! Not owned here: processes that leave the group on purpose (`setsid`). They are not found again.

use super::capture::Capture;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid},
};
use std::{
    io::{self, PipeReader, Read},
    os::unix::process::CommandExt,
    process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How long processes that outlive the shell may hold its output open.
const LINGER: Duration = Duration::from_secs(2);
/// How long a killed group may take to be gone.
const SETTLE: Duration = Duration::from_secs(2);
/// What is read of a pipe at once.
const CHUNK: usize = 64 * 1024;

/// What became of a command.
#[derive(Debug)]
pub struct Ended {
    /// How the shell ended; `None` if even a kill did not end it in time.
    pub status: Option<ExitStatus>,
    /// Whether it was killed because its time was up.
    pub timed_out: bool,
    /// Whether processes that it left behind were killed after it.
    pub left_over: bool,
    /// Its standard output.
    pub stdout: Capture,
    /// Its standard error.
    pub stderr: Capture,
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
    /// Kills the whole group, now.
    pub fn pull(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            State::NotBegun => *state = State::Over,
            // The number is its own until the shell is reaped, which happens under this lock.
            State::Running(group) => kill(group),
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
        let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return Err(io::Error::other("the system gave a process number that is none"));
        };
        *state = State::Running(group);
        Ok(Some((child, group)))
    }

    /// Reaps the shell if it has ended, and kills whatever is left of its group; whether there was something.
    fn finish(&self, mut child: Child, group: Pid) -> (Option<ExitStatus>, bool) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State::Over;
        match child.try_wait() {
            Ok(Some(status)) => {
                // The shell is reaped, so that whoever still has its group number was left behind by it. The number
                // cannot have been given to anybody new: numbers are given out in a circle.
                let left_over = test_kill_process_group(group).is_ok() && has_living_member(group);
                if left_over {
                    kill(group);
                }
                (Some(status), left_over)
            }
            _ => {
                kill(group);
                // It ends when the system lets it; somebody has to be there then.
                let _ = thread::Builder::new().name("reaper".into()).spawn(move || child.wait());
                (None, false)
            }
        }
    }
}

fn kill(group: Pid) {
    // The only error left is that nobody is there any more.
    let _ = kill_process_group(group, Signal::KILL);
}

/// Whether any process of the group still runs. One that is ending, or that has ended and only waits for somebody to
/// take note, does not.
fn has_living_member(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    let group = group.as_raw_nonzero().to_string();
    processes.flatten().any(|process| {
        process.file_name().to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()))
            && std::fs::read_to_string(process.path().join("stat")).is_ok_and(|stat| lives_in(&stat, &group))
    })
}

/// Whether the process with this line of `/proc/PID/stat` runs in `group`.
fn lives_in(stat: &str, group: &str) -> bool {
    /// The flag of a process that has begun to end; it closes its files after that.
    const EXITING: u64 = 4;
    // The name, in brackets, may hold anything. After it: state, parent, group, session, terminal, its group, flags.
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let (state, own_group) = (fields.next(), fields.nth(1));
    let flags = fields.nth(3).and_then(|flags| flags.parse::<u64>().ok()).unwrap_or(0);
    own_group == Some(group) && !matches!(state, Some("Z" | "X")) && flags & EXITING == 0
}

/// Runs `command` to its end, or for `timeout`. `None` if the leash was pulled before it began.
pub fn supervise(mut command: Command, leash: &Leash, timeout: Duration) -> io::Result<Option<Ended>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let Some((mut child, group)) = leash.begin(&mut command)? else { return Ok(None) };
    let mut watch = Watch { stdout: child.stdout.take(), stderr: child.stderr.take(), ..Watch::default() };
    let watched = watch.listen(group, leash, timeout);
    if watched.is_err() {
        leash.pull();
    }
    let (status, left_over) = leash.finish(child, group);
    let (timed_out, lingered) = watched?;
    let (stdout, stderr) = watch.captured;
    Ok(Some(Ended { status, timed_out, left_over: left_over || lingered, stdout, stderr }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The shell runs.
    Running,
    /// The shell has ended, and something still holds its output open.
    Lingering,
    /// The group was killed.
    Killed,
}

/// What a running command is heard through; each is `None` once it is over.
#[derive(Default)]
struct Watch {
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// Closed when the shell has ended.
    exit: Option<PipeReader>,
    captured: (Capture, Capture),
}

impl Watch {
    /// Listens until everything is over or was killed: whether its time was up, and whether something outlived the
    /// shell.
    fn listen(&mut self, shell: Pid, leash: &Leash, timeout: Duration) -> io::Result<(bool, bool)> {
        self.exit = Some(exit_signal(shell)?);
        let mut phase = Phase::Running;
        let mut deadline = Instant::now().checked_add(timeout).unwrap_or_else(Instant::now);
        let (mut timed_out, mut lingered) = (false, false);
        while !self.is_over() {
            if phase == Phase::Running && self.exit.is_none() {
                phase = Phase::Lingering;
                deadline = Instant::now() + LINGER;
            }
            if self.wait(deadline)? {
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
        self.stdout.is_none() && self.stderr.is_none() && self.exit.is_none()
    }

    /// Waits until something happens and takes note of it; false if nothing did until the deadline.
    fn wait(&mut self, deadline: Instant) -> io::Result<bool> {
        let mut polled = Vec::with_capacity(3);
        polled.extend(self.stdout.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        polled.extend(self.stderr.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        polled.extend(self.exit.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let left = deadline.saturating_duration_since(Instant::now());
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        let mut ready = polled.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>().into_iter();
        let mut next = |open: bool| open && ready.next().unwrap_or(false);
        let (out, err, exit) = (next(self.stdout.is_some()), next(self.stderr.is_some()), next(self.exit.is_some()));
        if out {
            read_into(&mut self.stdout, &mut self.captured.0);
        }
        if err {
            read_into(&mut self.stderr, &mut self.captured.1);
        }
        if exit {
            self.exit = None;
        }
        Ok(true)
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

fn timespec(duration: Duration) -> Timespec {
    // One millisecond more, so that a deadline is never met a moment too early and waited for again.
    let duration = duration.saturating_add(Duration::from_millis(1));
    Timespec { tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX), tv_nsec: duration.subsec_nanos().into() }
}

/// A pipe that closes when the shell has ended, without reaping it: its number must stay its own until its group is
/// ended.
fn exit_signal(shell: Pid) -> io::Result<PipeReader> {
    let (reader, writer) = io::pipe()?;
    thread::Builder::new().name("wait".into()).spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(shell), options), Err(Errno::INTR)) {}
        drop(writer);
    })?;
    Ok(reader)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stat: &str, expect: bool) {
        assert_eq!(lives_in(stat, "77"), expect, "{stat}");
    }

    #[test]
    fn a_process_is_told_by_its_group_and_its_state() {
        check("80 (sleep) S 1 77 77 0 -1 4194304 96", true);
        check("80 (sleep) S 1 78 77 0 -1 4194304 96", false);
        check("80 (sleep) Z 1 77 77 0 -1 4194304 96", false);
        check("80 (sleep) R 1 77 77 0 -1 4194308 96", false);
    }

    #[test]
    fn a_name_cannot_pretend() {
        check("80 (x) Z 1 77 0 (y) S 1 77 77 0 -1 0 96", true);
        check("80 (x) S 1 77 0) Z 1 77 77 0 -1 0 96", false);
        check("", false);
    }
}
