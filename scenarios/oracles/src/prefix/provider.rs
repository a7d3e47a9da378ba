//! What a provider's cache does, as data: the rules move, so they carry a date and a source and are no code.

use super::dialect::Dialect;
use serde::{Deserialize, Serialize};

/// One provider, or one generation of its models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// A short name.
    pub id: String,
    /// A name for people.
    pub title: String,
    /// The dialects in which it is spoken to.
    pub dialects: Vec<Dialect>,
    /// When the rules were looked up, as YYYY-MM-DD.
    pub checked: String,
    /// Where.
    pub source: String,
    /// Whether the rules come from the provider itself; else they are restated by others.
    pub first_hand: bool,
    /// How it finds what it has seen.
    pub mode: Mode,
    /// The least tokens that it keeps, where a model has no number of its own.
    pub minimum: usize,
    /// The least tokens for models whose names begin in one of these ways; the longest beginning counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<ModelMinimum>,
    /// In [`Mode::Units`]: hits are the least tokens and a multiple of so many more.
    #[serde(default = "one")]
    pub unit: usize,
    /// In [`Mode::Marked`]: how many blocks before a marker are looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookback: Option<usize>,
    /// The most markers of a request; a request with more is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_marks: Option<usize>,
    /// How long it keeps what is not used, in seconds, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
    /// What a token costs that is read from the cache, in thousandths of an input token.
    pub read: u32,
    /// What a token costs that is written to the cache, in thousandths of an input token.
    pub write: u32,
    /// The price of a million input tokens in US dollars, of the model named in `priced`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// The model that `usd` is the price of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priced: Option<String>,
}

/// The least tokens for some models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelMinimum {
    /// How the name begins.
    pub begins: String,
    /// The least tokens.
    pub minimum: usize,
}

/// How a cache finds what it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// By itself: any prefix, in whole units.
    Units,
    /// Up to the markers of the request, looking back some blocks from each.
    Marked,
    /// Up to the latest message from the host's side and to markers, exactly as some earlier request wrote it.
    Latest,
}

fn one() -> usize {
    1
}

impl Provider {
    /// A provider of no name that keeps everything, for whoever brings rules of their own.
    pub fn nameless(mode: Mode) -> Provider {
        Provider {
            id: String::new(),
            title: String::new(),
            dialects: vec![Dialect::Chat, Dialect::Anthropic, Dialect::Responses],
            checked: String::new(),
            source: String::new(),
            first_hand: false,
            mode,
            minimum: 1,
            model: Vec::new(),
            unit: 1,
            lookback: None,
            most_marks: None,
            ttl_seconds: None,
            read: 100,
            write: 1250,
            usd: None,
            priced: None,
        }
    }

    /// The least tokens that are kept for this model.
    pub fn minimum_for(&self, model: &str) -> usize {
        // A gateway may put its own name before that of the model.
        let bare = model.rsplit('/').next().unwrap_or(model);
        let fits = self.model.iter().filter(|entry| bare.starts_with(&entry.begins));
        fits.max_by_key(|entry| entry.begins.len()).map_or(self.minimum, |entry| entry.minimum)
    }

    /// What of so many common tokens can be read, where nothing but their number decides.
    pub fn cap(&self, common: usize, model: &str) -> usize {
        let minimum = self.minimum_for(model);
        if common < minimum || common == 0 {
            return 0;
        }
        match self.mode {
            Mode::Units => minimum + (common - minimum) / self.unit.max(1) * self.unit.max(1),
            Mode::Marked | Mode::Latest => common,
        }
    }
}

#[cfg(test)]
pub(super) fn sample(mode: Mode) -> Provider {
    Provider {
        id: "p".into(),
        title: "P".into(),
        checked: "2026-01-01".into(),
        source: "test".into(),
        minimum: 10,
        model: vec![
            ModelMinimum { begins: "big".into(), minimum: 40 },
            ModelMinimum { begins: "big-5".into(), minimum: 20 },
        ],
        unit: if mode == Mode::Units { 8 } else { 1 },
        lookback: (mode == Mode::Marked).then_some(3),
        most_marks: (mode != Mode::Units).then_some(4),
        ttl_seconds: Some(300),
        write: if mode == Mode::Units { 1000 } else { 1250 },
        ..Provider::nameless(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mode: Mode, model: &str, common: usize, expect: usize) {
        assert_eq!(sample(mode).cap(common, model), expect);
    }

    #[test]
    fn hits_are_whole_units_above_a_minimum() {
        check(Mode::Units, "m", 9, 0);
        check(Mode::Units, "m", 10, 10);
        check(Mode::Units, "m", 17, 10);
        check(Mode::Units, "m", 18, 18);
        check(Mode::Marked, "m", 17, 17);
    }

    #[test]
    fn the_longest_beginning_counts() {
        check(Mode::Marked, "big-4", 30, 0);
        check(Mode::Marked, "gateway/big-5-x", 30, 30);
        check(Mode::Latest, "", 30, 30);
    }
}
