//! Decorators on the seams of the reference runtime, each a way in which a runtime goes wrong.

mod approval;
mod arguments;
mod composite;
mod early;
mod edit;
mod find;
mod fresh;
mod gates;
mod git;
mod hook;
mod judged;
mod paths;
mod pool;
mod prefix;
mod session;
mod wrapped;

use arguments::Reader;
use gates::{Loops, Names, weakened};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use slot_runtime::approval::{ApprovalDecision, ApprovalPolicy, ApprovalQuestion, Assessment, Unattended};
use slot_runtime::boundary::{
    BoundaryError, Change, ChangeGate, FileBoundary, Listing, Metadata, OpenDir, OpenFile, Tree, Written,
};
use slot_runtime::contract::{
    ApprovalRequirement, BoxFuture, Exposure, MetadataSnapshot, Origin, RunContext, ToolDispatcher, ToolError,
    ToolOutput, ToolSpec, ValidationFault,
};
use slot_runtime::deny::LiveRules;
use slot_runtime::dispatch::observe::Observer;
use slot_runtime::dispatch::{Approved, Parsed, Policies, ResultShaper, TruncationGate, Validated};
use slot_runtime::freshness::{Freshness, Probe};
use slot_runtime::registry::{Catalog, SchemaForm};
use slot_runtime::session::Activation;
use slot_runtime::transport::Connector;
use slot_tools::file_gates::FileGates;
use slot_tools::pool::PoolSettings;
use slot_wire::StopReason;
use slot_wire::repair::TurnEnd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wrapped::{Flaws, Wrapped};

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

/// A planted fault at one seam, as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Seam {
    /// The approval policy is skipped: everything is approved.
    ApprovalSkip,
    /// The approval policy is inverted.
    ApprovalInvert,
    /// The level that follows from the capabilities is understated.
    LevelUnderstate,
    /// What a tool says of its input is not asked for.
    ValidateSkip,
    /// A command is judged by its first word.
    CommandFirstWord,
    /// A program is judged by the last part of its path.
    CommandBaseName,
    /// Variables and wrappers before a program are not looked at.
    CommandStripped,
    /// A command asks only where its text holds a dangerous word.
    CommandDenyText,
    /// Looking asks like everything else.
    CommandLooksAsk,
    /// A person is told no more than what the tool can do.
    CommandUntold,
    /// What one command does to its shell is there in the next one.
    CommandStateful,
    /// No approval and no denial is remembered.
    GrantNone,
    /// An approval that lasts covers whatever begins with the same word.
    GrantFirstWord,
    /// A denial is one of every command that begins with the same word.
    DenialFirstWord,
    /// Every approval lasts, and outranks denials.
    GrantAlways,
    /// Each run is made twice.
    RunDouble,
    /// Stubs answer as if they had run.
    StubAnswers,
    /// A badly named tool is cleaned, and takes the name of the tool it then looks like.
    StubReplaces,
    /// Paths are opened as they are.
    BoundaryFollow,
    /// Every path that could be a link is refused.
    BoundaryRefuse,
    /// Refusals carry no next step.
    BoundaryTerse,
    /// Paths are joined to the workspace and used as they come.
    BoundaryJoin,
    /// Whatever begins with the text of the workspace's path is inside.
    BoundaryPrefix,
    /// Names in paths are expanded and decoded after they were judged.
    BoundaryExpand,
    /// `..` is taken from the text.
    BoundaryLexical,
    /// What is protected is written all the same.
    BoundaryUnprotected,
    /// Only the exact names are protected.
    BoundaryExact,
    /// What a hard link leads to is written.
    BoundaryInPlace,
    /// No folder is trusted, whatever its user said.
    BoundaryTrustless,
    /// Half-written calls of a cut turn are let through.
    TruncationSkip,
    /// An unknown name is taken for the last tool.
    NamesGuess,
    /// Every call is taken for one that only looks.
    BatchAll,
    /// No call may overlap with another.
    BatchNone,
    /// A tool that calls tools runs them itself, past every stage.
    InnerFree,
    /// A tool that calls tools waits for the gate that its own call holds.
    InnerWaits,
    /// No argument text is mended.
    ArgumentsStrict,
    /// Argument text is mended as if it held no strings.
    ArgumentsBlind,
    /// Of several objects the first is taken.
    ArgumentsFirst,
    /// Arguments that cannot be read are none.
    ArgumentsEmpty,
    /// Of two keys the last counts.
    ArgumentsLast,
    /// Arguments are mended without a word.
    ArgumentsSilent,
    /// Whatever is wrong with arguments, the same is said of it.
    ArgumentsTerse,
    /// Integers are rounded.
    ArgumentsRound,
    /// A call goes back as it was sent, whatever ran.
    ArgumentsVerbatim,
    /// Schemas are advertised as they come.
    SchemaAsGiven,
    /// Schemas are cleaned wherever something looks like one.
    SchemaEverywhere,
    /// Arguments are judged by a schema that takes no null.
    SchemaJudges,
    /// Only exact names are known.
    NamesExact,
    /// A name without a tool is taken for the tool that begins most like it, also where its own tool is withheld.
    NamesNearest,
    /// A guess is reported as what was written.
    NamesUnraised,
    /// Nothing is suggested for an unknown name.
    NamesTerse,
    /// Letters that look alike are taken for each other.
    NamesFold,
    /// A deferred tool runs although its schema was never shown.
    HydrateSkip,
    /// Arguments are not held against the schema.
    ShapeSkip,
    /// Of the schema, only the fields that must be there are looked at.
    ShapeRequired,
    /// Fields that the schema does not declare are passed over.
    ShapeOpen,
    /// Values of any type are taken.
    ShapeUntyped,
    /// Only the types of the top level are looked at.
    ShapeTop,
    /// Repetition is not stopped.
    LoopSkip,
    /// Any call of the same tool is taken for the same call.
    LoopAnyArguments,
    /// Polling is taken for repetition.
    LoopPolls,
    /// Changes do not excuse looking again.
    LoopNoReset,
    /// Changes excuse looking again and nothing else.
    LoopReadsOnly,
    /// A call that changed something is excused by itself.
    LoopOwnChange,
    /// What is exempt has no limit.
    LoopNoCap,
    /// A blocked call counts as a success.
    LoopForgives,
    /// A success of any tool ends every row of failures.
    LoopAnySuccess,
    /// Nobody is warned.
    LoopNoWarning,
    /// A row of failures never ends the turn.
    LoopNoPause,
    /// A tool that calls tools drops its calls when it is cancelled.
    InnerDropped,
    /// Each of several results may be as long as one.
    ResultsUnshared,
    /// Edits find nothing, whatever they look for.
    EditRefuse,
    /// Edits do not say what they tolerated.
    EditSilent,
    /// Refused edits say no more than that.
    EditTerse,
    /// Searches walk by paths, and follow links as the system does.
    FindFollows,
    /// Searches count what they show and no more.
    FindCaps,
    /// Findings and names come in another order.
    FindUnsorted,
    /// Searches look everywhere.
    FindEverywhere,
    /// Searches and pages say nothing beside what was found or read.
    FindSilent,
    /// Refused searches and pages say no more than that.
    FindTerse,
    /// Searches open what they find, and a pipe says nothing.
    FindWaits,
    /// A notice names another line than the one where the next page begins.
    ReadSkips,
    /// Files come whole, however large.
    ReadWhole,
    /// Every file comes as a page.
    ReadPaged,
    /// A page past the end is an error.
    ReadEnds,
    /// A number of lines that is a lower bound is told as if it were the number.
    ReadGuesses,
    /// A question about repetition counts as a call.
    LoopCountsEarly,
    /// Any call starts early.
    EarlyAny,
    /// A call starts early with what its arguments would be if they ended here.
    EarlyGuess,
    /// What one call read early is used for another.
    EarlyMixed,
    /// A call that reads starts early whatever stands before it.
    EarlyStale,
    /// Hooks are asked about nothing.
    HooksSkip,
    /// A hook that fails has said nothing.
    HooksOpen,
    /// What a hook says before a call is heard only after it.
    HooksLate,
    /// Calls that tools make are not put to hooks.
    HooksOuter,
    /// What hooks say is told to nobody.
    HooksSilent,
    /// A result that a hook withholds goes on, with the reason.
    HooksLeak,
    /// A hook that fails after a call takes the result with it.
    HooksTake,
    /// A hook's words go into the input.
    HooksRewrite,
    /// Changes that belong together are made one by one, and stay when a later one fails.
    PatchInPart,
    /// What is added or moved replaces what is there.
    PatchReplaces,
    /// A patched file gets plain line ends, and one at its end.
    PatchTidies,
    /// Of several places the first is patched.
    PatchFirst,
    /// What a patch says of permissions is passed over.
    PatchPlain,
    /// A file that is moved is a new one.
    PatchAnew,
    /// Hunks are looked for from the first line on.
    PatchTop,
    /// What is taken back keeps the permissions that it has, or gets those of a new file.
    RevertPlain,
    /// Sections of a patch that cannot be applied are passed over.
    PatchSkips,
    /// Repositories are looked at as they are by hand, with whatever they configure.
    GitPlain,
    /// No repository is looked at.
    GitRefuse,
    /// The mode of the session is not asked.
    ModeSkip,
    /// In plan mode nothing is run at all.
    ModeAll,
    /// Where nobody is, a question is answered with yes.
    PersonConsents,
    /// A memory is kept wherever its name leads.
    MemoryPath,
    /// A file of a skill is read wherever its name leads.
    SkillPath,
    /// A turn is taken back without a look at the files.
    RevertBlind,
    /// Notes are not kept.
    NotesForget,
    /// Data is valid, whatever it is.
    DataLenient,
    /// A tool is gone once any has run.
    CatalogDrops,
    /// A tool comes between the others once any has run.
    CatalogInserts,
    /// A tool moves to another place once any has run.
    CatalogReorders,
    /// The description of a tool changes once any has run.
    CatalogRedescribes,
    /// The description of each tool tells the order of registration.
    CatalogNumbered,
    /// There are no deny rules.
    DenyOff,
    /// Deny rules are not asked about calls.
    DenySkip,
    /// Deny rules hide nothing.
    DenyShown,
    /// Deny rules look for the beginning of a command's text.
    DenyText,
    /// Deny rules do not look where links lead.
    DenyUnresolved,
    /// Deny rules deny whatever names a command or a path.
    DenyWhole,
    /// A denial says no more than that.
    DenyTerse,
    /// Deny rules deny every command that is more than one program and its arguments.
    DenyChain,
    /// A command of which nobody can tell what it runs is let through.
    DenyOpaque,
    /// Checking a project asks nobody.
    ChecksFree,
    /// What a checker finds is told in a word.
    ChecksTerse,
    /// A call is judged once, when its turn is planned.
    JudgeOnce,
    /// Every mode is the standard one.
    PoolNoMode,
    /// Start-up tools stand where all others do.
    PoolNoStartup,
    /// Tools are put together once and never again.
    PoolStale,
    /// No tool is deferred.
    DeferNothing,
    /// Every source of tools is trusted.
    DeferTrustsAll,
    /// How often a tool is used decides nothing.
    DeferIgnoresUse,
    /// Nothing follows from what a search finds.
    SearchBlind,
    /// A proxy runs what it stands for itself, past every stage.
    ProxyFree,
    /// What is found is added to the list.
    ActivateAppend,
    /// What is found is added nowhere.
    ActivateNever,
    /// Whatever is there may be changed.
    FreshOff,
    /// A file that a command names was read.
    FreshCommandsRead,
    /// What the model wrote counts as written by somebody else.
    FreshAlarm,
    /// No file is looked at after a command.
    ProbeOff,
    /// Files are looked at only after a command that succeeded.
    ProbeSuccess,
    /// What a command changed is told again and again.
    ProbeRepeats,
    /// Every file that a command changed is told.
    ProbeAll,
    /// What is written need not parse.
    ParseOff,
    /// What is written must parse, whatever was there.
    ParseState,
    /// What parses is formatted.
    ParseTidies,
}

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
            | Seam::ShapeTop => Arc::new(Dispatch { seam: *self, snapshot: snapshot(*self, inner.as_ref()), inner }),
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
            | Seam::ParseTidies => Arc::new(Files { seam: *self, inner, root: root.to_owned() }),
            _ if paths::decorates(*self) => Arc::new(paths::Paths::new(*self, inner, root)),
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

struct Dispatch {
    seam: Seam,
    snapshot: Arc<MetadataSnapshot>,
    inner: Arc<dyn ToolDispatcher>,
}

/// What the engine is told of the tools.
fn snapshot(seam: Seam, inner: &dyn ToolDispatcher) -> Arc<MetadataSnapshot> {
    let mut snapshot = MetadataSnapshot::clone(&inner.snapshot());
    for tool in snapshot.tools.values_mut() {
        match seam {
            Seam::LevelUnderstate => Arc::make_mut(tool).requirement = ApprovalRequirement::Auto,
            Seam::BatchAll => {
                let tool = Arc::make_mut(tool);
                (tool.read_only, tool.supports_parallel) = (true, true);
            }
            Seam::BatchNone => Arc::make_mut(tool).supports_parallel = false,
            Seam::SchemaEverywhere => arguments::clean_everywhere(&mut Arc::make_mut(tool).schema),
            Seam::SchemaJudges => arguments::refuse_null(&mut Arc::make_mut(tool).schema),
            Seam::HydrateSkip if tool.exposure == Exposure::Deferred => {
                Arc::make_mut(tool).exposure = Exposure::Auto;
            }
            _ => {
                if let Some(schema) = weakened(seam, &tool.schema) {
                    Arc::make_mut(tool).schema = schema;
                }
            }
        }
    }
    if matches!(seam, Seam::SchemaAsGiven | Seam::SchemaEverywhere) {
        let tools = snapshot.tools.values().map(AsRef::as_ref);
        snapshot.catalog = Arc::new(Catalog::in_form(tools, SchemaForm::AsGiven));
    }
    Arc::new(snapshot)
}

impl ToolDispatcher for Dispatch {
    fn snapshot(&self) -> Arc<MetadataSnapshot> {
        Arc::clone(&self.snapshot)
    }

    fn validate(&self, call: &Parsed) -> Result<(), Vec<ValidationFault>> {
        if self.seam == Seam::ValidateSkip { Ok(()) } else { self.inner.validate(call) }
    }

    fn requirement(&self, call: &Validated) -> ApprovalRequirement {
        if self.seam == Seam::BatchAll { ApprovalRequirement::Auto } else { self.inner.requirement(call) }
    }

    fn assess(&self, call: &Validated) -> Option<Assessment> {
        self.inner.assess(call)
    }

    fn run<'a>(&'a self, call: &'a Approved, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.seam == Seam::StubAnswers && call.tool().fail_closed.is_some() {
                return Ok(ToolOutput::ok("done"));
            }
            if self.seam == Seam::RunDouble {
                self.inner.run(call, run).await?;
            }
            self.inner.run(call, run).await
        })
    }
}

/// A tool whose illegal name was cleaned in the way that makes it collide.
struct Cleaned {
    name: String,
    replaces: bool,
}

impl Cleaned {
    fn tool(inner: Arc<dyn ToolSpec>) -> Arc<dyn ToolSpec> {
        let name: String =
            inner.name().chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
        let replaces = name != inner.name();
        Wrapped::tool(inner, Cleaned { name, replaces })
    }
}

impl Flaws for Cleaned {
    fn name<'a>(&'a self, _: &'a dyn ToolSpec) -> &'a str {
        &self.name
    }

    fn description<'a>(&'a self, inner: &'a dyn ToolSpec) -> &'a str {
        // Sorts before every other text, so that this tool wins the name.
        if self.replaces { "" } else { inner.description() }
    }

    fn origin(&self, inner: &dyn ToolSpec) -> Origin {
        if self.replaces { Origin::builtin() } else { inner.origin() }
    }

    fn run<'a>(
        &'a self,
        inner: &'a dyn ToolSpec,
        input: &'a Value,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        if self.replaces {
            let message = "this tool failed to initialize".to_owned();
            return Box::pin(async { Err(ToolError::Unavailable(message)) });
        }
        inner.run(input, run)
    }
}

fn io(path: &str, source: std::io::Error) -> BoundaryError {
    BoundaryError::Io { path: path.to_owned(), doing: "use", source }
}

struct Files {
    seam: Seam,
    inner: Arc<dyn FileBoundary>,
    root: PathBuf,
}

impl Files {
    /// A refusal as this seam words it.
    fn spoil<T>(&self, result: Result<T, BoundaryError>) -> Result<T, BoundaryError> {
        match (self.seam, result) {
            (Seam::BoundaryTerse, Err(BoundaryError::Escape { .. })) => Err(io("it", std::io::Error::other("no"))),
            (_, result) => result,
        }
    }

    /// Refuses whatever is a link.
    fn refuse_link(&self, path: &str) -> Result<(), BoundaryError> {
        let is_link = self.root.join(path).symlink_metadata().is_ok_and(|m| m.is_symlink());
        if self.seam == Seam::BoundaryRefuse && is_link {
            return Err(BoundaryError::Escape { path: path.to_owned(), via: None });
        }
        Ok(())
    }
}

impl FileBoundary for Files {
    fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
        self.refuse_link(path)?;
        if self.seam == Seam::BoundaryFollow {
            let full = self.root.join(path);
            let file = std::fs::File::open(&full).map_err(|e| io(path, e))?;
            let len = file.metadata().map_err(|e| io(path, e))?.len();
            return Ok(OpenFile { file, path: full, len });
        }
        self.spoil(self.inner.open_file(path))
    }

    fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
        self.spoil(self.inner.open_dir(path))
    }

    fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
        self.spoil(self.inner.metadata(path))
    }

    fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError> {
        self.refuse_link(path)?;
        self.spoil(self.inner.list_dir_until(path, limit, stop))
    }

    fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
        self.refuse_link(path)?;
        self.spoil(self.inner.tree(path))
    }

    fn change_gated(
        &self,
        changes: &[Change<'_>],
        gate: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError> {
        if let (Seam::BoundaryFollow, [Change::Write { path, bytes, .. }]) = (self.seam, changes) {
            let full = self.root.join(path);
            std::fs::write(&full, bytes).map_err(|e| io(path, e))?;
            return Ok(vec![Written { path: full, created: true }]);
        }
        if let [Change::Write { path, .. }] = changes {
            self.refuse_link(path)?;
        }
        if let [change @ Change::Write { path, mode, like, permissions, .. }] = changes
            && let Some(bytes) = fresh::written(self.seam, change)?
        {
            let change = Change::Write { path, bytes: &bytes, mode: *mode, like: *like, permissions: *permissions };
            return self.inner.change_gated(&[change], gate);
        }
        if self.seam != Seam::PatchInPart {
            return self.spoil(self.inner.change_gated(changes, gate));
        }
        // One after the other, and what was done stays when one fails.
        changes.iter().map(|change| Ok(self.inner.change_gated(&[*change], gate)?.remove(0))).collect()
    }

    fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
        self.spoil(self.inner.create_dirs(path))
    }
}
