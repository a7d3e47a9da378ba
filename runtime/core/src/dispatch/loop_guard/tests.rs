use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

/// `r`: reads, `w`: changes something, `p`: polls.
fn attempt(kind: char, tool: &str, arguments: &Value) -> Attempt {
    Attempt {
        tool: tool.to_owned(),
        fingerprint: Fingerprint::of(arguments),
        read_only: kind != 'w',
        polls: kind == 'p',
    }
}

/// Calls as `kind tool arguments`, with `!` in front of those that fail; expects what became of each: `ok`, `blocked`, and
/// `warn` or `pause` where the guard says so.
#[track_caller]
fn check(calls: &[&str], expect: &[&str]) {
    let turn = RepetitionGuard::default().user_turn();
    let found: Vec<String> = calls
        .iter()
        .map(|call| {
            let fails = call.starts_with('!');
            let mut parts = call.trim_start_matches('!').splitn(3, ' ');
            let kind = parts.next().unwrap().chars().next().unwrap();
            let (tool, arguments) = (parts.next().unwrap(), parts.next().unwrap_or("{}"));
            let attempt = attempt(kind, tool, &serde_json::from_str(arguments).unwrap());
            let blocked = turn.admit(&attempt).is_err();
            let word = if blocked { "blocked" } else { "ok" };
            match turn.record(&attempt, fails || blocked) {
                LoopAdvice::GoOn => word.to_owned(),
                LoopAdvice::Warn { .. } => format!("{word} warn"),
                LoopAdvice::Pause { .. } => format!("{word} pause"),
            }
        })
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn the_third_identical_call_is_blocked_and_so_are_those_after_it() {
    check(&["r read", "r read", "r read", "r read"], &["ok", "ok", "blocked", "blocked"]);
    check(&["w exec", "w exec", "w exec"], &["ok", "ok", "blocked"]);
}

#[test]
fn other_arguments_are_another_call_and_the_order_of_keys_is_not() {
    let calls = [r#"r f {"a":0}"#, r#"r f {"a":100}"#, r#"r f {"a":200}"#];
    check(&calls, &["ok", "ok", "ok"]);
    let calls = [
        r#"r f {"a":1,"b":[{"c":1,"d":2}]}"#,
        r#"r f {"b":[{"d":2,"c":1}],"a":1}"#,
        r#"r f { "a":1, "b":[{"c":1,"d":2}] }"#,
    ];
    check(&calls, &["ok", "ok", "blocked"]);
}

#[test]
fn other_reads_between_do_not_excuse_a_repetition() {
    check(&["r a", "r b", "r a", "r b", "r a"], &["ok", "ok", "ok", "ok", "blocked"]);
}

#[test]
fn a_change_excuses_any_call_that_is_made_again() {
    check(&["r a", "r a", "w edit", "r a", "r a", "r a"], &["ok", "ok", "ok", "ok", "ok", "blocked"]);
    // Tests are run again after every edit.
    check(&["w test", "w edit {\"n\":1}", "w test", "w edit {\"n\":2}", "w test"], &["ok"; 5]);
    // A change that failed is none, and neither is a look.
    check(&["r a", "r a", "!w edit", "r a"], &["ok", "ok", "ok", "blocked"]);
    check(&["w x", "r a", "w x", "r b", "w x"], &["ok", "ok", "ok", "ok", "blocked"]);
}

#[test]
fn a_call_does_not_excuse_itself() {
    check(&["w x", "w x", "w x", "w x"], &["ok", "ok", "blocked", "blocked"]);
    check(&["!w x", "w x", "w x"], &["ok", "ok", "blocked"]);
}

#[test]
fn what_a_call_makes_other_tools_change_does_not_excuse_it() {
    let turn = RepetitionGuard::default().user_turn();
    let outer = attempt('r', "many", &json!({}));
    let admitted: Vec<bool> = (0..3)
        .map(|n| {
            let ok = turn.admit(&outer).is_ok();
            if ok {
                let inner = attempt('w', "edit", &json!(n));
                turn.admit(&inner).unwrap();
                turn.record(&inner, false);
            }
            turn.record(&outer, !ok);
            ok
        })
        .collect();
    assert_eq!(admitted, [true, true, false]);
}

#[test]
fn polling_is_exempt_up_to_the_cap() {
    let calls = ["p wait"; 26];
    let mut expect = vec!["ok"; 25];
    expect.push("blocked");
    check(&calls, &expect);
}

#[test]
fn making_a_call_again_after_every_change_meets_the_cap_too() {
    let calls: Vec<String> = (0..26).flat_map(|n| ["w test".to_owned(), format!("w edit {{\"n\":{n}}}")]).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let mut expect = vec!["ok"; 52];
    expect[50] = "blocked";
    check(&calls, &expect);
    let calls: Vec<String> = (0..26).flat_map(|n| ["r a".to_owned(), format!("w edit {{\"n\":{n}}}")]).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let mut expect = vec!["ok"; 52];
    expect[50] = "blocked";
    check(&calls, &expect);
}

#[test]
fn failures_in_a_row_warn_and_then_pause() {
    let calls: Vec<String> = (0..9).map(|n| format!("!w edit {{\"n\":{n}}}")).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    check(&calls, &["ok", "ok", "ok warn", "ok", "ok", "ok", "ok", "ok pause", "ok pause"]);
}

#[test]
fn only_a_success_of_the_same_tool_ends_its_row() {
    check(&["!w x 1", "!w x 2", "r y", "!w x 3"], &["ok", "ok", "ok", "ok warn"]);
    check(&["!w x 1", "!w x 2", "w x 3", "!w x 4"], &["ok", "ok", "ok", "ok"]);
}

#[test]
fn blocked_calls_are_failures() {
    check(&["r a", "r a", "r a", "r a", "r a"], &["ok", "ok", "blocked", "blocked", "blocked warn"]);
    let mut expect = vec!["ok", "ok", "blocked", "blocked", "blocked warn", "blocked", "blocked", "blocked", "blocked"];
    expect.push("blocked pause");
    check(&["r a"; 10], &expect);
}

#[test]
fn each_user_turn_starts_anew() {
    let guard = RepetitionGuard::default();
    let call = attempt('r', "a", &json!({}));
    for _ in 0..3 {
        let turn = guard.user_turn();
        assert!(turn.admit(&call).is_ok() && turn.admit(&call).is_ok());
    }
}

#[test]
fn the_answer_says_how_often_and_what_to_do() {
    let turn = RepetitionGuard::default().user_turn();
    let call = attempt('r', "read", &json!({}));
    let refusal = (0..3).find_map(|_| turn.admit(&call).err()).unwrap();
    assert_eq!(
        refusal.reason,
        "this call of \"read\" was already made 2 times in this turn with the same arguments, so it was NOT executed. Use the \
         results you have, change the arguments, or try another way"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever a model does, three of one call in a row are never all admitted unless the tool polls, and no call is ever
    /// admitted more often than the cap.
    #[test]
    fn three_in_a_row_never_pass_and_nothing_passes_the_cap(calls in prop::collection::vec((0..3_usize, any::<bool>()), 0..200)) {
        let turn = RepetitionGuard::default().user_turn();
        let kinds = ['r', 'w', 'p'];
        let mut admitted: Vec<Vec<bool>> = vec![Vec::new(); 3];
        let mut row: Vec<(usize, bool)> = Vec::new();
        for (which, fails) in calls {
            let attempt = attempt(kinds[which], "t", &json!(which));
            let ok = turn.admit(&attempt).is_ok();
            turn.record(&attempt, fails || !ok);
            admitted[which].push(ok);
            row.push((which, ok));
            if let [.., a, b, c] = row[..] && a.0 == b.0 && b.0 == c.0 && a.0 != 2 {
                prop_assert!(!(a.1 && b.1 && c.1), "{row:?}");
            }
        }
        for calls in admitted {
            prop_assert!(calls.iter().filter(|ok| **ok).count() <= 25);
        }
    }
}
