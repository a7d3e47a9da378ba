//! The parser of a shell, bounded, and what it finds: every simple command, wherever in the text it stands.
//!
//! The parser is another crate's and reads its input by recursion and backtracking. Before it is called the text is held to
//! a length and to a number of things that nest, so that neither its depth nor its time depends on who wrote the text.

use super::flat::{self, Flat, Redirection, Simple};
use super::reason::Reason;
use brush_parser::ast::{
    AndOr, AndOrList, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList, IoFileRedirectKind,
    IoFileRedirectTarget, IoRedirect, Pipeline, Program, SeparatorOperator, SimpleCommand,
};
use brush_parser::{ParserOptions, SourceInfo, parse_tokens, uncached_tokenize_str};
use std::collections::BTreeSet;

/// The longest text that is parsed, in bytes.
pub const MOST_BYTES: usize = 8 * 1024;
/// The most parts of a text that could nest.
pub const MOST_NESTED: usize = 12;

/// What the parser found.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// Every pipeline, with its simple commands in order; those within groups, loops and functions as well.
    pub pipelines: Vec<Vec<Simple>>,
    /// The text as a flat list, if it is one.
    pub flat: Option<Flat>,
    /// What else the text holds.
    pub reasons: BTreeSet<Reason>,
}

/// Parses a text.
///
/// # Errors
/// Why it was not: it is too large, or no shell grammar.
pub fn parse(text: &str) -> Result<Parsed, Reason> {
    if text.len() > MOST_BYTES {
        return Err(Reason::TooLarge);
    }
    // What is quoted in a flat list nests nothing. Elsewhere a quote may mean something else.
    let is_flat = flat::read(text).is_ok();
    if nested(&if is_flat { flat::without_quoted(text) } else { text.to_owned() }) > MOST_NESTED {
        return Err(Reason::TooLarge);
    }
    // The wider grammar, so that more is found; what is understood whole, the simpler reading must agree on.
    let options = ParserOptions::default();
    let tokens = uncached_tokenize_str(text, &options.tokenizer_options()).map_err(|_| Reason::Unparsed)?;
    let program = parse_tokens(&tokens, &options, &SourceInfo::default()).map_err(|_| Reason::Unparsed)?;
    let mut walk = Walk::default();
    walk.program(&program);
    Ok(Parsed { flat: flat(&program, &walk), pipelines: walk.pipelines, reasons: walk.reasons })
}

/// How many parts of the text could begin something that nests, at most. Quoting is not looked at: too many is the safe
/// side.
fn nested(text: &str) -> usize {
    let marks = text.bytes().filter(|byte| matches!(byte, b'(' | b'{' | b'`' | b'[')).count();
    let words = text.split(|c: char| !c.is_ascii_alphabetic());
    let openers = ["if", "case", "for", "while", "until", "select", "function", "coproc", "do"];
    marks + words.filter(|word| openers.contains(word)).count()
}

/// The whole program as a flat list.
fn flat(program: &Program, walk: &Walk) -> Option<Flat> {
    if !walk.reasons.is_empty() || program.complete_commands.len() != 1 {
        return None;
    }
    let list = program.complete_commands.first()?;
    let mut flat = Flat::default();
    let items = list.0.len();
    for (position, item) in list.0.iter().enumerate() {
        let pipelines = and_or(&item.0);
        for (operator, pipeline) in pipelines {
            flat.operators.extend(operator);
            for (n, command) in pipeline.seq.iter().enumerate() {
                let Command::Simple(command) = command else { return None };
                if n > 0 {
                    flat.operators.push("|");
                }
                flat.commands.push(simple(command)?);
            }
        }
        let last = position + 1 == items;
        match item.1 {
            SeparatorOperator::Async => flat.operators.push("&"),
            // The parser does not tell whether the last command has a semicolon behind it; neither does it matter.
            SeparatorOperator::Sequence if !last => flat.operators.push(";"),
            SeparatorOperator::Sequence => {}
        }
    }
    Some(flat)
}

fn and_or(list: &AndOrList) -> Vec<(Option<&'static str>, &Pipeline)> {
    let rest = list.additional.iter().map(|next| match next {
        AndOr::And(pipeline) => (Some("&&"), pipeline),
        AndOr::Or(pipeline) => (Some("||"), pipeline),
    });
    std::iter::once((None, &list.first)).chain(rest).collect()
}

/// A simple command by its written parts; `None` where one of them is no word.
fn simple(command: &SimpleCommand) -> Option<Simple> {
    let mut simple = Simple::default();
    let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
    for item in prefix {
        match item {
            Item::AssignmentWord(_, word) => simple.assignments.push(word.value.clone()),
            Item::IoRedirect(redirect) => simple.redirections.push(redirection(redirect)?),
            Item::Word(_) | Item::ProcessSubstitution(..) => return None,
        }
    }
    simple.words.extend(command.word_or_name.iter().map(|word| word.value.clone()));
    for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
        match item {
            Item::Word(word) | Item::AssignmentWord(_, word) => simple.words.push(word.value.clone()),
            Item::IoRedirect(redirect) => simple.redirections.push(redirection(redirect)?),
            Item::ProcessSubstitution(..) => return None,
        }
    }
    Some(simple)
}

fn redirection(redirect: &IoRedirect) -> Option<Redirection> {
    let IoRedirect::File(descriptor, kind, target) = redirect else { return None };
    let operator = match kind {
        IoFileRedirectKind::Read => "<",
        IoFileRedirectKind::Write => ">",
        IoFileRedirectKind::Append => ">>",
        IoFileRedirectKind::ReadAndWrite => "<>",
        IoFileRedirectKind::Clobber => ">|",
        IoFileRedirectKind::DuplicateInput => "<&",
        IoFileRedirectKind::DuplicateOutput => ">&",
    };
    let target = match target {
        IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => word.value.clone(),
        IoFileRedirectTarget::Fd(fd) => fd.to_string(),
        IoFileRedirectTarget::ProcessSubstitution(..) => return None,
    };
    Some(Redirection { descriptor: descriptor.map(|fd| fd.to_string()).unwrap_or_default(), operator, target })
}

/// Collects every simple command, and what is no simple command.
#[derive(Default)]
struct Walk {
    pipelines: Vec<Vec<Simple>>,
    reasons: BTreeSet<Reason>,
}

impl Walk {
    fn program(&mut self, program: &Program) {
        program.complete_commands.iter().for_each(|list| self.list(list));
    }

    fn list(&mut self, list: &CompoundList) {
        for (_, pipeline) in list.0.iter().flat_map(|item| and_or(&item.0)) {
            self.pipeline(pipeline);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if pipeline.bang || pipeline.timed.is_some() {
            self.reasons.insert(Reason::Compound);
        }
        let mut commands = Vec::new();
        for command in &pipeline.seq {
            match command {
                Command::Simple(command) => commands.push(self.simple(command)),
                Command::Compound(compound, redirects) => {
                    self.reasons.insert(Reason::Compound);
                    let first = self.pipelines.len();
                    self.compound(compound);
                    redirects.iter().flat_map(|list| &list.0).for_each(|redirect| self.redirect(redirect));
                    // What a group in a pipeline reads or writes, its commands do.
                    if pipeline.seq.len() > 1 {
                        commands.extend(self.pipelines[first..].iter().flatten().cloned().collect::<Vec<_>>());
                    }
                }
                Command::Function(function) => {
                    self.reasons.insert(Reason::Function);
                    self.compound(&function.body.0);
                }
                Command::ExtendedTest(_) => {
                    self.reasons.insert(Reason::Compound);
                }
            }
        }
        if !commands.is_empty() {
            self.pipelines.push(commands);
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(_) => {}
            CompoundCommand::ArithmeticForClause(clause) => self.list(&clause.body.list),
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(shell) => self.list(&shell.list),
            CompoundCommand::ForClause(clause) => self.list(&clause.body.list),
            CompoundCommand::CaseClause(clause) => {
                clause.cases.iter().filter_map(|case| case.cmd.as_ref()).for_each(|list| self.list(list));
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for part in clause.elses.iter().flatten() {
                    part.condition.iter().for_each(|list| self.list(list));
                    self.list(&part.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
        }
    }

    /// The command as far as its parts are words; what is inside its substitutions is walked as well.
    fn simple(&mut self, command: &SimpleCommand) -> Simple {
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        let (mut simple, mut before) = (Simple::default(), true);
        for item in prefix.map(Some).chain(std::iter::once(None)).chain(suffix.map(Some)) {
            match item {
                None => {
                    before = false;
                    simple.words.extend(command.word_or_name.iter().map(|word| word.value.clone()));
                }
                Some(Item::AssignmentWord(_, word)) if before => simple.assignments.push(word.value.clone()),
                Some(Item::Word(word) | Item::AssignmentWord(_, word)) => simple.words.push(word.value.clone()),
                Some(Item::IoRedirect(redirect)) => {
                    self.redirect(redirect);
                    simple.redirections.extend(redirection(redirect));
                }
                Some(Item::ProcessSubstitution(_, shell)) => {
                    self.reasons.insert(Reason::Substitution);
                    self.list(&shell.list);
                }
            }
        }
        simple
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, shell)) => {
                self.reasons.insert(Reason::Substitution);
                self.list(&shell.list);
            }
            IoRedirect::File(..) => {}
            IoRedirect::HereDocument(..) | IoRedirect::HereString(..) => {
                self.reasons.insert(Reason::HereDocument);
            }
            // One shell takes it for a redirection, and another for a command in the background before one.
            IoRedirect::OutputAndError(..) => {
                self.reasons.insert(Reason::Unparsed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::flat;
    use super::*;

    /// Both readings agree on a flat list.
    #[track_caller]
    fn check_flat(text: &str) {
        let mut own = flat::read(text).expect("a flat list");
        if own.operators.len() == own.commands.len() && own.operators.last() == Some(&";") {
            own.operators.pop();
        }
        assert_eq!(parse(text).expect("it is shell").flat, Some(own), "{text}");
    }

    /// The programs of the simple commands, wherever they stand.
    #[track_caller]
    fn check_found(text: &str, expect: &[&str]) {
        let parsed = parse(text).expect("it is shell");
        let commands: BTreeSet<String> =
            parsed.pipelines.iter().flatten().filter_map(|command| command.words.first().cloned()).collect();
        assert_eq!(commands, expect.iter().map(|name| (*name).to_owned()).collect(), "{text}");
        assert!(!parsed.reasons.is_empty() && parsed.flat.is_none(), "{text}: {parsed:?}");
    }

    #[test]
    fn two_readings_agree_on_flat_lists() {
        for text in [
            "ls -la",
            "ls -la;",
            "A=1 B='2 3' x C=4",
            "a | b && c || d ; e &",
            "x >a 2>&1 </dev/null >>b",
            "x 2> a <> b >| c <&3",
            "git commit -m \"a && b; c | d\"",
            "echo 'it'\\''s' \\; a\\ b",
            "find . -name '*.rs' -exec grep x {} \\;",
            "echo é ✓ 'é'",
        ] {
            check_flat(text);
        }
    }

    #[test]
    fn commands_are_found_in_whatever_holds_them() {
        check_found("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
        check_found("while a; do b; done", &["a", "b"]);
        check_found("for x in 1 2; do rm $x; done", &["rm"]);
        check_found("(a; { b; })", &["a", "b"]);
        check_found("case x in a) b;; esac", &["b"]);
        check_found("f() { rm x; }; f", &["rm", "f"]);
        check_found("a <(b) > >(c)", &["a", "b", "c"]);
        check_found("! a", &["a"]);
    }

    #[test]
    fn what_is_too_large_is_not_parsed() {
        let refused = |text: String| parse(&text).err();
        assert_eq!(refused("a".repeat(MOST_BYTES + 1)), Some(Reason::TooLarge));
        assert_eq!(refused("(".repeat(MOST_NESTED + 1)), Some(Reason::TooLarge));
        assert_eq!(refused("if ".repeat(MOST_NESTED + 1)), Some(Reason::TooLarge));
        assert_eq!(refused("$(".repeat(100_000)), Some(Reason::TooLarge));
        assert_eq!(refused("fi fi".to_owned()), Some(Reason::Unparsed));
        assert_eq!(refused(format!("echo '{}'", "if (".repeat(100))), None);
        assert_eq!(refused(format!("echo \"'\" $( '{}'", "(".repeat(100))), Some(Reason::TooLarge));
    }
}
