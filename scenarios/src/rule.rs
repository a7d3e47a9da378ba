//! Rules: what an agent must, should or may do, each with an id that never changes meaning.
//!
//! A rule is data. What watches it (an oracle, the checks of cases) and what can break it (a planted fault) are written
//! elsewhere and name it by its id.

use crate::source::{Document, Problem, Problems, did_you_mean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slot_oracles::{OracleCheck, oracles};
use std::{collections::BTreeMap, fmt};

/// One file of rules.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleFile {
    /// The area: the part of an id before the number, such as `PAIR`.
    pub area: String,
    /// The area's name for a person.
    pub title: String,
    /// The rules.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The stable id: area, a hyphen, two digits.
    pub id: String,
    /// The rule in a few words.
    pub title: String,
    /// The rule in one to three sentences.
    pub statement: String,
    /// How binding it is.
    pub level: Level,
    /// Whom it binds.
    pub profile: Profile,
    /// What is needed to see it broken.
    pub observer: Observer,
    /// Where it comes from: a protocol's own text, a provider's, or the kind of harm it prevents.
    pub origin: String,
    /// The oracles that watch it in every case, beside the checks that name it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub oracles: Vec<String>,
}

/// How binding a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Breaking it fails the run.
    Must,
    /// Breaking it is reported.
    Should,
    /// It is told whether it is kept.
    May,
}

/// Whom a rule binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Every agent: breaking it does harm, or breaks a provider's or protocol's own text.
    Universal,
    /// A runtime built after this design; another may decide otherwise.
    House,
}

/// What is needed to see a rule broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Observer {
    /// The requests, the disk and the processes: any agent can be judged.
    Wire,
    /// The runtime's own events.
    Runtime,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Must => "must",
            Level::Should => "should",
            Level::May => "may",
        })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Profile::Universal => "universal",
            Profile::House => "house",
        })
    }
}

impl fmt::Display for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Observer::Wire => "wire",
            Observer::Runtime => "runtime",
        })
    }
}

/// A rule, its area and where it is written.
#[derive(Clone, Debug)]
pub struct BookedRule {
    /// The rule.
    pub rule: Rule,
    /// Its area's name for a person.
    pub area_title: String,
    /// A problem that begins at its id, for whoever finds one later.
    at: crate::source::Place,
}

impl BookedRule {
    /// A problem with this rule.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        self.at.clone().problem("", message)
    }
}

/// All rules, by id.
#[derive(Clone, Debug, Default)]
pub struct RuleBook(BTreeMap<String, BookedRule>);

impl RuleBook {
    /// Reads rule files, given as pairs of name and text.
    ///
    /// # Errors
    /// The problems of all files.
    pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<RuleBook, Problems> {
        let (mut book, mut problems) = (RuleBook::default(), Vec::new());
        for (name, text) in files {
            match Document::parse(name, text).and_then(|doc| Ok((doc.read::<RuleFile>()?, doc))) {
                Ok((file, doc)) => book.add(file, &doc, &mut problems),
                Err(found) => problems.extend(found.0),
            }
        }
        Problems::none_or(problems, book)
    }

    fn add(&mut self, file: RuleFile, doc: &Document, problems: &mut Vec<Problem>) {
        if file.area.is_empty() || !file.area.bytes().all(|b| b.is_ascii_uppercase()) {
            let message = format!("the area {:?} is not written in capital letters", file.area);
            problems.push(doc.find("area").problem("area", message));
        }
        for (index, rule) in file.rules.into_iter().enumerate() {
            let field = format!("rule[{index}].id");
            let at = doc.find(&field);
            if !is_id_of(&rule.id, &file.area) {
                let message = format!("the id {:?} is not the area {:?}, a hyphen and two digits", rule.id, file.area);
                problems.push(at.clone().problem(&field, message));
                continue;
            }
            if let Some(first) = self.0.get(&rule.id) {
                let message = format!("the id {:?} is given a second time", rule.id);
                let fix = format!("the first is at {}:{}", first.at.file, first.at.line);
                problems.push(at.clone().problem(&field, message).with_fix(fix));
                continue;
            }
            for (nth, oracle) in rule.oracles.iter().enumerate() {
                let field = format!("rule[{index}].oracles[{nth}]");
                if let Err((message, fix)) = check_watch(oracle, &rule.id) {
                    problems.push(doc.find(&field).problem(&field, message).with_fix(fix));
                }
            }
            self.0.insert(rule.id.clone(), BookedRule { rule, area_title: file.title.clone(), at });
        }
    }

    /// The rule with this id.
    pub fn get(&self, id: &str) -> Option<&BookedRule> {
        self.0.get(id)
    }

    /// The ids, sorted.
    pub fn ids(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Leaves out the rules that do not satisfy `keep`.
    pub fn retain(&mut self, keep: impl Fn(&Rule) -> bool) {
        self.0.retain(|_, booked| keep(&booked.rule));
    }

    /// The rules, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = &BookedRule> {
        self.0.values()
    }
}

/// Whether `oracle` can watch `rule` in every case; else what is wrong, and the fix.
fn check_watch(oracle: &str, rule: &str) -> Result<(), (String, String)> {
    let Some(found) = oracles::by_id(oracle) else {
        let known: Vec<&str> = slot_oracles::ORACLES.iter().map(|o| o.id).collect();
        return Err((format!("there is no oracle {oracle:?}"), did_you_mean(oracle, &known)));
    };
    if !found.rules.contains(&rule) {
        let fix = format!("it watches {}", found.rules.join(", "));
        return Err((format!("oracle {oracle} does not watch {rule}"), fix));
    }
    if matches!(found.check, OracleCheck::Pair(_)) {
        let fix = format!("name it in a check of a case: oracle = {oracle:?}");
        return Err((format!("oracle {oracle} compares two runs, and cannot watch every case"), fix));
    }
    Ok(())
}

fn is_id_of(id: &str, area: &str) -> bool {
    id.strip_prefix(area)
        .and_then(|rest| rest.strip_prefix('-'))
        .is_some_and(|number| number.len() == 2 && number.bytes().all(|b| b.is_ascii_digit()))
}

/// A book of rules with these ids and levels, all of the area of the first.
#[cfg(test)]
pub(crate) fn sample(rules: &[(&str, &str)]) -> RuleBook {
    let area = rules[0].0.split('-').next().unwrap_or_default();
    let mut text = format!("area = '{area}'\ntitle = 't'\n");
    for (id, level) in rules {
        text.push_str(&format!(
            "[[rule]]\nid = '{id}'\ntitle = 'title of {id}'\nstatement = 's'\nlevel = '{level}'\n\
             profile = 'universal'\nobserver = 'wire'\norigin = 'o'\n"
        ));
    }
    RuleBook::read([("r.toml", text.as_str())]).unwrap_or_else(|problems| panic!("{problems}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
area = "PAIR"
title = "Calls and results"
[[rule]]
id = "PAIR-01"
title = "t"
statement = "s"
level = "must"
profile = "universal"
observer = "wire"
origin = "o"
oracles = ["O01"]
"#;

    /// Reads the good file after one replacement; `expect` is a part of the only problem.
    #[track_caller]
    fn check(from: &str, to: &str, expect: &str) {
        assert!(GOOD.contains(from));
        let text = GOOD.replace(from, to);
        let problems = RuleBook::read([("r.toml", text.as_str())]).unwrap_err();
        assert_eq!(problems.0.len(), 1, "{problems}");
        assert!(problems.to_string().contains(expect), "{problems}");
    }

    #[test]
    fn a_good_file_is_read() {
        let book = RuleBook::read([("r.toml", GOOD)]).unwrap();
        assert_eq!(book.ids(), ["PAIR-01"]);
        assert_eq!(book.get("PAIR-01").unwrap().rule.level, Level::Must);
    }

    #[test]
    fn an_id_is_area_and_two_digits() {
        check("PAIR-01", "PAIR-1", "r.toml:5:6: the id \"PAIR-1\" is not the area");
        check("id = \"PAIR-01\"", "id = \"REG-01\"", "is not the area \"PAIR\"");
    }

    #[test]
    fn an_oracle_must_exist_and_watch_the_rule() {
        check("O01", "O99", "r.toml:12:12: there is no oracle \"O99\" in rule[0].oracles[0]; did you mean");
        check("O01", "O02", "oracle O02 does not watch PAIR-01 in rule[0].oracles[0]; it watches PAIR-04");
    }

    #[test]
    fn a_pair_oracle_cannot_watch_every_case() {
        let text = GOOD.replace("PAIR", "LIVE").replace("LIVE-01", "LIVE-03").replace("O01", "O53");
        let problems = RuleBook::read([("r.toml", text.as_str())]).unwrap_err();
        assert!(problems.to_string().contains("compares two runs"), "{problems}");
    }

    #[test]
    fn an_id_is_given_once() {
        let problems = RuleBook::read([("a.toml", GOOD), ("b.toml", GOOD)]).unwrap_err();
        assert!(problems.to_string().contains("b.toml:5:6: the id \"PAIR-01\" is given a second time"), "{problems}");
        assert!(problems.to_string().contains("the first is at a.toml:5"), "{problems}");
    }

    #[test]
    fn an_unknown_level_is_named() {
        check("\"must\"", "\"muss\"", "r.toml:8:9: unknown value \"muss\" in rule[0].level; did you mean \"must\"?");
    }
}
