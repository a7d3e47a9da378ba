//! The suite in somebody else's `cargo test`: one named test for each case and twin, for a runtime written in Rust.
//!
//! A test target of your crate with `harness = false` in its `[[test]]` entry, and `slotspec` among its dev-dependencies,
//! is all it takes; [`conformance_tests!`](crate::conformance_tests) writes its `main`:
//!
//! ```no_run
//! // tests/conformance.rs
//! use slotspec::agent::{Abilities, Agent, AgentRun, BoxFuture, Job, Mode};
//! use std::net::{Ipv4Addr, SocketAddr};
//!
//! struct Mine(Abilities);
//!
//! impl Agent for Mine {
//!     fn name(&self) -> &str {
//!         "mine"
//!     }
//!
//!     fn version(&self) -> &str {
//!         env!("CARGO_PKG_VERSION")
//!     }
//!
//!     fn abilities(&self) -> &Abilities {
//!         &self.0
//!     }
//!
//!     fn run<'a>(&'a self, job: Job<'a>) -> BoxFuture<'a, AgentRun> {
//!         Box::pin(async move {
//!             // The mock speaks every dialect at this address, for as long as `listening` lives.
//!             let listening = job.mock.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a free port");
//!             let answer = my_runtime(&listening.base_url(), job.prompt, job.world.workspace()).await;
//!             let code = i32::from(answer.is_err());
//!             AgentRun {
//!                 end: slotspec::agent::AgentEnd::Finished { code },
//!                 stdout: answer.unwrap_or_default(),
//!                 ..AgentRun::default()
//!             }
//!         })
//!     }
//! }
//!
//! // Your own engine: it asks the model at `base_url` until the task is done, and works in `workspace`.
//! async fn my_runtime(base_url: &str, task: &str, workspace: &std::path::Path) -> Result<String, String> {
//!     # let _ = (base_url, task, workspace);
//!     # Ok(String::new())
//! }
//!
//! slotspec::conformance_tests!(
//!     Mine(Abilities { modes: vec![Mode::Unattended], ..Abilities::default() }),
//!     dialect: "chat",
//!     cases: ["pair/", "sse/", "PATH-01"],
//! );
//! ```
//!
//! `cargo test --test conformance pair/` then runs what its name says, `-- --list` lists. Cases are judged as
//! `slotspec run` judges them: PASS and NON-STRICT pass; what the agent declares that it lacks is *ignored*, with the
//! reason; everything else fails with its findings, for a rule of which nothing can be said is no rule that is kept.

use crate::agent::Agent;
use crate::case::{Case, CaseSet, Library};
use crate::repro::findings;
use crate::run::{CaseResult, Runner, judge_set, not_applicable, quiet_planted_panics};
use crate::verdict::Verdict;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Which cases are run as tests of which agent, and how.
pub struct Conformance {
    runner: Runner,
    patterns: Vec<String>,
}

impl Conformance {
    /// Every case in the dialect `chat`.
    pub fn new(agent: impl Agent + 'static) -> Self {
        Conformance { runner: Runner::new(Arc::new(agent)), patterns: Vec::new() }
    }

    /// The dialect to speak: `chat`, `anthropic` or `responses`. A case that cannot be said in it is ignored.
    #[must_use]
    pub fn dialect(mut self, name: &str) -> Self {
        name.clone_into(&mut self.runner.dialect);
        self
    }

    /// Only the cases whose ids begin so, or that check the rule of that name.
    #[must_use]
    pub fn cases<const N: usize>(mut self, patterns: [&str; N]) -> Self {
        self.patterns = patterns.map(str::to_owned).into();
        self
    }

    /// Which tools stand for the operations, and what is side traffic, where the mock cannot find that out by itself.
    #[must_use]
    pub fn mock(mut self, config: mock_llm::Config) -> Self {
        self.runner.mock = config;
        self
    }

    /// The least time that a run gets; a case may allow more.
    #[must_use]
    pub fn limit(mut self, least: Duration) -> Self {
        self.runner.least_limit = least;
        self
    }

    /// The tests, one for each case and twin, by its id.
    ///
    /// # Errors
    /// When the dialect is unknown, a pattern chooses nothing, or the cases in the binary cannot be read.
    pub fn tests(&self) -> Result<Vec<Trial>, String> {
        let known: Vec<&str> = slot_wire::Dialect::ALL.into_iter().map(slot_wire::Dialect::name).collect();
        if !known.contains(&self.runner.dialect.as_str()) {
            let fix = crate::source::did_you_mean(&self.runner.dialect, &known);
            return Err(format!("there is no dialect {:?}; {fix}", self.runner.dialect));
        }
        let library = Arc::new(Library::load(None, None).map_err(|error| error.to_string())?);
        let sets = library.choose(&self.patterns).map_err(|pattern| {
            format!("no case begins with {pattern:?}, and no rule is called so; `slotspec list` shows what there is")
        })?;
        let mut trials = Vec::new();
        for set in sets {
            for case in set.all() {
                trials.push(self.test(&library, &set, case));
            }
        }
        Ok(trials)
    }

    fn test(&self, library: &Arc<Library>, set: &CaseSet, case: &Case) -> Trial {
        if let Some(outcome) = not_applicable(case, &self.runner) {
            return Trial::ignorable_test(case.id.clone(), move || Ok(Completion::ignored_with(outcome.detail)));
        }
        let (runner, library, set, id) = (self.runner.clone(), Arc::clone(library), set.clone(), case.id.clone());
        Trial::ignorable_test(case.id.clone(), move || judge(&runner, &library, &set, &id))
    }

    /// Runs the tests with the flags that `cargo test` passes on. The exit code is 2 when there are none to run.
    pub fn run(&self) -> ExitCode {
        let arguments = Arguments::from_args();
        quiet_planted_panics();
        match self.tests() {
            Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
            Err(problem) => {
                eprintln!("{problem}");
                ExitCode::from(2)
            }
        }
    }
}

fn judge(runner: &Runner, library: &Library, set: &CaseSet, id: &str) -> Result<Completion, Failed> {
    let results = judge_set(runner, &library.rules, set, |wanted| wanted == id, |_, _, _| {})?;
    told(results.iter().find(|result| result.id == id).ok_or("the case was not run")?)
}

/// What a test says of a result.
fn told(result: &CaseResult) -> Result<Completion, Failed> {
    let bad = findings(result);
    if !bad.is_empty() {
        return Err(bad.into());
    }
    let applies = result.all().any(|check| check.outcome.verdict != Verdict::NotApplicable);
    Ok(match result.checks.first() {
        Some(first) if !applies => Completion::ignored_with(&first.outcome.detail),
        _ => Completion::Completed,
    })
}

/// Makes the `main` of a test target (`harness = false`) that runs the conformance cases against an agent, each as a
/// named test. First stands the agent, an expression of a type that implements [`Agent`](crate::agent::Agent); after it
/// settings of [`Conformance`](crate::harness::Conformance) by their names, such as `cases: ["pair/"]`. See
/// [`harness`](crate::harness) for a whole file.
#[macro_export]
macro_rules! conformance_tests {
    ($agent:expr $(, $setting:ident: $value:expr)* $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::harness::Conformance::new($agent)$(.$setting($value))*.run()
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::in_process::{InProcess, Tier};
    use crate::run::CheckResult;
    use crate::verdict::Outcome;

    fn conformance() -> Conformance {
        Conformance::new(InProcess::new(Tier::A))
    }

    #[track_caller]
    fn check(conformance: &Conformance, expect: Result<usize, &str>) {
        let tests = conformance.tests().map(|tests| tests.len());
        assert_eq!(tests, expect.map_err(str::to_owned));
    }

    #[test]
    fn every_case_is_a_test() {
        let library = Library::load(None, None).unwrap_or_else(|error| panic!("{error}"));
        check(&conformance(), Ok(library.all().count()));
        let pair = library.all().filter(|case| case.id.starts_with("pair/")).count();
        check(&conformance().cases(["pair/"]).dialect("anthropic"), Ok(pair));
    }

    #[test]
    fn what_chooses_nothing_is_told() {
        check(
            &conformance().cases(["pair/", "pear/"]),
            Err("no case begins with \"pear/\", and no rule is called so; `slotspec list` shows what there is"),
        );
        check(&conformance().dialect("chta"), Err("there is no dialect \"chta\"; did you mean \"chat\"?"));
    }

    /// What a test says when its checks came to these verdicts.
    #[track_caller]
    fn check_told(verdicts: &[Verdict], expect: &str) {
        let check = |verdict: &Verdict| CheckResult {
            name: "k".into(),
            rule: "PAIR-01".into(),
            outcome: Outcome::new(*verdict, "cause", "why"),
        };
        let checks = verdicts.iter().map(check).collect();
        let result = CaseResult {
            id: "a/b".into(),
            title: String::new(),
            checks,
            watched: Vec::new(),
            prefix: None,
            repro: None,
            seconds: 0.0,
        };
        let said = match told(&result) {
            Ok(Completion::Completed) => "passed".to_owned(),
            Ok(Completion::Ignored { reason }) => format!("ignored: {}", reason.unwrap_or_default()),
            Err(failed) => failed.message().unwrap_or_default().to_owned(),
        };
        assert_eq!(said, expect);
    }

    #[test]
    fn only_what_was_kept_passes() {
        check_told(&[Verdict::Pass, Verdict::NonStrict, Verdict::NotApplicable], "passed");
        check_told(&[Verdict::Pass, Verdict::Fail], "FAIL PAIR-01 k: cause: why\n");
        check_told(&[Verdict::Untestable], "UNTESTABLE PAIR-01 k: cause: why\n");
        check_told(&[Verdict::NotApplicable], "ignored: why");
    }
}
