//! Which commands a text runs, for rules that deny.
//!
//! The shell analysis ([`crate::approval::command`]) tells what a text is made of; this adds what is known of programs that
//! run others. The answer holds every command that may run, or it is [`Commands::Opaque`]: a text that is no flat list of
//! simple commands, a program that runs what it is given, an argument of which nobody can tell whether it names a program.
//! What a command finds in files that lie there already is not looked at.

use super::command::{Commands, SimpleCommand, Word, base_name};
use super::git;
use super::wrapper::{self, Runs};
use crate::approval::command::{self, Reason, Redirection};

/// How deeply a command line within a command line, or a command behind a command, is followed.
const DEEPEST: usize = 8;

/// Variables that no program takes for the name of another. A text that sets any other is opaque.
const HARMLESS_VARIABLES: &[&str] = &[
    "CARGO_TERM_COLOR",
    "CI",
    "FORCE_COLOR",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
];

/// Why nobody can tell what a text runs.
type Why = String;

/// What `text` runs when a shell takes it.
pub fn read(text: &str) -> Commands {
    let mut commands = Vec::new();
    match list(text, 0, &mut commands) {
        Ok(()) => Commands::Simple(commands),
        Err(why) => Commands::Opaque { why },
    }
}

fn list(text: &str, depth: usize, commands: &mut Vec<SimpleCommand>) -> Result<(), Why> {
    if text.trim_matches([' ', '\t', '\n']).is_empty() {
        return Ok(());
    }
    for command in command::list(text).map_err(|reason| reason.words().to_owned())? {
        let assigned = command.assignments.iter().all(|word| is_harmless_assignment(word));
        let redirected = command.redirections.iter().all(is_plain_redirection);
        if !assigned {
            return Err(Reason::Assignment.words().to_owned());
        }
        if !redirected {
            return Err("shells disagree about one of its redirections".to_owned());
        }
        // A line that goes on, and what is worse.
        if let Some(reason) = command.words.iter().filter_map(|word| word.special).find(|r| *r >= Reason::SeveralLines)
        {
            return Err(reason.words().to_owned());
        }
        follow(command.words.iter().map(Word::of).collect(), depth, commands)?;
    }
    Ok(())
}

/// Takes a command, and what it runs.
fn follow(words: Vec<Word>, depth: usize, commands: &mut Vec<SimpleCommand>) -> Result<(), Why> {
    if depth > DEEPEST {
        return Err(Reason::TooLarge.words().to_owned());
    }
    let Some(Word::Known(head)) = words.first() else {
        commands.push(SimpleCommand { words });
        return Ok(());
    };
    let name = base_name(head).to_lowercase();
    // A name that is empty, sets a variable, or is a word of the shell's grammar behind something that is not the shell.
    if name.is_empty() || head.contains('=') || command::RESERVED.contains(&name.as_str()) {
        return Err(Reason::Obscured.words().to_owned());
    }
    let arguments = &words[1..];
    if name == "git" && git::runs_others(arguments) {
        return Err("it is a git command that runs others, or may be".to_owned());
    }
    let runs = wrapper::runs(&name, arguments)?;
    commands.push(SimpleCommand { words });
    for run in runs {
        match run {
            Runs::Command(words) => follow(words, depth + 1, commands)?,
            Runs::Script(text) => list(&text, depth + 1, commands)?,
        }
    }
    Ok(())
}

/// Whether a word sets a variable, and a harmless one, to something that runs nothing itself.
pub(super) fn is_harmless_assignment(word: &str) -> bool {
    let substitutes = || command::Word::read(word).special == Some(Reason::Substitution);
    word.split_once('=').is_some_and(|(name, _)| HARMLESS_VARIABLES.contains(&name)) && !substitutes()
}

/// A redirection that every shell reads alike. What `>&word` and `>|` are depends on the shell.
fn is_plain_redirection(redirection: &Redirection) -> bool {
    let descriptor = || redirection.target == "-" || redirection.target.bytes().all(|byte| byte.is_ascii_digit());
    let target = command::Word::read(&redirection.target).special != Some(Reason::Substitution);
    match redirection.operator {
        "<" | ">" | ">>" => target,
        "<&" | ">&" => descriptor(),
        _ => false,
    }
}

impl Word {
    fn of(word: &command::Word) -> Self {
        // No shell takes these for patterns.
        if ["[", "]"].contains(&word.raw.as_str()) {
            return Word::Known(word.raw.clone());
        }
        // Nor an empty pair of braces; programs that run others put something in its place. No control character is in a
        // text that was read.
        let raw = word.raw.replace(wrapper::PLACE, "\u{1}");
        match command::Word::read(&raw).text {
            Some(text) => Word::Known(text.replace('\u{1}', wrapper::PLACE)),
            None => Word::Unknown,
        }
    }
}
