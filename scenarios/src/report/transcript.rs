//! One run as labelled lines: what was asked, said, called and answered, what the runtime logged, what changed on the
//! disk. Two runs that did the same have the same transcript; it is what snapshots hold and what a person reads first.

use crate::case::Case;
use crate::check::Seen;
use serde_json::Value;
use slot_oracles::trace::{AgentEnd, Node, ServedTurn, TreeChange, WireItem, WireRequest};
use std::fmt::Write as _;

/// The longest text shown on one line, in characters; a longer one is cut and its length told.
const SHOWN: usize = 200;

/// Renders a run. `neutral` takes out of a text what belongs to this run alone.
pub fn render(case: &Case, seen: &Seen, neutral: impl Fn(&str) -> String) -> String {
    let mut lines = Lines { out: format!("Scenario: {}\n", case.title), number: 0 };
    let wire = &seen.trace.wire;
    let mut known = 0;
    for request in &wire.requests {
        if known == 0 {
            lines.event(&heading(case, request));
        }
        for item in request.items.iter().skip(known) {
            item_lines(&mut lines, item, &wire.served, &neutral);
        }
        known = request.items.len().max(known);
        match request.turn.and_then(|turn| wire.served.get(turn)) {
            Some(turn) => turn_line(&mut lines, request.index, turn, &neutral),
            None => lines.event(&format!("request {} met no turn of the script", request.index)),
        }
    }
    lines.event(&format!("end: {}", end(&wire.end)));
    for left in &wire.leftover {
        lines.event(&format!("left behind: {}", neutral(&left.command)));
    }
    let mut out = lines.out;
    runtime(&mut out, seen, &neutral);
    disk(&mut out, seen, &neutral);
    out
}

/// Numbered lines.
struct Lines {
    out: String,
    number: usize,
}

impl Lines {
    fn event(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{:02} {text}", self.number);
        self.number += 1;
    }
}

/// The first request. What every run advertises and says of itself is left out, so that a new built-in tool does not
/// change the transcript of every case; of the tools, those are told that the case brought along.
fn heading(case: &Case, request: &WireRequest) -> String {
    let brought =
        |name: &str| case.world.tools.iter().any(|tool| tool.name == name) || name.starts_with("fail_closed_");
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).filter(|name| brought(name)).collect();
    let tools = match (case.world.tools.is_empty(), names.is_empty()) {
        (true, _) => String::new(),
        (false, true) => ", no tool of the case".to_owned(),
        (false, false) => format!(", with {}", names.join(", ")),
    };
    format!("request {} in {}{tools}", request.index, request.dialect)
}

/// What a request adds to the conversation. The model's own words are told where they were said, and again only where a
/// call goes back with other arguments.
fn item_lines(lines: &mut Lines, item: &WireItem, served: &[ServedTurn], neutral: &impl Fn(&str) -> String) {
    match item {
        WireItem::System { .. } => {}
        WireItem::Assistant { calls, .. } => {
            for call in calls {
                let mut said = served.iter().flat_map(|turn| &turn.calls).filter(|said| said.id == call.id);
                if said.next().is_some_and(|said| said.arguments != call.arguments) {
                    lines.event(&format!("history {} {}", call.id, arguments(&call.arguments, neutral)));
                }
            }
        }
        WireItem::User { text } => lines.event(&format!("user {}", quoted(&neutral(text)))),
        WireItem::ToolResult { call_id, content, is_error } => {
            let flag = match is_error {
                Some(true) => " (error)",
                Some(false) | None => "",
            };
            lines.event(&format!("result {call_id}{flag}: {}", quoted(&neutral(content))));
        }
    }
}

fn turn_line(lines: &mut Lines, request: usize, turn: &ServedTurn, neutral: &impl Fn(&str) -> String) {
    let mut parts = Vec::new();
    if !turn.text.is_empty() {
        parts.push(format!("text {}", quoted(&neutral(&turn.text))));
    }
    for call in &turn.calls {
        parts.push(format!("call {} {} {}", call.id, call.name, arguments(&call.arguments, neutral)));
    }
    let stop = if turn.stop.is_empty() { "no stop".to_owned() } else { format!("stop {}", turn.stop) };
    let signal = if turn.terminal { "" } else { ", no terminal signal" };
    lines.event(&format!("model turn {} to request {request}: {}; {stop}{signal}", turn.index, parts.join(", ")));
}

/// The text of arguments on one line, whatever is in it.
fn arguments(text: &str, neutral: &impl Fn(&str) -> String) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    shorten(&neutral(text)).chars().map(escaped).collect()
}

fn end(end: &AgentEnd) -> String {
    match end {
        AgentEnd::NotRun => "not run".to_owned(),
        AgentEnd::Finished { code } => format!("exit {code}"),
        AgentEnd::TimedOut { limit_ms } => format!("stopped after {limit_ms} ms"),
        AgentEnd::Signalled { signal } => format!("signal {signal}"),
        AgentEnd::NotStarted { reason } => format!("not started: {reason}"),
        AgentEnd::Unseen => "not seen".to_owned(),
    }
}

/// The runtime's log, one line for each lane: event names, with what an event carries in brackets.
fn runtime(out: &mut String, seen: &Seen, neutral: &impl Fn(&str) -> String) {
    let Some(runtime) = &seen.trace.runtime else { return };
    out.push_str("-- runtime\n");
    let mut lanes: Vec<(&str, Vec<String>)> = Vec::new();
    for event in &runtime.events {
        let lane = event["lane"].as_str().unwrap_or("?");
        let text = neutral(&event_text(event));
        match lanes.iter_mut().find(|(name, _)| *name == lane) {
            Some((_, events)) => events.push(text),
            None => lanes.push((lane, vec![text])),
        }
    }
    for (lane, events) in lanes {
        let _ = writeln!(out, "{lane}: {}", events.join(", "));
    }
}

fn event_text(event: &Value) -> String {
    let fields = event.as_object().into_iter().flatten();
    let carried: Vec<String> = fields
        .filter(|(key, _)| !matches!(key.as_str(), "lane" | "n" | "after" | "event"))
        .filter(|(key, _)| event["event"] != "session_started" || key.as_str() != "tools")
        .map(|(key, value)| match value {
            Value::String(text) => format!("{key}={text}"),
            other => format!("{key}={other}"),
        })
        .collect();
    let name = event["event"].as_str().unwrap_or("?");
    if carried.is_empty() { name.to_owned() } else { format!("{name}({})", carried.join(" ")) }
}

/// What changed, in the workspace and beside it.
fn disk(out: &mut String, seen: &Seen, neutral: &impl Fn(&str) -> String) {
    out.push_str("-- disk\n");
    let wire = &seen.trace.wire;
    let mut none = true;
    for (prefix, tree) in [("workspace/", &wire.workspace), ("", &wire.outside)] {
        for line in changes(prefix, tree) {
            let _ = writeln!(out, "{}", neutral(&line));
            none = false;
        }
    }
    if none {
        out.push_str("no change\n");
    }
}

fn changes(prefix: &str, tree: &TreeChange) -> Vec<String> {
    let mut lines: Vec<(&String, String)> = Vec::new();
    for (path, node) in &tree.after {
        match tree.before.get(path) {
            None => lines.push((path, format!("+ {prefix}{path} {}", describe(node)))),
            Some(before) if before != node => lines.push((path, format!("~ {prefix}{path} {}", describe(node)))),
            Some(_) => {}
        }
    }
    for path in tree.before.keys().filter(|path| !tree.after.contains_key(*path)) {
        lines.push((path, format!("- {prefix}{path}")));
    }
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

fn describe(node: &Node) -> String {
    match node {
        Node::File { text, .. } => quoted(text),
        Node::Blob { len, .. } => format!("{len} bytes"),
        Node::Dir { .. } => "folder".to_owned(),
        Node::Link { target } => format!("-> {target}"),
        Node::Special => "special file".to_owned(),
    }
}

/// The text in quotes on one line.
fn quoted(text: &str) -> String {
    shorten(&format!("{text:?}"))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}
