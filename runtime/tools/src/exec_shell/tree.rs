//! The processes below another one, found by who their parents are. It decides nothing about them.
//!
//! Where there is no `/proc` nothing is found, and a whole process group is all that can be ended.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds of killing, each of which also meets what was forked since the last.
const ROUNDS: usize = 100;

/// A process below another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    /// Whether it runs. One that is ending, or that has ended and only waits for somebody to take note, does not.
    pub lives: bool,
}

/// Every process that descends from `root`, or is in its session; not `root` itself.
pub fn below(root: Pid) -> Vec<Process> {
    let all = all();
    let root = root.as_raw_nonzero().get();
    let mine = all.iter().filter(|(pid, stat)| **pid != root && (stat.session == root || descends(**pid, root, &all)));
    mine.filter_map(|(pid, stat)| Some(Process { pid: Pid::from_raw(*pid)?, lives: stat.lives })).collect()
}

/// Kills everything below `root`, without waiting for it.
pub fn kill_below(root: Pid) {
    let mut killed = BTreeSet::new();
    for _ in 0..ROUNDS {
        let living = below(root).into_iter().filter(|process| process.lives);
        let fresh: Vec<Pid> =
            living.map(|process| process.pid).filter(|pid| killed.insert(pid.as_raw_nonzero())).collect();
        if fresh.is_empty() {
            break;
        }
        fresh.into_iter().for_each(kill);
    }
    if killed.is_empty() {
        // Nothing was found, perhaps because nothing can be.
        let _ = kill_process_group(root, Signal::KILL);
    }
}

/// Kills a process that was just seen. Its number cannot have been given to anybody new since: numbers are given out in
/// a circle.
pub fn kill(pid: Pid) {
    // The only error left is that it is not there any more.
    let _ = kill_process(pid, Signal::KILL);
}

/// Reaps a process that has ended, if it is a child of this one; else nothing happens.
pub fn reap(pid: Pid) {
    let _ = waitpid(Some(pid), WaitOptions::NOHANG);
}

/// What `/proc/PID/stat` says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: i32,
    session: i32,
    lives: bool,
}

fn all() -> BTreeMap<i32, Stat> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let line = |pid: i32| std::fs::read(format!("/proc/{pid}/stat")).ok();
    pids.filter_map(|pid| Some((pid, stat(&String::from_utf8_lossy(&line(pid)?))?))).collect()
}

fn stat(line: &str) -> Option<Stat> {
    /// The flag of a process that has begun to end; it closes its files after that.
    const EXITING: u64 = 4;
    // The name, in brackets, may hold anything. After it: state, parent, group, session, terminal, its group, flags.
    let mut fields = line.get(line.rfind(')')? + 1..)?.split_ascii_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
    let session = fields.nth(1)?.parse().ok()?;
    let flags: u64 = fields.nth(2)?.parse().ok()?;
    Some(Stat { parent, session, lives: !matches!(state, "Z" | "X" | "x") && flags & EXITING == 0 })
}

fn descends(pid: i32, from: i32, all: &BTreeMap<i32, Stat>) -> bool {
    let mut at = pid;
    // Numbers are read one after another while processes come and go, so that a circle is possible.
    for _ in 0..all.len() {
        match all.get(&at) {
            Some(stat) if stat.parent == from => return true,
            Some(stat) => at = stat.parent,
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Option<(i32, i32, bool)>) {
        assert_eq!(stat(line), expect.map(|(parent, session, lives)| Stat { parent, session, lives }), "{line}");
    }

    #[test]
    fn a_process_is_told_by_its_parent_its_session_and_its_state() {
        check("80 (sleep) S 1 77 76 0 -1 4194304 96", Some((1, 76, true)));
        check("80 (sleep) Z 1 77 76 0 -1 4194304 96", Some((1, 76, false)));
        check("80 (sleep) R 1 77 76 0 -1 4194308 96", Some((1, 76, false)));
        check("80 (sleep) R 1 77", None);
        check("", None);
    }

    #[test]
    fn a_name_cannot_pretend() {
        check("80 (x) Z 1 77 0 (y) S 2 77 76 0 -1 0 96", Some((2, 76, true)));
        check("80 (x) S 1 77 0) Z 1 77 76 0 -1 0 96", Some((1, 76, false)));
    }

    #[test]
    fn descent_is_followed_and_circles_end() {
        let stat = |parent| Stat { parent, session: 0, lives: true };
        let all = [(2, stat(1)), (3, stat(2)), (4, stat(5)), (5, stat(4))].into();
        assert!(descends(3, 1, &all));
        assert!(!descends(4, 1, &all));
        assert!(!descends(9, 1, &all));
    }
}
