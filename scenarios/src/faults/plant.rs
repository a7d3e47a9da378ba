//! Decorators on the seams of the reference runtime, each a way in which a runtime goes wrong.

mod approval;
mod arguments;
mod cleaned;
mod composite;
mod dispatch;
mod early;
mod edit;
mod files;
mod find;
mod fresh;
mod gates;
mod git;
mod hook;
mod judged;
mod paths;
mod pool;
mod prefix;
mod seam;
mod session;
mod tree;
mod wrapped;

pub use seam::Seam;

use arguments::Reader;
use cleaned::Cleaned;
use dispatch::Dispatch;
use files::Files;
use gates::{Loops, Names};
use slot_runtime::approval::{ApprovalDecision, ApprovalPolicy, ApprovalQuestion, Unattended};
use slot_runtime::boundary::FileBoundary;
use slot_runtime::contract::{BoxFuture, ToolDispatcher, ToolOutput, ToolSpec};
use slot_runtime::deny::LiveRules;
use slot_runtime::dispatch::observe::Observer;
use slot_runtime::dispatch::{Policies, ResultShaper, TruncationGate};
use slot_runtime::freshness::{Freshness, Probe};
use slot_runtime::place::Place;
use slot_runtime::session::Activation;
use slot_runtime::transport::Connector;
use slot_tools::file_gates::FileGates;
use slot_tools::pool::PoolSettings;
use slot_wire::StopReason;
use slot_wire::repair::TurnEnd;
use std::path::Path;
use std::sync::Arc;

/// Changes what a run of the reference runtime is made of. The default of every method changes nothing.
pub trait Plant: Send + Sync {
    /// The tools before they are registered.
    fn tools(&self, tools: Vec<Arc<dyn ToolSpec>>) -> Vec<Arc<dyn ToolSpec>> {
        tools
    }

    /// What the stages consult.
    fn policies(&self, policies: Policies) -> Policies {
        policies
    }

    /// How the tools are put together.
    fn pool(&self, settings: PoolSettings) -> PoolSettings {
        settings
    }

    /// How deferred tools that were found get to the model.
    fn activation(&self, activation: Activation) -> Activation {
        activation
    }

    /// Whether a change of the tools while the session runs arrives.
    fn follows_changes(&self) -> bool {
        true
    }

    /// What the files are guarded by.
    fn guard(&self, rules: Arc<LiveRules>) -> Arc<LiveRules> {
        rules
    }

    /// What the engine holds of the tools.
    fn dispatcher(&self, dispatcher: Arc<dyn ToolDispatcher>) -> Arc<dyn ToolDispatcher> {
        dispatcher
    }

    /// What the tools hold of the files; `root` is the workspace.
    fn boundary(&self, boundary: Arc<dyn FileBoundary>, _root: &Path) -> Arc<dyn FileBoundary> {
        boundary
    }

    /// What stands between the file tools and the files.
    fn gates(&self, gates: FileGates) -> FileGates {
        gates
    }

    /// Who learns from calls; `root` is the workspace.
    fn observer(&self, probe: Probe, _known: Freshness, _root: &Path) -> Arc<dyn Observer> {
        Arc::new(probe)
    }

    /// How connections are made.
    fn connector(&self, connector: Arc<dyn Connector>) -> Arc<dyn Connector> {
        connector
    }
}

/// Nothing is planted.
pub struct Sound;

impl Plant for Sound {}

impl Plant for Seam {
    fn tools(&self, tools: Vec<Arc<dyn ToolSpec>>) -> Vec<Arc<dyn ToolSpec>> {
        match self {
            Seam::StubReplaces => tools.into_iter().map(Cleaned::tool).collect(),
            Seam::InnerFree | Seam::InnerWaits | Seam::InnerDropped => composite::plant(*self, &tools),
            Seam::HooksRewrite => hook::rewriting(tools),
            _ if approval::Command::flaws(*self) => approval::Command::plant(*self, tools),
            _ if edit::decorates(*self) => edit::plant(*self, tools),
            Seam::GitPlain | Seam::GitRefuse => git::plant(*self, &tools),
            _ if find::decorates(*self) => find::plant(*self, tools),
            _ if session::decorates(*self) => session::plant(*self, &tools),
            Seam::CatalogNumbered => prefix::numbered(tools),
            _ => pool::tools(*self, tools),
        }
    }

    fn policies(&self, mut policies: Policies) -> Policies {
        match self {
            Seam::ApprovalSkip => policies.approval = Arc::new(Unattended),
            Seam::ApprovalInvert => policies.approval = Arc::new(Inverted(policies.approval)),
            Seam::TruncationSkip => policies.truncation = Arc::new(AdmitAll),
            Seam::ModeSkip | Seam::ModeAll => policies.mode = session::mode(*self, policies.mode),
            Seam::TreeGrants => policies.place = Place::default(),
            Seam::ResultsUnshared => policies.results = Arc::new(Unshared(policies.results)),
            _ if hook::decorates(*self) => policies.hooks = hook::plant(*self, &policies.hooks),
            _ if early::decorates(*self) => policies.early = early::plant(*self, policies.early),
            _ if approval::Memory::decorates(*self) => {
                policies.approval = Arc::new(approval::Memory::new(*self, policies.approval));
            }
            _ if Reader::decorates(*self) => policies.arguments = Arc::new(Reader::new(*self, policies.arguments)),
            _ if Names::decorates(*self) => policies.names = Arc::new(Names::new(*self, policies.names)),
            _ if Loops::decorates(*self) => policies.loops = Arc::new(Loops::new(*self, policies.loops)),
            _ => {}
        }
        pool::policies(*self, policies)
    }

    fn pool(&self, settings: PoolSettings) -> PoolSettings {
        pool::settings(*self, settings)
    }

    fn activation(&self, activation: Activation) -> Activation {
        pool::activation(*self, activation)
    }

    fn follows_changes(&self) -> bool {
        *self != Seam::PoolStale
    }

    fn guard(&self, rules: Arc<LiveRules>) -> Arc<LiveRules> {
        if *self == Seam::DenyUnresolved { Arc::default() } else { rules }
    }

    fn gates(&self, gates: FileGates) -> FileGates {
        fresh::gates(*self, gates)
    }

    fn observer(&self, probe: Probe, known: Freshness, root: &Path) -> Arc<dyn Observer> {
        fresh::observer(*self, probe, known, root)
    }

    fn dispatcher(&self, inner: Arc<dyn ToolDispatcher>) -> Arc<dyn ToolDispatcher> {
        match self {
            Seam::LevelUnderstate
            | Seam::ValidateSkip
            | Seam::RunDouble
            | Seam::StubAnswers
            | Seam::BatchAll
            | Seam::BatchNone
            | Seam::SchemaAsGiven
            | Seam::SchemaEverywhere
            | Seam::SchemaJudges
            | Seam::HydrateSkip
            | Seam::ShapeSkip
            | Seam::ShapeRequired
            | Seam::ShapeOpen
            | Seam::ShapeUntyped
            | Seam::ShapeTop => Arc::new(Dispatch::new(*self, inner)),
            _ if judged::Once::decorates(*self) => Arc::new(judged::Once::new(inner)),
            _ if prefix::Shifting::shifts(*self) => Arc::new(prefix::Shifting::new(*self, inner)),
            _ => inner,
        }
    }

    fn boundary(&self, inner: Arc<dyn FileBoundary>, root: &Path) -> Arc<dyn FileBoundary> {
        match self {
            Seam::BoundaryFollow
            | Seam::BoundaryRefuse
            | Seam::BoundaryTerse
            | Seam::PatchInPart
            | Seam::ParseState
            | Seam::ParseTidies => Arc::new(Files::new(*self, inner, root)),
            _ if paths::decorates(*self) => Arc::new(paths::Paths::new(*self, inner, root)),
            Seam::TreeUnmoved | Seam::TreePrefix => Arc::new(tree::Trees::new(*self, inner, root)),
            _ => inner,
        }
    }
}

struct Inverted(Arc<dyn ApprovalPolicy>);

impl ApprovalPolicy for Inverted {
    fn decide<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async move {
            let decision = self.0.decide(question).await;
            ApprovalDecision { approved: !decision.approved, ..decision }
        })
    }

    fn forbids(&self, question: &ApprovalQuestion) -> Option<ApprovalDecision> {
        self.0.forbids(question)
    }

    fn user_turn(&self) {
        self.0.user_turn();
    }
}

struct AdmitAll;

impl TruncationGate for AdmitAll {
    fn end(&self, _: &StopReason, _: bool) -> TurnEnd {
        TurnEnd::Clean
    }
}

struct Unshared(Arc<dyn ResultShaper>);

impl ResultShaper for Unshared {
    fn shape(&self, output: ToolOutput) -> String {
        self.0.shape(output)
    }

    fn share(&self, _: usize) -> Arc<dyn ResultShaper> {
        Arc::clone(&self.0)
    }
}
