//! Any command as an agent: launched after an adapter, in the run's folders, with nothing of the caller's environment.
//!
//! The agent sees the mock at a TCP address and the folders of its world, and gets a short, fixed environment. It runs
//! in a session of its own, so that no terminal is in its reach, and under a time limit; at its end, and also when the run is abandoned half way,
//! nothing of it stays alive. What it did is observed elsewhere: by the mock, the world and the census.

mod process;

use super::{Abilities, Agent, AgentRun, BoxFuture, Job};
use crate::adapter::{Adapter, AdapterError, Locator, Recipe, Values};
use crate::world::{World, WorldSpec};
use process::{Launch, Output};
use slot_oracles::trace::AgentEnd;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a program may take to say its version.
const PROBE_LIMIT: Duration = Duration::from_secs(20);
/// Characters of a version that are kept.
const MAX_VERSION: usize = 80;

/// An agent that is a command.
#[derive(Clone, Debug)]
pub struct CommandAgent {
    adapter: Adapter,
    program: PathBuf,
    version: String,
    abilities: Abilities,
}

impl CommandAgent {
    /// Finds the agent's program and asks for its version, if the adapter says how. Needs a Tokio runtime with time and I/O.
    ///
    /// # Errors
    ///
    /// When the program is not found, or does not say its version within 20 seconds; both with the way to install it.
    pub async fn connect(adapter: Adapter, locator: &Locator) -> Result<CommandAgent, AdapterError> {
        let program = locator.find(&adapter)?;
        if adapter.version.is_empty() {
            return Ok(CommandAgent::new(adapter, program, String::new()));
        }
        match probe(&program, &adapter.version).await {
            Ok(said) => {
                // Many programs put their name before it, which every report has already.
                let version = said.strip_prefix(&format!("{} ", adapter.program)).unwrap_or(&said).trim().to_owned();
                Ok(CommandAgent::new(adapter, program, version))
            }
            Err(problem) => {
                Err(AdapterError::Probe { agent: adapter.name, program, problem, install: adapter.install })
            }
        }
    }

    /// An agent whose program (an absolute path) and version are known.
    pub fn new(adapter: Adapter, program: PathBuf, version: String) -> CommandAgent {
        let file_tools = !adapter.binding.0.values().any(|binding| binding.shell);
        let abilities = Abilities { modes: adapter.offered(), file_tools, ..Abilities::default() };
        CommandAgent { adapter, program, version, abilities }
    }

    /// The adapter it is launched after.
    pub fn adapter(&self) -> &Adapter {
        &self.adapter
    }

    async fn run_job(&self, job: Job<'_>) -> Result<AgentRun, String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listening = job.mock.listen(address).await.map_err(|error| format!("the mock cannot listen: {error}"))?;
        let values = Values {
            origin: &format!("http://{}", listening.addr()),
            dialect: job.dialect,
            prompt: job.prompt,
            workspace: job.world.workspace(),
            home: job.world.home(),
        };
        let recipe = self.adapter.recipe(job.mode, &values).ok_or_else(|| {
            format!("agent {} offers no mode {:?} in dialect {}", self.adapter.name, job.mode, job.dialect)
        })?;
        write_files(job.world, &recipe)?;
        let launch = Launch {
            program: &self.program,
            args: recipe.args,
            env: environment(&self.program, job.world, job.env.iter().map(owned).chain(recipe.env).collect()),
            world: job.world,
            limit: job.limit.max(self.adapter.limit()),
        };
        let Output { end, stdout, stderr, session } = process::run(launch).await;
        Ok(AgentRun { end, runtime: None, stdout, stderr, session })
    }
}

impl Agent for CommandAgent {
    fn name(&self) -> &str {
        &self.adapter.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn state(&self) -> Vec<String> {
        self.adapter.own_state()
    }

    fn run<'a>(&'a self, job: Job<'a>) -> BoxFuture<'a, AgentRun> {
        Box::pin(async move {
            let not_started = |reason| AgentRun { end: AgentEnd::NotStarted { reason }, ..AgentRun::default() };
            self.run_job(job).await.unwrap_or_else(not_started)
        })
    }
}

/// Runs the program with the arguments of the probe in an empty world, and takes the first line that it prints.
async fn probe(program: &Path, args: &[String]) -> Result<String, String> {
    let world = World::build(&WorldSpec::default()).map_err(|error| error.to_string())?;
    let launch = Launch {
        program,
        args: args.to_vec(),
        env: environment(program, &world, BTreeMap::new()),
        world: &world,
        limit: PROBE_LIMIT,
    };
    let Output { end, stdout, stderr, .. } = process::run(launch).await;
    let first_line = |text: &str| text.lines().map(str::trim).find(|line| !line.is_empty()).map(printable);
    match end {
        AgentEnd::Finished { code: 0 } => {
            first_line(&stdout).or_else(|| first_line(&stderr)).ok_or_else(|| "it printed nothing".to_owned())
        }
        AgentEnd::Finished { code } => {
            let said = first_line(&stderr).or_else(|| first_line(&stdout)).unwrap_or_else(|| "nothing".to_owned());
            Err(format!("it ended with code {code} and said {said:?}"))
        }
        AgentEnd::TimedOut { limit_ms } => Err(format!("it did not end within {limit_ms} ms")),
        AgentEnd::Signalled { signal } => Err(format!("it was ended by signal {signal}")),
        AgentEnd::NotStarted { reason } => Err(reason),
        AgentEnd::NotRun | AgentEnd::Unseen => Err("it was not run".to_owned()),
    }
}

fn owned((name, value): (&String, &String)) -> (String, String) {
    (name.clone(), value.clone())
}

fn printable(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(MAX_VERSION).collect()
}

/// Everything the agent finds in its environment. Settings of the caller, such as proxies, keys or Node options, would
/// change what is judged, so only the PATH is passed on; the program's own folder is added at its end, for a script
/// whose interpreter is installed beside it.
fn environment(program: &Path, world: &World, extra: BTreeMap<String, String>) -> BTreeMap<OsString, OsString> {
    let (marker, value) = world.marker();
    let shell = ["/bin/bash", "/bin/sh"].into_iter().find(|shell| Path::new(shell).exists()).unwrap_or("/bin/sh");
    let fixed: [(&str, &OsStr); 11] = [
        ("HOME", world.home().as_os_str()),
        ("TMPDIR", world.tmp().as_os_str()),
        ("TERM", "dumb".as_ref()),
        ("LANG", "C.UTF-8".as_ref()),
        ("SHELL", shell.as_ref()),
        ("CI", "1".as_ref()),
        ("NO_COLOR", "1".as_ref()),
        ("NO_PROXY", "127.0.0.1,localhost".as_ref()),
        ("no_proxy", "127.0.0.1,localhost".as_ref()),
        ("PATH", &search_path(program)),
        (marker, value.as_ref()),
    ];
    let mut env: BTreeMap<OsString, OsString> =
        extra.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    env.extend(fixed.map(|(name, value)| (name.into(), value.to_owned())));
    env
}

fn search_path(program: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let own = program.parent().map(Path::to_owned);
    // A folder whose name holds the separator cannot be added, and then is not.
    std::env::join_paths(std::env::split_paths(&path).chain(own)).unwrap_or(path)
}

/// Writes the adapter's settings files into the home folder, which is fresh and has no links in it.
fn write_files(world: &World, recipe: &Recipe) -> Result<(), String> {
    for (relative, text) in &recipe.files {
        let path = world.home().join(relative);
        let folder = path.parent().unwrap_or(world.home());
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| format!("cannot write the settings file {relative}: {error}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
