//! Which files the tools of a run may use: the workspace, the folders that its user trusts besides, and what none of them
//! may write.

use crate::{Exec, print};
use clap::Args;
use slot_runtime::boundary::{BoundaryError, TrustedRoots, Workspace};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `slot trust` is asked for.
#[derive(Args)]
pub struct Trust {
    /// The file that holds the list; it is made when the first folder is added.
    file: PathBuf,
    /// The folder that is added to the list; without one the list is printed.
    folder: Option<PathBuf>,
}

/// Adds to the list of trusted folders, or prints it.
pub fn trust(trust: &Trust) -> ExitCode {
    let told = match &trust.folder {
        None => TrustedRoots::read(&trust.file).map(|roots| {
            roots.folders().iter().for_each(|folder| print::out(&format!("{}\n", folder.display())));
        }),
        Some(folder) => TrustedRoots::add(&trust.file, folder).map(|new| {
            if !new {
                print::err(&format!("slot: {} is on the list already", folder.display()));
            }
        }),
    };
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => crate::bad_input(&error.to_string()),
    }
}

/// The workspace of a run, with the trusted folders beside it; what the run itself believes and keeps is out of reach.
pub fn open(exec: &Exec) -> Result<Workspace, String> {
    let mut workspace = Workspace::open(&exec.workspace).map_err(|error| unusable(&exec.workspace, &error))?;
    if let Some(file) = &exec.trust {
        outside(file, &exec.workspace, "the list of trusted folders")?;
        let roots = TrustedRoots::read(file).map_err(|error| error.to_string())?;
        workspace = roots.under(&workspace).map_err(|error| error.to_string())?;
    }
    for place in [&exec.grants, &exec.trust, &exec.memory].into_iter().flatten() {
        let failed = |error| format!("cannot keep {} from the tools: {error}", place.display());
        workspace = workspace.with_protected(place).map_err(failed)?;
    }
    Ok(workspace)
}

/// Refuses a file that decides what is allowed and lies where the model could write to it.
pub fn outside(file: &Path, workspace: &Path, what: &str) -> Result<(), String> {
    let workspace = workspace.canonicalize().map_err(|error| format!("cannot use {}: {error}", workspace.display()))?;
    if file.canonicalize().is_ok_and(|file| file.starts_with(&workspace)) {
        return Err(format!(
            "{what} {} lies in the workspace, where the model could write to it; keep it elsewhere",
            file.display()
        ));
    }
    Ok(())
}

/// Why a folder cannot be the workspace, for the person who named it: the boundary's own words are for a model.
fn unusable(folder: &Path, error: &BoundaryError) -> String {
    use std::io::ErrorKind;
    let kind = match error {
        BoundaryError::NotFound { .. } => ErrorKind::NotFound,
        BoundaryError::NotADirectory { .. } => ErrorKind::NotADirectory,
        BoundaryError::Denied { .. } => ErrorKind::PermissionDenied,
        BoundaryError::Io { source, .. } => source.kind(),
        _ => ErrorKind::Other,
    };
    let (what, next) = match kind {
        ErrorKind::NotFound => ("it does not exist", "make it first, or name another folder"),
        ErrorKind::NotADirectory => ("it is not a folder", "name a folder"),
        ErrorKind::PermissionDenied => ("permission denied", "run as a user who may read it"),
        _ => ("it cannot be opened", "name another folder"),
    };
    format!("cannot use {} as the workspace: {what}; {next}", folder.display())
}
