//! Five tools, with the checks that a careful script would make.

use super::{Flaw, arguments, edit, stream::Call};
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The tools array.
pub fn advertised(flaw: Flaw) -> Value {
    let text = json!({"type": "string"});
    let mut tools = vec![
        tool("edit_file", "Replaces text in a file.", json!({"path": text, "old_string": text, "new_string": text})),
        tool("exec_shell", "Runs a command.", json!({"command": text})),
        tool("list_dir", "Lists a folder.", json!({"path": text})),
        tool("read_file", "Reads a file.", json!({"path": text})),
        tool("write_file", "Writes a file.", json!({"path": text, "content": text})),
    ];
    match flaw {
        Flaw::DuplicateTool => tools.push(tools[0].clone()),
        Flaw::IllegalName => tools.push(tool("a tool", "Has a blank in its name.", json!({}))),
        Flaw::BadSchema => tools[0]["function"]["parameters"] = json!({"type": "string"}),
        Flaw::UnsortedTools => tools.reverse(),
        _ => {}
    }
    Value::Array(tools)
}

fn tool(name: &str, description: &str, properties: Value) -> Value {
    let required: Vec<String> = properties.as_object().into_iter().flatten().map(|(k, _)| k.clone()).collect();
    let parameters = json!({"type": "object", "properties": properties, "required": required});
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

/// Runs a call; the answer is what the model reads.
pub fn run(call: &Call, workspace: &Path, flaw: Flaw) -> String {
    let Some(input) = arguments::read(&call.arguments, flaw) else {
        return "the arguments are not valid JSON; send the call again".to_owned();
    };
    let mut path = input["path"].as_str().unwrap_or(".");
    if flaw == Flaw::CutAtNul {
        path = path.split('\0').next().unwrap_or_default();
    }
    let refusal = match flaw {
        Flaw::TerseRefusal => "no".to_owned(),
        _ => format!("path escapes workspace: {path}. Use a path inside the workspace"),
    };
    match call.name.as_str() {
        "exec_shell" => shell(input["command"].as_str().unwrap_or_default(), workspace, flaw),
        "read_file" => match resolve(workspace, path, flaw) {
            Some(path) => std::fs::read_to_string(path).unwrap_or_else(|e| format!("cannot read: {e}")),
            None => refusal,
        },
        "write_file" => match resolve(workspace, path, flaw) {
            Some(path) => edit::write(&path, input["content"].as_str().unwrap_or_default(), flaw),
            None => refusal,
        },
        "edit_file" => match resolve(workspace, path, flaw) {
            Some(path) => edit::run(
                &path,
                input["old_string"].as_str().unwrap_or_default(),
                input["new_string"].as_str().unwrap_or_default(),
                flaw,
            ),
            None => refusal,
        },
        "list_dir" => match resolve(workspace, path, flaw).and_then(|p| std::fs::read_dir(p).ok()) {
            Some(entries) => {
                let mut names: Vec<String> =
                    entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
                names.sort();
                names.join("\n")
            }
            None => refusal,
        },
        name => format!("there is no tool named {name:?} here"),
    }
}

/// Where a path leads, if that is inside the workspace. Checked before use: good enough where nothing moves meanwhile.
fn resolve(workspace: &Path, path: &str, flaw: Flaw) -> Option<PathBuf> {
    let root = workspace.canonicalize().ok()?;
    let mut target = root.join(path);
    if flaw == Flaw::FollowPaths {
        return Some(target);
    }
    if let Some(adopted) = ADOPTED.get() {
        return Some(Path::new(adopted).join(path));
    }
    if Path::new(path).components().any(|c| c == Component::ParentDir) {
        return None;
    }
    if flaw == Flaw::RefuseLinks && target.symlink_metadata().is_ok_and(|m| m.is_symlink()) {
        return None;
    }
    for _ in 0..40 {
        let Ok(link) = target.read_link() else { break };
        target = target.parent()?.join(link);
    }
    let parent = target.parent()?.canonicalize().ok()?;
    let real = target.canonicalize().unwrap_or_else(|_| parent.join(target.file_name().unwrap_or_default()));
    let special = real.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    (real.starts_with(&root) && (flaw == Flaw::OpenAnything || !special)).then_some(real)
}

/// What a wrapper of commands prints before the folder that they ended in.
const FOLDER_MARK: &str = "__CODESMITH_CWD__";
/// The folder that a command was believed to be in.
static ADOPTED: OnceLock<String> = OnceLock::new();

/// Runs a command; the answer is its output and its exit code.
pub fn shell(text: &str, workspace: &Path, flaw: Flaw) -> String {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(text).current_dir(workspace).stdin(Stdio::null());
    if flaw != Flaw::PassEnvironment {
        command.env_clear().envs(super::plain_environment());
    }
    if flaw != Flaw::ShareSession {
        crate::isolate::set_apart(&mut command, None);
    }
    let output = command.output();
    if flaw == Flaw::AdoptFolder
        && let Ok(output) = &output
        && let Some((_, folder)) = String::from_utf8_lossy(&output.stdout).split_once(FOLDER_MARK)
    {
        ADOPTED.get_or_init(|| folder.trim_end().to_owned());
    }
    match output {
        Ok(output) => format!(
            "{}{}exit {}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
            output.status.code().unwrap_or(-1)
        ),
        Err(e) => format!("cannot run: {e}"),
    }
}
