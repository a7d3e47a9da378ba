//! Decorators on the name resolver, on what is validated, and on the loop guard.

use super::Seam;
use serde_json::{Map, Value};
use slot_runtime::contract::MetadataSnapshot;
use slot_runtime::dispatch::{
    Attempt, Fingerprint, LoopAdvice, LoopGuard, LoopTurn, NameMatch, NameResolver, Refusal, Resolution, Stage,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// A name resolver that goes wrong.
pub(super) struct Names {
    seam: Seam,
    inner: Arc<dyn NameResolver>,
}

impl Names {
    pub(super) fn decorates(seam: Seam) -> bool {
        matches!(
            seam,
            Seam::NamesGuess
                | Seam::NamesExact
                | Seam::NamesNearest
                | Seam::NamesUnraised
                | Seam::NamesTerse
                | Seam::NamesFold
        )
    }

    pub(super) fn new(seam: Seam, inner: Arc<dyn NameResolver>) -> Self {
        Names { seam, inner }
    }
}

impl NameResolver for Names {
    fn resolve(&self, requested: &str, snapshot: &MetadataSnapshot) -> Result<Resolution, Refusal> {
        if self.seam == Seam::NamesFold {
            return self.inner.resolve(&folded(requested), snapshot);
        }
        let found = self.inner.resolve(requested, snapshot);
        let exact = |name: &String| Resolution { tool: name.clone(), how: NameMatch::Exact };
        let names = snapshot.catalog.names();
        match (self.seam, found) {
            (Seam::NamesGuess, Err(refusal)) => names.last().map(exact).ok_or(refusal),
            (Seam::NamesNearest, Err(refusal)) => {
                let shared = |name: &str| name.bytes().zip(requested.bytes()).take_while(|(a, b)| a == b).count();
                names.iter().max_by_key(|name| shared(name)).map(exact).ok_or(refusal)
            }
            (Seam::NamesExact, Ok(found)) if found.how != NameMatch::Exact => {
                Err(Refusal::new(Stage::Name, format!("there is no tool {requested:?}")))
            }
            (Seam::NamesUnraised, Ok(found)) => Ok(exact(&found.tool)),
            (Seam::NamesTerse, Err(_)) => Err(Refusal::new(Stage::Name, "not found")),
            (_, found) => found,
        }
    }
}

/// Cyrillic letters as the Latin ones they look like.
fn folded(name: &str) -> String {
    let pairs = [('\u{430}', 'a'), ('\u{435}', 'e'), ('\u{43e}', 'o'), ('\u{441}', 'c'), ('\u{445}', 'x')];
    name.chars().map(|c| pairs.iter().find(|(from, _)| *from == c).map_or(c, |(_, to)| *to)).collect()
}

/// The schema as a validator that goes wrong holds arguments against it; `None` where the seam is none of its.
pub(super) fn weakened(seam: Seam, schema: &Value) -> Option<Value> {
    let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let each = |keep: &[&str]| -> Map<String, Value> {
        let kept = |field: &Value| -> Map<String, Value> {
            field.as_object().into_iter().flatten().filter(|(key, _)| keep.contains(&key.as_str())).map(pair).collect()
        };
        fields.iter().map(|(name, field)| (name.clone(), Value::Object(kept(field)))).collect()
    };
    let mut weak = schema.as_object().cloned().unwrap_or_default();
    match seam {
        Seam::ShapeSkip => weak.retain(|key, _| key == "type"),
        Seam::ShapeRequired => {
            weak.retain(|key, _| key == "type" || key == "required");
        }
        Seam::ShapeOpen => {
            weak.insert("additionalProperties".into(), Value::Bool(true));
        }
        Seam::ShapeUntyped => {
            weak.insert("properties".into(), Value::Object(each(&[])));
        }
        Seam::ShapeTop => {
            weak.insert("properties".into(), Value::Object(each(&["type"])));
        }
        _ => return None,
    }
    Some(Value::Object(weak))
}

fn pair((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// A loop guard that goes wrong.
pub(super) struct Loops {
    seam: Seam,
    inner: Arc<dyn LoopGuard>,
}

impl Loops {
    pub(super) fn decorates(seam: Seam) -> bool {
        matches!(
            seam,
            Seam::LoopSkip
                | Seam::LoopAnyArguments
                | Seam::LoopPolls
                | Seam::LoopNoReset
                | Seam::LoopReadsOnly
                | Seam::LoopOwnChange
                | Seam::LoopNoCap
                | Seam::LoopForgives
                | Seam::LoopAnySuccess
                | Seam::LoopNoWarning
                | Seam::LoopNoPause
                | Seam::LoopCountsEarly
        )
    }

    pub(super) fn new(seam: Seam, inner: Arc<dyn LoopGuard>) -> Self {
        Loops { seam, inner }
    }
}

impl LoopGuard for Loops {
    fn user_turn(&self) -> Arc<dyn LoopTurn> {
        Arc::new(Turn {
            seam: self.seam,
            inner: self.inner.user_turn(),
            noted: Mutex::default(),
            made: Mutex::default(),
        })
    }
}

struct Turn {
    seam: Seam,
    inner: Arc<dyn LoopTurn>,
    /// Attempts that a seam has to remember: blocked ones, or one of each tool that failed.
    noted: Mutex<BTreeSet<(String, Fingerprint)>>,
    /// How often calls that may change something were made.
    made: Mutex<BTreeMap<(String, Fingerprint), u32>>,
}

impl Turn {
    /// The attempt as this seam sees it.
    fn seen(&self, attempt: &Attempt) -> Attempt {
        let mut attempt = attempt.clone();
        match self.seam {
            Seam::LoopAnyArguments => attempt.fingerprint = Fingerprint::of(&serde_json::Value::Null),
            Seam::LoopPolls => attempt.polls = false,
            _ => {}
        }
        attempt
    }
}

impl LoopTurn for Turn {
    fn admit(&self, attempt: &Attempt) -> Result<(), Refusal> {
        let attempt = self.seen(attempt);
        if self.seam == Seam::LoopSkip {
            return Ok(());
        }
        if self.seam == Seam::LoopReadsOnly && !attempt.read_only {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            let made = made.entry((attempt.tool.clone(), attempt.fingerprint)).or_default();
            *made += 1;
            if *made >= 3 {
                return Err(Refusal::new(Stage::LoopGuard, "already made"));
            }
        }
        let admitted = self.inner.admit(&attempt);
        if self.seam == Seam::LoopNoCap && attempt.polls {
            return Ok(());
        }
        if self.seam == Seam::LoopForgives && admitted.is_err() {
            let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
            noted.insert((attempt.tool, attempt.fingerprint));
        }
        admitted
    }

    fn admits(&self, attempt: &Attempt) -> bool {
        match self.seam {
            Seam::LoopCountsEarly => self.admit(attempt).is_ok(),
            _ => self.inner.admits(&self.seen(attempt)),
        }
    }

    fn record(&self, attempt: &Attempt, failed: bool) -> LoopAdvice {
        let mut attempt = self.seen(attempt);
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        match self.seam {
            Seam::LoopSkip => return LoopAdvice::GoOn,
            Seam::LoopForgives if noted.remove(&(attempt.tool.clone(), attempt.fingerprint)) => {
                attempt.read_only = true;
                return self.inner.record(&attempt, false);
            }
            Seam::LoopNoReset if !failed => attempt.read_only = true,
            Seam::LoopOwnChange if !failed && !attempt.read_only => {
                let advice = self.inner.record(&attempt, false);
                // Looks like a change by another call.
                self.inner.record(&Attempt { tool: String::new(), ..attempt }, false);
                return advice;
            }
            Seam::LoopAnySuccess if failed => {
                noted.insert((attempt.tool.clone(), attempt.fingerprint));
            }
            Seam::LoopAnySuccess => {
                for (tool, fingerprint) in std::mem::take(&mut *noted) {
                    self.inner.record(&Attempt { tool, fingerprint, read_only: true, polls: false }, false);
                }
            }
            _ => {}
        }
        match (self.seam, self.inner.record(&attempt, failed)) {
            (Seam::LoopNoWarning, LoopAdvice::Warn { .. }) | (Seam::LoopNoPause, LoopAdvice::Pause { .. }) => {
                LoopAdvice::GoOn
            }
            (_, advice) => advice,
        }
    }
}
