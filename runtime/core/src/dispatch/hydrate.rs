//! Hydration: the answer to a call of a deferred tool whose schema the model has not seen.
//!
//! Whatever the model sent was a guess, so nothing runs, even where the guess would fit. The answer holds all that the
//! next call needs: the fields that are expected, what was received, and which field was likely meant by which.

use super::fields::{corrections, properties, required};
use super::shape::describe::kind;
use crate::contract::{ToolMetadata, ToolOutput};
use serde_json::{Map, Value, json};

/// The most fields of a kind that are listed.
const LISTED: usize = 40;

/// The answer to a call of `tool`. `received` are the arguments, where they could be read.
pub fn hydration_answer(tool: &ToolMetadata, received: Option<&Map<String, Value>>) -> ToolOutput {
    let empty = Map::new();
    let given = received.unwrap_or(&empty);
    let declared = properties(&tool.schema).unwrap_or(&empty);
    let needed: Vec<&str> = required(&tool.schema).collect();
    let expected: Vec<String> = declared.iter().map(|(name, schema)| field(name, schema, &needed)).collect();
    let names: Vec<&str> = given.keys().map(String::as_str).collect();
    let missing: Vec<&str> = needed.iter().copied().filter(|name| !given.contains_key(*name)).collect();
    let unexpected: Vec<&str> = names.iter().copied().filter(|name| !declared.contains_key(*name)).collect();
    let likely = corrections(&tool.schema, given);
    let mut text = format!(
        "The tool {:?} had not been loaded; it is now. This call was NOT executed. Call it again with the fields below.\n\
         retry_required: true\n",
        tool.name
    );
    section(&mut text, "Expected fields", expected.iter().map(String::as_str));
    match received {
        Some(_) => section(&mut text, "Received fields", names.iter().copied()),
        None => text.push_str("Received fields: the arguments could not be read as a JSON object\n"),
    }
    section(&mut text, "Missing required fields", missing.iter().copied());
    section(&mut text, "Unexpected fields", unexpected.iter().copied());
    let changes: Vec<String> = likely.iter().map(|(wrong, right)| format!("{wrong} -> {right}")).collect();
    section(&mut text, "Likely corrections", changes.iter().map(String::as_str));
    let metadata = json!({
        "event": "tool.schema_hydrated",
        "tool": tool.name,
        "executed": false,
        "retry_required": true,
        "reason": "deferred_tool_first_use",
        "expected_fields": expected,
        "received_fields": names,
        "missing_required_fields": missing,
        "unexpected_fields": unexpected,
        "likely_corrections": likely,
    });
    let metadata = match metadata {
        Value::Object(metadata) => metadata,
        _ => Map::new(),
    };
    ToolOutput { metadata, ..ToolOutput::failed(text.trim_end()) }
}

/// A field as the answer shows it: name, type, choices, and whether it is required.
fn field(name: &str, schema: &Value, needed: &[&str]) -> String {
    let required = if needed.contains(&name) { ", required" } else { "" };
    format!("{name}: {}{required}", kind(schema))
}

fn section<'a>(text: &mut String, title: &str, lines: impl ExactSizeIterator<Item = &'a str>) {
    let count = lines.len();
    if count == 0 {
        text.push_str(&format!("{title}: none\n"));
        return;
    }
    text.push_str(&format!("{title}:\n"));
    for line in lines.take(LISTED) {
        text.push_str(&format!("  {}\n", cut(line)));
    }
    if count > LISTED {
        text.push_str(&format!("  and {} more\n", count - LISTED));
    }
}

/// A line of bounded length: a field's name is the model's own text and may be anything.
fn cut(line: &str) -> String {
    let line = line.replace(char::is_control, "\u{fffd}");
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{
        BoxFuture, Capability, CapabilitySet, Exposure, RunContext, Tool, ToolDispatcher, ToolError, ToolSpec,
    };
    use crate::registry::Registry;
    use std::sync::Arc;

    /// A deferred tool that edits, in the field names of this runtime.
    struct Late;

    impl Tool for Late {
        fn name(&self) -> &str {
            "late_edit"
        }
        fn description(&self) -> &str {
            "edits"
        }
        fn input_schema(&self) -> Value {
            json!({"type": "object", "required": ["path", "search", "replace"], "properties": {
                "path": {"type": "string"}, "search": {"type": "string"}, "replace": {"type": "string"},
                "mode": {"enum": ["once", "all"]}, "count": {"type": ["integer", "null"]},
            }})
        }
        fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            Box::pin(async { Ok(ToolOutput::ok("ran")) })
        }
    }

    impl ToolSpec for Late {
        fn capabilities(&self) -> CapabilitySet {
            CapabilitySet::of(&[Capability::WritesFiles])
        }
        fn exposure(&self) -> Exposure {
            Exposure::Deferred
        }
    }

    fn answer(received: Option<&Value>) -> ToolOutput {
        let snapshot = Registry::new([Arc::new(Late) as Arc<dyn ToolSpec>]).snapshot();
        hydration_answer(&snapshot.tools["late_edit"], received.and_then(Value::as_object))
    }

    #[test]
    fn the_answer_holds_all_that_the_next_call_needs() {
        let got = answer(Some(&json!({"file_path": "a", "old_string": "x", "new_string": "y", "colour": "red"})));
        let expect = "The tool \"late_edit\" had not been loaded; it is now. This call was NOT executed. Call it again with the fields below.\n\
            retry_required: true\n\
            Expected fields:\n  count: integer | null\n  mode: \"once\" | \"all\"\n  path: string, required\n  replace: string, required\n  search: string, required\n\
            Received fields:\n  colour\n  file_path\n  new_string\n  old_string\n\
            Missing required fields:\n  path\n  search\n  replace\n\
            Unexpected fields:\n  colour\n  file_path\n  new_string\n  old_string\n\
            Likely corrections:\n  file_path -> path\n  new_string -> replace\n  old_string -> search";
        assert_eq!(got.content, expect);
        assert!(got.is_error);
        assert_eq!(got.metadata["retry_required"], true);
        assert_eq!(got.metadata["executed"], false);
        assert_eq!(got.metadata["missing_required_fields"], json!(["path", "search", "replace"]));
        assert_eq!(
            got.metadata["likely_corrections"],
            json!({"file_path": "path", "new_string": "replace", "old_string": "search"})
        );
    }

    #[test]
    fn arguments_that_fit_are_not_executed_either() {
        let got = answer(Some(&json!({"path": "a", "search": "x", "replace": "y"})));
        assert!(got.content.contains("NOT executed"), "{}", got.content);
        assert!(
            got.content.ends_with("Missing required fields: none\nUnexpected fields: none\nLikely corrections: none")
        );
    }

    #[test]
    fn unreadable_arguments_are_said_to_be_so() {
        assert!(answer(None).content.contains("could not be read as a JSON object"));
    }

    #[test]
    fn an_answer_is_bounded_whatever_was_sent() {
        let many: Map<String, Value> = (0..5000).map(|n| (format!("{n}{}", "\u{1b}x".repeat(300)), json!(1))).collect();
        let got = answer(Some(&Value::Object(many)));
        assert!(got.content.len() < 60_000 && got.content.contains("and 4960 more") && !got.content.contains('\u{1b}'));
    }
}
