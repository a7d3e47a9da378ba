//! `checklist_write`: what must hold in the end.

use super::list_tool::Texts;
use super::state::{Form, List};

/// The tool's texts.
pub(super) const CHECKLIST_WRITE: Texts = Texts {
    name: "checklist_write",
    description: DESCRIPTION,
    form: Form { field: "items", text: "item", several: true },
    list: List::Checklist,
    told: "checklist",
    all: "All conditions.",
    one: "What must hold.",
    hint: "requirements acceptance conditions check off done",
    title: "Write checklist",
    activity: "Updating the checklist",
};

const DESCRIPTION: &str = "\
Write down what must hold before the task is done, such as the requirements of the user, and check it off as it is \
met. Send the whole list each time: it replaces the one before, and [] empties it. Use it instead of trusting your memory when \
a task names many conditions. Do not use it for the steps of the work; that is update_plan. \
Example: {\"items\": [{\"item\": \"All tests pass\", \"status\": \"pending\"}]}.";
