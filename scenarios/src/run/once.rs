//! One run of one case in a fresh world.

use super::Runner;
use crate::agent::{AgentRun, Job};
use crate::case::Case;
use crate::check::Seen;
use crate::isolate::census::is_childless;
use crate::world::{World, WorldError};
use mock_llm::{Folders, Journal, MockLlm};
use slot_oracles::trace::{AgentEnd, Leftover, Node, TreeChange, WireItem, WireRequest};
use slot_oracles::{RuntimeTrace, Trace};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How often a waiting caller looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// How the names of files begin that hold the session of a command.
const SESSION: &str = "session-";

/// Why a run gave nothing to judge. Never the agent's fault.
#[derive(Debug, Error)]
pub enum HarnessError {
    /// The world could not be built.
    #[error(transparent)]
    World(#[from] WorldError),
    /// No thread or runtime could be had.
    #[error("cannot start a run: {0}; fewer jobs may help")]
    Start(std::io::Error),
    /// Something in the harness, or in an agent that shares its process, panicked.
    #[error("a panic outside every tool: {0}")]
    Panicked(String),
    /// The caller no longer wants it.
    #[error("interrupted")]
    Interrupted,
}

/// One run, with its world still standing.
pub struct Run {
    /// What the checks look at.
    pub seen: Seen,
    /// Everything that crossed the wire.
    pub journal: Journal,
    /// What the agent printed as errors.
    pub stderr: String,
    standing: Standing,
}

/// A world that outlives its run, until it is no longer looked at.
struct Standing {
    world: Arc<World>,
    /// The run's thread was left behind, and holds the world for as long as the process lives.
    left_behind: bool,
}

#[cfg(test)]
impl Run {
    /// The folder of the world.
    pub(super) fn world_folder(&self) -> std::path::PathBuf {
        self.standing.world.workspace().parent().map(Path::to_owned).unwrap_or_default()
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        if self.left_behind
            && let Some(root) = self.world.workspace().parent()
        {
            // The world cannot be dropped, so its folders go by hand; what is locked in them stays.
            let _ = std::fs::remove_dir_all(root);
        }
    }
}

impl Run {
    /// The text without anything that belongs to this run alone: folders and marker get their names.
    pub fn neutral(&self, text: &str) -> String {
        self.standing.world.neutral(text)
    }
}

/// Runs a case on a thread of its own, and comes back in bounded time whatever happens there.
///
/// # Errors
/// When the harness fails, or is interrupted.
pub fn run_bounded(runner: &Runner, case: &Case) -> Result<Run, HarnessError> {
    let world = Arc::new(World::build(&case.world)?.with_state(runner.agent.state()));
    if case.starts_processes() {
        world.processes().answer_for_strays();
    }
    let before = snapshot(&world);
    let folder = |path: &Path| Some(path.display().to_string());
    let folders =
        Folders { workspace: folder(world.workspace()), outside: folder(world.outside()), home: folder(world.home()) };
    let mock = MockLlm::with_config(case.script.clone(), mock_llm::Config { folders, ..runner.mock.clone() });
    let limit = case.limit.max(runner.least_limit);

    let (sender, receiver) = mpsc::channel();
    let inside =
        Inside { runner: runner.clone(), case: case.clone(), world: Arc::clone(&world), mock: mock.clone(), limit };
    std::thread::Builder::new()
        .name(case.id.clone())
        .spawn(move || {
            let ended =
                catch_unwind(AssertUnwindSafe(|| inside.run())).unwrap_or_else(|payload| Err(panicked(payload)));
            // Whoever is told that the run has ended may end the process, and the world must be gone by then.
            drop(inside);
            // The receiver is gone when this run was left behind.
            let _ = sender.send(ended);
        })
        .map_err(HarnessError::Start)?;
    let ended = match wait(&receiver, runner, limit) {
        Ok(ended) => ended?,
        Err(Left::Interrupted) => {
            sweep(&world)?;
            drop(lower(case, Ended::default(), before, world, &mock, true));
            return Err(HarnessError::Interrupted);
        }
        Err(Left::TimedOut { limit_ms }) => {
            let run = AgentRun { end: AgentEnd::TimedOut { limit_ms }, ..AgentRun::default() };
            let ended = Ended { run, leftover: sweep(&world)? };
            return Ok(lower(case, ended, before, world, &mock, true));
        }
    };
    Ok(lower(case, ended, before, world, &mock, false))
}

/// What came of a run inside its thread.
#[derive(Default)]
struct Ended {
    run: AgentRun,
    leftover: Vec<Leftover>,
}

/// Why a run's thread was left behind.
enum Left {
    Interrupted,
    TimedOut { limit_ms: u64 },
}

fn wait(
    receiver: &mpsc::Receiver<Result<Ended, HarnessError>>,
    runner: &Runner,
    limit: Duration,
) -> Result<Result<Ended, HarnessError>, Left> {
    let started = Instant::now();
    let mut interrupted: Option<Instant> = None;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(ended) => return Ok(ended),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Ok(Err(HarnessError::Panicked("a run ended without a word".to_owned())));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        // The run's own thread stops it; this is for one that cannot be stopped.
        if interrupted.is_some_and(|since| since.elapsed() > runner.patience.abandon) {
            return Err(Left::Interrupted);
        }
        if runner.cancel.is_cancelled() {
            interrupted.get_or_insert_with(Instant::now);
        }
        if started.elapsed() > limit + runner.patience.grace + runner.patience.abandon {
            return Err(Left::TimedOut { limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) });
        }
    }
}

/// Ends the processes of a run whose thread does not.
fn sweep(world: &World) -> Result<Vec<Leftover>, HarnessError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(HarnessError::Start)?;
    Ok(runtime.block_on(world.sweep()))
}

/// Everything a run's thread needs.
struct Inside {
    runner: Runner,
    case: Case,
    world: Arc<World>,
    mock: MockLlm,
    limit: Duration,
}

impl Inside {
    fn run(&self) -> Result<Ended, HarnessError> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all();
        // Virtual time never meets a child process or a socket.
        builder.start_paused(self.in_virtual_time());
        let runtime = builder.build().map_err(HarnessError::Start)?;
        let ended = runtime.block_on(self.agent());
        // Nothing may wait for a blocking task that an agent left behind.
        runtime.shutdown_background();
        ended
    }

    fn in_virtual_time(&self) -> bool {
        self.runner.virtual_time && !self.case.starts_processes()
    }

    async fn agent(&self) -> Result<Ended, HarnessError> {
        let case = &self.case;
        let tools = case.world.registered();
        let job = Job {
            case: &case.id,
            prompt: &case.prompt,
            mode: case.mode,
            answers: &case.answers,
            world: &self.world,
            env: &case.world.env,
            tools: &tools,
            hooks: &case.world.hooks,
            spec: &case.world,
            mock: &self.mock,
            dialect: self.runner.dialect_of(case).unwrap_or(&self.runner.dialect),
            cancel_at: case.cancel.as_ref().map(|(event, call)| (event.as_str(), call.as_str())),
            limit: self.limit,
            patience: self.case.patience,
            strict_schemas: self.case.strict_schemas,
        };
        let agent = tokio::time::timeout(self.limit + self.runner.patience.grace, self.runner.agent.run(job));
        let run = tokio::select! {
            biased;
            () = self.runner.cancel.cancelled() => None,
            run = agent => Some(run.unwrap_or_else(|_| {
                let limit_ms = u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX);
                AgentRun { end: AgentEnd::TimedOut { limit_ms }, ..AgentRun::default() }
            })),
        };
        // A run that is about no process has no reason to look at all of them, unless there is one after all.
        let none = self.in_virtual_time() && is_childless();
        let leftover = if none { Vec::new() } else { self.world.sweep().await };
        run.map(|run| Ended { run, leftover }).ok_or(HarnessError::Interrupted)
    }
}

type Trees = (BTreeMap<String, Node>, BTreeMap<String, Node>);

fn snapshot(world: &World) -> Trees {
    (world.snapshot_workspace(), world.snapshot_outside())
}

/// Lowers what happened into facts.
fn lower(case: &Case, ended: Ended, before: Trees, world: Arc<World>, mock: &MockLlm, left_behind: bool) -> Run {
    let after = snapshot(&world);
    let mut trace = Trace::default();
    mock.fill(&mut trace.wire);
    trace.wire.requests.iter_mut().for_each(|request| neutralise(request, &world));
    trace.wire.workspace = TreeChange { before: before.0, after: after.0 };
    trace.wire.workspace.after.iter_mut().for_each(|(path, node)| name_session(path, node, ended.run.session));
    trace.wire.outside = TreeChange { before: before.1, after: after.1 };
    trace.wire.canaries.clone_from(&case.world.canaries);
    trace.wire.leftover = ended.leftover;
    trace.wire.end = ended.run.end;
    trace.runtime = ended.run.runtime.map(|runtime| RuntimeTrace { events: runtime.events });
    let report = mock.finish();
    let seen = Seen {
        trace,
        stdout: ended.run.stdout,
        unbound: report.unbound.iter().map(ToString::to_string).collect(),
        unexpected: report.unexpected,
        lost_cuts: report.lost_cuts,
    };
    Run { seen, journal: mock.journal(), stderr: ended.run.stderr, standing: Standing { world, left_behind } }
}

/// In a file `session-<call id>`, into which a command wrote the number of its session, says whose that is: numbers differ
/// from run to run, and mean nothing to whoever does not know the agent's.
fn name_session(path: &str, node: &mut Node, agent: Option<u32>) {
    let (Some(agent), true, Node::File { text, .. }) = (agent, path.starts_with(SESSION), node) else { return };
    if let Ok(session) = text.trim().parse::<u32>() {
        *text = if session == agent { "the agent's" } else { "its own" }.to_owned();
    }
}

/// Gives what every run advertises the names of this run's folders, for oracles that compare it between runs. The
/// conversation stays as it was sent.
fn neutralise(request: &mut WireRequest, world: &World) {
    let texts = request.items.iter_mut().filter_map(|item| match item {
        WireItem::System { text } => Some(text),
        _ => None,
    });
    let tools = request.tools.iter_mut().map(|tool| &mut tool.raw);
    for text in [&mut request.raw.tools, &mut request.raw.system].into_iter().chain(tools).chain(texts) {
        *text = world.neutral(text);
    }
}

fn panicked(payload: Box<dyn std::any::Any + Send>) -> HarnessError {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    HarnessError::Panicked(text.unwrap_or_else(|| "no message".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slot_oracles::oracles;
    use slot_oracles::trace::{RawParts, WireTool};
    use slot_oracles::{OracleCheck, WireTrace};

    /// What the second of two runs of one script is blamed for, where each world says `says`.
    #[track_caller]
    fn check(says: fn(&World) -> String, blamed: bool) {
        let [first, second] = [(); 2].map(|()| {
            let world = World::build(&Default::default()).unwrap();
            let said = says(&world);
            let mut request = WireRequest {
                tools: vec![WireTool { raw: said.clone(), ..WireTool::default() }],
                items: vec![WireItem::System { text: said.clone() }],
                raw: RawParts { tools: said.clone(), system: said, items: Vec::new() },
                ..WireRequest::default()
            };
            neutralise(&mut request, &world);
            Trace { wire: WireTrace { requests: vec![request], ..WireTrace::default() }, runtime: None }
        });
        let OracleCheck::Pair(compare) = oracles::by_id("O16").unwrap().check else { panic!("O16 compares two runs") };
        assert_eq!(!compare(&first, &second).is_empty(), blamed);
    }

    #[test]
    fn a_prompt_that_names_the_folders_of_its_run_is_the_same_prompt() {
        check(|world| format!("You work in {}.", world.workspace().display()), false);
        check(|world| world.home().join(".agent").display().to_string().replace('/', "-"), false);
    }

    #[test]
    fn a_prompt_that_names_anything_else_of_its_run_is_another_prompt() {
        check(|world| world.marker().1[..8].to_owned(), true);
    }
}
