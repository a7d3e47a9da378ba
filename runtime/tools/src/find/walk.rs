//! Every file below a folder, looked at on all processors.
//!
//! The work is folders to read and files to look at; whoever is idle takes what was put there last, so that little waits.
//! Each thread looks with a visitor of its own, and what the visitors found is put together by whoever asked. Everything
//! is opened through the [`Tree`]; links are counted and never followed, and what is no regular file is never opened.

use super::exclude::{Exclusions, IgnoreFiles, enter, is_excluded_folder};
use slot_runtime::boundary::{BoundaryError, Branch, EntryKind, OpenFile, Tree};
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};
use tokio_util::sync::CancellationToken;

/// The most names that one search sees.
const MOST_NAMES: u64 = 2_000_000;
/// How many files of a folder are looked at in one piece of work.
const FILES_AT_ONCE: usize = 64;
/// The most threads of one search.
const MOST_THREADS: usize = 8;
/// How many paths are named as examples of what was passed over.
const EXAMPLES: usize = 3;

/// A file that was found.
pub struct Candidate<'a> {
    /// Its path from where the search began.
    pub below: &'a Path,
    /// Its path as it is shown.
    pub shown: &'a Path,
    branch: &'a Branch,
    name: &'a OsStr,
}

impl Candidate<'_> {
    /// Opens it.
    pub fn open(&self) -> Result<OpenFile, BoundaryError> {
        self.branch.open_file(self.name)
    }
}

/// Looks at files, each thread with one of its own.
pub trait Visit: Send {
    /// Looks at a file.
    fn file(&mut self, file: &Candidate<'_>);
}

/// A number of paths, and the first few of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// The first ones by their bytes.
    pub first: BTreeSet<PathBuf>,
}

impl Tally {
    /// One more.
    pub fn add(&mut self, path: &Path) {
        self.count += 1;
        self.keep(path.to_path_buf());
    }

    /// All of another one's.
    pub fn join(&mut self, other: Tally) {
        self.count += other.count;
        other.first.into_iter().for_each(|path| self.keep(path));
    }

    fn keep(&mut self, path: PathBuf) {
        self.first.insert(path);
        if self.first.len() > EXAMPLES {
            self.first.pop_last();
        }
    }
}

/// What a walk passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassedOver {
    /// Symbolic links.
    pub links: Tally,
    /// Pipes, sockets and devices.
    pub special: Tally,
    /// Folders that could not be read.
    pub unreadable: Tally,
    /// Folders that are left out by their names or by ignore files.
    pub folders: u64,
    /// Files that are left out by their names or by ignore files.
    pub files: u64,
    /// Names that deny rules cover.
    pub denied: u64,
    /// Folders with ignore files that are too large or too many to be followed.
    pub ignore_files: Tally,
}

impl PassedOver {
    fn join(&mut self, other: PassedOver) {
        self.links.join(other.links);
        self.special.join(other.special);
        self.unreadable.join(other.unreadable);
        self.folders += other.folders;
        self.files += other.files;
        self.denied += other.denied;
        self.ignore_files.join(other.ignore_files);
    }
}

/// Why a walk has no end that could be told.
#[derive(Debug)]
pub enum WalkError {
    /// Nobody wants it any more.
    Stopped,
    /// There are more names than one search sees.
    TooMany(u64),
    /// The folder it begins at could not be read.
    Top(BoundaryError),
}

/// A walk that is to be made.
pub struct Walk<'a> {
    /// Where.
    pub tree: &'a Tree,
    /// The ignore files above it.
    pub above: Option<Arc<IgnoreFiles>>,
    /// Whether what is usually left out is looked at as well.
    pub ignored: bool,
    /// Whether anybody still wants it.
    pub stop: &'a CancellationToken,
}

impl Walk<'_> {
    /// Shows every file to a visitor; gives all visitors back, and what was passed over.
    ///
    /// # Errors
    ///
    /// When there is no whole answer.
    pub fn run<V: Visit>(self, make: impl Fn() -> V + Sync) -> Result<(Vec<V>, PassedOver), WalkError> {
        self.run_on(thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS), make)
    }

    fn run_on<V: Visit>(self, threads: usize, make: impl Fn() -> V + Sync) -> Result<(Vec<V>, PassedOver), WalkError> {
        // What the top cannot give is told as an error, and not as a folder that was passed over.
        self.tree.open(Path::new("")).map_err(WalkError::Top)?;
        let shared = Shared {
            walk: &self,
            exclusions: Exclusions::new(self.ignored),
            queue: Mutex::new(Queue { work: Vec::new(), busy: 0, over: false }),
            changed: Condvar::new(),
            names: AtomicU64::new(0),
            threads,
        };
        shared.put(Work::Folder { below: PathBuf::new(), above: self.above.clone() });
        let worker = || {
            let mut worker = Worker { shared: &shared, visitor: make(), passed: PassedOver::default() };
            worker.run();
            (worker.visitor, worker.passed)
        };
        let results = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
            let mut results = vec![worker()];
            // A panic goes on where the engine contains it.
            results
                .extend(others.into_iter().map(|other| other.join().unwrap_or_else(|e| std::panic::resume_unwind(e))));
            results
        });
        if self.stop.is_cancelled() {
            return Err(WalkError::Stopped);
        }
        if shared.names.load(Ordering::Relaxed) > MOST_NAMES {
            return Err(WalkError::TooMany(MOST_NAMES));
        }
        let (mut visitors, mut passed) = (Vec::new(), PassedOver::default());
        for (visitor, over) in results {
            visitors.push(visitor);
            passed.join(over);
        }
        Ok((visitors, passed))
    }
}

enum Work {
    /// A folder to be read.
    Folder { below: PathBuf, above: Option<Arc<IgnoreFiles>> },
    /// Files of an open folder.
    Files { branch: Arc<Branch>, below: Arc<Path>, names: Vec<OsString> },
}

struct Queue {
    work: Vec<Work>,
    /// How many threads have work that may lead to more.
    busy: usize,
    /// Whether nothing is to be begun any more.
    over: bool,
}

struct Shared<'a> {
    walk: &'a Walk<'a>,
    exclusions: Exclusions,
    queue: Mutex<Queue>,
    changed: Condvar,
    names: AtomicU64,
    threads: usize,
}

impl Shared<'_> {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, work: Work) {
        self.lock().work.push(work);
        self.changed.notify_one();
    }

    /// Whether others wait for work.
    fn is_hungry(&self) -> bool {
        self.threads > 1 && self.lock().work.len() < self.threads
    }

    /// The next work; `None` once there is none and none can come.
    fn take(&self) -> Option<(Work, Busy<'_>)> {
        let mut queue = self.lock();
        loop {
            if queue.over {
                return None;
            }
            if let Some(work) = queue.work.pop() {
                queue.busy += 1;
                return Some((work, Busy(self)));
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Counts a name; whether there may be more.
    fn count(&self) -> bool {
        self.names.fetch_add(1, Ordering::Relaxed) < MOST_NAMES && !self.walk.stop.is_cancelled()
    }

    fn end(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }
}

/// A thread at work. However that ends, the others learn of it.
struct Busy<'a>(&'a Shared<'a>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.busy -= 1;
        queue.over |= thread::panicking();
        let wake = queue.over || queue.busy == 0 && queue.work.is_empty();
        drop(queue);
        if wake {
            self.0.changed.notify_all();
        }
    }
}

struct Worker<'a, V> {
    shared: &'a Shared<'a>,
    visitor: V,
    passed: PassedOver,
}

impl<V: Visit> Worker<'_, V> {
    fn run(&mut self) {
        while let Some((work, _busy)) = self.shared.take() {
            match work {
                Work::Folder { below, above } => self.folder(&below, above),
                Work::Files { branch, below, names } => self.files(&branch, &below, &names),
            }
        }
    }

    fn folder(&mut self, below: &Path, above: Option<Arc<IgnoreFiles>>) {
        let (shared, walk) = (self.shared, self.shared.walk);
        let branch = match walk.tree.open(below) {
            Ok(branch) => Arc::new(branch),
            Err(_) => return self.passed.unreadable.add(&walk.tree.path().join(below)),
        };
        let path = from_workspace(branch.path());
        let ignores = if walk.ignored {
            None
        } else {
            let (ignores, refused) = enter(above.as_ref(), path, |name| branch.open_file(name).ok());
            if refused {
                self.passed.ignore_files.add(branch.path());
            }
            ignores
        };
        let below: Arc<Path> = Arc::from(below);
        let mut files = Vec::with_capacity(FILES_AT_ONCE);
        let read = branch.names(|name, kind| {
            if !shared.count() {
                shared.end();
                return ControlFlow::Break(());
            }
            self.name(&branch, path, &below, ignores.as_ref(), name, kind, &mut files);
            ControlFlow::Continue(())
        });
        self.hand_on(&branch, &below, files);
        match read {
            Ok(denied) => self.passed.denied += denied,
            Err(_) => self.passed.unreadable.add(branch.path()),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what is known of the folder, of the name, and what is collected")]
    fn name(
        &mut self,
        branch: &Arc<Branch>,
        folder: &Path,
        below: &Arc<Path>,
        ignores: Option<&Arc<IgnoreFiles>>,
        name: &OsStr,
        kind: EntryKind,
        files: &mut Vec<OsString>,
    ) {
        let is_folder = kind == EntryKind::Directory;
        let covered = || ignores.is_some_and(|ignores| ignores.covers(&folder.join(name), is_folder));
        match kind {
            EntryKind::Directory if is_excluded_folder(name, self.shared.walk.ignored) || covered() => {
                self.passed.folders += 1;
            }
            EntryKind::Directory => {
                self.shared.put(Work::Folder { below: below.join(name), above: ignores.cloned() });
            }
            EntryKind::File if covered() => self.passed.files += 1,
            EntryKind::File => {
                files.push(name.to_owned());
                if files.len() == FILES_AT_ONCE {
                    self.hand_on(branch, below, std::mem::take(files));
                }
            }
            EntryKind::Symlink => self.passed.links.add(&shown(branch.path(), name)),
            _ => self.passed.special.add(&shown(branch.path(), name)),
        }
    }

    /// Lets others look at these files if they wait for work.
    fn hand_on(&mut self, branch: &Arc<Branch>, below: &Arc<Path>, names: Vec<OsString>) {
        if names.is_empty() {
            return;
        }
        if self.shared.is_hungry() {
            self.shared.put(Work::Files { branch: Arc::clone(branch), below: Arc::clone(below), names });
        } else {
            self.files(branch, below, &names);
        }
    }

    fn files(&mut self, branch: &Branch, folder: &Path, names: &[OsString]) {
        let shared = self.shared;
        let all_left_out = shared.exclusions.cover_all_in(folder);
        for name in names {
            if shared.walk.stop.is_cancelled() {
                return shared.end();
            }
            if all_left_out || shared.exclusions.cover_name(name) {
                self.passed.files += 1;
                continue;
            }
            let below = folder.join(name);
            let shown = shown(branch.path(), name);
            self.visitor.file(&Candidate { below: &below, shown: &shown, branch, name });
        }
    }
}

/// The path of a folder from the workspace, which itself has none.
fn from_workspace(path: &Path) -> &Path {
    if path == Path::new(".") { Path::new("") } else { path }
}

fn shown(folder: &Path, name: &OsStr) -> PathBuf {
    from_workspace(folder).join(name)
}

#[cfg(test)]
mod tests;
