//! The rules of the providers' caches: `providers.toml`, with dates and sources.

use crate::source::{Document, Problem, Problems};
use serde::Deserialize;
use slot_oracles::prefix::{Mode, Provider};

/// The table as it is shipped.
const SHIPPED: &str = include_str!("../../providers.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    provider: Vec<Provider>,
}

/// The providers of the shipped table, in its order.
pub fn providers() -> Vec<Provider> {
    #[expect(clippy::expect_used, reason = "the table is part of this program, and a test reads it")]
    read("providers.toml", SHIPPED).expect("the shipped table is valid")
}

/// Reads a table; `name` names it in problems.
///
/// # Errors
/// With every place at which it is not what a table is.
pub fn read(name: &str, text: &str) -> Result<Vec<Provider>, Problems> {
    let document = Document::parse(name, text)?;
    let table: Table = document.read()?;
    let mut problems: Vec<Problem> = Vec::new();
    for (at, provider) in table.provider.iter().enumerate() {
        let place = format!("provider[{at}]");
        let mut wrong = |field: &str, message: &str| {
            let path = format!("{place}.{field}");
            problems.push(document.find(&path).problem(&path, message.to_owned()));
        };
        if table.provider[..at].iter().any(|other| other.id == provider.id) {
            wrong("id", "the id is taken");
        }
        if !is_date(&provider.checked) {
            wrong("checked", "it is no date, expected one like 2026-01-31");
        }
        if provider.source.is_empty() {
            wrong("source", "it is empty, expected where the rules were found");
        }
        if provider.unit == 0 {
            wrong("unit", "it is 0, expected at least 1");
        }
        if provider.lookback.is_some() && provider.mode != Mode::Marked {
            wrong("lookback", "only the mode `marked` looks back from markers");
        }
    }
    Problems::none_or(problems, table.provider)
}

fn is_date(text: &str) -> bool {
    let parts: Vec<Option<u32>> = text.split('-').map(|part| part.parse().ok()).collect();
    matches!(parts[..], [Some(2020..=2099), Some(1..=12), Some(1..=31)]) && text.len() == 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use slot_oracles::oracles::cache;

    #[test]
    fn the_shipped_table_is_valid() {
        let all = read("providers.toml", SHIPPED).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(all.len() >= 4);
        // The oracle about markers has the provider's numbers in it.
        let anthropic = all.iter().find(|provider| provider.id == "anthropic").unwrap();
        assert_eq!((anthropic.lookback, anthropic.most_marks), (Some(cache::LOOKBACK), Some(cache::MOST_MARKS)));
    }

    #[track_caller]
    fn check(change: (&str, &str), expect: &str) {
        let told = read("t", &SHIPPED.replacen(change.0, change.1, 1)).unwrap_err().to_string();
        assert!(told.contains(expect), "{told}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        check(("id = \"openai\"", "id = \"anthropic\""), "the id is taken");
        check(("2026-11-30", "30.11.2026"), "it is no date");
        check(("unit = 128", "unit = 0"), "it is 0, expected at least 1");
        check(("unit = 128", "lookback = 3"), "only the mode `marked`");
        check(("mode = \"units\"", "mode = \"unit\""), "unit");
    }
}
