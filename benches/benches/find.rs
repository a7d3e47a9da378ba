//! How fast a search over many files is, beside `rg` and the crates it is made of, and what the first page of a huge file
//! costs beside that of a small one.
//!
//! The tree is 20,000 files with 200 MB, of which 8,000 with 80 MB are searched: the others lie in folders that an ignore
//! file names. All count the matching lines of the same files, and the counts are held against each other before anything
//! is timed. Compare ratios inside one run only. `rg` is left out where it is not installed, and that is said.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::{WalkBuilder, WalkState};
use serde_json::{Value, json};
use slot_runtime::boundary::Workspace;
use slot_runtime::contract::{RunContext, Tool};
use slot_tools::{grep_files::GrepFiles, read_file::ReadFile};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Folders with how many files each; those behind the first two are ignored.
const FOLDERS: [(&str, usize); 5] = [("src", 6000), ("docs", 2000), ("vendor", 9000), ("out", 2000), ("cache", 1000)];
const FILE_BYTES: usize = 10_300;
/// One line in every fifty files, and a line in every few.
const PATTERNS: [(&str, &str); 2] = [("rare", "fn needle_[0-9]+_here"), ("common", "tool_1[0-9][0-9].*Arc::new")];

fn plant(root: &Path) {
    fs::write(root.join(".gitignore"), "/vendor/\n/out/\n/cache/\n").unwrap();
    let mut number = 0_usize;
    for (folder, files) in FOLDERS {
        for file in 0..files {
            let at = root.join(folder).join(format!("part_{:02}", file / 100 % 60)).join(format!("group_{}", file % 7));
            fs::create_dir_all(&at).unwrap();
            let mut text = String::with_capacity(FILE_BYTES + 200);
            if file % 50 == 0 {
                writeln!(text, "fn needle_{file}_here() {{}}").unwrap();
            }
            while text.len() < FILE_BYTES {
                number += 1;
                writeln!(text, "    let tool_{} = registry.insert(Arc::new(Entry::of({number})));", number % 997)
                    .unwrap();
            }
            fs::write(at.join(format!("file_{file:05}.rs")), text).unwrap();
        }
    }
}

fn ask(tool: &dyn Tool, input: &Value) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(tool.run(input, &RunContext::new("c", CancellationToken::new()))).unwrap().content
}

fn ours(tool: &GrepFiles, pattern: &str) -> u64 {
    let answer = ask(tool, &json!({ "pattern": pattern, "max_results": 1 }));
    answer.split(' ').next().unwrap().parse().unwrap()
}

fn rg(root: &Path, pattern: &str) -> Option<u64> {
    let mut command = Command::new("rg");
    command.args(["--no-config", "--hidden", "--no-ignore-global", "--no-require-git", "-c", "--no-filename", pattern]);
    let output = command.arg(root).output().ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|count| count.parse::<u64>().unwrap()).sum())
}

/// Counts lines that match.
struct Lines(u64);

impl Sink for Lines {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, std::io::Error> {
        self.0 += 1;
        Ok(true)
    }
}

/// The crates as they are used by themselves: a walk by paths on all processors, and a searcher for each thread.
fn crates(root: &Path, pattern: &str) -> u64 {
    let matcher = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(pattern).unwrap();
    let total = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let walk =
        WalkBuilder::new(root).hidden(false).require_git(false).git_global(false).threads(threads).build_parallel();
    walk.run(|| {
        let mut searcher = SearcherBuilder::new().line_number(false).binary_detection(BinaryDetection::quit(0)).build();
        let (matcher, total) = (&matcher, &total);
        Box::new(move |entry| {
            let entry = entry.unwrap();
            if entry.file_type().is_some_and(|kind| kind.is_file()) {
                let mut lines = Lines(0);
                searcher.search_path(matcher, entry.path(), &mut lines).unwrap();
                total.fetch_add(lines.0, Ordering::Relaxed);
            }
            WalkState::Continue
        })
    });
    total.into_inner()
}

fn timing(group: &mut BenchmarkGroup<'_, WallTime>) {
    group.sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
}

fn greps(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path());
    let tool = GrepFiles::new(Arc::new(Workspace::open(folder.path()).unwrap()));
    let has_rg = Command::new("rg").arg("--version").output().is_ok();
    if !has_rg {
        eprintln!("rg is not installed: the peer is its crates, used by themselves");
    }
    for (name, pattern) in PATTERNS {
        let count = ours(&tool, pattern);
        assert_eq!(crates(folder.path(), pattern), count, "the crates count the same");
        assert!(count > 0 && rg(folder.path(), pattern).is_none_or(|rg| rg == count), "rg counts the same");
        let mut group = criterion.benchmark_group(format!("find/grep-{name}"));
        timing(&mut group);
        group.bench_function("slot", |bench| bench.iter(|| ours(&tool, pattern)));
        group.bench_function("crates", |bench| bench.iter(|| crates(folder.path(), pattern)));
        if has_rg {
            group.bench_function("rg", |bench| bench.iter(|| rg(folder.path(), pattern)));
        }
        group.finish();
    }
}

/// How far the resident memory of this process rises while `act` runs, in KiB; `None` where the system does not tell.
fn rise(act: impl FnOnce()) -> Option<u64> {
    let field = |name: &str| -> Option<u64> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        status.lines().find_map(|line| line.strip_prefix(name))?.trim().trim_end_matches(" kB").trim().parse().ok()
    };
    // Sets the peak to what is resident now.
    fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = field("VmRSS:")?;
    act();
    Some(field("VmHWM:")?.saturating_sub(before))
}

fn first_pages(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (1..=300).map(|n| format!("line {n} of a log, as logs are\n")).collect();
    for (name, length) in [("small", None), ("huge", Some(10_u64 << 30))] {
        let path = folder.path().join(name);
        fs::write(&path, &lines).unwrap();
        if let Some(length) = length {
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        }
    }
    let tool = ReadFile::new(Arc::new(Workspace::open(folder.path()).unwrap()));
    let mut group = criterion.benchmark_group("find/first-page");
    timing(&mut group);
    for (name, total) in [("small", "of 300."), ("huge", "of at least 201.")] {
        let page = || ask(&tool, &json!({ "path": name }));
        assert!(page().contains(total));
        if let Some(rise) = rise(|| drop(page())) {
            eprintln!("find/first-page/{name}: resident memory rose by {rise} KiB");
        }
        group.bench_function(name, |bench| bench.iter(page));
    }
    group.finish();
}

criterion_group!(benches, greps, first_pages);
criterion_main!(benches);
