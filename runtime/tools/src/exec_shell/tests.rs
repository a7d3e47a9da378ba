//! Real shells. That a process is gone is heard, not waited for: each holds the end of a pipe, and the pipe is read to
//! its end.

use super::*;
use crate::testing::{World, call, context};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
};
use tokio::sync::oneshot;

fn run(world: &World, input: Value) -> ToolOutput {
    call(&ExecShell::new(world.boundary(), Vec::new()), input).expect("an output")
}

#[track_caller]
fn check(command: &str, expect: &str, ok: bool) {
    let output = run(&World::new().with("sub/f", ""), json!({ "command": command }));
    assert_eq!((output.content.as_str(), output.is_error), (expect, !ok), "{command}");
}

#[track_caller]
fn check_refused(input: Value, expect: &str) {
    let world = World::new().with("f", "");
    let tool = ExecShell::new(world.boundary(), Vec::new());
    let error = match tool.validate_input(&input) {
        Err(fault) => fault.message,
        Ok(()) => call(&tool, input).expect_err("a refusal").to_string(),
    };
    assert!(error.contains(expect), "{error}");
}

#[test]
fn output_and_exit_code_are_told() {
    check("echo hi", "hi", true);
    check("true", "[No output; exit code 0]", true);
    check("exit 3", "[No output; exit code 3]", false);
    check("echo out; echo err >&2; exit 1", "out\n\nSTDERR:\nerr\n\n[Exit code 1]", false);
    check("echo err >&2", "STDERR:\nerr", true);
    check("printf 'no newline'", "no newline", true);
}

#[test]
fn a_signal_is_told_by_code_and_name() {
    check("kill -9 $$", "[No output; exit code 137, as after SIGKILL]", false);
    check("echo before; kill -15 $$", "before\n\n[Exit code 143, as after SIGTERM]", false);
}

#[test]
fn bytes_that_are_no_text_are_shown_all_the_same() {
    check("printf 'a\\377b'", "a\u{fffd}b", true);
}

#[test]
fn there_is_no_input() {
    check("cat; echo $?", "0", true);
}

#[test]
fn a_command_runs_in_the_folder_it_names() {
    let world = World::new().with("a b/f", "");
    let root = world.path("").canonicalize().expect("it exists");
    for (input, expect) in [
        (json!({ "command": "pwd; pwd -P" }), root.clone()),
        (json!({ "command": "pwd; pwd -P", "cwd": "a b" }), root.join("a b")),
        (json!({ "command": "pwd; pwd -P", "cwd": root.join("a b") }), root.join("a b")),
    ] {
        assert_eq!(run(&world, input).content, format!("{0}\n{0}", expect.display()));
    }
    check_refused(json!({ "command": "true", "cwd": ".." }), "path escapes workspace: ..");
    check_refused(json!({ "command": "true", "cwd": "f" }), "not a folder: f is a file");
    check_refused(json!({ "command": "true", "cwd": "absent" }), "not found: absent");
}

#[test]
fn long_output_is_cut_in_the_middle_in_each_stream() {
    let output = run(&World::new(), json!({ "command": "yes 123456789 | head -c 100000; yes x | head -c 40000 >&2" }));
    let (stdout, stderr) = output.content.split_once("\n\nSTDERR:\n").expect("both");
    assert!(stdout.starts_with("123456789\n"));
    assert!(stdout.contains(
        "[Output truncated: 70000 bytes are left out here, between the first 22000 and the last 8000 of 100000."
    ));
    assert!(stderr.contains("[Output truncated: 10000 bytes are left out here"));
    assert!(output.content.len() < 61_000);
}

#[test]
fn what_cannot_be_a_command_is_refused_before_anybody_is_asked() {
    check_refused(json!({ "command": " \n" }), "the command is empty");
    check_refused(json!({ "command": "a\0b" }), "NUL");
    check_refused(json!({ "command": "x".repeat(MAX_COMMAND_BYTES + 1) }), "write it to a script file");
    check_refused(json!({ "command": "true", "timeout_ms": 600_001 }), "the longest timeout_ms is 600000");
    check_refused(json!({ "command": "true", "timeout_ms": 0 }), "at least 1");
}

#[test]
fn the_longest_command_still_runs() {
    let command = format!("echo ok #{}", "x".repeat(MAX_COMMAND_BYTES - 9));
    assert_eq!(command.len(), MAX_COMMAND_BYTES);
    check(&command, "ok", true);
}

#[test]
fn a_command_inherits_no_secrets_and_gets_what_the_host_chose() {
    let world = World::new();
    let inherited = [("HOME", "/real"), ("LANG", "C"), ("SLOT_API_KEY", "canary"), ("db_password", "canary")];
    let inherited = inherited.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let chosen = [("HOME", "/decoy"), ("CASE_TOKEN", "chosen")].map(|(name, value)| (name.into(), value.into()));
    let tool = ExecShell::inheriting(world.boundary(), inherited, chosen.to_vec());
    let list = json!({ "command": "env | grep -v '^PWD=\\|^_=\\|^OLDPWD=\\|^SHLVL=' | sort" });
    let output = call(&tool, list).expect("an output");
    assert_eq!(output.content, "CASE_TOKEN=chosen\nGIT_TERMINAL_PROMPT=0\nHOME=/decoy\nLANG=C");
}

#[test]
fn a_command_gets_the_variables_of_this_process() {
    let path = std::env::var("PATH").expect("it is set wherever tests run");
    check("printf %s \"$PATH\"", &path, true);
}

/// A pipe that every process of a command holds open as its descriptor 3.
struct Ear {
    path: PathBuf,
}

/// `exec 3>ear` and a first line; whatever is started after it inherits the descriptor.
const HELD: &str = "exec 3>ear; echo begun >&3; ";

impl Ear {
    fn new(world: &World) -> Ear {
        let path = world.path("ear");
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).expect("a pipe");
        Ear { path }
    }

    /// Hears the first line, and, when the last process is gone, whatever was said after it.
    fn listen(self) -> (oneshot::Receiver<()>, tokio::task::JoinHandle<String>) {
        let (begun, begin) = oneshot::channel();
        let end = tokio::task::spawn_blocking(move || {
            let mut pipe = BufReader::new(File::open(self.path).expect("a pipe"));
            let mut line = String::new();
            pipe.read_line(&mut line).expect("text");
            assert_eq!(line, "begun\n");
            // Nobody may be waiting for it.
            let _ = begun.send(());
            let mut rest = String::new();
            pipe.read_to_string(&mut rest).expect("text");
            rest
        });
        (begin, end)
    }
}

/// A command whose processes would all say so if they were not killed in time: also one that ignores requests, one in a
/// session of its own, and one that in addition has lost its parent and its environment and works elsewhere.
fn long_lived(rest: &str) -> String {
    let stray = "sleep 20; echo survived >&3";
    format!(
        "{HELD}({stray}) & (trap '' TERM HUP INT; {stray}) & setsid sh -c '{stray}' & \
         (cd /; setsid env -i sh -c '{stray}' &); {rest}"
    )
}

#[tokio::test]
async fn a_timeout_kills_the_whole_group() {
    let world = World::new();
    let (_, end) = Ear::new(&world).listen();
    let tool = ExecShell::new(world.boundary(), Vec::new());
    let input = json!({ "command": long_lived("echo so far; sleep 20; echo survived >&3"), "timeout_ms": 300 });
    let output = tool.run(&input, &context()).await.expect("an output");
    assert!(output.is_error);
    assert_eq!(
        output.content,
        "so far\n\n[Timed out after 300 ms: the command and all its processes were killed. Pass a larger timeout_ms (at \
         most 600000), or run less at once.]"
    );
    assert_eq!(output.metadata["timed_out"], true);
    assert_eq!(end.await.expect("heard"), "");
}

#[tokio::test]
async fn a_cancellation_kills_the_whole_group() {
    let world = World::new();
    let (begin, end) = Ear::new(&world).listen();
    let tool = ExecShell::new(world.boundary(), Vec::new());
    let input = json!({ "command": long_lived("sleep 20; echo survived >&3") });
    let context = context();
    let (outcome, ()) = tokio::join!(tool.run(&input, &context), async {
        begin.await.expect("it begins");
        context.cancel.cancel();
    });
    assert_eq!(outcome, Err(ToolError::Cancelled));
    assert_eq!(end.await.expect("heard"), "");
}

#[tokio::test]
async fn a_dropped_call_kills_the_whole_group() {
    let world = World::new();
    let (begin, end) = Ear::new(&world).listen();
    let tool = ExecShell::new(world.boundary(), Vec::new());
    let input = json!({ "command": long_lived("sleep 20; echo survived >&3") });
    let context = context();
    let mut call = tool.run(&input, &context);
    tokio::select! {
        _ = &mut call => panic!("it ends only when it is killed"),
        begun = begin => begun.expect("it begins"),
    }
    drop(call);
    assert_eq!(end.await.expect("heard"), "");
}

#[tokio::test]
async fn a_call_that_was_cancelled_before_it_began_runs_nothing() {
    let world = World::new();
    let tool = ExecShell::new(world.boundary(), Vec::new());
    let context = context();
    context.cancel.cancel();
    let outcome = tool.run(&json!({ "command": "sleep 20; touch ran" }), &context).await;
    assert_eq!(outcome, Err(ToolError::Cancelled));
    assert!(!world.path("ran").exists());
}

#[test]
fn a_pulled_leash_lets_nothing_begin() {
    let leash = Leash::default();
    leash.pull();
    assert!(supervise(shell("echo ran"), &leash, Duration::from_secs(20)).expect("no error").is_none());
}

const LEFT_OVER: &str = "[Processes that the command left running were killed when it ended. Run what must keep running \
                         within the command that needs it.]";

#[tokio::test]
async fn a_child_that_keeps_the_output_open_does_not_hang_the_call() {
    let world = World::new();
    let (_, end) = Ear::new(&world).listen();
    let tool = ExecShell::new(world.boundary(), Vec::new());
    let input = json!({ "command": format!("{HELD}(sleep 20; echo survived >&3) & echo done") });
    let output = tool.run(&input, &context()).await.expect("an output");
    assert_eq!((output.content.as_str(), output.is_error), (format!("done\n\n{LEFT_OVER}").as_str(), false));
    assert_eq!(end.await.expect("heard"), "");
}

#[tokio::test]
async fn a_child_with_its_output_elsewhere_is_killed_too_and_told() {
    let world = World::new();
    let (_, end) = Ear::new(&world).listen();
    let tool = ExecShell::new(world.boundary(), Vec::new());
    let input = json!({ "command": format!("{HELD}(sleep 20; echo survived >&3) >/dev/null 2>&1 & echo done") });
    let output = tool.run(&input, &context()).await.expect("an output");
    assert_eq!(output.content, format!("done\n\n{LEFT_OVER}"));
    assert_eq!(end.await.expect("heard"), "");
}

#[tokio::test]
async fn a_child_that_left_its_session_is_killed_too_and_told() {
    for (away, back) in [("setsid sh -c '", "' &"), ("(cd /; setsid env -i sh -c '", "' &);")] {
        let world = World::new();
        let (_, end) = Ear::new(&world).listen();
        let tool = ExecShell::new(world.boundary(), Vec::new());
        let stray = format!("{away}sleep 20; echo survived >&3{back}");
        let input = json!({ "command": format!("{HELD}{stray} echo done") });
        let output = tool.run(&input, &context()).await.expect("an output");
        assert_eq!(output.content, format!("done\n\n{LEFT_OVER}"), "{stray}");
        assert_eq!(end.await.expect("heard"), "");
    }
}

#[test]
fn a_command_that_prints_without_pause_is_out_of_time_all_the_same() {
    let output = run(&World::new(), json!({ "command": "yes", "timeout_ms": 300 }));
    assert!(output.content.contains("[Timed out after 300 ms:"), "{}", output.content);
}

#[test]
fn a_command_has_a_session_of_its_own_and_no_terminal() {
    // After the name: state, parent, group, session, terminal. The session is 0 for a process whose leader is in none of
    // our namespaces, as this one's may be.
    let fields = |stat: &str| -> Vec<String> {
        let (_, after) = stat.rsplit_once(") ").expect("the name is in brackets");
        after.split(' ').map(str::to_owned).collect()
    };
    let output = run(&World::new(), json!({ "command": "cat /proc/$$/stat" }));
    let command = fields(&output.content);
    let own = fields(&std::fs::read_to_string("/proc/self/stat").expect("it can be read"));
    assert_ne!(command[3], own[3]);
    assert_eq!(command[4], "0");
}

#[test]
fn a_command_that_signals_its_group_is_watched_all_the_same() {
    check("trap 'echo heard; exit 3' TERM; kill 0; sleep 20", "heard\n\n[Exit code 3]", false);
}

#[test]
fn a_command_that_kills_its_keeper_is_told_so() {
    let output = run(&World::new(), json!({ "command": "kill -9 $PPID; sleep 20" }));
    assert!(output.is_error && output.content.contains("[The command killed the process that watches over it"));
}

#[test]
fn a_child_that_ends_soon_after_the_shell_is_heard_out() {
    // The child writes when the shell, whose end it waits for, is gone: it reads from a pipe that the shell holds.
    let command = "mkfifo gate; (read x <gate; echo late) & exec 4>gate; echo early";
    check(command, "early\nlate", true);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_clock_does_not_end_a_command_early() {
    let world = World::new();
    let tool = ExecShell::new(world.boundary(), Vec::new());
    let output = tool.run(&json!({ "command": "sleep 0.2; echo done", "timeout_ms": 20_000 }), &context()).await;
    assert_eq!(output.expect("an output").content, "done");
}

#[test]
fn no_zombie_is_left() {
    let world = World::new();
    let output = run(&world, json!({ "command": "echo $$" }));
    let shell = PathBuf::from("/proc").join(output.content);
    assert!(!shell.exists(), "the shell was reaped before the call returned");
}
