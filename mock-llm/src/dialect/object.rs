//! Writes JSON objects with their members in the order given, as providers transmit them.

use serde_json::Value;

/// An object under construction.
#[derive(Debug)]
pub(super) struct Object(String);

/// Starts an object.
pub(super) fn object() -> Object {
    Object("{".to_owned())
}

/// Starts an object with its `type`.
pub(super) fn typed(kind: &str) -> Object {
    object().text("type", kind)
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A JSON list of values that are JSON already.
pub(super) fn list(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

impl Object {
    /// Adds a string.
    pub(super) fn text(self, key: &str, value: &str) -> Object {
        self.json(key, &quoted(value))
    }

    /// Adds a number.
    pub(super) fn number(self, key: &str, value: usize) -> Object {
        self.json(key, &value.to_string())
    }

    /// Adds a value that is JSON already.
    pub(super) fn json(mut self, key: &str, value: &str) -> Object {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quoted(key));
        self.0.push(':');
        self.0.push_str(value);
        self
    }

    /// Adds a string or `null`.
    pub(super) fn text_or_null(self, key: &str, value: Option<&str>) -> Object {
        match value {
            Some(value) => self.text(key, value),
            None => self.json(key, "null"),
        }
    }

    /// The object as JSON.
    pub(super) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_strings_are_escaped() {
        let inner = list(&[object().end(), quoted("x")]);
        let text = typed("t").number("z", 1).text("a\"", "ü\n").json("b", &inner).text_or_null("n", None).end();
        assert_eq!(text, r#"{"type":"t","z":1,"a\"":"ü\n","b":[{},"x"],"n":null}"#);
    }
}
