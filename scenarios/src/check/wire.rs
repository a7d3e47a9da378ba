//! Expectations about requests, results and words, and what the agent left when it ended.

use super::Met;
use crate::case::{CatalogExpect, Count, ExitExpect, JsonText, ResultExpect, TextExpect};
use mock_llm::markers::without_markers;
use serde_json::Value;
use slot_oracles::trace::{AgentEnd, WireItem, WireRequest, WireTrace};
use slot_oracles::{RuntimeTrace, Trace};

/// The result of one call, as later requests show it.
pub(super) fn result(trace: &Trace, id: &str, want: &ResultExpect) -> Vec<Met> {
    // The history repeats a result in every later request: the first that has one tells what it is, and the request
    // with the most tells how many there are.
    let count =
        trace.wire.requests.iter().map(|r| r.results().filter(|(call, _)| *call == id).count()).max().unwrap_or(0);
    let content = trace.wire.requests.iter().find_map(|r| r.results().find(|(call, _)| *call == id).map(|(_, c)| c));
    let ResultExpect::Exact(want) = want else {
        return vec![Met::when(count > 0, "missing-result", || no_result(&trace.wire, id))];
    };
    let mut all = Vec::new();
    if let Some(wanted) = want.count {
        let cause = if count < wanted { "missing-result" } else { "duplicate-result" };
        all.push(Met::when(count == wanted, cause, || match count {
            0 => no_result(&trace.wire, id),
            _ => format!("call {id} has {count} results, expected {wanted}"),
        }));
    }
    let needs_content = want.contains.is_some() || want.lacks.is_some();
    match content {
        Some(content) => {
            let conditions = TextExpect { contains: want.contains.clone(), lacks: want.lacks.clone(), lines: None };
            all.extend(text(&format!("the result of {id}"), content, &conditions, "wrong-result"));
        }
        None if needs_content && want.count.is_none() => {
            all.push(Met::no("missing-result", no_result(&trace.wire, id)))
        }
        None => {}
    }
    if let Some(error) = want.error {
        all.push(match error_flag(trace, id) {
            Some(flag) => Met::when(flag == error, "wrong-error-flag", || {
                let word = |flag| if flag { "an error" } else { "no error" };
                format!("the result of {id} is {}, expected {}", word(flag), word(error))
            }),
            None => Met::Unseen(format!("the dialect has no error flag, so that of the result of {id} is not seen")),
        });
    }
    all
}

/// The arguments of a call in the first request that replays it: a history does not change afterwards.
pub(super) fn replay(wire: &WireTrace, id: &str, want: &TextExpect) -> Vec<Met> {
    let found = wire.requests.iter().find_map(|request| request.calls().find(|call| call.id == id));
    match found {
        Some(call) => text(&format!("the replayed arguments of {id}"), &call.arguments, want, "wrong-replay"),
        None => vec![Met::no("not-replayed", format!("no request replays the call {id}"))],
    }
}

fn no_result(wire: &WireTrace, id: &str) -> String {
    match wire.requests.len() {
        1 => format!("call {id} has no result: no request followed"),
        n => format!("call {id} has no result in any of {n} requests"),
    }
}

/// Whether a result was flagged as an error: by the dialect, else by the runtime's events.
fn error_flag(trace: &Trace, id: &str) -> Option<bool> {
    let on_wire = trace.wire.requests.iter().flat_map(|r| &r.items).find_map(|item| match item {
        WireItem::ToolResult { call_id, is_error, .. } if call_id == id => *is_error,
        _ => None,
    });
    let settled = |runtime: &RuntimeTrace| {
        let lane = format!("call:{id}");
        runtime.lane(&lane).find(|e| e["event"] == "settled").and_then(|e| e["is_error"].as_bool())
    };
    on_wire.or_else(|| trace.runtime.as_ref().and_then(settled))
}

/// How many requests there were.
pub(super) fn requests(wire: &WireTrace, want: Count) -> Met {
    let count = wire.requests.len();
    Met::when(want.holds(count), "wrong-request-count", || format!("there were {count} requests, expected {want}"))
}

/// The first request's tools.
pub(super) fn catalog(wire: &WireTrace, want: &CatalogExpect) -> Vec<Met> {
    let Some(request) = wire.requests.first() else {
        return vec![Met::no("no-request", "no request was sent, so nothing is advertised")];
    };
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut all = Vec::new();
    for name in &want.has {
        all.push(Met::when(names.contains(&name.as_str()), "not-advertised", || {
            format!("{name:?} is not advertised, only {}", names.join(", "))
        }));
    }
    for name in &want.lacks {
        all.push(Met::when(!names.contains(&name.as_str()), "advertised", || format!("{name:?} is advertised")));
    }
    if let Some(sorted) = want.sorted {
        all.push(Met::when(names.is_sorted() == sorted, "catalog-order", || {
            format!("the catalog is {}sorted: {}", if sorted { "not " } else { "" }, names.join(", "))
        }));
    }
    let mut rest = names.iter();
    if let Some(late) = want.order.iter().find(|want| !rest.any(|name| name == want)) {
        all.push(Met::no("catalog-order", format!("{late:?} is not where it belongs: {}", names.join(", "))));
    }
    for (name, part) in &want.contains {
        all.push(match request.tools.iter().find(|tool| tool.name == *name) {
            Some(tool) => Met::when(tool.description.contains(part), "wrong-description", || {
                format!("the description of {name} is {:?}, expected {part:?} in it", shorten(&tool.description))
            }),
            None => Met::no("not-advertised", format!("{name:?} is not advertised, only {}", names.join(", "))),
        });
    }
    for (name, JsonText(schema)) in &want.schema {
        all.push(match request.tools.iter().find(|tool| tool.name == *name) {
            Some(tool) => Met::when(tool.schema == *schema, "wrong-schema", || {
                format!(
                    "the schema of {name} is {}, expected {}",
                    shorten(&tool.schema.to_string()),
                    shorten(&schema.to_string())
                )
            }),
            None => Met::no("not-advertised", format!("{name:?} is not advertised, only {}", names.join(", "))),
        });
    }
    for (name, strict) in &want.strict {
        all.push(match request.tools.iter().find(|tool| tool.name == *name) {
            Some(tool) => Met::when(is_strict(&tool.raw) == *strict, "wrong-strictness", || {
                format!("{name} is advertised {}", if *strict { "without being strict" } else { "as strict" })
            }),
            None => Met::no("not-advertised", format!("{name:?} is not advertised, only {}", names.join(", "))),
        });
    }
    all
}

/// Whether a declaration says that its schema is strict; chat writes that beside the function's name, a level down.
fn is_strict(declaration: &str) -> bool {
    let declaration: Value = serde_json::from_str(declaration).unwrap_or_default();
    [&declaration, &declaration["function"]].into_iter().any(|part| part["strict"] == true)
}

/// The model's words as the last request replays them.
pub(super) fn replayed_text(wire: &WireTrace, want: &TextExpect) -> Vec<Met> {
    let words = wire.requests.last().map(words_of).unwrap_or_default();
    text("the replayed text", &words, want, "wrong-text")
}

/// The conversation of the last request, as it was transmitted.
pub(super) fn transmitted(wire: &WireTrace, want: &TextExpect) -> Vec<Met> {
    let items = wire.requests.last().map(|request| request.raw.items.join("\n")).unwrap_or_default();
    text("the transmitted conversation", &items, want, "wrong-history")
}

fn words_of(request: &WireRequest) -> String {
    let words = request.items.iter().filter_map(|item| match item {
        WireItem::Assistant { text, .. } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// Conditions on a text.
pub(super) fn text(name: &str, text: &str, want: &TextExpect, cause: &'static str) -> Vec<Met> {
    let mut all = Vec::new();
    if let Some(part) = &want.contains {
        all.push(Met::when(text.contains(part.as_str()), cause, || {
            format!("{name} is {:?}, expected {part:?} in it", shorten(text))
        }));
    }
    if let Some(part) = &want.lacks {
        all.push(Met::when(!text.contains(part.as_str()), cause, || {
            format!("{name} holds {part:?}: {:?}", shorten(text))
        }));
    }
    if let Some(lines) = want.lines {
        let count = text.lines().count();
        all.push(Met::when(count == lines, cause, || format!("{name} has {count} lines, expected {lines}")));
    }
    all
}

/// Why some things cannot be seen of an agent that the harness did not start.
pub(super) const DRIVEN: &str = "the agent was driven by hand";

/// The exit code.
pub(super) fn exit(end: &AgentEnd, want: ExitExpect) -> Met {
    match (end, want) {
        (AgentEnd::Finished { code }, ExitExpect::Code(want)) => {
            Met::when(*code == want, "wrong-exit", || format!("the exit code is {code}, expected {want}"))
        }
        (AgentEnd::Finished { code }, ExitExpect::Failure(_)) => {
            Met::when(*code != 0, "wrong-exit", || "the exit code is 0, although the run failed".to_owned())
        }
        (AgentEnd::Unseen, _) => Met::Unseen(format!("{DRIVEN}, so that its exit code is not seen")),
        (other, _) => Met::no("wrong-exit", format!("the agent did not end by itself: {other:?}")),
    }
}

/// Whether each request appends to the one before it, part by part, cache markers set aside.
pub(super) fn prefix_is_stable(wire: &WireTrace) -> Met {
    let plain = |request: &WireRequest| {
        let items: Vec<String> = request.raw.items.iter().map(|item| without_markers(item)).collect();
        (without_markers(&request.raw.tools), without_markers(&request.raw.system), items)
    };
    if wire.requests.len() < 2 {
        return Met::Unseen("there was only one request, so none could append to it".to_owned());
    }
    for pair in wire.requests.windows(2) {
        let ((tools, system, items), (next_tools, next_system, next_items)) = (plain(&pair[0]), plain(&pair[1]));
        let part = if tools != next_tools {
            "tools".to_owned()
        } else if system != next_system {
            "system text".to_owned()
        } else if let Some(at) = items.iter().enumerate().position(|(at, item)| next_items.get(at) != Some(item)) {
            format!("item {at}")
        } else {
            continue;
        };
        let detail = format!("the {part} of request {} differs from that of request {}", pair[1].index, pair[0].index);
        return Met::no("prefix-broken", detail);
    }
    Met::Yes
}

/// The first 160 bytes, whole characters.
pub(super) fn shorten(text: &str) -> String {
    let mut end = text.len().min(160);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end == text.len() { text.to_owned() } else { format!("{}…", &text[..end]) }
}
