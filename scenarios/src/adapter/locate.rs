//! Where an agent's program is.

use super::{Adapter, AdapterError};
use rustix::fs::{Access, access};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Finds the programs of agents.
#[derive(Clone, Debug, Default)]
pub struct Locator {
    given: BTreeMap<String, PathBuf>,
    own: Option<PathBuf>,
    path: OsString,
}

impl Locator {
    /// Looks beside the running program and on its PATH.
    pub fn from_env() -> Locator {
        Locator {
            given: BTreeMap::new(),
            own: std::env::current_exe().ok().and_then(|exe| exe.canonicalize().ok()),
            path: std::env::var_os("PATH").unwrap_or_default(),
        }
    }

    /// Adds what one `--bin NAME=PATH` says. A relative path is taken from the current folder.
    ///
    /// # Errors
    ///
    /// When it is not of that form, or the path is no executable file.
    pub fn give(&mut self, value: &str) -> Result<(), AdapterError> {
        let fault = |problem: &str| AdapterError::Bin { value: value.to_owned(), problem: problem.to_owned() };
        let (name, path) = value.split_once('=').ok_or_else(|| fault("there is no `=`"))?;
        if name.is_empty() {
            return Err(fault("there is no agent name"));
        }
        let path = std::path::absolute(path).map_err(|_| fault("there is no path"))?;
        if !executable(&path) {
            return Err(fault("the path is no executable file"));
        }
        self.given.insert(name.to_owned(), path);
        Ok(())
    }

    /// The names that `--bin` was given for.
    pub fn given(&self) -> impl Iterator<Item = &str> {
        self.given.keys().map(String::as_str)
    }

    /// The agent's program, as an absolute path.
    ///
    /// # Errors
    ///
    /// When it is nowhere, with the way to install it.
    pub fn find(&self, adapter: &Adapter) -> Result<PathBuf, AdapterError> {
        if let Some(path) = self.given.get(&adapter.name) {
            return Ok(path.clone());
        }
        let beside = adapter.beside.then(|| self.beside()).into_iter().flatten();
        let beside = beside.map(|folder| folder.join(&adapter.program)).find(|path| executable(path));
        beside.or_else(|| self.on_path(&adapter.program)).ok_or_else(|| AdapterError::Missing {
            agent: adapter.name.clone(),
            program: adapter.program.clone(),
            looked: if adapter.beside { "beside this program, nor on the PATH" } else { "on the PATH" }.to_owned(),
            install: adapter.install.clone(),
        })
    }

    /// The first program of this name on the PATH, whose relative folders are passed over.
    pub fn on_path(&self, program: &str) -> Option<PathBuf> {
        let folders = std::env::split_paths(&self.path).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(program)).find(|path| executable(path))
    }

    /// The folder of the running program, and the one above it where Cargo puts tests and examples into a folder of
    /// their own.
    fn beside(&self) -> Vec<PathBuf> {
        let Some(folder) = self.own.as_deref().and_then(Path::parent) else { return Vec::new() };
        let nested = folder.ends_with("deps") || folder.ends_with("examples");
        let above = folder.parent().filter(|_| nested);
        [Some(folder), above].into_iter().flatten().map(Path::to_owned).collect()
    }
}

pub(super) fn executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn program(path: &Path, mode: u32) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn adapter(beside: bool) -> Adapter {
        let text = format!(
            "name = 'x'\ntitle = 'X'\ninstall = 'get x'\nprogram = 'xprog'\nbeside = {beside}\nversion = []\n\
             args = ['{{prompt}}']\ndialects = ['chat']\n[modes]\nunattended = {{}}\n"
        );
        Adapter::parse("x.toml", &text).unwrap()
    }

    /// Programs lie at `files` below a fresh folder; the running one is `debug/deps/me`, the PATH is `one:two`.
    #[track_caller]
    fn check(files: &[(&str, u32)], beside: bool, bin: Option<&str>, expect: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (path, mode) in files {
            program(&root.join(path), *mode);
        }
        let path = std::env::join_paths([root.join("one"), root.join("two")]).unwrap();
        let mut locator = Locator { given: BTreeMap::new(), own: Some(root.join("debug/deps/me")), path };
        let given = bin.map_or(Ok(()), |bin| locator.give(&bin.replace("ROOT", &root.display().to_string())));
        let found = given.and_then(|()| locator.find(&adapter(beside)));
        let found = found.map(|path| path.strip_prefix(&root).unwrap().display().to_string());
        let found = found.map_err(|error| error.to_string().replace(&root.display().to_string(), "ROOT"));
        assert_eq!(found, expect.map(str::to_owned).map_err(str::to_owned));
    }

    const NOWHERE: &str = "`xprog`, the program of agent x, is not found on the PATH\n  install: get x\n  \
                           or point to it: --bin x=PATH";

    #[test]
    fn the_first_executable_on_the_path_is_taken() {
        check(&[("one/xprog", 0o644), ("two/xprog", 0o755)], false, None, Ok("two/xprog"));
        check(&[("one/xprog", 0o755), ("two/xprog", 0o755)], false, None, Ok("one/xprog"));
    }

    #[test]
    fn a_folder_of_that_name_is_no_program() {
        check(&[("one/xprog/inner", 0o755)], false, None, Err(NOWHERE));
    }

    #[test]
    fn a_missing_program_says_how_to_get_it() {
        check(&[("debug/xprog", 0o755)], false, None, Err(NOWHERE));
        check(
            &[],
            true,
            None,
            Err(
                "`xprog`, the program of agent x, is not found beside this program, nor on the PATH\n  install: get x\n  \
                 or point to it: --bin x=PATH",
            ),
        );
    }

    #[test]
    fn a_program_of_this_project_lies_beside_ours() {
        check(&[("debug/xprog", 0o755), ("one/xprog", 0o755)], true, None, Ok("debug/xprog"));
        check(&[("one/xprog", 0o755)], true, None, Ok("one/xprog"));
    }

    #[test]
    fn a_given_path_wins() {
        let files = &[("one/xprog", 0o755), ("else/where", 0o755)];
        check(files, false, Some("x=ROOT/else/where"), Ok("else/where"));
        check(files, false, Some("y=ROOT/else/where"), Ok("one/xprog"));
    }

    #[test]
    fn a_bad_bin_is_refused() {
        let fix = "; write --bin NAME=PATH with the path of an executable file";
        check(&[], false, Some("x"), Err(&format!("--bin x: there is no `=`{fix}")));
        check(&[], false, Some("=y"), Err(&format!("--bin =y: there is no agent name{fix}")));
        check(&[], false, Some("x="), Err(&format!("--bin x=: there is no path{fix}")));
        check(&[], false, Some("x=ROOT/no"), Err(&format!("--bin x=ROOT/no: the path is no executable file{fix}")));
    }
}
