//! Deny rules: what may not be called in this session, whoever would approve it.
//!
//! A rule that names a tool hides it: the tool takes no part in the catalog, in search or in suggestions (the registry asks
//! [`DenyPolicy::hides`] when it builds its snapshot). A rule with a parameter (`Bash(git push:*)`, `Read(secrets/**)`)
//! gates the call, after validation and before anybody is asked ([`DenyPolicy::judge`]). A path rule holds at the file
//! handle as well, where links have been resolved ([`Guarded`]).
//!
//! Whatever cannot be read counts as denied: a rule is a [`DenyRuleError`] and nothing starts, a command line of which
//! nobody can tell what it runs matches every rule about commands. Who is asked about what is not
//! denied is decided elsewhere.

mod command;
mod families;
mod files;
mod git;
mod host;
mod judge;
mod path;
mod reader;
mod rule;
mod wrapper;

#[cfg(test)]
mod tests;

pub use families::families;
pub use files::Guarded;
pub use host::host_of;
pub use path::Roots;
pub use rule::{DenyRule, DenyRuleError};

use crate::contract::{OriginKind, ToolMetadata};
use serde_json::Value;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// The most rules of one session.
const MOST_RULES: usize = 4096;

/// Why something is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The rule, as it was written.
    pub rule: String,
    /// Why the rule covers it, where the rule itself does not say so, and what to do; for the model.
    pub reason: String,
}

/// Decides what is denied. It is consulted for every tool when tools change, and for every call.
pub trait DenyPolicy: Send + Sync {
    /// The rule that denies every call of the tool, if one does: such a tool is hidden.
    fn hides(&self, tool: &ToolMetadata) -> Option<String>;

    /// Admits a call of the tool with this input, or denies it. A tool that is hidden is denied whatever its input.
    ///
    /// # Errors
    /// The first rule that denies it.
    fn judge(&self, tool: &ToolMetadata, input: &Value) -> Result<(), Denial>;
}

/// The deny rules of a session.
#[derive(Clone, Default)]
pub struct DenyRules {
    rules: Vec<DenyRule>,
    roots: Roots,
}

impl fmt::Debug for DenyRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rules.iter().map(DenyRule::text)).finish()
    }
}

impl DenyRules {
    /// Reads the rules, all or none of them.
    ///
    /// # Errors
    /// The first rule that cannot be read. Whoever meets that must not go on without it.
    pub fn parse<T: AsRef<str>>(rules: impl IntoIterator<Item = T>, roots: Roots) -> Result<Self, DenyRuleError> {
        let mut read = Vec::new();
        for text in rules {
            let rule = DenyRule::parse(text.as_ref(), &roots)?;
            if read.len() == MOST_RULES {
                return Err(rule.error(format!("it is one more than the {MOST_RULES} rules a session may have")));
            }
            read.push(rule);
        }
        Ok(DenyRules { rules: read, roots })
    }

    /// The rules, in the order in which they were given.
    pub fn rules(&self) -> &[DenyRule] {
        &self.rules
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules that name none of these tools: most likely a slip, or a server that is not connected yet.
    pub fn idle<'a>(&'a self, tools: impl Iterator<Item = &'a ToolMetadata> + Clone) -> Vec<&'a str> {
        let idle = |rule: &&DenyRule| !tools.clone().any(|tool| rule.names(tool));
        self.rules.iter().filter(idle).map(DenyRule::text).collect()
    }

    /// The rule that denies fetching from this host, for whoever follows a redirect.
    pub fn denies_host(&self, host: &str) -> Option<&str> {
        self.rules.iter().find(|rule| rule.covers_host(host)).map(DenyRule::text)
    }

    /// The rule that denies everything of this MCP server, for whoever lists what servers offer.
    pub fn denies_server(&self, server: &str) -> Option<&str> {
        self.rules.iter().find(|rule| rule.covers_server(server)).map(DenyRule::text)
    }
}

impl DenyPolicy for DenyRules {
    fn hides(&self, tool: &ToolMetadata) -> Option<String> {
        self.rules.iter().find(|rule| rule.hides(tool)).map(|rule| rule.text().to_owned())
    }

    fn judge(&self, tool: &ToolMetadata, input: &Value) -> Result<(), Denial> {
        let mut known = judge::Known::default();
        for rule in &self.rules {
            let reason = if rule.hides(tool) {
                Some(judge::blanket())
            } else {
                judge::call(rule, tool, input, self, &mut known)
            };
            if let Some(reason) = reason {
                return Err(Denial { rule: rule.text().to_owned(), reason });
            }
        }
        Ok(())
    }
}

/// Deny rules that a host may replace while a session runs. The tools have to be rebuilt after that, so that what is
/// hidden follows; calls are judged by the new rules at once.
#[derive(Default)]
pub struct LiveRules(RwLock<Arc<DenyRules>>);

impl LiveRules {
    /// These rules, until they are replaced.
    pub fn new(rules: DenyRules) -> Self {
        LiveRules(RwLock::new(Arc::new(rules)))
    }

    /// The rules that hold now.
    pub fn current(&self) -> Arc<DenyRules> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other rules in their place.
    pub fn replace(&self, rules: DenyRules) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
    }
}

impl DenyPolicy for LiveRules {
    fn hides(&self, tool: &ToolMetadata) -> Option<String> {
        self.current().hides(tool)
    }

    fn judge(&self, tool: &ToolMetadata, input: &Value) -> Result<(), Denial> {
        self.current().judge(tool, input)
    }
}

/// A name with nothing in it that people spell differently: `ExecShell`, `exec-shell` and `exec_shell` are one.
fn squashed(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.')).flat_map(char::to_lowercase).collect()
}

/// The name of an MCP server or tool as it stands within a tool's name.
fn folded(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

fn server_of(tool: &ToolMetadata) -> Option<String> {
    match &tool.origin.kind {
        OriginKind::Mcp { server } => Some(folded(server)),
        _ => None,
    }
}

/// Whether `text` is what the pattern says, where `*` stands for any text. Both are compared as they are; the time is at
/// most the product of their lengths.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                // The last star takes one character more.
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}
