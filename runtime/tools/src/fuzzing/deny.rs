//! Deny rules against texts: what a cruder and more eager reader finds in a command line is denied as well.

use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, RunContext, Tool, ToolDispatcher, ToolError, ToolMetadata, ToolOutput,
    ToolSpec,
};
use slot_runtime::deny::{DenyPolicy, DenyRules, Roots};
use slot_runtime::registry::Registry;
use std::sync::{Arc, LazyLock};

struct Shell;

impl Tool for Shell {
    fn name(&self) -> &str {
        "exec_shell"
    }
    fn description(&self) -> &str {
        "runs"
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }
    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::ok("")) })
    }
}

impl ToolSpec for Shell {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ExecutesCode])
    }
}

static SHELL: LazyLock<Arc<ToolMetadata>> =
    LazyLock::new(|| Arc::clone(&Registry::new([Arc::new(Shell) as Arc<dyn ToolSpec>]).snapshot().tools["exec_shell"]));

fn denied(rules: &DenyRules, command: &str) -> bool {
    rules.judge(&SHELL, &json!({"command": command, "path": command, "url": command})).is_err()
}

fn read(rules: &[&str]) -> Option<DenyRules> {
    let roots = Roots { workspace: Some("/w".into()), home: Some("/h".into()) };
    DenyRules::parse(rules, roots).ok()
}

/// The words of a text between anything that could separate commands, quotes taken out.
fn eager(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.split(['\n', ';', '|', '&', '(', ')', '`'])
        .map(|piece| piece.split([' ', '\t']).filter(|word| !word.is_empty()).collect())
}

/// Any text is a rule or a fault, and a command line that plainly holds a denied command is denied, alone and within
/// others. The input is a rule and a command line with a NUL byte between them.
pub fn deny_rules(input: &[u8]) {
    let mut parts = input.splitn(2, |byte| *byte == 0).map(std::str::from_utf8);
    let (Some(Ok(rule)), Some(Ok(command))) = (parts.next(), parts.next()) else { return };
    if let Some(rules) = read(&[rule]) {
        let alone = denied(&rules, command);
        assert!(rules.hides(&SHELL).is_none() || alone, "what is hidden is denied");
        // One rule more never allows anything.
        if let Some(more) = read(&["Bash(git push:*)", rule]) {
            assert!(!alone || denied(&more, command), "{rule:?} {command:?}");
        }
    }
    let Some(rules) = read(&["Bash(git push:*)"]) else { panic!("the rule is a rule") };
    let alone = denied(&rules, command);
    if !command.contains(['\'', '"', '\\']) {
        let pushes =
            |words: &Vec<&str>| matches!(words.as_slice(), [git, "push", ..] if git.rsplit('/').next() == Some("git"));
        assert!(alone || !eager(command).any(|words| pushes(&words)), "{command:?}");
    }
    for (before, after) in [("sudo ", ""), ("true && ", ""), ("", " | cat"), ("", "; true"), ("(", ")"), ("$(", ")")] {
        let inside = format!("{before}git push{after}");
        assert!(denied(&rules, &inside), "{inside:?}");
        // Behind a backslash what follows is a letter like any other, and what begins with an operator is no command by
        // itself, but ends the one before it.
        let is_one = !command.trim_start().starts_with([';', '&', '|']) && !command.ends_with('\\');
        if alone && !command.trim().is_empty() && is_one {
            let inside = format!("{before}{command}{after}");
            assert!(denied(&rules, &inside), "{inside:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_committed_inputs_hold() {
        assert!(super::super::replay("deny_rules", deny_rules) >= 8);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn texts_of_a_shell_hold(
            rule in "(Bash|Read|WebFetch|Agent|mcp__x|note)(\\([a-z:*/. -]{0,12}\\))?",
            command in "((git|push|ls|sudo|/usr/bin/git|-C|x|A=1|;|&&|\\||\n|\\$|'|\"|\\\\|\\(|\\)|#|`|\\*) ?){0,8}",
        ) {
            deny_rules(format!("{rule}\0{command}").as_bytes());
        }
    }
}
