//! The seams at which a fault can be planted, as the files of faults name them: data, and nothing of what each does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Who enters a working tree stays where they are.
    TreeUnmoved,
    /// A working tree is the beginning of every path and no more.
    TreePrefix,
    /// A working tree is made by hand, with whatever the repository configures.
    TreeByHand,
    /// A working tree is removed with what is nowhere else.
    TreeDiscards,
    /// A version of a file is what `git` itself shows, which looks for a repository in every folder above.
    TreeGitAround,
    /// What is approved in one place is approved in every other.
    TreeGrants,
}
