//! All rules and cases: those in the binary, or those of folders.

use super::{Case, CaseSet, Check, See, read};
use crate::rule::{Observer, Rule, RuleBook};
use crate::source::{Place, Problem, Problems, SIZE_LIMIT};
use include_dir::{Dir, include_dir};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

static RULES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/rules");
static CASES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/cases");

/// More files than this are not read.
const FILE_LIMIT: usize = 10_000;

/// Why a library could not be loaded.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// A file or folder could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A folder holds no rule or no case.
    #[error("{path} holds no .toml file; {expected}")]
    Empty {
        /// The folder.
        path: PathBuf,
        /// What was expected to be there.
        expected: &'static str,
    },
    /// A folder holds too much.
    #[error("{path} holds more than {FILE_LIMIT} files; is it the right folder?")]
    TooMany {
        /// The folder.
        path: PathBuf,
    },
    /// What was read is wrong.
    #[error(transparent)]
    Problems(#[from] Problems),
}

/// Rules and cases.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// The rules.
    pub rules: RuleBook,
    /// The cases, sorted by id.
    pub cases: Vec<CaseSet>,
}

/// A file's name for messages, its path below the folder without `.toml`, and its text.
type Found = (String, String, String);

impl Library {
    /// The rules and cases in the binary, or those of the folders that are given.
    ///
    /// # Errors
    /// A folder that cannot be read, or the problems of all files in it. When the rules are replaced, also every rule
    /// that no case names.
    pub fn load(rules: Option<&Path>, cases: Option<&Path>) -> Result<Library, LibraryError> {
        let rule_files = match rules {
            Some(dir) => from_disk(dir, "a folder of rule files is expected")?,
            None => embedded(&RULES, "scenarios/rules"),
        };
        let book = RuleBook::read(rule_files.iter().map(|(name, _, text)| (name.as_str(), text.as_str())))?;
        let case_files = match cases {
            Some(dir) => from_disk(dir, "a folder of areas with case files is expected")?,
            None => embedded(&CASES, "scenarios/cases"),
        };
        let mut library = Library { rules: book, cases: Vec::new() };
        library.add(&case_files)?;
        if rules.is_some() {
            Problems::none_or(library.unjudged(), ())?;
        }
        Ok(library)
    }

    /// The rules in the binary, and the one case of this file. Its id is made of the last two parts of its path.
    ///
    /// # Errors
    /// As [`Library::load`].
    pub fn load_case(rules: Option<&Path>, path: &Path) -> Result<Library, LibraryError> {
        let book = Library::load(rules, None)?.rules;
        let stem = |path: &Path| path.file_stem().map(|name| name.to_string_lossy().to_lowercase());
        // A case that was kept for a replay is called after its folder.
        let named = if path.ends_with("case.toml") { path.parent().unwrap_or(path) } else { path };
        let name = stem(named).unwrap_or_default();
        let area = named.parent().and_then(stem).unwrap_or_default();
        let plain = |text: &str| -> String {
            let text: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            let text = text.trim_matches('-').to_owned();
            if text.is_empty() { "case".to_owned() } else { text }
        };
        let id = format!("{}/{}", plain(&area), plain(&name));
        let mut library = Library { rules: book, cases: Vec::new() };
        library.add(&[(path.display().to_string(), id, read_file(path)?)])?;
        Ok(library)
    }

    fn add(&mut self, files: &[Found]) -> Result<(), Problems> {
        let mut problems = Vec::new();
        for (name, id, text) in files {
            match read(name, id, text, &self.rules) {
                Ok(set) => self.cases.push(set),
                Err(found) => problems.extend(found.0),
            }
        }
        self.cases.sort_by(|a, b| a.base.id.cmp(&b.base.id));
        Problems::none_or(problems, ())
    }

    /// The rules that no check could ever turn red: nothing names them, or nothing that sees what they are about.
    pub fn unjudged(&self) -> Vec<Problem> {
        let checks = || self.all().flat_map(|case| &case.checks);
        let named: BTreeSet<&str> = checks().map(|check| check.rule.as_str()).collect();
        let on_wire: BTreeSet<&str> =
            checks().filter(|check| check.see == See::Wire).map(|check| check.rule.as_str()).collect();
        let mut problems = Vec::new();
        for booked in self.rules.iter() {
            let rule = &booked.rule;
            if !named.contains(rule.id.as_str()) {
                let message = format!("no case names the rule {}", rule.id);
                problems.push(booked.problem(message).with_fix("write a case in which it could fail"));
            } else if rule.observer == Observer::Wire && !on_wire.contains(rule.id.as_str()) {
                let message =
                    format!("the rule {} can be seen on the wire, and no check of a case looks there", rule.id);
                problems.push(booked.problem(message).with_fix("add one, or set observer = \"runtime\""));
            }
        }
        problems
    }

    /// Leaves out the rules that do not satisfy `keep`, with the checks of them, and the cases that then have none. A
    /// check that a twin leans on stays.
    pub fn keep_rules(&mut self, keep: impl Fn(&Rule) -> bool) {
        self.rules.retain(keep);
        let rules = &self.rules;
        for set in &mut self.cases {
            for twin in &mut set.twins {
                twin.checks.retain(|check| rules.get(&check.rule).is_some());
            }
            set.twins.retain(|twin| !twin.checks.is_empty());
            let leaned_on: Vec<&str> = set.twins.iter().filter_map(|twin| twin.base_check.as_deref()).collect();
            let wanted = |check: &Check| rules.get(&check.rule).is_some() || leaned_on.contains(&check.name.as_str());
            set.base.checks.retain(wanted);
        }
        self.cases.retain(|set| !set.base.checks.is_empty());
    }

    /// Every case and twin, in order of id.
    pub fn all(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().flat_map(CaseSet::all)
    }

    /// The case or twin with this id.
    pub fn case(&self, id: &str) -> Option<&Case> {
        self.all().find(|case| case.id == id)
    }

    /// The cases whose id begins with one of the patterns, or that name the rule a pattern is; all when there is none.
    /// The error is the first pattern that chooses nothing.
    pub fn choose<'p>(&self, patterns: &'p [String]) -> Result<Vec<CaseSet>, &'p str> {
        let fits = |set: &CaseSet, pattern: &str| {
            let base = pattern.split('@').next().unwrap_or(pattern);
            set.base.id.starts_with(base) || set.all().any(|case| case.checks.iter().any(|check| check.rule == pattern))
        };
        if let Some(idle) = patterns.iter().find(|pattern| !self.cases.iter().any(|set| fits(set, pattern))) {
            return Err(idle);
        }
        let chosen = self.cases.iter().filter(|set| patterns.is_empty() || patterns.iter().any(|p| fits(set, p)));
        Ok(chosen.cloned().collect())
    }
}

fn embedded(dir: &Dir<'_>, name: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut pending = vec![dir];
    while let Some(dir) = pending.pop() {
        pending.extend(dir.dirs());
        for file in dir.files() {
            // Only text is ever put there; a file that is none would be missed by the tests at once.
            let (path, Some(text)) = (file.path().display().to_string(), file.contents_utf8()) else { continue };
            if let Some(stem) = path.strip_suffix(".toml") {
                found.push((format!("{name}/{path}"), stem.to_owned(), text.to_owned()));
            }
        }
    }
    found.sort();
    found
}

fn from_disk(dir: &Path, expected: &'static str) -> Result<Vec<Found>, LibraryError> {
    let mut found = Vec::new();
    let mut pending = vec![(dir.to_owned(), String::new())];
    while let Some((folder, prefix)) = pending.pop() {
        let at = |source| LibraryError::Read { path: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(at)? {
            let entry = entry.map_err(at)?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() && prefix.matches('/').count() < 8 {
                pending.push((path, format!("{prefix}{name}/")));
            } else if let Some(stem) = name.strip_suffix(".toml") {
                found.push((path.display().to_string(), format!("{prefix}{stem}"), read_file(&path)?));
            }
            if found.len() + pending.len() > FILE_LIMIT {
                return Err(LibraryError::TooMany { path: dir.to_owned() });
            }
        }
    }
    if found.is_empty() {
        return Err(LibraryError::Empty { path: dir.to_owned(), expected });
    }
    found.sort();
    Ok(found)
}

fn read_file(path: &Path) -> Result<String, LibraryError> {
    let at = |source| LibraryError::Read { path: path.to_owned(), source };
    let meta = std::fs::metadata(path).map_err(at)?;
    if meta.is_file() && meta.len() > SIZE_LIMIT as u64 {
        let place = Place { file: path.display().to_string(), line: 1, column: 1, field: String::new() };
        let message = format!("the file has {} bytes, at most {SIZE_LIMIT} are read", meta.len());
        return Err(LibraryError::Problems(place.problem("", message).into()));
    }
    let bytes = std::fs::read(path).map_err(at)?;
    String::from_utf8(bytes).map_err(|e| {
        let whole = String::from_utf8_lossy(&e.as_bytes()[..e.utf8_error().valid_up_to()]).into_owned();
        let column = whole.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let place = Place {
            file: path.display().to_string(),
            line: whole.matches('\n').count() + 1,
            column,
            field: String::new(),
        };
        let fix = "save the file as UTF-8";
        LibraryError::Problems(place.problem("", "a byte here is not UTF-8").with_fix(fix).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_in_the_binary_is_whole() {
        let library = Library::load(None, None).unwrap_or_else(|e| panic!("{e}"));
        let unjudged: Vec<String> = library.unjudged().iter().map(ToString::to_string).collect();
        assert_eq!(unjudged, [] as [&str; 0]);
    }

    #[test]
    fn every_rule_that_an_oracle_watches_is_a_rule() {
        let library = Library::load(None, None).unwrap_or_else(|e| panic!("{e}"));
        for oracle in slot_oracles::ORACLES {
            for rule in oracle.rules {
                assert!(library.rules.get(rule).is_some(), "{} watches {rule}", oracle.id);
            }
        }
    }

    #[test]
    fn rules_are_left_out_with_their_checks() {
        let mut library = Library::load(None, None).unwrap_or_else(|e| panic!("{e}"));
        library.keep_rules(|rule| rule.id == "PAIR-06");
        assert_eq!(library.rules.ids(), ["PAIR-06"]);
        assert!(library.case("pair/two-calls").is_none());
        let names: Vec<&str> = library.case("pair/cancel").unwrap().checks.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["not-run", "running", "waiting"]);
    }

    #[test]
    fn a_case_kept_for_a_replay_has_the_name_of_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("pair/two-calls@x");
        std::fs::create_dir_all(&folder).unwrap();
        let text = CASES.get_file("pair/two-calls.toml").unwrap().contents_utf8().unwrap();
        std::fs::write(folder.join("case.toml"), text).unwrap();
        let library = Library::load_case(None, &folder.join("case.toml")).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(library.cases[0].base.id, "pair/two-calls-x");
    }

    #[test]
    fn a_pattern_is_a_prefix_or_a_rule() {
        let library = Library::load(None, None).unwrap_or_else(|e| panic!("{e}"));
        let chosen = |pattern: &str| library.choose(&[pattern.to_owned()]).map(|c| c.len()).ok();
        assert_eq!(chosen("nothing/like-it"), None);
        assert!(chosen("pair/").is_some_and(|n| n > 0 && n < library.cases.len()));
        assert!(chosen("PAIR-02").is_some_and(|n| n > 0 && n < library.cases.len()));
        assert_eq!(library.choose(&[]).map(|c| c.len()), Ok(library.cases.len()));
    }

    #[test]
    fn folders_that_are_missing_or_empty_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = Library::load(None, Some(&dir.path().join("no"))).unwrap_err();
        assert!(error.to_string().starts_with("cannot read "), "{error}");
        let error = Library::load(Some(dir.path()), None).unwrap_err();
        assert!(error.to_string().contains("holds no .toml file"), "{error}");
    }

    #[test]
    fn a_file_that_is_no_text_is_named_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.toml");
        std::fs::write(&path, b"title = 'a'\nx\xff").unwrap();
        let error = Library::load_case(None, &path).unwrap_err();
        assert!(error.to_string().contains("x.toml:2:2: a byte here is not UTF-8; save the file as UTF-8"), "{error}");
    }
}
