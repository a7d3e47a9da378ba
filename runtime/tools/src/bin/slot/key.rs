//! The API key: taken in once, and gone from where commands could read it before any command runs.
//!
//! Whoever runs as the same user can read the environment that a process was started with (`/proc/PID/environ`), whatever
//! the process has taken out of it since. So a program that was started with secrets in its environment starts itself
//! anew without them, and hands the key over by a pipe. After that its memory and descriptors are closed to other
//! processes of the same user.
//!
//! Against root nothing of the second part holds, and neither part hides what the process that started this one still
//! has in its own environment.

use slot_tools::secrets::is_secret;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that holds the API key. Nothing else is read for it, and it is never printed or logged.
const VARIABLE: &str = "SLOT_API_KEY";
/// The longest key, in bytes: what every pipe holds without a reader.
const MOST_BYTES: usize = 4096;

/// The API key, if there is one, from the descriptor `given` or else from the environment. Comes back only in a process
/// whose environment holds no secret. To be called before there is any thread.
pub fn take(given: Option<RawFd>) -> Result<Option<String>, String> {
    if std::env::vars_os().any(|(name, value)| is_secret(&name, &value)) && in_proc() {
        return Err(start_anew(given.is_some()));
    }
    let key = match given {
        Some(number) => read(number)?,
        None => std::env::var(VARIABLE).unwrap_or_default(),
    };
    close_to_others()?;
    Ok(Some(key).filter(|key| !key.is_empty()))
}

/// Whether processes can read each other's environments here, and a program can find itself.
fn in_proc() -> bool {
    Path::new("/proc/self/exe").exists()
}

/// Starts this program in place of itself, with the same arguments and without secrets. Comes back only with the reason
/// why that failed.
fn start_anew(key_is_given: bool) -> String {
    let failed = |error: std::io::Error| {
        format!("cannot start anew without the secrets of the environment: {error}; start slot without them")
    };
    let key = std::env::var(VARIABLE).ok().filter(|key| !key.is_empty() && !key_is_given);
    let reader = match key.map(|key| piped(&key)).transpose() {
        Ok(reader) => reader,
        Err(problem) => return problem,
    };
    // By its own path, so that it keeps its name in lists of processes.
    let own = std::env::current_exe().ok().filter(|path| path.exists());
    let mut arguments = std::env::args_os();
    let mut command = Command::new(own.unwrap_or_else(|| PathBuf::from("/proc/self/exe")));
    command.arg0(arguments.next().unwrap_or_else(|| OsString::from("slot")));
    if let Some(reader) = &reader {
        use std::os::fd::AsRawFd;
        command.arg("--key-fd").arg(reader.as_raw_fd().to_string());
    }
    command.args(arguments).env_clear();
    command.envs(std::env::vars_os().filter(|(name, value)| !is_secret(name, value)));
    failed(command.exec())
}

/// A pipe that holds the key and survives an exec.
fn piped(key: &str) -> Result<std::io::PipeReader, String> {
    if key.len() > MOST_BYTES {
        return Err(format!("the value of {VARIABLE} has {} bytes; no key is longer than {MOST_BYTES}", key.len()));
    }
    let failed = |error: std::io::Error| format!("cannot hand the key over: {error}; try again");
    let (reader, mut writer) = std::io::pipe().map_err(failed)?;
    writer.write_all(key.as_bytes()).map_err(failed)?;
    rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty()).map_err(|error| failed(error.into()))?;
    Ok(reader)
}

/// Reads a key from a descriptor that was open when the program started, and closes it.
#[expect(unsafe_code, reason = "a descriptor that is named by its number has no other way in")]
fn read(number: RawFd) -> Result<String, String> {
    let failed =
        |what: String| format!("cannot read the key from descriptor {number}: {what}; open it for reading first");
    if std::fs::symlink_metadata(format!("/dev/fd/{number}")).is_err() {
        return Err(failed("it is not open".to_owned()));
    }
    // SAFETY: the descriptor is open, and this program has opened none yet but its standard streams, which the command
    // line refuses: whoever started it left this one for it, and it is taken over once.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(number) });
    let mut key = String::new();
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX).saturating_add(2);
    file.take(most).read_to_string(&mut key).map_err(|error| failed(error.to_string()))?;
    let key = key.trim_end_matches(['\r', '\n']);
    if key.len() > MOST_BYTES {
        return Err(failed(format!("it holds more than {MOST_BYTES} bytes")));
    }
    Ok(key.to_owned())
}

/// Keeps other processes of the same user from this one's memory, environment and descriptors. Nothing is dumped then
/// either.
fn close_to_others() -> Result<(), String> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .map_err(|error| format!("cannot close this process to others: {error}"))?;
    Ok(())
}
