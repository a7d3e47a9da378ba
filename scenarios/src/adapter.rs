//! Adapters: how a real agent is launched against the mock, as data.
//!
//! An [`Adapter`] says which program to start with which arguments, environment and files, in which dialects and modes,
//! and which of its tools stand for the abstract operations. This module reads and checks adapters, knows the ones that
//! are built in, and finds an agent's program. It starts nothing. An agent that needs no settings file gets its adapter
//! from a [`CommandLine`], and one that was watched gets it from what was [`Probed`].
//!
//! A program is found in one way for every agent: where `--bin NAME=PATH` says, else (for programs of this project)
//! beside the running program, else on the PATH. Nothing is ever built or downloaded on the way.

mod locate;
mod probe;
mod words;

pub use locate::Locator;
pub use probe::Probed;
pub use words::{CommandLine, called};

use crate::agent::Mode;
use crate::source::{Document, Problem, Problems, did_you_mean};
use crate::world;
use include_dir::{Dir, include_dir};
use mock_llm::{Binding, SideTraffic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

static BUILT_IN: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/adapters");

/// The dialects an adapter may name.
const DIALECTS: &[&str] = &["chat", "anthropic", "responses"];
/// What may stand in braces. `{origin}` is `http://127.0.0.1:PORT`; `{base_url}` is the same with `/v1`.
const PLACEHOLDERS: &[&str] = &["base_url", "dialect", "home", "model", "origin", "prompt", "workspace"];
/// Variables that belong to the run itself.
const RESERVED: &[&str] = &["HOME", "TMPDIR", "PATH", world::MARKER];
/// An adapter is a page of text.
const MAX_FILE: u64 = 256 * 1024;
/// Longest time an adapter may ask for, in milliseconds.
const MAX_LIMIT_MS: u64 = 600_000;

/// How one agent is launched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// The agent's name on the command line and in reports: lower-case letters, digits and hyphens.
    pub name: String,
    /// What it is, in a few words.
    pub title: String,
    /// How to get it, as a command or a sentence; shown when its program is not found.
    pub install: String,
    /// The name of its program.
    pub program: String,
    /// The program belongs to this project, so that it is looked for beside the running program before the PATH.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
    /// Arguments with which the program prints its version; when empty it is not asked.
    pub version: Vec<String>,
    /// Arguments of a run. An element `{mode}` stands for the arguments of the mode. `{base_url}` (with `/v1`),
    /// `{origin}` (without it), `{dialect}`, `{model}`, `{prompt}`, `{workspace}` and `{home}` are replaced anywhere.
    pub args: Vec<String>,
    /// The model id to ask for; some agents choose prompts and tools by it.
    #[serde(default = "model")]
    pub model: String,
    /// Environment variables. The agent gets these and a short list of its own, nothing else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Settings files, `{home}/PATH` to content. The workspace belongs to the case, so no file is put there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// What it keeps in the home folder for itself: files, and with `/` at their ends folders. The first folder of each
    /// settings file is added. Whatever else changes outside the workspace is a finding, as is any place there that
    /// decides who gets in or what runs later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<String>,
    /// The dialects it speaks: `chat`, `anthropic`, `responses`; the first is used unless another is asked for.
    pub dialects: Vec<String>,
    /// What is different in one of the dialects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dialect: BTreeMap<String, DialectChange>,
    /// Which tool stands for an operation. What is absent is found by name and schema.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub binding: Binding,
    /// The modes it offers.
    pub modes: Modes,
    /// What it asks the model beside the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side: Vec<SideTraffic>,
    /// The least time a run gets, in milliseconds, for agents that are slow to start; a case may ask for more.
    #[serde(default = "limit_ms")]
    pub limit_ms: u64,
}

/// What is different in one dialect: `args` replace the adapter's, `env` and `files` are added to them by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DialectChange {
    /// Arguments in place of the adapter's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Further environment variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Further settings files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// The approval modes that an agent without a person at it can have. A mode that is absent is not offered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Modes {
    /// Everything is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unattended: Option<ModeChange>,
    /// What is only suggested for approval passes, what requires a person is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<ModeChange>,
    /// Everything that would ask is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny: Option<ModeChange>,
}

/// How a mode is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeChange {
    /// Arguments that stand where `{mode}` is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Further environment variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

fn model() -> String {
    "mock-model".to_owned()
}

fn limit_ms() -> u64 {
    10_000
}

fn is_empty(binding: &Binding) -> bool {
    binding.0.is_empty()
}

/// Why there is no usable adapter or no program for it.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// No adapter of this name is built in.
    #[error(
        "no agent is called `{name}`; {fix}; an adapter of your own is given as `--agent ./FILE.toml`, and `--cmd` needs none"
    )]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names there are, or the one that was meant.
        fix: String,
    },
    /// The adapter file cannot be read.
    #[error("cannot read the adapter {}: {problem}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// The adapter is not right.
    #[error("{0}")]
    Invalid(#[from] Problems),
    /// The value of `--bin` is not right.
    #[error("--bin {value}: {problem}; write --bin NAME=PATH with the path of an executable file")]
    Bin {
        /// What was given.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The words of a command line are not right.
    #[error("--cmd: {problem}; {fix}")]
    Words {
        /// What is wrong.
        problem: String,
        /// What to write.
        fix: String,
    },
    /// An agent cannot be called so.
    #[error("--name {name:?} is no name; use lower-case letters, digits and hyphens")]
    Name {
        /// What was given.
        name: String,
    },
    /// The agent ran and did not show its tools.
    #[error("{agent} {problem}; {fix}")]
    Silent {
        /// The agent.
        agent: String,
        /// What it did.
        problem: String,
        /// What to do.
        fix: String,
    },
    /// The agent's program is nowhere.
    #[error(
        "`{program}`, the program of agent {agent}, is not found {looked}\n  install: {install}\n  or point to it: --bin {agent}=PATH"
    )]
    Missing {
        /// The agent.
        agent: String,
        /// The name of the program.
        program: String,
        /// Where it was looked for.
        looked: String,
        /// How to get it.
        install: String,
    },
    /// The program is there and does not say its version.
    #[error("`{}`, the program of agent {agent}, did not say its version: {problem}\n  install: {install}", program.display())]
    Probe {
        /// The agent.
        agent: String,
        /// The program.
        program: PathBuf,
        /// What happened.
        problem: String,
        /// How to get it.
        install: String,
    },
}

/// What the placeholders of an adapter stand for in one run.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    /// `http://127.0.0.1:PORT`.
    pub origin: &'a str,
    /// The dialect's name.
    pub dialect: &'a str,
    /// What the user says.
    pub prompt: &'a str,
    /// The workspace.
    pub workspace: &'a Path,
    /// The home folder.
    pub home: &'a Path,
}

/// One run's command, with every placeholder replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// The arguments.
    pub args: Vec<String>,
    /// The environment variables beyond the common ones.
    pub env: BTreeMap<String, String>,
    /// Settings files by path below the home folder.
    pub files: BTreeMap<String, String>,
}

impl Adapter {
    /// Reads and checks an adapter. `file` is how messages call it.
    ///
    /// # Errors
    ///
    /// Every problem of the text, with line, field and fix.
    pub fn parse(file: &str, text: &str) -> Result<Adapter, Problems> {
        let document = Document::parse(file, text)?;
        let adapter: Adapter = document.read()?;
        Problems::none_or(Check::run(&adapter, &document), ())?;
        Ok(adapter)
    }

    /// Reads an adapter from a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not right.
    pub fn load(path: &Path) -> Result<Adapter, AdapterError> {
        let unreadable = |problem: String| AdapterError::Unreadable { path: path.to_owned(), problem };
        let meta = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
        if !meta.is_file() || meta.len() > MAX_FILE {
            return Err(unreadable(format!("it is no file of at most {MAX_FILE} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        Ok(Adapter::parse(&path.display().to_string(), &text)?)
    }

    /// The built-in adapter of this name.
    ///
    /// # Errors
    ///
    /// When there is none, with the names there are.
    pub fn built_in(name: &str) -> Result<Adapter, AdapterError> {
        match BUILT_IN.get_file(format!("{name}.toml")).and_then(|file| file.contents_utf8()) {
            Some(text) => Ok(Adapter::parse(&format!("adapters/{name}.toml"), text)?),
            None => Err(AdapterError::Unknown { name: name.to_owned(), fix: did_you_mean(name, &Adapter::names()) }),
        }
    }

    /// The names of the built-in adapters, sorted.
    pub fn names() -> Vec<String> {
        let stem = |file: &include_dir::File<'_>| Some(file.path().to_str()?.strip_suffix(".toml")?.to_owned());
        BUILT_IN.files().filter_map(stem).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The approval modes it offers.
    pub fn offered(&self) -> Vec<Mode> {
        [Mode::Unattended, Mode::Auto, Mode::Deny].into_iter().filter(|mode| self.mode(*mode).is_some()).collect()
    }

    fn mode(&self, mode: Mode) -> Option<&ModeChange> {
        match mode {
            Mode::Unattended => self.modes.unattended.as_ref(),
            Mode::Auto => self.modes.auto.as_ref(),
            Mode::Deny => self.modes.deny.as_ref(),
            Mode::Ask => None,
        }
    }

    /// Everything in the home folder that is the agent's own business.
    pub fn own_state(&self) -> Vec<String> {
        let files = self.files.keys().chain(self.dialect.values().flat_map(|change| change.files.keys()));
        let first = |path: &String| {
            let path = path.strip_prefix("{home}/")?;
            Some(path.split_once('/').map_or_else(|| path.to_owned(), |(first, _)| format!("{first}/")))
        };
        self.state.iter().cloned().chain(files.filter_map(first)).collect()
    }

    /// The least time a run gets.
    pub fn limit(&self) -> Duration {
        Duration::from_millis(self.limit_ms)
    }

    /// The command of one run; `None` when the agent does not offer the mode or the dialect.
    pub fn recipe(&self, mode: Mode, values: &Values<'_>) -> Option<Recipe> {
        let mode = self.mode(mode)?;
        if !self.dialects.iter().any(|dialect| dialect == values.dialect) {
            return None;
        }
        let none = DialectChange::default();
        let change = self.dialect.get(values.dialect).unwrap_or(&none);
        let fill = |text: &String| self.fill(text, values);
        let mut args = Vec::new();
        for arg in change.args.as_ref().unwrap_or(&self.args) {
            if arg == "{mode}" {
                args.extend(mode.args.iter().map(fill));
            } else {
                args.push(fill(arg));
            }
        }
        let env = self.env.iter().chain(&change.env).chain(&mode.env);
        let files = self.files.iter().chain(&change.files);
        Some(Recipe {
            args,
            env: env.map(|(name, value)| (name.clone(), fill(value))).collect(),
            files: files
                .filter_map(|(path, text)| Some((path.strip_prefix("{home}/")?.to_owned(), fill(text))))
                .collect(),
        })
    }

    /// Replaces the placeholders, once, from left to right: a prompt that holds one keeps it.
    fn fill(&self, text: &str, values: &Values<'_>) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((name, span)) = placeholder(rest) {
            out.push_str(&rest[..span.start]);
            match name {
                "base_url" => out.extend([values.origin, "/v1"]),
                "origin" => out.push_str(values.origin),
                "dialect" => out.push_str(values.dialect),
                "model" => out.push_str(&self.model),
                "prompt" => out.push_str(values.prompt),
                "workspace" => out.push_str(&values.workspace.to_string_lossy()),
                "home" => out.push_str(&values.home.to_string_lossy()),
                _ => out.push_str(&rest[span.clone()]),
            }
            rest = &rest[span.end..];
        }
        out + rest
    }
}

/// The first `{word}` of a text, and where it stands. Braces around anything else, as in JSON, are just braces.
fn placeholder(text: &str) -> Option<(&str, std::ops::Range<usize>)> {
    text.match_indices('{').find_map(|(start, _)| {
        let inner = text[start + 1..].split('}').next()?;
        let end = start + 1 + inner.len();
        let word = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        (word && end < text.len()).then_some((inner, start..end + 1))
    })
}

/// What the types of an adapter do not say.
struct Check<'a> {
    document: &'a Document,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn run(adapter: &Adapter, document: &Document) -> Vec<Problem> {
        let mut check = Check { document, problems: Vec::new() };
        check.head(adapter);
        check.args("args", &adapter.args, adapter);
        check.tables("", &adapter.env, &adapter.files);
        for (name, change) in &adapter.dialect {
            if !adapter.dialects.contains(name) {
                check.fault(
                    &format!("dialect.{name}"),
                    "the dialect is not among `dialects`",
                    "add it there, or remove this",
                );
            }
            if let Some(args) = &change.args {
                check.args(&format!("dialect.{name}.args"), args, adapter);
            }
            check.tables(&format!("dialect.{name}."), &change.env, &change.files);
        }
        for (mode, change) in check_modes(adapter) {
            check.words(&format!("modes.{mode}.args"), &change.args);
            check.tables(&format!("modes.{mode}."), &change.env, &BTreeMap::new());
        }
        check.problems
    }

    fn fault(&mut self, field: &str, problem: impl Into<String>, fix: impl Into<String>) {
        self.problems.push(self.document.find(field).problem(field, problem).with_fix(fix));
    }

    fn head(&mut self, adapter: &Adapter) {
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if adapter.name.is_empty() || !adapter.name.chars().all(kebab) {
            self.fault("name", format!("{:?} is no name", adapter.name), "use lower-case letters, digits and hyphens");
        }
        if adapter.program.is_empty() || adapter.program.contains(['/', '\0']) {
            let fix = "write the name that is looked for on the PATH; a path is given with --bin";
            self.fault("program", format!("{:?} is no program name", adapter.program), fix);
        }
        if adapter.dialects.is_empty() {
            self.fault("dialects", "the agent speaks no dialect", "name one of chat, anthropic, responses");
        }
        for (index, dialect) in adapter.dialects.iter().enumerate() {
            if !DIALECTS.contains(&dialect.as_str()) {
                let fix = did_you_mean(dialect, DIALECTS);
                self.fault(&format!("dialects[{index}]"), format!("unknown dialect {dialect:?}"), fix);
            }
        }
        for (index, place) in adapter.state.iter().enumerate() {
            let field = format!("state[{index}]");
            if world::relative(place).is_err() {
                let fix = "write it relative to the home folder, a folder with `/` at its end";
                self.fault(&field, "the place does not lie in the home folder", fix);
            } else if world::is_dangerous_in_home(place.trim_end_matches('/')) {
                self.fault(&field, "the place is one that no agent may touch", "remove it");
            }
        }
        if adapter.offered().is_empty() {
            self.fault("modes", "the agent offers no mode", "add at least `unattended = {}`");
        }
        if !(1..=MAX_LIMIT_MS).contains(&adapter.limit_ms) {
            self.fault("limit_ms", "the limit is out of range", format!("use 1 to {MAX_LIMIT_MS} milliseconds"));
        }
        for (index, side) in adapter.side.iter().enumerate() {
            if side.no_tools.is_none() && side.path.is_none() && side.system.is_none() && side.user.is_none() {
                let fix = "add `no_tools`, `path`, `system` or `user`";
                self.fault(&format!("side[{index}]"), "the matcher has no condition and matches nothing", fix);
            }
        }
    }

    /// The arguments of a run: they must pass on the prompt, and place the mode's arguments where there are any.
    fn args(&mut self, field: &str, args: &[String], adapter: &Adapter) {
        let plain: Vec<String> = args.iter().filter(|arg| *arg != "{mode}").cloned().collect();
        self.words(field, &plain);
        if !args.iter().any(|arg| arg.contains("{prompt}")) {
            self.fault(field, "the agent is never told its task", "add an argument with {prompt}");
        }
        let places = args.len() - plain.len();
        let wanted = check_modes(adapter).any(|(_, change)| !change.args.is_empty());
        if wanted && places != 1 {
            self.fault(field, format!("`{{mode}}` stands {places} times"), "add it once, as an argument of its own");
        }
    }

    fn tables(&mut self, prefix: &str, env: &BTreeMap<String, String>, files: &BTreeMap<String, String>) {
        for (name, value) in env {
            let field = format!("{prefix}env.{name}");
            if name.is_empty() || name.contains(['=', '\0']) {
                self.fault(&field, format!("{name:?} is no variable name"), "use letters, digits and underscores");
            } else if RESERVED.contains(&name.as_str()) {
                self.fault(&field, format!("{name} belongs to the run"), "remove it");
            }
            self.words(&field, std::slice::from_ref(value));
        }
        for (path, text) in files {
            let field = format!("{prefix}files.{path:?}");
            match path.strip_prefix("{home}/").map(|path| (path, world::relative(path))) {
                Some((inside, Ok(_))) if world::is_dangerous_in_home(inside) => {
                    self.fault(&field, "the file is one that no agent may touch", "choose another settings file");
                }
                Some((inside, Ok(_))) if !inside.ends_with('/') => {}
                _ => self.fault(&field, "the path does not lie in the home folder", "write \"{home}/PATH\""),
            }
            self.words(&field, std::slice::from_ref(text));
        }
    }

    /// Every `{word}` must be one we know: a mistyped one would reach the agent as it stands.
    fn words(&mut self, field: &str, texts: &[String]) {
        for text in texts {
            let mut rest = text.as_str();
            while let Some((name, span)) = placeholder(rest) {
                if !PLACEHOLDERS.contains(&name) {
                    self.fault(field, format!("unknown placeholder {{{name}}}"), did_you_mean(name, PLACEHOLDERS));
                }
                rest = &rest[span.end..];
            }
        }
    }
}

fn check_modes(adapter: &Adapter) -> impl Iterator<Item = (&'static str, &ModeChange)> {
    let Modes { unattended, auto, deny } = &adapter.modes;
    [("unattended", unattended), ("auto", auto), ("deny", deny)]
        .into_iter()
        .filter_map(|(name, change)| Some((name, change.as_ref()?)))
}

#[cfg(test)]
mod tests;
