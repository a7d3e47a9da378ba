//! Which calls overlap, and calls that a tool makes.

use super::*;

const MEET: &str = r#"{"do":"meet"}"#;

#[test]
fn parallel_calls_overlap_and_answer_in_call_order() {
    // Neither could end alone: the barrier needs both.
    let calls = call(&[("a", "look", MEET), ("b", "look", MEET)]);
    assert_eq!(check(&[calls, say("")], NoChannel, &["a ok", "b ok"]).1, 2);
}

#[test]
fn one_failure_stays_in_its_slot() {
    let calls = call(&[("a", "look", MEET), ("p", "look", r#"{"do":"panic"}"#), ("b", "look", MEET)]);
    check(&[calls, say("")], NoChannel, &["a ok", "p failed", "b ok"]);
}

#[tokio::test(start_paused = true)]
async fn a_serial_call_overlaps_with_nothing() {
    // Were `exec` to overlap with either, two calls would meet and the run would end.
    let calls = call(&[("a", "look", MEET), ("x", "exec", MEET), ("b", "look", MEET)]);
    let mut fixture = fixture(&[calls, say("")], Unattended);
    let cancel = CancellationToken::new();
    let run = fixture.session.run("go", &cancel);
    let ended = tokio::time::timeout(Duration::from_secs(3600), run).await;
    assert!(ended.is_err(), "the calls met");
    assert_eq!(fixture.runs.load(Ordering::Relaxed), 1, "only the first call may have started");
    assert_paired(fixture.session.conversation());
}

/// Notes the calls' starts and ends in the order in which a host sees them.
#[derive(Default)]
struct Host(Mutex<Vec<String>>);

impl crate::event::EventSink for Host {
    fn event(&self, event: &crate::event::Event) {
        let word = match event.kind {
            EventKind::Started => "start",
            EventKind::Settled { .. } => "end",
            _ => return,
        };
        self.0.lock().unwrap().push(format!("{word} {}", event.lane));
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_pairs_ends_by_stack_sees_them_in_reverse() {
    let calls = call(&[("a", "look", MEET), ("b", "look", MEET), ("x", "exec", OK)]);
    let mut fixture = fixture(&[calls, say("")], Unattended);
    let host = Arc::new(Host::default());
    fixture.session.log = EventLog::new(Some(Arc::clone(&host) as Arc<dyn crate::event::EventSink>));
    fixture.session.run("go", &CancellationToken::new()).await;
    let seen = host.0.lock().unwrap().join(", ");
    assert_eq!(seen, "start call:a, start call:b, end call:b, end call:a, start call:x, end call:x");
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_batch_answers_all_of_it() {
    let hang = r#"{"do":"hang"}"#;
    let mut fixture = fixture(&[call(&[("a", "look", hang), ("b", "look", OK), ("c", "look", hang)])], NoChannel);
    let (cancel, runs) = (CancellationToken::new(), Arc::clone(&fixture.runs));
    let stop = cancel.clone();
    tokio::spawn(async move {
        while runs.load(Ordering::Relaxed) < 3 {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    });
    assert_eq!(fixture.session.run("go", &cancel).await, Outcome::Cancelled);
    let found = results(fixture.session.conversation());
    assert!(found[0].starts_with("a failed") && found[1].starts_with("b ok") && found[2].starts_with("c failed"));
}

#[test]
fn inner_calls_skip_the_gate_that_their_outer_call_holds() {
    // The outer call is serial and holds the gate alone; its inner calls still overlap with each other.
    let calls = call(&[("x", "exec", r#"{"do":"nest:look:meet"}"#)]);
    assert_eq!(check(&[calls, say("")], Unattended, &["x ok did \"meet\" | did \"meet\""]).1, 3);
}

#[test]
fn inner_calls_are_governed_as_what_they_are() {
    let calls = call(&[("l", "look", r#"{"do":"nest:exec:it"}"#), ("w", "write", r#"{"do":"nest:exec:that"}"#)]);
    let expect = ["l ok \"exec\" must run by itself", "w ok the call of \"exec\" was not run: it requires approval"];
    assert_eq!(check(&[calls, say("")], PassSuggested(NoChannel), &expect).1, 2);
}

#[test]
fn an_inner_call_cannot_call_tools() {
    let calls = call(&[("x", "exec", r#"{"do":"nest:exec:nest:look:it"}"#)]);
    let expect = ["x ok a call that a tool makes cannot call tools itself"];
    assert_eq!(check(&[calls, say("")], Unattended, &expect).1, 3);
}

#[test]
fn inner_calls_of_one_run_have_ids_of_their_own_and_do_not_overlap() {
    let calls = call(&[("x", "exec", r#"{"do":"nest:look:it"}"#), ("y", "exec", r#"{"do":"nest:look:it"}"#)]);
    check(&[calls, say("")], Unattended, &["x ok", "y ok"]);
}

#[tokio::test(start_paused = true)]
async fn inner_calls_of_a_dropped_run_come_to_their_end_in_the_log() {
    let calls = call(&[("x", "exec", r#"{"do":"nest:look:hang"}"#)]);
    let mut fixture = fixture(&[calls], Unattended);
    let (cancel, runs, log) = (CancellationToken::new(), Arc::clone(&fixture.runs), fixture.session.log.clone());
    let mut run = Box::pin(fixture.session.run("go", &cancel));
    while runs.load(Ordering::Relaxed) < 3 {
        assert!(run.as_mut().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    drop(run);
    let events = log.canonical();
    let ends = events.iter().filter(|event| matches!(event.kind, crate::event::EventKind::Settled { .. }));
    let inner: Vec<String> = ends.map(|event| event.lane.to_string()).filter(|lane| lane.contains('/')).collect();
    assert_eq!(inner, ["call:x/0", "call:x/1"]);
}
