//! Reading a tool's input. Its shape has been checked against the schema before; what is checked here is what a schema
//! cannot say, and the same code answers before approval and when the tool runs.

use serde_json::Value;
use slot_runtime::contract::{ToolError, ValidationFault};

/// The text in `field`.
pub fn text<'a>(input: &'a Value, field: &str) -> Result<&'a str, ValidationFault> {
    optional_text(input, field)?.ok_or_else(|| fault(field, format!("the field {field:?} is missing; it is a string")))
}

/// The text in `field`, if the field is there.
pub fn optional_text<'a>(input: &'a Value, field: &str) -> Result<Option<&'a str>, ValidationFault> {
    match input.get(field) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(fault(field, format!("the field {field:?} must be a string"))),
    }
}

/// The whole number in `field`, if the field is there: at least `least`.
pub fn optional_count(input: &Value, field: &str, least: u64) -> Result<Option<u64>, ValidationFault> {
    let Some(value) = input.get(field) else { return Ok(None) };
    whole(value)
        .filter(|number| *number >= least)
        .map(Some)
        .ok_or_else(|| fault(field, format!("the field {field:?} must be a whole number of at least {least}")))
}

/// The flag in `field`, if the field is there.
pub fn optional_flag(input: &Value, field: &str) -> Result<Option<bool>, ValidationFault> {
    match input.get(field) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(fault(field, format!("the field {field:?} must be true or false"))),
    }
}

/// A number without a fraction, however it is written: the schema takes `5.0` for an integer too.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the value is whole and between 0 and 2^53"
)]
fn whole(value: &Value) -> Option<u64> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    value.as_u64().or_else(|| {
        value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..=EXACT).contains(float)).map(|float| float as u64)
    })
}

/// A fault of one field.
pub fn fault(field: &str, message: impl Into<String>) -> ValidationFault {
    ValidationFault::at(format!("/{field}"), message)
}

/// A fault that is met only when the tool runs.
pub fn invalid(fault: ValidationFault) -> ToolError {
    ToolError::InvalidInput(fault.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: Value, expect: Option<u64>) {
        let found = optional_count(&json!({ "n": value }), "n", 1);
        match expect {
            Some(number) => assert_eq!(found, Ok(Some(number))),
            None => {
                let fault = found.expect_err("not a count");
                assert_eq!(fault, ValidationFault::at("/n", "the field \"n\" must be a whole number of at least 1"));
            }
        }
    }

    #[test]
    fn counts_are_whole_numbers_from_the_least_on() {
        check(json!(1), Some(1));
        check(json!(5.0), Some(5));
        check(json!(u64::MAX), Some(u64::MAX));
        for wrong in [json!(0), json!(-1), json!(1.5), json!(1e300), json!("1200"), json!(null), json!([1])] {
            check(wrong, None);
        }
        assert_eq!(optional_count(&json!({}), "n", 1), Ok(None));
    }

    #[test]
    fn text_is_text() {
        assert_eq!(text(&json!({ "path": "a" }), "path"), Ok("a"));
        assert!(text(&json!({}), "path").expect_err("missing").message.contains("is missing"));
        assert!(text(&json!({ "path": 1 }), "path").expect_err("a number").message.contains("must be a string"));
        assert_eq!(optional_text(&json!({}), "path"), Ok(None));
    }
    #[test]
    fn flags_are_flags() {
        assert_eq!(optional_flag(&json!({ "all": true }), "all"), Ok(Some(true)));
        assert_eq!(optional_flag(&json!({}), "all"), Ok(None));
        assert!(optional_flag(&json!({ "all": "true" }), "all").expect_err("text").message.contains("true or false"));
    }
}
