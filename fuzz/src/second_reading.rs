//! Commands as another parser of shells reads them: tree-sitter's, which shares nothing with those of the runtime.
//!
//! It is known here alone, because its build needs a C compiler and a `serde_json` with other features than ours.

use slot_runtime::approval::command::{Verdict, analyse};
use tree_sitter::{Node, Parser};

/// Where both understand a text whole, it has the same commands, word by word.
pub fn second_reading(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let analysis = analyse(text);
    let understood = analysis.reasons.iter().all(|reason| reason.verdict() != Verdict::Opaque);
    if !understood || analysis.verdict == Verdict::Opaque {
        return;
    }
    let Some(theirs) = commands(text.trim_matches([' ', '\t', '\n'])) else { return };
    let raw = |command: &slot_runtime::approval::command::SimpleCommand| -> Vec<String> {
        command.words.iter().map(|word| word.raw.clone()).collect()
    };
    let own: Vec<Vec<String>> = analysis.commands.iter().map(raw).filter(|words| !words.is_empty()).collect();
    assert_eq!(own, theirs, "{text:?}");
}

/// The words of each command, in the order of the text; `None` where the parser has no opinion.
fn commands(text: &str) -> Option<Vec<Vec<String>>> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(text, None)?;
    if tree.root_node().has_error() {
        return None;
    }
    let (mut commands, mut open) = (Vec::new(), vec![tree.root_node()]);
    while let Some(node) = open.pop() {
        match node.kind() {
            "command" | "declaration_command" | "unset_command" => commands.push(words(node, text)?),
            // It takes words behind the target of a redirection for further targets, and the inside of `[ … ]` for an
            // expression: neither is a list of words.
            "file_redirect" | "test_command" => return None,
            _ => {
                let mut children: Vec<Node> = node.children(&mut node.walk()).collect();
                children.reverse();
                open.extend(children);
            }
        }
    }
    Some(commands)
}

/// The words of one command; `None` where one of them is no word to it.
fn words(command: Node, text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let assigns = command.kind() == "command";
    for child in command.children(&mut command.walk()) {
        match child.kind() {
            "variable_assignment" if assigns && words.is_empty() => {}
            "file_redirect" | "herestring_redirect" | "heredoc_redirect" => return None,
            _ => words.push(child.utf8_text(text.as_bytes()).ok()?.to_owned()),
        }
    }
    Some(words)
}
