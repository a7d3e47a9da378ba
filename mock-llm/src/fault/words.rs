//! What raw bytes and words may say of a call: its id, name and arguments as they are bound, so that a case that speaks of
//! calls otherwise than by making them runs with the tools of any agent.

use crate::script::Call;
use slot_oracles::trace::ServedCall;

/// The calls of a turn, as the script names them and as they are sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Words<'a> {
    /// The script's calls.
    pub script: &'a [Call],
    /// The same calls, bound.
    pub sent: &'a [ServedCall],
}

impl Words<'_> {
    /// Puts the words of calls in the place of their names. What names no call is left as it is, and told.
    pub(crate) fn fill(self, bytes: &[u8], missing: &mut Vec<String>) -> Vec<u8> {
        let (mut out, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
        while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
            out.extend_from_slice(&rest[..at]);
            rest = &rest[at..];
            let Some((word, id, len)) = name(rest) else {
                out.push(b'$');
                rest = &rest[1..];
                continue;
            };
            match self.word(word, id) {
                Some(text) => out.extend_from_slice(text.as_bytes()),
                None => {
                    missing.push(format!("there is no call `{id}` for ${word}({id})"));
                    out.extend_from_slice(&rest[..len]);
                }
            }
            rest = &rest[len..];
        }
        out.extend_from_slice(rest);
        out
    }

    fn word(self, word: &str, id: &str) -> Option<String> {
        let at = self.script.iter().position(|call| call.id == id)?;
        let call = self.sent.get(at)?;
        let (head, tail) = call.arguments.split_at(call.arguments.floor_char_boundary(call.arguments.len() / 2));
        let text = match word {
            "JSON" => return Some(call.arguments.clone()),
            "ID" => &call.id,
            "NAME" => &call.name,
            "ARGS" => &call.arguments,
            "HEAD" => head,
            _ => tail,
        };
        let quoted = serde_json::Value::from(text).to_string();
        Some(quoted[1..quoted.len() - 1].to_owned())
    }
}

/// The word and the call at the start of `$WORD(id)`, and how many bytes that takes.
fn name(bytes: &[u8]) -> Option<(&str, &str, usize)> {
    let end = bytes.iter().position(|byte| *byte == b')')?;
    let (word, id) = std::str::from_utf8(&bytes[1..end]).ok()?.split_once('(')?;
    matches!(word, "ID" | "NAME" | "ARGS" | "HEAD" | "TAIL" | "JSON").then_some((word, id, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str, missing: usize) {
        let script = [Call { id: "c1".into(), ..Call::default() }];
        let sent = [ServedCall { id: "x".into(), name: "n\"".into(), arguments: r#"{"ab":1}"#.into() }];
        let mut told = Vec::new();
        let filled = Words { script: &script, sent: &sent }.fill(text.as_bytes(), &mut told);
        assert_eq!((String::from_utf8(filled).unwrap().as_str(), told.len()), (expect, missing));
    }

    #[test]
    fn the_words_of_a_call_stand_inside_a_json_string() {
        check("$ID(c1) $NAME(c1)", r#"x n\""#, 0);
        check("$ARGS(c1)|$JSON(c1)", r#"{\"ab\":1}|{"ab":1}"#, 0);
        check("$HEAD(c1)|$TAIL(c1)", r#"{\"ab|\":1}"#, 0);
    }

    #[test]
    fn other_dollars_are_left_alone() {
        check("$", "$", 0);
        check("$HOME $(ls) $ID", "$HOME $(ls) $ID", 0);
    }

    #[test]
    fn a_call_that_is_not_there_is_told() {
        check("a$ID(c2)b", "a$ID(c2)b", 1);
    }
}
