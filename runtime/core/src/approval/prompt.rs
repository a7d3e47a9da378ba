//! What a tool says of one input to whoever must decide about it, and what a person is told.

use super::fingerprint::{Rule, Subject};
use crate::contract::ApprovalRequirement;

/// What a tool knows of one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// Who must be asked.
    pub level: ApprovalRequirement,
    /// What the call is to grants and denials.
    pub subject: Subject,
    /// What an approval that lasts would stand for; `None` where none may last.
    pub rule: Option<Rule>,
    /// What a person is told.
    pub prompt: Prompt,
}

/// What a person is told besides the input and what the tool can do. Everything but the justification is the runtime's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// What would run, as it would run.
    pub command: Option<String>,
    /// What was found about it.
    pub reasons: Vec<String>,
    /// Where it would run, and with what rights.
    pub scope: Option<String>,
    /// What the model says it is for.
    pub justification: Option<String>,
    /// What an answer for this session would cover; `None` where no answer lasts.
    pub covers: Option<String>,
    /// What to write into the grants file so that it is never asked about again.
    pub unlock: Option<String>,
}

impl Prompt {
    /// The parts a person reads, one in each line. Nothing is escaped.
    pub fn lines(&self) -> Vec<String> {
        let line = |name: &str, text: &Option<String>| text.as_ref().map(|text| format!("{name}: {text}"));
        let mut lines: Vec<String> = line("command", &self.command).into_iter().collect();
        if !self.reasons.is_empty() {
            lines.push(format!("why it is asked: {}", self.reasons.join("; ")));
        }
        lines.extend(line("scope", &self.scope));
        lines.extend(line("the model says", &self.justification));
        lines.extend(line("an answer for this session covers", &self.covers));
        lines.extend(line("to allow it for good", &self.unlock));
        lines
    }
}

/// The entry of a grants file for a rule.
pub(super) fn entry(subject: &Subject, rule: &Rule) -> String {
    use super::fingerprint::Line;
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let list = |words: &[String]| {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!("[{}]", words.join(", "))
    };
    let form = match rule {
        Rule::Prefix(words) => format!("prefix = {}", list(words)),
        Rule::Exact(Line::Words(words)) => format!("words = {}", list(words)),
        Rule::Exact(Line::Text(text)) => format!("text = {}", quoted(text)),
    };
    let mut parts = vec![format!("tool = {}", quoted(&subject.tool)), form];
    if !subject.cwd.is_empty() {
        parts.push(format!("cwd = {}", quoted(&subject.cwd)));
    }
    if !subject.permissions.is_empty() {
        parts.push(format!("permissions = {}", quoted(&subject.permissions)));
    }
    let verdict = toml::Value::try_from(subject.verdict).map(|verdict| verdict.to_string()).unwrap_or_default();
    parts.push(format!("verdict = {verdict}"));
    let reasons: Vec<String> = subject.reasons.iter().map(|reason| reason.as_str().to_owned()).collect();
    parts.push(format!("reasons = {}", list(&reasons)));
    format!("[[allow]]\n{}", parts.join("\n"))
}

impl Assessment {
    /// The assessment of a subject at a level; `suggested` is a rule in place of the one that follows from it.
    pub fn new(level: ApprovalRequirement, subject: Subject, suggested: Option<Rule>, prompt: Prompt) -> Self {
        let rule = suggested.or_else(|| subject.rule());
        let covers = rule.as_ref().map(|rule| {
            let place =
                if subject.cwd.is_empty() { String::new() } else { format!(", in the folder {:?}", subject.cwd) };
            format!("{}{place}, unless something more is found about it than now", rule.described())
        });
        let unlock = rule
            .as_ref()
            .map(|rule| format!("answer \"always\", or write into the grants file:\n{}", entry(&subject, rule)));
        let prompt = Prompt { covers, unlock, ..prompt };
        Assessment { level, subject, rule, prompt }
    }
}

#[cfg(test)]
mod tests {
    use super::super::command::analyse;
    use super::*;

    fn assess(command: &str) -> Assessment {
        let subject = Subject::of_command("exec_shell", command, "sub", &analyse(command));
        let prompt = Prompt { command: Some(command.to_owned()), reasons: vec!["r".into()], ..Prompt::default() };
        Assessment::new(ApprovalRequirement::Required, subject, None, prompt)
    }

    #[test]
    fn a_person_is_told_what_an_answer_covers_and_how_to_unlock() {
        assert_eq!(
            assess("git push").prompt.lines(),
            [
                "command: git push",
                "why it is asked: r",
                "an answer for this session covers: commands that begin with `git push`, in the folder \"sub\", unless \
                 something more is found about it than now",
                "to allow it for good: answer \"always\", or write into the grants file:\n[[allow]]\ntool = \"exec_shell\"\n\
                 prefix = [\"git\", \"push\"]\ncwd = \"sub\"\nverdict = \"raised\"\nreasons = [\"network\"]",
            ]
        );
    }

    #[test]
    fn where_no_answer_lasts_none_is_offered() {
        let assessment = assess("rm -rf /");
        assert_eq!((assessment.rule, assessment.prompt.covers, assessment.prompt.unlock), (None, None, None));
    }
}
