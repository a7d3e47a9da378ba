//! An adapter made of a command line, for an agent that needs no settings file.
//!
//! The words are split as a shell splits them, and nothing else of a shell happens: no variables, globs or pipes. What
//! stands before the program as `NAME=VALUE` goes into the agent's environment. A word that names a file from here is
//! made absolute, for the agent works in a folder of its own.

use super::{Adapter, AdapterError, Locator, ModeChange, Modes, PLACEHOLDERS, RESERVED, placeholder};
use crate::source::did_you_mean;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The least time a run gets, in milliseconds: interpreters are slow to start.
const LIMIT_MS: u64 = 30_000;

/// A command line as an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandLine {
    /// How it is launched.
    pub adapter: Adapter,
    /// Its program, as an absolute path.
    pub program: PathBuf,
}

impl CommandLine {
    /// Reads a command line. `name` is what the agent is called, its program's name when absent; `here` is the folder
    /// that relative paths are taken from.
    ///
    /// # Errors
    ///
    /// When the words are not whole, hold an unknown placeholder, pass on no task or no address, or when the program is
    /// not found.
    pub fn read(
        text: &str,
        name: Option<&str>,
        dialect: &str,
        locator: &Locator,
        here: &Path,
    ) -> Result<CommandLine, AdapterError> {
        let words = shlex::split(text).ok_or_else(|| {
            fault("a quote is not closed, or a backslash ends the words", "close it, or escape it with a backslash")
        })?;
        let (env, program, args) = parts(&words)?;
        check(&env, args)?;
        let path = found(program, locator, here)?;
        let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = match name {
            Some(name) => called(name)?,
            None => plain(&file_name),
        };
        // Where programs keep what they know, by custom and by the XDG base directories.
        let state = [".", ".config/", ".local/share/", ".local/state/"].map(|folder| format!("{folder}{name}/"));
        let state = state.into_iter().chain([".cache/".to_owned()]).collect();
        let adapter = Adapter {
            title: name.clone(),
            install: format!("put `{file_name}` on the PATH"),
            name,
            program: file_name,
            beside: false,
            version: Vec::new(),
            args: args.iter().map(|word| rooted(word, here)).collect(),
            model: super::model(),
            env,
            files: BTreeMap::new(),
            dialects: vec![dialect.to_owned()],
            dialect: BTreeMap::new(),
            binding: mock_llm::Binding::default(),
            modes: Modes { unattended: Some(ModeChange::default()), ..Modes::default() },
            side: Vec::new(),
            limit_ms: LIMIT_MS,
            state,
        };
        Ok(CommandLine { adapter, program: path })
    }
}

/// The name that an agent is given on the command line.
///
/// # Errors
///
/// When it is none.
pub fn called(name: &str) -> Result<String, AdapterError> {
    if plain(name) == name { Ok(name.to_owned()) } else { Err(AdapterError::Name { name: name.to_owned() }) }
}

fn fault(problem: impl Into<String>, fix: impl Into<String>) -> AdapterError {
    AdapterError::Words { problem: problem.into(), fix: fix.into() }
}

type Parts<'w> = (BTreeMap<String, String>, &'w str, &'w [String]);

/// The assignments before the program, the program, and what follows it.
fn parts(words: &[String]) -> Result<Parts<'_>, AdapterError> {
    let assigned = |word: &String| {
        let (name, value) = word.split_once('=')?;
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_name = name.chars().all(legal) && name.starts_with(|c: char| !c.is_ascii_digit());
        (is_name && !name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    };
    let env: Vec<(String, String)> = words.iter().map_while(assigned).collect();
    let [program, args @ ..] = &words[env.len()..] else {
        return Err(fault(
            "there is no program",
            "write a command as in a shell, such as 'my-agent {base_url} {prompt}'",
        ));
    };
    Ok((env.into_iter().collect(), program, args))
}

fn check(env: &BTreeMap<String, String>, args: &[String]) -> Result<(), AdapterError> {
    if let Some(name) = env.keys().find(|name| RESERVED.contains(&name.as_str())) {
        return Err(fault(format!("{name} belongs to the run"), "leave it out"));
    }
    let all: Vec<&str> = env.values().chain(args).flat_map(|word| names(word)).collect();
    if let Some(unknown) = all.iter().find(|name| !PLACEHOLDERS.contains(name)) {
        return Err(fault(format!("unknown placeholder {{{unknown}}}"), did_you_mean(unknown, PLACEHOLDERS)));
    }
    if !all.contains(&"prompt") {
        return Err(fault("the agent is never told its task", "add an argument with {prompt}"));
    }
    if !all.contains(&"base_url") && !all.contains(&"origin") {
        let fix = "add {base_url}, or {origin} for an agent that appends /v1 by itself, to an argument, or before the \
                   program as in OPENAI_BASE_URL={base_url}";
        return Err(fault("the agent is never told where the model is", fix));
    }
    Ok(())
}

/// The placeholders in a word.
fn names(word: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), word);
    while let Some((name, span)) = placeholder(rest) {
        found.push(name);
        rest = &rest[span.end..];
    }
    found
}

/// Where the program is: a path from here, or a name on the PATH.
fn found(program: &str, locator: &Locator, here: &Path) -> Result<PathBuf, AdapterError> {
    if !program.contains('/') {
        let fix = "install it, or write its path, such as ./target/debug/my-agent";
        return locator.on_path(program).ok_or_else(|| fault(format!("`{program}` is not found on the PATH"), fix));
    }
    // Links are followed by whoever starts it, for a program may ask for the name it was started by.
    let path = std::path::absolute(here.join(program)).unwrap_or_else(|_| here.join(program));
    if super::locate::executable(&path) {
        Ok(path)
    } else {
        let seen = path.display();
        Err(fault(format!("`{program}` is no executable file ({seen})"), "build it, or mend the path"))
    }
}

/// A word that names a file from here, as its absolute path; any other word as it is. A plain word without `/` or `.`
/// is never taken for a file, for it is more often a subcommand.
fn rooted(word: &str, here: &Path) -> String {
    let path = here.join(word);
    let named = word.contains(['/', '.']) && !word.starts_with('-') && names(word).is_empty() && path.is_file();
    if named { std::path::absolute(&path).unwrap_or(path).display().to_string() } else { word.to_owned() }
}

/// Lower-case letters, digits and hyphens of a text.
fn plain(text: &str) -> String {
    let text: String = text.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let text = text.trim_matches('-').to_owned();
    if text.is_empty() { "agent".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// A folder with a program `bin/My_Agent.sh` and a file `agent.toml`.
    fn place() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        for (name, mode) in [("bin/My_Agent.sh", 0o755), ("agent.toml", 0o644), ("run", 0o644)] {
            std::fs::write(folder.path().join(name), "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(folder.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        folder
    }

    fn read(text: &str) -> Result<CommandLine, String> {
        let folder = place();
        let read = CommandLine::read(text, None, "chat", &Locator::from_env(), folder.path());
        let here = folder.path().display().to_string();
        read.map(|mut line| {
            line.adapter.args.iter_mut().for_each(|arg| *arg = arg.replace(&here, "HERE"));
            line
        })
        .map_err(|error| error.to_string().replace(&here, "HERE"))
    }

    #[track_caller]
    fn check(text: &str, args: &[&str], env: &[(&str, &str)]) {
        let adapter = read(text).unwrap().adapter;
        let env: BTreeMap<_, _> = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!((adapter.args.iter().map(String::as_str).collect::<Vec<_>>(), &adapter.env), (args.to_vec(), &env));
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        check("sh -c 'a  b' {base_url} \"{prompt}\"", &["-c", "a  b", "{base_url}", "{prompt}"], &[]);
        check(
            "sh '{\"url\": {\"base\": \"{origin}\"}}' {prompt}",
            &["{\"url\": {\"base\": \"{origin}\"}}", "{prompt}"],
            &[],
        );
    }

    #[test]
    fn assignments_before_the_program_are_its_environment() {
        check("URL={base_url} EMPTY= sh A=b {prompt}", &["A=b", "{prompt}"], &[("EMPTY", ""), ("URL", "{base_url}")]);
    }

    #[test]
    fn files_are_named_from_here() {
        check(
            "sh agent.toml ./agent.toml run ./missing --x=agent.toml {base_url} {prompt}",
            &["HERE/agent.toml", "HERE/agent.toml", "run", "./missing", "--x=agent.toml", "{base_url}", "{prompt}"],
            &[],
        );
    }

    #[test]
    fn the_agent_is_called_after_its_program() {
        let line = read("./bin/My_Agent.sh {base_url} {prompt}").unwrap();
        assert_eq!(line.adapter.name, "my-agent-sh");
        assert!(line.program.is_absolute() && line.program.ends_with("bin/My_Agent.sh"), "{:?}", line.program);
        assert_eq!(line.adapter.offered(), [crate::agent::Mode::Unattended]);
        assert_eq!(called("x-1").unwrap(), "x-1");
        assert_eq!(
            called("X 1").unwrap_err().to_string(),
            "--name \"X 1\" is no name; use lower-case letters, digits and hyphens"
        );
    }

    #[test]
    fn what_is_made_of_words_is_an_adapter() {
        let adapter = read("URL={origin} sh -c x {prompt}").unwrap().adapter;
        let text = toml::to_string_pretty(&adapter).unwrap();
        assert_eq!(Adapter::parse("x.toml", &text).unwrap_or_else(|problems| panic!("{problems}\n{text}")), adapter);
    }

    #[track_caller]
    fn check_bad(text: &str, expect: &str) {
        assert_eq!(read(text).map(|line| line.adapter.args).unwrap_err(), format!("--cmd: {expect}"));
    }

    #[test]
    fn words_that_are_not_whole_are_refused() {
        let quote = "a quote is not closed, or a backslash ends the words; close it, or escape it with a backslash";
        check_bad("sh '{prompt} {base_url}", quote);
        check_bad("sh {prompt} {base_url} \\", quote);
        let none = "there is no program; write a command as in a shell, such as 'my-agent {base_url} {prompt}'";
        check_bad("", none);
        check_bad("URL={base_url}", none);
    }

    #[test]
    fn placeholders_are_checked() {
        check_bad("sh {base_ulr} {prompt}", "unknown placeholder {base_ulr}; did you mean \"base_url\"?");
        check_bad("A={moddel} sh {base_url} {prompt}", "unknown placeholder {moddel}; did you mean \"model\"?");
        check_bad("sh {base_url}", "the agent is never told its task; add an argument with {prompt}");
        check_bad(
            "sh {prompt}",
            "the agent is never told where the model is; add {base_url}, or {origin} for an agent that appends /v1 by \
             itself, to an argument, or before the program as in OPENAI_BASE_URL={base_url}",
        );
        check_bad("HOME=/x sh {base_url} {prompt}", "HOME belongs to the run; leave it out");
    }

    #[test]
    fn a_program_must_be_there() {
        check_bad(
            "no-such-agent {base_url} {prompt}",
            "`no-such-agent` is not found on the PATH; install it, or write its path, such as ./target/debug/my-agent",
        );
        check_bad(
            "./bin/no {base_url} {prompt}",
            "`./bin/no` is no executable file (HERE/bin/no); build it, or mend the path",
        );
        check_bad("./run {base_url} {prompt}", "`./run` is no executable file (HERE/run); build it, or mend the path");
    }
}
