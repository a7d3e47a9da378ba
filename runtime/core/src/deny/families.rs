//! The names that people know from other agents, and which of our tools each stands for.
//!
//! A name stands for every tool that can do what it names: a rule that denies `Bash` and left one shell tool would deny
//! nothing. What this table does not list is reached by its own name only.

/// A name people know, and what it stands for here.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// The names, squashed to lower case letters.
    pub names: &'static [&'static str],
    /// The tools that a rule without a parameter hides.
    pub hidden: &'static [&'static str],
    /// The tools whose calls a rule with a parameter judges, and where their input says what it is about.
    pub gated: &'static [(&'static str, Field)],
    /// How a parameter is read.
    pub grammar: Grammar,
    /// Whether every built-in tool that runs code belongs to it, listed or not.
    pub all_code: bool,
}

/// How the parameter of a rule is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// A command: `git push:*`.
    Command,
    /// A path: `secrets/**`.
    Path,
    /// A host: `domain:example.com`.
    Host,
    /// One name, such as the type of a sub-agent.
    Name,
    /// There is none.
    None,
}

/// Where an input says what a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// In this field.
    At(&'static str),
    /// In one of these; where none is given, nobody knows.
    OneOf(&'static [&'static str]),
    /// It is input for a program that runs, so that nobody can tell.
    Opaque,
    /// Nowhere: no call of it is what such a rule is about.
    Nothing,
    /// In a patch, and beside it in this field.
    Patch(&'static str),
    /// Anywhere: every text in it counts.
    Every,
}

use Field::{At, Every, OneOf, Opaque, Patch};

/// Every family.
pub fn families() -> &'static [Family] {
    FAMILIES
}

const READERS: &[&str] =
    &["read_file", "list_dir", "file_search", "glob_files", "grep_files", "project_map", "symbols"];
const EDITORS: &[&str] = &["write_file", "edit_file", "apply_patch", "fim_edit", "revert_turn"];

const FAMILIES: &[Family] = &[
    Family {
        names: &["bash", "shell", "powershell"],
        hidden: crate::freshness::SHELL_PROBE_TOOLS,
        gated: &[
            ("exec_shell", At("command")),
            ("task_shell_start", At("command")),
            // It names the command that it runs.
            ("diagnostics", At("checker")),
            ("monitor", Every),
            ("run_tests", Every),
            ("exec_shell_interact", Opaque),
            ("exec_interact", Opaque),
            ("write_stdin", Opaque),
        ],
        grammar: Grammar::Command,
        all_code: true,
    },
    Family {
        names: &["bashoutput"],
        hidden: &["exec_shell_wait", "exec_wait", "task_shell_wait", "task_shell_output"],
        gated: &[],
        grammar: Grammar::None,
        all_code: false,
    },
    Family {
        names: &["killshell", "killbash"],
        hidden: &["exec_shell_cancel"],
        gated: &[],
        grammar: Grammar::None,
        all_code: false,
    },
    Family {
        names: &["read"],
        hidden: READERS,
        gated: &[
            ("read_file", At("path")),
            ("list_dir", At("path")),
            ("file_search", Every),
            ("glob_files", Every),
            ("grep_files", Every),
            ("project_map", Every),
            ("symbols", Every),
            ("diagnostics", Every),
            ("validate_data", Every),
            ("git_diff", Every),
            ("git_log", Every),
            ("git_show", Every),
            ("git_blame", Every),
        ],
        grammar: Grammar::Path,
        all_code: false,
    },
    Family {
        names: &["grep"],
        hidden: &["grep_files"],
        gated: &[("grep_files", Every)],
        grammar: Grammar::Path,
        all_code: false,
    },
    Family {
        names: &["glob"],
        hidden: &["glob_files", "file_search"],
        gated: &[("glob_files", Every), ("file_search", Every)],
        grammar: Grammar::Path,
        all_code: false,
    },
    Family {
        names: &["ls", "list"],
        hidden: &["list_dir"],
        gated: &[("list_dir", At("path"))],
        grammar: Grammar::Path,
        all_code: false,
    },
    Family {
        names: &["edit", "multiedit", "write", "notebookedit"],
        hidden: EDITORS,
        gated: &[
            ("write_file", At("path")),
            ("edit_file", At("path")),
            ("fim_edit", At("path")),
            ("apply_patch", Patch("path")),
            ("revert_turn", Every),
        ],
        grammar: Grammar::Path,
        all_code: false,
    },
    Family {
        names: &["lsp"],
        hidden: &["symbols", "diagnostics"],
        gated: &[("symbols", Every), ("diagnostics", Every)],
        grammar: Grammar::Path,
        all_code: false,
    },
    Family {
        names: &["webfetch", "fetch"],
        hidden: &["fetch_url"],
        gated: &[("fetch_url", At("url"))],
        grammar: Grammar::Host,
        all_code: false,
    },
    Family { names: &["websearch"], hidden: &["web_search"], gated: &[], grammar: Grammar::None, all_code: false },
    Family {
        names: &["agent", "task"],
        hidden: &["agent_open", "agent_wait", "agent_cancel"],
        gated: &[("agent_open", OneOf(&["agent_type", "type", "subagent_type", "agent"]))],
        grammar: Grammar::Name,
        all_code: false,
    },
    Family {
        names: &["skill"],
        hidden: &["load_skill"],
        gated: &[("load_skill", OneOf(&["name", "skill"]))],
        grammar: Grammar::Name,
        all_code: false,
    },
    Family {
        names: &["todowrite"],
        hidden: &["todo_write", "checklist_write", "update_plan"],
        gated: &[],
        grammar: Grammar::None,
        all_code: false,
    },
];

/// The family of a name that people know.
pub fn by_name(squashed: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.names.contains(&squashed))
}

/// How a parameter for this tool of ours is read.
pub fn grammar_of(squashed: &str) -> Grammar {
    let gates = |family: &&Family| family.gated.iter().any(|(tool, _)| super::squashed(tool) == squashed);
    FAMILIES.iter().find(gates).map_or(Grammar::None, |family| family.grammar)
}

impl Family {
    /// Where the tool's input says what a rule of this family is about.
    pub fn field(&self, tool: &str) -> Option<Field> {
        self.gated.iter().find(|(name, _)| *name == tool).map(|(_, field)| *field)
    }
}
