//! `todo_write`: small tasks that came up.

use super::list_tool::Texts;
use super::state::{Form, List};

/// The tool's texts.
pub(super) const TODO_WRITE: Texts = Texts {
    name: "todo_write",
    description: DESCRIPTION,
    form: Form { field: "todos", text: "content", several: false },
    list: List::Todos,
    told: "list of tasks",
    all: "All tasks.",
    one: "What is to be done.",
    hint: "tasks list later open work",
    title: "Write tasks",
    activity: "Updating the tasks",
};

const DESCRIPTION: &str = "\
Keep a list of small tasks that come up on the way. Send the whole list each time: it replaces the one before, and [] \
empties it. At most one task is in_progress. Use it instead of leaving a task for later in prose. Do not use it for the plan \
of the work (update_plan), for conditions of the end (checklist_write), or for facts (note). \
Example: {\"todos\": [{\"content\": \"Remove the old flag\", \"status\": \"pending\"}]}.";
