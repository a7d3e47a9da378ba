//! The index: which tools a few words describe, by BM25 in whole numbers, so that an order is the same on every machine.
//!
//! It knows documents of words and nothing of tools. Equal scores are ordered by name.

use std::collections::BTreeMap;

/// The parts that a logarithm to the base of two is counted in.
const SCALE: u64 = 1 << 16;

/// An index over documents.
#[derive(Clone, Debug, Default)]
pub struct Index {
    names: Vec<String>,
    lengths: Vec<u64>,
    /// The documents of each word, with how often it is in each.
    places: BTreeMap<String, Vec<(usize, u64)>>,
    total: u64,
}

impl Index {
    /// Adds a document: its name, and its words with how much each counts.
    pub fn add<'a>(&mut self, name: &str, words: impl IntoIterator<Item = (&'a str, u64)>) {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (text, weight) in words {
            for word in split(text) {
                *counts.entry(word).or_default() += weight;
            }
        }
        let document = self.names.len();
        let length = counts.values().sum();
        for (word, count) in counts {
            self.places.entry(word).or_default().push((document, count));
        }
        self.names.push(name.to_owned());
        self.lengths.push(length);
        self.total += length;
    }

    /// The documents that have a word of the query, best first, each as the number of those added before it, with its
    /// score.
    pub fn search(&self, query: &str) -> Vec<(usize, u64)> {
        let all = self.names.len() as u64;
        let mean = (self.total / all.max(1)).max(1);
        let mut words = split(query);
        words.sort_unstable();
        words.dedup();
        let mut scores: Vec<Option<u64>> = vec![None; self.names.len()];
        for word in words {
            let Some(places) = self.places.get(&word) else { continue };
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

/// The words of a text in lower case: at anything but letters and digits, and within names such as `createIssue`. A word
/// and its plural are one.
pub fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut lower = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && lower {
            words.extend(finished(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        lower = c.is_lowercase();
    }
    words.extend(finished(&mut word));
    words
}

fn finished(word: &mut String) -> Option<String> {
    let word = std::mem::take(word);
    let is_plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
    let word = if is_plural { word[..word.len() - 1].to_owned() } else { word };
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(query: &str, expect: &[&str]) {
        let mut index = Index::default();
        for (name, text) in [
            ("issue_create", "Creates an issue in the tracker"),
            ("issue_list", "Lists the issues of the tracker"),
            ("message_send", "Sends a message to a channel"),
            ("message_send_all", "Sends a message to a channel"),
            ("weather", "The weather of a place"),
        ] {
            index.add(name, [(name, 3), (text, 1)]);
        }
        let found: Vec<&str> = index.search(query).into_iter().map(|(at, _)| index.name(at)).collect();
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
        assert_eq!(
            split("mcp__git-hub__createIssue HTTPGet v2"),
            ["mcp", "git", "hub", "create", "issue", "httpget", "v2"]
        );
        assert_eq!(split("glass files"), ["glass", "file"]);
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
                let mut index = Index::default();
                texts.iter().for_each(|(name, text)| index.add(name, [(text.as_str(), 1)]));
                let found = index.search(&query);
                found.into_iter().map(|(at, score)| (index.name(at).to_owned(), score)).collect::<Vec<_>>()
            };
            prop_assert_eq!(search(texts.iter().collect()), search(texts.iter().rev().collect()));
        }
    }
}
