//! The tools of the reference runtime in one run: what the case says of them, and what it changes while the run goes on.

use super::Job;
use super::extension::CaseTool;
use super::in_process::variables;
use super::room::Room;
use crate::faults::Plant;
use crate::world::{ChangeSpec, ExtensionTool, Found, WorldSpec};
use slot_runtime::boundary::{FileBoundary, TrustedRoots, Workspace};
use slot_runtime::contract::{OriginKind, ToolDispatcher, ToolSpec};
use slot_runtime::deny::{DenyPolicy, DenyRules, Guarded, LiveRules, Roots};
use slot_runtime::event::{Event, EventSink};
use slot_runtime::registry::SchemaForm;
use slot_runtime::session::Activation;
use slot_tools::pool::{Discovery, LivePool, PoolSettings, finders};
use slot_tools::session::SessionHost;
use slot_tools::tool_search::Shelf;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The tools of a run.
pub struct Tools {
    /// What the engine holds of them.
    pub dispatcher: Arc<dyn ToolDispatcher>,
    /// What is denied.
    pub rules: Arc<dyn DenyPolicy>,
    /// What changes them.
    pub changing: Arc<Changing>,
    /// The files that they work on.
    pub files: Arc<dyn FileBoundary>,
}

/// How deferred tools that were found get to the model.
pub fn activation(spec: &WorldSpec) -> Activation {
    match spec.pool.as_ref().and_then(|pool| pool.discovery) {
        None | Some(Found::Proxy) => Activation::Proxy,
        Some(Found::Native) => Activation::Native,
        Some(Found::Append) => Activation::Append,
    }
}

impl Tools {
    /// The tools of this job.
    pub fn of(job: &Job<'_>, plant: &dyn Plant, host: &SessionHost) -> Result<Tools, String> {
        let root = job.world.workspace();
        let workspace = opened(job)?;
        let roots = Roots { workspace: Some(root.to_owned()), home: Some(job.world.home().to_owned()) };
        let read = |texts: &[String]| DenyRules::parse(texts, roots.clone()).map_err(|error| error.to_string());
        let rules = Arc::new(LiveRules::new(read(&job.spec.deny)?));
        let files = plant.boundary(Arc::new(workspace), root);
        let files: Arc<dyn FileBoundary> = Arc::new(Guarded::new(files, plant.guard(Arc::clone(&rules))));
        let planted = job.env.iter().map(|(name, value)| (name.into(), value.into()));
        let inherited: Vec<_> = std::env::vars_os().chain(planted).collect();
        let form = if job.strict_schemas { SchemaForm::Strict } else { SchemaForm::Cleaned };
        let settings =
            plant.pool(PoolSettings { form, ..settings(job.spec, Arc::clone(&rules) as Arc<dyn DenyPolicy>) });
        let shelf = Shelf::default();
        let mut tools: Vec<Arc<dyn ToolSpec>> =
            slot_tools::builtins_for(Arc::clone(&files), inherited, variables(job.world), host);
        tools.extend(finders(&shelf, &settings));
        let cases = CaseTools { workspace: root.to_owned(), room: Arc::new(Room::default()) };
        tools.extend(job.tools.iter().map(|spec| cases.tool(spec.clone())));
        let (made, external): (Vec<_>, Vec<_>) =
            plant.tools(tools).into_iter().partition(|tool| tool.origin().is_builtin());
        let pool = Arc::new(LivePool::new(made, settings, shelf));
        let mut sources: BTreeMap<String, Vec<Arc<dyn ToolSpec>>> = BTreeMap::new();
        external.into_iter().for_each(|tool| sources.entry(source(tool.as_ref())).or_default().push(tool));
        sources.iter().for_each(|(source, tools)| pool.replace(source, tools.clone()));
        let changing = Changing {
            changes: job.spec.changes.clone(),
            now: Mutex::new((job.spec.deny.clone(), sources)),
            rules: Arc::clone(&rules),
            roots,
            cases,
            pool: Arc::clone(&pool),
        };
        Ok(Tools { dispatcher: pool, rules, changing: Arc::new(changing), files })
    }
}

/// The workspace, with what its user trusts besides, and the runtime's own folder kept from every tool.
fn opened(job: &Job<'_>) -> Result<Workspace, String> {
    let own = job.world.home().join(".slot");
    let workspace =
        Workspace::open(job.world.workspace()).map_err(|e| format!("the workspace cannot be opened: {e}"))?;
    let trusted = own.join("trusted.toml");
    let workspace = match trusted.exists() {
        true => TrustedRoots::read(&trusted).and_then(|roots| roots.under(&workspace)).map_err(|e| e.to_string())?,
        false => workspace,
    };
    workspace.with_protected(&own).map_err(|e| e.to_string())
}

fn settings(spec: &WorldSpec, deny: Arc<dyn DenyPolicy>) -> PoolSettings {
    let Some(pool) = &spec.pool else { return PoolSettings { deny, ..PoolSettings::default() } };
    let discovery = pool.discovery.map(|found| Discovery {
        scope: pool.scope,
        always_load: pool.always_load.iter().cloned().collect(),
        used_percent: pool.used_percent.clone(),
        untrusted: pool.untrusted.iter().cloned().collect(),
        proxy: found == Found::Proxy,
    });
    PoolSettings { mode: pool.mode, startup: pool.startup.clone(), deny, discovery, ..PoolSettings::default() }
}

/// The name of the source of a tool.
fn source(tool: &dyn ToolSpec) -> String {
    match tool.origin().kind {
        OriginKind::Mcp { server } => server,
        _ => "case".to_owned(),
    }
}

/// What tools of a case are made with.
struct CaseTools {
    workspace: PathBuf,
    room: Arc<Room>,
}

impl CaseTools {
    fn tool(&self, spec: ExtensionTool) -> Arc<dyn ToolSpec> {
        Arc::new(CaseTool::new(spec, self.workspace.clone(), Arc::clone(&self.room)))
    }
}

type Sources = BTreeMap<String, Vec<Arc<dyn ToolSpec>>>;

/// Makes the changes of a case at their events.
pub struct Changing {
    changes: Vec<ChangeSpec>,
    /// The deny rules and the tools of sources as they are.
    now: Mutex<(Vec<String>, Sources)>,
    rules: Arc<LiveRules>,
    roots: Roots,
    cases: CaseTools,
    pool: Arc<LivePool>,
}

impl Changing {
    fn make(&self, change: &ChangeSpec) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let (denied, sources) = &mut *now;
        if let Some(rule) = &change.deny {
            denied.push(rule.clone());
            // A rule that cannot be read must not be passed over: the case would prove nothing.
            let rules = DenyRules::parse(denied.iter(), self.roots.clone());
            self.rules.replace(rules.unwrap_or_else(|error| panic!("planted by the case: {error}")));
            self.pool.refresh();
        }
        if let Some(name) = &change.remove {
            for (source, tools) in sources.iter_mut() {
                let before = tools.len();
                tools.retain(|tool| tool.name() != name);
                if tools.len() < before {
                    self.pool.replace(source, tools.clone());
                }
            }
        }
        if let Some(spec) = &change.tool {
            let tool = self.cases.tool(spec.clone());
            let source = source(tool.as_ref());
            let tools = sources.entry(source.clone()).or_default();
            tools.retain(|known| known.name() != spec.name);
            tools.push(tool);
            self.pool.replace(&source, tools.clone());
        }
    }
}

impl EventSink for Changing {
    fn event(&self, event: &Event) {
        let Some(call) = event.lane.to_string().strip_prefix("call:").map(str::to_owned) else { return };
        let value = serde_json::to_value(event).unwrap_or_default();
        let name = value["event"].as_str().unwrap_or_default();
        let due = self.changes.iter().filter(|change| change.at == format!("{name}:{call}"));
        due.for_each(|change| self.make(change));
    }
}
