//! One process: started, listened to, ended in time, and gone afterwards with everything it started.

use crate::isolate::census::Processes;
use crate::world::World;
use rustix::process::{Pid, Signal, kill_process_group};
use slot_oracles::trace::AgentEnd;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Bytes kept of each stream; the rest is read and dropped, so that the process never waits for us.
pub(super) const MAX_OUTPUT: usize = 256 * 1024;
/// Time between the request to end and the end by force.
const GRACE: Duration = Duration::from_millis(1_000);
/// Time that a killed process may take to be gone, and that its last output may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What to start, and where.
pub(super) struct Launch<'a> {
    pub(super) program: &'a Path,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<OsString, OsString>,
    pub(super) world: &'a World,
    pub(super) limit: Duration,
}

/// How it ended, and what it said.
pub(super) struct Output {
    pub(super) end: AgentEnd,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// The session it ran in.
    pub(super) session: Option<u32>,
}

/// Runs a process to its end. Dropping the future kills everything that it started.
pub(super) async fn run(launch: Launch<'_>) -> Output {
    let Launch { program, args, env, world, limit } = launch;
    let mut command = Command::new(program);
    crate::isolate::set_apart(command.as_std_mut(), Some(world.processes().mark()));
    let spawned = command
        .args(args)
        .env_clear()
        .envs(env)
        .current_dir(world.workspace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let reason = format!("cannot start {}: {error}", program.display());
            let end = AgentEnd::NotStarted { reason };
            return Output { end, stdout: String::new(), stderr: String::new(), session: None };
        }
    };
    // A process that begins a session gives it its number.
    let session = child.id();
    let mut running = Running::new(&child, world.processes().clone());
    let (stdout, stderr) = (Capture::start(child.stdout.take()), Capture::start(child.stderr.take()));
    let end = ended(&mut child, &mut running, limit).await;
    world.sweep().await;
    running.swept = true;
    Output { end, stdout: stdout.finish().await, stderr: stderr.finish().await, session }
}

/// Waits for the end, and brings it about when the limit has passed.
async fn ended(child: &mut Child, running: &mut Running, limit: Duration) -> AgentEnd {
    if let Ok(status) = timeout(limit, child.wait()).await {
        running.leader = None;
        return end_of(status);
    }
    for (signal, patience) in [(Signal::TERM, GRACE), (Signal::KILL, LAST_WORDS)] {
        running.signal(signal);
        if timeout(patience, child.wait()).await.is_ok() {
            running.leader = None;
            break;
        }
    }
    AgentEnd::TimedOut { limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) }
}

fn end_of(status: std::io::Result<ExitStatus>) -> AgentEnd {
    match status.map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => AgentEnd::Finished { code },
        Ok((None, Some(signal))) => AgentEnd::Signalled { signal },
        // Neither happens: waiting for a child of ours succeeds, and an end is one of the two.
        Ok((None, None)) => AgentEnd::NotStarted { reason: "the process ended in no known way".to_owned() },
        Err(error) => AgentEnd::NotStarted { reason: format!("cannot wait for the process: {error}") },
    }
}

/// Kills what is alive when the run is abandoned.
struct Running {
    /// The leader of the group while it has not been reaped. Afterwards its id may be another's.
    leader: Option<Pid>,
    processes: Processes,
    swept: bool,
}

impl Running {
    fn new(child: &Child, processes: Processes) -> Running {
        if let Some(id) = child.id() {
            processes.track_group(id);
        }
        Running { leader: child.id().and_then(|id| Pid::from_raw(id.cast_signed())), processes, swept: false }
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            let _ = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.swept {
            self.signal(Signal::KILL);
            self.processes.kill_now();
        }
    }
}

/// One stream being read.
struct Capture {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Capture {
    fn start(stream: Option<impl AsyncRead + Unpin + Send + 'static>) -> Capture {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let sink = kept.clone();
        let reader = tokio::spawn(async move {
            let Some(mut stream) = stream else { return };
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                let mut kept = sink.lock().unwrap_or_else(PoisonError::into_inner);
                let room = MAX_OUTPUT.saturating_sub(kept.len()).min(count);
                kept.extend_from_slice(&buffer[..room]);
            }
        });
        Capture { kept, reader }
    }

    /// What was read. Everything that held the stream open is gone by now; a process that the census could not find is
    /// not waited for.
    async fn finish(mut self) -> String {
        let _ = timeout(LAST_WORDS, &mut self.reader).await;
        String::from_utf8_lossy(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
