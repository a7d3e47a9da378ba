//! The body of the fuzz target `catalog_stability`, so that a stable test replays its corpus through the very same code.
//!
//! The catalog is a property of the tools: the order of registration, hash seeds and the spelling of schemas leave no trace
//! in a byte of it, and a tool that comes or goes leaves the bytes and the order of all others alone.

use super::{Registry, RegistryFault};
use crate::contract::{
    BoxFuture, Capability, CapabilitySet, Exposure, Origin, RunContext, Tool, ToolDispatcher, ToolError, ToolOutput,
    ToolSpec,
};
use serde_json::Value;
use serde_json::value::RawValue;
use slot_wire::Dialect;
use std::collections::HashMap;
use std::sync::Arc;

/// Names that sort near each other, one twice, and some that nobody takes.
const NAMES: [&str; 8] = ["read", "read_file", "Read", "a-b", "a_b", "zeta", "bad name", ""];
const DESCRIPTIONS: [&str; 3] = ["", "Does it.", "Ünï \"quoted\"\n"];
/// Schemas, each in two spellings; the last is none of an object.
const SCHEMAS: [[&str; 2]; 4] = [
    [r#"{"type":"object"}"#, "{ \"type\" : \"object\" }\n"],
    [
        r#"{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"]}"#,
        r#"{"required":["b"],"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"type":"object"}"#,
    ],
    [
        r#"{"type":"object","additionalProperties":false,"$defs":{"x":{"enum":["ü",1.0,null]}}}"#,
        r#"{"$defs":{"x":{"enum":["\u00fc",1.0,null]}},"additionalProperties":false,"type":"object"}"#,
    ],
    [r#"{"type":"string"}"#, r#" {"type":"string"}"#],
];
/// The most tools of one input.
const MOST: usize = 24;

/// A tool as the input tells it.
#[derive(Clone, Debug)]
struct Told {
    name: &'static str,
    description: &'static str,
    schema: usize,
    spelling: usize,
    origin: Origin,
    exposure: Exposure,
}

impl Told {
    /// A tool of three bytes: its name and origin, its words, its exposure.
    fn of(bytes: &[u8]) -> Told {
        let byte = |at: usize| usize::from(bytes.get(at).copied().unwrap_or_default());
        Told {
            name: NAMES[byte(0) % NAMES.len()],
            description: DESCRIPTIONS[byte(1) % DESCRIPTIONS.len()],
            schema: byte(1) / 4 % SCHEMAS.len(),
            spelling: 0,
            origin: match byte(0) / 16 % 3 {
                0 => Origin::builtin(),
                1 => Origin::extension("one"),
                _ => Origin::extension("two"),
            },
            exposure: [Exposure::Auto, Exposure::Always, Exposure::Deferred, Exposure::Hidden][byte(2) % 4],
        }
    }
}

impl Tool for Told {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        self.description
    }
    fn input_schema(&self) -> Value {
        serde_json::from_str(SCHEMAS[self.schema][self.spelling]).unwrap_or_default()
    }
    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::ok("ran")) })
    }
}

impl ToolSpec for Told {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }
    fn origin(&self) -> Origin {
        self.origin.clone()
    }
    fn exposure(&self) -> Exposure {
        self.exposure
    }
}

/// The first byte tells a permutation, every three bytes after it a tool.
pub fn catalog_stability(input: &[u8]) {
    let Some((&seed, rest)) = input.split_first() else { return };
    let tools: Vec<Told> = rest.chunks(3).take(MOST).map(Told::of).collect();
    let whole = catalog(&tools);
    assert_eq!(catalog(&permuted(&tools, seed)), whole, "the order of registration shows");
    // A map with a hash seed of its own, as an agent that restarts has it.
    let hashed: HashMap<usize, Told> = tools.iter().cloned().enumerate().collect();
    assert_eq!(catalog(&hashed.into_values().collect::<Vec<_>>()), whole, "a hash seed shows");
    let respelled: Vec<Told> = tools.iter().map(|tool| Told { spelling: 1, ..tool.clone() }).collect();
    assert_eq!(catalog(&respelled), whole, "the spelling of a schema shows");
    one_more(&tools);
}

/// The encoded catalog in each dialect, and what is said of bad tools.
fn catalog(tools: &[Told]) -> (Vec<String>, Vec<RegistryFault>) {
    let registry = Registry::new(tools.iter().map(|tool| Arc::new(tool.clone()) as Arc<dyn ToolSpec>));
    let shown = registry.snapshot();
    (Dialect::ALL.map(|dialect| shown.catalog.encoded(dialect).to_owned()).to_vec(), registry.faults().to_vec())
}

fn permuted(tools: &[Told], seed: u8) -> Vec<Told> {
    let mut tools = tools.to_vec();
    let mut state = u32::from(seed) | 1;
    for at in (1..tools.len()).rev() {
        // A step of a small generator: any permutation will do, as long as the input decides it.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let other = usize::try_from(state >> 16).unwrap_or_default() % (at + 1);
        tools.swap(at, other);
    }
    tools
}

/// A tool under a name that no other has comes and goes.
fn one_more(tools: &[Told]) {
    let late = Told { name: "middle", ..Told::of(&[0, 0, 0]) };
    let (before, after) = (catalog(tools).0, catalog(&[tools, std::slice::from_ref(&late)].concat()).0);
    for (before, after) in before.iter().zip(&after) {
        let (old, new) = (elements(before), elements(after));
        let kept: Vec<&str> = new.iter().copied().filter(|tool| !tool.contains("\"middle\"")).collect();
        assert_eq!(kept, old, "a tool that came changed others");
        assert_eq!(new.len(), old.len() + 1);
    }
}

fn elements(catalog: &str) -> Vec<&str> {
    let elements: Vec<&RawValue> = serde_json::from_str(catalog).unwrap_or_default();
    elements.into_iter().map(RawValue::get).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_committed_corpus_holds() {
        let mut count = 0;
        for folder in ["corpus", "regressions"] {
            let folder = format!("{}/../../fuzz/{folder}/catalog_stability", env!("CARGO_MANIFEST_DIR"));
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                catalog_stability(&std::fs::read(entry.path()).unwrap_or_default());
                count += 1;
            }
        }
        assert!(count >= 5, "only {count} inputs");
    }

    #[test]
    fn a_hundred_restarts_advertise_the_same() {
        // Every map has a hash seed of its own, so each round is a restart.
        for _ in 0..100 {
            catalog_stability(b"\x07\x00\x01\x00\x11\x04\x00\x22\x08\x00\x03\x01\x00\x14\x05\x01\x25\x00\x00");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_tools_in_any_order(input in prop::collection::vec(any::<u8>(), 0..73)) {
            catalog_stability(&input);
        }
    }
}
