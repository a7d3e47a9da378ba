//! `update_plan`: the steps of the work, for the user to follow.

use super::list_tool::Texts;
use super::state::{Form, List};

/// The tool's texts.
pub(super) const UPDATE_PLAN: Texts = Texts {
    name: "update_plan",
    description: DESCRIPTION,
    form: Form { field: "plan", text: "step", several: false },
    list: List::Plan,
    told: "plan",
    all: "All steps, in order.",
    one: "What is done in it.",
    hint: "steps progress plan of the work",
    title: "Update plan",
    activity: "Updating the plan",
};

const DESCRIPTION: &str = "\
Write down the steps of the work, or how far they are, for the user to follow. Send the whole plan each time: it replaces the \
one before, and [] empties it. At most one step is in_progress. Use it instead of describing a plan of several steps in \
prose, and update it when a step is done. Do not use it for work of one or two steps, or to ask for approval: it changes \
nothing but the plan. \
Example: {\"plan\": [{\"step\": \"Find the parser\", \"status\": \"completed\"}, {\"step\": \"Fix it\", \"status\": \
\"in_progress\"}]}.";
