//! The tools of a session: what is planned, noted and remembered, and the person it is for.
//!
//! - [`update_plan`], [`checklist_write`], [`todo_write`], [`note`]: lists and notes of this session ([`state`]; the
//!   lists have one body, [`list_tool`]).
//! - [`remember`], [`recall`]: texts that outlive it, in the folder that the host names ([`memory`]).
//! - [`request_user_input`], [`notify`]: the person at the session ([`person`]).
//! - [`enter_plan_mode`], [`exit_plan_mode`]: whether anything may be changed.
//! - [`enter_worktree`], [`exit_worktree`]: a working tree of the session's own ([`working_tree`]).
//! - [`revert_turn`]: the changes of the last turn, taken back ([`journal`]).
//! - [`load_skill`]: instructions from the workspace.

mod checklist_write;
mod enter_plan_mode;
mod enter_worktree;
mod exit_plan_mode;
mod exit_worktree;
mod journal;
mod list_tool;
mod load_skill;
mod memory;
mod note;
mod notify;
mod person;
mod recall;
mod remember;
mod request_user_input;
mod revert_turn;
mod state;
mod todo_write;
mod update_plan;
mod working_tree;

pub use enter_plan_mode::EnterPlanMode;
pub use enter_worktree::EnterWorktree;
pub use exit_plan_mode::ExitPlanMode;
pub use exit_worktree::ExitWorktree;
pub use journal::{How, Journal, RevertError, Reverted};
pub use load_skill::LoadSkill;
pub use memory::Memory;
pub use note::Note;
pub use notify::Notify;
pub use person::{Person, Question};
pub use recall::Recall;
pub use remember::Remember;
pub use request_user_input::RequestUserInput;
pub use revert_turn::RevertTurn;
pub use state::{Entry, List, Progress, SessionState};
pub use working_tree::WorkingTrees;

use crate::file_gates::FileGates;
use checklist_write::CHECKLIST_WRITE;
use list_tool::ListTool;
use slot_runtime::{
    boundary::FileBoundary,
    contract::ToolSpec,
    mode::{PlanMode, UserTurns},
    place::Place,
};
use std::{path::PathBuf, sync::Arc};
use todo_write::TODO_WRITE;
use update_plan::UPDATE_PLAN;

/// What a host gives to the tools of one session. The default is a session with nobody at it, that remembers nothing.
#[derive(Clone, Default)]
pub struct SessionHost {
    /// What the tools keep; a host shows it.
    pub state: Arc<SessionState>,
    /// The person at the session, where there is one.
    pub person: Option<Arc<dyn Person>>,
    /// The folder for what outlives the session. Without one there is no tool for it.
    pub memory: Option<PathBuf>,
    /// The mode that the session's gate asks. Without one there is no tool to change it, since none would follow.
    pub mode: Option<PlanMode>,
    /// The count of user turns that the session keeps. Without one nobody knows what a turn wrote, and there is no tool
    /// to take it back.
    pub turns: Option<UserTurns>,
    /// Where the session is. Without one it stays in its workspace, and there is no tool to move it.
    pub place: Option<Place>,
    /// What stands between the file tools and the files.
    pub gates: FileGates,
}

/// The tools of one session.
pub fn tools(boundary: &Arc<dyn FileBoundary>, host: &SessionHost) -> Vec<Arc<dyn ToolSpec>> {
    let state = || Arc::clone(&host.state);
    let mut tools: Vec<Arc<dyn ToolSpec>> = vec![
        Arc::new(ListTool::new(&CHECKLIST_WRITE, state())),
        Arc::new(LoadSkill::new(Arc::clone(boundary))),
        Arc::new(Note::new(state())),
        Arc::new(Notify::new(host.person.clone())),
        Arc::new(RequestUserInput::new(host.person.clone())),
        Arc::new(ListTool::new(&TODO_WRITE, state())),
        Arc::new(ListTool::new(&UPDATE_PLAN, state())),
    ];
    if let Some(folder) = &host.memory {
        tools.push(Arc::new(Recall::new(Memory::in_folder(folder))));
        tools.push(Arc::new(Remember::new(Memory::in_folder(folder))));
    }
    if let Some(mode) = &host.mode {
        tools.push(Arc::new(EnterPlanMode::new(mode.clone())));
        tools.push(Arc::new(ExitPlanMode::new(mode.clone())));
    }
    tools
}
