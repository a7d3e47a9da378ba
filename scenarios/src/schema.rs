//! JSON Schemas of the files that people write, for editors.

use crate::adapter::Adapter;
use crate::case::CaseFile;
use crate::report::Report;
use crate::rule::RuleFile;
use clap::ValueEnum;

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// `cases/<area>/<name>.toml`
    Case,
    /// `rules/<area>.toml`
    Rule,
    /// `adapters/<agent>.toml`
    Adapter,
    /// What `run --json` prints.
    Report,
}

/// The schema of a format.
pub fn of(format: Format) -> schemars::Schema {
    match format {
        Format::Case => schemars::schema_for!(CaseFile),
        Format::Rule => schemars::schema_for!(RuleFile),
        Format::Adapter => schemars::schema_for!(Adapter),
        Format::Report => schemars::schema_for!(Report),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The names that the schema of a format gives to the fields of its root.
    #[track_caller]
    fn check(format: Format, expect: &[&str]) {
        let schema = serde_json::to_value(of(format)).unwrap();
        let mut names: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, expect);
    }

    #[test]
    fn a_schema_names_the_fields_as_they_are_written() {
        check(Format::Rule, &["area", "rule", "title"]);
        check(
            Format::Case,
            &[
                "answers",
                "cancel",
                "check",
                "dialects",
                "limit_ms",
                "mode",
                "needs",
                "patience_ms",
                "prompt",
                "seed",
                "strict_schemas",
                "title",
                "turn",
                "twin",
                "world",
            ],
        );
    }

    #[test]
    fn a_check_lists_its_keys_and_allows_no_other() {
        let schema = serde_json::to_value(of(Format::Case)).unwrap();
        let check = &schema["$defs"]["CheckFile"];
        assert_eq!(check["additionalProperties"], Value::Bool(false));
        let expect = serde_json::to_value(schemars::schema_for!(crate::case::Expect)).unwrap();
        for key in expect["properties"].as_object().unwrap().keys() {
            assert!(check["properties"].get(key).is_some(), "{key}");
        }
    }
}
