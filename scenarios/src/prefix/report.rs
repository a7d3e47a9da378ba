//! What came of a capture: sessions, their breaks and what they cost; for people and as JSON.
//!
//! Requests belong to one session while dialect, model, cache key and the session that the capture names are the same: that
//! is what a provider's cache tells apart. Requests of two conversations under one key are one session, and their changes of
//! place are breaks: there the provider finds them as well.

use super::capture::{Capture, Request};
use serde::Serialize;
use slot_oracles::prefix::measure::ratio;
use slot_oracles::prefix::{Captured, Dialect, Prompt, Provider, Session, Simulated, Step, measure, start_alike};
use std::fmt::Write as _;

/// The version of [`Report`]'s format. Counts its incompatible changes.
pub const SCHEMA_VERSION: u32 = 1;

/// What came of a capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema: u32,
    /// How tokens were counted.
    pub tokens: &'static str,
    /// The sessions, in order of their first requests.
    pub sessions: Vec<SessionReport>,
    /// How much the beginnings of sessions share: each with the one before it in the same dialect.
    pub starts: Vec<Start>,
    /// Lines of the capture that held something else than a request of a conversation.
    pub passed_over: usize,
}

/// One session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionReport {
    /// The name that the capture gives it, empty when it gives none.
    pub name: String,
    /// Where each request was captured.
    pub places: Vec<String>,
    /// The share of repeatable bytes that was repeated; absent with fewer than two requests.
    pub stability: Option<f64>,
    /// The same for the tools alone.
    pub catalog_stability: Option<f64>,
    /// The bytes that were sent again although the request before had them.
    pub resent_bytes: usize,
    /// The numbers.
    #[serde(flatten)]
    pub session: Session,
    /// The ratios of the simulated caches, in the order of `providers`.
    pub ratios: Vec<Ratios>,
}

/// The ratios of a simulated cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratios {
    /// The provider.
    pub provider: String,
    /// The share of all tokens that was read from the cache, the first request included.
    pub hits: Option<f64>,
    /// What was read of what the ideal session reads; absent where that is nothing.
    pub efficiency: Option<f64>,
    /// The cost as a share of the cost without a cache.
    pub cost: Option<f64>,
    /// What is paid beyond the ideal session, in US dollars, where the table knows a price.
    pub waste_usd: Option<f64>,
}

/// How much the beginnings of two sessions share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Start {
    /// Where the first request of the earlier one was captured.
    pub before: String,
    /// Where that of the later one was.
    pub after: String,
    /// The bytes that they have in common.
    pub common_bytes: usize,
    /// The bytes of the shorter of them.
    pub of_bytes: usize,
}

impl Report {
    /// How many breaks nothing declared.
    pub fn undeclared(&self) -> usize {
        self.sessions.iter().map(|session| session.session.undeclared_breaks).sum()
    }
}

struct Group<'a> {
    key: (Dialect, String, String, String),
    places: Vec<String>,
    requests: Vec<Captured<'a>>,
}

/// Measures a capture, with the caches of these providers.
pub fn report(capture: &Capture, providers: &[Provider]) -> Report {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for Request { place, session, captured } in capture.requests() {
        let Prompt { dialect, model, key, .. } = &captured.prompt;
        let key = (*dialect, session.to_owned(), model.clone(), key.clone());
        let at = groups.iter().position(|group| group.key == key).unwrap_or_else(|| {
            groups.push(Group { key, places: Vec::new(), requests: Vec::new() });
            groups.len() - 1
        });
        groups[at].places.push(place.to_owned());
        groups[at].requests.push(captured);
    }
    let starts = groups.iter().enumerate().filter_map(|(at, group)| {
        let before = groups[..at].iter().rev().find(|other| other.key.0 == group.key.0)?;
        let (common_bytes, of_bytes) = start_alike(&before.requests.first()?.prompt, &group.requests.first()?.prompt);
        let place = |group: &Group<'_>| group.places.first().cloned().unwrap_or_default();
        Some(Start { before: place(before), after: place(group), common_bytes, of_bytes })
    });
    Report {
        schema: SCHEMA_VERSION,
        tokens: "estimated: 4 bytes each",
        starts: starts.collect(),
        sessions: groups.iter().filter_map(|group| session(group, providers)).collect(),
        passed_over: capture.passed_over,
    }
}

fn session(group: &Group<'_>, providers: &[Provider]) -> Option<SessionReport> {
    let session = measure(&group.requests, providers)?;
    let ratios = session.providers.iter().map(|simulated| {
        let usd = providers.iter().find(|provider| provider.id == simulated.provider).and_then(|provider| provider.usd);
        ratios(simulated, usd)
    });
    Some(SessionReport {
        name: group.key.1.clone(),
        places: group.places.clone(),
        stability: session.stability(),
        catalog_stability: ratio(session.catalog.repeated_bytes, session.catalog.repeatable_bytes),
        resent_bytes: session.resent_bytes(),
        ratios: ratios.collect(),
        session,
    })
}

fn ratios(simulated: &Simulated, usd: Option<f64>) -> Ratios {
    // Costs are far below 2^53, where every integer is exact.
    let cost = (simulated.uncached_cost > 0).then(|| simulated.cost as f64 / simulated.uncached_cost as f64);
    let waste = simulated.cost as f64 - simulated.ideal_cost as f64;
    Ratios {
        provider: simulated.provider.clone(),
        hits: simulated.hit_ratio(),
        efficiency: simulated.efficiency(),
        cost,
        // From thousandths of a token and the price of a million tokens.
        waste_usd: usd.map(|usd| waste / 1e3 * usd / 1e6),
    }
}

/// The report for a person.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    for (number, session) in report.sessions.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        session_text(&mut out, number + 1, session);
    }
    for start in &report.starts {
        let share = shown(ratio(start.common_bytes, start.of_bytes));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "\nstart of {} after {}: {share} in common ({} of {} bytes)",
            start.after, start.before, start.common_bytes, start.of_bytes
        );
    }
    if report.passed_over > 0 {
        let _ = writeln!(out, "\n{} lines hold no request of a conversation", report.passed_over);
    }
    let _ = writeln!(out, "\ntokens are estimated: 4 bytes each");
    out
}

fn session_text(out: &mut String, number: usize, told: &SessionReport) {
    let session = &told.session;
    let model = if session.model.is_empty() { "no model named" } else { &session.model };
    let name = if told.name.is_empty() { String::new() } else { format!(" ({})", told.name) };
    let key = if session.key.is_empty() { String::new() } else { format!(", key {}", session.key) };
    let requests = count(session.steps.len(), "request");
    let dialect = session.dialect.name();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "session {number}{name}: {dialect}, {model}{key}, {requests}");
    let last = session.steps.last().map_or((0, 0), |step| (step.bytes, step.tokens));
    let _ = writeln!(
        out,
        "  prompt     {} bytes (~{} tokens) at the end, {} of them tools",
        last.0, last.1, session.catalog.last_bytes
    );
    let _ = writeln!(
        out,
        "  stability  {} ({} of {} repeatable bytes repeated); sent again {} bytes (~{} tokens)",
        shown(told.stability),
        session.repeated_bytes,
        session.repeatable_bytes,
        told.resent_bytes,
        session.resent_tokens
    );
    let _ = writeln!(out, "  catalog    {}, {}", shown(told.catalog_stability), count(session.catalog.breaks, "break"));
    let _ =
        writeln!(out, "  breaks     {} undeclared, {} declared", session.undeclared_breaks, session.declared_breaks);
    for (step, place) in session.steps.iter().zip(&told.places) {
        break_text(out, step, place);
    }
    for (simulated, ratios) in session.providers.iter().zip(&told.ratios) {
        provider_text(out, simulated, ratios);
    }
}

fn break_text(out: &mut String, step: &Step, place: &str) {
    let Some(culprit) = &step.culprit else { return };
    let why = step.declared.as_ref().map_or("undeclared".to_owned(), |why| format!("declared: {why}"));
    let share = ratio(step.lost_bytes, step.lost_bytes + step.common_bytes).unwrap_or_default() * 100.0;
    let _ = writeln!(
        out,
        "    {place}: {} at {}, {why}; {} bytes (~{} tokens, {share:.1} % of the request before) sent again",
        culprit.class, culprit.pointer, step.lost_bytes, step.lost_tokens
    );
    for (word, text) in [("was", &culprit.before), ("is ", &culprit.after)] {
        let _ =
            writeln!(out, "      {word} {}", if text.is_empty() { "nothing".to_owned() } else { format!("{text:?}") });
    }
}

fn provider_text(out: &mut String, simulated: &Simulated, ratios: &Ratios) {
    let percent = ratios.hits.unwrap_or_default() * 100.0;
    let _ = write!(
        out,
        "  {:<10} {percent:.1} % of ~{} tokens read from the cache, efficiency {}, cost {} of uncached",
        simulated.provider,
        simulated.tokens,
        shown(ratios.efficiency),
        shown(ratios.cost)
    );
    if let Some(usd) = ratios.waste_usd.filter(|usd| *usd > 0.0) {
        let _ = write!(out, ", {usd:.4} USD wasted");
    }
    if simulated.refused > 0 {
        let _ = write!(out, "; {} refused: too many cache markers", count(simulated.refused, "request"));
    }
    let times = if simulated.timed { "" } else { ", without times" };
    let _ = writeln!(out, " (rules of {}{times})", simulated.checked);
}

fn shown(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "n/a".to_owned(), |ratio| format!("{ratio:.4}"))
}

fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefix::providers;

    fn body(model: &str, items: &[&str]) -> String {
        let items: Vec<String> = items.iter().map(|text| format!(r#"{{"role":"user","content":"{text}"}}"#)).collect();
        format!(r#"{{"model":"{model}","messages":[{}]}}"#, items.join(","))
    }

    fn of(lines: &[String]) -> Report {
        report(&Capture::read("c", &lines.join("\n")).unwrap_or_else(|error| panic!("{error}")), &providers())
    }

    #[test]
    fn sessions_are_told_apart_by_what_a_cache_tells_apart() {
        let lines = [body("a", &["1"]), body("b", &["1"]), body("a", &["1", "2"])];
        let report = of(&lines);
        let steps: Vec<(&str, usize)> =
            report.sessions.iter().map(|s| (s.session.model.as_str(), s.session.steps.len())).collect();
        assert_eq!(steps, [("a", 2), ("b", 1)]);
        assert_eq!(report.undeclared(), 0);
        assert_eq!((report.starts.len(), report.starts[0].common_bytes, report.starts[0].of_bytes), (1, 30, 30));
    }

    #[test]
    fn a_break_is_told_with_its_place() {
        let long = "x".repeat(8_000);
        let lines = [body("m", &[&long, "2"]), body("m", &[&long, "3", "4"])];
        let told = text(&of(&lines));
        assert!(told.starts_with("session 1: chat, m, 2 requests\n"), "{told}");
        assert!(
            told.contains("    c:2: history-rewrite at /messages/1/content, undeclared; 4 bytes (~1 tokens, 0.0 %"),
            "{told}"
        );
        assert!(told.contains("      was \"…\\\":\\\"user\\\",\\\"content\\\":\\\"2\\\"}\"\n"), "{told}");
        assert!(told.contains("  openai     "), "{told}");
        assert!(told.contains("(rules of 2026-11-30, without times)"), "{told}");
    }

    #[test]
    fn the_report_is_json_with_its_numbers_and_ratios() {
        let long = "x".repeat(8_000);
        let json = serde_json::to_value(of(&[body("m", &[&long]), body("m", &[&long, "2"])])).unwrap();
        assert_eq!(json["schema"], 1);
        assert_eq!(json["sessions"][0]["stability"], 1.0);
        assert_eq!(json["sessions"][0]["undeclared_breaks"], 0);
        assert_eq!(json["sessions"][0]["steps"][1]["lost_bytes"], 0);
        assert_eq!(json["sessions"][0]["providers"][0]["provider"], "openai");
        assert_eq!(json["sessions"][0]["ratios"][0]["efficiency"], 1.0);
    }
}
