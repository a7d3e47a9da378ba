//! One rule: how it is read, and which tools it is about.

use super::command::CommandPattern;
use super::families::{Family, Grammar, by_name, families, grammar_of};
use super::host::HostPattern;
use super::path::{PathPattern, Roots};
use super::{folded, glob, server_of, squashed};
use crate::contract::{Capability, OriginKind, ToolMetadata};
use thiserror::Error;

/// The longest rule, in bytes.
const LONGEST: usize = 4096;

/// Why a rule cannot be read. Going on without it would allow what somebody meant to deny.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the deny rule {rule:?} cannot be read: {reason}")]
pub struct DenyRuleError {
    /// The rule, at most its beginning.
    pub rule: String,
    /// What is wrong with it, and what would be right.
    pub reason: String,
}

/// A deny rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenyRule {
    text: String,
    pub(super) subject: Subject,
    pub(super) filter: Filter,
}

/// Which tools a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A name that people know.
    Family(&'static Family),
    /// The tool of this squashed name.
    Tool(String),
    /// The tools whose folded name is like this.
    Like(String),
    /// The tools of an MCP server, or one of them: the folded name without `mcp__`.
    Mcp(String),
}

/// Which calls of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    Every,
    Command(CommandPattern),
    Path(PathPattern),
    Host(HostPattern),
    /// A squashed name, `*` for any text.
    Name(String),
}

impl DenyRule {
    /// Reads a rule.
    ///
    /// # Errors
    /// When any part of it could mean something else than what it says.
    pub fn parse(text: &str, roots: &Roots) -> Result<Self, DenyRuleError> {
        let rule = text.trim();
        let shown: String = rule.chars().take(200).collect();
        let fault = |reason: String| DenyRuleError { rule: shown.clone(), reason };
        if rule.len() > LONGEST {
            return Err(fault(format!("it is longer than {LONGEST} bytes")));
        }
        if rule.chars().any(char::is_control) {
            return Err(fault("it holds a control character; write one rule on one line".to_owned()));
        }
        let (name, parameter) = match rule.split_once('(') {
            None => (rule, None),
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(parameter) => (name.trim_end(), Some(parameter.trim())),
                None => return Err(fault("its parenthesis is not closed at the end".to_owned())),
            },
        };
        let subject = subject(name).map_err(&fault)?;
        let filter = match parameter {
            None => Filter::Every,
            Some("") => {
                return Err(fault("its parameter is empty; leave the parentheses out to deny every call".to_owned()));
            }
            Some("*" | "**" | ":*") => Filter::Every,
            Some(parameter) => filter(&subject, parameter, roots).map_err(&fault)?,
        };
        Ok(DenyRule { text: rule.to_owned(), subject, filter })
    }

    /// The rule as it was written, without white space around it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is about this tool at all.
    pub fn names(&self, tool: &ToolMetadata) -> bool {
        match &self.subject {
            Subject::Family(family) => {
                self.is_builtin_of(family, tool)
                    || family.field(&tool.name).is_some()
                    || own_names(tool).any(|name| family.names.contains(&squashed(name).as_str()))
                    || self.is_its_agent(family, tool)
            }
            Subject::Tool(name) => own_names(tool).any(|own| squashed(own) == *name),
            Subject::Like(pattern) => own_names(tool).any(|own| glob(pattern, &folded(own))),
            Subject::Mcp(pattern) => {
                own_names(tool).any(|own| folded(own).strip_prefix("mcp__").is_some_and(|own| reaches(pattern, own)))
                    || server_of(tool).is_some_and(|server| glob(pattern, &server) || reaches(pattern, &server))
                    || reads_servers(tool)
            }
        }
    }

    /// Whether it denies every call of this tool.
    pub fn hides(&self, tool: &ToolMetadata) -> bool {
        match (&self.subject, &self.filter) {
            // A sub-agent that is offered as a tool is spawned by calling it.
            (Subject::Family(family), Filter::Name(_)) => self.is_its_agent(family, tool),
            (_, Filter::Command(_) | Filter::Path(_) | Filter::Host(_) | Filter::Name(_)) => false,
            // These serve every server: the call says which.
            (Subject::Mcp(pattern), Filter::Every) if reads_servers(tool) => pattern == "*",
            // Listed for their parameter alone, such as git_show for a path.
            (Subject::Family(family), Filter::Every) => {
                self.is_builtin_of(family, tool)
                    || own_names(tool).any(|name| family.names.contains(&squashed(name).as_str()))
                    || self.is_its_agent(family, tool)
            }
            (_, Filter::Every) => self.names(tool),
        }
    }

    /// Whether a parameter of it is about calls of this tool of ours.
    pub(super) fn is_about(&self, tool: &str) -> bool {
        match &self.subject {
            Subject::Family(family) => family.field(tool).is_some(),
            Subject::Tool(name) => squashed(tool) == *name,
            Subject::Like(_) | Subject::Mcp(_) => false,
        }
    }

    /// Whether it denies every use of this MCP server.
    pub(super) fn covers_server(&self, server: &str) -> bool {
        matches!(&self.subject, Subject::Mcp(pattern) if reaches(pattern, &folded(server)))
    }

    /// Whether it denies fetching from this host.
    pub(super) fn covers_host(&self, host: &str) -> bool {
        match (&self.subject, &self.filter) {
            (Subject::Family(family), Filter::Every) => family.grammar == Grammar::Host,
            (_, Filter::Host(pattern)) => pattern.covers(host),
            _ => false,
        }
    }

    pub(super) fn error(&self, reason: String) -> DenyRuleError {
        DenyRuleError { rule: self.text.clone(), reason }
    }

    fn is_builtin_of(&self, family: &Family, tool: &ToolMetadata) -> bool {
        let runs_code = family.all_code && tool.capabilities.contains(Capability::ExecutesCode);
        tool.origin.is_builtin() && (runs_code || family.hidden.contains(&tool.name.as_str()))
    }

    /// Whether the tool is a sub-agent, and one that the rule is about.
    fn is_its_agent(&self, family: &Family, tool: &ToolMetadata) -> bool {
        let OriginKind::SubAgent { agent_type } = &tool.origin.kind else { return false };
        family.names.contains(&"agent")
            && match &self.filter {
                Filter::Name(pattern) => glob(pattern, &squashed(agent_type)),
                _ => true,
            }
    }
}

/// A tool's name and the others under which it is found.
fn own_names(tool: &ToolMetadata) -> impl Iterator<Item = &str> {
    std::iter::once(tool.name.as_str()).chain(tool.aliases.iter().map(String::as_str))
}

/// Whether a pattern for servers and their tools reaches this name, which has no `mcp__` before it.
fn reaches(pattern: &str, name: &str) -> bool {
    let server = pattern.strip_suffix("__*").unwrap_or(pattern);
    glob(pattern, name) || glob(server, name) || glob(&format!("{server}__*"), name)
}

/// The host's own tools that read what servers offer; the input says which server.
fn reads_servers(tool: &ToolMetadata) -> bool {
    const READERS: [&str; 4] =
        ["list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource", "mcp_get_prompt"];
    tool.origin.is_builtin() && READERS.contains(&tool.name.as_str())
}

fn subject(name: &str) -> Result<Subject, String> {
    if name.is_empty() {
        return Err("it names no tool; a rule is TOOL or TOOL(PARAMETER)".to_owned());
    }
    if let Some(c) = name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '*'))) {
        return Err(format!("a tool's name holds no {c:?}; a rule is TOOL or TOOL(PARAMETER)"));
    }
    let like: String = name.chars().map(|c| if c == '*' { c.to_string() } else { folded(&c.to_string()) }).collect();
    if let Some(rest) = like.strip_prefix("mcp__") {
        let rest = rest.trim_end_matches('_');
        if rest.is_empty() || rest.starts_with('_') {
            return Err("it names no server; write mcp__SERVER, mcp__SERVER__TOOL, or mcp__* for all".to_owned());
        }
        return Ok(Subject::Mcp(rest.to_owned()));
    }
    if like == "mcp" || like == "mcp_" {
        return Err("it names no server; write mcp__SERVER, mcp__SERVER__TOOL, or mcp__* for all".to_owned());
    }
    if name.contains('*') {
        return Ok(Subject::Like(like));
    }
    let squashed = squashed(name);
    if squashed.is_empty() {
        return Err("its name has no letter or digit".to_owned());
    }
    Ok(by_name(&squashed).map_or(Subject::Tool(squashed), Subject::Family))
}

fn filter(subject: &Subject, parameter: &str, roots: &Roots) -> Result<Filter, String> {
    let grammar = match subject {
        Subject::Family(family) => family.grammar,
        Subject::Tool(name) => grammar_of(name),
        Subject::Like(_) | Subject::Mcp(_) => Grammar::None,
    };
    match grammar {
        Grammar::Command => CommandPattern::parse(parameter).map(Filter::Command),
        Grammar::Path => {
            let parameter = parameter.strip_prefix("path:").unwrap_or(parameter);
            PathPattern::parse(parameter, roots).map(Filter::Path)
        }
        Grammar::Host => HostPattern::parse(parameter).map(|host| host.map_or(Filter::Every, Filter::Host)),
        Grammar::Name => {
            let parameter = parameter.strip_suffix(":*").unwrap_or(parameter);
            let pattern = squashed(parameter);
            if pattern.trim_matches('*').is_empty() {
                return Ok(Filter::Every);
            }
            Ok(Filter::Name(pattern))
        }
        Grammar::None => {
            let known: Vec<&str> =
                families().iter().filter(|f| f.grammar != Grammar::None).map(|f| f.names[0]).collect();
            Err(format!(
                "no parameter is understood for this tool, only for: {}. Leave the parentheses out to deny every call",
                known.join(", ")
            ))
        }
    }
}
