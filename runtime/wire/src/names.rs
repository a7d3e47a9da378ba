//! Names: which tool a name means that a model wrote.
//!
//! A ladder of readings, each looser than the one before. The first rung on which anything answers decides; what a rung
//! finds is never weighed against the next. All tools take part, withheld ones and aliases included, because a name that
//! means a withheld tool must not slide on to its neighbour. Similarity never runs anything: it only suggests.
//!
//! This file does not know what a tool does, and neither words an answer nor decides who is asked about a guess; it says
//! that it was one ([`NameMatch::Prefix`]).

use std::collections::BTreeSet;

#[cfg(test)]
mod tests;

/// The longest name that is looked at. No provider advertises a longer one, and distances cost its square.
pub const LONGEST: usize = 64;
/// The shortest beginning of a name that may stand for it.
const SHORTEST_PREFIX: usize = 3;
/// How far a suggestion may be from what was written, in edits.
const FARTHEST: usize = 3;
/// The most names that are suggested.
const SUGGESTIONS: usize = 3;

/// A tool as the ladder sees it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its own name.
    pub name: &'a str,
    /// Other names that it answers to.
    pub aliases: &'a [String],
    /// Whether it may be called at all. One that may not takes part in the ladder and is never handed out.
    pub is_withheld: bool,
    /// Whether the model may be told of it as the one it could have meant. A withheld tool is never suggested.
    pub is_suggested: bool,
}

/// How a name came to mean a tool, from the strictest reading to the loosest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameMatch {
    /// As it is written.
    Exact,
    /// But for upper and lower case.
    Case,
    /// But for hyphens or blanks in place of underscores.
    Separator,
    /// CamelCase in place of words joined by underscores.
    Camel,
    /// With `tool` as its last word.
    Suffix,
    /// The beginning of its name, and of no other: a guess.
    Prefix,
}

impl NameMatch {
    /// Every reading, in the order in which they are tried.
    pub const LADDER: [NameMatch; 6] = [
        NameMatch::Exact,
        NameMatch::Case,
        NameMatch::Separator,
        NameMatch::Camel,
        NameMatch::Suffix,
        NameMatch::Prefix,
    ];

    /// The spelling in a log.
    pub fn as_str(self) -> &'static str {
        match self {
            NameMatch::Exact => "exact",
            NameMatch::Case => "case",
            NameMatch::Separator => "separator",
            NameMatch::Camel => "camel",
            NameMatch::Suffix => "suffix",
            NameMatch::Prefix => "prefix",
        }
    }
}

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// One tool.
    Tool {
        /// Its own name.
        name: &'a str,
        /// How far the written name had to be bent.
        how: NameMatch,
    },
    /// A tool that may not be called, whichever it is.
    Withheld,
    /// Several tools; these of them may be named to the model, sorted. At least one.
    Several(Vec<&'a str>),
    /// No tool; these are near, nearest first, at most three, none farther than three edits.
    Unknown(Vec<&'a str>),
    /// No tool, because it is no name: empty, too long, or with characters that no name has. These are near.
    NoName(Vec<&'a str>),
}

/// What `requested` means among `tools`. The same for every order of the tools.
pub fn resolve<'a>(requested: &str, tools: &[Candidate<'a>]) -> Meaning<'a> {
    if !is_readable(requested) {
        return Meaning::NoName(suggestions(requested, tools));
    }
    for how in NameMatch::LADDER {
        let found = on_rung(how, requested, tools);
        match found.as_slice() {
            [] => {}
            [tool] if tool.is_withheld => return Meaning::Withheld,
            [tool] => return Meaning::Tool { name: tool.name, how },
            several => {
                let named: BTreeSet<&str> = several.iter().filter(|t| is_suggested(t)).map(|t| t.name).collect();
                return if named.is_empty() {
                    Meaning::Withheld
                } else {
                    Meaning::Several(named.into_iter().collect())
                };
            }
        }
    }
    Meaning::Unknown(suggestions(requested, tools))
}

/// Whether every provider accepts the name: `^[a-zA-Z0-9_-]{1,64}$`.
pub fn is_legal(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The name as it may be sent back to a provider: a legal name as it is, another with its illegal characters replaced,
/// cut at 64, never empty.
pub fn legal_form(name: &str) -> String {
    if is_legal(name) {
        return name.to_owned();
    }
    let clean: String =
        name.chars().take(LONGEST).map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    if clean.is_empty() { "unnamed".to_owned() } else { clean }
}

/// The name as it is quoted in an answer: escaped, and cut where it is longer than any tool's.
pub fn quoted(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}… ({} bytes)", &name[..end], name.len()),
        None => format!("{name:?}"),
    }
}

/// The words of a name in lower case, joined by underscores: `HTTPGet`, `http-get` and `Http Get` are all `http_get`.
pub fn snake(name: &str) -> String {
    let chars: Vec<char> = name.trim().chars().collect();
    let mut out = String::with_capacity(chars.len() + 8);
    for (i, &c) in chars.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| chars.get(i));
        let after = chars.get(i + 1);
        let starts_word = c.is_ascii_uppercase()
            && before.is_some_and(|b| {
                b.is_ascii_lowercase()
                    || b.is_ascii_digit()
                    || (b.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
            });
        if starts_word {
            out.push('_');
        }
        out.push(if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() });
    }
    out
}

/// Lower case, with hyphens and blanks as underscores.
fn separated(name: &str) -> String {
    name.trim().chars().map(|c| if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// Whether the name is looked at at all: letters, digits and separators of ASCII. Nothing else is folded into them, since
/// a letter that only looks like another must not turn a name that is denied into one that is not.
fn is_readable(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' '))
}

/// The tools that answer to the name on a rung. A tool's own name outranks another's alias.
fn on_rung<'t, 'a>(how: NameMatch, requested: &str, tools: &'t [Candidate<'a>]) -> Vec<&'t Candidate<'a>> {
    let Some(wanted) = reading(how, requested) else { return Vec::new() };
    let answers = |name: &str| match how {
        NameMatch::Exact => name == wanted,
        NameMatch::Case => name.eq_ignore_ascii_case(&wanted),
        NameMatch::Separator => separated(name) == wanted,
        NameMatch::Camel | NameMatch::Suffix => snake(name) == wanted,
        NameMatch::Prefix => snake(name).starts_with(&wanted),
    };
    let own: Vec<&Candidate<'a>> = tools.iter().filter(|tool| answers(tool.name)).collect();
    let by_alias = |tool: &&Candidate<'a>| tool.aliases.iter().any(|alias| answers(alias));
    match how {
        // A beginning is a guess, and everything that it could mean counts.
        NameMatch::Prefix => tools.iter().filter(|tool| answers(tool.name) || by_alias(tool)).collect(),
        _ if own.is_empty() => tools.iter().filter(by_alias).collect(),
        _ => own,
    }
}

/// What is looked for on a rung; `None` where the rung has no reading of the name.
fn reading(how: NameMatch, requested: &str) -> Option<String> {
    match how {
        NameMatch::Exact | NameMatch::Case => Some(requested.to_owned()),
        NameMatch::Separator => Some(separated(requested)),
        NameMatch::Camel => Some(snake(requested)),
        NameMatch::Suffix => snake(requested).strip_suffix("_tool").filter(|rest| !rest.is_empty()).map(str::to_owned),
        NameMatch::Prefix => Some(snake(requested)).filter(|name| name.len() >= SHORTEST_PREFIX),
    }
}

fn is_suggested(tool: &Candidate<'_>) -> bool {
    tool.is_suggested && !tool.is_withheld
}

/// The tools' own names near to what was written, nearest first.
fn suggestions<'a>(requested: &str, tools: &[Candidate<'a>]) -> Vec<&'a str> {
    if requested.len() > LONGEST {
        return Vec::new();
    }
    let wanted = snake(requested);
    let mut near: BTreeSet<(usize, usize, &'a str)> = BTreeSet::new();
    for tool in tools.iter().filter(|tool| is_suggested(tool)) {
        let names = std::iter::once(tool.name).chain(tool.aliases.iter().map(String::as_str));
        let best = names.filter_map(|name| nearness(&wanted, &snake(name))).min();
        near.extend(best.map(|(rank, distance)| (rank, distance, tool.name)));
    }
    near.into_iter().map(|(_, _, name)| name).take(SUGGESTIONS).collect()
}

/// How near two names are: whether one begins with the other (0), holds it (1) or neither (2), then the edits between
/// them. `None` beyond three edits, and where every letter would have to change.
fn nearness(wanted: &str, name: &str) -> Option<(usize, usize)> {
    let distance = strsim::levenshtein(wanted, name);
    if distance > FARTHEST || distance >= wanted.chars().count() {
        return None;
    }
    let rank = if name.starts_with(wanted) || wanted.starts_with(name) {
        0
    } else if name.contains(wanted) || wanted.contains(name) {
        1
    } else {
        2
    };
    Some((rank, distance))
}
