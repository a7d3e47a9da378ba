use super::super::command::analyse;
use super::*;
use crate::contract::ApprovalRequirement;
use futures_util::FutureExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A person who always answers alike, and counts how often they were asked.
#[derive(Default)]
struct Person {
    answer: Mutex<Option<(bool, Lasts)>>,
    asked: AtomicUsize,
}

impl ApprovalPolicy for Arc<Person> {
    fn decide<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let (approved, lasts) = self.answer.lock().unwrap().unwrap_or((false, Lasts::Once));
        Box::pin(async move { ApprovalDecision { approved, by: Decider::Person, comment: String::new(), lasts } })
    }
}

struct World {
    person: Arc<Person>,
    policy: Remembering<Arc<Person>>,
}

fn world() -> World {
    let person = Arc::new(Person::default());
    World { policy: Remembering::new(Arc::clone(&person)), person }
}

fn question(command: &str) -> ApprovalQuestion {
    let subject = Subject::of_command("exec_shell", command, ".", &analyse(command));
    ApprovalQuestion {
        call_id: "c1".into(),
        tool: "exec_shell".into(),
        requested: None,
        is_guess: false,
        input: Arc::new(serde_json::Value::Null),
        level: ApprovalRequirement::Required,
        capabilities: Vec::new(),
        reason: String::new(),
        rule: subject.rule(),
        subject,
        prompt: super::super::Prompt::default(),
    }
}

impl World {
    #[track_caller]
    fn says(&self, command: &str, answer: (bool, Lasts), expect: (bool, Decider)) {
        *self.person.answer.lock().unwrap() = Some(answer);
        let decision = self.policy.decide(&question(command)).now_or_never().unwrap();
        assert_eq!((decision.approved, decision.by), expect, "{command}");
    }

    /// Decided without the person.
    #[track_caller]
    fn decided(&self, command: &str, expect: (bool, Decider)) {
        let asked = self.person.asked.load(Ordering::Relaxed);
        self.says(command, (!expect.0, Lasts::Once), expect);
        assert_eq!(self.person.asked.load(Ordering::Relaxed), asked, "{command}");
    }

    /// The person is asked, and says no.
    #[track_caller]
    fn asks(&self, command: &str) {
        let asked = self.person.asked.load(Ordering::Relaxed);
        let decision = self.policy.decide(&question(command)).now_or_never().unwrap();
        assert_eq!(self.person.asked.load(Ordering::Relaxed), asked + 1, "{command}: {decision:?}");
    }
}

const YES: (bool, Decider) = (true, Decider::Person);
const NO: (bool, Decider) = (false, Decider::Person);

#[test]
fn once_is_once() {
    let world = world();
    world.says("cargo build", (true, Lasts::Once), YES);
    world.asks("cargo build");
}

#[test]
fn a_session_grant_covers_its_kind_until_the_session_ends() {
    let world = world();
    world.says("cargo build", (true, Lasts::Session), YES);
    world.decided("cargo build --release", (true, Decider::Grant));
    world.policy.user_turn();
    world.decided("cargo build", (true, Decider::Grant));
    world.asks("cargo build && rm x");
    world.asks("cargo test");
    // Another session knows nothing of it.
    super::tests::world().asks("cargo build");
}

#[test]
fn a_turn_grant_ends_with_the_user_turn() {
    let world = world();
    world.says("cargo build", (true, Lasts::Turn), YES);
    world.decided("cargo build", (true, Decider::Grant));
    world.policy.user_turn();
    world.asks("cargo build");
}

#[test]
fn a_denial_is_for_the_identical_call_in_this_turn() {
    let world = world();
    world.says("rm -rf /tmp/x", (false, Lasts::Once), NO);
    world.decided("rm  -rf '/tmp/x'", (false, Decider::Remembered));
    world.asks("rm -rf /tmp/y");
    world.policy.user_turn();
    world.asks("rm -rf /tmp/x");
}

#[test]
fn a_denial_outranks_a_grant() {
    let world = world();
    world.says("cargo build --release", (false, Lasts::Session), NO);
    world.says("cargo build", (true, Lasts::Session), YES);
    world.decided("cargo build", (true, Decider::Grant));
    world.decided("cargo build --release", (false, Decider::Remembered));
}

#[test]
fn no_grant_covers_a_guess_or_what_cannot_be_taken_back() {
    let world = world();
    world.says("cargo build", (true, Lasts::Session), YES);
    let guess = ApprovalQuestion { is_guess: true, ..question("cargo build") };
    *world.person.answer.lock().unwrap() = Some((true, Lasts::Session));
    assert_eq!(world.policy.decide(&guess).now_or_never().unwrap().by, Decider::Person);
    world.says("rm -rf /", (true, Lasts::Session), YES);
    world.asks("rm -rf /");
}

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grants.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn what_is_granted_for_good_is_there_in_the_next_session() {
    let (_folder, path) = file("");
    let person = Arc::new(Person::default());
    let open =
        || World { policy: Remembering::with_file(Arc::clone(&person), &path).unwrap(), person: Arc::clone(&person) };
    let first = open();
    first.says("cargo build -p x", (true, Lasts::Always), YES);
    first.says("a && b", (true, Lasts::Always), YES);
    first.says("git push", (true, Lasts::Always), YES);
    first.says("rm a", (false, Lasts::Always), NO);
    let next = open();
    for command in ["cargo build", "a && b", "git push origin main"] {
        next.decided(command, (true, Decider::Grant));
    }
    next.decided("rm a", (false, Decider::Rule));
    next.decided("sudo rm a", (false, Decider::Rule));
    for command in ["a  && b", "git push --force", "rm b"] {
        next.asks(command);
    }
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside the file");
}

#[test]
fn a_rule_that_denies_looks_through_everything_and_outranks_grants() {
    let text = "[[deny]]\ntool = 'exec_shell'\nprefix = ['npm', 'run', 'boom']\n[[allow]]\ntool = 'exec_shell'\ncwd = '.'\n\
                prefix = ['npm', 'run', 'boom']\n";
    let (_folder, path) = file(text);
    let person = Arc::new(Person::default());
    let world = World { policy: Remembering::with_file(Arc::clone(&person), &path).unwrap(), person };
    for command in [
        "npm run boom",
        "npm  run 'boom' --silent",
        "ls; npm run boom",
        "A=1 npm run boom",
        "sudo npm run boom",
        "sh -c 'npm run boom'",
        "bash -c 'sh -c \"npm run boom\"'",
        "/usr/bin/npm run boom",
        "npm --prefix x run boom",
        "echo $(npm run boom)",
        "if a; then npm run boom; fi",
        "eval npm run boom",
    ] {
        world.decided(command, (false, Decider::Rule));
    }
    world.asks("npm run other");
}

#[test]
fn a_grant_in_the_file_covers_nothing_that_is_rated_higher() {
    let (_folder, path) = file("[[allow]]\ntool = 'exec_shell'\ncwd = '.'\nprefix = ['git', 'push']\n");
    let person = Arc::new(Person::default());
    let world = World { policy: Remembering::with_file(Arc::clone(&person), &path).unwrap(), person };
    // It was written by hand and does not say that the network is fine.
    world.asks("git push");
}

#[track_caller]
fn check_broken(text: &str, part: &str) {
    let (_folder, path) = file(text);
    let error = Remembering::with_file(Arc::new(Person::default()), &path).err().expect("an error").to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn a_file_that_is_not_understood_is_not_no_file() {
    check_broken("[[allow]", "is not understood");
    check_broken("[[alow]]\ntool = 'x'\ntext = 'y'", "unknown field");
    check_broken("[[allow]]\ntool = 'x'", "exactly one of prefix, words and text");
    check_broken("[[allow]]\ntool = 'x'\nprefix = []", "must not be empty");
    check_broken("[[deny]]\ntool = 'x'\nprefix = ['']", "must not be empty");
    check_broken("[[deny]]\ntool = 'x'\ntext = 'y'\nwords = ['z']", "exactly one");
    check_broken("[[allow]]\ntool = 'x'\ntext = 'y'\nverdict = 'fine'", "unknown variant");
    check_broken("[[allow]]\ntool = 'x'\ntext = 'y'\nreasons = ['luck']", "unknown variant");
    let absent = Remembering::with_file(Arc::new(Person::default()), Path::new("/nonexistent/grants")).err().unwrap();
    assert!(absent.to_string().contains("make it, empty at first"));
    let folder = tempfile::tempdir().unwrap();
    assert!(Remembering::with_file(Arc::new(Person::default()), folder.path()).is_err());
}

#[test]
fn a_host_that_goes_on_with_a_broken_file_has_everything_denied() {
    let person = Arc::new(Person::default());
    let error = GrantFileError::Broken { path: "f".into(), problem: "p".into() };
    let world = World { policy: Remembering::refusing(Arc::clone(&person), &error), person };
    world.decided("ls", (false, Decider::Policy));
}

#[test]
fn for_good_without_a_file_is_for_the_session() {
    let world = world();
    world.says("cargo build", (true, Lasts::Always), YES);
    world.decided("cargo build", (true, Decider::Grant));
}

#[test]
fn what_cannot_be_kept_is_approved_once() {
    let (folder, path) = file("");
    let person = Arc::new(Person::default());
    let world = World { policy: Remembering::with_file(Arc::clone(&person), &path).unwrap(), person };
    drop(folder);
    world.says("cargo build", (true, Lasts::Always), YES);
    world.asks("cargo build");
}
