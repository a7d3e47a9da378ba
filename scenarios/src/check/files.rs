//! Expectations about files.

use super::{Met, wire};
use crate::case::FileExpect;
use slot_oracles::trace::Node;

/// Whether the entry at `name` is what is expected.
pub(super) fn file(name: &str, node: Option<&Node>, want: &FileExpect) -> Met {
    match (want, node) {
        (FileExpect::Exists(true), Some(_)) | (FileExpect::Exists(false), None) => Met::Yes,
        (FileExpect::Exists(false), Some(node)) => {
            Met::no("file-exists", format!("{name} is {}, expected nothing there", describe(node)))
        }
        (_, None) => Met::no("file-missing", format!("{name} does not exist")),
        (FileExpect::Text(want), Some(Node::File { text, .. })) => Met::when(text == want, "wrong-content", || {
            format!("{name} holds {:?}, expected {:?}", wire::shorten(text), wire::shorten(want))
        }),
        (FileExpect::Loose(want), Some(Node::File { text, .. })) => {
            let misses = wire::text(name, text, want, "wrong-content");
            misses.into_iter().find(|met| *met != Met::Yes).unwrap_or(Met::Yes)
        }
        (FileExpect::Text(_) | FileExpect::Loose(_), Some(node)) => {
            Met::no("wrong-content", format!("{name} is {}, expected a file with text", describe(node)))
        }
    }
}

fn describe(node: &Node) -> String {
    match node {
        Node::File { text, .. } => format!("a file that holds {:?}", wire::shorten(text)),
        Node::Blob { len, .. } => format!("a file of {len} bytes"),
        Node::Dir { .. } => "a folder".to_owned(),
        Node::Link { target } => format!("a link to {target:?}"),
        Node::Special => "a special file".to_owned(),
    }
}
