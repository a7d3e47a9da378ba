//! What a shell command is, as far as that can be known before it runs.
//!
//! [`analyse`] is a pure function of the text. It owns the verdict, the reasons for it and what a text is made of; it asks
//! nobody, reads no file, and refuses nothing: what follows from a verdict is decided elsewhere.
//!
//! Two readings must agree: the parser of a shell ([`parse`]) and a simpler one ([`flat`]). What either does not
//! understand whole is [`Verdict::Opaque`]. A command is [`Verdict::ReadOnly`] only where every part of it is on the list of
//! commands that, with just these arguments, can write nothing and run nothing else ([`safe`]).

mod flat;
mod parse;
mod programs;
mod reason;
mod safe;
mod word;

#[cfg(test)]
mod tests;

pub use flat::{RESERVED, Redirection};
pub use parse::MOST_BYTES;
pub use programs::{is_option, may_run_others};
pub use reason::{Reason, Verdict};
pub use safe::look as looks_of_find;
pub use word::Word;

use flat::{Flat, Simple};
use std::collections::BTreeSet;

/// How deeply a command line within a command line is looked at.
const MOST_INNER: usize = 2;
/// The most command lines that are guessed in a text that was not understood.
const MOST_LINES: usize = 512;

/// What is known of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// How it is rated.
    pub verdict: Verdict,
    /// Why, in order.
    pub reasons: BTreeSet<Reason>,
    /// Its simple commands, wherever in the text they stand.
    pub commands: Vec<SimpleCommand>,
    /// The words of the one simple command that the text is: understood whole, all of them literal, no redirection and no
    /// assignment, and the program is named plainly.
    pub plain: Option<Vec<String>>,
    /// The paths that a read-only command reads.
    pub reads: Vec<String>,
    /// What may be run by scripts that it hands on, and by what was not understood.
    inner_lines: BTreeSet<Vec<String>>,
}

/// A simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The assignments before it, as they are written.
    pub assignments: Vec<String>,
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Its redirections, as they are written.
    pub redirections: Vec<Redirection>,
}

impl Analysis {
    /// The words of everything that may be run by it, as far as they are known, for rules that deny: each simple command,
    /// what stands behind one that runs others, what is handed on as a script, and, where the text is not understood,
    /// whatever could be a command. Each program is there under its name without a path, and with its subcommand behind
    /// it.
    pub fn lines(&self) -> BTreeSet<Vec<String>> {
        let mut lines = self.inner_lines.clone();
        for command in &self.commands {
            command.lines(&mut lines);
        }
        lines
    }

    /// Where the shell itself would write, for every target that is literal: files that it opens before anything runs.
    pub fn written_by_shell(&self) -> impl Iterator<Item = String> + '_ {
        let redirections = self.commands.iter().flat_map(|command| &command.redirections);
        redirections.filter(|redirection| writes(redirection)).map(|redirection| {
            let word = Word::read(&redirection.target);
            word.text.unwrap_or(word.raw)
        })
    }
}

/// Analyses a command as it would be given to `sh -c`.
pub fn analyse(text: &str) -> Analysis {
    analyse_within(text, 0)
}

/// The simple commands of a text that is a list of such and nothing else, so that these and no others are what the shell
/// itself runs.
///
/// # Errors
/// What it holds besides, or that the two readings of it differ.
pub fn list(text: &str) -> Result<Vec<SimpleCommand>, Reason> {
    let blanks = [' ', '\t', '\n'];
    let trimmed = text.trim_matches(blanks);
    // A blank behind a backslash is a letter like any other.
    let text = if trimmed.ends_with('\\') { text.trim_start_matches(blanks) } else { trimmed };
    if text.chars().any(is_hidden) {
        return Err(Reason::Hidden);
    }
    let (flat, parsed) = (flat::read(text)?, parse::parse(text)?);
    if !agrees(&flat, parsed.flat.as_ref()) {
        return Err(Reason::Unparsed);
    }
    Ok(flat.commands.into_iter().map(SimpleCommand::of).collect())
}

fn analyse_within(text: &str, depth: usize) -> Analysis {
    // Blanks and line breaks at the end mean nothing; whatever else has several lines is looked at as that.
    let text = text.trim_matches([' ', '\t', '\n']);
    let mut reasons = BTreeSet::new();
    if text.chars().any(is_hidden) {
        reasons.insert(Reason::Hidden);
    }
    let flat = flat::read(text);
    let parsed = parse::parse(text);
    let mut commands = Vec::new();
    let mut piped = Vec::new();
    match (flat, parsed) {
        (Ok(flat), Ok(parsed)) if agrees(&flat, parsed.flat.as_ref()) => {
            reasons.extend(operators(&flat));
            let after = flat.operators.iter().map(|operator| *operator == "|").chain(std::iter::once(false));
            piped.push(0);
            for (n, (command, pipe)) in flat.commands.into_iter().zip(after).enumerate() {
                commands.push(SimpleCommand::of(command));
                if !pipe {
                    piped.push(n + 1);
                }
            }
        }
        (flat, parsed) => {
            reasons.extend(flat.as_ref().err().copied());
            match parsed {
                Ok(parsed) => {
                    // Two flat lists that differ.
                    reasons.extend(flat.is_ok().then_some(Reason::Unparsed));
                    reasons.extend(parsed.reasons);
                    piped.push(0);
                    for pipeline in parsed.pipelines {
                        commands.extend(pipeline.into_iter().map(SimpleCommand::of));
                        piped.push(commands.len());
                    }
                }
                Err(reason) => {
                    reasons.insert(reason);
                }
            }
        }
    }
    let mut inner_lines = BTreeSet::new();
    for command in &commands {
        reasons.extend(command.reasons());
        for inner in command.inner(depth) {
            inner_lines.extend(inner.lines());
            reasons.extend(inner.reasons.into_iter().filter(|reason| is_effect(*reason)));
        }
    }
    for range in piped.windows(2) {
        reasons.extend(runs_fetched(commands.get(range[0]..range[1]).unwrap_or_default()));
    }
    if reasons.iter().any(|reason| reason.verdict() == Verdict::Opaque) {
        reasons.extend(coarse(text, &mut inner_lines));
    }
    Analysis { inner_lines, ..conclude(reasons, commands) }
}

/// Puts the parts together: the safe list is asked last, and only about what nothing else is to be said of.
fn conclude(mut reasons: BTreeSet<Reason>, commands: Vec<SimpleCommand>) -> Analysis {
    let harmless = |reason: &Reason| *reason == Reason::Chain;
    let understood = !commands.is_empty() && reasons.iter().all(|r| harmless(r) || *r == Reason::Interpreter);
    let reads: Option<Vec<Vec<String>>> =
        commands.iter().map(|command| if understood { command.reads() } else { None }).collect();
    if let Some(reads) = reads {
        // A sequence of looks is a look, and so is the one thing that `sed` is allowed to do.
        reasons.retain(|reason| !harmless(reason) && *reason != Reason::Interpreter);
        if reasons.is_empty() {
            let reads = reads.into_iter().flatten().collect();
            let plain = plain(&commands);
            return Analysis {
                verdict: Verdict::ReadOnly,
                plain,
                reasons,
                commands,
                reads,
                inner_lines: BTreeSet::new(),
            };
        }
    }
    let rated = reasons.iter().map(|reason| reason.verdict()).max().unwrap_or(Verdict::Ordinary);
    let opaque = reasons.iter().any(|reason| reason.verdict() == Verdict::Opaque);
    let plain = if opaque || reasons.contains(&Reason::Background) { None } else { plain(&commands) };
    let verdict = if commands.is_empty() { rated.max(Verdict::Opaque) } else { rated };
    if commands.is_empty() && !opaque {
        reasons.insert(Reason::Unparsed);
    }
    Analysis { verdict, plain, reasons, commands, reads: Vec::new(), inner_lines: BTreeSet::new() }
}

/// The words of the one command, if there is one and nothing else.
fn plain(commands: &[SimpleCommand]) -> Option<Vec<String>> {
    let [command] = commands else { return None };
    let bare = command.words.first().is_some_and(|program| program.is_bare() && !program.raw.contains('/'));
    if !bare || !command.assignments.is_empty() || !command.redirections.is_empty() {
        return None;
    }
    command.words.iter().map(|word| word.text.clone()).collect()
}

fn agrees(own: &Flat, other: Option<&Flat>) -> bool {
    let Some(other) = other else { return false };
    let mut operators = own.operators.as_slice();
    if operators.len() == own.commands.len() && operators.last() == Some(&";") {
        operators = &operators[..operators.len() - 1];
    }
    own.commands == other.commands && operators == other.operators
}

fn operators(flat: &Flat) -> BTreeSet<Reason> {
    let chain = (flat.commands.len() > 1).then_some(Reason::Chain);
    let background = flat.operators.contains(&"&").then_some(Reason::Background);
    chain.into_iter().chain(background).collect()
}

/// Characters that a person does not see, or that move what is seen. A tab is seen as a blank.
fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\t' | '\n'))
        || (c.is_whitespace() && !c.is_ascii())
        || matches!(c,
            '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
            | '\u{2060}'..='\u{206f}' | '\u{3000}' | '\u{3164}' | '\u{a0}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{2000}'..='\u{200a}' | '\u{205f}' | '\u{e0000}'..='\u{e01ef}')
}

/// Whether a redirection opens a file for writing.
fn writes(redirection: &Redirection) -> bool {
    let duplicates = redirection.target == "-" || redirection.target.bytes().all(|byte| byte.is_ascii_digit());
    match redirection.operator {
        ">" | ">>" | ">|" | "<>" => true,
        ">&" => !duplicates,
        _ => false,
    }
}

/// Output that goes nowhere or where other output goes, and input that is empty.
fn is_harmless(redirection: &Redirection) -> bool {
    match redirection.operator {
        ">&" => {
            ["", "1", "2"].contains(&redirection.descriptor.as_str())
                && ["1", "2"].contains(&redirection.target.as_str())
        }
        ">" | ">>" => ["", "1", "2"].contains(&redirection.descriptor.as_str()) && redirection.target == "/dev/null",
        "<" => redirection.descriptor.is_empty() && redirection.target == "/dev/null",
        _ => false,
    }
}

impl SimpleCommand {
    fn of(simple: Simple) -> Self {
        let words = simple.words.iter().map(|word| Word::read(word)).collect();
        SimpleCommand { assignments: simple.assignments, words, redirections: simple.redirections }
    }

    /// The words as far as they are known, to be compared with what is known of programs.
    fn shown(&self) -> Vec<&str> {
        self.words.iter().map(Word::shown).collect()
    }

    /// What is to be seen about it.
    fn reasons(&self) -> BTreeSet<Reason> {
        let mut reasons: BTreeSet<Reason> = self.words.iter().filter_map(|word| word.special).collect();
        let shown = self.shown();
        reasons.extend(programs::reasons(&shown));
        if let Some(program) = self.words.first() {
            if !program.is_bare() {
                reasons.insert(Reason::Obscured);
            } else if program.raw.contains('/') {
                reasons.insert(Reason::ByPath);
            }
        }
        if !self.assignments.is_empty() {
            reasons.insert(Reason::Assignment);
            reasons.extend(self.assignments.iter().filter_map(|word| Word::read(word).special));
        }
        for redirection in self.redirections.iter().filter(|redirection| !is_harmless(redirection)) {
            let target = Word::read(&redirection.target);
            reasons.insert(Reason::Redirection);
            reasons.extend(target.special);
            if writes(redirection) && programs::is_device(target.shown()) {
                reasons.insert(Reason::Overwrites);
            }
        }
        reasons
    }

    /// The command lines that it hands on.
    fn inner(&self, depth: usize) -> Vec<Analysis> {
        if depth >= MOST_INNER {
            return Vec::new();
        }
        let shown = self.shown();
        let joined = (shown.first() == Some(&"eval")).then(|| shown[1..].join(" "));
        let scripts = programs::inner_scripts(&shown).into_iter().map(str::to_owned).chain(joined);
        scripts.map(|script| analyse_within(&script, depth + 1)).collect()
    }

    /// See [`Analysis::lines`].
    fn lines(&self, lines: &mut BTreeSet<Vec<String>>) {
        let shown = self.shown();
        programs::heads(&shown).for_each(|at| programs::spellings(&shown[at..], lines));
    }

    /// The paths that it reads, where it can write nothing and run nothing else.
    fn reads(&self) -> Option<Vec<String>> {
        let clean = self.assignments.is_empty() && self.redirections.iter().all(is_harmless);
        let argv: Option<Vec<&str>> = self.words.iter().map(|word| word.text.as_deref()).collect();
        if clean { safe::reads(&argv?) } else { None }
    }
}

/// Reasons that tell what a command does, and not how it is written.
fn is_effect(reason: Reason) -> bool {
    reason.verdict() == Verdict::Destructive
        || matches!(reason, Reason::Network | Reason::Removes | Reason::Forces | Reason::Privilege)
}

/// Whether what one command of a pipeline fetches is run by a later one.
fn runs_fetched(pipeline: &[SimpleCommand]) -> Option<Reason> {
    let fetched = pipeline.iter().position(|command| programs::fetches(&command.shown()))?;
    let run = pipeline[fetched + 1..].iter().any(|command| programs::takes_programs(&command.shown()));
    run.then_some(Reason::RunsFetched)
}

/// A rough look at a text that was not understood, for what it does: every word may be a program. It raises only.
fn coarse(text: &str, lines: &mut BTreeSet<Vec<String>>) -> BTreeSet<Reason> {
    let cut = text.len().min(MOST_BYTES);
    let text = &text[..(0..=cut).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)];
    let mut reasons = BTreeSet::new();
    for part in text.split([';', '|', '&', '(', ')', '{', '}', '`', '\n', '<', '>']) {
        let words: Vec<&str> =
            part.split([' ', '\t', '"', '\'', '\\', ',']).filter(|word| !word.is_empty()).take(64).collect();
        for at in 0..words.len().min(16) {
            reasons.extend(programs::reasons(&words[at..]).into_iter().filter(|reason| is_effect(*reason)));
            if lines.len() < MOST_LINES {
                programs::spellings(&words[at..], lines);
            }
        }
    }
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if dense.contains(":(){:|:&};:") || dense.contains("(){") && dense.contains("|") && dense.contains("&};") {
        reasons.insert(Reason::StopsSystem);
    }
    let words = || text.split(|c: char| !(c.is_ascii_alphanumeric() || "._-/".contains(c)));
    let runs = words().any(|word| programs::takes_programs(&[word]));
    if runs && text.contains(['|', '`', '$', '<']) && words().any(|word| programs::fetches(&[word])) {
        reasons.insert(Reason::RunsFetched);
    }
    reasons
}
