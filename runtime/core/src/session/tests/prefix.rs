//! Requests repeat each other also around a cancellation, and the history survives being saved.

use super::*;
use slot_wire::dialect::RequestOptions;

/// A request of this dialect, up to where the conversation would go on; cache marks, which move, are left out.
fn front(dialect: Dialect, conversation: &Conversation) -> String {
    let options = RequestOptions { model: "m", catalog: "", max_tokens: None };
    let body = String::from_utf8(dialect.encode_request(conversation, &options)).unwrap();
    body.replace(r#","cache_control":{"type":"ephemeral"}"#, "").trim_end_matches([']', '}']).to_owned()
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_before_a_cancellation_is_sent_again_after_it() {
    let calls = call(&[("a", "look", OK), ("h", "exec", r#"{"do":"hang"}"#)]);
    let mut fixture = fixture(&[call(&[("l", "look", OK)]), calls, say("done")], Unattended);
    let cancel = CancellationToken::new();
    let (runs, stop) = (Arc::clone(&fixture.runs), cancel.clone());
    tokio::spawn(async move {
        while runs.load(Ordering::Relaxed) < 3 {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    });
    assert_eq!(fixture.session.run("go", &cancel).await, Outcome::Cancelled);
    let cancelled = fixture.session.conversation().clone();
    let sent = fixture.script.requests.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    assert_eq!(fixture.session.run("and now?", &CancellationToken::new()).await, completed("done"));
    let after = fixture.session.conversation().clone();
    assert!(after.items.starts_with(&cancelled.items));
    for dialect in Dialect::ALL {
        let (old, new) = (front(dialect, &cancelled), front(dialect, &after));
        assert!(new.starts_with(&old), "{}:\n{old}\n{new}", dialect.name());
    }
    // The request before the cancellation is repeated as it was by the one after it.
    let all = fixture.script.requests.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    let messages = |request: &Value| request["messages"].as_array().cloned().unwrap_or_default();
    let (before, next) = (messages(&sent[sent.len() - 1]), messages(&all[sent.len()]));
    assert!(next.starts_with(&before), "{before:?}\n{next:?}");
}

#[tokio::test(start_paused = true)]
async fn a_history_that_was_saved_and_loaded_is_sent_in_the_same_bytes() {
    let mended = call(&[("a", "look", "{\"do\": \"it\", }"), ("b", "exec", r#"{"do":"\u00e9\u0007","n":1.0}"#)]);
    let mut fixture = fixture(&[mended, say("done \u{1f980}")], NoChannel);
    fixture.session.run("go", &CancellationToken::new()).await;
    let conversation = fixture.session.conversation().clone();
    let saved = serde_json::to_string(&conversation).unwrap();
    let loaded: Conversation = serde_json::from_str(&saved).unwrap();
    for dialect in Dialect::ALL {
        assert_eq!(front(dialect, &loaded), front(dialect, &conversation), "{}", dialect.name());
    }
}
