//! O41 and O52: runs end, and leave nothing behind.

use crate::Finding;
use crate::trace::{AgentEnd, WireTrace};

/// O41: no process that carries the run's marker outlives the agent.
pub fn no_process_left(trace: &WireTrace) -> Vec<Finding> {
    trace
        .leftover
        .iter()
        .map(|p| {
            Finding::new(
                "LIVE-02",
                "process-left",
                format!("process {}", p.command),
                "the process was alive after the agent had ended",
            )
        })
        .collect()
}

/// O52: the agent ended by itself, within its limit and without being killed. An end that nobody saw is no finding, and
/// [`crate::Oracle::can_see`] says so.
pub fn ends(trace: &WireTrace) -> Vec<Finding> {
    let (cause, detail) = match &trace.end {
        AgentEnd::Finished { .. } | AgentEnd::Unseen => return Vec::new(),
        AgentEnd::NotRun => ("not-run", "the agent was never run".to_owned()),
        AgentEnd::TimedOut { limit_ms } => ("hang", format!("the agent did not end within {limit_ms} ms")),
        AgentEnd::Signalled { signal } => ("crash", format!("the agent was ended by signal {signal}")),
        AgentEnd::NotStarted { reason } => ("not-started", reason.clone()),
    };
    vec![Finding::new("LIVE-01", cause, "agent", detail)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Leftover;

    #[track_caller]
    fn check(end: AgentEnd, expect: &[&str]) {
        let found = ends(&WireTrace { end, ..WireTrace::default() });
        assert_eq!(found.iter().map(|f| f.cause.as_str()).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn any_exit_code_is_an_end() {
        check(AgentEnd::Finished { code: 0 }, &[]);
        check(AgentEnd::Finished { code: 7 }, &[]);
    }

    #[test]
    fn hangs_crashes_and_missing_runs_are_not() {
        check(AgentEnd::TimedOut { limit_ms: 1000 }, &["hang"]);
        check(AgentEnd::Signalled { signal: 11 }, &["crash"]);
        check(AgentEnd::NotStarted { reason: "no such file".into() }, &["not-started"]);
        check(AgentEnd::NotRun, &["not-run"]);
    }

    #[test]
    fn an_end_that_nobody_saw_is_nothing_to_judge() {
        check(AgentEnd::Unseen, &[]);
        for (id, sees) in [("O41", false), ("O52", false), ("O01", true)] {
            let wire = WireTrace { end: AgentEnd::Unseen, ..WireTrace::default() };
            let trace = crate::Trace { wire, runtime: None };
            assert_eq!(crate::oracles::by_id(id).is_some_and(|oracle| oracle.can_see(&trace)), sees, "{id}");
        }
    }

    #[test]
    fn a_leftover_process_is_named() {
        let leftover = vec![Leftover { pid: 7, command: "sleep 600".into() }];
        let found = no_process_left(&WireTrace { leftover, ..WireTrace::default() });
        assert_eq!(found[0].at, "process sleep 600");
    }
}
