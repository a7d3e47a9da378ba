use super::*;
use crate::rule;
use serde_json::json;
use slot_oracles::RuntimeTrace;
use slot_oracles::trace::{
    Leftover, Node, RawParts, ServedCall, ServedTurn, WireCall, WireItem, WireRequest, WireTool,
};

/// A case with two calls in turn 0 and one in turn 1, and one check.
fn case(check: &str) -> Case {
    let text = format!(
        "title = 't'\n[[turn]]\ncall = [{{ id = 'c1', tool = 't', raw = '' }}, {{ id = 'c2', tool = 't', raw = '' }}]\n\
         [[turn]]\ncall = [{{ id = 'c3', tool = 't', raw = '' }}]\n[[turn]]\nsay = 'done'\n[check]\nk = {{ {check} }}\n"
    );
    let rules = rule::sample(&[("PAIR-01", "must"), ("PAIR-04", "must")]);
    crate::case::read("x.toml", "pair/x", &text, &rules).unwrap_or_else(|e| panic!("{e}")).base
}

/// What a good run leaves.
fn seen() -> Seen {
    let result =
        |id: &str, content: &str| WireItem::ToolResult { call_id: id.into(), content: content.into(), is_error: None };
    let tool = |name: &str| WireTool { name: name.into(), description: format!("does {name}"), ..WireTool::default() };
    let request = |index: usize, items: &[WireItem]| WireRequest {
        index,
        turn: Some(index),
        tools: vec![tool("a"), tool("b")],
        items: items.to_vec(),
        raw: RawParts {
            tools: "[]".into(),
            system: String::new(),
            items: items.iter().map(|item| serde_json::to_string(item).unwrap()).collect(),
        },
        ..WireRequest::default()
    };
    let assistant = WireItem::Assistant {
        text: "I look".into(),
        calls: ["c1", "c2"].map(|id| WireCall { id: id.into(), ..WireCall::default() }).into(),
    };
    let (r1, r2) = (result("c1", "hello"), result("c2", "world"));
    let served = |index: usize, ids: &[&str]| ServedTurn {
        index,
        times: 1,
        terminal: true,
        calls: ids.iter().map(|id| ServedCall { id: (*id).into(), ..ServedCall::default() }).collect(),
        ..ServedTurn::default()
    };
    let mut trace = Trace::default();
    trace.wire.served = vec![served(0, &["c1", "c2"]), served(1, &["c3"]), served(2, &[])];
    trace.wire.requests = vec![request(0, &[]), request(1, &[assistant, r1, r2])];
    trace.wire.workspace.after.insert("a.txt".into(), Node::text("x\ny\n"));
    trace.wire.workspace.after.insert("d".into(), Node::Dir { mode: 0 });
    trace.wire.outside.after.insert("outside/s".into(), Node::text("secret"));
    trace.wire.outside.after.insert("home/.netrc".into(), Node::Blob { len: 3, hash: 0, mode: 0 });
    trace.wire.end = AgentEnd::Finished { code: 0 };
    let event = |lane: &str, event: &str| json!({"lane": lane, "event": event});
    let mut events: Vec<_> = ["received", "started"].map(|name| event("call:c1", name)).into();
    events.push(json!({"lane": "call:c1", "event": "settled", "is_error": false}));
    events.push(event("call:c2", "received"));
    trace.runtime = Some(RuntimeTrace { events });
    Seen { trace, stdout: "all done\n".into(), ..Seen::default() }
}

#[track_caller]
fn check_in(seen: &Seen, other: Option<&Trace>, expect: &str, verdict: Verdict, cause: &str) {
    let case = case(&format!("rule = 'PAIR-01', {expect}"));
    let outcome = judge(&case, &case.checks[0], seen, other);
    assert_eq!((outcome.verdict, outcome.cause.as_str()), (verdict, cause), "{outcome:?}");
}

#[track_caller]
fn check(expect: &str, cause: &str) {
    let verdict = if cause.is_empty() { Verdict::Pass } else { Verdict::Fail };
    check_in(&seen(), None, expect, verdict, cause);
}

#[test]
fn files_of_the_workspace() {
    check("file.'a.txt' = \"x\\ny\\n\"", "");
    check("file.'a.txt' = 'x'", "wrong-content");
    check("file.'a.txt' = true", "");
    check("file.'a.txt' = false", "file-exists");
    check("file.'b.txt' = false", "");
    check("file.'b.txt' = true", "file-missing");
    check("file.'b.txt' = 'x'", "file-missing");
    check("file.'a.txt' = { contains = 'x', lacks = 'z', lines = 2 }", "");
    check("file.'a.txt' = { contains = 'z' }", "wrong-content");
    check("file.'a.txt' = { lacks = 'x' }", "wrong-content");
    check("file.'a.txt' = { lines = 1 }", "wrong-content");
    check("file.d = true", "");
    check("file.d = 'x'", "wrong-content");
}

#[test]
fn schemas_and_replayed_arguments() {
    check("catalog.schema.a = 'null'", "");
    check("catalog.schema.a = '{\"type\":\"object\"}'", "wrong-schema");
    check("catalog.schema.c = 'null'", "not-advertised");
    check("replay.c1 = { lacks = 'x' }", "");
    check("replay.c1 = { contains = 'x' }", "wrong-replay");
    check("replay.c2 = { contains = 'x' }", "wrong-replay");
}

#[test]
fn files_outside_and_at_home() {
    check("outside.s = 'secret'", "");
    check("outside.s = 'changed'", "wrong-content");
    check("home.'.netrc' = true", "");
    check("home.'.bashrc' = false", "");
    check("home.'.netrc' = false", "file-exists");
}

#[test]
fn results() {
    check("result.c1 = 'answered'", "");
    check("result.c3 = 'answered'", "missing-result");
    check("result.c1 = { count = 1, contains = 'ell', lacks = 'world' }", "");
    check("result.c1.contains = 'world'", "wrong-result");
    check("result.c1.lacks = 'ell'", "wrong-result");
    check("result.c3.count = 0", "");
    check("result.c3.contains = 'x'", "missing-result");
    check("result.c1.count = 2", "missing-result");
    check("result.c1.count = 0", "duplicate-result");
}

#[test]
fn an_error_flag_is_seen_on_the_wire_or_in_the_events_or_not_at_all() {
    check("result.c1.error = false", "");
    check("result.c1.error = true", "wrong-error-flag");
    check_in(&seen(), None, "result.c2.error = true", Verdict::Untestable, "unseen");
    let mut flagged = seen();
    for item in &mut flagged.trace.wire.requests[1].items {
        if let WireItem::ToolResult { is_error, .. } = item {
            *is_error = Some(true);
        }
    }
    check_in(&flagged, None, "result.c2.error = true", Verdict::Pass, "");
}

#[test]
fn requests_are_counted() {
    check("requests = 2", "");
    check("requests = { min = 1, max = 2 }", "");
    check("requests = { min = 3 }", "wrong-request-count");
}

#[test]
fn the_catalog() {
    check("catalog = { has = ['a'], lacks = ['c'], sorted = true, contains = { a = 'does a' } }", "");
    check("catalog.has = ['c']", "not-advertised");
    check("catalog.lacks = ['a']", "advertised");
    check("catalog.sorted = false", "catalog-order");
    check("catalog.order = ['a', 'b']", "");
    check("catalog.order = ['b', 'a']", "catalog-order");
    check("catalog.contains.a = 'does b'", "wrong-description");
    check("catalog.contains.z = 'does b'", "not-advertised");
}

#[test]
fn words_exit_and_output() {
    check("text.contains = 'I look'", "");
    check("text.lacks = 'look'", "wrong-text");
    check("exit = 0", "");
    check("exit = 1", "wrong-exit");
    check("stdout.contains = 'done'", "");
    check("stdout.lines = 2", "wrong-output");
}

#[test]
fn events_and_lanes() {
    check("see = 'runtime', event.received = 2", "");
    check("see = 'runtime', event.received = 1", "wrong-event-count");
    check("see = 'runtime', event.started.c1 = 1", "");
    check("see = 'runtime', event.started.c2 = 1", "wrong-event-count");
    check("see = 'runtime', event.nothing.c2 = 0", "");
    check("see = 'runtime', lane.c1 = ['received', 'started', 'settled']", "");
    check("see = 'runtime', lane.c1 = ['received', 'settled']", "wrong-lane");
    check("see = 'runtime', lane.c1.contains = ['received', 'settled']", "");
    check("see = 'runtime', lane.c1.contains = ['settled', 'received']", "wrong-lane");
}

#[test]
fn events_of_another_agent_are_not_judged() {
    let mut seen = seen();
    seen.trace.runtime = None;
    check_in(&seen, None, "see = 'runtime', event.received = 2", Verdict::NotApplicable, "no-events");
}

#[test]
fn the_prefix_grows_and_nothing_else() {
    check("prefix = 'stable'", "");
    let spoil = |spoil: fn(&mut RawParts)| {
        let mut seen = seen();
        seen.trace.wire.requests[0].raw.items = vec![seen.trace.wire.requests[1].raw.items[0].clone()];
        spoil(&mut seen.trace.wire.requests[1].raw);
        seen
    };
    check_in(&spoil(|_| ()), None, "prefix = 'stable'", Verdict::Pass, "");
    for spoiled in [
        spoil(|raw| raw.tools.push(' ')),
        spoil(|raw| raw.system.push(' ')),
        spoil(|raw| raw.items[0].push(' ')),
        spoil(|raw| raw.items.clear()),
    ] {
        check_in(&spoiled, None, "prefix = 'stable'", Verdict::Fail, "prefix-broken");
    }
    let mut one = seen();
    one.trace.wire.requests.truncate(1);
    check_in(&one, None, "prefix = 'stable'", Verdict::Untestable, "unseen");
}

#[test]
fn a_cache_marker_may_move() {
    let mut seen = seen();
    seen.trace.wire.requests[0].raw.items = vec![r#"{"a":1,"cache_control":{"type":"x"}}"#.into()];
    seen.trace.wire.requests[1].raw.items = vec![r#"{"a":1}"#.into(), r#"{"b":1,"cache_control":{}}"#.into()];
    check_in(&seen, None, "prefix = 'stable'", Verdict::Pass, "");
}

#[test]
fn a_marker_that_moves_leaves_everything_else_as_it_was_sent() {
    let mut seen = seen();
    seen.trace.wire.requests[0].raw.items = vec![r#"{"z": 1.50, "cache_control": {}, "a": "\u00e9"}"#.into()];
    seen.trace.wire.requests[1].raw.items = vec![r#"{"z": 1.50, "a": "\u00e9"}"#.into(), r#"{"b":1}"#.into()];
    check_in(&seen, None, "prefix = 'stable'", Verdict::Pass, "");
    seen.trace.wire.requests[1].raw.items[0] = r#"{"a": "\u00e9", "z": 1.50}"#.into();
    check_in(&seen, None, "prefix = 'stable'", Verdict::Fail, "prefix-broken");
}

#[test]
fn an_oracle_speaks_for_its_rule_only() {
    check("oracle = 'O01'", "");
    let mut bad = seen();
    bad.trace.wire.requests[1].items.pop();
    bad.trace.wire.workspace.after.insert("ran-c1".into(), Node::text("x\nx\n"));
    check_in(&bad, None, "oracle = 'O01'", Verdict::Fail, "missing-result");
}

#[test]
fn a_pair_oracle_needs_a_second_run() {
    let case = |oracle: &str| {
        let mut case = case("rule = 'PAIR-01', requests = 2");
        case.checks[0].oracle = Some(oracle.to_owned());
        case.checks[0].rule = "LIVE-03".to_owned();
        case
    };
    let (good, case) = (seen(), case("O53"));
    let verdict = |other: Option<&Trace>| judge(&case, &case.checks[0], &good, other).verdict;
    assert_eq!(verdict(None), Verdict::Untestable);
    assert_eq!(verdict(Some(&seen().trace)), Verdict::Pass);
    let mut other = seen();
    other.trace.runtime.as_mut().unwrap().events.pop();
    assert_eq!(verdict(Some(&other.trace)), Verdict::Fail);
}

#[test]
fn a_turn_that_was_never_reached_makes_a_check_empty() {
    let mut short = seen();
    short.trace.wire.served[1].times = 0;
    check_in(&short, None, "result.c3 = 'answered'", Verdict::Vacuous, "turn-not-reached");
    check_in(&short, None, "file.'b.txt' = false", Verdict::Vacuous, "turn-not-reached");
    check_in(&short, None, "result.c1 = 'answered'", Verdict::Pass, "");
    check_in(&short, None, "requests = 2", Verdict::Pass, "");
    short.trace.wire.served[0].times = 0;
    check_in(&short, None, "requests = 2", Verdict::Vacuous, "turn-not-reached");
}

#[test]
fn a_hang_is_the_cause_of_what_it_broke() {
    let mut hung = seen();
    hung.trace.wire.end = AgentEnd::TimedOut { limit_ms: 5 };
    check_in(&hung, None, "result.c1 = 'answered'", Verdict::Pass, "");
    check_in(&hung, None, "result.c3 = 'answered'", Verdict::Fail, "liveness");
    hung.trace.wire.served[1].times = 0;
    check_in(&hung, None, "result.c3 = 'answered'", Verdict::Fail, "liveness");
    hung.trace.wire.end = AgentEnd::Signalled { signal: 9 };
    check_in(&hung, None, "result.c3 = 'answered'", Verdict::Fail, "crash");
}

#[test]
fn an_agent_that_never_ran_is_the_harness_at_fault() {
    for end in [AgentEnd::NotRun, AgentEnd::NotStarted { reason: "no such file".into() }] {
        let mut seen = seen();
        seen.trace.wire.end = end;
        let case = case("rule = 'PAIR-01', requests = 2");
        assert_eq!(judge(&case, &case.checks[0], &seen, None).verdict, Verdict::HarnessError);
    }
}

#[test]
fn what_needs_the_end_of_an_agent_is_unseen_without_it() {
    let mut driven = seen();
    driven.trace.wire.end = AgentEnd::Unseen;
    for expect in ["exit = 0", "exit = 'failure'", "stdout.contains = 'done'", "requests = 2, exit = 0"] {
        check_in(&driven, None, expect, Verdict::Untestable, "unseen");
    }
    check_in(&driven, None, "requests = 3, exit = 0", Verdict::Fail, "wrong-request-count");
    check_in(&driven, None, "requests = 2", Verdict::Pass, "");
}

#[test]
fn a_script_that_could_not_be_played_is_not_judged() {
    let unbound = Seen { unbound: vec!["op LIST is not bound".into()], ..seen() };
    check_in(&unbound, None, "result.c1 = 'answered'", Verdict::NotApplicable, "no-tool");
    let lost = Seen { lost_cuts: vec!["turn 0, cut 0".into()], ..seen() };
    check_in(&lost, None, "result.c1 = 'answered'", Verdict::Vacuous, "cut-lost");
}

#[test]
fn what_is_also_right_is_not_strict() {
    check_in(&seen(), None, "file.z = true, lenient = { result.c1 = 'answered' }", Verdict::NonStrict, "file-missing");
    check_in(&seen(), None, "file.z = true, lenient = { result.c3 = 'answered' }", Verdict::Fail, "file-missing");
    check_in(&seen(), None, "file.z = true, lenient = { result.c2.error = true }", Verdict::Untestable, "unseen");
    check_in(&seen(), None, "file.z = false, lenient = { result.c3 = 'answered' }", Verdict::Pass, "");
}

#[test]
fn all_that_is_wrong_is_told() {
    let case = case("rule = 'PAIR-01', requests = 3, exit = 7");
    let outcome = judge(&case, &case.checks[0], &seen(), None);
    assert_eq!(outcome.detail, "there were 2 requests, expected 3; the exit code is 0, expected 7");
}

#[test]
fn an_oracle_that_watches_every_case_reports_for_its_rule() {
    let mut bad = seen();
    bad.trace.wire.leftover = vec![Leftover { pid: 1, command: "sleep 9".into() }];
    let oracle = oracles::by_id("O41").unwrap();
    assert_eq!(watch(oracle, "LIVE-02", &bad).map(|f| f.len()), Some(1));
    assert_eq!(watch(oracle, "LIVE-01", &bad).map(|f| f.len()), Some(0));
    let runtime = oracles::by_id("O18").unwrap();
    bad.trace.runtime = None;
    assert_eq!(watch(runtime, "APPR-01", &bad), None);
}
