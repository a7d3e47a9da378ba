//! An adapter written from what an agent was seen to do: the tools it advertised, and what it asked beside the task.

use super::{Adapter, AdapterError};
use crate::source::Problems;
use mock_llm::script::Op;
use mock_llm::{Binding, SideTraffic, UnboundOp, binding};
use slot_oracles::trace::WireRequest;
use std::fmt::Write as _;

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// The adapter, with its binding.
    pub adapter: Adapter,
    /// The names of the tools that were advertised, in order.
    pub advertised: Vec<String>,
    /// The operations that nothing stands for.
    pub unbound: Vec<UnboundOp>,
}

impl Probed {
    /// Makes an adapter of the requests of one run. The first request with tools decides, as it does in every run.
    ///
    /// # Errors
    ///
    /// When no request came, none in the dialect, or none with tools.
    pub fn new(adapter: Adapter, dialect: &str, requests: &[WireRequest]) -> Result<Probed, AdapterError> {
        let silent = |problem: String, fix: String| AdapterError::Silent { agent: adapter.name.clone(), problem, fix };
        let Some(first) = requests.first() else {
            let fix = "check that the command passes {base_url} on (it ends in /v1; {origin} does not)";
            return Err(silent("asked the model nothing".to_owned(), fix.to_owned()));
        };
        if let Some(other) = requests.iter().find(|request| request.dialect != dialect) {
            let problem = format!("spoke {}, not {dialect}", other.dialect);
            return Err(silent(problem, format!("give --dialect {}", other.dialect)));
        }
        let Some(request) = requests.iter().find(|request| !request.tools.is_empty()) else {
            let problem = format!("advertised no tools in {}", count(requests.len()));
            let fix = "switch its tools on; the rules are about tool calls, and there are none without tools";
            return Err(silent(problem, fix.to_owned()));
        };
        let mut bound = binding::bind(Op::ALL, &Binding::default(), &request.tools);
        for tool in bound.tools.0.values_mut() {
            // A default that is `null` says that the field may as well be absent, and TOML has no word for it.
            tool.with.retain(|_, value| !value.is_null());
        }
        let beside = requests.iter().any(|request| request.tools.is_empty());
        let side = beside.then(|| SideTraffic {
            name: if first.tools.is_empty() { "before-the-task" } else { "beside-the-task" }.to_owned(),
            no_tools: Some(true),
            reply: "ok".to_owned(),
            ..SideTraffic::default()
        });
        Ok(Probed {
            adapter: Adapter { binding: bound.tools, side: side.into_iter().collect(), ..adapter },
            advertised: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            unbound: bound.unbound,
        })
    }

    /// The adapter as a file, with what a person should look at as comments.
    ///
    /// # Errors
    ///
    /// When the file would not read back as the same adapter.
    pub fn text(&self) -> Result<String, Problems> {
        let mut out = format!(
            "# Written by `slotspec probe` from the tools that {} advertised. Look through it before you rely on it:\n\
             # - `version` may say with which arguments the program prints its version; empty, it is not asked;\n\
             # - `modes` has only what was tried; `auto` and `deny` take the arguments that choose them.\n",
            self.adapter.name
        );
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# Tools: {}.", comment(&self.advertised.join(", ")));
        for unbound in &self.unbound {
            let _ = writeln!(out, "# {} has no tool, so that its cases are NOT-APPLICABLE.", unbound.op);
        }
        // An adapter is strings, numbers and tables with string keys, which TOML can hold.
        out.push_str(&toml::to_string_pretty(&self.adapter).unwrap_or_default());
        let again = Adapter::parse("the adapter that was written", &out)?;
        debug_assert_eq!(again, self.adapter);
        Ok(out)
    }
}

fn count(requests: usize) -> String {
    if requests == 1 { "the one request".to_owned() } else { format!("any of {requests} requests") }
}

/// A text on one line, for a comment.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use slot_oracles::trace::WireTool;

    fn adapter() -> Adapter {
        let text = "name = 'x'\ntitle = 'x'\ninstall = 'get x'\nprogram = 'x'\nversion = []\nargs = ['{base_url}', '{prompt}']\n\
                    dialects = ['chat']\n[modes]\nunattended = {}\n";
        Adapter::parse("x.toml", text).unwrap()
    }

    fn request(dialect: &str, tools: &[(&str, Value)]) -> WireRequest {
        let tool = |(name, schema): &(&str, Value)| WireTool {
            name: (*name).to_owned(),
            schema: schema.clone(),
            ..WireTool::default()
        };
        WireRequest { dialect: dialect.to_owned(), tools: tools.iter().map(tool).collect(), ..WireRequest::default() }
    }

    fn shell() -> (&'static str, Value) {
        let schema = json!({"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]});
        ("run\n'it'", schema)
    }

    #[test]
    fn the_tools_that_were_seen_are_bound_and_read_back() {
        let requests = [request("chat", &[]), request("chat", &[shell(), ("other", json!({}))])];
        let probed = Probed::new(adapter(), "chat", &requests).unwrap();
        let text = probed.text().unwrap_or_else(|problems| panic!("{problems}"));
        assert!(text.contains("\n# Tools: run 'it', other.\n# READ has no tool"), "{text}");
        assert!(!text.contains("# SHELL"), "{text}");
        let again = Adapter::parse("x.toml", &text).unwrap();
        assert_eq!(again, probed.adapter);
        assert_eq!(again.binding.0[&Op::Shell].with["cmd"], "{command}");
        assert_eq!(again.side[0].name, "before-the-task");
    }

    #[test]
    fn a_null_is_left_out() {
        let schema = json!({"type": "object", "required": ["cmd", "env"],
            "properties": {"cmd": {"type": "string"}, "env": {"type": ["object", "null"], "default": null}}});
        let probed = Probed::new(adapter(), "chat", &[request("chat", &[("bash", schema)])]).unwrap();
        assert!(probed.text().unwrap().contains("[binding.SHELL.with]\ncmd = \"{command}\"\n"));
    }

    #[test]
    fn without_side_traffic_no_matcher_is_written() {
        let probed = Probed::new(adapter(), "chat", &[request("chat", &[shell()])]).unwrap();
        assert_eq!(probed.adapter.side, []);
        assert_eq!(probed.unbound.len(), Op::ALL.len() - 1);
    }

    #[track_caller]
    fn check_silent(requests: &[WireRequest], expect: &str) {
        assert_eq!(Probed::new(adapter(), "chat", requests).unwrap_err().to_string(), expect);
    }

    #[test]
    fn an_agent_that_shows_no_tools_is_told_apart() {
        check_silent(
            &[],
            "x asked the model nothing; check that the command passes {base_url} on (it ends in /v1; {origin} does not)",
        );
        check_silent(&[request("anthropic", &[shell()])], "x spoke anthropic, not chat; give --dialect anthropic");
        check_silent(
            &[request("chat", &[]), request("chat", &[])],
            "x advertised no tools in any of 2 requests; switch its tools on; the rules are about tool calls, \
             and there are none without tools",
        );
    }
}
