//! The fault files in the binary.

use super::load::{Fault, load};
use crate::source::Problems;
use include_dir::{Dir, include_dir};

static FAULTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/faults");

/// The faults that ship with the program.
///
/// # Errors
/// When a file is wrong, which a test of this module rules out.
pub fn embedded() -> Result<Vec<Fault>, Problems> {
    let mut files: Vec<(String, &str)> = FAULTS
        .files()
        .filter_map(|file| Some((format!("scenarios/faults/{}", file.path().display()), file.contents_utf8()?)))
        .collect();
    files.sort();
    load(files.iter().map(|(name, text)| (name.as_str(), *text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Library;
    use crate::rule::Level;
    use std::collections::BTreeSet;

    #[test]
    fn every_must_rule_has_a_fault_and_every_fault_a_rule_and_cases() {
        let library = Library::load(None, None).unwrap();
        let faults = embedded().unwrap();
        let aimed: BTreeSet<&str> = faults.iter().map(|fault| fault.rule.as_str()).collect();
        let blind: Vec<&str> = library
            .rules
            .iter()
            .filter(|booked| booked.rule.level == Level::Must && !aimed.contains(booked.rule.id.as_str()))
            .map(|booked| booked.rule.id.as_str())
            .collect();
        assert_eq!(blind, Vec::<&str>::new());
        for fault in &faults {
            assert!(library.rules.get(&fault.rule).is_some(), "{}", fault.id);
            assert!(fault.cases.iter().all(|case| library.case(case).is_some()), "{}", fault.id);
        }
    }

    #[test]
    fn every_fault_says_by_what_it_dies_and_every_oracle_has_one_that_aims_at_it() {
        let library = Library::load(None, None).unwrap();
        let faults = embedded().unwrap();
        let undeclared: Vec<&str> = faults
            .iter()
            .filter(|fault| fault.by.is_empty() || fault.cause.is_empty())
            .map(|f| f.id.as_str())
            .collect();
        assert_eq!(undeclared, Vec::<&str>::new());
        let aimed = |oracle: &str| {
            faults.iter().any(|fault| {
                let mut checks = fault.cases.iter().filter_map(|id| library.case(id)).flat_map(|case| &case.checks);
                fault.by == oracle
                    || checks.any(|check| check.name == fault.by && check.oracle.as_deref() == Some(oracle))
            })
        };
        let asleep: Vec<&str> = slot_oracles::ORACLES.iter().map(|o| o.id).filter(|id| !aimed(id)).collect();
        assert_eq!(asleep, Vec::<&str>::new());
    }
}
