//! Reads a case file, makes its twins, and refuses whatever could make a verdict empty.

use super::{Ability, Case, CaseFile, CaseSet, Check, CheckFile, Expect, FileExpect, See};
use crate::agent::Mode;
use crate::rule::RuleBook;
use crate::source::{Document, Entry, LeafPath, Problem, Problems, Tree, Value, did_you_mean};
use mock_llm::Script;
use slot_oracles::{OracleCheck, oracles};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The longest a case may ask for.
const LIMIT_MS: u64 = 600_000;

/// Reads one case. `name` is how messages call the file, `id` the case's id.
///
/// # Errors
/// Every problem of the file.
pub fn read(name: &str, id: &str, text: &str, rules: &RuleBook) -> Result<CaseSet, Problems> {
    let doc = Document::parse(name, text)?;
    let mut problems = Vec::new();
    if !is_id(id) {
        let message = format!("the id {id:?} is not <area>/<name> in small letters, digits and hyphens");
        problems.push(doc.find("").problem("", message).with_fix("rename the file"));
    }
    let mut bare = doc.root.clone();
    let twins = bare.take("twin");
    let file: CaseFile = doc.read()?;
    let base = build(&doc.with_root(bare.clone()), &file, id.to_owned(), "", rules, &mut problems);
    let mut made = Vec::new();
    for entry in twins.iter().flat_map(|twin| twin.tree.entries()) {
        let Some(twin) = file.twin.get(&entry.key) else { continue };
        let at = format!("twin.{}", entry.key);
        let make = Twin { doc: &doc, at: &at, name: &entry.key, tree: &entry.tree, base: &base };
        match make.make(&bare, twin.title.as_deref(), twin.needs.clone(), rules) {
            Ok(twin) => made.push(twin),
            Err(found) => problems.extend(found.0),
        }
    }
    made.sort_by(|a, b| a.id.cmp(&b.id));
    // A slip of the base is met again in every twin.
    problems.sort();
    problems.dedup_by(|b, a| (a.place.line, a.place.column, &a.message) == (b.place.line, b.place.column, &b.message));
    Problems::none_or(problems, CaseSet { base, twins: made })
}

fn is_id(id: &str) -> bool {
    let kebab = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    id.split_once('/').is_some_and(|(area, name)| kebab(area) && kebab(name))
}

/// A twin about to be made.
struct Twin<'a> {
    doc: &'a Document,
    /// The field of the twin.
    at: &'a str,
    name: &'a str,
    tree: &'a Tree,
    base: &'a Case,
}

impl Twin<'_> {
    fn make(
        &self,
        bare: &Tree,
        title: Option<&str>,
        needs: Option<String>,
        rules: &RuleBook,
    ) -> Result<Case, Problems> {
        let (path, value) = self.change()?;
        let mut tree = bare.clone();
        tree.take("check");
        path.set(&mut tree, value).map_err(|message| {
            let field = format!("{}.set", self.at);
            self.doc.place_of(value).problem(&field, format!("{path} cannot be set: {message}"))
        })?;
        // The twin's own checks take the place of the base's.
        if let (Some(check), Value::Table(entries)) =
            (self.tree.entries().iter().find(|e| e.key == "check"), &mut tree.value)
        {
            entries.push(check.clone());
        }
        let doc = self.doc.with_root(tree.clone());
        let mut file: CaseFile = doc.read()?;
        let change = format!("with {path} = {}", value.inline());
        file.title = title.map_or_else(|| format!("{} ({change})", file.title), str::to_owned);
        let mut problems = Vec::new();
        let id = format!("{}@{}", self.base.id, self.name);
        let mut case = build(&doc, &file, id, self.at, rules, &mut problems);
        if let Some(needs) = &needs
            && !self.base.checks.iter().any(|check| check.name == *needs)
        {
            let names: Vec<&str> = self.base.checks.iter().map(|check| check.name.as_str()).collect();
            let field = format!("{}.needs", self.at);
            let problem = self.doc.find(&field).problem(&field, format!("the base has no check {needs:?}"));
            problems.push(problem.with_fix(did_you_mean(needs, &names)));
        }
        case.base_check = needs;
        if case.compares() {
            case.source = self.with_base(bare);
        }
        Problems::none_or(problems, case)
    }

    /// The base, and this twin as its only one.
    fn with_base(&self, bare: &Tree) -> Tree {
        let span = self.tree.span.clone();
        let entry = |key: &str, tree: Tree| Entry { key: key.to_owned(), key_span: span.clone(), tree };
        let twin = Value::Table(vec![entry(self.name, self.tree.clone())]);
        let mut tree = bare.clone();
        if let Value::Table(entries) = &mut tree.value {
            entries.push(entry("twin", Tree { span: span.clone(), value: twin }));
        }
        tree
    }

    /// The one change.
    fn change(&self) -> Result<(LeafPath, &Tree), Problem> {
        let field = format!("{}.set", self.at);
        let entries = self.tree.get("set").map(Tree::entries).unwrap_or_default();
        let [entry] = entries else {
            let message = format!("a twin changes exactly one leaf, this one names {}", entries.len());
            return Err(self.doc.find(&field).problem(&field, message).with_fix("make a twin of each change"));
        };
        let at = |message: String| self.doc.place(&entry.key_span).problem(&field, message);
        let path = LeafPath::parse(&entry.key)
            .map_err(|message| at(format!("the path {:?} is not understood: {message}", entry.key)))?;
        if matches!(path.root(), "twin" | "check" | "title" | "needs") {
            return Err(at(format!("a twin cannot change {}", path.root())));
        }
        Ok((path, &entry.tree))
    }
}

/// Builds a case from its document. `prefix` is what stands before `check` in messages.
fn build(
    doc: &Document,
    file: &CaseFile,
    id: String,
    prefix: &str,
    rules: &RuleBook,
    problems: &mut Vec<Problem>,
) -> Case {
    let script = Script { turns: file.turns.clone(), seed: file.seed };
    let mut needs: BTreeSet<Ability> = file.needs.iter().copied().collect();
    needs.extend(file.cancel.as_ref().map(|_| Ability::Cancellation));
    let world = &file.world;
    let extends = !world.tools.is_empty() || !world.hooks.is_empty() || file.strict_schemas;
    needs.extend(extends.then_some(Ability::ExtensionTools));
    needs.extend(world.sets_pool().then_some(Ability::ToolPool));
    let mut case = Case {
        id,
        title: file.title.clone(),
        prompt: file.prompt.clone(),
        mode: file.mode,
        needs,
        dialects: file.dialects.clone(),
        cancel: None,
        limit: Duration::from_millis(file.limit_ms),
        patience: file.patience_ms.map(Duration::from_millis),
        strict_schemas: file.strict_schemas,
        world: file.world.clone(),
        answers: file.answers.clone(),
        script,
        checks: Vec::new(),
        base_check: None,
        source: doc.root.clone(),
    };
    let mut loader = Loader { doc, prefix, rules, problems };
    loader.whole(file, &mut case);
    loader.world(&case);
    loader.checks(&file.check, &mut case);
    case
}

struct Loader<'a> {
    doc: &'a Document,
    prefix: &'a str,
    rules: &'a RuleBook,
    problems: &'a mut Vec<Problem>,
}

impl Loader<'_> {
    fn problem(&mut self, field: &str, message: impl Into<String>, fix: impl Into<String>) {
        let place = self.doc.find(field);
        let shown = match (self.prefix, field) {
            ("", field) => field.to_owned(),
            (prefix, field) => format!("{field} of {prefix}"),
        };
        self.problems.push(place.problem(&shown, message).with_fix(fix));
    }

    /// What concerns the case as a whole: script, cancellation, answers, limit.
    fn whole(&mut self, file: &CaseFile, case: &mut Case) {
        if file.title.trim().is_empty() {
            self.problem("title", "the title is empty", "say what happens and what must follow");
        }
        if file.limit_ms == 0 || file.limit_ms > LIMIT_MS {
            self.problem("limit_ms", format!("the limit is not within 1 to {LIMIT_MS}"), "leave it out for 10000");
        }
        if file.patience_ms.is_some_and(|ms| ms == 0 || ms > file.limit_ms) {
            self.problem(
                "patience_ms",
                "the patience is not within 1 to the case's limit",
                "leave it out for the runtime's own limits",
            );
        }
        self.dialects(case);
        for slip in case.script.problems() {
            self.problem(&slip.path, slip.problem, slip.fix);
        }
        let ids = call_ids(&case.script);
        if let Some(cancel) = &file.cancel {
            match cancel.split_once(':') {
                Some((event, call)) if !event.is_empty() && ids.contains(&super::outer(call)) => {
                    case.cancel = Some((event.to_owned(), call.to_owned()));
                }
                Some((_, call)) => {
                    self.problem("cancel", format!("the script has no call {call:?}"), did_you_mean(call, &ids));
                }
                None => self.problem("cancel", format!("{cancel:?} is not event:call"), "write started:c1, say"),
            }
        }
        for call in file.answers.keys() {
            if !ids.contains(&call.as_str()) {
                let field = format!("answers.{call}");
                self.problem(&field, format!("the script has no call {call:?}"), did_you_mean(call, &ids));
            }
        }
        // A twin may change who is asked; the answers are then its base's.
        if !file.answers.is_empty() && file.mode != Mode::Ask && self.prefix.is_empty() {
            self.problem("answers", "answers are given, but nobody is asked", "set mode = \"ask\"");
        }
    }

    /// Bytes that carry data are those of one dialect, and nobody else could read them.
    fn dialects(&mut self, case: &Case) {
        let known: Vec<&str> = slot_wire::Dialect::ALL.into_iter().map(slot_wire::Dialect::name).collect();
        for (index, dialect) in case.dialects.iter().enumerate() {
            if !known.contains(&dialect.as_str()) {
                let field = format!("dialects[{index}]");
                self.problem(&field, format!("there is no dialect {dialect:?}"), did_you_mean(dialect, &known));
            }
        }
        let faults = case.script.turns.iter().flat_map(|turn| turn.fault.iter().chain(&turn.attempts));
        let raw = faults.flat_map(|fault| fault.bytes.iter().flatten()).any(|part| part.contains("data:"));
        if raw && case.dialects.len() != 1 {
            self.problem("dialects", "raw bytes are said in one dialect", "name it: dialects = [\"chat\"]");
        }
    }

    /// Canaries prove something only when they are planted where the agent has no business.
    fn world(&mut self, case: &Case) {
        let spec = &case.world;
        let tables = [("files", &spec.files), ("outside", &spec.outside), ("home", &spec.home), ("links", &spec.links)];
        for (table, paths) in tables {
            for path in paths.keys() {
                if let Err(message) = crate::world::relative(path) {
                    self.problem(&format!("world.{table}.{path:?}"), message, "write it relative to the folder");
                }
            }
        }
        for (index, change) in spec.changes.iter().enumerate() {
            let field = format!("world.change[{index}]");
            let known = change.at.split_once(':').is_some_and(|(_, call)| case.turn_of(call).is_some());
            if !known {
                let message = format!("{:?} is no event of a call of the case", change.at);
                self.problem(&format!("{field}.at"), message, "write it as `settled:c1`");
            }
            if change.tool.is_none() && change.remove.is_none() && change.deny.is_none() {
                self.problem(&field, "it changes nothing".to_owned(), "give it a tool, remove or deny");
            }
        }
        let world = &case.world;
        let planted: Vec<&String> =
            [&world.outside, &world.home, &world.beside].iter().flat_map(|t| t.values()).collect();
        for (index, canary) in case.world.canaries.iter().enumerate() {
            let field = format!("world.canaries[{index}]");
            if canary.len() < 6 {
                self.problem(
                    &field,
                    format!("the canary {canary:?} is too short to be told from chance"),
                    "make it longer",
                );
            } else if !planted.iter().any(|text| text.contains(canary.as_str())) {
                self.problem(
                    &field,
                    format!("nothing outside the workspace holds {canary:?}"),
                    "plant it in world.outside",
                );
            }
        }
    }

    fn checks(&mut self, files: &BTreeMap<String, CheckFile>, case: &mut Case) {
        if files.is_empty() {
            self.problem("", "there is no check, so nothing could fail", "add [check] with at least one");
        }
        let ids: Vec<String> = call_ids(&case.script).into_iter().map(str::to_owned).collect();
        for (name, file) in files {
            self.check(name, file, &ids);
            case.checks.push(Check {
                name: name.clone(),
                rule: file.rule.clone(),
                see: file.see,
                oracle: file.oracle.clone(),
                expect: file.expect(),
                lenient: file.lenient.clone(),
            });
        }
        if case.checks.iter().all(|check| check.see == See::Runtime) {
            case.needs.insert(Ability::RuntimeEvents);
        }
    }

    fn check(&mut self, name: &str, file: &CheckFile, ids: &[String]) {
        let at = format!("check.{name}");
        if self.rules.get(&file.rule).is_none() {
            let fix = did_you_mean(&file.rule, &self.rules.ids());
            self.problem(&format!("{at}.rule"), format!("there is no rule {:?}", file.rule), fix);
        }
        let expect = file.expect();
        if expect.is_empty() && file.oracle.is_none() {
            self.problem(&at, "the check expects nothing", "add an expectation or an oracle");
        }
        if file.lenient.as_ref().is_some_and(Expect::is_empty) {
            self.problem(&format!("{at}.lenient"), "the alternative expects nothing", "add an expectation");
        }
        for (expect, below) in
            std::iter::once((&expect, at.clone())).chain(file.lenient.iter().map(|e| (e, format!("{at}.lenient"))))
        {
            for idle in expect.idle() {
                self.problem(&format!("{below}.{idle}"), "no condition is stated", "state at least one");
            }
            for call in expect.calls() {
                if !ids.iter().any(|id| id == super::outer(call)) {
                    self.problem(&below, format!("the script has no call {call:?}"), did_you_mean(call, ids));
                }
            }
            if expect.needs_events() && file.see != See::Runtime {
                self.problem(&below, "event and lane are the runtime's own words", "add see = \"runtime\"");
            }
            self.paths(expect, &below);
        }
        if let Some(oracle) = &file.oracle {
            self.oracle(oracle, file, &at);
        }
    }

    /// A path that leaves its folder is never found, so a check of it could never fail.
    fn paths(&mut self, expect: &Expect, below: &str) {
        let tables: [(&str, &BTreeMap<String, FileExpect>); 3] =
            [("file", &expect.file), ("outside", &expect.outside), ("home", &expect.home)];
        for (table, files) in tables {
            for path in files.keys() {
                if path.is_empty()
                    || path.starts_with('/')
                    || path.split('/').any(|part| matches!(part, "" | "." | ".."))
                {
                    let field = format!("{below}.{table}.{path:?}");
                    self.problem(&field, "the path is not below its folder", "write it relative to the folder");
                }
            }
        }
    }

    fn oracle(&mut self, id: &str, file: &CheckFile, at: &str) {
        let field = format!("{at}.oracle");
        let Some(oracle) = oracles::by_id(id) else {
            let known: Vec<&str> = slot_oracles::ORACLES.iter().map(|o| o.id).collect();
            self.problem(&field, format!("there is no oracle {id:?}"), did_you_mean(id, &known));
            return;
        };
        if !oracle.rules.contains(&file.rule.as_str()) {
            let fix = format!("it watches {}", oracle.rules.join(", "));
            self.problem(&field, format!("oracle {id} does not watch {}", file.rule), fix);
        }
        if matches!(oracle.check, OracleCheck::Runtime(_)) && file.see != See::Runtime {
            self.problem(&field, format!("oracle {id} reads the runtime's events"), "add see = \"runtime\"");
        }
    }
}

fn call_ids(script: &Script) -> Vec<&str> {
    script.turns.iter().flat_map(|turn| turn.calls.iter().map(|call| call.id.as_str())).collect()
}

#[cfg(test)]
mod tests;
