//! The findings that are kept to be shown: the first by path, however they arrive, in memory for no more than can be shown.

use super::search::Row;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// What was found in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHits {
    /// How many lines match.
    pub count: u64,
    /// The first of them, and their neighbours.
    pub rows: Vec<Row>,
    /// How many of the findings that may be shown these are.
    pub weight: usize,
}

/// Findings in the order of their paths.
#[derive(Debug)]
pub struct Kept {
    most: usize,
    weight: usize,
    files: BTreeMap<PathBuf, FileHits>,
}

impl Kept {
    /// Keeps what may be among the first `most` findings.
    pub fn new(most: usize) -> Kept {
        Kept { most, weight: 0, files: BTreeMap::new() }
    }

    /// Whether findings in this file can be among the first.
    pub fn wants(&self, path: &Path) -> bool {
        self.weight < self.most || self.files.last_key_value().is_some_and(|(last, _)| path < last)
    }

    /// Keeps the findings in a file, and lets go what cannot be shown any more.
    pub fn add(&mut self, path: PathBuf, hits: FileHits) {
        self.weight += hits.weight;
        self.files.insert(path, hits);
        while let Some(last) = self.files.last_entry() {
            if self.weight - last.get().weight < self.most {
                break;
            }
            self.weight -= last.remove().weight;
        }
    }

    /// All of another one's.
    pub fn join(&mut self, other: Kept) {
        other.files.into_iter().for_each(|(path, hits)| self.add(path, hits));
    }

    /// The files in order. The last may have more findings than are to be shown.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &FileHits)> {
        self.files.iter().map(|(path, hits)| (path.as_path(), hits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hits(weight: usize) -> FileHits {
        FileHits { count: weight as u64, rows: Vec::new(), weight }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// However findings arrive, the first by path are kept, and nothing that they do not need.
        #[test]
        fn the_first_are_kept(weights in prop::collection::vec((0..1000_u32, 1..20_usize), 0..40), most in 1..60_usize) {
            let all: BTreeMap<PathBuf, usize> =
                weights.iter().map(|(name, weight)| (PathBuf::from(format!("{name:04}")), *weight)).collect();
            let mut halves = [Kept::new(most), Kept::new(most)];
            for (index, (path, weight)) in all.iter().rev().enumerate() {
                let kept = &mut halves[index % 2];
                if kept.wants(path) {
                    kept.add(path.clone(), hits(*weight));
                }
            }
            let [mut kept, other] = halves;
            kept.join(other);
            let mut expect = Vec::new();
            let mut shown = 0;
            for (path, weight) in &all {
                if shown < most {
                    expect.push((path.as_path(), *weight));
                }
                shown += weight;
            }
            let found: Vec<(&Path, usize)> = kept.files().map(|(path, hits)| (path, hits.weight)).collect();
            prop_assert_eq!(found, expect);
        }
    }
}
