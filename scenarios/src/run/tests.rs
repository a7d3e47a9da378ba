//! Agents that misbehave in every way a run must survive.

use super::*;
use crate::agent::{Abilities, AgentRun, BoxFuture, Job, Mode};
use crate::case::Library;
use crate::verdict::Verdict;
use slot_oracles::trace::AgentEnd;

#[derive(Clone, Copy)]
enum Ill {
    /// Its future never ends.
    Waits,
    /// It blocks the thread it is run on.
    Blocks,
    /// It panics.
    Panics,
    /// It cannot be started.
    NotThere,
    /// It ends without a word.
    Silent,
}

impl Agent for (Ill, Abilities) {
    fn name(&self) -> &str {
        "ill"
    }

    fn version(&self) -> &str {
        ""
    }

    fn abilities(&self) -> &Abilities {
        &self.1
    }

    fn run<'a>(&'a self, _: Job<'a>) -> BoxFuture<'a, AgentRun> {
        let ill = self.0;
        Box::pin(async move {
            let end = match ill {
                Ill::Waits => std::future::pending().await,
                Ill::Blocks => loop {
                    std::thread::park();
                },
                Ill::Panics => panic!("planted by the case: the agent panics"),
                Ill::NotThere => AgentEnd::NotStarted { reason: "no such program".into() },
                Ill::Silent => AgentEnd::Finished { code: 0 },
            };
            AgentRun { end, ..AgentRun::default() }
        })
    }
}

fn runner(ill: Ill) -> Runner {
    let abilities = Abilities { modes: vec![Mode::Unattended], ..Abilities::default() };
    let patience = Patience { grace: Duration::from_millis(10), abandon: Duration::from_millis(10) };
    Runner { virtual_time: true, patience, ..Runner::new(Arc::new((ill, abilities))) }
}

/// The verdict and cause of the first check of a case that starts no process, and of the oracle on ends.
#[track_caller]
fn check(ill: Ill, verdict: Verdict, cause: &str, watched: Option<&str>) {
    quiet_planted_panics();
    let library = Library::load(None, None).unwrap();
    let mut set = library.choose(&["pair/two-calls".to_owned()]).unwrap().remove(0);
    set.twins.clear();
    // Short for whom the limit ends, and out of the way of all others, however slow the machine is.
    let endless = matches!(ill, Ill::Waits | Ill::Blocks);
    set.base.limit = if endless { Duration::from_millis(10) } else { Duration::from_secs(60) };
    let results = judge_set(&runner(ill), &library.rules, &set, |_| true, |_, _, _| ()).unwrap();
    let first = &results[0].checks[0].outcome;
    assert_eq!((first.verdict, first.cause.as_str()), (verdict, cause), "{first:?}");
    let ends = results[0].watched.iter().find(|check| check.rule == "LIVE-01");
    assert_eq!(ends.map(|check| check.outcome.cause.as_str()), watched);
}

#[test]
fn an_agent_that_never_ends_is_stopped_and_judged_as_a_hang() {
    check(Ill::Waits, Verdict::Fail, "liveness", Some("hang"));
}

#[test]
fn an_agent_that_blocks_its_thread_is_left_behind_and_judged_as_a_hang() {
    check(Ill::Blocks, Verdict::Fail, "liveness", Some("hang"));
}

#[test]
fn a_run_that_is_left_behind_leaves_no_folder() {
    let library = Library::load(None, None).unwrap();
    let mut case = library.case("pair/two-calls").unwrap().clone();
    case.limit = Duration::from_millis(10);
    let run = run_bounded(&runner(Ill::Blocks), &case).unwrap();
    let folder = run.world_folder();
    assert!(folder.exists());
    drop(run);
    assert!(!folder.exists());
}

#[test]
fn a_panic_is_the_harness_at_fault() {
    check(Ill::Panics, Verdict::HarnessError, "panic", None);
}

#[test]
fn an_agent_that_cannot_be_started_is_no_verdict_on_it() {
    check(Ill::NotThere, Verdict::HarnessError, "not-started", None);
}

#[test]
fn an_agent_that_does_nothing_proves_nothing() {
    check(Ill::Silent, Verdict::Vacuous, "turn-not-reached", None);
}

#[test]
fn an_interrupted_run_says_what_is_missing() {
    let library = Library::load(None, None).unwrap();
    let runner = runner(Ill::Silent);
    runner.cancel.cancel();
    let (results, missing) = run_all(&runner, &library.rules, &library.cases, 2, &|_, _, _| (), |_| ());
    assert_eq!((results.len(), missing), (0, library.all().count()));
}

#[test]
fn results_come_in_the_order_of_the_cases_whatever_ended_first() {
    let library = Library::load(None, None).unwrap();
    let runner = runner(Ill::Silent);
    let mut steps = 0;
    let (results, missing) = run_all(&runner, &library.rules, &library.cases, 8, &|_, _, _| (), |_| steps += 1);
    let ids: Vec<&str> = results.iter().map(|result| result.id.as_str()).collect();
    let expect: Vec<&str> = library.all().map(|case| case.id.as_str()).collect();
    assert_eq!((ids, missing, steps), (expect.clone(), 0, expect.len()));
}

#[test]
fn a_case_that_cannot_be_said_in_the_first_dialect_is_said_in_another() {
    let library = Library::load(None, None).unwrap();
    let case = library.choose(&["wire/s034".to_owned()]).unwrap().remove(0).base;
    assert_eq!(case.dialects, ["anthropic"]);
    let others = vec!["responses".to_owned(), "anthropic".to_owned()];
    let many = Runner { others, ..runner(Ill::Silent) };
    assert_eq!(many.dialect_of(&case), Some("anthropic"));
    assert_eq!(runner(Ill::Silent).dialect_of(&case), None);
}
