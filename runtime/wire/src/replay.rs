//! Blocks that only their provider can read, and their way back.
//!
//! A signed or encrypted block (reasoning, most of all) goes back to the provider that made it verbatim or not at all.
//! It is kept beside the conversation and not in it: an item is what every dialect can carry, a block is understood by
//! one alone, and leaving all of them out is always legal.

use crate::dialect::Dialect;
use crate::turn::RawCall;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A block of a turn that is kept as the provider made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueBlock {
    /// The dialect that can carry it.
    pub dialect: Dialect,
    /// How many bytes of the turn's text came before it.
    pub after_text: usize,
    /// How many of the turn's calls came before it.
    pub after_calls: usize,
    /// The block as JSON, ready to be sent.
    pub json: String,
}

/// The opaque blocks of a conversation, by the position of the assistant item that they belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    blocks: BTreeMap<usize, Vec<OpaqueBlock>>,
    /// The tools that results refer to, by the position of the result.
    #[serde(default)]
    found: BTreeMap<usize, Vec<Reference>>,
}

/// A deferred tool that a result refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Its name.
    pub name: String,
    /// What stands for it in the result, as the dialect writes that ([`Dialect::reference`]).
    pub json: String,
}

impl Replay {
    /// Keeps the blocks of the turn that stands at `item` of the conversation's items.
    pub fn keep(&mut self, item: usize, blocks: Vec<OpaqueBlock>) {
        if !blocks.is_empty() {
            self.blocks.insert(item, blocks);
        }
    }

    /// The blocks of the assistant item at `item`, in the order in which they came.
    pub fn blocks(&self, item: usize) -> &[OpaqueBlock] {
        self.blocks.get(&item).map_or(&[], Vec::as_slice)
    }
}

impl Replay {
    /// Keeps the deferred tools that the result at `item` found. A dialect that loads tools by reference sends these in
    /// place of the result's text; all others send the text.
    pub fn refer(&mut self, item: usize, tools: Vec<Reference>) {
        if !tools.is_empty() {
            self.found.insert(item, tools);
        }
    }

    /// The tools that the result at `item` refers to.
    pub fn references(&self, item: usize) -> &[Reference] {
        self.found.get(&item).map_or(&[], Vec::as_slice)
    }

    /// Whether any result refers to tools.
    pub fn refers(&self) -> bool {
        !self.found.is_empty()
    }

    /// Drops every reference to a tool that is not declared any more: a provider refuses a request with one.
    pub fn keep_references(&mut self, declared: impl Fn(&str) -> bool) {
        for tools in self.found.values_mut() {
            tools.retain(|tool| declared(&tool.name));
        }
        self.found.retain(|_, tools| !tools.is_empty());
    }
}

/// A part of an assistant item as it goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment<'a> {
    Text(&'a str),
    Call(&'a RawCall),
    Opaque(&'a str),
}

/// An assistant item taken apart again, with the blocks of `dialect` where they stood. Blocks stay in their order, and
/// text and calls are complete, also where an item was changed since its turn.
pub(crate) fn segments<'a>(
    dialect: Dialect,
    text: &'a str,
    calls: &'a [RawCall],
    blocks: &'a [OpaqueBlock],
) -> Vec<Segment<'a>> {
    let mut segments = Vec::new();
    let (mut text, mut calls) = (text, calls);
    let whole = text.len();
    let total = calls.len();
    for block in blocks.iter().filter(|block| block.dialect == dialect) {
        let taken = whole - text.len();
        let (before, after) = text.split_at(text.floor_char_boundary(block.after_text.saturating_sub(taken)));
        let made = total - calls.len();
        let (done, open) = calls.split_at(block.after_calls.saturating_sub(made).min(calls.len()));
        segments.extend((!before.is_empty()).then_some(Segment::Text(before)));
        segments.extend(done.iter().map(Segment::Call));
        segments.push(Segment::Opaque(&block.json));
        (text, calls) = (after, open);
    }
    segments.extend((!text.is_empty()).then_some(Segment::Text(text)));
    segments.extend(calls.iter().map(Segment::Call));
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks as `(bytes of text before, calls before)`; calls are named a, b, c.
    #[track_caller]
    fn check(text: &str, calls: usize, blocks: &[(usize, usize)], expect: &str) {
        let calls: Vec<RawCall> = ["a", "b", "c"][..calls]
            .iter()
            .map(|name| RawCall { name: (*name).to_owned(), ..RawCall::default() })
            .collect();
        let mut kept: Vec<OpaqueBlock> = (1..)
            .zip(blocks)
            .map(|(number, &(after_text, after_calls))| OpaqueBlock {
                dialect: Dialect::Anthropic,
                after_text,
                after_calls,
                json: format!("#{number}"),
            })
            .collect();
        kept.push(OpaqueBlock { dialect: Dialect::Responses, after_text: 0, after_calls: 0, json: "other".to_owned() });
        let parts: Vec<String> = segments(Dialect::Anthropic, text, &calls, &kept)
            .iter()
            .map(|segment| match segment {
                Segment::Text(text) => format!("'{text}'"),
                Segment::Call(call) => call.name.clone(),
                Segment::Opaque(json) => (*json).to_owned(),
            })
            .collect();
        assert_eq!(parts.join(" "), expect);
    }

    #[test]
    fn without_blocks_text_goes_before_calls() {
        check("hi", 2, &[], "'hi' a b");
        check("", 0, &[], "");
    }

    #[test]
    fn blocks_stand_where_they_stood() {
        check("hi", 1, &[(0, 0)], "#1 'hi' a");
        check("hiho", 3, &[(0, 0), (2, 0), (2, 1), (4, 3)], "#1 'hi' #2 a #3 'ho' b c #4");
    }

    #[test]
    fn a_changed_item_loses_nothing() {
        check("üx", 1, &[(1, 5), (99, 0)], "a #1 'üx' #2");
        check("", 0, &[(7, 7)], "#1");
    }

    #[test]
    fn an_item_without_blocks_has_none() {
        let mut replay = Replay::default();
        replay.keep(3, Vec::new());
        assert_eq!(replay, Replay::default());
        assert_eq!(replay.blocks(3), &[]);
    }
}
