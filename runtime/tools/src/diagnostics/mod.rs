//! `diagnostics`: what the checker of a project says, as a list of places.
//!
//! A checker runs code of the project it checks (build scripts, macros, plug-ins, its configuration), so that a call is a
//! command and is approved as one. Which one it is stands in the input: what is approved, denied by a rule and run is the
//! same. [`report`] reads what it prints; [`crate::exec_shell`] runs it.

mod report;

use crate::{
    exec_shell::{ExecShell, MAX_TIMEOUT_MS},
    input::{fault, invalid, optional_text, text},
};
use report::Report;
use serde_json::{Value, json};
use slot_runtime::{
    approval::{Assessment, Prompt, command::analyse, fingerprint::Subject},
    boundary::FileBoundary,
    contract::{
        ApprovalRequirement, BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError,
        ToolOutput, ToolSpec, ValidationFault,
    },
};
use std::{ffi::OsString, sync::Arc};

const DESCRIPTION: &str = "\
Check a project for faults without running it, and list each with its file and line: errors first, 100 at most. Use it after \
edits instead of reading a build's output. The checker must be the one of the project: \"cargo check\" where there is a \
Cargo.toml, \"go vet\" a go.mod, \"ruff check\" a pyproject.toml, ruff.toml or .ruff.toml, \"tsc\" a tsconfig.json. It runs \
code of the project, such as build scripts and plug-ins, so the user is asked as for a command. Do not use it to run tests or \
with other flags; that is exec_shell. Examples: {\"checker\": \"cargo check\"}; {\"checker\": \"tsc\", \"path\": \"web\"}.";

/// A program that checks a project.
struct Checker {
    /// How it is asked for; also what a deny rule about commands compares.
    name: &'static str,
    /// The files of which a project for it has one.
    files: &'static [&'static str],
    /// What runs. Each prints one fault in a line.
    command: &'static str,
}

const CHECKERS: [Checker; 4] = [
    Checker { name: "cargo check", files: &["Cargo.toml"], command: "cargo check --message-format short" },
    Checker { name: "go vet", files: &["go.mod"], command: "go vet ./..." },
    Checker {
        name: "ruff check",
        files: &["pyproject.toml", "ruff.toml", ".ruff.toml"],
        command: "ruff check --output-format concise .",
    },
    Checker {
        name: "tsc",
        files: &["tsconfig.json"],
        command: "PATH=\"$PWD/node_modules/.bin:$PATH\" tsc --noEmit --pretty false",
    },
];

/// The code with which a shell says that there is no such program.
const NO_PROGRAM: u64 = 127;

/// The tool.
pub struct Diagnostics {
    boundary: Arc<dyn FileBoundary>,
    shell: ExecShell,
}

impl Diagnostics {
    /// The tool, for projects behind `boundary`. Checkers get the variables that commands get ([`ExecShell::inheriting`]).
    pub fn new(
        boundary: Arc<dyn FileBoundary>,
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
        variables: Vec<(String, String)>,
    ) -> Self {
        let shell = ExecShell::inheriting(Arc::clone(&boundary), inherited, variables);
        Diagnostics { boundary, shell }
    }

    /// Whether there is a project for the checker in the folder.
    fn fits(&self, checker: &Checker, folder: &str) -> bool {
        checker.files.iter().any(|file| self.boundary.metadata(&format!("{folder}/{file}")).is_ok())
    }

    /// Why there is nothing to check, and what there is instead.
    fn no_project(&self, checker: &Checker, folder: &str) -> ToolError {
        let others: Vec<String> =
            CHECKERS.iter().filter(|other| self.fits(other, folder)).map(|other| format!("{:?}", other.name)).collect();
        let next = if others.is_empty() {
            "Pass the folder of a project as path, or run the checker of this one with exec_shell".to_owned()
        } else {
            format!("What lies there is a project for {}", others.join(" and "))
        };
        ToolError::InvalidInput(format!("{folder:?} has no {}; nothing was run. {next}", checker.files.join(" or ")))
    }
}

fn request(input: &Value) -> Result<(&'static Checker, &str), ValidationFault> {
    let name = text(input, "checker")?;
    let Some(checker) = CHECKERS.iter().find(|checker| checker.name == name) else {
        let names: Vec<&str> = CHECKERS.iter().map(|checker| checker.name).collect();
        return Err(fault("checker", format!("{name:?} is no checker here; there are {}", names.join(", "))));
    };
    let folder = optional_text(input, "path")?.unwrap_or(".");
    if folder.contains('\0') {
        return Err(fault("path", "the path contains a NUL character, which no file name can; remove it"));
    }
    Ok((checker, folder))
}

impl Tool for Diagnostics {
    fn name(&self) -> &str {
        "diagnostics"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        let names: Vec<&str> = CHECKERS.iter().map(|checker| checker.name).collect();
        json!({
            "type": "object",
            "properties": {
                "checker": { "type": "string", "enum": names, "description": "What checks the project." },
                "path": {
                    "type": "string",
                    "description": "The folder of the project, relative to the workspace; the workspace itself when absent.",
                },
            },
            "required": ["checker"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let (checker, folder) = request(input).map_err(invalid)?;
            if !self.fits(checker, folder) {
                return Err(self.no_project(checker, folder));
            }
            let command = json!({ "command": checker.command, "cwd": folder, "timeout_ms": MAX_TIMEOUT_MS });
            let printed = self.shell.run(&command, run).await?;
            let code = printed.metadata.get("exit_code").and_then(Value::as_u64);
            let report = Report::of(&printed.content);
            if report.is_empty() && code == Some(NO_PROGRAM) {
                return Err(ToolError::Unavailable(format!(
                    "{:?} cannot be run here: its program was not found. Tell the user, or check the project another way",
                    checker.name
                )));
            }
            if report.is_empty() && code != Some(0) {
                return Ok(ToolOutput::failed(format!("{} did not get to check:\n{}", checker.name, printed.content)));
            }
            let mut output = ToolOutput::ok(report.told(checker.name));
            output.metadata.insert("errors".into(), json!(report.errors()));
            output.metadata.insert("faults".into(), json!(report.len()));
            Ok(output)
        })
    }
}

impl ToolSpec for Diagnostics {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ExecutesCode])
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        request(input).map(drop)
    }

    fn assess_input(&self, input: &Value) -> Option<Assessment> {
        let (checker, folder) = request(input).ok()?;
        let subject = Subject::of_command("diagnostics", checker.command, folder, &analyse(checker.command));
        let prompt = Prompt {
            command: Some(checker.command.to_owned()),
            reasons: vec![
                "it runs code of the project: build scripts, macros, plug-ins and what they configure".into(),
            ],
            scope: Some(format!("in the folder {folder:?}, with all rights of the agent; there is no sandbox")),
            ..Prompt::default()
        };
        Some(Assessment::new(ApprovalRequirement::Required, subject, None, prompt))
    }

    fn search_hint(&self) -> Option<&str> {
        Some("check errors warnings compile lint types faults problems cargo tsc ruff go vet")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Check project".into()),
            activity: Some("Checking the project".into()),
            transparent: false,
        }
    }
}

#[cfg(test)]
mod tests;
