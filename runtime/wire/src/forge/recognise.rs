//! What is said about a forgery.
//!
//! It owns the notice. A [`RecognisedForgery`] is all that is left of what was once a parser of calls in text: it names
//! families and a count, has no tool and no arguments, and nothing converts it into a call.

use super::{Family, Stripped, Stripper};
use std::collections::BTreeSet;
use std::fmt;

/// That a message imitated calls, and whose.
///
/// It cannot become a call:
///
/// ```compile_fail
/// let forgery = slot_wire::forge::recognise("[TOOL_CALL]{}[/TOOL_CALL]").unwrap();
/// let call: slot_wire::RawCall = forgery.into();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecognisedForgery {
    removed: usize,
    families: BTreeSet<Family>,
}

impl RecognisedForgery {
    /// What the parts of a message come to together, if any of them was forged.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a Stripped>) -> Option<Self> {
        let mut all = RecognisedForgery { removed: 0, families: BTreeSet::new() };
        for part in parts {
            all.removed += part.removed;
            all.families.extend(&part.families);
        }
        (all.removed > 0).then_some(all)
    }

    /// How many pieces were removed.
    pub fn removed(&self) -> usize {
        self.removed
    }

    /// The spellings of the families, sorted.
    pub fn families(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self.families.iter().map(|family| family.as_str()).collect();
        names.sort_unstable();
        names
    }
}

/// The one line that a person sees.
impl fmt::Display for RecognisedForgery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "removed text that imitates tool calls or results ({}); no tool was run for it",
            self.families().join(", ")
        )
    }
}

/// What a whole text forges, if it does.
pub fn recognise(text: &str) -> Option<RecognisedForgery> {
    let mut stripper = Stripper::new();
    let mut rest = String::new();
    stripper.push(text, &mut rest);
    RecognisedForgery::of([&stripper.finish(&mut rest)])
}
