//! Patterns: in which of thousands of texts a regular expression is found.
//!
//! Most expressions have words without which nothing matches. They are read off the expression, looked for in all texts at
//! once, and the expression is asked only about the texts that have one of them. That saves time and changes no answer: what
//! is found is what the expression finds in each field by itself.

use memchr::memmem::Finder;
use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use thiserror::Error;

/// How large a compiled pattern may be, and what it keeps while it looks, in bytes.
const COMPILED: usize = 1 << 18;
/// How deep it may be nested.
const NESTED: u32 = 32;
/// Among how many words one must be found, at most: each is a search of its own.
const WORDS: usize = 8;
/// In how many ways a letter is written at most, the capital one and signs of its own counted.
const WRITTEN: usize = 3;

/// Why a text is no pattern.
#[derive(Debug, Error)]
pub enum PatternError {
    /// It cannot be read.
    #[error("{0}")]
    Syntax(#[from] Box<regex_syntax::Error>),
    /// It asks for more than it may.
    #[error("it is larger than {COMPILED} bytes when it is compiled")]
    TooLarge(#[source] Box<BuildError>),
}

/// A regular expression that does not regard case.
pub struct Pattern {
    expression: Regex,
    /// Words, folded, of which every text that matches has at least one; none when nothing is known.
    needed: Vec<Finder<'static>>,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When it is none, is nested too deep or would be too large.
    pub fn of(text: &str) -> Result<Pattern, PatternError> {
        let mut parser = ParserBuilder::new().case_insensitive(true).nest_limit(NESTED).build();
        let read = parser.parse(text).map_err(Box::new)?;
        // Whether there is a match is all that is asked, about a few texts: what would make the longest searches faster
        // costs more to prepare than it saves.
        let lean = Config::new().which_captures(WhichCaptures::None).onepass(false).dfa(false).auto_prefilter(false);
        let bounded = lean.nfa_size_limit(Some(COMPILED)).hybrid_cache_capacity(COMPILED);
        let expression = Regex::builder().configure(bounded).build_from_hir(&read);
        let expression = expression.map_err(|error| PatternError::TooLarge(Box::new(error)))?;
        let needed = needed(&read).iter().map(|word| Finder::new(word).into_owned()).collect();
        Ok(Pattern { expression, needed })
    }

    /// Whether it is found in this field.
    pub fn matches(&self, field: &str) -> bool {
        self.expression.is_match(field)
    }
}

/// Texts to be looked through for words, one behind the other.
#[derive(Default)]
pub struct Texts {
    folded: String,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl Texts {
    /// Adds a text that has these fields.
    pub fn add(&mut self, fields: [&str; 2]) {
        for field in fields {
            if field.is_ascii() {
                let from = self.folded.len();
                self.folded.push_str(field);
                self.folded[from..].make_ascii_lowercase();
            } else {
                self.folded.extend(field.chars().map(fold));
            }
        }
        self.ends.push(self.folded.len());
    }

    /// For each text, in the order in which they were added, whether the pattern may be found in one of its fields.
    pub fn candidates(&self, pattern: &Pattern) -> Vec<bool> {
        let mut candidates = vec![pattern.needed.is_empty(); self.ends.len()];
        for word in &pattern.needed {
            let mut from = 0;
            while let Some(at) = word.find(&self.folded.as_bytes()[from..]) {
                let text = self.ends.partition_point(|end| *end <= from + at);
                let Some(candidate) = candidates.get_mut(text) else { break };
                *candidate = true;
                from = self.ends[text];
            }
        }
        candidates
    }
}

/// A letter as all its ways of being written are looked for. Beside the capital ones that is two signs, for Kelvin and the
/// long s: no other stands for an ASCII letter regardless of case.
fn fold(c: char) -> char {
    match c {
        '\u{212A}' => 'k',
        '\u{17F}' => 's',
        c => c.to_ascii_lowercase(),
    }
}

/// Words of which every match has at least one, as [`fold`] leaves it; none when nothing is known.
fn needed(hir: &Hir) -> Vec<String> {
    match hir.kind() {
        HirKind::Literal(_) | HirKind::Class(_) => letters(hir).into_iter().collect(),
        HirKind::Capture(group) => needed(&group.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => needed(&repeated.sub),
        HirKind::Alternation(ways) => {
            let mut all = Vec::new();
            for way in ways {
                let of_way = needed(way);
                if of_way.is_empty() || all.len() + of_way.len() > WORDS {
                    return Vec::new();
                }
                all.extend(of_way);
            }
            all
        }
        HirKind::Concat(parts) => of_parts(parts),
        HirKind::Empty | HirKind::Look(_) | HirKind::Repetition(_) => Vec::new(),
    }
}

/// The same of parts that follow each other: letters that stand together are one word, and the longest words tell most.
fn of_parts(parts: &[Hir]) -> Vec<String> {
    let shortest = |words: &[String]| words.iter().map(String::len).min().unwrap_or(0);
    let (mut best, mut word) = (Vec::new(), String::new());
    let mut offer = |words: Vec<String>| {
        if shortest(&words) > shortest(&best) {
            best = words;
        }
    };
    for part in parts {
        if let Some(more) = letters(part) {
            word.push_str(&more);
        } else {
            offer(vec![std::mem::take(&mut word)]);
            offer(needed(part));
        }
    }
    offer(vec![word]);
    best
}

/// What a part stands for, folded, if that is one text.
fn letters(hir: &Hir) -> Option<String> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(std::str::from_utf8(&literal.0).ok()?.chars().map(fold).collect()),
        HirKind::Class(Class::Unicode(class)) => {
            let ways = class.iter().flat_map(|range| range.start()..=range.end());
            let ways: Vec<char> = ways.take(WRITTEN + 1).map(fold).collect();
            let first = *ways.first()?;
            (ways.len() <= WRITTEN && ways.iter().all(|way| *way == first)).then(|| first.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(pattern: &str, expect: &[&str]) {
        let mut parser = ParserBuilder::new().case_insensitive(true).build();
        assert_eq!(needed(&parser.parse(pattern).expect("a pattern")), expect, "{pattern}");
    }

    #[test]
    fn what_every_match_has_is_read_off() {
        check("archive.*invoice", &["archive"]);
        check("Make_Issue", &["make_issue"]);
        check("(create|delete) (issue|ticket)", &["create", "delete"]);
        check("^mcp__.*(issues|channels)$", &["issues", "channels"]);
        check(r"\bk4\d+", &["k4"]);
        check("(?-i:Send) a?", &["send "]);
        check("(?:one|two)+x", &["one", "two"]);
    }

    #[test]
    fn where_a_match_may_lack_a_word_nothing_is_needed() {
        for pattern in ["", ".", "(issue)?", "issue|", "a|.", "[ab]", r"\d+", "(?:issue){0,3}", "^$", "é|x"] {
            check(pattern, &[]);
        }
        check("(issue)?s", &["s"]);
        check("résumé", &["sum"]);
        check("a|b|c|d|e|f|g|h|ix", &[]);
    }

    /// Which of these tools are found: what it comes to without looking for words first.
    fn plainly(pattern: &str, tools: &[[&str; 2]]) -> Vec<bool> {
        let plain = regex::RegexBuilder::new(pattern).case_insensitive(true).build().expect("a pattern");
        tools.iter().map(|fields| fields.iter().any(|field| plain.is_match(field))).collect()
    }

    fn found(pattern: &str, tools: &[[&str; 2]]) -> Vec<bool> {
        let pattern = Pattern::of(pattern).expect("a pattern");
        let mut texts = Texts::default();
        tools.iter().for_each(|fields| texts.add(*fields));
        let candidates = texts.candidates(&pattern);
        let found = |(fields, may): (&[&str; 2], bool)| may && fields.iter().any(|field| pattern.matches(field));
        tools.iter().zip(candidates).map(found).collect()
    }

    const TOOLS: [[&str; 2]; 9] = [
        ["mcp__chat__send_message", "Sends a message\nto a channel"],
        ["mcp__tracker__createIssue", "CREATES an issue"],
        ["send", "message"],
        ["sendmessage", ""],
        ["", ""],
        ["to", "channels — of the résumé"],
        ["\u{212A}elvin", "a ta\u{17F}k"],
        ["task_K", "RÉSUMÉ"],
        ["x", "to\r\nsend"],
    ];

    #[test]
    fn each_field_is_a_text_of_its_own() {
        for pattern in [
            "^to",
            "to$",
            "(?m)^to",
            "(?m)message$",
            "^message$",
            r"\Amessage\z",
            "send.*message",
            "(?s)send.*channel",
            "sendmessage",
            r"send\W*message",
            "message\nto",
            r"message\sto",
            r"\bsend\b",
            r"\Bs\b",
            r"s\b|\bto",
            "^$",
            "",
            "kelvin",
            "task",
            "(?-i:task)",
            "(?-i:K)",
            "(?-i)CREATES",
            "résumé",
            r"\bré",
            "[k]elvin",
            "ta[s]k",
            r"\p{Lu}",
            r"(?i-u:task)",
            "issue|kelvin",
            "[^a-z]",
            "[[:upper:]]",
            "k{1,2}",
            "(send|create)",
            "channels? .* re?",
            "s|\u{17F}",
        ] {
            assert_eq!(found(pattern, &TOOLS), plainly(pattern, &TOOLS), "{pattern:?}");
        }
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let fault = |pattern: &str| Pattern::of(pattern).err().expect("a fault").to_string();
        assert!(fault("(").contains("unclosed group"), "{}", fault("("));
        assert!(fault("(a{1000}){1000}").contains("larger than"), "{}", fault("(a{1000}){1000}"));
        assert!(fault(&format!("{}a{}", "(".repeat(40), ")".repeat(40))).contains("nest"));
        assert!(fault(r"(?-u:\xff)").contains("UTF-8"));
    }

    /// What patterns are put together from.
    const PIECES: [&str; 24] = [
        "a", "k", "S", "é", "K", "ks", ".", "[as]", "[^k]", "(ka|s)", "(k)?", r"\s", r"\w+", "^", "$", r"\b", r"\B",
        "(?m)", "(?-i)", "(?s)", "|", "{2}", "*", "\u{17F}",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

        #[test]
        fn looking_for_words_first_changes_no_answer(
            pattern in proptest::collection::vec(proptest::sample::select(&PIECES), 0..6),
            tools in proptest::collection::vec(["[akS\u{212A}\u{17F}éÉ \n]{0,5}", "[aAkKsé \n]{0,8}"], 0..6),
        ) {
            let pattern = pattern.concat();
            prop_assume!(Pattern::of(&pattern).is_ok());
            let tools: Vec<[&str; 2]> = tools.iter().map(|[name, text]| [name.as_str(), text.as_str()]).collect();
            prop_assert_eq!(found(&pattern, &tools), plainly(&pattern, &tools));
        }
    }
}
