//! The library: the deferred tools of one moment, with the indexes over them and over the sources they come from.
//!
//! Hidden tools are not in it, so that nothing that is denied, withheld or out of scope can be found.

use super::index::{Index, Vocabulary};
use super::pattern::{Pattern, Texts};
use crate::pool::source;
use slot_runtime::contract::{Exposure, MetadataSnapshot, ToolMetadata};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// From so many tools on, a search goes to the sources first.
const ROUTED: usize = 200;
/// To how many of them.
const ROUTES: usize = 4;

/// Where the tools of the moment are laid for whoever finds tools. Clones share it.
#[derive(Clone, Default)]
pub struct Shelf(Arc<Mutex<Laid>>);

#[derive(Default)]
struct Laid {
    snapshot: Option<Arc<MetadataSnapshot>>,
    /// Made when it is first asked for.
    library: Option<Arc<Library>>,
}

impl Shelf {
    /// Puts the tools of this moment in the place of those before.
    pub fn put(&self, snapshot: Arc<MetadataSnapshot>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Laid { snapshot: Some(snapshot), library: None };
    }

    /// The library of what was put here last.
    pub fn library(&self) -> Arc<Library> {
        let mut laid = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Laid { snapshot, library } = &mut *laid;
        let made = || Arc::new(snapshot.as_deref().map(Library::of).unwrap_or_default());
        Arc::clone(library.get_or_insert_with(made))
    }
}

/// The deferred tools of one moment.
#[derive(Default)]
pub struct Library {
    /// By name; the index over words has them under their places here.
    tools: Vec<Arc<ToolMetadata>>,
    offered: BTreeSet<String>,
    words: Vocabulary,
    by_words: Index,
    sources: Index,
    /// Under their places in `tools`.
    texts: Texts,
}

/// Where the words of a tool count how much.
const NAME: u64 = 4;
const HINT: u64 = 2;
const TEXT: u64 = 1;

impl Library {
    /// The library of these tools.
    pub fn of(snapshot: &MetadataSnapshot) -> Library {
        let is_deferred = |tool: &&Arc<ToolMetadata>| tool.exposure == Exposure::Deferred;
        let mut tools: Vec<Arc<ToolMetadata>> = snapshot.tools.values().filter(is_deferred).cloned().collect();
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        let (mut words, mut by_words, mut texts) = (Vocabulary::default(), Index::default(), Texts::default());
        let mut of_sources: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for tool in &tools {
            let (name, text) = (words.learn(&tool.name), words.learn(&tool.description));
            let hint = words.learn(tool.search_hint.as_deref().unwrap_or_default());
            let source = words.learn(source_of(tool));
            let fields = tool.schema.get("properties").and_then(|fields| fields.as_object());
            let fields: Vec<usize> = fields.into_iter().flatten().flat_map(|(name, _)| words.learn(name)).collect();
            by_words.add(&tool.name, &[(&name, NAME), (&text, TEXT), (&hint, HINT), (&source, TEXT), (&fields, TEXT)]);
            of_sources.entry(source_of(tool)).or_default().extend(name.into_iter().chain(text));
            texts.add([&tool.name, &tool.description]);
        }
        let mut sources = Index::default();
        for (source, of_tools) in of_sources {
            sources.add(source, &[(&words.learn(source), NAME), (&of_tools, TEXT)]);
        }
        let offered = snapshot.catalog.names().iter().cloned().collect();
        Library { tools, offered, words, by_words, sources, texts }
    }

    /// How many tools can be found.
    pub fn count(&self) -> usize {
        self.tools.len()
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<ToolMetadata>> {
        let at = self.tools.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok()?;
        self.tools.get(at)
    }

    /// Whether the tool is in the list of every request, so that it need not be found.
    pub fn offers(&self, name: &str) -> bool {
        self.offered.contains(name)
    }

    /// The tools from this source, or all of them, by name.
    pub fn from<'a, 'b>(
        &'a self,
        source: Option<&'b str>,
    ) -> impl Iterator<Item = &'a Arc<ToolMetadata>> + use<'a, 'b> {
        self.tools.iter().filter(move |tool| is_from(tool, source))
    }

    /// The tools from this source, or all of them, in whose name or description the pattern is found, by name.
    pub fn matching(&self, pattern: &Pattern, source: Option<&str>) -> Vec<&Arc<ToolMetadata>> {
        let candidates = self.tools.iter().zip(self.texts.candidates(pattern)).filter(|(_, may)| *may);
        let candidates = candidates.map(|(tool, _)| tool).filter(|tool| is_from(tool, source));
        candidates.filter(|tool| pattern.matches(&tool.name) || pattern.matches(&tool.description)).collect()
    }

    /// How many tools each source has.
    pub fn sources(&self) -> BTreeMap<&str, usize> {
        let mut sources = BTreeMap::new();
        self.tools.iter().for_each(|tool| *sources.entry(source_of(tool)).or_default() += 1);
        sources
    }

    /// The tools that the words describe, best first. Of very many tools, those of the sources that the words describe
    /// best, and of the source of the best tool.
    pub fn described(&self, query: &str, source: Option<&str>) -> Vec<&Arc<ToolMetadata>> {
        let words = self.words.known(query);
        let mut found: Vec<&Arc<ToolMetadata>> =
            self.by_words.search(&words).into_iter().filter_map(|(at, _)| self.tools.get(at)).collect();
        if let Some(source) = source {
            found.retain(|tool| source_of(tool) == source);
        } else if self.tools.len() >= ROUTED {
            let best = found.first().map(|tool| source_of(tool));
            let sources = self.sources.search(&words).into_iter().take(ROUTES);
            let routes: BTreeSet<&str> = sources.map(|(at, _)| self.sources.name(at)).chain(best).collect();
            found.retain(|tool| routes.contains(source_of(tool)));
        }
        found
    }
}

fn is_from(tool: &ToolMetadata, source: Option<&str>) -> bool {
    source.is_none_or(|source| source_of(tool) == source)
}

/// Where a tool comes from, in a word.
pub fn source_of(tool: &ToolMetadata) -> &str {
    source(tool).unwrap_or("built-in")
}
