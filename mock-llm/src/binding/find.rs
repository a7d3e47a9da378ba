//! Finds the tool that stands for an operation: by name first, then by the shape of its schema.

use super::{ToolBinding, among, names};
use crate::script::Op;
use serde_json::{Map, Value, json};
use slot_oracles::trace::WireTool;

/// The tool that stands for `op`, or why none does.
pub(super) fn find(op: Op, tools: &[WireTool]) -> Result<ToolBinding, String> {
    if tools.is_empty() {
        return Err("the request advertised no tools".to_owned());
    }
    let mut near: Option<String> = None;
    let named = names::tools(op).iter().flat_map(|name| tools.iter().filter(|tool| names::plain(&tool.name) == **name));
    for tool in named {
        match shape(op, tool) {
            Ok(binding) => return Ok(binding),
            Err(reason) => near = near.or(Some(format!("tool `{}` {reason}", tool.name))),
        }
    }
    // Only a command field says by itself what a tool does; a path field may mean reading, writing or deleting.
    let by_shape = tools.iter().filter(|_| op == Op::Shell).find_map(|tool| shape(op, tool).ok());
    by_shape.ok_or_else(|| match near {
        Some(reason) => format!("{reason}, and no other stands for it {}", among(tools)),
        None => format!("no tool stands for it {}", among(tools)),
    })
}

/// Builds the arguments of `tool` for `op`, or says what its schema does not allow.
fn shape(op: Op, tool: &WireTool) -> Result<ToolBinding, String> {
    let empty = Map::new();
    let properties = tool.schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = tool
        .schema
        .get("required")
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |names| names.iter().filter_map(Value::as_str).collect());
    let mut with = Map::new();
    let mut absolute = false;
    for field in op.fields() {
        match argument(field, properties, &required) {
            Some((name, schema)) => {
                absolute |= *field == "path" && wants_absolute(name, schema);
                with.insert(name.clone(), placeholder(field, schema)?);
            }
            // A listing without a folder is a listing of the workspace.
            None if op == Op::List => {}
            None => return Err(format!("has no text argument for `{field}`")),
        }
    }
    for name in required {
        if !with.contains_key(name) {
            let schema = properties.get(name).unwrap_or(&Value::Null);
            let value = harmless(schema).ok_or_else(|| format!("requires `{name}`, which nothing harmless fills"))?;
            with.insert(name.to_owned(), value);
        }
    }
    Ok(ToolBinding { tool: tool.name.clone(), with, absolute, shell: false })
}

/// The property that carries `field`: a required one before an optional one, in order of the name table.
fn argument<'a>(field: &str, properties: &'a Map<String, Value>, required: &[&str]) -> Option<(&'a String, &'a Value)> {
    let candidates = |needed: bool| {
        names::arguments(field).iter().find_map(move |wanted| {
            properties
                .iter()
                .find(|(name, _)| names::plain(name) == *wanted && required.contains(&name.as_str()) == needed)
        })
    };
    candidates(true).or_else(|| candidates(false))
}

fn placeholder(field: &str, schema: &Value) -> Result<Value, String> {
    match kind(schema) {
        "string" | "" => Ok(Value::String(format!("{{{field}}}"))),
        // The form of exec-style tools: an argument vector in place of a command line.
        "array" if field == "command" => Ok(json!(["bash", "-lc", "{command}"])),
        other => Err(format!("takes `{field}` as {other}")),
    }
}

fn wants_absolute(name: &str, schema: &Value) -> bool {
    let described = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let described = described.to_lowercase();
    let either = ["relative or absolute", "absolute or relative"].iter().any(|words| described.contains(words));
    names::plain(name).starts_with("absolute") || (described.contains("absolute") && !either)
}

/// The schema's type; the first one that is not `null` where it gives several, empty when it gives none.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or(""),
        _ => "",
    }
}

/// A value for a property that the operation says nothing of: its default, its first choice, or the least value of
/// its type. `None` when the type has required parts of its own.
fn harmless(schema: &Value) -> Option<Value> {
    if let Some(value) = schema.get("default").or_else(|| schema.get("const")).or_else(|| schema.get("enum")?.get(0)) {
        return Some(value.clone());
    }
    match kind(schema) {
        "string" | "" => Some(json!("run")),
        "boolean" => Some(json!(false)),
        "integer" | "number" => Some(schema.get("minimum").cloned().unwrap_or(json!(1))),
        "array" if schema.get("minItems").and_then(Value::as_u64).unwrap_or(0) == 0 => Some(json!([])),
        "object" if schema.get("required").and_then(Value::as_array).is_none_or(Vec::is_empty) => Some(json!({})),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, schema: Value) -> WireTool {
        WireTool { name: name.to_owned(), schema, ..WireTool::default() }
    }

    fn object(properties: Value, required: &[&str]) -> Value {
        json!({"type": "object", "properties": properties, "required": required})
    }

    #[track_caller]
    fn check(op: Op, tools: &[WireTool], expect: Result<(&str, Value), &str>) {
        let got = find(op, tools).map(|found| (found.tool, Value::Object(found.with)));
        let expect = expect.map(|(tool, with)| (tool.to_owned(), with)).map_err(str::to_owned);
        assert_eq!(got, expect);
    }

    #[test]
    fn names_of_real_agents_are_known() {
        let path = |name: &str| object(json!({name: {"type": "string"}}), &[name]);
        for (name, argument) in
            [("read_file", "path"), ("read", "filePath"), ("Read", "file_path"), ("ReadFile", "path"), ("view", "path")]
        {
            check(Op::Read, &[tool(name, path(argument))], Ok((name, json!({argument: "{path}"}))));
        }
        for (name, argument) in [
            ("bash", "command"),
            ("exec_command", "cmd"),
            ("run_shell_command", "command"),
            ("Shell", "command"),
            ("execute_bash", "command"),
        ] {
            check(Op::Shell, &[tool(name, path(argument))], Ok((name, json!({argument: "{command}"}))));
        }
    }

    #[test]
    fn required_arguments_that_are_left_get_harmless_values() {
        let schema = object(
            json!({
                "command": {"type": "string"}, "description": {"type": "string"},
                "is_background": {"type": "boolean"}, "risk": {"type": "string", "enum": ["LOW", "HIGH"]},
                "timeout": {"type": ["integer", "null"], "minimum": 5}, "optional": {"type": "string"},
            }),
            &["command", "description", "is_background", "risk", "timeout"],
        );
        check(
            Op::Shell,
            &[tool("run_shell_command", schema)],
            Ok((
                "run_shell_command",
                json!({"command": "{command}", "description": "run", "is_background": false, "risk": "LOW", "timeout": 5}),
            )),
        );
    }

    #[test]
    fn an_argument_vector_is_given_a_shell() {
        let schema = object(json!({"command": {"type": "array", "items": {"type": "string"}}}), &["command"]);
        check(Op::Shell, &[tool("shell", schema)], Ok(("shell", json!({"command": ["bash", "-lc", "{command}"]}))));
    }

    #[test]
    fn a_tool_of_the_right_name_and_the_wrong_shape_is_passed_over() {
        let files = object(json!({"files": {"type": "array", "minItems": 1}}), &["files"]);
        let path = object(json!({"path": {"type": "string"}}), &["path"]);
        check(
            Op::Read,
            &[tool("read_file", files.clone()), tool("view", path)],
            Ok(("view", json!({"path": "{path}"}))),
        );
        check(
            Op::Read,
            &[tool("read_file", files)],
            Err("tool `read_file` has no text argument for `path`, and no other stands for it among [read_file]"),
        );
    }

    #[test]
    fn edits_need_all_three_fields() {
        let schema = object(
            json!({"file_path": {"type": "string"}, "old_string": {"type": "string"}, "new_string": {"type": "string"}}),
            &["file_path", "old_string", "new_string"],
        );
        check(
            Op::Edit,
            &[tool("Edit", schema)],
            Ok(("Edit", json!({"file_path": "{path}", "old_string": "{old}", "new_string": "{new}"}))),
        );
    }

    #[test]
    fn a_command_field_alone_marks_a_shell() {
        let schema = object(json!({"cmd": {"type": "string"}}), &["cmd"]);
        check(Op::Shell, &[tool("anything", schema)], Ok(("anything", json!({"cmd": "{command}"}))));
    }

    #[test]
    fn a_path_field_alone_marks_nothing() {
        let schema = object(json!({"path": {"type": "string"}}), &["path"]);
        check(
            Op::Read,
            &[tool("delete", schema.clone()), tool("stat", schema)],
            Err("no tool stands for it among [delete, stat]"),
        );
        check(Op::Read, &[], Err("the request advertised no tools"));
    }

    #[test]
    fn the_description_of_a_path_may_ask_for_an_absolute_one() {
        let absolute = |description: &str| {
            let schema = object(json!({"path": {"type": "string", "description": description}}), &["path"]);
            find(Op::Read, &[tool("Read", schema)]).unwrap().absolute
        };
        assert!(absolute("The absolute path; relative paths are refused"));
        assert!(!absolute("Path (relative or absolute)"));
    }
}
