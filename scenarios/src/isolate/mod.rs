//! Keeping a judged agent away from the machine: no network but loopback, and no process that outlives its run.
//!
//! [`enter`] moves the whole process into a network namespace of its own, so that mock, agent and everything the agent
//! starts share one loopback and nothing else. [`census`] finds what an agent left running. Files are the world's
//! business. What is not kept apart: sockets that live in the file system (such as a container engine's), the user's
//! files by absolute path, and processor time.

pub mod census;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod network;

use rustix::process::{Resource, Rlimit};
use std::fmt;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// How the process is kept from the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// In a network namespace, made with the privileges of the caller.
    Network,
    /// In a network namespace within a user namespace, made without privileges.
    UserAndNetwork,
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Isolation::Network => "network namespace with only loopback",
            Isolation::UserAndNetwork => "user and network namespace with only loopback",
        })
    }
}

/// Why the process could not be kept from the network. The process may be half isolated then and must end, unless the
/// error is of a kind that [`IsolationError::untouched`] knows.
#[derive(Debug, thiserror::Error)]
pub enum IsolationError {
    /// This system has no network namespaces.
    #[error("network isolation needs Linux; `--allow-network` runs the agent with the network it would have anyway")]
    Unsupported,
    /// Threads exist already, which the kernel would leave outside.
    #[error(
        "network isolation must come before any thread, and {threads} are running; `--allow-network` runs the agent \
         without it"
    )]
    Threads {
        /// How many threads there are.
        threads: usize,
    },
    /// The kernel makes no namespace for us.
    #[error(
        "the kernel refuses a network namespace ({source}){reason}; run as root, allow unprivileged user namespaces, or \
         pass `--allow-network` to run the agent without isolation"
    )]
    Refused {
        /// What the kernel said.
        source: std::io::Error,
        /// The setting that forbids it, when one was found; starts with `: `.
        reason: String,
    },
    /// The namespace is there, but its loopback is not usable, or is not all there is.
    #[error(
        "the network namespace is not as it must be: {problem}{reason}; `--allow-network` runs the agent without isolation"
    )]
    Unfit {
        /// What is wrong.
        problem: String,
        /// The setting that explains it, when one was found; starts with `: `.
        reason: String,
    },
}

impl IsolationError {
    /// Whether the process is as it was before [`enter`].
    pub fn untouched(&self) -> bool {
        !matches!(self, IsolationError::Unfit { .. })
    }
}

/// Moves this process into a network namespace in which there is only loopback, and shows that this is so.
///
/// It must be called at the start of `main`, before any thread or runtime exists: a namespace belongs to a thread, and
/// only threads made later inherit it. That is also why this is no re-exec: it changes nothing else of the process, so
/// arguments, working folder, standard streams and the test harness's own protocol stay as they are.
///
/// # Errors
///
/// When the system has no namespaces, or the kernel refuses them, or the result is not isolated.
pub fn enter() -> Result<Isolation, IsolationError> {
    #[cfg(target_os = "linux")]
    return network::enter();
    #[cfg(not(target_os = "linux"))]
    Err(IsolationError::Unsupported)
}

/// Makes this process the parent of every orphan among its descendants, so that the census finds and reaps what an
/// agent left behind. Where the system cannot do that, nothing happens: the census then finds processes by their
/// marker alone.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Gives a command a session of its own, so that it has no terminal. With a `mark`, also the limit by which the census
/// knows whatever descends from it ([`census`]).
#[expect(unsafe_code, reason = "what happens between fork and exec can be said in no other way")]
pub fn set_apart(command: &mut Command, mark: Option<u64>) {
    let apart = move || {
        rustix::process::setsid()?;
        if let Some(mark) = mark {
            // The hard limit may not be raised, and where it is low already there is no mark.
            let limits = Rlimit { current: Some(mark), maximum: rustix::process::getrlimit(Resource::Locks).maximum };
            let _ = rustix::process::setrlimit(Resource::Locks, limits);
        }
        Ok(())
    };
    // SAFETY: the closure runs in the forked child of a process with threads, where only what is safe in a signal handler
    // may be done. It makes three system calls, and neither allocates, locks nor panics.
    unsafe { command.pre_exec(apart) };
}
