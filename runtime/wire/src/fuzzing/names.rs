//! The property of the name ladder.

use crate::names::{self, Candidate, LONGEST, Meaning, NameMatch};
use std::collections::{BTreeMap, BTreeSet};

/// A tool as the input tells it: `name|alias|alias`, with a `-` in front where it is withheld and a `~` where it is not
/// to be suggested.
struct Told {
    name: String,
    aliases: Vec<String>,
    is_withheld: bool,
    is_suggested: bool,
}

impl Told {
    fn parse(line: &str) -> Told {
        let plain = line.strip_prefix(['-', '~']).unwrap_or(line);
        let mut names = plain.split('|').map(str::to_owned);
        Told {
            name: names.next().unwrap_or_default(),
            aliases: names.collect(),
            is_withheld: line.starts_with('-'),
            is_suggested: !line.starts_with('~'),
        }
    }

    fn candidate(&self) -> Candidate<'_> {
        Candidate {
            name: &self.name,
            aliases: &self.aliases,
            is_withheld: self.is_withheld,
            is_suggested: self.is_suggested,
        }
    }

    fn answers(&self, to: impl Fn(&str) -> bool) -> bool {
        to(&self.name) || self.aliases.iter().any(|alias| to(alias))
    }
}

/// Whatever is written in the first line, among whatever tools the other lines tell: the ladder ends, says the same for
/// every order of the tools, means only a tool of the list that is not withheld, and names no withheld one.
pub fn name_ladder(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.split('\n');
    let requested = lines.next().unwrap_or_default();
    // Names are unique, as they are in a registry.
    let tools: BTreeMap<String, Told> = lines.take(64).map(Told::parse).map(|told| (told.name.clone(), told)).collect();
    let candidates: Vec<Candidate<'_>> = tools.values().map(Told::candidate).collect();
    let meaning = names::resolve(requested, &candidates);
    let reversed: Vec<Candidate<'_>> = candidates.iter().rev().copied().collect();
    assert_eq!(meaning, names::resolve(requested, &reversed), "the order of the tools decided");
    let readable = (1..=LONGEST).contains(&requested.len())
        && requested.chars().all(|c| c.is_ascii_alphanumeric() || "_- ".contains(c));
    match &meaning {
        Meaning::Tool { name, how } => {
            assert!(readable && !tools[*name].is_withheld);
            check_reading(requested, &tools, name, *how);
        }
        Meaning::Withheld => assert!(readable && tools.values().any(|told| told.is_withheld || !told.is_suggested)),
        Meaning::Several(named) => {
            assert!(readable && !named.is_empty());
            check_named(&tools, named);
        }
        Meaning::Unknown(near) => {
            assert!(readable && tools.values().all(|told| !told.answers(|name| name == requested)));
            check_near(&tools, near);
        }
        Meaning::NoName(near) => {
            assert!(!readable);
            check_near(&tools, near);
        }
    }
    check_forms(requested);
}

/// A tool's own name is itself, whatever else is near; a guess is the only tool that begins so.
fn check_reading(requested: &str, tools: &BTreeMap<String, Told>, name: &str, how: NameMatch) {
    if tools.contains_key(requested) {
        assert_eq!((name, how), (requested, NameMatch::Exact));
    }
    if how == NameMatch::Prefix {
        let wanted = names::snake(requested);
        let begins: Vec<&Told> =
            tools.values().filter(|told| told.answers(|name| names::snake(name).starts_with(&wanted))).collect();
        assert!(wanted.len() >= 3 && begins.len() == 1 && begins[0].name == name);
    }
}

fn check_named(tools: &BTreeMap<String, Told>, named: &[&str]) {
    assert!(named.iter().all(|name| !tools[*name].is_withheld && tools[*name].is_suggested));
    assert_eq!(named.iter().collect::<BTreeSet<_>>().len(), named.len(), "a tool is named twice");
}

fn check_near(tools: &BTreeMap<String, Told>, near: &[&str]) {
    assert!(near.len() <= 3);
    check_named(tools, near);
}

fn check_forms(requested: &str) {
    let form = names::legal_form(requested);
    assert!(names::is_legal(&form) && names::legal_form(&form) == form);
    assert!(names::is_legal(requested) == (form == requested));
    // Each of at most 64 characters is escaped to at most ten.
    assert!(names::quoted(requested).len() < 10 * LONGEST + 40);
}
