//! What a session's own tools keep: lists and notes, in memory, bounded, gone with the session.

use crate::input::fault;
use serde_json::Value;
use slot_runtime::contract::ValidationFault;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most entries of one list.
pub const MAX_ENTRIES: usize = 100;
/// The most characters of one entry.
pub const MAX_TEXT: usize = 500;
/// The most notes.
pub const MAX_NOTES: usize = 100;
/// The most characters of one note.
pub const MAX_NOTE: usize = 2_000;

/// How far an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

impl Progress {
    /// The spellings, in order.
    pub const WORDS: [&'static str; 3] = ["pending", "in_progress", "completed"];

    fn of(word: &str) -> Option<Progress> {
        match word {
            "pending" => Some(Progress::Pending),
            "in_progress" => Some(Progress::InProgress),
            "completed" => Some(Progress::Completed),
            _ => None,
        }
    }
}

/// One entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub progress: Progress,
}

/// The lists of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// The steps of the work, written by `update_plan`.
    Plan,
    /// What must hold in the end, written by `checklist_write`.
    Checklist,
    /// Small tasks, written by `todo_write`.
    Todos,
}

/// The state of one session. A host shows it; no other session sees it.
#[derive(Debug, Default)]
pub struct SessionState(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    lists: [Vec<Entry>; 3],
    notes: Vec<String>,
}

impl SessionState {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Every change is one assignment, so that the state is whole whatever happened in another thread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entries of a list.
    pub fn entries(&self, list: List) -> Vec<Entry> {
        self.inner().lists[list as usize].clone()
    }

    /// Replaces a list.
    pub fn replace(&self, list: List, entries: Vec<Entry>) {
        self.inner().lists[list as usize] = entries;
    }

    /// The notes, the oldest first.
    pub fn notes(&self) -> Vec<String> {
        self.inner().notes.clone()
    }

    /// Adds a note: how many there are then, or `None` where there is no room for another.
    pub fn add_note(&self, note: &str) -> Option<usize> {
        let notes = &mut self.inner().notes;
        if notes.len() >= MAX_NOTES {
            return None;
        }
        notes.push(note.to_owned());
        Some(notes.len())
    }
}

/// How the entries of a list are written.
pub struct Form {
    /// The field that holds them.
    pub field: &'static str,
    /// The field of an entry that holds its text.
    pub text: &'static str,
    /// Whether several entries may be in progress at once.
    pub several: bool,
}

impl Form {
    /// The entries in `input`. Their shape has been checked; what is judged here is what a schema cannot say.
    pub fn entries(&self, input: &Value) -> Result<Vec<Entry>, ValidationFault> {
        let Some(given) = input[self.field].as_array() else {
            return Err(fault(self.field, format!("the field {:?} is missing; it is an array", self.field)));
        };
        if given.len() > MAX_ENTRIES {
            return Err(fault(self.field, format!("there are {} entries; keep at most {MAX_ENTRIES}", given.len())));
        }
        let mut entries = Vec::with_capacity(given.len());
        for (index, entry) in given.iter().enumerate() {
            let at = |field: &str, message: String| {
                ValidationFault::at(format!("/{}/{index}/{field}", self.field), format!("entry {index} {message}"))
            };
            let text = entry[self.text].as_str().unwrap_or_default().trim();
            if text.is_empty() || text.chars().count() > MAX_TEXT {
                return Err(at(self.text, format!("must have a text of 1 to {MAX_TEXT} characters")));
            }
            let Some(progress) = entry["status"].as_str().and_then(Progress::of) else {
                return Err(at("status", format!("must have a status: {}", Progress::WORDS.join(", "))));
            };
            entries.push(Entry { text: text.to_owned(), progress });
        }
        let at_once = entries.iter().filter(|entry| entry.progress == Progress::InProgress).count();
        if at_once > 1 && !self.several {
            let message = format!("{at_once} entries are in_progress; at most one is worked on at a time");
            return Err(fault(self.field, message));
        }
        Ok(entries)
    }
}

/// A list in words, for the model: how far it is, and what comes next.
pub fn told(what: &str, entries: &[Entry]) -> String {
    if entries.is_empty() {
        return format!("The {what} is empty now.");
    }
    let done = entries.iter().filter(|entry| entry.progress == Progress::Completed).count();
    let mut text = format!("The {what} is updated: {done} of {} done.", entries.len());
    let now = entries.iter().find(|entry| entry.progress == Progress::InProgress);
    let next = entries.iter().find(|entry| entry.progress == Progress::Pending);
    match (now, next) {
        (Some(now), _) => text.push_str(&format!(" Now: {}", now.text)),
        (None, Some(next)) => text.push_str(&format!(" Next: {}", next.text)),
        (None, None) => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FORM: Form = Form { field: "plan", text: "step", several: false };

    #[track_caller]
    fn check(entries: Value, expect: Result<&str, &str>) {
        match (FORM.entries(&json!({ "plan": entries })), expect) {
            (Ok(entries), Ok(expect)) => assert_eq!(told("plan", &entries), expect),
            (Err(fault), Err(expect)) => assert_eq!(format!("{} {}", fault.pointer, fault.message), expect),
            (got, expect) => panic!("{got:?} is not {expect:?}"),
        }
    }

    #[test]
    fn a_list_is_told_with_what_comes_next() {
        check(json!([]), Ok("The plan is empty now."));
        check(
            json!([{ "step": "a", "status": "completed" }, { "step": " b ", "status": "in_progress" }]),
            Ok("The plan is updated: 1 of 2 done. Now: b"),
        );
        check(json!([{ "step": "a", "status": "pending" }]), Ok("The plan is updated: 0 of 1 done. Next: a"));
        check(json!([{ "step": "a", "status": "completed" }]), Ok("The plan is updated: 1 of 1 done."));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        check(
            json!([{ "step": " ", "status": "pending" }]),
            Err("/plan/0/step entry 0 must have a text of 1 to 500 characters"),
        );
        check(
            json!([{ "step": "a", "status": "done" }]),
            Err("/plan/0/status entry 0 must have a status: pending, in_progress, completed"),
        );
        check(
            json!([{ "step": "a", "status": "in_progress" }, { "step": "b", "status": "in_progress" }]),
            Err("/plan 2 entries are in_progress; at most one is worked on at a time"),
        );
        check(json!(vec![0; 101]), Err("/plan there are 101 entries; keep at most 100"));
        check(json!("x"), Err("/plan the field \"plan\" is missing; it is an array"));
    }

    #[test]
    fn lists_are_apart_and_notes_are_bounded() {
        let state = SessionState::default();
        let entry = Entry { text: "a".into(), progress: Progress::Pending };
        state.replace(List::Todos, vec![entry.clone()]);
        assert_eq!((state.entries(List::Todos), state.entries(List::Plan)), (vec![entry], Vec::new()));
        for n in 1..=MAX_NOTES {
            assert_eq!(state.add_note("x"), Some(n));
        }
        assert_eq!(state.add_note("x"), None);
        assert_eq!(state.notes().len(), MAX_NOTES);
    }
}
