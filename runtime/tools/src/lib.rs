//! The built-in tools of the slot runtime.
//!
//! Each tool is one module of business logic and its texts. No module here mentions approval, truncation of turns or
//! what lies outside the handle it was given: those are stages of the runtime, and written there once.
//!
//! - [`read_file`], [`write_file`], [`edit_file`], [`fim_edit`], [`apply_patch`], [`list_dir`]: files, through the boundary.
//! - [`grep_files`], [`glob_files`], [`file_search`]: which files there are and what is in them; [`find`] is what they share.
//! - [`exec_shell`]: one shell command, in the foreground; [`diagnostics`]: what the checker of a project says.
//! - [`validate_data`]: whether data is well-formed.
//! - [`session`]: plans, notes, memories, the person at a session, and its mode.
//! - [`git`]: what a repository holds and what has changed, read only.
//! - [`parallel`]: several calls in one.
//! - [`tool_search`], [`call_tool`]: finding tools that are not in every request, and calling them.
//!
//! [`over_files`] is how every tool over files is shown and called; [`file_gates`] stands between the tools and the files: what was not read or would no longer parse is not changed.
//! [`secrets`] tells which variables no command gets. [`base`] lists every tool that there is a place for, [`builtins`] makes
//! those that work on files and commands, and [`pool`] puts the tools of a session together.

pub mod apply_patch;
pub mod base;
pub mod call_tool;
pub mod diagnostics;
pub mod edit_file;
pub mod exec_shell;
pub mod file_gates;
pub mod file_search;
pub mod fim_edit;
pub mod find;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod git;
pub mod glob_files;
pub mod grep_files;
pub mod list_dir;
pub mod over_files;
pub mod parallel;
pub mod pool;
pub mod read_file;
pub mod secrets;
pub mod session;
pub mod tool_search;
pub mod validate_data;
pub mod write_file;

mod input;
mod work;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod texts;

use file_gates::{FileGates, Gated, Use};
use slot_runtime::{boundary::FileBoundary, contract::ToolSpec, place::Placed};
use std::{ffi::OsString, sync::Arc};

/// What the headless agent tells the model before the task. Byte-stable: it names no folder, date or machine.
pub const SYSTEM_TEXT: &str = "\
You are slot, a coding agent. You work in one folder, the workspace, with the tools you are given. Paths are relative to \
the workspace; nothing outside of it can be reached by the file tools.

Look before you change: read a file before you edit it, and list a folder before you guess a name in it. Prefer the file \
tools to shell commands for the same work. A tool's result tells you what happened and what to do next; when a call is \
refused, do what the refusal says, or tell the user why you cannot go on. Never repeat a refused call unchanged.

When the task is done, say in a few sentences what you changed and how you checked it.";

/// Every built-in tool, working on the files behind `boundary`.
pub fn builtins(boundary: Arc<dyn FileBoundary>) -> Vec<Arc<dyn ToolSpec>> {
    builtins_with(boundary, std::env::vars_os().collect(), Vec::new())
}

/// Every built-in tool of a session with nobody at it. See [`builtins_for`].
pub fn builtins_with(
    boundary: Arc<dyn FileBoundary>,
    inherited: Vec<(OsString, OsString)>,
    chosen: Vec<(String, String)>,
) -> Vec<Arc<dyn ToolSpec>> {
    builtins_for(boundary, inherited, chosen, &session::SessionHost::default())
}

/// Every built-in tool that `host` has what it needs for. Commands get those of the `inherited` environment variables that are no secrets, and then the
/// `chosen` ones as they are.
pub fn builtins_for(
    boundary: Arc<dyn FileBoundary>,
    inherited: Vec<(OsString, OsString)>,
    chosen: Vec<(String, String)>,
    host: &session::SessionHost,
) -> Vec<Arc<dyn ToolSpec>> {
    let place = host.place.clone().unwrap_or_default();
    let git = Arc::new(git::Git::new(Arc::clone(&boundary), &inherited).at(place.clone()));
    let mut tools = git::tools(&git);
    if host.place.is_some() {
        let trees = Arc::new(session::WorkingTrees::new(git, Arc::clone(&boundary), place.clone()));
        tools.push(Arc::new(session::EnterWorktree::new(Arc::clone(&trees))));
        tools.push(Arc::new(session::ExitWorktree::new(trees)));
    }
    // From here on, the files are those of the place where the session is.
    let boundary: Arc<dyn FileBoundary> = Arc::new(Placed::new(boundary, place.clone()));
    let gates = FileGates { place: place.clone(), ..host.gates.clone() };
    tools.extend(session::tools(&boundary, host));
    let mut written = Arc::clone(&boundary);
    if let Some(turns) = &host.turns {
        let journal = Arc::new(session::Journal::new(Arc::clone(&boundary), turns.clone(), place));
        tools.push(Arc::new(session::RevertTurn::new(Arc::clone(&journal))));
        written = journal;
    }
    let gated = |files: &Arc<dyn FileBoundary>, uses, make| Gated::tool(Arc::clone(files), &gates, uses, make);
    let files: Vec<Arc<dyn ToolSpec>> = vec![
        gated(&written, Use::Writes, |files| Arc::new(apply_patch::ApplyPatch::new(files))),
        gated(&written, Use::Writes, |files| Arc::new(edit_file::EditFile::new(files))),
        gated(&written, Use::Writes, |files| Arc::new(fim_edit::FimEdit::new(files))),
        gated(&written, Use::Writes, |files| Arc::new(write_file::WriteFile::new(files))),
        gated(&boundary, Use::Reads, |files| Arc::new(read_file::ReadFile::new(files))),
        Arc::new(diagnostics::Diagnostics::new(Arc::clone(&boundary), inherited.clone(), chosen.clone())),
        Arc::new(exec_shell::ExecShell::inheriting(Arc::clone(&boundary), inherited, chosen)),
        Arc::new(file_search::FileSearch::new(Arc::clone(&boundary))),
        Arc::new(glob_files::GlobFiles::new(Arc::clone(&boundary))),
        Arc::new(grep_files::GrepFiles::new(Arc::clone(&boundary))),
        Arc::new(list_dir::ListDir::new(Arc::clone(&boundary))),
        Arc::new(parallel::Parallel),
        Arc::new(validate_data::ValidateData::new(Arc::clone(&boundary))),
    ];
    tools.extend(files);
    tools
}

#[cfg(test)]
mod tests {
    use super::*;
    use slot_runtime::{
        boundary::Workspace,
        contract::{ApprovalRequirement, ToolDispatcher},
        registry::Registry,
    };

    fn registry() -> (tempfile::TempDir, Registry) {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::open(folder.path()).expect("it exists");
        let host = session::SessionHost {
            memory: Some(folder.path().join("memory")),
            mode: Some(slot_runtime::mode::PlanMode::default()),
            turns: Some(slot_runtime::mode::UserTurns::default()),
            place: Some(slot_runtime::place::Place::default()),
            ..session::SessionHost::default()
        };
        (folder, Registry::new(builtins_for(Arc::new(workspace), Vec::new(), Vec::new(), &host)))
    }

    #[track_caller]
    fn check(name: &str, requirement: ApprovalRequirement, read_only: bool, parallel: bool) {
        let (_folder, registry) = registry();
        let snapshot = registry.snapshot();
        let tool = snapshot.tools.get(name).expect("it is registered");
        assert_eq!(tool.fail_closed, None);
        assert_eq!((tool.requirement, tool.read_only, tool.supports_parallel), (requirement, read_only, parallel));
    }

    #[test]
    fn each_tool_is_governed_as_what_it_does() {
        check("read_file", ApprovalRequirement::Auto, true, true);
        for name in ["file_search", "glob_files", "grep_files", "list_dir"] {
            check(name, ApprovalRequirement::Auto, true, true);
        }
        check("parallel", ApprovalRequirement::Auto, true, false);
        for name in ["git_blame", "git_diff", "git_log", "git_show", "git_status"] {
            check(name, ApprovalRequirement::Auto, true, true);
        }
        check("apply_patch", ApprovalRequirement::Suggest, false, false);
        check("edit_file", ApprovalRequirement::Suggest, false, false);
        check("fim_edit", ApprovalRequirement::Suggest, false, false);
        check("write_file", ApprovalRequirement::Suggest, false, false);
        check("exec_shell", ApprovalRequirement::Required, false, false);
        check("diagnostics", ApprovalRequirement::Required, false, false);
        for name in ["load_skill", "recall", "validate_data"] {
            check(name, ApprovalRequirement::Auto, true, true);
        }
        check("remember", ApprovalRequirement::Suggest, false, false);
        // They change the session, so that they are no mere look; nobody is asked about that, but for leaving plan mode.
        for name in
            ["checklist_write", "enter_plan_mode", "note", "notify", "request_user_input", "todo_write", "update_plan"]
        {
            check(name, ApprovalRequirement::Auto, false, false);
        }
        check("exit_plan_mode", ApprovalRequirement::Required, false, false);
        for name in ["enter_worktree", "exit_worktree", "revert_turn"] {
            check(name, ApprovalRequirement::Required, false, false);
        }
    }

    #[test]
    fn what_the_host_does_not_give_has_no_tool() {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::open(folder.path()).expect("it exists");
        let registry = Registry::new(builtins(Arc::new(workspace)));
        for name in [
            "remember",
            "recall",
            "enter_plan_mode",
            "exit_plan_mode",
            "enter_worktree",
            "exit_worktree",
            "revert_turn",
        ] {
            assert!(!registry.snapshot().tools.contains_key(name), "{name}");
        }
    }

    #[test]
    fn there_are_no_other_tools() {
        let (_folder, registry) = registry();
        let snapshot = registry.snapshot();
        let names: Vec<&str> = snapshot.tools.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "apply_patch",
                "checklist_write",
                "diagnostics",
                "edit_file",
                "enter_plan_mode",
                "enter_worktree",
                "exec_shell",
                "exit_plan_mode",
                "exit_worktree",
                "file_search",
                "fim_edit",
                "git_blame",
                "git_diff",
                "git_log",
                "git_show",
                "git_status",
                "glob_files",
                "grep_files",
                "list_dir",
                "load_skill",
                "note",
                "notify",
                "parallel",
                "read_file",
                "recall",
                "remember",
                "request_user_input",
                "revert_turn",
                "todo_write",
                "update_plan",
                "validate_data",
                "write_file"
            ]
        );
    }

    #[test]
    fn every_schema_is_closed_and_every_field_is_described() {
        let (_folder, registry) = registry();
        for tool in registry.snapshot().tools.values() {
            assert_eq!(tool.schema["additionalProperties"], false, "{}", tool.name);
            for (field, schema) in tool.schema["properties"].as_object().expect("an object") {
                assert!(schema["description"].as_str().is_some_and(|text| !text.is_empty()), "{}.{field}", tool.name);
            }
        }
    }

    #[test]
    fn every_description_says_what_the_tool_is_not_for() {
        let (_folder, registry) = registry();
        for tool in registry.snapshot().tools.values() {
            assert!(tool.description.contains("nstead of") || tool.description.contains("Do not use"), "{}", tool.name);
        }
    }

    #[test]
    fn nothing_a_model_reads_depends_on_the_machine() {
        let (folder, one) = registry();
        let (_other, two) = registry();
        let (one, two) = (one.snapshot(), two.snapshot());
        for (name, tool) in &one.tools {
            assert_eq!(tool.description, two.tools[name].description);
            assert_eq!(tool.schema, two.tools[name].schema);
            assert!(!tool.description.contains(folder.path().to_str().expect("text")));
        }
    }
}
