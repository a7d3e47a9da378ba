//! Files that are looked for by their paths: counted, and the first of them kept in an order of the tool's own.

use super::{
    ANSWER_BYTES, Scope, Start,
    answer::{no_walk, passed_over, visible_path},
    walk::{Candidate, PassedOver, Visit, Walk},
};
use serde_json::json;
use slot_runtime::{boundary::FileBoundary, contract::ToolError};
use std::{collections::BTreeSet, path::PathBuf};
use tokio_util::sync::CancellationToken;

/// Files that were found.
pub struct Found {
    /// How many.
    pub count: u64,
    /// The first ones.
    first: Vec<PathBuf>,
    passed: PassedOver,
}

/// One thread's search. Files have a key by which they are ordered, and none if they are not meant.
struct Keyed<'a, K, F> {
    key: &'a F,
    most: usize,
    count: u64,
    first: BTreeSet<(K, PathBuf)>,
}

impl<K: Ord, F> Keyed<'_, K, F> {
    fn keep(&mut self, file: (K, PathBuf)) {
        self.first.insert(file);
        if self.first.len() > self.most {
            self.first.pop_last();
        }
    }
}

impl<K: Ord + Send, F: Fn(&Candidate<'_>) -> Option<K> + Sync> Visit for Keyed<'_, K, F> {
    fn file(&mut self, file: &Candidate<'_>) {
        if let Some(key) = (self.key)(file) {
            self.count += 1;
            self.keep((key, file.shown.to_path_buf()));
        }
    }
}

/// Finds the files that have a `key`; the first by their keys, and then by the bytes of their paths, are kept.
///
/// # Errors
/// When there is no folder to look in, or no whole answer.
pub fn files<K: Ord + Send>(
    boundary: &dyn FileBoundary,
    scope: &Scope,
    stop: &CancellationToken,
    key: impl Fn(&Candidate<'_>) -> Option<K> + Sync,
) -> Result<Found, ToolError> {
    let Start::Folder(tree, above) = scope.open(boundary)? else {
        return Err(ToolError::InvalidInput(format!(
            "path {} is a file, and files are looked for in a folder. Pass the folder of it, or call read_file with path={}",
            scope.path,
            json!(scope.path)
        )));
    };
    let walk = Walk { tree: &tree, above, ignored: scope.ignored, stop };
    let make = || Keyed { key: &key, most: scope.most, count: 0, first: BTreeSet::new() };
    let (visitors, passed) = walk.run(make).map_err(no_walk)?;
    let mut all = make();
    for found in visitors {
        all.count += found.count;
        found.first.into_iter().for_each(|file| all.keep(file));
    }
    Ok(Found { count: all.count, first: all.first.into_iter().map(|(_, path)| path).collect(), passed })
}

impl Found {
    /// What the model reads: `head`, the paths, as many as fit, and what was left out. `which` are shown, and `next` is what to
    /// do to see more than so many.
    pub fn render(&self, scope: &Scope, head: &str, which: &str, next: impl FnOnce(u64) -> String) -> String {
        let (mut text, mut shown) = (format!("{head}\n"), 0);
        for path in &self.first {
            let line = visible_path(path);
            if text.len() + line.len() > ANSWER_BYTES {
                break;
            }
            text.push_str(&line);
            text.push('\n');
            shown += 1;
        }
        if shown < self.count {
            let next = next(shown);
            text.push_str(&format!("[TRUNCATED] The {which} {shown} of {} files are shown. {next}.\n", self.count));
        }
        for line in passed_over(&self.passed, scope.ignored) {
            text.push_str(&line);
            text.push('\n');
        }
        text.pop();
        text
    }
}
