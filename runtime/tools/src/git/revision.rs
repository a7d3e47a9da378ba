//! What may stand for a revision: a branch, a tag, a hash, or an expression over them, and never an option.

use crate::input::{fault, optional_text};
use serde_json::Value;
use slot_runtime::contract::ValidationFault;

/// The longest expression, in bytes.
const MAX_BYTES: usize = 512;

/// The revision in `field`, where there is one.
pub fn revision<'a>(input: &'a Value, field: &str) -> Result<Option<&'a str>, ValidationFault> {
    let Some(text) = optional_text(input, field)? else { return Ok(None) };
    if text.trim().is_empty() {
        return Err(fault(field, "the revision is empty; pass a branch, a tag or a hash, such as HEAD~1"));
    }
    if text.starts_with('-') {
        return Err(fault(
            field,
            "a revision does not begin with `-`, and options are not passed on; pass a branch, a tag or a hash",
        ));
    }
    if text.contains(char::is_control) {
        return Err(fault(field, "the revision contains a control character; no name of one does"));
    }
    if text.len() > MAX_BYTES {
        return Err(fault(field, format!("the revision has {} bytes; the limit is {MAX_BYTES}", text.len())));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(text: &str, expect: bool) {
        assert_eq!(revision(&json!({ "rev": text }), "rev").is_ok(), expect, "{text:?}");
    }

    #[test]
    fn names_hashes_and_expressions_are_revisions() {
        for text in
            ["HEAD", "main", "v1.0^{commit}", "HEAD~3", "main..side", "HEAD@{2 days ago}", ":/a text", "ü", "HEAD:a b"]
        {
            check(text, true);
        }
    }

    #[test]
    fn options_are_none() {
        for text in ["--output=x", "-O/etc/passwd", "--", "-", "", "  ", "a\nb", "a\0b", &"x".repeat(513)] {
            check(text, false);
        }
    }
}
