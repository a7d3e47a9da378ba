//! What was decided before: grants, denials and rules, and the policy that asks only when none of them answers.
//!
//! - A denial is for exactly the call that was denied, and holds for the user turn in which it was given; or for good.
//! - A grant ends with its scope: the user turn, the session, or never, where it was written to the file the host named.
//! - A rule that denies outranks every grant and every mode, and is asked about every call, whatever its level.
//! - A name that was guessed is covered by no grant.
//!
//! The file is read once. One that cannot be read, or holds anything that is not understood, is not the same as none: then
//! every call that asks is denied, until a person has mended it.

use super::command::{Reason, Verdict};
use super::fingerprint::{Grant, Line, Rule, Subject};
use super::{ApprovalDecision, ApprovalPolicy, ApprovalQuestion, Decider, Lasts, approved, denied};
use crate::contract::BoxFuture;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// The most grants and the most denials that are remembered; what comes later is asked about again.
const MOST: usize = 1_000;
/// The longest file, in bytes.
const MOST_FILE: u64 = 1 << 20;

/// Why a grants file cannot be used.
#[derive(Debug, Error)]
pub enum GrantFileError {
    /// It cannot be read or written.
    #[error("cannot use the grants file {path}: {source}; make it, empty at first, or name another")]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
    /// It is not what such a file holds.
    #[error("the grants file {path} is not understood, so that nothing is approved by it: {problem}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where and what.
        problem: String,
    },
}

/// What the file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allow: Vec<Allow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deny: Vec<Deny>,
}

/// A grant as it is written: exactly one of `prefix`, `words` and `text`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allow {
    tool: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    cwd: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    permissions: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefix: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    words: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// How the approved command was rated; a command that is rated higher is asked about. Ordinary when absent.
    #[serde(default = "ordinary")]
    verdict: Verdict,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    reasons: BTreeSet<Reason>,
}

fn ordinary() -> Verdict {
    Verdict::Ordinary
}

/// A rule that denies, in every folder and mode: exactly one of `prefix`, `words` and `text`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Deny {
    tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefix: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    words: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// One of the three forms.
fn rule(prefix: Option<&Vec<String>>, words: Option<&Vec<String>>, text: Option<&String>) -> Result<Rule, String> {
    let filled = |words: &Vec<String>| !words.is_empty() && words.iter().all(|word| !word.is_empty());
    match (prefix, words, text) {
        (Some(prefix), None, None) if filled(prefix) => Ok(Rule::Prefix(prefix.clone())),
        (None, Some(words), None) if !words.is_empty() => Ok(Rule::Exact(Line::Words(words.clone()))),
        (None, None, Some(text)) if !text.is_empty() => Ok(Rule::Exact(Line::Text(text.clone()))),
        _ => Err("an entry needs exactly one of prefix, words and text, and it must not be empty".to_owned()),
    }
}

/// The form of a rule in the file: prefix, words, text.
type Written = (Option<Vec<String>>, Option<Vec<String>>, Option<String>);

fn written(rule: &Rule) -> Written {
    match rule {
        Rule::Prefix(prefix) => (Some(prefix.clone()), None, None),
        Rule::Exact(Line::Words(words)) => (None, Some(words.clone()), None),
        Rule::Exact(Line::Text(text)) => (None, None, Some(text.clone())),
    }
}

impl Allow {
    fn of(grant: &Grant) -> Self {
        let Grant { tool, cwd, permissions, rule, verdict, reasons } = grant.clone();
        let (prefix, words, text) = written(&rule);
        Allow { tool, cwd, permissions, prefix, words, text, verdict, reasons }
    }

    fn grant(&self) -> Result<Grant, String> {
        let rule = rule(self.prefix.as_ref(), self.words.as_ref(), self.text.as_ref())?;
        let Allow { tool, cwd, permissions, verdict, reasons, .. } = self.clone();
        Ok(Grant { tool, cwd, permissions, rule, verdict, reasons })
    }
}

/// A denial that lasts, or a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Denial {
    tool: String,
    rule: Rule,
    /// What belongs to the call besides; `None` for a rule, which holds everywhere.
    place: Option<(String, String)>,
}

impl Denial {
    fn exactly(subject: &Subject) -> Self {
        Denial {
            tool: subject.tool.clone(),
            rule: Rule::Exact(subject.line.clone()),
            place: Some((subject.cwd.clone(), subject.permissions.clone())),
        }
    }

    fn hits(&self, subject: &Subject) -> bool {
        let place = self.place.as_ref();
        let here = place.is_none_or(|(cwd, asked)| *cwd == subject.cwd && *asked == subject.permissions);
        // A rule is held against every command in the text, and looks through whatever runs another.
        let fits = match &self.rule {
            Rule::Exact(Line::Words(words)) => {
                subject.line == Line::Words(words.clone()) || (place.is_none() && subject.lines.contains(words))
            }
            Rule::Exact(line) => subject.line == *line,
            Rule::Prefix(prefix) => subject.lines.iter().any(|line| line.starts_with(prefix)),
        };
        self.tool == subject.tool && here && fits
    }
}

#[derive(Debug, Default)]
struct State {
    grants: Vec<(Grant, Lasts)>,
    denials: Vec<(Denial, Lasts)>,
    /// The file as it was read, and as it is written again.
    file: File,
}

/// Answers from what was decided before, and asks the inner policy when that says nothing.
pub struct Remembering<P> {
    inner: P,
    state: Mutex<State>,
    path: Option<PathBuf>,
    broken: Option<String>,
}

impl<P: ApprovalPolicy> Remembering<P> {
    /// Remembers as long as it lives: one for each session.
    pub fn new(inner: P) -> Self {
        Remembering { inner, state: Mutex::default(), path: None, broken: None }
    }

    /// The same, with what the file grants and denies for good.
    ///
    /// # Errors
    /// If the file cannot be read, or is not understood. A host that goes on all the same calls [`Remembering::refusing`].
    pub fn with_file(inner: P, path: &Path) -> Result<Self, GrantFileError> {
        let file = read(path)?;
        let broken = |problem: String| GrantFileError::Broken { path: path.to_owned(), problem };
        let grants = file.allow.iter().map(|allow| Ok((allow.grant()?, Lasts::Always))).collect::<Result<_, _>>();
        let denials = file.deny.iter().map(|deny| {
            let rule = rule(deny.prefix.as_ref(), deny.words.as_ref(), deny.text.as_ref())?;
            Ok((Denial { tool: deny.tool.clone(), rule, place: None }, Lasts::Always))
        });
        let denials = denials.collect::<Result<_, _>>().map_err(broken)?;
        let state = State { grants: grants.map_err(broken)?, denials, file };
        Ok(Remembering { inner, state: Mutex::new(state), path: Some(path.to_owned()), broken: None })
    }

    /// Denies whatever asks, because what was granted and denied cannot be known.
    pub fn refusing(inner: P, error: &GrantFileError) -> Self {
        Remembering { broken: Some(error.to_string()), ..Remembering::new(inner) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what a person decided for as long as they said.
    fn keep(&self, question: &ApprovalQuestion, decision: &ApprovalDecision) {
        let mut state = self.state();
        if !decision.approved {
            // The identical call is not asked about again in this turn.
            let lasts = decision.lasts.max(Lasts::Turn);
            if state.denials.len() < MOST {
                state.denials.push((Denial::exactly(&question.subject), lasts));
            }
            if lasts == Lasts::Always && self.path.is_some() {
                let (prefix, words, text) = written(&Rule::Exact(question.subject.line.clone()));
                state.file.deny.push(Deny { tool: question.subject.tool.clone(), prefix, words, text });
                self.save(&state.file);
            }
            return;
        }
        let Some(rule) = question.rule.clone().filter(|_| decision.lasts != Lasts::Once) else { return };
        if question.is_guess || state.grants.len() >= MOST {
            return;
        }
        let grant = Grant::of(&question.subject, rule);
        if decision.lasts == Lasts::Always && self.path.is_some() {
            state.file.allow.push(Allow::of(&grant));
            if !self.save(&state.file) {
                // What could not be kept for good was approved for this once. (Where no file was named at all, it holds as
                // long as this memory does.)
                state.file.allow.pop();
                return;
            }
        }
        state.grants.push((grant, decision.lasts));
    }

    /// Writes the file anew, if there is one; a new file beside it takes its place in one step.
    fn save(&self, file: &File) -> bool {
        let Some(path) = &self.path else { return false };
        let Ok(text) = toml::to_string(file) else { return false };
        write(path, &text).is_ok()
    }
}

fn read(path: &Path) -> Result<File, GrantFileError> {
    let io = |source| GrantFileError::Io { path: path.to_owned(), source };
    let broken = |problem: String| GrantFileError::Broken { path: path.to_owned(), problem };
    let opened = std::fs::File::open(path).map_err(io)?;
    if !opened.metadata().map_err(io)?.is_file() {
        return Err(broken("it is no file".to_owned()));
    }
    let mut text = String::new();
    let read = opened.take(MOST_FILE + 1).read_to_string(&mut text).map_err(io)?;
    if read as u64 > MOST_FILE {
        return Err(broken(format!("it is longer than {MOST_FILE} bytes")));
    }
    let file: File = toml::from_str(&text).map_err(|error| broken(error.message().to_owned()))?;
    if file.allow.len() + file.deny.len() > MOST {
        return Err(broken(format!("it holds more than {MOST} entries")));
    }
    Ok(file)
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let done = std::fs::File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::set_permissions(&beside, std::fs::metadata(path)?.permissions())?;
        std::fs::rename(&beside, path)
    });
    if done.is_err() {
        // Nothing is left beside the file; whether that works changes nothing of what is told.
        let _ = std::fs::remove_file(&beside);
    }
    done
}

impl<P: ApprovalPolicy> ApprovalPolicy for Remembering<P> {
    fn decide<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async move {
            if let Some(refused) = self.forbids(question) {
                return refused;
            }
            let granted =
                !question.is_guess && self.state().grants.iter().any(|(grant, _)| grant.covers(&question.subject));
            if granted {
                return approved(Decider::Grant);
            }
            let decision = self.inner.decide(question).await;
            if decision.by == Decider::Person {
                self.keep(question, &decision);
            }
            decision
        })
    }

    fn forbids(&self, question: &ApprovalQuestion) -> Option<ApprovalDecision> {
        if let Some(problem) = &self.broken {
            return Some(ApprovalDecision { comment: problem.clone(), ..denied(Decider::Policy) });
        }
        let state = self.state();
        let mut hits = state.denials.iter().filter(|(denial, _)| denial.hits(&question.subject));
        // A rule outranks what was denied for a while, so that the model is told the lasting reason.
        let by = hits.by_ref().map(|(denial, _)| denial.place.is_none()).max()?;
        Some(denied(if by { Decider::Rule } else { Decider::Remembered }))
    }

    fn user_turn(&self) {
        let mut state = self.state();
        state.grants.retain(|(_, lasts)| *lasts > Lasts::Turn);
        state.denials.retain(|(_, lasts)| *lasts > Lasts::Turn);
        drop(state);
        self.inner.user_turn();
    }
}

#[cfg(test)]
mod tests;
