//! Which scripted turn a request asks for, told from its history and never from a count of requests.
//!
//! 1. A turn with calls is in the history when one of its call ids is, in a replayed call or a result.
//! 2. A turn without calls is in the history when its text is, as an assistant message.
//! 3. Some agents rewrite ids or drop what a turn said. A request that extends one which a turn already answered, by
//!    something other than calls the script never made, has that turn in its history too.
//!
//! The next turn is the one after the last of these. Equal histories therefore get equal turns: a retry is a retry.

use slot_oracles::trace::{ServedTurn, WireItem, WireRequest};

/// What a request's history says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The turn with this index is next.
    Turn(usize),
    /// No turn is.
    Unknown(String),
}

/// One turn as the state machine sees it: what it said, and the request it last answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    /// What the turn says.
    pub said: ServedTurn,
    /// The request it last answered.
    pub answered: Option<Answered>,
    /// How many of its failing attempts were used up.
    pub failed: usize,
}

/// What is kept of a request that a turn answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    /// Its raw items, cache markers set aside.
    pub raw: Vec<String>,
    /// How many calls it replayed.
    pub calls: usize,
}

/// Recognises the state of `request`. `raw` are its raw items, cache markers set aside.
pub(crate) fn recognise(steps: &[Step], request: &WireRequest, raw: &[String]) -> State {
    let by_words = by_words(steps, request);
    let by_extension = steps.iter().rposition(|step| extends(step, request, raw)).map_or(0, |index| index + 1);
    let next = by_words.max(by_extension);
    if next == 0
        && let Some(id) = unknown_ids(steps, request).first()
    {
        let nearest = describe(steps, 0);
        return State::Unknown(format!(
            "the history holds call `{id}`, which no turn made; the nearest expected step is {nearest}"
        ));
    }
    match steps.get(next) {
        Some(_) => State::Turn(next),
        None if steps.is_empty() => State::Unknown("the script has no turn".to_owned()),
        None => State::Unknown(format!("the script ends with turn {}, which this history already holds", next - 1)),
    }
}

/// The call ids of a history that no turn made, in order, each once.
pub(crate) fn unknown_ids<'a>(steps: &[Step], request: &'a WireRequest) -> Vec<&'a str> {
    let made = |id: &str| steps.iter().any(|step| step.said.calls.iter().any(|call| call.id == id));
    let mut unknown: Vec<&str> = Vec::new();
    for id in request.calls().map(|call| call.id.as_str()).chain(request.results().map(|(id, _)| id)) {
        if !made(id) && !unknown.contains(&id) {
            unknown.push(id);
        }
    }
    unknown
}

/// Names a turn for a message.
pub(crate) fn describe(steps: &[Step], index: usize) -> String {
    let Some(step) = steps.get(index) else { return "none".to_owned() };
    let calls: Vec<&str> = step.said.calls.iter().map(|call| call.id.as_str()).collect();
    match calls.as_slice() {
        [] => format!("turn {index} (says {:?})", shortened(&step.said.text)),
        calls => format!("turn {index} (calls {})", calls.join(", ")),
    }
}

/// The first 40 characters.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Rules 1 and 2, walked in the order of the history.
fn by_words(steps: &[Step], request: &WireRequest) -> usize {
    let with_id = |id: &str| steps.iter().position(|step| step.said.calls.iter().any(|call| call.id == id));
    let mut next = 0;
    for item in &request.items {
        match item {
            WireItem::Assistant { text, calls } if calls.is_empty() => {
                // The first turn with these words decides: when that one made calls, its own ids will tell.
                let same = steps.iter().skip(next).position(|step| same_text(&step.said.text, text));
                if let Some(index) = same.map(|offset| next + offset)
                    && steps[index].said.calls.is_empty()
                {
                    next = index + 1;
                }
            }
            WireItem::Assistant { calls, .. } => {
                for index in calls.iter().filter_map(|call| with_id(&call.id)) {
                    next = next.max(index + 1);
                }
            }
            WireItem::ToolResult { call_id, .. } => next = next.max(with_id(call_id).map_or(0, |index| index + 1)),
            WireItem::System { .. } | WireItem::User { .. } => {}
        }
    }
    next
}

fn same_text(said: &str, replayed: &str) -> bool {
    !said.trim().is_empty() && said.trim() == replayed.trim()
}

/// Rule 3: the request is the one the turn answered, and more; what was added makes no calls, or as many as the turn
/// made (then their ids were rewritten).
fn extends(step: &Step, request: &WireRequest, raw: &[String]) -> bool {
    let Some(answered) = &step.answered else { return false };
    if raw.len() <= answered.raw.len() || raw[..answered.raw.len()] != answered.raw[..] {
        return false;
    }
    let added = request.calls().count().saturating_sub(answered.calls);
    added == 0 || added == step.said.calls.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slot_oracles::trace::{ServedCall, WireCall};

    fn step(text: &str, ids: &[&str]) -> Step {
        let calls = ids.iter().map(|id| ServedCall { id: (*id).into(), ..ServedCall::default() }).collect();
        Step { said: ServedTurn { text: text.into(), calls, ..ServedTurn::default() }, ..Step::default() }
    }

    fn steps() -> Vec<Step> {
        vec![step("", &["c1", "c2"]), step("half way", &[]), step("more", &["c3"]), step("done", &[])]
    }

    fn user(text: &str) -> WireItem {
        WireItem::User { text: text.into() }
    }

    fn assistant(text: &str, ids: &[&str]) -> WireItem {
        let calls = ids.iter().map(|id| WireCall { id: (*id).into(), ..WireCall::default() }).collect();
        WireItem::Assistant { text: text.into(), calls }
    }

    fn result(id: &str) -> WireItem {
        WireItem::ToolResult { call_id: id.into(), content: String::new(), is_error: None }
    }

    /// A request whose raw items stand for themselves.
    fn request(items: &[WireItem]) -> (WireRequest, Vec<String>) {
        let raw = items.iter().map(|item| serde_json::to_string(item).unwrap()).collect();
        (WireRequest { items: items.to_vec(), ..WireRequest::default() }, raw)
    }

    #[track_caller]
    fn check(items: &[WireItem], expect: State) {
        let (request, raw) = request(items);
        assert_eq!(recognise(&steps(), &request, &raw), expect);
    }

    #[test]
    fn a_fresh_history_asks_for_the_first_turn() {
        check(&[user("go")], State::Turn(0));
    }

    #[test]
    fn call_ids_tell_the_turn() {
        check(&[user("go"), assistant("", &["c1", "c2"]), result("c1"), result("c2")], State::Turn(1));
        check(&[user("go"), result("c2")], State::Turn(1));
    }

    #[test]
    fn a_turn_without_calls_is_told_by_its_text() {
        check(&[user("go"), assistant("", &["c1"]), result("c1"), assistant(" half way\n", &[])], State::Turn(2));
    }

    #[test]
    fn text_that_belongs_to_a_turn_with_calls_moves_nothing() {
        check(&[user("go"), assistant("", &["c1"]), result("c1"), assistant("more", &[])], State::Turn(1));
    }

    #[test]
    fn a_user_who_says_the_same_words_moves_nothing() {
        check(&[user("half way")], State::Turn(0));
    }

    #[test]
    fn a_history_that_holds_the_last_turn_is_beyond_the_script() {
        check(
            &[user("go"), assistant("", &["c3"]), result("c3"), assistant("done", &[]), user("again")],
            State::Unknown("the script ends with turn 3, which this history already holds".into()),
        );
    }

    #[test]
    fn ids_that_no_turn_made_are_no_known_state() {
        check(
            &[user("go"), assistant("", &["zz"]), result("zz")],
            State::Unknown(
                "the history holds call `zz`, which no turn made; the nearest expected step is turn 0 (calls c1, c2)"
                    .into(),
            ),
        );
    }

    /// The state of a request that adds `added` to the one that the first turn answered.
    fn after_first(added: &[WireItem]) -> State {
        let mut steps = steps();
        steps[0].answered = Some(Answered { raw: request(&[user("go")]).1, calls: 0 });
        let mut items = vec![user("go")];
        items.extend_from_slice(added);
        let (request, raw) = request(&items);
        recognise(&steps, &request, &raw)
    }

    #[test]
    fn rewritten_ids_are_told_by_their_place() {
        assert_eq!(after_first(&[assistant("", &["x1", "x2"]), result("x1"), result("x2")]), State::Turn(1));
        assert!(matches!(after_first(&[assistant("", &["x1"]), result("x1")]), State::Unknown(_)));
    }

    #[test]
    fn a_dropped_turn_is_told_by_what_was_added() {
        assert_eq!(after_first(&[user("your reply was cut off")]), State::Turn(1));
        assert_eq!(after_first(&[]), State::Turn(0));
    }
}
