//! Decorators on what says which tools there are: deny rules, the pool, and the tools that find tools.

use super::Seam;
use super::wrapped::{Flaws, Wrapped};
use serde_json::Value;
use slot_runtime::contract::{BoxFuture, Role, RunContext, ToolError, ToolMetadata, ToolOutput, ToolSpec};
use slot_runtime::deny::{Denial, DenyPolicy};
use slot_runtime::dispatch::Policies;
use slot_runtime::session::Activation;
use slot_tools::pool::{Mode, PoolSettings};
use std::sync::Arc;

/// Deny rules that go wrong.
struct Rules {
    seam: Seam,
    inner: Arc<dyn DenyPolicy>,
}

impl DenyPolicy for Rules {
    fn hides(&self, tool: &ToolMetadata) -> Option<String> {
        match self.seam {
            Seam::DenyOff | Seam::DenyShown => None,
            _ => self.inner.hides(tool),
        }
    }

    fn judge(&self, tool: &ToolMetadata, input: &Value) -> Result<(), Denial> {
        match (self.seam, self.inner.judge(tool, input)) {
            (Seam::DenyOff | Seam::DenySkip, _) => Ok(()),
            // What a comparison of texts would find.
            (Seam::DenyText, Err(denial)) => {
                let said = denial.rule.split_once('(').map_or("", |(_, said)| said.trim_end_matches([')', ':', '*']));
                if input["command"].as_str().is_some_and(|command| command.starts_with(said)) {
                    Err(denial)
                } else {
                    Ok(())
                }
            }
            (Seam::DenyChain, Ok(()))
                if input["command"].as_str().is_some_and(|command| command.contains(['|', '&', ';', '<', '>'])) =>
            {
                Err(Denial { rule: "all".to_owned(), reason: "No.".to_owned() })
            }
            (Seam::DenyWhole, Ok(())) if input.get("command").is_some() || input.get("path").is_some() => {
                Err(Denial { rule: "all".to_owned(), reason: "No.".to_owned() })
            }
            (Seam::DenyOpaque, Err(denial)) if denial.reason.contains("nobody can tell") => Ok(()),
            (Seam::DenyTerse, Err(_)) => Err(Denial { rule: "one".to_owned(), reason: "No.".to_owned() }),
            (_, judged) => judged,
        }
    }
}

fn wrong_rules(seam: Seam) -> bool {
    matches!(
        seam,
        Seam::DenyOff
            | Seam::DenyShown
            | Seam::DenySkip
            | Seam::DenyText
            | Seam::DenyWhole
            | Seam::DenyTerse
            | Seam::DenyChain
            | Seam::DenyOpaque
    )
}

/// The policies, with the deny rules replaced.
pub(super) fn policies(seam: Seam, mut policies: Policies) -> Policies {
    if wrong_rules(seam) {
        policies.deny = Arc::new(Rules { seam, inner: policies.deny });
    }
    policies
}

/// How the tools are put together.
pub(super) fn settings(seam: Seam, mut settings: PoolSettings) -> PoolSettings {
    match seam {
        _ if wrong_rules(seam) => settings.deny = Arc::new(Rules { seam, inner: settings.deny }),
        Seam::PoolNoMode => settings.mode = Mode::Standard,
        Seam::PoolNoStartup => settings.startup.clear(),
        Seam::DeferNothing => settings.discovery = None,
        Seam::DeferTrustsAll => settings.discovery.iter_mut().for_each(|discovery| discovery.untrusted.clear()),
        Seam::DeferIgnoresUse => settings.discovery.iter_mut().for_each(|discovery| discovery.used_percent.clear()),
        _ => {}
    }
    settings
}

/// How deferred tools that were found get to the model.
pub(super) fn activation(seam: Seam, activation: Activation) -> Activation {
    match seam {
        Seam::ActivateAppend => Activation::Append,
        Seam::ActivateNever => Activation::Proxy,
        _ => activation,
    }
}

/// The tools, with one of those that find tools replaced.
pub(super) fn tools(seam: Seam, tools: Vec<Arc<dyn ToolSpec>>) -> Vec<Arc<dyn ToolSpec>> {
    let name = match seam {
        Seam::SearchBlind => "tool_search",
        Seam::ProxyFree => "call_tool",
        _ => return tools,
    };
    let all = tools.clone();
    let broken = |tool: Arc<dyn ToolSpec>| {
        if tool.name() != name {
            return tool;
        }
        Wrapped::tool(tool, Broken { seam, tools: all.clone() })
    };
    tools.into_iter().map(broken).collect()
}

struct Broken {
    seam: Seam,
    tools: Vec<Arc<dyn ToolSpec>>,
}

impl Flaws for Broken {
    fn role(&self, inner: &dyn ToolSpec) -> Role {
        if self.seam == Seam::ProxyFree { Role::Plain } else { inner.role() }
    }

    fn run<'a>(
        &'a self,
        inner: &'a dyn ToolSpec,
        input: &'a Value,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.seam == Seam::ProxyFree {
                let Some(tool) = self.tools.iter().find(|tool| input["tool"] == tool.name()) else {
                    return Err(ToolError::NotFound("no such tool".to_owned()));
                };
                return tool.run(&input["input"], run).await;
            }
            // It answers, and nothing follows from what it says.
            inner.run(input, run).await.map(|output| ToolOutput::ok(output.content))
        })
    }
}
