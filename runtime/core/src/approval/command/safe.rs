//! The commands that can write nothing and run nothing else, and with which arguments: a table (`safe.toml`) and how it is
//! read.
//!
//! The table is tried with its own examples when it is loaded. One that does not hold is no table: nothing is safe then.

use super::word::Word;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("safe.toml");

static SAFE: LazyLock<BTreeMap<String, Entry>> = LazyLock::new(|| load(TABLE).unwrap_or_default());

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    command: Vec<Entry>,
}

/// A command and the arguments for which it is safe.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    short: String,
    #[serde(default)]
    short_values: String,
    #[serde(default)]
    long: Vec<String>,
    #[serde(default)]
    long_values: Vec<String>,
    #[serde(default)]
    number: bool,
    operands: Operands,
    most: Option<usize>,
    safe: Vec<String>,
    not: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operands {
    None,
    Text,
    Paths,
    Pattern,
    Find,
    Sed,
    Any,
}

/// The paths that a safe command reads, in the order of its words; `None` where it is not safe. An empty list means that
/// it reads nothing, or the folder it runs in.
pub fn reads(argv: &[&str]) -> Option<Vec<String>> {
    let (program, arguments) = argv.split_first()?;
    judge(SAFE.get(*program)?, arguments)
}

/// Reads a table and tries its examples.
fn load(text: &str) -> Result<BTreeMap<String, Entry>, String> {
    let table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut entries = BTreeMap::new();
    for entry in table.command {
        for (example, expect) in
            entry.safe.iter().map(|text| (text, true)).chain(entry.not.iter().map(|text| (text, false)))
        {
            let words: Vec<String> =
                example.split(' ').map(|word| Word::read(word).text.unwrap_or_else(|| word.to_owned())).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let holds = words.first() == Some(&entry.name.as_str()) && judge(&entry, &words[1..]).is_some() == expect;
            if !holds {
                return Err(format!("the example {example:?} of {} does not hold", entry.name));
            }
        }
        if entries.insert(entry.name.clone(), entry).is_some() {
            return Err("a command is listed twice".to_owned());
        }
    }
    Ok(entries)
}

fn judge(entry: &Entry, arguments: &[&str]) -> Option<Vec<String>> {
    match entry.operands {
        Operands::Any => return Some(Vec::new()),
        Operands::Find => return find(arguments),
        Operands::Sed => return sed(arguments),
        Operands::None | Operands::Text | Operands::Paths | Operands::Pattern => {}
    }
    let (mut operands, mut pattern_given, mut only_operands) = (Vec::new(), false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if only_operands || !word.starts_with('-') || *word == "-" {
            operands.push(*word);
        } else if *word == "--" {
            only_operands = true;
        } else if word.starts_with("--") {
            pattern_given |= long(entry, word, &mut words)?;
        } else {
            pattern_given |= short(entry, word, &mut words)?;
        }
    }
    let paths = match entry.operands {
        Operands::None if operands.is_empty() => Vec::new(),
        Operands::Text => Vec::new(),
        Operands::Paths => operands,
        Operands::Pattern if pattern_given => operands,
        Operands::Pattern => operands.split_off(operands.len().min(1)),
        _ => return None,
    };
    let paths: Vec<String> = paths.into_iter().filter(|path| *path != "-").map(str::to_owned).collect();
    (paths.len() <= entry.most.unwrap_or(usize::MAX)).then_some(paths)
}

/// Takes a long option; tells whether it stands for the pattern.
fn long(entry: &Entry, word: &str, rest: &mut std::slice::Iter<'_, &str>) -> Option<bool> {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let has = |list: &[String]| list.iter().any(|known| known == name);
    if value.is_none() && has(&entry.long) {
        return Some(name == "--files");
    }
    if !has(&entry.long_values) {
        return None;
    }
    // `--color` alone is an option as well; what then is taken for its value is an operand that nobody looked at.
    if value.is_none() {
        if name == "--color" {
            return None;
        }
        rest.next()?;
    }
    Some(name == "--regexp")
}

/// Takes a cluster of short options; tells whether one stands for the pattern.
fn short(entry: &Entry, word: &str, rest: &mut std::slice::Iter<'_, &str>) -> Option<bool> {
    let cluster = &word[1..];
    if entry.number && cluster.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(false);
    }
    for (at, c) in cluster.char_indices() {
        if entry.short_values.contains(c) {
            if at + c.len_utf8() == cluster.len() {
                rest.next()?;
            }
            return Some(c == 'e' && entry.operands == Operands::Pattern);
        }
        if !entry.short.contains(c) {
            return None;
        }
    }
    Some(false)
}

/// Tests of `find` that look and nothing else, and whether each takes a value.
const FIND: &[(&str, bool)] = &[
    ("!", false),
    ("(", false),
    (")", false),
    ("-a", false),
    ("-and", false),
    ("-depth", false),
    ("-empty", false),
    ("-false", false),
    ("-iname", true),
    ("-ipath", true),
    ("-ls", false),
    ("-maxdepth", true),
    ("-mindepth", true),
    ("-mmin", true),
    ("-mtime", true),
    ("-name", true),
    ("-not", false),
    ("-o", false),
    ("-or", false),
    ("-path", true),
    ("-perm", true),
    ("-print", false),
    ("-print0", false),
    ("-prune", false),
    ("-size", true),
    ("-true", false),
    ("-type", true),
];

/// Whether this test of `find` takes a value; `None` where it is no test that looks and nothing else.
pub fn look(test: &str) -> Option<bool> {
    FIND.iter().find(|(name, _)| *name == test).map(|(_, takes_value)| *takes_value)
}

fn find(arguments: &[&str]) -> Option<Vec<String>> {
    let is_test = |word: &&&str| word.starts_with('-') || ["!", "(", ")"].contains(*word);
    let places = arguments.iter().take_while(|word| !is_test(word)).count();
    let mut words = arguments[places..].iter();
    while let Some(word) = words.next() {
        if look(word)? {
            words.next()?;
        }
    }
    Some(arguments[..places].iter().map(|place| (*place).to_owned()).collect())
}

/// `sed -n` with one range of lines to print, and files.
fn sed(arguments: &[&str]) -> Option<Vec<String>> {
    let [flag, script, files @ ..] = arguments else { return None };
    let number = |text: &str| !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit());
    let range = script.strip_suffix('p')?;
    let is_range = match range.split_once(',') {
        Some((from, to)) => number(from) && (number(to) || to == "$"),
        None => number(range),
    };
    let plain = !files.is_empty() && files.iter().all(|file| !file.starts_with('-'));
    (*flag == "-n" && is_range && plain).then(|| files.iter().map(|file| (*file).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expect: Option<&[&str]>) {
        let argv: Vec<&str> = words.split(' ').collect();
        let expect: Option<Vec<String>> = expect.map(|paths| paths.iter().map(|path| (*path).to_owned()).collect());
        assert_eq!(reads(&argv), expect, "{words}");
    }

    #[test]
    fn the_table_loads_and_its_examples_hold() {
        assert_eq!(load(TABLE).map(|table| table.len() > 30), Ok(true));
    }

    #[test]
    fn a_table_whose_examples_do_not_hold_is_none() {
        let entry = "[[command]]\nname = 'x'\noperands = 'none'\nsafe = ['x a']\nnot = []\n";
        assert_eq!(load(entry).err().as_deref(), Some("the example \"x a\" of x does not hold"));
        let entry = "[[command]]\nname = 'x'\noperands = 'any'\nsafe = []\nnot = ['x']\n";
        assert_eq!(load(entry).err().as_deref(), Some("the example \"x\" of x does not hold"));
        let entry = "[[command]]\nname = 'x'\noperands = 'any'\nsafe = []\nnot = []\n";
        assert_eq!(load(&entry.repeat(2)).err().as_deref(), Some("a command is listed twice"));
        assert!(load("[[command]]\nname = 'x'").is_err());
    }

    #[test]
    fn what_is_read_is_told() {
        check("ls", Some(&[]));
        check("ls -la a b", Some(&["a", "b"]));
        check("grep -rn x src", Some(&["src"]));
        check("grep -e x src", Some(&["src"]));
        check("rg --files src", Some(&["src"]));
        check("find a b -name c", Some(&["a", "b"]));
        check("sed -n 1p a b", Some(&["a", "b"]));
        check("head -n 5 - a", Some(&["a"]));
        check("cat -- -x", Some(&["-x"]));
        check("grep --color x a", None);
        check("make", None);
        check("git status", None);
    }
}
