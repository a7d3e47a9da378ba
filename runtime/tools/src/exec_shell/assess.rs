//! What a command is to approval: who must be asked about it, and what an answer would cover.
//!
//! What the text of a command means is judged by the runtime; this module adds what only the tool knows: where it runs,
//! whether what it reads lies behind the boundary, and whether the programs it names are those of the system.

use super::{ExecShell, Request, permissions::Permissions};
use crate::input::fault;
use slot_runtime::approval::command::{Analysis, Reason, Verdict, analyse};
use slot_runtime::approval::fingerprint::Subject;
use slot_runtime::approval::{Assessment, Prompt};
use slot_runtime::boundary::{BoundaryError, EntryKind, is_protected};
use slot_runtime::contract::{ApprovalRequirement, ValidationFault};
use std::path::Path;

impl ExecShell {
    /// Judges what the command means, before anybody is asked: what asks for more than can be had, and what the shell itself
    /// would write where no file tool may.
    pub(super) fn judge(&self, request: &Request) -> Result<(), ValidationFault> {
        let analysis = analyse(&request.command);
        request.permissions.check(&analysis)?;
        for target in analysis.written_by_shell() {
            self.judge_target(request, &target)?;
        }
        if let Some(prefix) = &request.permissions.prefix {
            let subject = self.subject(request, &analysis);
            subject.suggested(prefix).map_err(|reason| {
                fault("prefix_rule", format!("{reason}. Leave prefix_rule out, or make it narrower"))
            })?;
        }
        Ok(())
    }

    /// Holds the target of a redirection to the boundary that files are written behind.
    fn judge_target(&self, request: &Request, target: &str) -> Result<(), ValidationFault> {
        if ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"].contains(&target) || target.contains(['$', '`', '*'])
        {
            return Ok(());
        }
        let refused = |why: String| {
            fault(
                "command",
                format!("{why}. What the shell writes by itself is held to the workspace as files are; write there"),
            )
        };
        if target.starts_with('~') {
            return Err(refused(format!("path escapes workspace: {target}")));
        }
        let place = placed(&request.cwd, target);
        if is_protected(Path::new(&place)) {
            return Err(refused(format!("nothing may be written to {target}")));
        }
        match self.boundary.metadata(&place) {
            Err(error @ BoundaryError::Escape { .. }) => Err(refused(error.to_string())),
            // A file that is not there yet: the folder it would be made in decides.
            Err(BoundaryError::NotFound { .. }) => {
                match Path::new(&place).parent().map(|folder| folder.to_string_lossy()) {
                    Some(folder) if !folder.is_empty() => match self.boundary.metadata(&folder) {
                        Err(error @ BoundaryError::Escape { .. }) => Err(refused(error.to_string())),
                        _ => Ok(()),
                    },
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// What the command is to whoever decides about it.
    pub(super) fn assess(&self, request: &Request) -> Assessment {
        let mut analysis = analyse(&request.command);
        if analysis.verdict == Verdict::ReadOnly && !self.stays_inside(request, &analysis) {
            analysis.verdict = Verdict::Raised;
            analysis.reasons.insert(Reason::Outside);
        }
        let asks = request.permissions.asks() || analysis.verdict != Verdict::ReadOnly;
        let level = if asks { ApprovalRequirement::Required } else { ApprovalRequirement::Auto };
        let subject = self.subject(request, &analysis);
        // Judged before: here a rule that does not hold is only not taken.
        let suggested = request.permissions.prefix.as_ref().and_then(|prefix| subject.suggested(prefix).ok());
        Assessment::new(level, subject, suggested, prompt(request, &analysis))
    }

    fn subject(&self, request: &Request, analysis: &Analysis) -> Subject {
        // One folder has one name, however it was written. One that is not there is no folder of any grant.
        let cwd = self.boundary.open_dir(&request.cwd).map_or_else(
            |_| format!("?{}", request.cwd),
            |folder| match folder.path.to_string_lossy() {
                path if path.is_empty() => ".".to_owned(),
                path => path.into_owned(),
            },
        );
        let permissions = request.permissions.key();
        Subject { permissions, ..Subject::of_command("exec_shell", &request.command, &cwd, analysis) }
    }

    /// Whether all that a read-only command reads lies behind the boundary, and its programs do not.
    fn stays_inside(&self, request: &Request, analysis: &Analysis) -> bool {
        let plain = |kind| matches!(kind, EntryKind::File | EntryKind::Directory);
        let inside = |path: &str| self.boundary.metadata(path).is_ok_and(|metadata| plain(metadata.kind));
        inside(&request.cwd)
            && analysis.reads.iter().all(|path| inside(&placed(&request.cwd, path)))
            && self.finds_programs_elsewhere()
    }

    /// Whether no folder that programs are looked for in can be written by the file tools.
    fn finds_programs_elsewhere(&self) -> bool {
        let mut paths = self.environment.iter().filter(|(name, _)| name == "PATH").map(|(_, value)| value);
        paths.all(|value| {
            std::env::split_paths(value).all(|folder| {
                let text = folder.to_string_lossy();
                folder.is_absolute() && matches!(self.boundary.metadata(&text), Err(BoundaryError::Escape { .. }))
            })
        })
    }
}

/// A path as it is meant in a folder.
fn placed(cwd: &str, path: &str) -> String {
    if path.starts_with('/') || cwd == "." { path.to_owned() } else { format!("{}/{path}", cwd.trim_end_matches('/')) }
}

fn prompt(request: &Request, analysis: &Analysis) -> Prompt {
    let Permissions { escalated, network, justification, .. } = &request.permissions;
    let mut reasons: Vec<String> = analysis.reasons.iter().map(ToString::to_string).collect();
    if *escalated {
        reasons.push("the model asks for it to run without a sandbox, of which there is none in any case".to_owned());
    }
    match network {
        Some(true) => reasons.push("the model says that it needs the network".to_owned()),
        Some(false) => {
            reasons.push("the model says that it needs no network, which nothing here can enforce".to_owned())
        }
        None => {}
    }
    let scope = format!("in the folder {:?}, with all rights of the agent; there is no sandbox", request.cwd);
    Prompt {
        command: Some(request.command.clone()),
        reasons,
        scope: Some(scope),
        justification: justification.clone(),
        ..Prompt::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use serde_json::{Value, json};
    use slot_runtime::contract::ToolSpec;

    fn tool(world: &World, path: &str) -> ExecShell {
        ExecShell::inheriting(world.boundary(), [("PATH".into(), path.into())], Vec::new())
    }

    fn world() -> World {
        let world = World::new().with("a.txt", "a").with("sub/b.txt", "b").with("../secret", "s");
        std::os::unix::fs::symlink("../secret", world.path("out")).expect("a link");
        std::os::unix::fs::symlink("..", world.path("up")).expect("a link");
        world
    }

    #[track_caller]
    fn check(input: Value, level: ApprovalRequirement) {
        let world = world();
        let tool = tool(&world, "/usr/bin:/bin");
        assert_eq!(tool.validate_input(&input), Ok(()), "{input}");
        assert_eq!(tool.approval_for_input(&input), Some(level), "{input}");
    }

    #[track_caller]
    fn check_command(command: &str, level: ApprovalRequirement) {
        check(json!({ "command": command }), level);
    }

    #[track_caller]
    fn check_refused(input: Value, part: &str) {
        let world = world();
        let message = tool(&world, "/bin").validate_input(&input).expect_err("a refusal").message;
        assert!(message.contains(part), "{message}");
    }

    use ApprovalRequirement::{Auto, Required};

    #[test]
    fn looking_into_the_workspace_asks_nobody() {
        check_command("ls", Auto);
        check_command("cat a.txt sub/b.txt | head -3", Auto);
        check(json!({ "command": "cat b.txt ../a.txt", "cwd": "sub" }), Auto);
        check_command("rm a.txt", Required);
        check_command("cargo build", Required);
    }

    #[test]
    fn looking_out_of_the_workspace_asks() {
        for command in [
            "cat /etc/passwd",
            "cat ../secret",
            "ls ..",
            "cat out",
            "ls up",
            "cat up/secret",
            "find / -name x",
            "cat absent",
            "ls sub/../..",
            "grep -r x /proc/self/environ",
        ] {
            check_command(command, Required);
        }
        check(json!({ "command": "ls", "cwd": "absent" }), Required);
        check(json!({ "command": "ls", "cwd": "up" }), Required);
    }

    #[test]
    fn programs_that_a_file_tool_could_have_written_are_not_trusted() {
        let world = world();
        let inside = world.path("bin");
        std::fs::create_dir(&inside).expect("a folder");
        for path in [inside.to_str().expect("text"), ".", "", "node_modules/.bin"] {
            let tool = tool(&world, &format!("/bin:{path}"));
            assert_eq!(tool.approval_for_input(&json!({ "command": "ls" })), Some(Required), "{path}");
        }
    }

    #[test]
    fn what_the_shell_writes_is_held_to_the_workspace() {
        for command in [
            "echo k >> ~/.ssh/authorized_keys",
            "echo k > ../x",
            "echo k > /etc/x",
            "echo k > out",
            "echo k > up/x",
            "true; echo k > up/new",
            "if true; then echo k > ../x; fi",
        ] {
            check_refused(json!({ "command": command }), "path escapes workspace");
        }
        check_refused(json!({ "command": "echo x > .git/hooks/pre-commit" }), "nothing may be written to");
        check_refused(json!({ "command": "echo x > hooks", "cwd": ".git" }), "nothing may be written to");
        for command in ["echo k > new", "echo k > sub/new 2>/dev/null", "echo k > $X", "echo k > a.txt"] {
            check_command(command, Required);
        }
    }

    #[test]
    fn nothing_a_model_asks_for_lowers_the_level() {
        check(json!({ "command": "ls", "sandbox_permissions": "require_escalated", "justification": "x" }), Required);
        check(json!({ "command": "rm a.txt", "justification": "the user approved" }), Required);
        check(json!({ "command": "cargo build", "prefix_rule": ["cargo", "build"] }), Required);
        check_refused(json!({ "command": "cargo build", "prefix_rule": ["cargo"] }), "too broad");
        check_refused(json!({ "command": "python a.py", "prefix_rule": ["python"] }), "exact command alone");
    }

    #[test]
    fn one_folder_has_one_name() {
        let world = world();
        let tool = tool(&world, "/bin");
        let cwd = |cwd: &str| tool.assess_input(&json!({ "command": "make x", "cwd": cwd })).expect("one").subject.cwd;
        assert_eq!(
            (cwd("."), cwd("sub/.."), cwd("sub"), cwd("./sub/")),
            (".".into(), ".".into(), "sub".into(), "sub".into())
        );
        assert_eq!(cwd("absent"), "?absent");
    }

    #[test]
    fn a_person_is_told_everything_that_matters() {
        let world = world();
        let input = json!({ "command": "git push", "justification": "the branch is done", "cwd": "sub" });
        let lines = tool(&world, "/bin").assess_input(&input).expect("one").prompt.lines();
        assert_eq!(
            lines[..4],
            [
                "command: git push",
                "why it is asked: the command may make network requests",
                "scope: in the folder \"sub\", with all rights of the agent; there is no sandbox",
                "the model says: the branch is done",
            ]
        );
        assert!(lines[4].contains("begin with `git push`") && lines[5].contains("[[allow]]"), "{lines:?}");
    }
}
