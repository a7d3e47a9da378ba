use super::process::MAX_OUTPUT;
use super::*;
use crate::agent::Mode;
use crate::isolate::adopt_orphans;
use mock_llm::{MockLlm, Script};
use slot_oracles::trace::Leftover;

/// Runs a shell script as an agent, in the world given.
async fn run_in(world: &World, script: &str, limit: Duration) -> (AgentRun, Vec<Leftover>) {
    adopt_orphans();
    let agent = shell(script);
    let mock = MockLlm::new(Script::default());
    let run = agent.run(job(world, &mock, Mode::Unattended, limit)).await;
    (run, world.sweep().await)
}

fn shell(script: &str) -> CommandAgent {
    let text = format!(
        "name = 'sh'\ntitle = 'sh'\ninstall = 'it is there'\nprogram = 'sh'\nversion = []\nlimit_ms = 1\n\
         args = ['-c', {script:?}, 'sh', '{{base_url}}', '{{prompt}}', '{{workspace}}', '{{home}}']\n\
         dialects = ['chat']\nfiles = {{ '{{home}}/.sh/settings' = 'url {{origin}}' }}\nenv = {{ EXTRA = '{{model}}' }}\n\
         [modes]\nunattended = {{}}\n"
    );
    let adapter = Adapter::parse("sh.toml", &text).unwrap();
    let program = Locator::from_env().find(&adapter).unwrap();
    CommandAgent::new(adapter, program, String::new())
}

static PLAIN: std::sync::LazyLock<WorldSpec> = std::sync::LazyLock::new(WorldSpec::default);

static NOBODY: BTreeMap<String, crate::agent::Answer> = BTreeMap::new();

fn job<'a>(world: &'a World, mock: &'a MockLlm, mode: Mode, limit: Duration) -> Job<'a> {
    static NOTHING: BTreeMap<String, String> = BTreeMap::new();
    Job {
        case: "a/b",
        prompt: "the task",
        mode,
        answers: &NOBODY,
        env: &NOTHING,
        tools: &[],
        hooks: &[],
        spec: &PLAIN,
        world,
        mock,
        dialect: "chat",
        cancel_at: None,
        limit,
        patience: None,
        strict_schemas: false,
    }
}

fn empty_world() -> World {
    World::build(&WorldSpec::default()).unwrap()
}

const LONG: Duration = Duration::from_secs(60);
/// Enough for a shell to come to its first lines on a busy machine, and short enough to wait for.
const SHORT: Duration = Duration::from_millis(1_500);

#[track_caller]
fn alive(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}

/// The value that a script wrote into a file of the workspace.
fn pid_in(world: &World, file: &str) -> u32 {
    std::fs::read_to_string(world.workspace().join(file)).unwrap().trim().parse().unwrap()
}

async fn check(script: &str, end: AgentEnd, stdout: &str) {
    let world = empty_world();
    let (run, leftover) = run_in(&world, script, LONG).await;
    assert_eq!((run.end, world.neutral(&run.stdout).as_str(), leftover), (end, stdout, vec![]), "{}", run.stderr);
}

#[tokio::test]
async fn ends_are_told_apart() {
    check("exit 0", AgentEnd::Finished { code: 0 }, "").await;
    check("exit 7", AgentEnd::Finished { code: 7 }, "").await;
    check("kill -SEGV $$", AgentEnd::Signalled { signal: 11 }, "").await;
}

#[tokio::test]
async fn the_agent_gets_its_arguments_and_files() {
    check(
        "echo \"$2|$3|$4|$(pwd -P)\"; case $1 in http://127.0.0.1:*/v1) echo url;; esac; read a b < ~/.sh/settings; \
         [ \"$b/v1\" = \"$1\" ] && echo settings; [ -t 0 ] || cat | wc -c",
        AgentEnd::Finished { code: 0 },
        "the task|$WORKSPACE|$HOME|$WORKSPACE\nurl\nsettings\n0\n",
    )
    .await;
}

#[tokio::test]
async fn the_environment_is_a_short_list() {
    let world = empty_world();
    // A shell adds PWD, SHLVL, OLDPWD and `_` by itself.
    let (run, _) = run_in(&world, "env | grep -vE '^(PWD|SHLVL|OLDPWD|_|PATH|SHELL)=' | sort", LONG).await;
    assert_eq!(
        world.neutral(&run.stdout),
        "CI=1\nEXTRA=mock-model\nHOME=$HOME\nLANG=C.UTF-8\nNO_COLOR=1\nNO_PROXY=127.0.0.1,localhost\nSLOTSPEC_RUN=$RUN\n\
         TERM=dumb\nTMPDIR=$TMPDIR\nno_proxy=127.0.0.1,localhost\n"
    );
}

#[tokio::test]
async fn an_agent_has_a_session_of_its_own_and_no_terminal() {
    let world = empty_world();
    // After the name: state, parent, group, session, terminal.
    let (run, _) = run_in(&world, "echo $$; sed 's/.*) //' /proc/$$/stat | cut -d' ' -f4,5", LONG).await;
    let session = run.session.unwrap();
    assert_eq!(run.stdout, format!("{session}\n{session} 0\n"));
}

#[tokio::test]
async fn output_is_drained_and_cut() {
    let world = empty_world();
    let script = "head -c 1000000 /dev/zero | tr '\\0' x; head -c 1000000 /dev/zero | tr '\\0' y >&2; exit 3";
    let (run, _) = run_in(&world, script, LONG).await;
    assert_eq!(run.end, AgentEnd::Finished { code: 3 });
    assert_eq!(run.stdout, "x".repeat(MAX_OUTPUT));
    assert_eq!(run.stderr, "y".repeat(MAX_OUTPUT));
}

#[tokio::test]
async fn a_hang_is_stopped() {
    let world = empty_world();
    let (run, leftover) = run_in(&world, "echo begun; sleep 600", SHORT).await;
    assert_eq!(run.end, AgentEnd::TimedOut { limit_ms: 1_500 });
    assert_eq!(leftover, []);
}

#[tokio::test]
async fn a_hang_that_ignores_the_request_is_stopped_by_force() {
    let world = empty_world();
    let script = "trap '' TERM; echo $$ > pid; echo begun; while :; do sleep 600; done";
    let (run, _) = run_in(&world, script, SHORT).await;
    assert_eq!(run.end, AgentEnd::TimedOut { limit_ms: 1_500 });
    assert!(!alive(pid_in(&world, "pid")));
}

#[tokio::test]
async fn a_request_to_end_is_heard_before_force() {
    let world = empty_world();
    let script = "trap 'echo bye; exit 0' TERM; echo begun; while :; do sleep 600 & wait; done";
    let (run, _) = run_in(&world, script, SHORT).await;
    assert_eq!(run.end, AgentEnd::TimedOut { limit_ms: 1_500 });
    assert!(run.stdout.ends_with("bye\n"), "{:?}", run.stdout);
}

#[tokio::test]
async fn the_adapter_can_raise_the_limit() {
    let world = empty_world();
    let mut agent = shell("sleep 0.1");
    agent.adapter.limit_ms = 60_000;
    let mock = MockLlm::new(Script::default());
    let run = agent.run(job(&world, &mock, Mode::Unattended, Duration::from_millis(1))).await;
    assert_eq!(run.end, AgentEnd::Finished { code: 0 });
}

/// A process that stays is found under its command line, killed, and found only once.
async fn check_leftover(script: &str) {
    let world = empty_world();
    let (run, leftover) = run_in(&world, script, LONG).await;
    assert_eq!(run.end, AgentEnd::Finished { code: 0 }, "{}", run.stderr);
    let commands: Vec<_> = leftover.iter().map(|leftover| leftover.command.as_str()).collect();
    assert_eq!(commands, ["sleep 600"], "{script}");
    assert!(!alive(leftover[0].pid));
    assert_eq!(world.sweep().await, leftover);
}

#[tokio::test]
async fn a_grandchild_in_its_own_session_is_a_leftover() {
    check_leftover("setsid sleep 600 > /dev/null 2>&1 < /dev/null & ").await;
}

#[tokio::test]
async fn a_child_that_holds_the_output_open_is_a_leftover() {
    check_leftover("sleep 600 & ").await;
}

#[tokio::test]
async fn a_process_without_its_environment_is_a_leftover() {
    check_leftover("env -i sleep 600 & cd /").await;
    check_leftover("setsid env -i sleep 600 & ").await;
    check_leftover("cd /; setsid env -i sleep 600 & ").await;
}

#[tokio::test]
async fn a_process_of_another_run_is_none() {
    let (one, two) = (empty_world(), empty_world());
    let other = tokio::process::Command::new("sleep")
        .arg("600")
        .env(one.marker().0, one.marker().1)
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    assert_eq!(two.sweep().await, []);
    assert!(alive(other.id().unwrap()));
    assert_eq!(one.sweep().await.len(), 1);
}

#[tokio::test]
async fn an_abandoned_run_leaves_nothing() {
    adopt_orphans();
    let world = empty_world();
    let agent = shell("setsid sleep 600 & echo $! > child; echo $$ > pid; mv pid ready; sleep 600");
    let mock = MockLlm::new(Script::default());
    {
        let run = agent.run(job(&world, &mock, Mode::Unattended, LONG));
        let ready = async {
            while !world.workspace().join("ready").exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = run => panic!("the agent ended"),
            () = ready => {}
        }
    }
    // The kill is under way; the census waits for it and then finds nobody.
    assert_eq!(world.sweep().await, []);
    assert!(!alive(pid_in(&world, "ready")) && !alive(pid_in(&world, "child")));
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let world = empty_world();
    let mock = MockLlm::new(Script::default());
    let mut agent = shell("exit 0");
    let run = agent.run(job(&world, &mock, Mode::Deny, LONG)).await;
    let reason = "agent sh offers no mode Deny in dialect chat".to_owned();
    assert_eq!(run.end, AgentEnd::NotStarted { reason });
    agent.program = "/nonexistent/sh".into();
    let run = agent.run(job(&world, &mock, Mode::Unattended, LONG)).await;
    let reason = "cannot start /nonexistent/sh: No such file or directory (os error 2)".to_owned();
    assert_eq!(run.end, AgentEnd::NotStarted { reason });
}

async fn probed(script: &str) -> Result<String, String> {
    let mut adapter = shell("exit 0").adapter;
    adapter.version = vec!["-c".into(), script.into()];
    let agent = CommandAgent::connect(adapter, &Locator::from_env()).await;
    agent.map(|agent| agent.version().to_owned()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_version_is_the_first_line() {
    assert_eq!(probed("echo; printf 'agent 1.2\\033[0m\\nmore\\n'").await.unwrap(), "agent 1.2[0m");
    assert_eq!(probed("echo agent 3 >&2").await.unwrap(), "agent 3");
    assert_eq!(probed("echo sh 3").await.unwrap(), "3");
    assert_eq!(probed("head -c 500 /dev/zero | tr '\\0' x").await.unwrap(), "x".repeat(80));
}

#[tokio::test]
async fn a_version_that_nobody_knows_how_to_ask_for_is_not_asked_for() {
    let mut adapter = shell("exit 0").adapter;
    adapter.version = Vec::new();
    let agent = CommandAgent::connect(adapter, &Locator::from_env()).await.unwrap();
    assert_eq!(agent.version(), "");
}

#[tokio::test]
async fn a_program_that_fails_the_probe_says_how_to_get_it() {
    let error = probed("echo broken >&2; exit 4").await.unwrap_err();
    assert!(
        error.ends_with(
            "sh`, the program of agent sh, did not say its version: it ended with code 4 and said \"broken\"\n  \
             install: it is there"
        ),
        "{error}"
    );
    assert!(probed("exit 0").await.unwrap_err().contains("it printed nothing"));
    assert!(probed("kill -9 $$").await.unwrap_err().contains("it was ended by signal 9"));
}
