//! Fingerprints: what a rejection and an approval of one call say about other calls.
//!
//! A rejection is for exactly the call that was rejected. An approval may stand for more: for a command that is one plain
//! program with a known subcommand, for every command of that kind (`arity.toml`). Everything else, and in particular what
//! is not understood whole, stands for its exact text in its folder.
//!
//! Whatever the key says, an approval never covers a command that is rated higher than the approved one was, or for a reason
//! that the approved one did not have.

use super::command::{Analysis, Reason, Verdict, Word, is_option};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

const TABLE: &str = include_str!("arity.toml");

static ARITY: LazyLock<Vec<Entry>> = LazyLock::new(|| load(TABLE).unwrap_or_default());

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    entry: Vec<Entry>,
}

/// How much of a command its approval stands for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    words: Vec<String>,
    #[serde(default)]
    further: usize,
    operands: Operands,
    breaks: Vec<String>,
    covers: Vec<(String, String)>,
    not: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operands {
    Any,
    None,
    Names,
}

/// What a call is, exactly.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The words of a command that is understood whole, however they were spaced and quoted.
    Words(Vec<String>),
    /// The text of any other command, or the canonical JSON of another tool's input.
    Text(String),
}

/// A call, as grants and denials see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The tool's own name.
    pub tool: String,
    /// The folder it would run in; empty where a tool has none.
    pub cwd: String,
    /// What it asks for besides, in canonical form; empty where it asks for nothing.
    pub permissions: String,
    /// What it is.
    pub line: Line,
    /// How many of its words an approval stands for, where it may stand for other commands.
    pub arity: Option<usize>,
    /// The words of everything that it may run, for rules that deny.
    pub lines: BTreeSet<Vec<String>>,
    /// How it is rated.
    pub verdict: Verdict,
    /// Why.
    pub reasons: BTreeSet<Reason>,
}

impl Subject {
    /// A call of a tool that says no more of its input: it stands for exactly that input.
    pub fn of_input(tool: &str, input: &Value) -> Self {
        Subject {
            tool: tool.to_owned(),
            cwd: String::new(),
            permissions: String::new(),
            // The keys of an object have one order, so that theirs in the model's text does not matter.
            line: Line::Text(input.to_string()),
            arity: None,
            lines: BTreeSet::new(),
            verdict: Verdict::Ordinary,
            reasons: BTreeSet::new(),
        }
    }

    /// A command that would run in `cwd`.
    pub fn of_command(tool: &str, text: &str, cwd: &str, analysis: &Analysis) -> Self {
        let arity = analysis.plain.as_deref().filter(|_| may_group(analysis)).and_then(arity);
        let line = match &analysis.plain {
            Some(words) => Line::Words(words.clone()),
            None => Line::Text(text.to_owned()),
        };
        Subject {
            tool: tool.to_owned(),
            cwd: cwd.to_owned(),
            permissions: String::new(),
            line,
            arity,
            lines: analysis.lines(),
            verdict: analysis.verdict,
            reasons: analysis.reasons.clone(),
        }
    }

    /// What an approval that lasts would stand for; `None` where none may last.
    pub fn rule(&self) -> Option<Rule> {
        if self.verdict == Verdict::Destructive {
            return None;
        }
        Some(match (&self.line, self.arity) {
            (Line::Words(words), Some(arity)) => Rule::Prefix(words[..arity.min(words.len())].to_vec()),
            (line, _) => Rule::Exact(line.clone()),
        })
    }

    /// The rule that the model suggests, if it is no broader than what the command allows.
    ///
    /// # Errors
    /// Why it is refused, for the model.
    pub fn suggested(&self, prefix: &[String]) -> Result<Rule, String> {
        let whole = match self.rule() {
            None => {
                Err("no approval of this command can last: it matches something that cannot be taken back".to_owned())
            }
            Some(rule) => Ok(rule),
        }?;
        let Line::Words(words) = &self.line else {
            return Err("the command is not one plain program with literal arguments, so that an approval stands for its exact \
                        text alone"
                .to_owned());
        };
        if prefix.is_empty() || !words.starts_with(prefix) {
            return Err("it is not how the command begins; give the first words of the command itself".to_owned());
        }
        match whole {
            Rule::Exact(_) if prefix.len() == words.len() => Ok(whole),
            Rule::Exact(_) => Err("an approval of this program stands for the exact command alone".to_owned()),
            Rule::Prefix(least) if prefix.len() < least.len() => {
                Err(format!("it is too broad: no approval stands for less than {}", least.join(" ")))
            }
            Rule::Prefix(_) => Ok(Rule::Prefix(prefix.to_vec())),
        }
    }
}

/// Whether an approval of such a command may stand for others at all.
fn may_group(analysis: &Analysis) -> bool {
    analysis.verdict <= Verdict::Raised && analysis.reasons.iter().all(|reason| *reason == Reason::Network)
}

/// What a grant stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Exactly this.
    Exact(Line),
    /// Commands of a known kind that begin with these words.
    Prefix(Vec<String>),
}

impl Rule {
    /// In words, for a person.
    pub fn described(&self) -> String {
        match self {
            Rule::Exact(Line::Words(words)) => format!("exactly `{}`", words.join(" ")),
            Rule::Exact(Line::Text(_)) => "exactly this text".to_owned(),
            Rule::Prefix(words) => format!("commands that begin with `{}`", words.join(" ")),
        }
    }
}

/// An approval that lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The tool.
    pub tool: String,
    /// The folder.
    pub cwd: String,
    /// What was asked for besides.
    pub permissions: String,
    /// What it stands for.
    pub rule: Rule,
    /// How the approved call was rated.
    pub verdict: Verdict,
    /// Why.
    pub reasons: BTreeSet<Reason>,
}

impl Grant {
    /// The grant of this call, for `rule`.
    pub fn of(subject: &Subject, rule: Rule) -> Self {
        Grant {
            tool: subject.tool.clone(),
            cwd: subject.cwd.clone(),
            permissions: subject.permissions.clone(),
            rule,
            verdict: subject.verdict,
            reasons: subject.reasons.clone(),
        }
    }

    /// Whether it covers a call.
    pub fn covers(&self, subject: &Subject) -> bool {
        let fits = match (&self.rule, &subject.line, subject.arity) {
            (Rule::Exact(line), own, _) => line == own,
            // A command of which nothing is known beyond its words, or that has an option which breaks the kind, has no
            // arity: only an exact grant covers it.
            (Rule::Prefix(prefix), Line::Words(words), Some(arity)) => {
                prefix.len() >= arity && words.starts_with(prefix)
            }
            (Rule::Prefix(_), _, _) => false,
        };
        fits && self.tool == subject.tool
            && self.cwd == subject.cwd
            && self.permissions == subject.permissions
            && subject.verdict != Verdict::Destructive
            && subject.verdict <= self.verdict
            && subject.reasons.is_subset(&self.reasons)
    }
}

/// How many words of a command its approval stands for.
fn arity(words: &[String]) -> Option<usize> {
    arity_in(&ARITY, words)
}

fn arity_in(table: &[Entry], words: &[String]) -> Option<usize> {
    let entry = table.iter().find(|entry| words.starts_with(&entry.words))?;
    let arity = entry.words.len() + entry.further;
    let key = words.get(..arity)?;
    if key[entry.words.len()..].iter().any(|word| !is_name(word)) {
        return None;
    }
    let fits = words[arity..].iter().all(|word| match word.strip_prefix('-') {
        Some(_) => !entry.breaks.iter().any(|mark| breaks(word, mark)),
        None => match entry.operands {
            Operands::Any => true,
            Operands::None => false,
            Operands::Names => is_name(word),
        },
    });
    fits.then_some(arity)
}

/// Whether an option is one that breaks, or could be read as one.
fn breaks(word: &str, mark: &str) -> bool {
    let single = word.trim_start_matches('-').split('=').next().unwrap_or_default();
    match mark.strip_prefix('-') {
        // One letter, in any cluster.
        None => !word.starts_with("--") && word.contains(mark),
        // `-exec` and `--exec` are one option to some programs.
        Some(name) if !name.starts_with('-') => single == name,
        Some(_) => is_option(word, mark),
    }
}

/// A word that names something and is no path, address, assignment or option.
fn is_name(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(['-', '+', '/', '.', ':'])
        && !word.contains("..")
        && word.chars().all(|c| c.is_alphanumeric() || "_-./^~".contains(c))
}

/// Reads a table and tries its examples.
fn load(text: &str) -> Result<Vec<Entry>, String> {
    let table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
    let words = |text: &str| -> Vec<String> {
        text.split(' ').filter(|word| !word.is_empty()).map(|word| Word::read(word).shown().to_owned()).collect()
    };
    for entry in &table.entry {
        let pairs = entry.covers.iter().map(|pair| (pair, true)).chain(entry.not.iter().map(|pair| (pair, false)));
        for ((approved, other), expect) in pairs {
            let (approved, other) = (words(approved), words(other));
            let key = |words: &[String]| arity_in(&table.entry, words).map(|arity| words[..arity].to_vec());
            let (own, found) = (key(&approved), key(&other));
            if own.is_none() || !approved.starts_with(&entry.words) || (own == found) != expect {
                return Err(format!("the example {approved:?} and {other:?} of {:?} does not hold", entry.words));
            }
        }
        if entry.covers.is_empty() || entry.not.is_empty() || entry.words.is_empty() {
            return Err(format!("{:?} lacks examples", entry.words));
        }
    }
    Ok(table.entry)
}

#[cfg(test)]
mod tests {
    use super::super::command::analyse;
    use super::*;
    use proptest::prelude::*;

    fn subject(text: &str) -> Subject {
        Subject::of_command("exec_shell", text, ".", &analyse(text))
    }

    /// Whether a lasting approval of one command covers another.
    #[track_caller]
    fn check(approved: &str, other: &str, expect: bool) {
        let approved = subject(approved);
        let covers = approved.rule().is_some_and(|rule| Grant::of(&approved, rule).covers(&subject(other)));
        assert_eq!(covers, expect, "{approved:?} {other}");
    }

    #[test]
    fn the_table_loads_and_its_examples_hold() {
        assert_eq!(load(TABLE).map(|table| table.len() > 20), Ok(true));
    }

    #[test]
    fn a_table_whose_examples_do_not_hold_is_none() {
        let entry = |covers: &str, not: &str| {
            load(&format!(
                "[[entry]]\nwords = ['x', 'y']\noperands = 'any'\nbreaks = ['--z']\ncovers = {covers}\nnot = {not}\n"
            ))
            .err()
            .unwrap_or_default()
        };
        assert!(entry("[['x y', 'x y --z']]", "[['x y', 'x']]").contains("does not hold"));
        assert!(entry("[['x y', 'x y -a']]", "[['x y', 'x y b']]").contains("does not hold"));
        assert!(entry("[['x y', 'x y']]", "[]").contains("lacks examples"));
        assert_eq!(entry("[['x y', 'x y -a']]", "[['x y', 'x y --z=1']]"), "");
    }

    #[test]
    fn an_approval_stands_for_commands_of_its_kind() {
        check("cargo build", "cargo build --release", true);
        check("cargo  build", "cargo build", true);
        check("cargo build --release", "cargo build", true);
        check("git push", "git push origin main", true);
        check("npm run test", "npm run test", true);
    }

    #[test]
    fn an_approval_stands_for_nothing_that_hides_more() {
        for other in [
            "cargo build && rm -rf x",
            "cargo build; curl x | sh",
            "cargo build $(evil)",
            "cargo build > f",
            "A=1 cargo build",
            "sudo cargo build",
            "env cargo build",
            "timeout 5 cargo build",
            "cargo build --config x",
            "cargo build &",
            "cargo build | sh",
            "./cargo build",
            "c''argo build",
            "cargo build *",
            "cargo build\nrm x",
            "cargo run",
            "cargo build --manifest-path=../x",
            "cargo buildx",
            "cargo",
            "cargo build # x",
            "nice cargo build",
            "cargo build `id`",
        ] {
            check("cargo build", other, false);
        }
        for (approved, other) in [
            ("python a.py", "python b.py"),
            ("sudo ls", "sudo rm x"),
            ("bash x", "bash y"),
            ("rm a", "rm b"),
            ("env A=1 ls", "env B=1 x"),
            ("FOO=1 cargo build", "FOO=1 cargo test"),
            ("git -C /other push", "git push"),
            ("git config alias.x y", "git config alias.y z"),
            ("docker run a", "docker run -v /:/h a"),
            ("npx a", "npx b"),
            ("git push", "git push --force"),
            ("git status", "git status --x > f"),
            ("curl a", "curl b"),
            ("make test", "make x"),
            ("npm install", "npm install evil"),
            ("npm exec a", "npm exec b"),
            ("cargo run", "cargo run x"),
        ] {
            check(approved, other, false);
        }
    }

    #[test]
    fn what_is_not_of_a_known_kind_stands_for_itself() {
        for text in [
            "rm a",
            "python a.py",
            "a && b",
            "x > f",
            "A=1 x",
            "sudo ls",
            "for x in 1; do y; done",
            "cargo build --config x",
        ] {
            check(text, text, true);
        }
        check("rm  a", "rm a", true);
        check("a  && b", "a && b", false);
        check("rm -rf /", "rm -rf /", false);
    }

    #[test]
    fn the_folder_and_what_is_asked_for_belong_to_the_key() {
        let approved = subject("cargo build");
        let grant = Grant::of(&approved, approved.rule().unwrap());
        assert!(!grant.covers(&Subject { cwd: "sub".into(), ..approved.clone() }));
        assert!(!grant.covers(&Subject { permissions: "network".into(), ..approved.clone() }));
        assert!(!grant.covers(&Subject { tool: "other".into(), ..approved.clone() }));
        assert!(grant.covers(&approved));
    }

    #[track_caller]
    fn check_suggested(text: &str, prefix: &[&str], expect: Result<&str, &str>) {
        let prefix: Vec<String> = prefix.iter().map(|word| (*word).to_owned()).collect();
        match (subject(text).suggested(&prefix), expect) {
            (Ok(rule), Ok(words)) => assert_eq!(rule.described(), words),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn a_suggestion_is_never_broader_than_what_the_command_allows() {
        check_suggested("cargo build -p x", &["cargo", "build"], Ok("commands that begin with `cargo build`"));
        check_suggested("cargo build -p x", &["cargo", "build", "-p"], Ok("commands that begin with `cargo build -p`"));
        check_suggested("cargo build", &["cargo"], Err("too broad: no approval stands for less than cargo build"));
        check_suggested("cargo build", &["cargo", "test"], Err("not how the command begins"));
        check_suggested("cargo build", &[], Err("not how the command begins"));
        check_suggested("python a.py", &["python"], Err("exact command alone"));
        check_suggested("python a.py", &["python", "a.py"], Ok("exactly `python a.py`"));
        check_suggested("a && b", &["a"], Err("not one plain program"));
        check_suggested("rm -rf /", &["rm"], Err("cannot be taken back"));
    }

    #[test]
    fn a_narrower_rule_covers_less() {
        let approved = subject("cargo build -p x");
        let prefix = ["cargo", "build", "-p", "x"].map(str::to_owned);
        let grant = Grant::of(&approved, approved.suggested(&prefix).unwrap());
        assert!(grant.covers(&subject("cargo build -p x --release")));
        assert!(!grant.covers(&subject("cargo build -p y")) && !grant.covers(&subject("cargo build")));
    }

    #[test]
    fn the_order_of_keys_in_an_input_does_not_matter() {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let of = |text: &str| Subject::of_input("t", &value(text));
        assert_eq!(of("{\"a\":1,\"b\":2}"), of("{ \"b\": 2, \"a\": 1 }"));
        assert_ne!(of("{\"a\":1}"), of("{\"a\":\"1\"}"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn an_approval_never_covers_what_is_rated_higher(
            approved in crate::fuzzing::command_text(), other in crate::fuzzing::command_text()
        ) {
            crate::fuzzing::fingerprint(format!("{approved}\0{other}").as_bytes());
        }

        #[test]
        fn nor_what_the_approved_command_was_made_to(
            approved in crate::fuzzing::command_text(), more in crate::fuzzing::command_text()
        ) {
            crate::fuzzing::fingerprint(format!("{approved}\0{approved}{more}").as_bytes());
            crate::fuzzing::fingerprint(format!("{approved}\0{more}{approved}").as_bytes());
        }
    }
}
