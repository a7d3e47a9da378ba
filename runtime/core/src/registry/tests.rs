use super::*;
use crate::contract::{Capability, CapabilitySet, Origin, Tool};
use serde_json::{Value, json};
use slot_wire::Dialect;

/// A tool that says what it is told to say.
#[derive(Clone)]
struct Fake {
    name: &'static str,
    description: &'static str,
    schema: Value,
    origin: Origin,
    panics: bool,
}

impl Fake {
    fn new(name: &'static str) -> Self {
        Fake {
            name,
            description: "does it",
            schema: json!({"type": "object"}),
            origin: Origin::builtin(),
            panics: false,
        }
    }
}

impl Tool for Fake {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        self.description
    }
    fn input_schema(&self) -> Value {
        assert!(!self.panics, "planted");
        self.schema.clone()
    }
    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::ok("ran")) })
    }
}

impl ToolSpec for Fake {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }
    fn origin(&self) -> Origin {
        self.origin.clone()
    }
}

fn registry(tools: &[Fake]) -> Registry {
    Registry::new(tools.iter().cloned().map(|t| Arc::new(t) as Arc<dyn ToolSpec>))
}

fn names(registry: &Registry) -> Vec<String> {
    registry.snapshot().catalog.names().to_vec()
}

#[test]
fn the_catalog_is_sorted_whatever_the_order_of_registration() {
    let (a, b, c) = (Fake::new("a"), Fake::new("b"), Fake::new("c"));
    let first = registry(&[c.clone(), a.clone(), b.clone()]);
    let second = registry(&[b, c, a]);
    assert_eq!(names(&first), ["a", "b", "c"]);
    assert_eq!(first.snapshot().catalog.encoded(Dialect::Chat), second.snapshot().catalog.encoded(Dialect::Chat));
}

#[test]
fn external_tools_come_after_all_built_in_ones() {
    let external = Fake { origin: Origin::extension("x"), ..Fake::new("a_external") };
    assert_eq!(names(&registry(&[external, Fake::new("z")])), ["z", "a_external"]);
}

#[test]
fn a_bad_name_gets_a_stub_that_collides_with_nothing() {
    let bad = Fake { origin: Origin::extension("x"), ..Fake::new("read file") };
    let registry = registry(&[bad, Fake::new("read_file")]);
    let snapshot = registry.snapshot();
    assert!(snapshot.tools["read_file"].fail_closed.is_none());
    let stub = registry.faults()[0].stub.clone().unwrap();
    assert!(is_legal_name(&stub) && stub.starts_with("fail_closed_read_file_"), "{stub}");
    assert_eq!(snapshot.tools[&stub].description, FAIL_CLOSED_DESCRIPTION);
    assert_eq!(registry.faults()[0].kind, FaultKind::Name);
}

#[test]
fn names_that_look_alike_once_cleaned_get_stubs_of_their_own() {
    let registry = registry(&[Fake::new("a b"), Fake::new("a.b"), Fake::new(""), Fake::new("ünï")]);
    assert_eq!(names(&registry).len(), 4);
    assert!(names(&registry).iter().all(|n| is_legal_name(n)));
}

#[test]
fn a_schema_without_an_object_root_is_a_stub_under_its_own_name() {
    let registry = registry(&[Fake { schema: json!({"type": "string"}), ..Fake::new("odd") }, Fake::new("good")]);
    assert_eq!(names(&registry), ["good", "odd"]);
    assert!(registry.snapshot().tools["odd"].fail_closed.is_some());
    assert_eq!(registry.faults()[0].kind, FaultKind::Schema);
}

#[test]
fn a_bad_tool_never_takes_the_name_of_a_good_one() {
    let bad = Fake { schema: json!(null), ..Fake::new("read_file") };
    let registry = registry(&[bad, Fake { origin: Origin::extension("x"), ..Fake::new("read_file") }]);
    assert!(registry.snapshot().tools["read_file"].fail_closed.is_none());
    assert_eq!(names(&registry).len(), 2);
}

#[test]
fn a_panic_while_sampling_is_that_tools_fault_alone() {
    let registry = registry(&[Fake { panics: true, ..Fake::new("bomb") }, Fake::new("good")]);
    assert_eq!(names(&registry), ["bomb", "good"]);
    assert_eq!(registry.faults()[0].kind, FaultKind::Panic);
    assert!(registry.faults()[0].reason.contains("planted"));
}

#[test]
fn a_bad_tool_leaves_every_other_byte_unchanged() {
    let good = [Fake::new("a"), Fake::new("b")];
    let with = registry(&[good[0].clone(), Fake { panics: true, ..Fake::new("zz") }, good[1].clone()]);
    let without = registry(&good);
    let (x, y) = (without.snapshot(), with.snapshot());
    let prefix = x.catalog.encoded(Dialect::Chat).strip_suffix(']').unwrap();
    assert!(y.catalog.encoded(Dialect::Chat).starts_with(prefix));
}

#[test]
fn a_duplicate_is_decided_by_the_tools_and_reported() {
    let builtin = Fake::new("same");
    let external = Fake { origin: Origin::extension("x"), description: "another", ..Fake::new("same") };
    for order in [[builtin.clone(), external.clone()], [external, builtin]] {
        let registry = registry(&order);
        assert_eq!(registry.snapshot().tools["same"].description, "does it");
        assert_eq!(registry.faults()[0].kind, FaultKind::Duplicate);
    }
}

#[test]
fn two_external_tools_of_one_name_are_decided_without_regard_to_order() {
    let one = Fake { origin: Origin::extension("x"), description: "one", ..Fake::new("same") };
    let two = Fake { origin: Origin::extension("y"), description: "two", ..Fake::new("same") };
    for order in [[one.clone(), two.clone()], [two, one]] {
        assert_eq!(registry(&order).snapshot().tools["same"].description, "one");
    }
}

/// A tool with this schema, as it is advertised in Chat Completions.
#[track_caller]
fn advertised(schema: &Value, form: SchemaForm) -> Value {
    let tool = Fake { schema: schema.clone(), ..Fake::new("t") };
    let registry = Registry::in_form([Arc::new(tool) as Arc<dyn ToolSpec>], form);
    assert_eq!(registry.faults(), []);
    // Arguments are judged by the schema that the tool gave.
    assert_eq!(registry.snapshot().tools["t"].schema, *schema);
    let catalog: Value = serde_json::from_str(registry.snapshot().catalog.encoded(Dialect::Chat)).unwrap();
    catalog[0]["function"].clone()
}

fn awkward() -> Value {
    json!({"type": "object", "required": ["a", "ghost"], "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}})
}

#[test]
fn schemas_are_advertised_cleaned() {
    let cleaned = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": ["string", "null"]}}});
    assert_eq!(advertised(&awkward(), SchemaForm::Cleaned)["parameters"], cleaned);
    assert_eq!(advertised(&awkward(), SchemaForm::AsGiven)["parameters"], awkward());
}

#[test]
fn the_strict_form_is_said_to_be_strict_and_only_where_it_is() {
    let closed = advertised(&awkward(), SchemaForm::Strict);
    assert_eq!((&closed["strict"], &closed["parameters"]["additionalProperties"]), (&json!(true), &json!(false)));
    let open = json!({"type": "object", "properties": {"a": {"type": "object", "properties": {}}}});
    let function = advertised(&open, SchemaForm::Strict);
    assert_eq!((function.get("strict"), &function["parameters"]), (None, &open));
    assert_eq!(advertised(&awkward(), SchemaForm::Cleaned).get("strict"), None);
}

#[test]
fn a_schema_that_cannot_be_advertised_is_a_stub() {
    let deep = (0..200).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    for (property, reason) in [
        (json!({"$ref": "https://example.com/x.json"}), "\"https://example.com/x.json\", which is not fetched"),
        (deep, "more than 127 levels"),
    ] {
        let schema = json!({"type": "object", "properties": {"a": property}});
        let registry = registry(&[Fake { schema, ..Fake::new("odd") }, Fake::new("good")]);
        assert!(registry.faults()[0].reason.contains(reason), "{:?}", registry.faults());
        assert!(!registry.snapshot().catalog.encoded(Dialect::Chat).contains("example.com"));
        assert_eq!(names(&registry), ["good", "odd"]);
    }
}
