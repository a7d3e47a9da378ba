//! What every test of a session stands on: scripted responses over in-memory pipes, and tools that count their runs.

use super::*;
use crate::transport::{Connector, Io};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Hands out one connection for each scripted response; the last one is repeated.
#[derive(Clone, Default)]
pub(super) struct Script {
    responses: Arc<Vec<String>>,
    pub(super) requests: Arc<Mutex<Vec<Value>>>,
    served: Arc<AtomicUsize>,
}

impl Script {
    pub(super) fn new(responses: &[String]) -> Self {
        Script { responses: Arc::new(responses.to_vec()), ..Script::default() }
    }
}

impl Connector for Script {
    fn connect<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, std::io::Result<Box<dyn Io>>> {
        let script = self.clone();
        Box::pin(async move {
            let (near, mut far) = tokio::io::duplex(1 << 16);
            tokio::spawn(async move {
                let mut seen = Vec::new();
                let body = loop {
                    let mut buffer = [0; 4096];
                    let n = far.read(&mut buffer).await.unwrap();
                    seen.extend_from_slice(&buffer[..n]);
                    let text = String::from_utf8_lossy(&seen).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                    let length: usize = head
                        .lines()
                        .find_map(|l| {
                            l.to_ascii_lowercase().strip_prefix("content-length: ").map(|n| n.parse().unwrap())
                        })
                        .unwrap();
                    if body.len() >= length {
                        break body.to_owned();
                    }
                };
                script.requests.lock().unwrap().push(serde_json::from_str(&body).unwrap());
                let n = script.served.fetch_add(1, Ordering::Relaxed).min(script.responses.len() - 1);
                let (bytes, stalls) = match script.responses[n].strip_suffix(STALL) {
                    Some(bytes) => (bytes, true),
                    None => (script.responses[n].as_str(), false),
                };
                let _ = far.write_all(bytes.as_bytes()).await;
                if stalls && bytes.ends_with(": alive\n\n") {
                    loop {
                        tokio::time::sleep(Duration::from_secs(30)).await;
                        if far.write_all(b": alive\n\n").await.is_err() {
                            return;
                        }
                    }
                }
                if stalls {
                    std::future::pending::<()>().await;
                }
            });
            Ok(Box::new(near) as Box<dyn Io>)
        })
    }
}

/// At the end of a scripted response: the connection stays open and silent.
pub(super) const STALL: &str = "<stall>";

/// A response whose events are these chunks, ended by the connection's end.
pub(super) fn stream(chunks: &[Value]) -> String {
    let mut text = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
    for chunk in chunks {
        text.push_str(&format!("data: {chunk}\n\n"));
    }
    text
}

pub(super) fn say(text: &str) -> String {
    stream(&[
        json!({"choices": [{"index": 0, "delta": {"content": text}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ])
}

pub(super) fn call(calls: &[(&str, &str, &str)]) -> String {
    call_with(calls, Some("tool_calls"))
}

pub(super) fn call_with(calls: &[(&str, &str, &str)], finish: Option<&str>) -> String {
    let deltas: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(i, (id, name, arguments))| json!({"index": i, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}))
        .collect();
    let mut chunks = vec![json!({"choices": [{"index": 0, "delta": {"tool_calls": deltas}}]})];
    if let Some(finish) = finish {
        chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}));
    }
    stream(&chunks)
}

/// A tool with these capabilities that counts its runs, and hangs or panics when it is told to.
pub(super) struct Probe {
    pub(super) name: &'static str,
    pub(super) capabilities: CapabilitySet,
    pub(super) runs: Arc<AtomicUsize>,
    pub(super) together: Arc<tokio::sync::Barrier>,
}

impl Tool for Probe {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        "counts"
    }
    fn input_schema(&self) -> Value {
        if self.name == "any" {
            return json!({"type": "object"});
        }
        json!({"type": "object", "properties": {"do": {"type": "string"}}, "required": ["do"], "additionalProperties": false})
    }
    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        assert!(input["do"] != "panic at once", "planted");
        Box::pin(async move {
            self.runs.fetch_add(1, Ordering::Relaxed);
            // "nest:TOOL:WHAT": calls the tool twice from within.
            if let Some((tool, what)) = input["do"].as_str().and_then(|d| d.strip_prefix("nest:")?.split_once(':')) {
                let call = InnerCall { tool: tool.into(), input: json!({"do": what}) };
                let results = run.call_tools(vec![call.clone(), call]).await?;
                return Ok(ToolOutput::ok(results.into_iter().map(|r| r.content).collect::<Vec<_>>().join(" | ")));
            }
            match input["do"].as_str().unwrap_or_default() {
                "hang" => std::future::pending().await,
                "panic" => panic!("planted"),
                "yield" => tokio::task::yield_now().await,
                // Ends only when two calls are here at the same time.
                "meet" => {
                    self.together.wait().await;
                }
                _ => {}
            }
            Ok(ToolOutput::ok(format!("did {}", input["do"])))
        })
    }
}

impl ToolSpec for Probe {
    fn capabilities(&self) -> CapabilitySet {
        self.capabilities
    }
    fn supports_parallel(&self) -> bool {
        self.name == "look"
    }
}

pub(super) struct Fixture {
    pub(super) session: Session,
    pub(super) script: Script,
    pub(super) runs: Arc<AtomicUsize>,
}

pub(super) fn fixture(responses: &[String], approval: impl ApprovalPolicy + 'static) -> Fixture {
    fixture_with(responses, Policies { approval: Arc::new(approval), ..Policies::default() })
}

pub(super) fn fixture_with(responses: &[String], policies: Policies) -> Fixture {
    let script = Script::new(responses);
    let runs = Arc::new(AtomicUsize::new(0));
    let together = Arc::new(tokio::sync::Barrier::new(2));
    let probe = |name, capability| {
        let (capabilities, runs, together) =
            (CapabilitySet::of(&[capability]), Arc::clone(&runs), Arc::clone(&together));
        Arc::new(Probe { name, capabilities, runs, together }) as Arc<dyn ToolSpec>
    };
    let registry = Registry::new([
        probe("look", Capability::ReadOnly),
        probe("any", Capability::ReadOnly),
        probe("write", Capability::WritesFiles),
        probe("exec", Capability::ExecutesCode),
    ]);
    let endpoint = Endpoint { host: "mock".into(), port: 80, prefix: "/v1".into() };
    let client = ModelClient::new(Arc::new(script.clone()), endpoint, None, HttpLimits::default());
    let session = Session::new(
        SessionConfig::new("m", Dialect::Chat),
        client,
        Arc::new(registry),
        policies,
        EventLog::default(),
        Arc::new(Unobserved),
    );
    Fixture { session, script, runs }
}

/// The results of a history, as `id error? text`.
pub(super) fn results(conversation: &Conversation) -> Vec<String> {
    conversation
        .items
        .iter()
        .filter_map(|item| match item {
            Item::ToolResult { call_id, content, is_error } => {
                Some(format!("{call_id} {} {content}", if *is_error { "failed" } else { "ok" }))
            }
            _ => None,
        })
        .collect()
}

/// Every call of the history has exactly one result, in order, before the next message.
#[track_caller]
pub(super) fn assert_paired(conversation: &Conversation) {
    let mut open: VecDeque<&str> = VecDeque::new();
    for item in &conversation.items {
        match item {
            Item::Assistant { calls, .. } => {
                assert!(open.is_empty(), "{open:?} are unanswered");
                open.extend(calls.iter().map(|c| c.id.as_str()));
            }
            Item::ToolResult { call_id, .. } => assert_eq!(open.pop_front(), Some(call_id.as_str())),
            Item::User { .. } => assert!(open.is_empty(), "{open:?} are unanswered"),
        }
    }
    assert!(open.is_empty(), "{open:?} are unanswered");
}

pub(super) const OK: &str = r#"{"do":"it"}"#;

#[track_caller]
pub(super) fn check(
    responses: &[String],
    approval: impl ApprovalPolicy + 'static,
    expect: &[&str],
) -> (Outcome, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async move {
        let mut fixture = fixture(responses, approval);
        let outcome = fixture.session.run("go", &CancellationToken::new()).await;
        let conversation = fixture.session.conversation();
        assert_paired(conversation);
        let found = results(conversation);
        assert_eq!(found.len(), expect.len(), "{found:?}");
        for (found, expect) in found.iter().zip(expect) {
            assert!(found.starts_with(expect), "{found:?} does not start with {expect:?}");
        }
        (outcome, fixture.runs.load(Ordering::Relaxed))
    })
}

pub(super) fn completed(text: &str) -> Outcome {
    Outcome::Completed { text: text.into(), stop: StopReason::Stop }
}
