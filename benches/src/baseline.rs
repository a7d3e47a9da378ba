//! Baselines: what was measured, on which machine, in a format of our own, and what two of them say beside each other.
//!
//! A baseline is one JSON object:
//!
//! ```json
//! { "schema": 1, "label": "0.1.0",
//!   "machine": { "cpu": "...", "cores": 2, "rustc": "rustc 1.95.0 (...)", "profile": "bench" },
//!   "times": { "dispatch/1-calls/10-tools": { "median_ns": 1.0, "low_ns": 0.9, "high_ns": 1.1 } },
//!   "counts": { "allocations/dispatch/1-calls/10-tools": 1 } }
//! ```
//!
//! Times are shown and never judged here: they are of one machine in one session. Counts are exact; a test gates them.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// The most folders that lie inside each other in criterion's output.
const MOST_DEPTH: usize = 8;

/// Why a baseline could not be had.
#[derive(Debug, Error)]
pub enum BaselineError {
    /// A file or folder could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// `read` or `write`.
        doing: &'static str,
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{} is no {what}: {source}", path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A baseline of another version.
    #[error("{} has the schema {found}, and this reads {SCHEMA}; collect it again", path.display())]
    Schema {
        /// Which.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// There is nothing to collect.
    #[error("there are no estimates below {}; run `cargo bench -p benches` first", path.display())]
    Nothing {
        /// Where they were looked for.
        path: PathBuf,
    },
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What it is of, such as a release.
    pub label: String,
    /// Where it was measured.
    pub machine: Machine,
    /// Times by the bench's full name.
    pub times: BTreeMap<String, Time>,
    /// Exact counts by name.
    pub counts: BTreeMap<String, u64>,
}

/// The machine that times are of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The processor's name, as the system gives it.
    pub cpu: String,
    /// How many processors may be used.
    pub cores: usize,
    /// The compiler.
    pub rustc: String,
    /// The profile that was built with.
    pub profile: String,
}

/// A time, in nanoseconds for one iteration: the median and its confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Time {
    /// The median.
    pub median_ns: f64,
    /// The lower bound.
    pub low_ns: f64,
    /// The upper bound.
    pub high_ns: f64,
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
    confidence_interval: Interval,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

#[derive(Deserialize)]
struct Named {
    full_id: String,
}

impl Machine {
    /// This machine, and the compiler on the path.
    pub fn here() -> Self {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| model(&text));
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let version = std::process::Command::new(rustc).arg("--version").output().ok();
        let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        Machine {
            cpu: cpu.unwrap_or_else(|| "unknown".to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            rustc: version.filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned()),
            profile: "bench".to_owned(),
        }
    }
}

fn model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// When there is none, or one of another version.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let baseline: Baseline = json(path, "baseline")?;
        if baseline.schema != SCHEMA {
            return Err(BaselineError::Schema { path: path.to_owned(), found: baseline.schema });
        }
        Ok(baseline)
    }

    /// Collects what criterion has estimated last, below its folder, and exact counts where there are any.
    ///
    /// # Errors
    /// When there are no estimates, or some that cannot be read.
    pub fn collect(label: &str, criterion: &Path, counts: Option<&Path>) -> Result<Self, BaselineError> {
        let mut times = BTreeMap::new();
        collect_below(criterion, 0, &mut times)?;
        if times.is_empty() {
            return Err(BaselineError::Nothing { path: criterion.to_owned() });
        }
        let counts = counts.map(|path| json(path, "table of counts")).transpose()?.unwrap_or_default();
        Ok(Baseline { schema: SCHEMA, label: label.to_owned(), machine: Machine::here(), times, counts })
    }

    /// As github-action-benchmark reads it (`customSmallerIsBetter`).
    pub fn github(&self) -> serde_json::Value {
        let times = self.times.iter().map(|(name, time)| {
            let range = (time.high_ns - time.low_ns) / 2.0;
            serde_json::json!({ "name": name, "unit": "ns/iter", "value": time.median_ns, "range": format!("± {range:.1}") })
        });
        let counts = self
            .counts
            .iter()
            .map(|(name, count)| serde_json::json!({ "name": name, "unit": "count", "value": count }));
        times.chain(counts).collect()
    }

    /// As Bencher reads it (Bencher Metric Format).
    pub fn bencher(&self) -> serde_json::Value {
        let times = self.times.iter().map(|(name, time)| {
            let metric = serde_json::json!({
                "value": time.median_ns, "lower_value": time.low_ns, "upper_value": time.high_ns,
            });
            (name.clone(), serde_json::json!({ "latency": metric }))
        });
        let counts =
            self.counts.iter().map(|(name, count)| (name.clone(), serde_json::json!({ "count": { "value": count } })));
        serde_json::Value::Object(times.chain(counts).collect())
    }
}

/// Two baselines beside each other, as a Markdown document.
pub fn compare(base: &Baseline, head: &Baseline) -> String {
    let mut out = format!("## {} beside {}\n\n", cell(&head.label), cell(&base.label));
    if base.machine != head.machine {
        let _ = writeln!(
            out,
            "**The machines differ**, so that ratios of times say little: {} beside {}.\n",
            machine(&head.machine),
            machine(&base.machine)
        );
    }
    if !(base.times.is_empty() && head.times.is_empty()) {
        out.push_str("| bench | base | head | ratio | |\n|---|---:|---:|---:|---|\n");
        for name in names(&base.times, &head.times) {
            out.push_str(&match (base.times.get(name), head.times.get(name)) {
                (Some(base), Some(head)) => {
                    let ratio = head.median_ns / base.median_ns;
                    let apart = head.low_ns > base.high_ns || head.high_ns < base.low_ns;
                    let word = match apart {
                        false => "within noise",
                        true if ratio > 1.0 => "slower",
                        true => "faster",
                    };
                    let (base, head) = (time(base.median_ns), time(head.median_ns));
                    format!("| {} | {base} | {head} | {ratio:.2} | {word} |\n", cell(name))
                }
                (Some(base), None) => format!("| {} | {} | | | gone |\n", cell(name), time(base.median_ns)),
                (None, head) => {
                    format!(
                        "| {} | | {} | | new |\n",
                        cell(name),
                        head.map_or(String::new(), |head| time(head.median_ns))
                    )
                }
            });
        }
        out.push('\n');
    }
    let changed: Vec<&str> = names(&base.counts, &head.counts)
        .into_iter()
        .filter(|name| base.counts.get(*name) != head.counts.get(*name))
        .collect();
    let all = names(&base.counts, &head.counts).len();
    if !changed.is_empty() {
        out.push_str("| count | base | head |\n|---|---:|---:|\n");
        let shown = |count: Option<&u64>| count.map_or(String::new(), u64::to_string);
        for name in &changed {
            let (base, head) = (shown(base.counts.get(*name)), shown(head.counts.get(*name)));
            let _ = writeln!(out, "| {} | {base} | {head} |", cell(name));
        }
        out.push('\n');
    }
    if all > 0 {
        let _ = writeln!(out, "{} of {all} exact counts are the same.", all - changed.len());
    }
    out
}

/// Writes a value as JSON with a line end, into a folder that is made where it is missing.
///
/// # Errors
/// When the system refuses.
pub fn write(path: &Path, value: &impl Serialize) -> Result<(), BaselineError> {
    let text = serde_json::to_string_pretty(value).map_err(|source| BaselineError::Format {
        path: path.to_owned(),
        what: "JSON value",
        source,
    })?;
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(path, text + "\n")).map_err(|source| BaselineError::Io {
        doing: "write",
        path: path.to_owned(),
        source,
    })
}

fn json<T: serde::de::DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, BaselineError> {
    let text = std::fs::read_to_string(path).map_err(|source| unreadable(path, source))?;
    serde_json::from_str(&text).map_err(|source| BaselineError::Format { path: path.to_owned(), what, source })
}

fn unreadable(path: &Path, source: std::io::Error) -> BaselineError {
    BaselineError::Io { doing: "read", path: path.to_owned(), source }
}

/// Takes up what criterion left in `folder`, and in the folders below it. `new` holds the last run of one bench.
fn collect_below(folder: &Path, depth: usize, times: &mut BTreeMap<String, Time>) -> Result<(), BaselineError> {
    let (estimates, named) = (folder.join("new/estimates.json"), folder.join("new/benchmark.json"));
    if estimates.is_file() && named.is_file() {
        let Estimates { median } = json(&estimates, "file of criterion's estimates")?;
        let Named { full_id } = json(&named, "file of criterion's names")?;
        let (low_ns, high_ns) = (median.confidence_interval.lower_bound, median.confidence_interval.upper_bound);
        times.insert(full_id, Time { median_ns: median.point_estimate, low_ns, high_ns });
    }
    if depth >= MOST_DEPTH {
        return Ok(());
    }
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unreadable(folder, error)),
    };
    for entry in entries {
        let entry = entry.map_err(|source| unreadable(folder, source))?;
        let is_folder = entry.file_type().map_err(|source| unreadable(folder, source))?.is_dir();
        if is_folder && entry.file_name() != "new" {
            collect_below(&entry.path(), depth + 1, times)?;
        }
    }
    Ok(())
}

fn names<'a, T>(base: &'a BTreeMap<String, T>, head: &'a BTreeMap<String, T>) -> Vec<&'a str> {
    let all: BTreeSet<&str> = base.keys().chain(head.keys()).map(String::as_str).collect();
    all.into_iter().collect()
}

fn machine(machine: &Machine) -> String {
    format!("{} with {} processors and {}", cell(&machine.cpu), machine.cores, cell(&machine.rustc))
}

/// A text within a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.1} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests;
