//! The base list: every tool this runtime has a place for, with what it can do, when it is shown, whose it is, and under
//! which circumstances it is there.
//!
//! It is the one enumeration. Flows and modes filter it and never keep a list of their own. It makes no tool: which of the
//! list exist is decided by who hands in the tools, and a test holds the two against each other.

use slot_runtime::contract::{Capability, Exposure};

/// Which part of the runtime a tool belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Files, through the boundary.
    Files,
    /// Version control, to look at.
    VersionControl,
    /// Commands and what they print.
    Shell,
    /// Results that were put aside.
    Results,
    /// Other hosts.
    Network,
    /// Tools and servers themselves.
    Discovery,
    /// Sub-agents.
    Agents,
    /// Tools that call tools.
    Composite,
    /// The session and its user.
    Session,
}

/// What must hold for a tool to be there at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Nothing.
    Open,
    /// It has a place in the list and is not built.
    NotBuilt,
    /// The workspace is under version control.
    Repository,
    /// Somebody can be asked.
    Person,
    /// A server for tools is configured.
    Servers,
    /// Tools may be deferred, so that they have to be found.
    Discovery,
}

/// A tool of the base list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseTool {
    /// Its name.
    pub name: &'static str,
    /// Whose it is.
    pub owner: Owner,
    /// What it can do, at most.
    pub capabilities: &'static [Capability],
    /// When it is shown: `Always` where no task begins without it.
    pub exposure: Exposure,
    /// What must hold for it to be there.
    pub gate: Gate,
    /// Whether it is one of the few of the simple mode.
    pub simple: bool,
    /// Whether the wrapper mode hides it behind a tool that calls tools.
    pub primitive: bool,
    /// Whether a coordinator has it, which works through others alone.
    pub coordinator: bool,
    /// Whether it stays while a plan is made although it is more than looking.
    pub plan: bool,
}

impl BaseTool {
    const fn gate(self, gate: Gate) -> Self {
        BaseTool { gate, ..self }
    }

    const fn simple(self) -> Self {
        BaseTool { simple: true, ..self }
    }

    const fn primitive(self) -> Self {
        BaseTool { primitive: true, ..self }
    }

    const fn coordinator(self) -> Self {
        BaseTool { coordinator: true, ..self }
    }

    const fn plan(self) -> Self {
        BaseTool { plan: true, ..self }
    }

    const fn not_built(self) -> Self {
        self.gate(Gate::NotBuilt)
    }
}

const fn tool(name: &'static str, owner: Owner, capabilities: &'static [Capability], exposure: Exposure) -> BaseTool {
    BaseTool {
        name,
        owner,
        capabilities,
        exposure,
        gate: Gate::Open,
        simple: false,
        primitive: false,
        coordinator: false,
        plan: false,
    }
}

use Capability::{ExecutesCode, Network, ReadOnly, RequiresApproval, WritesFiles};
use Exposure::{Always, Auto, Deferred};
use Owner::{Agents, Composite, Discovery, Files, Results, Session, Shell, VersionControl};

const READS: &[Capability] = &[ReadOnly];
const WRITES: &[Capability] = &[WritesFiles];
const RUNS: &[Capability] = &[ExecutesCode];
const FETCHES: &[Capability] = &[ReadOnly, Network];
const ASKS: &[Capability] = &[RequiresApproval];
const LEAVES: &[Capability] = &[ReadOnly, RequiresApproval];
const CHANGES: &[Capability] = &[WritesFiles, RequiresApproval];

const BASE: &[BaseTool] = &[
    tool("read_file", Files, READS, Always).simple().primitive(),
    tool("write_file", Files, WRITES, Always).primitive(),
    tool("edit_file", Files, WRITES, Always).simple().primitive(),
    tool("apply_patch", Files, WRITES, Always).primitive(),
    tool("fim_edit", Files, WRITES, Auto).primitive(),
    tool("list_dir", Files, READS, Always).primitive(),
    tool("file_search", Files, READS, Always).primitive(),
    tool("glob_files", Files, READS, Always).primitive(),
    tool("grep_files", Files, READS, Always).primitive(),
    tool("project_map", Files, READS, Auto).primitive().not_built(),
    tool("symbols", Files, READS, Auto).primitive().not_built(),
    tool("git_status", VersionControl, READS, Auto).primitive().gate(Gate::Repository),
    tool("git_diff", VersionControl, READS, Auto).primitive().gate(Gate::Repository),
    tool("git_log", VersionControl, READS, Auto).primitive().gate(Gate::Repository),
    tool("git_show", VersionControl, READS, Auto).primitive().gate(Gate::Repository),
    tool("git_blame", VersionControl, READS, Auto).primitive().gate(Gate::Repository),
    tool("exec_shell", Shell, RUNS, Always).simple().primitive(),
    tool("exec_shell_wait", Shell, READS, Auto).not_built(),
    tool("exec_shell_interact", Shell, RUNS, Auto).not_built(),
    tool("exec_shell_cancel", Shell, ASKS, Auto).not_built(),
    tool("exec_wait", Shell, READS, Auto).not_built(),
    tool("exec_interact", Shell, RUNS, Auto).not_built(),
    tool("write_stdin", Shell, RUNS, Auto).not_built(),
    tool("task_shell_start", Shell, RUNS, Auto).not_built(),
    tool("task_shell_wait", Shell, READS, Auto).not_built(),
    tool("task_shell_output", Shell, READS, Auto).not_built(),
    tool("run_tests", Shell, RUNS, Auto).not_built(),
    tool("monitor", Shell, RUNS, Deferred).not_built(),
    tool("retrieve_tool_result", Results, READS, Auto).not_built(),
    tool("handle_read", Results, READS, Auto).not_built(),
    tool("fetch_url", Owner::Network, FETCHES, Deferred).not_built(),
    tool("web_search", Owner::Network, FETCHES, Deferred).not_built(),
    tool("tool_search", Discovery, READS, Always).coordinator().plan().gate(Gate::Discovery),
    tool("call_tool", Discovery, READS, Always).coordinator().plan().gate(Gate::Discovery),
    tool("list_mcp_resources", Discovery, READS, Deferred).not_built(),
    tool("list_mcp_resource_templates", Discovery, READS, Deferred).not_built(),
    tool("read_mcp_resource", Discovery, READS, Deferred).not_built(),
    tool("mcp_get_prompt", Discovery, READS, Deferred).not_built(),
    tool("agent_open", Agents, ASKS, Always).coordinator().not_built(),
    tool("agent_wait", Agents, READS, Auto).coordinator().not_built(),
    tool("agent_cancel", Agents, ASKS, Auto).coordinator().not_built(),
    tool("send_message", Agents, ASKS, Deferred).coordinator().not_built(),
    tool("task_stop", Agents, ASKS, Deferred).coordinator().not_built(),
    tool("parallel", Composite, READS, Always),
    tool("update_plan", Session, READS, Auto).coordinator().plan(),
    tool("checklist_write", Session, READS, Auto).coordinator().plan(),
    tool("todo_write", Session, READS, Auto).coordinator().plan(),
    tool("note", Session, READS, Auto).coordinator().plan(),
    tool("remember", Session, WRITES, Auto),
    tool("recall", Session, READS, Auto).coordinator(),
    tool("request_user_input", Session, READS, Always).coordinator().plan(),
    tool("notify", Session, READS, Auto).coordinator(),
    tool("load_skill", Session, READS, Always).coordinator(),
    tool("enter_plan_mode", Session, READS, Auto),
    tool("exit_plan_mode", Session, LEAVES, Auto).plan(),
    tool("enter_worktree", Session, CHANGES, Deferred).gate(Gate::Repository),
    tool("exit_worktree", Session, CHANGES, Deferred).gate(Gate::Repository),
    tool("revert_turn", Session, CHANGES, Auto),
    tool("diagnostics", Session, RUNS, Auto).primitive(),
    tool("validate_data", Session, READS, Auto),
];

/// Every tool that this runtime has a place for.
pub fn base() -> &'static [BaseTool] {
    BASE
}

/// The entry of this name.
pub fn entry(name: &str) -> Option<&'static BaseTool> {
    BASE.iter().find(|tool| tool.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slot_runtime::contract::CapabilitySet;
    use slot_runtime::deny::families;
    use std::collections::BTreeSet;

    #[test]
    fn every_entry_is_there_once_under_a_legal_name() {
        let names: BTreeSet<&str> = base().iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), base().len());
        assert!(names.iter().all(|name| slot_runtime::registry::is_legal_name(name)));
    }

    #[test]
    fn deny_rules_know_the_names_of_the_list() {
        for family in families() {
            let gated = family.gated.iter().map(|(name, _)| name);
            for name in family.hidden.iter().chain(gated) {
                assert!(entry(name).is_some(), "a deny rule is about {name}, which is not in the list");
            }
        }
    }

    #[test]
    fn what_runs_code_is_denied_with_the_shell_and_what_writes_with_the_editors() {
        let hidden = |known: &str| {
            families().iter().find(|family| family.names.contains(&known)).map_or(&[][..], |family| family.hidden)
        };
        for tool in base() {
            let set = CapabilitySet::of(tool.capabilities);
            if tool.owner == Owner::Shell {
                assert!(hidden("bash").contains(&tool.name), "{}", tool.name);
            }
            if tool.owner == Owner::Files && set.contains(Capability::WritesFiles) {
                assert!(hidden("edit").contains(&tool.name), "{}", tool.name);
            }
            if tool.owner == Owner::Files && set.is_read_only() {
                assert!(hidden("read").contains(&tool.name), "{}", tool.name);
            }
        }
    }

    #[test]
    fn a_coordinator_has_nothing_that_touches_the_workspace() {
        for tool in base().iter().filter(|tool| tool.coordinator) {
            assert!(!matches!(tool.owner, Owner::Files | Owner::Shell | Owner::VersionControl), "{}", tool.name);
        }
    }
}
