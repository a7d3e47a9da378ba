//! What the types of an adapter do not say: names, placeholders, places and limits that could not be right.

use super::{Adapter, ModeChange, Modes, PLACEHOLDERS, RESERVED, placeholder};
use crate::source::{Document, Problem, did_you_mean};
use crate::world;
use std::collections::BTreeMap;

/// The dialects an adapter may name.
const DIALECTS: &[&str] = &["chat", "anthropic", "responses"];
/// Longest time an adapter may ask for, in milliseconds.
const MAX_LIMIT_MS: u64 = 600_000;

/// What the types of an adapter do not say.
pub struct Check<'a> {
    document: &'a Document,
    problems: Vec<Problem>,
}

impl Check<'_> {
    /// Every problem of the adapter.
    pub fn run(adapter: &Adapter, document: &Document) -> Vec<Problem> {
        let mut check = Check { document, problems: Vec::new() };
        check.head(adapter);
        check.args("args", &adapter.args, adapter);
        check.tables("", &adapter.env, &adapter.files);
        for (name, change) in &adapter.dialect {
            if !adapter.dialects.contains(name) {
                check.fault(
                    &format!("dialect.{name}"),
                    "the dialect is not among `dialects`",
                    "add it there, or remove this",
                );
            }
            if let Some(args) = &change.args {
                check.args(&format!("dialect.{name}.args"), args, adapter);
            }
            check.tables(&format!("dialect.{name}."), &change.env, &change.files);
        }
        for (mode, change) in check_modes(adapter) {
            check.words(&format!("modes.{mode}.args"), &change.args);
            check.tables(&format!("modes.{mode}."), &change.env, &BTreeMap::new());
        }
        check.problems
    }

    fn fault(&mut self, field: &str, problem: impl Into<String>, fix: impl Into<String>) {
        self.problems.push(self.document.find(field).problem(field, problem).with_fix(fix));
    }

    fn head(&mut self, adapter: &Adapter) {
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if adapter.name.is_empty() || !adapter.name.chars().all(kebab) {
            self.fault("name", format!("{:?} is no name", adapter.name), "use lower-case letters, digits and hyphens");
        }
        if adapter.program.is_empty() || adapter.program.contains(['/', '\0']) {
            let fix = "write the name that is looked for on the PATH; a path is given with --bin";
            self.fault("program", format!("{:?} is no program name", adapter.program), fix);
        }
        if adapter.dialects.is_empty() {
            self.fault("dialects", "the agent speaks no dialect", "name one of chat, anthropic, responses");
        }
        for (index, dialect) in adapter.dialects.iter().enumerate() {
            if !DIALECTS.contains(&dialect.as_str()) {
                let fix = did_you_mean(dialect, DIALECTS);
                self.fault(&format!("dialects[{index}]"), format!("unknown dialect {dialect:?}"), fix);
            }
        }
        for (index, place) in adapter.state.iter().enumerate() {
            let field = format!("state[{index}]");
            if world::relative(place).is_err() {
                let fix = "write it relative to the home folder, a folder with `/` at its end";
                self.fault(&field, "the place does not lie in the home folder", fix);
            } else if world::is_dangerous_in_home(place.trim_end_matches('/')) {
                self.fault(&field, "the place is one that no agent may touch", "remove it");
            }
        }
        if adapter.offered().is_empty() {
            self.fault("modes", "the agent offers no mode", "add at least `unattended = {}`");
        }
        if !(1..=MAX_LIMIT_MS).contains(&adapter.limit_ms) {
            self.fault("limit_ms", "the limit is out of range", format!("use 1 to {MAX_LIMIT_MS} milliseconds"));
        }
        for (index, side) in adapter.side.iter().enumerate() {
            if side.no_tools.is_none() && side.path.is_none() && side.system.is_none() && side.user.is_none() {
                let fix = "add `no_tools`, `path`, `system` or `user`";
                self.fault(&format!("side[{index}]"), "the matcher has no condition and matches nothing", fix);
            }
        }
    }

    /// The arguments of a run: they must pass on the prompt, and place the mode's arguments where there are any.
    fn args(&mut self, field: &str, args: &[String], adapter: &Adapter) {
        let plain: Vec<String> = args.iter().filter(|arg| *arg != "{mode}").cloned().collect();
        self.words(field, &plain);
        if !args.iter().any(|arg| arg.contains("{prompt}")) {
            self.fault(field, "the agent is never told its task", "add an argument with {prompt}");
        }
        let places = args.len() - plain.len();
        let wanted = check_modes(adapter).any(|(_, change)| !change.args.is_empty());
        if wanted && places != 1 {
            self.fault(field, format!("`{{mode}}` stands {places} times"), "add it once, as an argument of its own");
        }
    }

    fn tables(&mut self, prefix: &str, env: &BTreeMap<String, String>, files: &BTreeMap<String, String>) {
        for (name, value) in env {
            let field = format!("{prefix}env.{name}");
            if name.is_empty() || name.contains(['=', '\0']) {
                self.fault(&field, format!("{name:?} is no variable name"), "use letters, digits and underscores");
            } else if RESERVED.contains(&name.as_str()) {
                self.fault(&field, format!("{name} belongs to the run"), "remove it");
            }
            self.words(&field, std::slice::from_ref(value));
        }
        for (path, text) in files {
            let field = format!("{prefix}files.{path:?}");
            match path.strip_prefix("{home}/").map(|path| (path, world::relative(path))) {
                Some((inside, Ok(_))) if world::is_dangerous_in_home(inside) => {
                    self.fault(&field, "the file is one that no agent may touch", "choose another settings file");
                }
                Some((inside, Ok(_))) if !inside.ends_with('/') => {}
                _ => self.fault(&field, "the path does not lie in the home folder", "write \"{home}/PATH\""),
            }
            self.words(&field, std::slice::from_ref(text));
        }
    }

    /// Every `{word}` must be one we know: a mistyped one would reach the agent as it stands.
    fn words(&mut self, field: &str, texts: &[String]) {
        for text in texts {
            let mut rest = text.as_str();
            while let Some((name, span)) = placeholder(rest) {
                if !PLACEHOLDERS.contains(&name) {
                    self.fault(field, format!("unknown placeholder {{{name}}}"), did_you_mean(name, PLACEHOLDERS));
                }
                rest = &rest[span.end..];
            }
        }
    }
}

fn check_modes(adapter: &Adapter) -> impl Iterator<Item = (&'static str, &ModeChange)> {
    let Modes { unattended, auto, deny } = &adapter.modes;
    [("unattended", unattended), ("auto", auto), ("deny", deny)]
        .into_iter()
        .filter_map(|(name, change)| Some((name, change.as_ref()?)))
}
