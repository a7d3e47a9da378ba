//! What it costs to decide about a command: the analysis, the fingerprint with what an approval would stand for, and the
//! answer from what was decided before, with none, ten and 900 grants remembered.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use futures_util::future::FutureExt;
use serde_json::Value;
use slot_runtime::approval::command::analyse;
use slot_runtime::approval::fingerprint::{Grant, Subject};
use slot_runtime::approval::grants::Remembering;
use slot_runtime::approval::{ApprovalDecision, ApprovalPolicy, ApprovalQuestion, Decider, Lasts, Prompt, approved};
use slot_runtime::contract::{ApprovalRequirement, BoxFuture};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

/// Commands as agents write them, from the plainest to one that is not understood.
const COMMANDS: [(&str, &str); 4] = [
    ("look", "ls -la src"),
    ("build", "cargo test --workspace --locked -p slot-wire"),
    ("chain", "cd src && grep -rn 'fn main' . | head -20 && git add -A && git commit -m \"Say what it does\""),
    (
        "opaque",
        "for f in $(find . -name '*.rs'); do sed -i \"s/a/b/\" \"$f\" && bash -c 'echo done' | tee -a log; done",
    ),
];

fn subject(command: &str) -> Subject {
    Subject::of_command("exec_shell", command, ".", &analyse(command))
}

/// A person who approves whatever they are asked for this session.
struct Approves;

impl ApprovalPolicy for Approves {
    fn decide<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async { ApprovalDecision { lasts: Lasts::Session, ..approved(Decider::Person) } })
    }
}

fn question(command: &str) -> ApprovalQuestion {
    let subject = subject(command);
    ApprovalQuestion {
        call_id: "c1".into(),
        tool: "exec_shell".into(),
        requested: None,
        is_guess: false,
        input: Arc::new(Value::Null),
        level: ApprovalRequirement::Required,
        capabilities: Vec::new(),
        reason: String::new(),
        rule: subject.rule(),
        subject,
        prompt: Prompt::default(),
    }
}

fn decide(policy: &Remembering<Approves>, question: &ApprovalQuestion) -> ApprovalDecision {
    policy.decide(question).now_or_never().unwrap()
}

fn approval(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("approval");
    group.sample_size(50).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    for (name, command) in COMMANDS {
        group.bench_function(BenchmarkId::new("analysis", name), |bench| bench.iter(|| analyse(black_box(command))));
        let analysis = analyse(command);
        group.bench_function(BenchmarkId::new("fingerprint", name), |bench| {
            bench.iter(|| {
                let subject = Subject::of_command("exec_shell", black_box(command), ".", &analysis);
                subject.rule().map(|rule| Grant::of(&subject, rule))
            });
        });
    }
    for grants in [0, 10, 900] {
        let policy = Remembering::new(Approves);
        (0..grants).for_each(|at| assert!(decide(&policy, &question(&format!("make target-{at:04}"))).approved));
        let asked = question("cargo test --workspace");
        assert_eq!(decide(&policy, &asked).by, Decider::Person);
        assert_eq!(decide(&policy, &asked).by, Decider::Grant);
        group.bench_function(BenchmarkId::new("decision", format!("{grants}-grants-before")), |bench| {
            bench.iter(|| decide(&policy, black_box(&asked)));
        });
    }
    group.finish();
}

criterion_group!(benches, approval);
criterion_main!(benches);
