//! The last two stages of a call: its result is kept, and then shown.
//!
//! Both happen one call at a time, in call order, behind everything that may still change the result. What is kept and
//! shown is what goes back to the model.
//!
//! A call is shown as a block: it opens when the call starts (or, where it never does, when it is refused), may report
//! progress, and closes exactly once. A transparent wrapper has no block of its own, so that the calls it makes stand by
//! themselves. That takes more than its word: only a built-in tool that itself only observes is passed over, and not
//! where it failed before it made a call. Nothing that acts can hide.
//!
//! None of this is in the canonical log: progress depends on time.

use super::call::{Approved, Raw, Settled};
use crate::contract::{ReportProgress, ToolMetadata};
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

/// The most progress reports of one call that are shown.
const MOST_REPORTS: u32 = 1_000;

/// The most characters of a tool's own text that are shown on a line.
const MOST_CHARACTERS: usize = 200;

/// Keeps results beyond the session, such as in a file.
pub trait ResultStore: Send + Sync {
    /// Keeps one result. Called once for each call, in call order.
    ///
    /// # Errors
    /// What kept it from that. It is noted, and the result goes on.
    fn keep(&self, settled: &Settled) -> std::io::Result<()>;
}

/// Shows calls to a person.
pub trait Screen: Send + Sync {
    /// Takes what happened to a block. Must not block.
    fn show(&self, block: &Block, happened: Happened<'_>);
}

/// One call as a person sees it. Its texts are free of control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The id of the call.
    pub call_id: String,
    /// The tool's registered name; where there is no such tool, the name that the model wrote.
    pub tool: String,
    /// The name a person reads. A tool from outside cannot be shown without its registered name beside it.
    pub title: String,
    /// What the call is said to be doing.
    pub activity: Option<String>,
    /// The call whose block this one stands in.
    pub inside: Option<String>,
}

/// What happened to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened<'a> {
    /// It is there.
    Opened,
    /// The tool reports how far it is.
    Progress(&'a str),
    /// The result is fixed.
    Closed {
        /// Whether the model is told that the call failed.
        failed: bool,
        /// Whether it was cancelled.
        cancelled: bool,
    },
}

/// The blocks of one session. Clones share them.
#[derive(Clone, Default)]
pub struct Rendering {
    screen: Option<Arc<dyn Screen>>,
    open: Arc<Mutex<BTreeMap<String, Open>>>,
}

struct Open {
    block: Block,
    /// It has no block of its own, as long as it made calls or went well.
    passed_over: bool,
    /// Calls that it made were shown.
    has_inner: bool,
    reports: u32,
}

impl Rendering {
    /// Shows on this screen, or nowhere.
    pub fn new(screen: Option<Arc<dyn Screen>>) -> Self {
        Rendering { screen, open: Arc::default() }
    }

    /// The call starts. `outer` is the id of the call that made it.
    pub(super) fn open(&self, call: &Approved, outer: Option<&str>) {
        if self.screen.is_none() {
            return;
        }
        let tool = call.tool();
        let mut block = block_of(call.raw().id(), tool);
        let passed_over = is_transparent(tool);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outer) = outer.and_then(|id| open.get_mut(id)) {
            outer.has_inner = true;
            block.inside = (!outer.passed_over).then(|| outer.block.call_id.clone());
        }
        let entry = Open { block: block.clone(), passed_over, has_inner: false, reports: 0 };
        open.insert(block.call_id.clone(), entry);
        drop(open);
        if !passed_over {
            self.show(&block, Happened::Opened);
        }
    }

    /// The call's result is fixed.
    pub(super) fn close(&self, call: &Raw, settled: &Settled) {
        if self.screen.is_none() {
            return;
        }
        let entry = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(call.id());
        let (block, shown) = match entry {
            Some(open) if open.passed_over && (open.has_inner || !settled.is_error()) => return,
            Some(open) => (open.block, !open.passed_over),
            None => (unnamed(call), false),
        };
        if !shown {
            self.show(&block, Happened::Opened);
        }
        self.show(&block, Happened::Closed { failed: settled.is_error(), cancelled: settled.is_cancelled() });
    }

    fn progress(&self, call_id: &str, text: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = open.get_mut(call_id).filter(|entry| !entry.passed_over) else { return };
        entry.reports = entry.reports.saturating_add(1);
        if entry.reports > MOST_REPORTS {
            return;
        }
        let block = entry.block.clone();
        drop(open);
        self.show(&block, Happened::Progress(&line(text)));
    }

    /// A screen that panics shows nothing, and stops nothing.
    fn show(&self, block: &Block, happened: Happened<'_>) {
        if let Some(screen) = &self.screen {
            let _ = std::panic::catch_unwind(AssertUnwindSafe(|| screen.show(block, happened)));
        }
    }
}

impl ReportProgress for Rendering {
    fn report(&self, call_id: &str, text: &str) {
        self.progress(call_id, text);
    }
}

/// Whether the tool's calls have no block of their own.
fn is_transparent(tool: &ToolMetadata) -> bool {
    tool.presentation.transparent && tool.origin.is_builtin() && tool.read_only && tool.fail_closed.is_none()
}

fn block_of(call_id: &str, tool: &ToolMetadata) -> Block {
    let said = tool.presentation.title.as_deref().map(line).filter(|title| !title.is_empty());
    let title = match said {
        Some(title) if tool.origin.is_builtin() => title,
        Some(title) => format!("{title} ({})", tool.name),
        None => tool.name.clone(),
    };
    let activity = tool.presentation.activity.as_deref().map(line);
    Block { call_id: call_id.to_owned(), tool: tool.name.clone(), title, activity, inside: None }
}

/// The block of a call that never started.
fn unnamed(call: &Raw) -> Block {
    let name = line(&call.invocation().call.name);
    Block { call_id: call.id().to_owned(), tool: name.clone(), title: name, activity: None, inside: None }
}

/// A text on one line, without what moves or hides text, and not too long.
fn line(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c,
                '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().take(MOST_CHARACTERS).map(|c| if hidden(c) { '\u{fffd}' } else { c }).collect()
}
