//! What a command asks for besides being run, and what of that can be had.
//!
//! There is no operating-system sandbox. What a sandbox alone could hold a command to is refused, with the reason, and never
//! taken as said. What is left can only raise: nothing a model writes here makes a command run that would be asked about.

use crate::input::{fault, optional_text};
use serde_json::{Value, json};
use slot_runtime::approval::command::{Analysis, Reason};
use slot_runtime::contract::ValidationFault;

/// The longest justification, in characters.
pub const MOST_JUSTIFICATION: usize = 300;
/// The most words of a rule.
pub const MOST_WORDS: usize = 16;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Whether the command is to run although nothing is known to hold it back.
    pub escalated: bool,
    /// Whether it needs the network; `None` where nothing is said.
    pub network: Option<bool>,
    /// What it is for, in the model's words.
    pub justification: Option<String>,
    /// What an answer that lasts should cover.
    pub prefix: Option<Vec<String>>,
}

/// The schema of `sandbox_permissions`.
pub fn schema() -> Value {
    json!({
        "type": "string", "enum": ["use_default", "with_additional_permissions", "require_escalated"],
        "description": "use_default when absent. There is no sandbox, so the other two only have the user asked, and need a \
                        justification.",
    })
}

/// The schema of `additional_permissions`.
pub fn additional_schema() -> Value {
    let paths = |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    json!({
        "type": "object",
        "description": "With with_additional_permissions: what this one command needs. It ends with the command.",
        "properties": {
            "network": {
                "type": "boolean",
                "description": "Whether it talks to other hosts. The user is told; false is checked against the command.",
            },
            "read": paths("Cannot be granted here: there is no sandbox to hold a command to folders."),
            "write": paths("Cannot be granted here: there is no sandbox to hold a command to folders."),
        },
        "additionalProperties": false,
    })
}

impl Permissions {
    /// Reads them.
    ///
    /// # Errors
    /// What cannot be had, or does not go together.
    pub fn of(input: &Value) -> Result<Permissions, ValidationFault> {
        let mode = optional_text(input, "sandbox_permissions")?.unwrap_or("use_default");
        let justification = optional_text(input, "justification")?.map(str::trim).filter(|text| !text.is_empty());
        if justification.is_some_and(|text| text.chars().count() > MOST_JUSTIFICATION) {
            return Err(fault(
                "justification",
                format!("it has more than {MOST_JUSTIFICATION} characters; say it shorter"),
            ));
        }
        let additional = input.get("additional_permissions");
        match (mode, additional) {
            ("use_default" | "require_escalated", None) | ("with_additional_permissions", Some(_)) => {}
            ("with_additional_permissions", None) => {
                return Err(fault(
                    "additional_permissions",
                    "say which permissions the command needs, or use use_default",
                ));
            }
            ("use_default" | "require_escalated", Some(_)) => {
                return Err(fault(
                    "sandbox_permissions",
                    "additional_permissions go with with_additional_permissions; pass that, or leave them out",
                ));
            }
            _ => {
                let known = "use_default, with_additional_permissions or require_escalated";
                return Err(fault("sandbox_permissions", format!("it is one of {known}")));
            }
        }
        if mode != "use_default" && justification.is_none() {
            return Err(fault("justification", "say in one sentence what the command is for: the user is asked"));
        }
        Ok(Permissions {
            escalated: mode == "require_escalated",
            network: additional.map(network).transpose()?.flatten(),
            justification: justification.map(str::to_owned),
            prefix: prefix(input)?,
        })
    }

    /// Whether a person is to be asked whatever the command is.
    pub fn asks(&self) -> bool {
        self.escalated || self.network.is_some()
    }

    /// Holds what is asked for against what the command is: the narrower of the two counts.
    ///
    /// # Errors
    /// When the command needs more than it asks for.
    pub fn check(&self, analysis: &Analysis) -> Result<(), ValidationFault> {
        if self.network == Some(false) && analysis.reasons.contains(&Reason::Network) {
            return Err(fault(
                "additional_permissions",
                "network is false, and the command may make network requests; ask for the network, or use another command",
            ));
        }
        Ok(())
    }

    /// What belongs to the key of a grant: an approval of less covers nothing that asks for more.
    pub fn key(&self) -> String {
        let network = match self.network {
            Some(true) => Some("network"),
            Some(false) => Some("no network"),
            None => None,
        };
        let parts: Vec<&str> = self.escalated.then_some("escalated").into_iter().chain(network).collect();
        parts.join(", ")
    }
}

/// What is said of the network; what cannot be held to is refused.
fn network(additional: &Value) -> Result<Option<bool>, ValidationFault> {
    for field in ["read", "write"] {
        if additional.get(field).is_some() {
            return Err(ValidationFault::at(
                format!("/additional_permissions/{field}"),
                "there is no sandbox here that could hold a command to folders, so that this cannot be granted; leave it \
                 out, and the user decides about the command as a whole",
            ));
        }
    }
    match additional.get("network") {
        Some(Value::Bool(network)) => Ok(Some(*network)),
        Some(_) => Err(ValidationFault::at("/additional_permissions/network", "it is true or false")),
        None => Err(fault(
            "additional_permissions",
            "nothing is asked for; say whether the network is needed, or leave it out",
        )),
    }
}

fn prefix(input: &Value) -> Result<Option<Vec<String>>, ValidationFault> {
    let Some(words) = input.get("prefix_rule") else { return Ok(None) };
    let words = words.as_array().map(|words| words.iter().map(|word| word.as_str().map(str::to_owned)).collect());
    match words.flatten() {
        Some::<Vec<String>>(words) if !words.is_empty() && words.len() <= MOST_WORDS => Ok(Some(words)),
        _ => Err(fault("prefix_rule", format!("it is a list of 1 to {MOST_WORDS} words"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slot_runtime::approval::command::analyse;

    #[track_caller]
    fn check(input: Value, expect: Result<&str, &str>) {
        match (Permissions::of(&input), expect) {
            (Ok(permissions), Ok(key)) => assert_eq!(permissions.key(), key),
            (Err(fault), Err(part)) => {
                let told = format!("{} {}", fault.pointer, fault.message);
                assert!(told.contains(part), "{told}");
            }
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn what_can_be_had_is_read() {
        check(json!({}), Ok(""));
        check(json!({ "sandbox_permissions": "use_default", "justification": "x" }), Ok(""));
        check(json!({ "sandbox_permissions": "require_escalated", "justification": "x" }), Ok("escalated"));
        let with = |network: bool| {
            json!({ "sandbox_permissions": "with_additional_permissions", "justification": "x",
                "additional_permissions": { "network": network } })
        };
        check(with(true), Ok("network"));
        check(with(false), Ok("no network"));
    }

    #[test]
    fn what_cannot_be_had_is_refused_and_never_passed_over() {
        let with = |additional: Value| {
            json!({ "sandbox_permissions": "with_additional_permissions", "justification": "x",
                "additional_permissions": additional })
        };
        check(
            with(json!({ "network": true, "write": ["a"] })),
            Err("/additional_permissions/write there is no sandbox"),
        );
        check(with(json!({ "read": [] })), Err("/additional_permissions/read there is no sandbox"));
        check(with(json!({})), Err("nothing is asked for"));
        check(json!({ "sandbox_permissions": "require_escalated" }), Err("/justification say in one sentence"));
        check(json!({ "sandbox_permissions": "require_escalated", "justification": " " }), Err("/justification"));
        check(json!({ "sandbox_permissions": "with_additional_permissions", "justification": "x" }), Err("say which"));
        check(json!({ "additional_permissions": { "network": true } }), Err("/sandbox_permissions"));
        check(json!({ "sandbox_permissions": "off" }), Err("it is one of"));
        check(json!({ "justification": "x".repeat(301) }), Err("more than 300"));
        check(json!({ "prefix_rule": [] }), Err("1 to 16 words"));
        check(json!({ "prefix_rule": ["a", 1] }), Err("1 to 16 words"));
    }

    #[test]
    fn the_narrower_of_what_is_asked_and_what_is_needed_counts() {
        let none = Permissions { network: Some(false), ..Permissions::default() };
        assert!(none.check(&analyse("git push")).is_err());
        assert!(none.check(&analyse("git status")).is_ok());
        assert!(Permissions::default().check(&analyse("git push")).is_ok());
    }
}
