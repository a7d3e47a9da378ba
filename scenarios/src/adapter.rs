//! Adapters: how a real agent is launched against the mock, as data.
//!
//! An [`Adapter`] says which program to start with which arguments, environment and files, in which dialects and modes,
//! and which of its tools stand for the abstract operations. This module reads and checks adapters, knows the ones that
//! are built in, and finds an agent's program. It starts nothing. An agent that needs no settings file gets its adapter
//! from a [`CommandLine`], and one that was watched gets it from what was [`Probed`].
//!
//! A program is found in one way for every agent: where `--bin NAME=PATH` says, else (for programs of this project)
//! beside the running program, else on the PATH. Nothing is ever built or downloaded on the way.

mod check;
mod locate;
mod probe;
mod words;

pub use locate::Locator;
pub use probe::Probed;
pub use words::{CommandLine, called};

use crate::agent::Mode;
use crate::source::{Document, Problems, did_you_mean};
use crate::world;
use check::Check;
use include_dir::{Dir, include_dir};
use mock_llm::{Binding, SideTraffic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

static BUILT_IN: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/adapters");

/// What may stand in braces. `{origin}` is `http://127.0.0.1:PORT`; `{base_url}` is the same with `/v1`.
const PLACEHOLDERS: &[&str] = &["base_url", "dialect", "home", "model", "origin", "prompt", "workspace"];
/// Variables that belong to the run itself.
const RESERVED: &[&str] = &["HOME", "TMPDIR", "PATH", world::MARKER];
/// An adapter is a page of text.
const MAX_FILE: u64 = 256 * 1024;

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

#[cfg(test)]
mod tests;
