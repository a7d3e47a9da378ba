//! The census: which processes belong to a run, and are they gone.
//!
//! A process belongs to a run when its environment carries the run's marker. A descendant of ours also belongs when it
//! is in the agent's process group, works in the run's folders, or has the run's mark: a process may drop its environment,
//! its session and its folder, but nobody sets the limit on file locks, which the kernel no longer heeds and every
//! descendant inherits. It is set on agents that are commands.
//!
//! What commands of an agent in this process leave has no mark. A descendant of ours that belongs to no run, nor any
//! process above it, and has left our session, is a stray: it is some run's, and the run that meets it first is told.
//! That is exact where one run is made at a time. Where there is no `/proc`, nothing is found.

use rustix::process::{Pid, Signal, WaitOptions};
use slot_oracles::trace::Leftover;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// A process that ends by itself this soon after its agent is no leftover: ten looks, 20 ms apart.
const GRACE_LOOKS: usize = 10;
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Rounds of killing, each of which also meets what was forked since the last.
const KILL_ROUNDS: usize = 100;
/// Of an environment this much is read; the kernel allows more, the agents we start get far less.
const MAX_ENVIRONMENT: u64 = 1024 * 1024;
const USUAL_ENVIRONMENT: usize = 8 * 1024;
/// More than any `/proc/PID/stat` holds: a name of at most 64 bytes and some fifty numbers.
const MAX_STAT: usize = 4 * 1024;
/// Characters of a command line that are reported.
const MAX_COMMAND: usize = 200;

/// The processes of one run.
#[derive(Clone, Debug)]
pub struct Processes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    marker: String,
    assignment: Vec<u8>,
    root: PathBuf,
    mark: u64,
    groups: Mutex<BTreeSet<u32>>,
    /// Whether strays are this run's to answer for.
    strays: AtomicBool,
}

/// Every run that there is.
static KNOWN: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

/// What `/proc/PID/stat` says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    group: u32,
    session: u32,
    ended: bool,
}

impl Processes {
    /// The processes whose environment holds `variable=marker`, or that work below `root` (a canonical path).
    pub fn new(variable: &str, marker: String, root: PathBuf) -> Self {
        let assignment = format!("{variable}={marker}").into_bytes();
        let mark = mark(&marker);
        let strays = AtomicBool::new(false);
        let inner = Arc::new(Inner { marker, assignment, root, mark, groups: Mutex::default(), strays });
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|run| run.strong_count() > 0);
        known.push(Arc::downgrade(&inner));
        Processes(inner)
    }

    /// The limit on file locks that marks every process of this run.
    pub fn mark(&self) -> u64 {
        self.0.mark
    }

    /// From now on this run answers for strays as well.
    pub fn answer_for_strays(&self) {
        self.0.strays.store(true, Ordering::Relaxed);
    }

    /// The marker.
    pub fn marker(&self) -> &str {
        &self.0.marker
    }

    /// Counts a process group as this run's. Its leader is the caller's to reap.
    pub fn track_group(&self, group: u32) {
        self.0.groups.lock().unwrap_or_else(PoisonError::into_inner).insert(group);
    }

    /// Waits a moment for what is about to end, then lists, kills and reaps what is left. Bounded: about two seconds
    /// when a process cannot be killed, nothing when none is there.
    pub async fn sweep(&self) -> Vec<Leftover> {
        let mut alive = self.look().await;
        for _ in 0..GRACE_LOOKS {
            if alive.is_empty() {
                return Vec::new();
            }
            tokio::time::sleep(LOOK_EVERY).await;
            alive = self.look().await;
        }
        let mut found = BTreeMap::new();
        for _ in 0..KILL_ROUNDS {
            for pid in &alive {
                found.entry(*pid).or_insert_with(|| Leftover { pid: *pid, command: command_line(*pid) });
                self.kill(*pid);
            }
            if alive.is_empty() {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
            found.keys().copied().for_each(reap);
            alive = self.look().await;
        }
        found.into_values().collect()
    }

    /// Kills everything of this run at once, without waiting: the way out when a run is abandoned.
    pub fn kill_now(&self) {
        let mut killed = BTreeSet::new();
        for _ in 0..KILL_ROUNDS {
            let fresh: Vec<u32> = self.alive().into_iter().filter(|pid| killed.insert(*pid)).collect();
            if fresh.is_empty() {
                break;
            }
            fresh.into_iter().for_each(|pid| self.kill(pid));
        }
    }

    /// [`Processes::alive`] away from the runtime's own threads, for it reads many small files.
    async fn look(&self) -> Vec<u32> {
        let this = self.clone();
        tokio::task::spawn_blocking(move || this.alive()).await.unwrap_or_default()
    }

    /// The living processes of this run, by id. Ended members of the run's groups that fell to us are reaped on the way.
    fn alive(&self) -> Vec<u32> {
        let own = std::process::id();
        let all = processes();
        let groups = self.0.groups.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut alive = Vec::new();
        for (pid, stat) in &all {
            if stat.ended {
                if stat.parent == own && groups.contains(&stat.group) && !groups.contains(pid) {
                    reap(*pid);
                }
            } else if *pid != own && self.owns(*pid, *stat, &groups, &all) {
                alive.push(*pid);
            }
        }
        alive
    }

    fn owns(&self, pid: u32, stat: Stat, groups: &BTreeSet<u32>, all: &BTreeMap<u32, Stat>) -> bool {
        if self.marked(pid) {
            return true;
        }
        let Some(line) = line_to(pid, std::process::id(), all) else { return false };
        groups.contains(&stat.group)
            || self.works_inside(pid)
            || limit_on_locks(pid) == Some(self.0.mark)
            || (self.0.strays.load(Ordering::Relaxed) && is_stray(&line, all))
    }

    fn marked(&self, pid: u32) -> bool {
        // Room for most environments, so that one is read at once and not in pieces that begin with 32 bytes.
        let mut environment = Vec::with_capacity(USUAL_ENVIRONMENT);
        let read = fs::File::open(format!("/proc/{pid}/environ"))
            .and_then(|file| file.take(MAX_ENVIRONMENT).read_to_end(&mut environment));
        read.is_ok() && environment.split(|byte| *byte == 0).any(|entry| entry == self.0.assignment)
    }

    fn works_inside(&self, pid: u32) -> bool {
        let inside =
            |what| fs::read_link(format!("/proc/{pid}/{what}")).is_ok_and(|path| path.starts_with(&self.0.root));
        inside("cwd") || inside("exe")
    }

    /// Kills a process if it is still one of ours: the descriptor pins it, so that its id cannot have passed to another
    /// process between the look and the signal.
    #[cfg(target_os = "linux")]
    fn kill(&self, pid: u32) {
        let Some(id) = raw(pid) else { return };
        let Ok(pinned) = rustix::process::pidfd_open(id, rustix::process::PidfdFlags::empty()) else { return };
        let groups = self.0.groups.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let all = processes();
        if let Some(stat) = all.get(&pid)
            && self.owns(pid, *stat, &groups, &all)
        {
            let _ = rustix::process::pidfd_send_signal(&pinned, Signal::KILL);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn kill(&self, _pid: u32) {}
}

fn raw(pid: u32) -> Option<Pid> {
    Pid::from_raw(pid.cast_signed())
}

/// Reaps a process that has ended, if it is our child; else nothing happens.
fn reap(pid: u32) {
    if let Some(pid) = raw(pid) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// All processes.
fn processes() -> BTreeMap<u32, Stat> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| Some((pid, stat_of(&pid)?))).collect()
}

/// The session that this process is in; `None` where the system does not tell.
///
/// It is 0 where the leader is outside of our namespace of process ids, as under `docker exec` or `unshare --pid`:
/// that is why it is read here and not asked by `getsid`, whose wrapper takes 0 for impossible.
pub fn own_session() -> Option<u32> {
    stat_of(&"self").map(|stat| stat.session)
}

/// The file is given out whole by the first read, and there are as many of them as there are processes.
fn stat_of(process: &dyn Display) -> Option<Stat> {
    let mut buffer = [0; MAX_STAT];
    let len = fs::File::open(format!("/proc/{process}/stat")).and_then(|mut file| file.read(&mut buffer)).ok()?;
    stat(&String::from_utf8_lossy(&buffer[..len]))
}

/// Whether this process has no child at all, alive or ended, and would be the parent of every orphan: then nothing that
/// it started is alive. One look at one number in place of one at every process of the machine.
#[cfg(target_os = "linux")]
pub fn is_childless() -> bool {
    use rustix::process::{WaitId, WaitIdOptions, child_subreaper, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    child_subreaper().is_ok_and(|own| own.is_some())
        && waitid(WaitId::All, look).is_err_and(|e| e == rustix::io::Errno::CHILD)
}

/// Nothing is known of children here.
#[cfg(not(target_os = "linux"))]
pub fn is_childless() -> bool {
    false
}

/// Reads `/proc/PID/stat`: the command in brackets may itself hold brackets and blanks.
fn stat(text: &str) -> Option<Stat> {
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?;
    Some(Stat {
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
        session: fields.next()?.parse().ok()?,
        ended: matches!(state, "Z" | "X" | "x"),
    })
}

/// The processes from `pid` up to the child of `top` that it descends from; `None` if it does not.
fn line_to(pid: u32, top: u32, all: &BTreeMap<u32, Stat>) -> Option<Vec<u32>> {
    let mut line = Vec::new();
    let mut at = pid;
    // Ids are read one after another while processes come and go, so that a circle is possible.
    for _ in 0..all.len() {
        let stat = all.get(&at)?;
        line.push(at);
        if stat.parent == top {
            return Some(line);
        }
        at = stat.parent;
    }
    None
}

/// Whether a process with this line of parents belongs to no run, and is none of our own: those stay in our session.
fn is_stray(line: &[u32], all: &BTreeMap<u32, Stat>) -> bool {
    let own = own_session();
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let runs: Vec<Processes> = known.iter().filter_map(Weak::upgrade).map(Processes).collect();
    drop(known);
    let of_a_run = |pid: u32| {
        let group = all.get(&pid).map_or(0, |stat| stat.group);
        let limit = limit_on_locks(pid);
        runs.iter().any(|run| {
            let tracked = run.0.groups.lock().unwrap_or_else(PoisonError::into_inner).contains(&group);
            tracked || limit == Some(run.0.mark) || run.marked(pid) || run.works_inside(pid)
        })
    };
    line.iter().all(|pid| all.get(pid).is_some_and(|stat| Some(stat.session) != own) && !of_a_run(*pid))
}

/// A number that a run's processes have as their limit, different for each marker as far as that goes.
fn mark(marker: &str) -> u64 {
    let hash = marker
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    // Neither few nor without end.
    (hash >> 2) | (1 << 61)
}

/// The soft limit of a process on file locks.
fn limit_on_locks(pid: u32) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file locks"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// The command line of a process, arguments joined by blanks.
fn command_line(pid: u32) -> String {
    let read = |file: &str| fs::read(Path::new("/proc").join(pid.to_string()).join(file)).unwrap_or_default();
    let line = read("cmdline");
    let line = if line.is_empty() { read("comm") } else { line };
    let text = String::from_utf8_lossy(&line).replace(['\0', '\n'], " ");
    text.trim_end().chars().take(MAX_COMMAND).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<(u32, u32, u32, bool)>) {
        let stat_of = |(parent, group, session, ended)| Stat { parent, group, session, ended };
        assert_eq!(stat(text), expect.map(stat_of));
    }

    #[test]
    fn a_stat_line_is_read_past_any_name() {
        check("7 (sleep) S 3 5 6 0 -1 0", Some((3, 5, 6, false)));
        check("7 (a) Z 9 9 (b)) Z 3 5 6", Some((3, 5, 6, true)));
        check("7 (sleep) S 3", None);
        check("7 sleep S 3 5", None);
        check("", None);
    }

    #[test]
    fn descent_is_followed_and_circles_end() {
        let stat = |parent| Stat { parent, group: 0, session: 0, ended: false };
        let all = [(2, stat(1)), (3, stat(2)), (4, stat(5)), (5, stat(4))].into();
        assert_eq!(line_to(3, 1, &all), Some(vec![3, 2]));
        assert_eq!(line_to(4, 1, &all), None);
        assert_eq!(line_to(9, 1, &all), None);
    }

    #[test]
    fn a_long_or_missing_command_line_is_short() {
        assert_eq!(command_line(u32::MAX), "");
        assert!(command_line(std::process::id()).chars().count() <= MAX_COMMAND);
    }
}
