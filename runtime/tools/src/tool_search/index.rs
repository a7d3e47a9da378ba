//! The index: which tools a few words describe, by BM25 in whole numbers, so that an order is the same on every machine.
//!
//! It knows documents of words and nothing of tools. Equal scores are ordered by name. Words are numbers here: a text is read
//! once, for however many indexes.

use std::collections::HashMap;

/// The parts that a logarithm to the base of two is counted in.
const SCALE: u64 = 1 << 16;

/// Words, each known by a number from then on. Several indexes may share it.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// Only asked about one word at a time: its order is nobody's.
    numbers: HashMap<String, usize>,
}

impl Vocabulary {
    /// The numbers of a text's words, in their order; a word that is new gets the next.
    pub fn learn(&mut self, text: &str) -> Vec<usize> {
        let mut numbers = Vec::new();
        split(text, |word| {
            let next = self.numbers.len();
            numbers.push(match self.numbers.get(word) {
                Some(number) => *number,
                None => *self.numbers.entry(word.to_owned()).or_insert(next),
            });
        });
        numbers
    }

    /// The numbers of those words of a text that are known, each once.
    pub fn known(&self, text: &str) -> Vec<usize> {
        let mut numbers = Vec::new();
        split(text, |word| numbers.extend(self.numbers.get(word)));
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

/// An index over documents.
#[derive(Clone, Debug, Default)]
pub struct Index {
    names: Vec<String>,
    lengths: Vec<u64>,
    /// At the number of each word: the documents that have it, with how often.
    places: Vec<Vec<(usize, u64)>>,
    total: u64,
}

impl Index {
    /// Adds a document: its name, and the numbers of its words with how much each counts.
    pub fn add(&mut self, name: &str, parts: &[(&[usize], u64)]) {
        let document = self.names.len();
        let mut length = 0;
        for (words, weight) in parts {
            for word in *words {
                if *word >= self.places.len() {
                    self.places.resize_with(word + 1, Vec::new);
                }
                let places = &mut self.places[*word];
                match places.last_mut().filter(|(last, _)| *last == document) {
                    Some((_, count)) => *count += weight,
                    None => places.push((document, *weight)),
                }
                length += weight;
            }
        }
        self.names.push(name.to_owned());
        self.lengths.push(length);
        self.total += length;
    }

    /// The documents that have one of these words, best first, each as the number of those added before it, with its
    /// score.
    pub fn search(&self, words: &[usize]) -> Vec<(usize, u64)> {
        let all = self.names.len() as u64;
        let mean = (self.total / all.max(1)).max(1);
        let mut scores: Vec<Option<u64>> = vec![None; self.names.len()];
        for places in words.iter().filter_map(|word| self.places.get(*word)) {
            let rarity = rarity(all, places.len() as u64);
            for (document, count) in places {
                // k1 = 1.2 and b = 0.75, in tenths and with the mean length multiplied out.
                let weight = 10 * count * mean + 3 * mean + 9 * self.lengths[*document];
                *scores[*document].get_or_insert(0) +=
                    rarity.saturating_mul(*count).saturating_mul(22 * mean) / weight.max(1);
            }
        }
        let scored = |(at, score): (usize, Option<u64>)| score.map(|score| (at, score));
        let mut found: Vec<(usize, u64)> = scores.into_iter().enumerate().filter_map(scored).collect();
        found.sort_unstable_by(|(a, one), (b, other)| other.cmp(one).then_with(|| self.names[*a].cmp(&self.names[*b])));
        found
    }

    /// The name of a document.
    pub fn name(&self, document: usize) -> &str {
        &self.names[document]
    }
}

/// How much a word tells that `with` of `all` documents have, never nothing.
fn rarity(all: u64, with: u64) -> u64 {
    log2(2 * all + 2).saturating_sub(log2(2 * with + 1)).max(1)
}

/// The logarithm to the base of two, between powers along a straight line.
fn log2(n: u64) -> u64 {
    let whole = u64::from(n.max(1).ilog2());
    let power = 1_u64 << whole;
    whole * SCALE + (n.max(1) - power) * SCALE / power
}

/// Tells the words of a text in lower case: split at anything but letters and digits, and within names such as
/// `createIssue`. A word and its plural are one.
fn split(text: &str, mut tell: impl FnMut(&str)) {
    let mut word = String::new();
    let mut finish = |word: &mut String| {
        let is_plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
        let told = &word[..word.len() - usize::from(is_plural)];
        if !told.is_empty() {
            tell(told);
        }
        word.clear();
    };
    let mut lower = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && lower {
            finish(&mut word);
        }
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        lower = c.is_lowercase();
    }
    finish(&mut word);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(query: &str, expect: &[&str]) {
        let (mut words, mut index) = (Vocabulary::default(), Index::default());
        for (name, text) in [
            ("issue_create", "Creates an issue in the tracker"),
            ("issue_list", "Lists the issues of the tracker"),
            ("message_send", "Sends a message to a channel"),
            ("message_send_all", "Sends a message to a channel"),
            ("weather", "The weather of a place"),
        ] {
            index.add(name, &[(&words.learn(name), 3), (&words.learn(text), 1)]);
        }
        let found: Vec<&str> = index.search(&words.known(query)).into_iter().map(|(at, _)| index.name(at)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn what_has_more_of_the_words_comes_first() {
        check("create an issue", &["issue_create", "issue_list"]);
        check("send message", &["message_send", "message_send_all"]);
        check("issues", &["issue_create", "issue_list"]);
        check("WEATHER?", &["weather"]);
        check("nothing of it", &["weather", "issue_list"]);
        check("zebra", &[]);
        check("", &[]);
    }

    #[test]
    fn words_are_split_where_names_are() {
        let check = |text: &str, expect: &[&str]| {
            let mut words = Vec::new();
            split(text, |word| words.push(word.to_owned()));
            assert_eq!(words, expect);
        };
        check("mcp__git-hub__createIssue HTTPGet v2", &["mcp", "git", "hub", "create", "issue", "httpget", "v2"]);
        check("glass files", &["glass", "file"]);
        check("ÉTÉ des Îles —s", &["été", "des", "île", "s"]);
    }

    #[test]
    fn a_rare_word_tells_more() {
        assert!(rarity(1000, 1) > rarity(1000, 10) && rarity(1000, 10) > rarity(1000, 900));
        assert!(rarity(1, 1) >= 1 && rarity(0, 0) >= 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// The order does not depend on the order in which documents came.
        #[test]
        fn order_is_a_property_of_the_documents(
            texts in proptest::collection::btree_map("[a-z]{1,6}", "[a-c ]{0,12}", 1..12), query in "[a-c ]{0,6}",
        ) {
            let search = |texts: Vec<(&String, &String)>| {
                let (mut words, mut index) = (Vocabulary::default(), Index::default());
                texts.iter().for_each(|(name, text)| index.add(name, &[(&words.learn(text), 1)]));
                let found = index.search(&words.known(&query));
                found.into_iter().map(|(at, score)| (index.name(at).to_owned(), score)).collect::<Vec<_>>()
            };
            prop_assert_eq!(search(texts.iter().collect()), search(texts.iter().rev().collect()));
        }
    }
}
