//! Expectations about the runtime's own events.

use super::Met;
use crate::case::{EventExpect, LaneExpect};
use slot_oracles::RuntimeTrace;

/// How often an event was logged.
pub(super) fn counts(runtime: &RuntimeTrace, name: &str, want: &EventExpect) -> Vec<Met> {
    match want {
        EventExpect::Count(want) => {
            let count = runtime.named(name).count();
            vec![Met::when(want.holds(count), "wrong-event-count", || {
                format!("{name} was logged {count} times, expected {want}")
            })]
        }
        EventExpect::ByCall(calls) => calls
            .iter()
            .map(|(id, want)| {
                let lane = format!("call:{id}");
                let count = runtime.lane(&lane).filter(|event| event["event"] == name).count();
                Met::when(want.holds(count), "wrong-event-count", || {
                    format!(
                        "{name} of {id} was logged {count} times, expected {want}; its lane is {}",
                        names(runtime, &lane).join(", ")
                    )
                })
            })
            .collect(),
    }
}

/// The events of one call.
pub(super) fn lane(runtime: &RuntimeTrace, id: &str, want: &LaneExpect) -> Met {
    let names = names(runtime, &format!("call:{id}"));
    let (holds, wanted) = match want {
        LaneExpect::Exact(wanted) => (names == *wanted, wanted),
        LaneExpect::Loose(wanted) => {
            let mut rest = names.iter();
            (wanted.contains.iter().all(|want| rest.any(|name| name == want)), &wanted.contains)
        }
    };
    Met::when(holds, "wrong-lane", || {
        format!("the lane of {id} is {}, expected {}", names.join(", "), wanted.join(", "))
    })
}

fn names(runtime: &RuntimeTrace, lane: &str) -> Vec<String> {
    runtime.lane(lane).map(|event| event["event"].as_str().unwrap_or_default().to_owned()).collect()
}
