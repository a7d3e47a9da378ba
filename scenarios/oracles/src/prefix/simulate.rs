//! A provider's cache, played over the requests of a session.
//!
//! What was seen is kept as a tree of parts, so that the longest prefix in common with *any* earlier request is found by
//! walking down once, also where a session goes back to an earlier state. Where a request carries a time, what was not used
//! for longer than the provider keeps it is gone; without times nothing ever is, and the report says so.

use super::common::of_bytes;
use super::prompt::{Part, Prompt};
use super::provider::{Mode, Provider};
use super::tokens;

/// What the cache made of one request, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// Read from the cache.
    pub read: usize,
    /// Newly written to it, where writing is told apart.
    pub written: usize,
    /// Whether the provider refuses the request, because it has too many markers. Then nothing is read or written.
    pub refused: bool,
}

/// The cache of one provider.
pub struct Simulator<'s> {
    provider: &'s Provider,
    nodes: Vec<Node<'s>>,
}

/// A part that some request had at this place; its children followed it.
struct Node<'s> {
    text: &'s str,
    children: Vec<usize>,
    /// When a request with it was last seen.
    seen: f64,
    /// When the prefix up to its end was last written or read as a whole.
    kept: Option<f64>,
}

impl<'s> Simulator<'s> {
    /// An empty cache.
    pub fn new(provider: &'s Provider) -> Self {
        Simulator { provider, nodes: vec![Node { text: "", children: Vec::new(), seen: 0.0, kept: None }] }
    }

    /// Takes a request in, sent at this time in seconds. Times that go backwards count as the same time.
    pub fn take(&mut self, prompt: &'s Prompt<'s>, at: Option<f64>) -> Hit {
        let now = at.unwrap_or_default();
        let parts = prompt.parts();
        let marks = self.marks(parts);
        if self.provider.most_marks.is_some_and(|most| marks.len() > most) {
            return Hit { refused: true, ..Hit::default() };
        }
        let (path, common) = self.walk(parts, now);
        let read = match self.provider.mode {
            Mode::Units => self.provider.cap(tokens(common), &prompt.model),
            Mode::Marked | Mode::Latest => self.deepest(prompt, &path, &marks, now),
        };
        let path = self.insert(parts, path, now);
        let written = self.write(prompt, &path, &marks, read, now);
        Hit { read, written, refused: false }
    }

    /// The parts behind which a prefix is written, by their positions, in order.
    fn marks(&self, parts: &[Part<'_>]) -> Vec<usize> {
        let marked = |(at, part): (usize, &Part<'_>)| part.marked.then_some(at);
        let mut marks: Vec<usize> = match self.provider.mode {
            Mode::Units => return Vec::new(),
            Mode::Marked | Mode::Latest => parts.iter().enumerate().filter_map(marked).collect(),
        };
        if self.provider.mode == Mode::Latest {
            marks.extend(parts.iter().rposition(|part| part.told));
            marks.sort_unstable();
            marks.dedup();
        }
        marks
    }

    fn fresh(&self, since: f64, now: f64) -> bool {
        self.provider.ttl_seconds.is_none_or(|ttl| now - since <= f64::from(ttl))
    }

    /// The nodes of the parts that were seen before, and how many bytes some earlier request has in common.
    fn walk(&self, parts: &[Part<'_>], now: f64) -> (Vec<usize>, usize) {
        let (mut path, mut bytes, mut node) = (Vec::new(), 0, 0);
        for part in parts {
            let fresh = |child: &&usize| self.fresh(self.nodes[**child].seen, now) || self.provider.mode != Mode::Units;
            let children = self.nodes[node].children.iter().filter(fresh);
            let mut longest = 0;
            let mut next = None;
            for &child in children {
                let text = self.nodes[child].text;
                if text == part.text {
                    next = Some(child);
                    break;
                }
                longest = longest.max(of_bytes(text.as_bytes(), part.text.as_bytes()));
            }
            let Some(child) = next else { return (path, bytes + longest) };
            bytes += part.text.len() + 1;
            path.push(child);
            node = child;
        }
        (path, bytes)
    }

    /// The tokens of the longest prefix that was kept and that this request finds.
    fn deepest(&self, prompt: &Prompt<'_>, path: &[usize], marks: &[usize], now: f64) -> usize {
        let kept = |at: &usize| self.nodes[path[*at]].kept.is_some_and(|since| self.fresh(since, now));
        let found = (0..path.len()).rev().filter(kept).find(|at| self.in_reach(prompt.parts(), *at, marks));
        found.map_or(0, |at| self.provider.cap(tokens(prompt.bytes_of(at + 1)), &prompt.model))
    }

    /// Whether a marker at or behind this part looks back as far as it.
    fn in_reach(&self, parts: &[Part<'_>], at: usize, marks: &[usize]) -> bool {
        let Some(lookback) = self.provider.lookback else { return true };
        marks.iter().filter(|mark| **mark >= at).any(|mark| {
            let between = parts[at + 1..=*mark].iter().filter(|part| part.block).count();
            between <= lookback
        })
    }

    /// Puts the rest of a request behind the nodes that it shares.
    fn insert(&mut self, parts: &'s [Part<'s>], mut path: Vec<usize>, now: f64) -> Vec<usize> {
        for part in &parts[path.len()..] {
            let parent = path.last().copied().unwrap_or_default();
            let text = part.text.as_ref();
            // A branch that is too old to be found is used again.
            let old = self.nodes[parent].children.iter().copied().find(|child| self.nodes[*child].text == text);
            let node = old.unwrap_or_else(|| {
                self.nodes.push(Node { text, children: Vec::new(), seen: now, kept: None });
                self.nodes.len() - 1
            });
            if old.is_none() {
                self.nodes[parent].children.push(node);
            }
            path.push(node);
        }
        for node in &path {
            self.nodes[*node].seen = self.nodes[*node].seen.max(now);
        }
        path
    }

    /// Writes the prefixes up to the markers, and gives back how many tokens of them are new.
    fn write(&mut self, prompt: &Prompt<'_>, path: &[usize], marks: &[usize], read: usize, now: f64) -> usize {
        let mut written = 0;
        // What is read is kept for longer, whole.
        for (at, node) in path.iter().enumerate() {
            let node = &mut self.nodes[*node];
            if tokens(prompt.bytes_of(at + 1)) <= read && node.kept.is_some() {
                node.kept = Some(now);
            }
        }
        for mark in marks {
            let all = tokens(prompt.bytes_of(mark + 1));
            if self.provider.cap(all, &prompt.model) > 0 {
                self.nodes[path[*mark]].kept = Some(now);
                written = all.saturating_sub(read);
            }
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::super::provider::sample;
    use super::*;
    use crate::prefix::Dialect;

    /// Requests as `time: blocks`, each block a letter that stands for ten tokens, `*` behind it for a marker; in capitals
    /// it comes from the host's side. Gives the tokens that are read.
    #[track_caller]
    fn check(mode: Mode, requests: &[(f64, &str)], expect: &[usize]) {
        let provider = sample(mode);
        let bodies: Vec<String> = requests.iter().map(|(_, blocks)| body(blocks)).collect();
        let prompts: Vec<Prompt<'_>> =
            bodies.iter().map(|body| Prompt::from_body(body, Some(Dialect::Responses)).unwrap()).collect();
        let mut cache = Simulator::new(&provider);
        let read: Vec<usize> =
            prompts.iter().zip(requests).map(|(prompt, (at, _))| cache.take(prompt, Some(*at)).read).collect();
        assert_eq!(read, expect);
    }

    fn body(blocks: &str) -> String {
        let mut items: Vec<String> = Vec::new();
        for letter in blocks.chars() {
            if letter == '*' {
                if let Some(last) = items.last_mut() {
                    *last = last.replace("{\"", "{\"cache_control\":{},\"");
                }
                continue;
            }
            let role = if letter.is_uppercase() { "user" } else { "assistant" };
            // With its separator 40 bytes, ten tokens.
            let fill = 40 - 1 - format!(r#"{{"role":"{role}","x":""}}"#).len();
            items.push(format!(r#"{{"role":"{role}","x":"{}"}}"#, letter.to_string().repeat(fill)));
        }
        format!(r#"{{"input":[{}]}}"#, items.join(","))
    }

    #[test]
    fn units_need_nothing() {
        check(Mode::Units, &[(0.0, "Ab"), (1.0, "AbC"), (2.0, "AbX"), (3.0, "Abc")], &[0, 18, 18, 18]);
        // Going back to an earlier state finds it again.
        check(Mode::Units, &[(0.0, "AAAA"), (1.0, "B"), (2.0, "AAAA")], &[0, 0, 34]);
        check(Mode::Units, &[(0.0, "AAAA"), (301.0, "AAAA"), (302.0, "AAAA")], &[0, 0, 34]);
    }

    #[test]
    fn markers_decide() {
        check(Mode::Marked, &[(0.0, "AbC"), (1.0, "AbC")], &[0, 0]);
        check(Mode::Marked, &[(0.0, "AbC*"), (1.0, "AbCdE*"), (2.0, "AbX*")], &[0, 30, 0]);
        check(Mode::Marked, &[(0.0, "A*bC*"), (1.0, "A*bX*")], &[0, 10]);
        // Three blocks back and no further, unless a marker stands there.
        check(Mode::Marked, &[(0.0, "A*"), (1.0, "AbCd*"), (2.0, "AbCdEfGh*")], &[0, 10, 0]);
        check(Mode::Marked, &[(0.0, "A*"), (1.0, "AbCdE*")], &[0, 0]);
        check(Mode::Marked, &[(0.0, "A*"), (1.0, "A*bCdE*"), (2.0, "A*bCdE*fGhI*")], &[0, 10, 50]);
        check(Mode::Marked, &[(0.0, "A*"), (1.0, "A*b*C*d*E*"), (2.0, "A*")], &[0, 0, 10]);
    }

    #[test]
    fn what_is_read_lives_on() {
        check(Mode::Marked, &[(0.0, "A*"), (250.0, "A*"), (500.0, "A*"), (801.0, "A*")], &[0, 10, 10, 0]);
    }

    #[test]
    fn the_latest_message_is_written_and_must_be_repeated() {
        check(Mode::Latest, &[(0.0, "AbC"), (1.0, "AbCdE")], &[0, 30]);
        // A stable front with a changing last message finds nothing, unless a marker closes the front.
        check(Mode::Latest, &[(0.0, "aaaC"), (1.0, "aaaD"), (2.0, "aaaE")], &[0, 0, 0]);
        check(Mode::Latest, &[(0.0, "aaa*C"), (1.0, "aaa*D")], &[0, 30]);
    }

    #[test]
    fn what_is_written_is_counted_once() {
        let provider = sample(Mode::Marked);
        let bodies = [body("AbC*"), body("AbC*dE*")];
        let prompts = bodies.each_ref().map(|body| Prompt::from_body(body, Some(Dialect::Responses)).unwrap());
        let mut cache = Simulator::new(&provider);
        let hits = prompts.each_ref().map(|prompt| cache.take(prompt, None));
        assert_eq!(hits.map(|hit| (hit.read, hit.written)), [(0, 30), (30, 20)]);
    }
}
