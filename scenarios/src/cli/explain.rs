//! What a rule or a case says, for a person.

use crate::case::{Case, Library, See};
use mock_llm::script::{Call, End, Turn};
use std::fmt::Write as _;

/// Explains the rule or case with this id; `None` when there is none.
pub fn explain(library: &Library, id: &str) -> Option<String> {
    rule(library, &id.to_uppercase()).or_else(|| case(library.case(id)?))
}

fn rule(library: &Library, id: &str) -> Option<String> {
    let booked = library.rules.get(id)?;
    let rule = &booked.rule;
    let mut out = format!("{}  {}\n\n{}\n\n", rule.id, rule.title, rule.statement);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "area      {}", booked.area_title);
    let _ = writeln!(out, "level     {}", rule.level);
    let _ = writeln!(out, "profile   {}", rule.profile);
    let _ = writeln!(out, "observer  {}", rule.observer);
    let _ = writeln!(out, "origin    {}", rule.origin);
    for oracle in rule.oracles.iter().filter_map(|id| slot_oracles::oracles::by_id(id)) {
        let _ = writeln!(out, "oracle    {} {}, in every case", oracle.id, oracle.title);
    }
    out.push_str("\nChecked in\n");
    for case in library.all() {
        let names: Vec<&str> =
            case.checks.iter().filter(|check| check.rule == id).map(|check| check.name.as_str()).collect();
        if !names.is_empty() {
            let _ = writeln!(out, "  {}: {}", case.id, names.join(", "));
        }
    }
    Some(out)
}

fn case(case: &Case) -> Option<String> {
    let mut out = format!("{}  {}\n\n", case.id, case.title);
    let _ = writeln!(out, "user: {}", case.prompt);
    for (index, turn) in case.script.turns.iter().enumerate() {
        out.push_str(&turn_text(index, turn));
    }
    if let Some((event, call)) = &case.cancel {
        let _ = writeln!(out, "cancelled at {event} of {call}");
    }
    out.push_str("\nChecks\n");
    for check in &case.checks {
        let see = if check.see == See::Runtime { ", seen in the runtime's events" } else { "" };
        let _ = writeln!(out, "  {} for {}{see}", check.name, check.rule);
    }
    if let Some(needs) = &case.base_check {
        let _ = writeln!(out, "\nIt proves something only if {} shows {needs:?}.", case.base_id());
    }
    let _ = write!(out, "\n{}", case.source.document());
    Some(out)
}

fn turn_text(index: usize, turn: &Turn) -> String {
    let mut out = format!("model, turn {index}:\n");
    if !turn.say.is_empty() {
        let _ = writeln!(out, "  says {:?}", turn.say);
    }
    for call in &turn.calls {
        let _ = writeln!(out, "  calls {}", call_text(call));
    }
    match turn.end {
        End::Clean => {}
        End::NoTerminal => out.push_str("  and its stream ends without a terminal signal\n"),
        End::Disconnect => out.push_str("  and its connection breaks\n"),
    }
    out
}

fn call_text(call: &Call) -> String {
    let name = call.tool.clone().or(call.op.map(|op| op.to_string())).unwrap_or_default();
    let arguments = match (&call.with, &call.raw) {
        (Some(with), _) => serde_json::to_string(with).unwrap_or_default(),
        (None, raw) => raw.clone().unwrap_or_default(),
    };
    let mangled = if call.mangle.is_empty() { "" } else { ", corrupted" };
    format!("{}: {name} {arguments}{mangled}", call.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library() -> Library {
        Library::load(None, None).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn a_rule_is_explained_with_the_cases_that_name_it() {
        let text = explain(&library(), "pair-01").unwrap();
        assert!(text.starts_with("PAIR-01  Every call gets exactly one result\n"), "{text}");
        assert!(text.contains("\n  pair/two-calls: first, second\n"), "{text}");
        assert!(text.contains("oracle    O01 "), "{text}");
    }

    #[test]
    fn a_twin_is_explained_with_its_change() {
        let text = explain(&library(), "pair/two-calls@one-fails").unwrap();
        assert!(text.contains("calls c1: READ {\"path\":\"missing.txt\"}"), "{text}");
        assert!(text.contains("only if pair/two-calls shows \"first\""), "{text}");
    }

    #[test]
    fn what_is_unknown_is_not_explained() {
        assert_eq!(explain(&library(), "PAIR-99"), None);
        assert_eq!(explain(&library(), "pair/none"), None);
    }
}
