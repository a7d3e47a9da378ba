//! Calls whose judgement changes between planning and their start.

use super::*;
use crate::approval::{ApprovalDecision, ApprovalQuestion};
use crate::contract::{ApprovalRequirement, ValidationFault};
use crate::place::{Away, Place};

/// Runs unless what it names has changed: what it says of its input, one answer for each time it is asked; the last stays.
struct Shifts {
    levels: Mutex<VecDeque<ApprovalRequirement>>,
    /// How often its input is still what it takes.
    valid: AtomicUsize,
    runs: Arc<AtomicUsize>,
}

impl Tool for Shifts {
    fn name(&self) -> &str {
        "shifts"
    }
    fn description(&self) -> &str {
        "names a file"
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }
    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async {
            self.runs.fetch_add(1, Ordering::Relaxed);
            Ok(ToolOutput::ok("ran"))
        })
    }
}

impl ToolSpec for Shifts {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ExecutesCode])
    }
    fn approval_for_input(&self, _: &Value) -> Option<ApprovalRequirement> {
        let mut levels = self.levels.lock().unwrap();
        if levels.len() > 1 { levels.pop_front() } else { levels.front().copied() }
    }
    fn validate_input(&self, _: &Value) -> Result<(), ValidationFault> {
        let left = self.valid.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| ValidationFault { pointer: "/path".into(), message: "it leads out".into() })
    }
}

#[track_caller]
fn check(
    levels: &[ApprovalRequirement],
    valid: usize,
    approval: impl ApprovalPolicy + 'static,
    expect: &str,
    runs: usize,
) {
    check_at(Place::default(), levels, valid, approval, expect, runs);
}

#[track_caller]
fn check_at(
    place: Place,
    levels: &[ApprovalRequirement],
    valid: usize,
    approval: impl ApprovalPolicy + 'static,
    expect: &str,
    runs: usize,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let found = runtime.block_on(async {
        // Nothing starts early, so that nobody is asked before the turn is planned.
        let policies = Policies { approval: Arc::new(approval), early: None, place, ..Policies::default() };
        let mut fixture = fixture_with(&[super::call(&[("c1", "shifts", "{}")]), say("")], policies);
        let tool = Shifts {
            levels: Mutex::new(levels.iter().copied().collect()),
            valid: AtomicUsize::new(valid),
            runs: Arc::clone(&fixture.runs),
        };
        fixture.session.dispatcher = Arc::new(Registry::new([Arc::new(tool) as Arc<dyn ToolSpec>]));
        fixture.session.run("go", &CancellationToken::new()).await;
        assert_paired(fixture.session.conversation());
        (results(fixture.session.conversation()).remove(0), fixture.runs.load(Ordering::Relaxed))
    });
    assert!(found.0.starts_with(expect), "{found:?}");
    assert_eq!(found.1, runs);
}

use ApprovalRequirement::{Auto, Required};

const ALWAYS: usize = 100;
const NEEDS_APPROVAL: &str = "c1 failed the call of \"shifts\" was not run: it requires approval";

#[test]
fn what_stays_as_it_was_judged_runs_unasked() {
    check(&[Auto], ALWAYS, NoChannel, "c1 ok ran", 1);
}

#[test]
fn what_was_harmless_when_it_was_planned_is_asked_about_now() {
    check(&[Auto, Required], ALWAYS, NoChannel, NEEDS_APPROVAL, 0);
    check(&[Auto, Required], ALWAYS, Unattended, "c1 ok ran", 1);
}

#[test]
fn what_changes_while_it_waits_for_the_gate_is_refused() {
    let expect = "c1 failed the call of \"shifts\" was not run: what it names has changed since it was judged";
    check(&[Auto, Auto, Required], ALWAYS, Unattended, expect, 0);
}

/// Approves, and meanwhile somebody else moves the session.
struct Moves(Place);

impl ApprovalPolicy for Moves {
    fn decide<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision> {
        let files = Arc::new(crate::boundary::Workspace::open(std::path::Path::new("/")).unwrap());
        self.0.enter(Away { name: "t".into(), base: ".worktrees/t".into(), files });
        Box::pin(async { crate::approval::approved(crate::approval::Decider::Person) })
    }
}

#[test]
fn what_was_approved_in_one_place_is_not_run_in_another() {
    let place = Place::default();
    let expect = "c1 failed the call of \"shifts\" was not run: the session works in another place since it was judged";
    check_at(place.clone(), &[Required], ALWAYS, Moves(place), expect, 0);
}

#[test]
fn what_was_judged_to_need_approval_needs_it_whatever_is_said_later() {
    check(&[Required, Auto], ALWAYS, NoChannel, NEEDS_APPROVAL, 0);
}

#[test]
fn an_input_that_is_wrong_by_now_is_refused_whoever_approves() {
    for valid in [1, 2] {
        check(&[Auto], valid, Unattended, "c1 failed the call of \"shifts\" was not run: since it was read", 0);
    }
    check(&[Auto], 3, Unattended, "c1 ok ran", 1);
}
