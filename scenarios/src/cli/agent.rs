//! What is judged: the flags that say so, and the runner made of them.

use crate::adapter::{Adapter, CommandLine, Locator, called};
use crate::agent::Agent;
use crate::agent::attached::{self, Attached};
use crate::agent::command::CommandAgent;
use crate::agent::in_process::{InProcess, Tier};
use crate::isolate;
use crate::run::Runner;
use clap::{Args, ValueEnum};
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The name of the reference runtime as an agent.
const REFERENCE: &str = "reference";
/// The least time of a case for an agent that a person drives.
const ATTACHED_LIMIT: Duration = Duration::from_secs(120);

/// Which agent, and how it is reached.
#[derive(Args)]
pub struct AgentArgs {
    /// What is judged: the reference runtime in this process, an agent with a built-in adapter, such as slot or pi, or
    /// the adapter in a file of your own, such as ./mine.toml.
    #[arg(
        long,
        visible_alias = "adapter",
        value_name = "NAME|FILE",
        default_value = REFERENCE,
        conflicts_with_all = ["cmd", "attach"]
    )]
    agent: String,
    /// Judges the agent that this command starts: 'my-agent --url {base_url} {prompt}'. Needs --dialect.
    ///
    /// {base_url} is the mock's address with /v1, {origin} without; {model}, {prompt}, {workspace}, {home} and {dialect}
    /// are replaced as well. Words are split as in a shell, without variables or globs; NAME=VALUE before the program
    /// goes into its environment, which holds little else. A word that names a file from here is made absolute, for the
    /// agent works in a workspace of its own. The tools are found by their names and schemas; `slotspec probe` writes
    /// them down as an adapter, which can say more: modes, settings files, side traffic.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["attach", "bin"])]
    cmd: Option<String>,
    /// Judges an agent that you drive by hand, and serves the mock at this address. Needs --dialect.
    ///
    /// Case by case it prints the base URL, which stays the same, the folders and the task, and waits until you have
    /// pressed Enter, or the last turn was served a while ago, or --limit has passed. What is asked of an agent's exit,
    /// output or processes is UNTESTABLE then, and the agent keeps its network.
    #[arg(long, value_name = "ADDRESS|URL", conflicts_with_all = ["bin", "jobs", "allow_network"])]
    attach: Option<String>,
    /// What the agent of --cmd or --attach is called in reports and baselines.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where an agent's program is.
    #[arg(long, value_name = "NAME=PATH")]
    bin: Vec<String>,
    /// How the reference runtime reaches the mock: a for pipes in memory and virtual time, b (which is the default) for
    /// sockets.
    #[arg(long, value_enum, conflicts_with_all = ["cmd", "attach"])]
    tier: Option<TierArg>,
    /// The dialect to speak: chat, anthropic or responses. When absent, the agent's first, and for a case that cannot
    /// be said in it another of the agent's.
    #[arg(long)]
    dialect: Option<String>,
    /// The least time that a run gets, in place of the adapter's; a case may allow more.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=600))]
    limit: Option<u64>,
    /// Runs an agent with the network it would have anyway.
    #[arg(long)]
    allow_network: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TierArg {
    /// Pipes in memory; virtual time where no process is started.
    A,
    /// Sockets.
    B,
}

/// What is judged.
enum Judged<'a> {
    Reference,
    BuiltIn(&'a str),
    File(&'a Path),
    Command(&'a str),
    Attached(&'a str),
}

impl AgentArgs {
    fn judged(&self) -> Judged<'_> {
        match (&self.cmd, &self.attach) {
            (Some(words), _) => Judged::Command(words),
            (None, Some(address)) => Judged::Attached(address),
            (None, None) if self.agent == REFERENCE => Judged::Reference,
            (None, None) if self.agent.ends_with(".toml") || self.agent.contains('/') => {
                Judged::File(Path::new(&self.agent))
            }
            (None, None) => Judged::BuiltIn(&self.agent),
        }
    }

    /// Whether a person is told of each case, so that no progress is shown beside it, and only one is run at a time.
    pub fn by_hand(&self) -> bool {
        self.attach.is_some()
    }

    /// Keeps the network away from an agent that is started here. The reference runtime shares this process and dials
    /// nothing but the mock. The answer is what a person should know.
    pub fn isolate(&self) -> Result<Option<String>, String> {
        match self.judged() {
            Judged::Reference => Ok(None),
            Judged::Attached(_) => {
                Ok(Some("the agent is driven by hand: its exit, output, processes and network are not seen".to_owned()))
            }
            _ => isolated(self.allow_network).map(Some),
        }
    }

    /// The runner of the agent.
    pub fn runner(&self) -> Result<Runner, String> {
        if self.name.is_some() && self.cmd.is_none() && self.attach.is_none() {
            return Err("--name is for --cmd and --attach; an adapter has a name of its own".to_owned());
        }
        if self.tier.is_some() && !matches!(self.judged(), Judged::Reference) {
            return Err("--tier is for the reference runtime; an agent is reached by sockets".to_owned());
        }
        let limit = self.limit.map(Duration::from_secs);
        let runner = match self.judged() {
            Judged::Reference => self.reference()?,
            Judged::BuiltIn(name) => self.adapted(Adapter::built_in(name))?,
            Judged::File(path) => self.adapted(Adapter::load(path))?,
            Judged::Command(words) => {
                let dialect = spoken(self.dialect.as_deref(), "--cmd")?;
                let mut line = command_line(words, self.name.as_deref(), &dialect)?;
                self.limit.iter().for_each(|seconds| line.adapter.limit_ms = seconds * 1_000);
                let least_limit = line.adapter.limit();
                let agent = CommandAgent::new(line.adapter, line.program, String::new());
                Runner { dialect, least_limit, ..Runner::new(Arc::new(agent)) }
            }
            Judged::Attached(address) => {
                let dialect = spoken(self.dialect.as_deref(), "--attach")?;
                Runner { dialect, least_limit: ATTACHED_LIMIT, ..Runner::new(self.attached(address)?) }
            }
        };
        Ok(Runner { least_limit: limit.unwrap_or(runner.least_limit), ..runner })
    }

    fn reference(&self) -> Result<Runner, String> {
        let tier = match self.tier {
            Some(TierArg::A) => Tier::A,
            Some(TierArg::B) | None => Tier::B,
        };
        let (dialect, others) = self.dialects(&dialects(), REFERENCE)?;
        let runner = Runner::new(Arc::new(InProcess::new(tier)));
        Ok(Runner { dialect, others, virtual_time: tier == Tier::A, ..runner })
    }

    /// The dialect to speak, and the agent's others: none of them when one was asked for by name.
    fn dialects(&self, known: &[&str], agent: &str) -> Result<(String, Vec<String>), String> {
        if let Some(dialect) = &self.dialect {
            check_dialect(dialect, known, agent)?;
            return Ok((dialect.clone(), Vec::new()));
        }
        let mut known = known.iter().map(|dialect| (*dialect).to_owned());
        Ok((known.next().unwrap_or_default(), known.collect()))
    }

    fn adapted(&self, adapter: Result<Adapter, crate::adapter::AdapterError>) -> Result<Runner, String> {
        let mut locator = Locator::from_env();
        for value in &self.bin {
            locator.give(value).map_err(|error| error.to_string())?;
        }
        let mut adapter = adapter.map_err(|error| error.to_string())?;
        if let Some(seconds) = self.limit {
            adapter.limit_ms = seconds * 1_000;
        }
        let known: Vec<&str> = adapter.dialects.iter().map(String::as_str).collect();
        let (dialect, others) = self.dialects(&known, &adapter.name)?;
        let mock = mock_llm::Config {
            binding: adapter.binding.clone(),
            side: adapter.side.clone(),
            ..mock_llm::Config::default()
        };
        let least_limit = adapter.limit();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start: {error}"))?;
        let agent = runtime.block_on(CommandAgent::connect(adapter, &locator)).map_err(|error| error.to_string())?;
        Ok(Runner { dialect, others, mock, least_limit, ..Runner::new(Arc::new(agent)) })
    }

    fn attached(&self, address: &str) -> Result<Arc<dyn Agent>, String> {
        let name = self.name.as_deref().map_or(Ok("attached".to_owned()), called).map_err(|error| error.to_string())?;
        let address = attached::address(address).map_err(|error| error.to_string())?;
        let tell = |text: &str| {
            // A person who cannot be told is no reason to stop.
            let _ = std::io::stderr().write_all(text.as_bytes());
        };
        let agent = Attached::new(name, address, presses()?, Box::new(tell)).map_err(|error| error.to_string())?;
        Ok(Arc::new(agent))
    }

    /// The flags without which a replay would be another run.
    pub fn replay(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut say = |flag: &str, value: &str| words.extend([flag.to_owned(), value.to_owned()]);
        match self.judged() {
            Judged::Reference => {}
            Judged::BuiltIn(_) | Judged::File(_) => say("--agent", &self.agent),
            Judged::Command(command) => say("--cmd", command),
            Judged::Attached(address) => say("--attach", address),
        }
        for bin in &self.bin {
            say("--bin", bin);
        }
        if self.tier == Some(TierArg::A) {
            say("--tier", "a");
        }
        let limit = self.limit.map(|seconds| seconds.to_string());
        for (flag, value) in [("--name", &self.name), ("--dialect", &self.dialect), ("--limit", &limit)] {
            if let Some(value) = value {
                say(flag, value);
            }
        }
        if self.allow_network {
            words.push("--allow-network".to_owned());
        }
        words
    }
}

/// Keeps the network away from everything that this process starts, unless it is allowed. The answer is what was done.
pub fn isolated(allow_network: bool) -> Result<String, String> {
    if allow_network {
        return Ok("the agent runs with the network (--allow-network)".to_owned());
    }
    isolate::enter().map(|isolation| format!("the agent runs in a {isolation}")).map_err(|error| error.to_string())
}

/// The agent that a command line starts.
pub fn command_line(words: &str, name: Option<&str>, dialect: &str) -> Result<CommandLine, String> {
    let here: PathBuf =
        std::env::current_dir().map_err(|error| format!("cannot tell in which folder this runs: {error}"))?;
    CommandLine::read(words, name, dialect, &Locator::from_env(), &here).map_err(|error| error.to_string())
}

/// The dialect that only the caller can know.
pub fn spoken(dialect: Option<&str>, flag: &str) -> Result<String, String> {
    let Some(dialect) = dialect else {
        return Err(format!("{flag} needs --dialect: say what the agent speaks, {}", dialects().join(" or ")));
    };
    check_dialect(dialect, &dialects(), &format!("the mock (for {flag})"))?;
    Ok(dialect.to_owned())
}

fn dialects() -> Vec<&'static str> {
    slot_wire::Dialect::ALL.into_iter().map(slot_wire::Dialect::name).collect()
}

fn check_dialect(dialect: &str, known: &[&str], agent: &str) -> Result<(), String> {
    if known.contains(&dialect) {
        return Ok(());
    }
    let fix = crate::source::did_you_mean(dialect, known);
    Err(format!("{agent} does not speak the dialect {dialect:?}; {fix}"))
}

/// Changes at every line on the standard input; closed when there is none.
fn presses() -> Result<watch::Receiver<u64>, String> {
    let (sender, receiver) = watch::channel(0);
    let read = move || {
        for line in std::io::stdin().lock().lines() {
            if line.is_err() || sender.is_closed() {
                break;
            }
            sender.send_modify(|lines| *lines += 1);
        }
    };
    // The thread waits for a line that may never come, and ends with the process.
    std::thread::Builder::new().spawn(read).map_err(|error| format!("cannot start: {error}"))?;
    Ok(receiver)
}
