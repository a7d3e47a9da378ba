//! Which call a fragment of a call belongs to.
//!
//! Providers disagree about what identifies a call while it streams. The rules, in the order in which they are tried:
//!
//! - A known id beats the index. The complete same call again under its id is a re-send; different arguments under a
//!   known id but on an index of their own are a second call that shares the id.
//! - A name with a fresh id opens a call, also on an index that is busy.
//! - A name without an id opens a call where the index is free or the call there is complete, and repeats the name
//!   where it is not.
//! - A fragment without a name continues: the call on its index, or without an index the call that was last touched.
//!   A fresh id does not change that. An index that no call was opened on continues the newest call if that one has no
//!   index of its own yet.
//! - Anything else is rejected and reported, never merged.
//!
//! An empty or missing id or name says nothing. Nothing here parses or mends arguments.

mod closure;

use self::closure::Closure;
use super::json::{Joint, Piece};
use super::{DecodeError, DecodeLimits};
use crate::{CallDelta, RawCall, Turn, TurnDelta, turn::Rejected};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A fragment as the dialect found it.
#[derive(Debug, Default)]
pub(super) struct Fragment<'a> {
    pub(super) index: Option<u64>,
    /// Empty where it is missing.
    pub(super) id: Cow<'a, str>,
    /// Empty where it is missing.
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Piece<'a>,
    /// The arguments were not a string but a JSON value, of which `arguments` is the text.
    pub(super) is_value: bool,
    /// The dialect says in so many words that a call begins here.
    pub(super) opens: bool,
}

/// What the assembler knows about a call besides what the turn says.
#[derive(Debug, Default)]
struct CallState {
    joint: Joint,
    closure: Closure,
    /// It has an index that no other call was on when it was opened, or has claimed one since.
    has_own_index: bool,
    /// The call whose index it took over.
    displaced: Option<(u64, Target)>,
    is_value: bool,
}

/// A call that is being sent again under its id on another index. Its text is a prefix of the original's arguments:
/// the moment it is not, it becomes a call of its own.
#[derive(Debug)]
struct Echo {
    of: usize,
    matched: usize,
    joint: Joint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Call(usize),
    Echo(usize),
}

enum Route {
    Open,
    Continue(Target),
    StartEcho(usize),
    Ignore,
    Reject(&'static str),
}

/// The turn under assembly, whoever watches it, and what it may cost.
pub(super) struct Assembly<'a> {
    pub(super) turn: &'a mut Turn,
    pub(super) deltas: &'a mut Vec<TurnDelta>,
    pub(super) limits: &'a DecodeLimits,
    /// Position of the event at hand, from 1.
    pub(super) event: u64,
}

impl Assembly<'_> {
    pub(super) fn limit(&self, what: &'static str, limit: usize) -> DecodeError {
        DecodeError::Limit { event: self.event, what, limit }
    }

    /// Reports a fragment that is not merged.
    fn reject(&mut self, reason: &str, fragment: &Fragment<'_>) -> Result<bool, DecodeError> {
        if self.turn.rejected.len() >= self.limits.max_rejected {
            return Err(self.limit("refused fragments", self.limits.max_rejected));
        }
        self.turn.rejected.push(Rejected { reason: reason.to_owned(), fragment: describe(fragment) });
        self.turn.torn = true;
        Ok(false)
    }
}

/// Assembles the calls of one turn from fragments.
#[derive(Debug, Default)]
pub(super) struct Calls {
    states: Vec<CallState>,
    by_index: BTreeMap<u64, Target>,
    by_id: BTreeMap<String, usize>,
    echoes: Vec<Echo>,
    last: Option<Target>,
    /// Arguments that came with the head of the call on an index, for the case that no fragments follow.
    starts: BTreeMap<u64, Start>,
    argument_bytes: usize,
}

#[derive(Debug)]
struct Start {
    text: String,
    is_value: bool,
}

impl Calls {
    /// Takes one fragment. Answers whether it added anything to the turn's calls.
    pub(super) fn accept(&mut self, fragment: &Fragment<'_>, to: &mut Assembly<'_>) -> Result<bool, DecodeError> {
        if fragment.id.len().max(fragment.name.len()) > to.limits.max_identity_bytes {
            return Err(to.limit("bytes in a call's id or name", to.limits.max_identity_bytes));
        }
        match self.route(fragment, &to.turn.calls) {
            Route::Ignore => Ok(false),
            Route::Reject(reason) => to.reject(reason, fragment),
            Route::Open => self.open(fragment, "", Joint::default(), to),
            Route::Continue(Target::Call(call)) => self.append(call, fragment, to),
            Route::Continue(Target::Echo(echo)) => self.echo(echo, fragment, to),
            Route::StartEcho(of) => {
                if self.echoes.len() >= to.limits.max_calls {
                    return Err(to.limit("calls", to.limits.max_calls));
                }
                let echo = self.echoes.len();
                self.echoes.push(Echo { of, matched: 0, joint: Joint::default() });
                if let Some(index) = fragment.index {
                    self.by_index.insert(index, Target::Echo(echo));
                }
                self.echo(echo, fragment, to)
            }
        }
    }

    /// Keeps the arguments that came with the head of the call on `index`. They count if no fragments follow.
    pub(super) fn start(
        &mut self,
        index: u64,
        arguments: Piece<'_>,
        is_value: bool,
        to: &Assembly<'_>,
    ) -> Result<bool, DecodeError> {
        let text = arguments.into_text().into_owned();
        if text.len() > to.limits.max_call_bytes {
            return Err(to.limit("bytes of arguments in one call", to.limits.max_call_bytes));
        }
        let kept: usize = self.starts.values().map(|start| start.text.len()).sum();
        if self.argument_bytes + kept + text.len() > to.limits.max_arguments_bytes {
            return Err(to.limit("bytes of arguments in all calls", to.limits.max_arguments_bytes));
        }
        if self.by_index.contains_key(&index) {
            self.starts.insert(index, Start { text, is_value });
        }
        Ok(false)
    }

    /// Ends the call on `index`: if no fragments came, its arguments are those that came with its head.
    pub(super) fn settle(&mut self, index: u64, to: &mut Assembly<'_>) -> Result<bool, DecodeError> {
        let Some(start) = self.starts.remove(&index) else { return Ok(false) };
        let bare = match self.by_index.get(&index) {
            Some(&Target::Call(call)) => to.turn.calls[call].arguments.is_empty(),
            Some(&Target::Echo(echo)) => self.echoes[echo].matched == 0,
            None => false,
        };
        if !bare {
            return Ok(false);
        }
        let arguments = Piece::plain(&start.text);
        self.accept(&Fragment { index: Some(index), arguments, is_value: start.is_value, ..Fragment::default() }, to)
    }

    /// Ends every call that is still open, as [`settle`](Self::settle) does.
    pub(super) fn settle_all(&mut self, to: &mut Assembly<'_>) -> Result<bool, DecodeError> {
        let mut grew = false;
        while let Some((&index, _)) = self.starts.first_key_value() {
            grew |= self.settle(index, to)?;
        }
        Ok(grew)
    }

    /// Takes a call stated as a whole, after its fragments or instead of them. Where the two differ the whole counts,
    /// and the difference is reported.
    pub(super) fn whole(&mut self, fragment: &Fragment<'_>, to: &mut Assembly<'_>) -> Result<bool, DecodeError> {
        let bound = fragment.index.and_then(|index| self.by_index.get(&index).copied());
        let same = |id: &str| fragment.id.is_empty() || id == fragment.id;
        let call = match bound {
            Some(Target::Echo(echo)) if same(&to.turn.calls[self.echoes[echo].of].id) => {
                self.echoes[echo].matched = 0;
                self.echoes[echo].joint = Joint::default();
                return self.echo(echo, fragment, to);
            }
            Some(Target::Call(call)) if same(&to.turn.calls[call].id) => call,
            _ => return self.accept(fragment, to),
        };
        if let Some(index) = fragment.index {
            self.starts.remove(&index);
        }
        let raw = &mut to.turn.calls[call];
        if !fragment.name.is_empty() && fragment.name != raw.name {
            return to.reject("a known id came with a different name", fragment);
        }
        self.states[call].joint.close(&mut raw.arguments);
        if fragment.arguments.is_exactly(&raw.arguments) {
            return Ok(false);
        }
        if !raw.arguments.is_empty() {
            self.argument_bytes -= raw.arguments.len().min(self.argument_bytes);
            raw.arguments.clear();
            self.states[call].closure = Closure::default();
            to.reject("the fragments of a call differ from the whole of it, which was taken", fragment)?;
        }
        self.append(call, &Fragment { arguments: fragment.arguments.clone(), ..Fragment::default() }, to)
    }

    /// Ends the turn: half characters at the ends of arguments are replaced, and re-sends that were cut are reported.
    pub(super) fn close(&mut self, turn: &mut Turn) {
        for (state, call) in self.states.iter_mut().zip(&mut turn.calls) {
            state.joint.close(&mut call.arguments);
        }
        for echo in self.echoes.drain(..) {
            let Some(call) = turn.calls.get(echo.of) else { continue };
            if echo.matched > 0 && echo.matched < call.arguments.len() {
                turn.rejected.push(Rejected {
                    reason: format!("call {:?} was sent again and cut short", call.id),
                    fragment: excerpt(&call.arguments[..echo.matched]),
                });
            }
        }
    }

    fn route(&self, fragment: &Fragment<'_>, calls: &[RawCall]) -> Route {
        if let Some(call) = self.known(fragment, calls) {
            return self.route_known(fragment, call, calls);
        }
        match (fragment.name.is_empty(), fragment.id.is_empty()) {
            (true, _) => self.route_tail(fragment, calls),
            (false, true) => self.route_name(fragment, calls),
            (false, false) => match self.target(fragment.index) {
                // The id comes late, after a head that had only the name.
                Some(Target::Call(call))
                    if fragment.index.is_some()
                        && calls[call].id.is_empty()
                        && calls[call].name == fragment.name
                        && !self.states[call].closure.closed =>
                {
                    Route::Continue(Target::Call(call))
                }
                _ => Route::Open,
            },
        }
    }

    /// The call that the fragment's id names, if it is known. Calls that share an id are told apart by their index.
    fn known(&self, fragment: &Fragment<'_>, calls: &[RawCall]) -> Option<usize> {
        if fragment.id.is_empty() {
            return None;
        }
        match fragment.index.and_then(|index| self.by_index.get(&index)) {
            Some(&Target::Call(call)) if calls[call].id == fragment.id => Some(call),
            _ => self.by_id.get(fragment.id.as_ref()).copied(),
        }
    }

    /// What the fragment's index is bound to, or without an index what was last touched.
    fn target(&self, index: Option<u64>) -> Option<Target> {
        match index {
            Some(index) => self.by_index.get(&index).copied(),
            None => self.last,
        }
    }

    fn route_known(&self, fragment: &Fragment<'_>, call: usize, calls: &[RawCall]) -> Route {
        let closed = self.states[call].closure.closed;
        let bound = fragment.index.and_then(|index| self.by_index.get(&index));
        let own_index = fragment.index.is_some() && bound.is_none();
        if let Some(&Target::Echo(echo)) = bound
            && self.echoes[echo].of == call
        {
            return Route::Continue(Target::Echo(echo));
        }
        if fragment.name.is_empty() {
            return Route::Continue(Target::Call(call));
        }
        if fragment.name != calls[call].name {
            return match closed && own_index {
                true => Route::Open,
                false => Route::Reject("a known id came with a different name"),
            };
        }
        if !closed {
            return Route::Continue(Target::Call(call));
        }
        if own_index || fragment.opens {
            return Route::StartEcho(call);
        }
        if fragment.arguments.is_empty() || fragment.arguments.is_exactly(&calls[call].arguments) {
            Route::Ignore
        } else if begins_value(fragment) {
            Route::Reject("a complete call got different arguments under the same id")
        } else {
            Route::Continue(Target::Call(call))
        }
    }

    /// A name without an id.
    fn route_name(&self, fragment: &Fragment<'_>, calls: &[RawCall]) -> Route {
        let call = match self.target(fragment.index) {
            None => return Route::Open,
            Some(Target::Echo(echo)) => {
                let same = calls[self.echoes[echo].of].name == fragment.name;
                return match (same, fragment.index) {
                    (true, _) => Route::Continue(Target::Echo(echo)),
                    (false, None) => Route::Open,
                    (false, Some(_)) => Route::Reject("a different name came on the index of an open call"),
                };
            }
            Some(Target::Call(call)) => call,
        };
        let same = calls[call].name == fragment.name;
        if self.states[call].closure.closed {
            return match (same, fragment.arguments.is_empty()) {
                (true, true) => Route::Ignore,
                (true, false) if !begins_value(fragment) => Route::Continue(Target::Call(call)),
                (true, false) if fragment.arguments.is_exactly(&calls[call].arguments) => Route::Reject(
                    "the same call came again without an id, so that a re-send and a second call look alike",
                ),
                _ => Route::Open,
            };
        }
        match same {
            true => Route::Continue(Target::Call(call)),
            false if fragment.index.is_none() && calls[call].arguments.is_empty() => Route::Open,
            false => Route::Reject("a different name came while a call was open, and no id or index tells them apart"),
        }
    }

    /// No name: it continues something, or nothing at all.
    fn route_tail(&self, fragment: &Fragment<'_>, calls: &[RawCall]) -> Route {
        let empty = fragment.arguments.is_empty();
        if empty && fragment.id.is_empty() {
            return Route::Ignore;
        }
        if let Some(target) = self.target(fragment.index) {
            return Route::Continue(target);
        }
        match calls.len().checked_sub(1) {
            None if empty => Route::Reject("an id came without a name"),
            None => Route::Reject("arguments came before any call was opened"),
            Some(newest) if !empty && !self.states[newest].has_own_index => Route::Continue(Target::Call(newest)),
            Some(_) => Route::Reject("no call was opened on this index"),
        }
    }

    /// Opens a call whose arguments begin with `before`, which ended in `joint`, and go on with the fragment's.
    fn open(
        &mut self,
        fragment: &Fragment<'_>,
        before: &str,
        joint: Joint,
        to: &mut Assembly<'_>,
    ) -> Result<bool, DecodeError> {
        let call = to.turn.calls.len();
        if call >= to.limits.max_calls {
            return Err(to.limit("calls", to.limits.max_calls));
        }
        let (id, name) = (fragment.id.to_string(), fragment.name.to_string());
        to.deltas.push(TurnDelta::Call(CallDelta::Opened { index: call, id: id.clone(), name: name.clone() }));
        to.turn.calls.push(RawCall { id: id.clone(), name, arguments: String::new() });
        let displaced = fragment.index.and_then(|index| Some((index, self.by_index.get(&index).copied()?)));
        let has_own_index = fragment.index.is_some() && displaced.is_none();
        self.states.push(CallState { has_own_index, displaced, ..CallState::default() });
        if let Some(index) = fragment.index {
            self.by_index.insert(index, Target::Call(call));
        }
        if !id.is_empty() {
            self.by_id.insert(id, call);
        }
        if !before.is_empty() {
            self.append(call, &Fragment { arguments: Piece::plain(before), ..Fragment::default() }, to)?;
        }
        self.states[call].joint = joint;
        self.append(call, fragment, to)?;
        Ok(true)
    }

    fn append(&mut self, call: usize, fragment: &Fragment<'_>, to: &mut Assembly<'_>) -> Result<bool, DecodeError> {
        let state = &mut self.states[call];
        let length = to.turn.calls[call].arguments.len();
        let empty = fragment.arguments.is_empty();
        if !empty && length > 0 && (fragment.is_value || state.is_value) {
            return to.reject("arguments came as a JSON value and as something else as well", fragment);
        }
        let added = state.joint.max_growth(&fragment.arguments);
        if length + added > to.limits.max_call_bytes {
            return Err(to.limit("bytes of arguments in one call", to.limits.max_call_bytes));
        }
        if self.argument_bytes + added > to.limits.max_arguments_bytes {
            return Err(to.limit("bytes of arguments in all calls", to.limits.max_arguments_bytes));
        }
        let raw = &mut to.turn.calls[call];
        state.joint.push(&mut raw.arguments, &fragment.arguments);
        state.closure.feed(&raw.arguments[length..]);
        let bytes = raw.arguments.len() - length;
        self.argument_bytes += bytes;
        if bytes > 0 {
            state.is_value = fragment.is_value;
            to.deltas.push(TurnDelta::Call(CallDelta::Arguments { index: call, bytes }));
        }
        if !fragment.id.is_empty() {
            if raw.id.is_empty() {
                raw.id = fragment.id.to_string();
            }
            // Ids that only continue are remembered as well, but not without end.
            if self.by_id.len() < 2 * to.limits.max_calls {
                self.by_id.entry(fragment.id.to_string()).or_insert(call);
            }
        }
        self.bind(fragment.index, Target::Call(call), to.limits);
        Ok(!empty)
    }

    /// Goes on with a re-send, which becomes a call of its own where it differs from the original.
    fn echo(&mut self, echo: usize, fragment: &Fragment<'_>, to: &mut Assembly<'_>) -> Result<bool, DecodeError> {
        self.last = Some(Target::Echo(echo));
        let Echo { of, matched, joint } = self.echoes[echo];
        let original = &to.turn.calls[of];
        let mut text = String::new();
        let mut next = joint;
        next.push(&mut text, &fragment.arguments);
        if original.arguments[matched..].starts_with(&text) {
            self.echoes[echo] = Echo { of, matched: matched + text.len(), joint: next };
            return Ok(false);
        }
        let before = original.arguments[..matched].to_owned();
        let second = Fragment {
            index: fragment.index.or_else(|| self.index_of(Target::Echo(echo))),
            id: Cow::Owned(original.id.clone()),
            name: Cow::Owned(original.name.clone()),
            arguments: fragment.arguments.clone(),
            is_value: fragment.is_value,
            opens: true,
        };
        self.echoes[echo].matched = 0;
        // The index was bound to the re-send alone, so the second call has it to itself.
        if let Some(index) = second.index {
            self.by_index.remove(&index);
        }
        self.open(&second, &before, joint, to)
    }

    fn index_of(&self, target: Target) -> Option<u64> {
        self.by_index.iter().find_map(|(&index, &bound)| (bound == target).then_some(index))
    }

    /// Notes that `target` was touched, and gives it the index where that is free.
    fn bind(&mut self, index: Option<u64>, target: Target, limits: &DecodeLimits) {
        self.last = Some(target);
        let Some(index) = index else { return };
        // A known id may come with ever new indices, of which no more are remembered than a turn may have calls.
        if self.by_index.contains_key(&index) || self.by_index.len() >= 2 * limits.max_calls {
            return;
        }
        self.by_index.insert(index, target);
        if let Target::Call(call) = target
            && !self.states[call].has_own_index
        {
            self.states[call].has_own_index = true;
            // It had been opened on another call's index, which that call now gets back.
            if let Some((index, before)) = self.states[call].displaced.take() {
                self.by_index.insert(index, before);
            }
        }
    }
}

/// Whether the arguments look like the start of some and not like the rest of some.
fn begins_value(fragment: &Fragment<'_>) -> bool {
    fragment.arguments.text().trim_start().starts_with(['{', '['])
}

fn describe(fragment: &Fragment<'_>) -> String {
    let parts = [fragment.id.as_ref(), fragment.name.as_ref(), fragment.arguments.text()];
    excerpt(&parts.map(excerpt).into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "))
}

/// At most 200 bytes of a text.
pub(super) fn excerpt(text: &str) -> String {
    text[..text.floor_char_boundary(200)].to_owned()
}
