use super::*;
use crate::rule;

const GOOD: &str = r#"title = "a call is answered"
[world]
files = { "a.txt" = "x" }
outside = { s = "CANARY-1" }
canaries = ["CANARY-1"]
[[turn]]
stop = "tool_calls"
[[turn.call]]
id = "c1"
op = "READ"
with = { path = "a.txt" }
[[turn]]
say = "done"
[check]
answered = { rule = "PAIR-01", result.c1.count = 1 }
[twin.cut]
set = { "turn[0].stop" = "max_tokens" }
needs = "answered"
check = { again = { rule = "PAIR-01", result.c1 = "answered" } }
"#;

fn rules() -> RuleBook {
    rule::sample(&[("PAIR-01", "must")])
}

/// Reads the good case after one replacement; `expect` are parts of its problems, in order.
#[track_caller]
fn check(from: &str, to: &str, expect: &[&str]) {
    assert!(GOOD.contains(from), "{from}");
    let found = match read("x.toml", "pair/x", &GOOD.replacen(from, to, 1), &rules()) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(found.len(), expect.len(), "{found:#?}");
    for (found, expect) in found.iter().zip(expect) {
        assert!(found.contains(expect), "{found}");
    }
}

#[test]
fn raw_bytes_are_said_in_one_dialect() {
    let raw = "[turn.fault]\nbytes = [\"data: x\"]\n[[turn.call]]";
    check("[[turn.call]]", raw, &["raw bytes are said in one dialect"]);
    check("[world]", "dialects = [\"chatt\"]\n[world]", &["did you mean \"chat\"?"]);
}

#[test]
fn a_good_case_is_read_with_its_twin() {
    let set = read("x.toml", "pair/x", GOOD, &rules()).unwrap();
    assert_eq!(set.base.id, "pair/x");
    assert_eq!(set.base.checks.len(), 1);
    let twin = &set.twins[0];
    assert_eq!((twin.id.as_str(), twin.base_check.as_deref()), ("pair/x@cut", Some("answered")));
    assert_eq!(twin.script.turns[0].stop, Some(mock_llm::script::Stop::MaxTokens));
    assert_eq!(twin.checks[0].name, "again");
    assert_eq!(twin.title, "a call is answered (with turn[0].stop = \"max_tokens\")");
    assert_eq!(set.base.script.turns[0].stop, Some(mock_llm::script::Stop::ToolCalls));
}

#[test]
fn a_twin_written_out_is_a_case_of_its_own() {
    let set = read("x.toml", "pair/x", GOOD, &rules()).unwrap();
    let again = read("y.toml", "pair/y", &set.twins[0].source.document(), &rules()).unwrap();
    assert_eq!(again.base.script, set.twins[0].script);
    assert_eq!(again.base.checks, set.twins[0].checks);
    assert!(again.twins.is_empty());
}

#[test]
fn a_twin_that_is_compared_is_played_again_with_its_base() {
    let text = GOOD.replace("result.c1 = \"answered\"", "oracle = 'O01'");
    let source = |text: &str| read("x.toml", "pair/x", text, &rules()).unwrap().twins[0].source.clone();
    assert!(source(&text).get("twin").is_none());
    let text = GOOD.replace("PAIR-01", "LIVE-03").replace("result.c1 = \"answered\"", "oracle = 'O53'");
    let rules = rule::sample(&[("LIVE-03", "must")]);
    let set = read("x.toml", "pair/x", &text, &rules).unwrap();
    let again = read("y.toml", "pair/x", &set.twins[0].source.document(), &rules).unwrap();
    assert_eq!(again.twins.len(), 1);
    assert_eq!(again.base.checks, set.base.checks);
}

#[test]
fn an_id_is_a_path_in_kebab_case() {
    for bad in ["x", "Pair/x", "pair/x_y", "pair/", "pair/-x"] {
        assert!(read("x.toml", bad, GOOD, &rules()).is_err(), "{bad}");
    }
}

#[test]
fn a_rule_must_exist() {
    check(
        "PAIR-01\", result.c1.count",
        "PAIR-10\", result.c1.count",
        &["x.toml:15:21: there is no rule \"PAIR-10\" in check.answered.rule; did you mean \"PAIR-01\"?"],
    );
}

#[test]
fn a_check_must_expect_something() {
    check(", result.c1.count = 1", "", &["the check expects nothing in check.answered; add an expectation"]);
    check("result.c1.count = 1", "result.c1 = {}", &["no condition is stated in check.answered.result.c1"]);
    check("result.c1.count = 1", "exit = 0, lenient = {}", &["the alternative expects nothing"]);
}

#[test]
fn a_check_speaks_of_calls_that_exist() {
    check(
        "result.c1.count",
        "result.c2.count",
        &["the script has no call \"c2\" in check.answered; did you mean \"c1\"?"],
    );
}

#[test]
fn only_a_runtime_check_may_speak_of_events() {
    check("result.c1.count = 1", "event.started = 1", &["add see = \"runtime\""]);
    check("result.c1.count = 1", "see = 'runtime', lane.c1 = ['received']", &[]);
}

#[test]
fn an_oracle_must_exist_and_watch_the_rule() {
    check("result.c1.count = 1", "oracle = 'O01'", &[]);
    check("result.c1.count = 1", "oracle = 'O99'", &["there is no oracle \"O99\""]);
    check("result.c1.count = 1", "oracle = 'O02'", &["oracle O02 does not watch PAIR-01"]);
}

#[test]
fn a_twin_changes_exactly_one_leaf() {
    check(
        "set = { \"turn[0].stop\" = \"max_tokens\" }",
        "set = { \"turn[0].stop\" = \"max_tokens\", prompt = \"x\" }",
        &["a twin changes exactly one leaf, this one names 2 in twin.cut.set"],
    );
    check("set = { \"turn[0].stop\" = \"max_tokens\" }", "set = {}", &["this one names 0"]);
    check("\"turn[0].stop\" = \"max_tokens\"", "\"turn[0].stop\" = \"tool_calls\"", &["nothing would change"]);
    check("\"turn[0].stop\" = \"max_tokens\"", "\"turn[9].stop\" = \"stop\"", &["there is no [9]"]);
    check("\"turn[0].stop\" = \"max_tokens\"", "title = \"x\"", &["a twin cannot change title"]);
    check("\"turn[0].stop\" = \"max_tokens\"", "\"turn[\" = 1", &["x.toml:17:9: the path \"turn[\" is not understood"]);
}

#[test]
fn what_a_twin_sets_is_read_like_the_rest() {
    check(
        "\"turn[0].stop\" = \"max_tokens\"",
        "\"turn[0].stop\" = \"max_token\"",
        &["x.toml:17:26: unknown value \"max_token\" in turn[0].stop; did you mean \"max_tokens\"?"],
    );
}

#[test]
fn a_twin_leans_on_a_check_of_its_base() {
    check(
        "needs = \"answered\"",
        "needs = \"answred\"",
        &["the base has no check \"answred\" in twin.cut.needs; did you mean \"answered\"?"],
    );
    check("check = { again = { rule = \"PAIR-01\", result.c1 = \"answered\" } }", "", &["there is no check"]);
}

#[test]
fn slips_of_the_script_have_their_place() {
    check(
        "id = \"c1\"",
        "id = \"\"",
        &["x.toml:9:6: the id is empty in turn[0].call[0].id", "has no call", "has no call"],
    );
}

#[test]
fn answers_need_somebody_who_is_asked() {
    check("[world]", "answers = { c1 = 'approve' }\n[world]", &["nobody is asked"]);
    check("[world]", "mode = 'ask'\nanswers = { c1 = 'approve' }\n[world]", &[]);
}

#[test]
fn a_cancellation_names_an_event_and_a_call() {
    check("[world]", "cancel = 'started:c1'\n[world]", &[]);
    check("[world]", "cancel = 'started'\n[world]", &["is not event:call"]);
    check("[world]", "cancel = 'started:zz'\n[world]", &["no call \"zz\""]);
}

#[test]
fn a_canary_is_planted_outside() {
    check("outside = { s = \"CANARY-1\" }", "", &["nothing outside the workspace holds"]);
}

#[test]
fn what_a_case_needs_is_seen_from_it() {
    let text = GOOD.replace("[world]", "cancel = 'started:c1'\n[world]");
    let set = read("x.toml", "pair/x", &text, &rules()).unwrap();
    assert_eq!(set.base.needs, BTreeSet::from([Ability::Cancellation]));
    let text = GOOD.replace("result.c1.count = 1", "see = 'runtime', event.started = 1");
    let set = read("x.toml", "pair/x", &text, &rules()).unwrap();
    assert_eq!(set.base.needs, BTreeSet::from([Ability::RuntimeEvents]));
}

#[test]
fn a_file_outside_its_folder_is_no_place_to_look() {
    check("result.c1.count = 1", "file.'../a' = false", &["the path is not below its folder"]);
    check("result.c1.count = 1", "home.'.bashrc' = false", &[]);
}
