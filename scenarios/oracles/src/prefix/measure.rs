//! What a session of requests comes to.
//!
//! Every number is an exact integer; what is a ratio is computed from two of them where it is shown ([`ratio`]).

use super::common::{common, of_parts};
use super::culprit::{Culprit, culprit};
use super::dialect::Dialect;
use super::prompt::Prompt;
use super::provider::{Mode, Provider};
use super::simulate::Simulator;
use super::tokens;
use serde::Serialize;

/// A request of a session, and what is known of it beside its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured<'a> {
    /// The request.
    pub prompt: Prompt<'a>,
    /// When it was sent, in seconds since any fixed time, where that is known.
    pub at: Option<f64>,
    /// Why it need not repeat the request before it, where an event said so: `compaction`, `tools`, …
    pub declared: Option<String>,
}

/// What a session comes to. Bytes are those of rendered requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session {
    /// The dialect.
    pub dialect: Dialect,
    /// The model, empty when it is not known.
    pub model: String,
    /// The key under which the provider was asked to cache, empty when there was none.
    pub key: String,
    /// What each request was, and what it repeated of the one before it.
    pub steps: Vec<Step>,
    /// The bytes that could have been repeated: those of all requests but the last.
    pub repeatable_bytes: usize,
    /// The bytes that were.
    pub repeated_bytes: usize,
    /// The tokens that had to be sent anew although the request before had them.
    pub resent_tokens: usize,
    /// Breaks that an event declared.
    pub declared_breaks: usize,
    /// Breaks that nothing declared.
    pub undeclared_breaks: usize,
    /// The same for the tools alone.
    pub catalog: Catalog,
    /// What the caches of providers make of it.
    pub providers: Vec<Simulated>,
}

/// How stable the tools of a session are, by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Catalog {
    /// The bytes of the first request's tools.
    pub first_bytes: usize,
    /// The bytes of the last request's.
    pub last_bytes: usize,
    /// The bytes of tools that could have been repeated.
    pub repeatable_bytes: usize,
    /// The bytes that were.
    pub repeated_bytes: usize,
    /// How often a list of tools did not begin with the one before it.
    pub breaks: usize,
}

/// One request, and what it repeats of the one before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Its bytes.
    pub bytes: usize,
    /// Its tokens.
    pub tokens: usize,
    /// The bytes that it has in common with the request before it.
    pub common_bytes: usize,
    /// The whole tokens of them.
    pub common_tokens: usize,
    /// The bytes of the request before it that it does not repeat: the blast radius of a break.
    pub lost_bytes: usize,
    /// The tokens of them.
    pub lost_tokens: usize,
    /// Why it need not repeat, where an event said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
    /// What broke the prefix, where something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub culprit: Option<Culprit>,
}

/// What the cache of one provider makes of a session. Tokens, over all requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Simulated {
    /// The provider.
    pub provider: String,
    /// When its rules were looked up.
    pub checked: String,
    /// All tokens sent.
    pub tokens: usize,
    /// Those that were read from the cache.
    pub read: usize,
    /// Those that would have been, had every request only appended to the one before it and been marked well.
    pub ideal: usize,
    /// Those that were written to it.
    pub written: usize,
    /// Requests that the provider refuses, because they have too many markers.
    pub refused: usize,
    /// Whether the times of the requests were known, so that what is kept too long counts as gone.
    pub timed: bool,
    /// What it costs, in thousandths of an input token.
    pub cost: u64,
    /// What the ideal session costs.
    pub ideal_cost: u64,
    /// What it costs without a cache.
    pub uncached_cost: u64,
    /// What each request reads.
    pub reads: Vec<usize>,
}

impl Session {
    /// The share of what could have been repeated that was: 1 if every request only appends.
    pub fn stability(&self) -> Option<f64> {
        ratio(self.repeated_bytes, self.repeatable_bytes)
    }

    /// The bytes that had to be sent anew although the request before had them.
    pub fn resent_bytes(&self) -> usize {
        self.repeatable_bytes - self.repeated_bytes
    }
}

impl Simulated {
    /// The share of all tokens that was read from the cache, the first request included.
    pub fn hit_ratio(&self) -> Option<f64> {
        ratio(self.read, self.tokens)
    }

    /// What was read of what an ideal session reads; `None` where there was nothing to read.
    pub fn efficiency(&self) -> Option<f64> {
        ratio(self.read, self.ideal)
    }
}

/// One number as a share of another, `None` of nothing.
pub fn ratio(part: usize, whole: usize) -> Option<f64> {
    // Both are far below 2^53, where every integer is exact.
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Measures a session. `providers` are those whose caches are played over it; the ones that do not speak its dialect are
/// passed over. `None` without a request.
pub fn measure(session: &[Captured<'_>], providers: &[Provider]) -> Option<Session> {
    let first = &session.first()?.prompt;
    let catalog_bytes = |prompt: &Prompt<'_>| prompt.bytes_of(prompt.tools());
    let mut all = Session {
        dialect: first.dialect,
        model: first.model.clone(),
        key: first.key.clone(),
        steps: Vec::with_capacity(session.len()),
        repeatable_bytes: 0,
        repeated_bytes: 0,
        resent_tokens: 0,
        declared_breaks: 0,
        undeclared_breaks: 0,
        catalog: Catalog { first_bytes: catalog_bytes(first), ..Catalog::default() },
        providers: Vec::new(),
    };
    let mut last: Option<&Prompt<'_>> = None;
    for captured in session {
        let step = step(last, captured);
        if let Some(last) = last {
            all.count(last, &step);
            all.catalog.count(last, &captured.prompt);
        }
        all.catalog.last_bytes = catalog_bytes(&captured.prompt);
        all.steps.push(step);
        last = Some(&captured.prompt);
    }
    let speaks = providers.iter().filter(|provider| provider.dialects.contains(&first.dialect));
    all.providers = speaks.map(|provider| simulate(session, provider)).collect();
    Some(all)
}

/// How much of their beginnings two sessions share, as `(bytes in common, bytes of the shorter)`: what a restart, another
/// user or another machine finds in the cache.
pub fn start_alike(a: &Prompt<'_>, b: &Prompt<'_>) -> (usize, usize) {
    (common(a, b).bytes, a.bytes().min(b.bytes()))
}

fn step(last: Option<&Prompt<'_>>, captured: &Captured<'_>) -> Step {
    let prompt = &captured.prompt;
    let bytes = prompt.bytes();
    let mut step = Step {
        bytes,
        tokens: tokens(bytes),
        common_bytes: 0,
        common_tokens: 0,
        lost_bytes: 0,
        lost_tokens: 0,
        declared: captured.declared.clone(),
        culprit: None,
    };
    if let Some(last) = last {
        let common = common(last, prompt);
        step.common_bytes = common.bytes;
        step.common_tokens = tokens(common.bytes);
        step.lost_bytes = last.bytes() - common.bytes;
        step.lost_tokens = tokens(last.bytes()) - step.common_tokens;
        step.culprit = culprit(last, prompt, common);
    }
    step
}

impl Session {
    fn count(&mut self, last: &Prompt<'_>, step: &Step) {
        self.repeatable_bytes += last.bytes();
        self.repeated_bytes += step.common_bytes;
        self.resent_tokens += step.lost_tokens;
        match (&step.culprit, &step.declared) {
            (None, _) => {}
            (Some(_), Some(_)) => self.declared_breaks += 1,
            (Some(_), None) => self.undeclared_breaks += 1,
        }
    }
}

impl Catalog {
    fn count(&mut self, last: &Prompt<'_>, next: &Prompt<'_>) {
        let (old, new) = (&last.parts()[..last.tools()], &next.parts()[..next.tools()]);
        let common = of_parts(old, new);
        self.repeatable_bytes += last.bytes_of(old.len());
        self.repeated_bytes += common.bytes;
        self.breaks += usize::from(common.parts < old.len());
    }
}

fn simulate(session: &[Captured<'_>], provider: &Provider) -> Simulated {
    let mut cache = Simulator::new(provider);
    let mut all = Simulated {
        provider: provider.id.clone(),
        checked: provider.checked.clone(),
        timed: provider.ttl_seconds.is_some() && session.iter().all(|captured| captured.at.is_some()),
        ..Simulated::default()
    };
    let mut last = 0;
    for captured in session {
        let at = captured.at.filter(|_| all.timed);
        let hit = cache.take(&captured.prompt, at);
        let sent = tokens(captured.prompt.bytes());
        let ideal = provider.cap(last.min(sent), &captured.prompt.model);
        let kept = provider.mode != Mode::Units && provider.cap(sent, &captured.prompt.model) > 0;
        let ideal_written = if kept { sent - ideal } else { 0 };
        all.tokens += sent;
        all.read += hit.read;
        all.written += hit.written;
        all.ideal += ideal;
        all.refused += usize::from(hit.refused);
        all.cost += cost(provider, sent, hit.read, hit.written);
        all.ideal_cost += cost(provider, sent, ideal, ideal_written);
        all.uncached_cost += cost(provider, sent, 0, 0);
        all.reads.push(hit.read);
        last = sent;
    }
    all
}

/// In thousandths of an input token.
fn cost(provider: &Provider, sent: usize, read: usize, written: usize) -> u64 {
    let plain = sent.saturating_sub(read + written) as u64;
    read as u64 * u64::from(provider.read) + written as u64 * u64::from(provider.write) + plain * 1000
}

#[cfg(test)]
mod tests {
    use super::super::provider::sample;
    use super::*;
    use crate::prefix::Class;

    fn session(bodies: &[String], declared: &[usize], providers: &[Provider]) -> Session {
        let captured: Vec<Captured<'_>> = bodies
            .iter()
            .enumerate()
            .map(|(at, body)| Captured {
                prompt: Prompt::from_body(body, Some(Dialect::Responses)).unwrap(),
                at: None,
                declared: declared.contains(&at).then(|| "compaction".to_owned()),
            })
            .collect();
        measure(&captured, providers).unwrap()
    }

    fn bodies(inputs: &[&str]) -> Vec<String> {
        inputs.iter().map(|input| format!(r#"{{"tools":[{{"name":"t"}}],"input":[{input}]}}"#)).collect()
    }

    /// The numbers of a session: requests, breaks (undeclared, declared), bytes and tokens sent again.
    #[track_caller]
    fn check(inputs: &[&str], declared: &[usize], expect: (usize, usize, usize, usize, usize)) {
        let found = session(&bodies(inputs), declared, &[]);
        let (undeclared, declared) = (found.undeclared_breaks, found.declared_breaks);
        let resent = (found.resent_bytes(), found.resent_tokens);
        assert_eq!((found.steps.len(), undeclared, declared, resent.0, resent.1), expect);
    }

    #[test]
    fn an_append_only_session_has_nothing_to_tell() {
        check(&["1"], &[], (1, 0, 0, 0, 0));
        check(&["111", "111,222", "111,222,333", "111,222,333"], &[], (4, 0, 0, 0, 0));
        assert_eq!(session(&bodies(&["1", "1,2"]), &[], &[]).stability(), Some(1.0));
        assert_eq!(session(&bodies(&["1"]), &[], &[]).stability(), None);
        assert_eq!(measure(&[], &[]), None);
    }

    #[test]
    fn breaks_are_counted_by_what_they_send_again() {
        // `{"name":"t"}` and `111` with separators are 17 bytes; the third request loses `222` and its separator.
        check(&["111", "111,222", "111,999,333"], &[], (3, 1, 0, 4, 1));
        check(&["111", "111,222", "111,999,333"], &[2], (3, 0, 1, 4, 1));
        let found = session(&bodies(&["111", "111,222", "111,999,333"]), &[], &[]);
        assert_eq!(found.steps[2].culprit.as_ref().map(|c| c.class), Some(Class::HistoryRewrite));
        assert_eq!((found.catalog.breaks, found.catalog.repeatable_bytes, found.catalog.repeated_bytes), (0, 26, 26));
    }

    #[test]
    fn tools_are_measured_by_themselves() {
        let with = |tools: &str| format!(r#"{{"tools":[{tools}],"input":[1]}}"#);
        let found = session(&[with("11"), with("11,22"), with("11,33,22")], &[1], &[]);
        assert_eq!((found.declared_breaks, found.undeclared_breaks), (1, 1));
        assert_eq!((found.catalog.breaks, found.catalog.first_bytes, found.catalog.last_bytes), (1, 3, 9));
        assert_eq!(found.steps[1].culprit.as_ref().map(|c| c.class), Some(Class::ToolAppended));
    }

    #[test]
    fn a_sound_session_is_as_good_as_the_ideal_one() {
        let turn = |role: &str| format!(r#"{{"role":"{role}","content":"{}"}}"#, "x".repeat(100));
        let mut inputs = vec![turn("user")];
        for _ in 0..3 {
            let next = [inputs.last().unwrap().clone(), turn("assistant"), turn("user")].join(",");
            inputs.push(next);
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let found = session(&bodies(&inputs), &[], &[sample(Mode::Units), sample(Mode::Latest), sample(Mode::Marked)]);
        let efficiency: Vec<_> = found.providers.iter().map(Simulated::efficiency).collect();
        // Without markers nothing is found where they decide.
        assert_eq!(efficiency, [Some(1.0), Some(1.0), Some(0.0)]);
        let [units, latest, marked] = &found.providers[..] else { panic!("three") };
        assert_eq!(units.cost, units.ideal_cost);
        assert_eq!(latest.cost, latest.ideal_cost);
        assert_eq!(marked.cost, marked.uncached_cost);
        assert!(latest.cost < latest.uncached_cost);
        assert!(!latest.timed);
    }

    #[test]
    fn restarts_share_what_they_begin_with() {
        let bodies = bodies(&["111", "11,2"]);
        let prompts = bodies.each_prompt();
        assert_eq!(start_alike(&prompts[0], &prompts[1]), (15, 17));
    }

    trait EachPrompt {
        fn each_prompt(&self) -> Vec<Prompt<'_>>;
    }

    impl EachPrompt for Vec<String> {
        fn each_prompt(&self) -> Vec<Prompt<'_>> {
            self.iter().map(|body| Prompt::from_body(body, Some(Dialect::Responses)).unwrap()).collect()
        }
    }
}
