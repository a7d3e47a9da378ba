//! O02 and O03: effects and the calls they belong to.
//!
//! A tally is a file named `ran-<call id>` to which a scripted command appends one line each time it runs: it counts
//! executions in any agent, whatever its tools are called.

use crate::Finding;
use crate::trace::{Node, TreeChange, WireTrace};

const TALLY: &str = "ran-";

/// O02: no tally holds more than one line.
pub fn runs_at_most_once(trace: &WireTrace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, node) in &trace.workspace.after {
        let (Some(id), Node::File { text, .. }) = (tally_id(path), node) else { continue };
        let lines = text.lines().count();
        if lines > 1 {
            findings.push(Finding::new(
                "PAIR-04",
                "ran-twice",
                format!("call {id}"),
                format!("the call ran {lines} times, expected at most once"),
            ));
        }
    }
    findings
}

/// O03: each path that changed in the workspace is named in the arguments of a structured call that was served in a turn
/// which ended cleanly.
pub fn belongs_to_a_call(trace: &WireTrace) -> Vec<Finding> {
    let arguments: Vec<&str> = trace
        .served
        .iter()
        .filter(|t| t.times > 0 && t.terminal)
        .flat_map(|t| t.calls.iter().map(|c| c.arguments.as_str()))
        .collect();
    changed(&trace.workspace)
        .into_iter()
        .filter(|path| {
            let name = path.rsplit('/').next().unwrap_or(path);
            !arguments.iter().any(|text| text.contains(name))
        })
        .map(|path| {
            Finding::new(
                "PAIR-05",
                "effect-without-call",
                format!("workspace/{path}"),
                "the path changed, and no structured call of a cleanly ended turn names it",
            )
        })
        .collect()
}

/// The paths that differ between before and after.
pub fn changed(tree: &TreeChange) -> Vec<&str> {
    let mut paths: Vec<&str> = tree
        .after
        .iter()
        .filter(|(path, node)| tree.before.get(*path) != Some(node))
        .map(|(path, _)| path.as_str())
        .chain(tree.before.keys().filter(|path| !tree.after.contains_key(*path)).map(String::as_str))
        .collect();
    paths.sort_unstable();
    paths
}

/// The call id of a tally file.
fn tally_id(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.strip_prefix(TALLY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ServedCall, ServedTurn};

    fn trace(after: &[(&str, &str)], terminal: bool) -> WireTrace {
        let call = ServedCall {
            id: "c1".into(),
            name: "exec_shell".into(),
            arguments: r#"{"command":"echo x >> ran-c1"}"#.into(),
        };
        let mut trace = WireTrace {
            served: vec![ServedTurn { times: 1, terminal, calls: vec![call], ..ServedTurn::default() }],
            ..WireTrace::default()
        };
        for (path, text) in after {
            trace.workspace.after.insert((*path).into(), Node::text(*text));
        }
        trace
    }

    #[test]
    fn one_line_in_a_tally_is_one_run() {
        let trace = trace(&[("ran-c1", "x\n")], true);
        assert_eq!(runs_at_most_once(&trace), []);
        assert_eq!(belongs_to_a_call(&trace), []);
    }

    #[test]
    fn two_lines_are_two_runs() {
        assert_eq!(runs_at_most_once(&trace(&[("ran-c1", "x\nx\n")], true))[0].cause, "ran-twice");
    }

    #[test]
    fn an_effect_of_a_turn_that_never_ended_belongs_to_no_call() {
        assert_eq!(belongs_to_a_call(&trace(&[("ran-c1", "x\n")], false))[0].cause, "effect-without-call");
    }

    #[test]
    fn a_file_that_no_call_names_belongs_to_no_call() {
        assert_eq!(belongs_to_a_call(&trace(&[("ran-zz", "x\n")], true))[0].at, "workspace/ran-zz");
    }

    #[test]
    fn a_file_that_vanishes_is_a_change() {
        let mut trace = trace(&[], true);
        trace.workspace.before.insert("gone".into(), Node::Dir { mode: 0 });
        assert_eq!(belongs_to_a_call(&trace)[0].at, "workspace/gone");
    }
}
