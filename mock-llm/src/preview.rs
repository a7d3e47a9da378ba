//! What a script would put on the wire, without an agent: for people who want to see the bytes.

use crate::binding::{Folders, UnboundOp};
use crate::dialect::{Dialect, Form};
use crate::fault::Fault;
use crate::http::Stop;
use crate::load::neutral;
use crate::render::{Key, make};
use crate::script::Script;
use crate::turn::ModelTurn;
use bytes::Bytes;

/// One response of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The turn.
    pub turn: usize,
    /// Which of its failing attempts this is, from 0; `None` for the turn itself.
    pub attempt: Option<usize>,
    /// What goes on the connection, write by write, head and framing included.
    pub writes: Vec<Bytes>,
    /// Before which write the response stops, and how; past the last one: after everything.
    pub stop: Option<(usize, String)>,
    /// Whether the connection ends after the last write in any case.
    pub closes: bool,
    /// Cuts and faults whose anchor this dialect's body does not hold.
    pub missing: Vec<String>,
}

/// Every response of a script in the order in which an agent meets them, streamed in `dialect` to a client that asks for
/// usage. Operations are bound to tools of their own names that take their own fields; folders keep their `$NAMES`.
///
/// # Errors
///
/// When an operation cannot be bound.
pub fn preview(script: &Script, dialect: Dialect) -> Result<Vec<Preview>, UnboundOp> {
    let bound = neutral();
    let form = Form { stream: true, usage: true, model: "mock-model".to_owned(), search: false };
    let no_fault = Fault::default();
    let mut all = Vec::new();
    for (index, turn) in script.turns.iter().enumerate() {
        let model = ModelTurn::new(index, &script.turns, &bound, &Folders::default())?;
        let attempts = turn.attempts.iter().enumerate().map(|(attempt, fault)| (Some(attempt), fault));
        for (attempt, fault) in attempts.chain([(None, turn.fault.as_ref().unwrap_or(&no_fault))]) {
            let key = Key { turn: index, attempt, dialect, form: form.clone(), old: false };
            let made = make(turn, &model, fault, &key, script.seed);
            let rendered = made.rendered;
            all.push(Preview {
                turn: index,
                attempt,
                writes: rendered.writes.iter().map(|write| rendered.wire.slice(write.wire.clone())).collect(),
                stop: rendered.stop.map(|(at, stop)| (at, name(&stop))),
                closes: rendered.close,
                missing: made.missing,
            });
        }
    }
    Ok(all)
}

fn name(stop: &Stop) -> String {
    match stop {
        Stop::Stall(None) => "stalls until the client leaves".to_owned(),
        Stop::Stall(Some(gate)) => format!("stalls until the gate {gate:?} opens"),
        Stop::Repeat(_) => "sends nothing but comments until the client leaves".to_owned(),
        Stop::Close => "the connection closes".to_owned(),
        Stop::Reset => "the connection is reset".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Problem;

    /// The turn, the attempt, the count of writes, and the stop.
    type Seen<'a> = (usize, Option<usize>, usize, Option<(usize, &'a str)>);

    #[track_caller]
    fn check(script: &str, dialect: Dialect, expect: &[Seen<'_>]) {
        let script = Script::from_toml(script, "s.toml").unwrap();
        assert_eq!(script.problems(), Vec::<Problem>::new());
        let previews = preview(&script, dialect).unwrap();
        let got: Vec<_> = previews
            .iter()
            .map(|p| (p.turn, p.attempt, p.writes.len(), p.stop.as_ref().map(|(at, how)| (*at, how.as_str()))))
            .collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn attempts_come_before_their_turn() {
        let script = "[[turn]]\nsay = 'hello'\n[[turn.attempt]]\nstatus = 429\n[[turn.attempt]]\nthen = 'reset'\n\
                      before_head = true\n[[turn]]\nsay = 'x'\ndelivery = 'coalesced'\n";
        check(
            script,
            Dialect::Chat,
            &[
                (0, Some(0), 1, None),
                (0, Some(1), 0, Some((0, "the connection is reset"))),
                (0, None, 7, None),
                (1, None, 1, None),
            ],
        );
    }

    #[test]
    fn operations_have_tools_of_their_own_names() {
        let script =
            "[[turn]]\n[[turn.call]]\nid = 'c1'\nop = 'READ'\nwith = { path = '$WORKSPACE/a' }\n[[turn]]\nsay = 'x'\n";
        for dialect in Dialect::ALL {
            let previews = preview(&Script::from_toml(script, "s.toml").unwrap(), dialect).unwrap();
            let wire = previews[0].writes.concat();
            assert!(memchr::memmem::find(&wire, b"\"name\":\"read\"").is_some(), "{dialect:?}");
        }
    }
}
