//! The texts of the busiest tools, held to what they are for: they say what to use them in place of, and close with calls
//! that can be copied.

use crate::{builtins_for, file_gates::FileGates, session::SessionHost, testing::World};
use serde_json::Value;
use slot_runtime::{contract::ToolSpec, freshness::Freshness};
use std::sync::Arc;

/// The tools that most calls are made of; those that change files are among them or work as one of them does.
const BUSIEST: [&str; 9] = [
    "apply_patch",
    "edit_file",
    "exec_shell",
    "file_search",
    "fim_edit",
    "grep_files",
    "list_dir",
    "read_file",
    "write_file",
];

fn busiest() -> Vec<Arc<dyn ToolSpec>> {
    let gates = FileGates { freshness: Some(Freshness::default()), ..FileGates::default() };
    let host = SessionHost { gates, ..SessionHost::default() };
    let tools = builtins_for(World::new().boundary(), Vec::new(), Vec::new(), &host);
    let mut tools: Vec<_> = tools.into_iter().filter(|tool| BUSIEST.contains(&tool.name())).collect();
    tools.sort_by(|one, two| one.name().cmp(two.name()));
    tools
}

/// The calls at the end of a description.
fn examples(description: &str) -> Vec<Value> {
    let (_, text) = description.rsplit_once("Example").unwrap_or_default();
    let mut calls = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let mut values = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<Value>();
        calls.push(values.next().expect("a value").expect("an example is JSON"));
        rest = &rest[at + values.byte_offset()..];
    }
    calls
}

#[test]
fn every_example_is_a_call_that_is_taken() {
    for tool in busiest() {
        let (name, schema) = (tool.name(), tool.input_schema());
        let calls = examples(tool.description());
        assert!(!calls.is_empty(), "{name} has no example");
        for call in calls {
            assert_eq!(tool.validate_input(&call), Ok(()), "{name}: {call}");
            let fields = call.as_object().expect("an object");
            let known = schema["properties"].as_object().expect("an object");
            assert!(fields.keys().all(|field| known.contains_key(field)), "{name}: {call}");
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            assert!(required.into_iter().all(|field| fields.contains_key(field)), "{name}: {call}");
        }
    }
}

#[test]
fn every_description_says_what_to_use_the_tool_in_place_of() {
    for tool in busiest().iter().filter(|tool| tool.name() != "exec_shell") {
        assert!(tool.description().contains("Use this instead of "), "{}", tool.name());
    }
}

/// A byte of these is a byte of every request, so that none of them changes unnoticed.
#[test]
fn the_texts_are_as_they_were() {
    let texts: Vec<String> =
        busiest().iter().map(|tool| format!("{}\n\n{}\n", tool.name(), tool.description())).collect();
    insta::assert_snapshot!(texts.join("\n"));
}
