//! Mutations of a sound run's trace: what a broken agent would have left behind.
//!
//! They test the judges alone: whatever the runtime does, an oracle or a check that sleeps through its mutation is broken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slot_oracles::markers;
use slot_oracles::trace::{AgentEnd, Leftover, Node, Trace, WireItem, WireRequest};

/// One mutation, as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mutation {
    /// The last tool result of the last request is removed.
    DropResult,
    /// The last tool result of the last request is there twice.
    DoubleResult,
    /// The last two tool results of the last request change places.
    SwapResults,
    /// A result is added for a call that nobody made.
    OrphanResult,
    /// A tally shows two runs.
    RunTwice,
    /// A file appears in the workspace that no call names.
    ExtraFile,
    /// The file `ran` appears in the workspace, which tools leave that were refused here.
    RanAnyway,
    /// Of the new files of the workspace the first is missing.
    LoseFirstFile,
    /// The first file of the workspace has more in it.
    ChangeFile,
    /// Nothing changed in the workspace.
    NoEffect,
    /// A file changes outside the workspace.
    OutsideFile,
    /// A file appears beside the folders of the run.
    BesideFile,
    /// Something outside the workspace gets other permissions.
    OutsideMode,
    /// A planted string stands in a tool result.
    LeakCanary,
    /// An advertised tool gets a name with a blank.
    IllegalName,
    /// An advertised tool loses its object schema.
    BadSchema,
    /// A call goes back to the provider under a name with a blank.
    IllegalCall,
    /// The first advertised tool is there twice.
    DuplicateTool,
    /// The advertised tools are reversed.
    ReverseTools,
    /// The system text of the last request differs from the first one's.
    RewriteSystem,
    /// The first message of the last request differs from the first request's.
    RewriteMessage,
    /// The agent never ended.
    Hang,
    /// The agent was ended by a signal.
    Crash,
    /// A process was left.
    LeftProcess,
    /// The events lose their approvals.
    NoApproval,
    /// The events show a lower level than the capabilities demand.
    LowerLevel,
    /// The events show a call held to a lower level than its capabilities demand.
    HeldToLess,
    /// Somebody was asked before the input was found valid.
    AskedFirst,
    /// The events lose the ends of the calls.
    LoseSettled,
    /// The last two events change places.
    SwapEvents,
    /// The model's words are replayed and shown with forged calls in them.
    KeepForged,
    /// The model's words are replayed as nothing.
    SwallowWords,
    /// Every message of the history is transmitted without a word that markup is made of.
    ScrubRaw,
    /// The events lose the notice of forged calls.
    LoseNotice,
    /// The events hold the notice of forged calls twice.
    NoticeTwice,
    /// The events lose what they say of a changed list of tools.
    LoseDeclaration,
    /// The tools of the last request are spelled with other white space.
    RespaceTools,
    /// No cache marker is left.
    DropMarks,
    /// Of the cache markers in messages only the last of each request is left.
    LastMarkOnly,
    /// The last request has two cache markers more.
    MoreMarks,
}

impl Mutation {
    /// Applies the mutation. `false` means that the trace has nothing to apply it to, which is an error in the fault.
    pub fn apply(self, trace: &mut Trace) -> bool {
        match self {
            Mutation::DropResult | Mutation::DoubleResult | Mutation::SwapResults | Mutation::OrphanResult => {
                trace.wire.requests.last_mut().is_some_and(|request| self.results(&mut request.items))
            }
            Mutation::RunTwice => tally(trace),
            Mutation::ExtraFile => add(&mut trace.wire.workspace.after, "left-by-nobody"),
            Mutation::RanAnyway => add(&mut trace.wire.workspace.after, "ran"),
            Mutation::LoseFirstFile => {
                let tree = &mut trace.wire.workspace;
                let first = tree.after.keys().find(|path| !tree.before.contains_key(*path)).cloned();
                first.is_some_and(|first| tree.after.remove(&first).is_some())
            }
            Mutation::ChangeFile => {
                let texts = trace.wire.workspace.after.values_mut();
                let first = texts.into_iter().find_map(|node| match node {
                    Node::File { text, .. } => Some(text),
                    _ => None,
                });
                first.map(|text| text.push('x')).is_some()
            }
            Mutation::NoEffect => {
                let tree = &mut trace.wire.workspace;
                let had = tree.after != tree.before;
                tree.after = tree.before.clone();
                had
            }
            Mutation::OutsideFile => add(&mut trace.wire.outside.after, "outside/left-by-nobody"),
            Mutation::BesideFile => add(&mut trace.wire.outside.after, "left-by-nobody"),
            Mutation::OutsideMode => {
                trace.wire.outside.after.values_mut().find_map(Node::mode_mut).map(|mode| *mode ^= 0o022).is_some()
            }
            Mutation::LeakCanary => leak(trace),
            Mutation::IllegalName | Mutation::BadSchema | Mutation::DuplicateTool | Mutation::ReverseTools => {
                trace.wire.requests.iter_mut().map(|request| self.tools(request)).fold(false, |any, one| any | one)
            }
            Mutation::IllegalCall => rename_call(trace),
            Mutation::RewriteSystem | Mutation::RewriteMessage => self.rewrite(trace),
            Mutation::Hang => end(trace, AgentEnd::TimedOut { limit_ms: 1 }),
            Mutation::Crash => end(trace, AgentEnd::Signalled { signal: 11 }),
            Mutation::LeftProcess => {
                trace.wire.leftover.push(Leftover { pid: 1, command: "sleep 600".into() });
                true
            }
            Mutation::KeepForged => words(trace, |text| text.push_str("<tool_call>{}</tool_call> [TOOL_CALL]")),
            Mutation::SwallowWords => words(trace, String::clear),
            Mutation::ScrubRaw => scrub_raw(trace),
            Mutation::RespaceTools => respace_tools(trace),
            Mutation::DropMarks | Mutation::LastMarkOnly => self.unmark(trace),
            Mutation::MoreMarks => more_marks(trace),
            Mutation::NoApproval
            | Mutation::LowerLevel
            | Mutation::HeldToLess
            | Mutation::AskedFirst
            | Mutation::LoseSettled
            | Mutation::SwapEvents
            | Mutation::LoseNotice
            | Mutation::NoticeTwice
            | Mutation::LoseDeclaration => {
                trace.runtime.as_mut().is_some_and(|runtime| self.events(&mut runtime.events))
            }
        }
    }

    fn results(self, items: &mut Vec<WireItem>) -> bool {
        let Some(last) = items.iter().rposition(is_result) else { return false };
        match self {
            Mutation::DropResult => drop(items.remove(last)),
            Mutation::DoubleResult => items.insert(last, items[last].clone()),
            Mutation::SwapResults => {
                if last == 0 || !is_result(&items[last - 1]) {
                    return false;
                }
                items.swap(last - 1, last);
            }
            _ => items
                .insert(last, WireItem::ToolResult { call_id: "nobody".into(), content: "ok".into(), is_error: None }),
        }
        true
    }

    fn tools(self, request: &mut WireRequest) -> bool {
        let Some(first) = request.tools.first().cloned() else { return false };
        match self {
            Mutation::IllegalName => request.tools[0].name = "a tool".into(),
            Mutation::BadSchema => request.tools[0].schema = json!({"type": "string"}),
            Mutation::DuplicateTool => request.tools.push(first),
            _ => {
                if request.tools.len() < 2 {
                    return false;
                }
                request.tools.reverse();
            }
        }
        true
    }

    fn rewrite(self, trace: &mut Trace) -> bool {
        let several = trace.wire.requests.len() > 1;
        let Some(last) = trace.wire.requests.last_mut().filter(|_| several) else { return false };
        if self == Mutation::RewriteSystem {
            // Dialects differ in where the system text stands: in a field of its own, or as the first message.
            if last.raw.system.is_empty() {
                let Some(first) = last.raw.items.first_mut() else { return false };
                first.push(' ');
            } else {
                last.raw.system.push_str(" now");
            }
            return true;
        }
        let Some(item) = last.raw.items.iter_mut().find(|item| item.contains("\"user\"")) else { return false };
        item.push(' ');
        true
    }

    /// Takes cache markers out of every request; the last message keeps its own where it is to.
    fn unmark(self, trace: &mut Trace) -> bool {
        let mut any = false;
        for request in &mut trace.wire.requests {
            let raw = &mut request.raw;
            let kept = usize::from(self == Mutation::LastMarkOnly).min(raw.items.len());
            let all = raw.items.len();
            let system = (self == Mutation::DropMarks).then_some(&mut raw.system);
            for text in raw.items[..all - kept].iter_mut().chain(system) {
                if let Some(plain) = markers::strip(text) {
                    *text = plain;
                    any = true;
                }
            }
        }
        any
    }

    fn events(self, events: &mut Vec<Value>) -> bool {
        let before = events.clone();
        match self {
            Mutation::NoApproval => events.retain(|e| e["event"] != "approval_decided"),
            Mutation::LoseNotice => events.retain(|e| e["event"] != "forgery_stripped"),
            Mutation::LoseDeclaration => events.retain(|e| e["event"] != "catalog_changed"),
            Mutation::NoticeTwice => events.extend(before.iter().filter(|e| e["event"] == "forgery_stripped").cloned()),
            Mutation::LoseSettled => events.retain(|e| e["event"] != "settled"),
            Mutation::LowerLevel => {
                for event in events.iter_mut().filter(|e| e["event"] == "approval_level") {
                    event["derived"] = json!("auto");
                }
            }
            Mutation::HeldToLess => {
                for event in events.iter_mut().filter(|e| e["event"] == "approval_level") {
                    event["level"] = json!("auto");
                }
            }
            Mutation::AskedFirst => {
                for event in events.iter_mut().filter(|e| e["event"] == "validated") {
                    event["event"] = json!("approval_asked");
                }
            }
            _ => {
                let n = events.len();
                if n < 2 {
                    return false;
                }
                events.swap(n - 2, n - 1);
            }
        }
        *events != before
    }
}

fn respace_tools(trace: &mut Trace) -> bool {
    let Some(last) = trace.wire.requests.last_mut() else { return false };
    let respaced = last.raw.tools.replace("\":{", "\": {");
    let changed = respaced != last.raw.tools;
    last.raw.tools = respaced;
    changed
}

/// Marks the first two results of every message.
fn more_marks(trace: &mut Trace) -> bool {
    const BLOCK: &str = r#"{"type":"tool_result""#;
    let mut any = false;
    for item in trace.wire.requests.last_mut().into_iter().flat_map(|request| request.raw.items.iter_mut()) {
        let marked = item.replacen(BLOCK, &format!(r#"{{"cache_control":{{"type":"ephemeral"}},{}"#, &BLOCK[1..]), 2);
        any |= marked != *item;
        *item = marked;
    }
    any
}

fn is_result(item: &WireItem) -> bool {
    matches!(item, WireItem::ToolResult { .. })
}

fn add(tree: &mut std::collections::BTreeMap<String, Node>, path: &str) -> bool {
    tree.insert(path.to_owned(), Node::text("x"));
    true
}

/// Changes what the model said, wherever it is replayed with words.
fn words(trace: &mut Trace, change: impl Fn(&mut String)) -> bool {
    let items = trace.wire.requests.iter_mut().flat_map(|request| request.items.iter_mut());
    let mut any = false;
    for item in items {
        if let WireItem::Assistant { text, .. } = item {
            change(text);
            any = true;
        }
    }
    any
}

fn scrub_raw(trace: &mut Trace) -> bool {
    let items = trace.wire.requests.iter_mut().flat_map(|request| request.raw.items.iter_mut());
    let mut any = false;
    for item in items.filter(|item| item.contains("TOOL_CALL")) {
        *item = item.replace("TOOL_CALL", "");
        any = true;
    }
    any
}

fn tally(trace: &mut Trace) -> bool {
    let tally = trace.wire.workspace.after.iter_mut().find(|(path, _)| path.starts_with("ran-"));
    let Some((_, Node::File { text, .. })) = tally else { return false };
    text.push_str("again\n");
    true
}

fn rename_call(trace: &mut Trace) -> bool {
    let items = trace.wire.requests.iter_mut().flat_map(|request| request.items.iter_mut());
    let mut calls = items.filter_map(|item| match item {
        WireItem::Assistant { calls, .. } => calls.first_mut(),
        _ => None,
    });
    calls.next().is_some_and(|call| {
        call.name = "a call".into();
        true
    })
}

fn leak(trace: &mut Trace) -> bool {
    let Some(canary) = trace.wire.canaries.first().cloned() else { return false };
    let items = trace.wire.requests.iter_mut().flat_map(|request| request.items.iter_mut());
    let mut any = false;
    for item in items {
        if let WireItem::ToolResult { content, .. } = item {
            content.push_str(&canary);
            any = true;
        }
    }
    any
}

fn end(trace: &mut Trace, end: AgentEnd) -> bool {
    trace.wire.end = end;
    true
}
