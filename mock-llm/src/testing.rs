//! The short way for Rust tests: replies without a script file, and assertions that say what they saw.
//!
//! Everything here may panic: it is a test that calls it.

use crate::engine::Config;
use crate::mock::MockLlm;
use crate::report::Report;
use crate::script::{Call, Delivery, Script, Stop, Turn};
use crate::server::Listening;
use serde_json::Value;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Deref;

/// One reply of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply(Turn);

impl Reply {
    /// Says something.
    pub fn text(say: impl Into<String>) -> Reply {
        Reply(Turn { say: say.into(), ..Turn::default() })
    }

    /// Calls a tool. `with` is a JSON object; any other value is sent as the argument text it serialises to.
    pub fn call(id: impl Into<String>, tool: impl Into<String>, with: Value) -> Reply {
        Reply::default().and_call(id, tool, with)
    }

    /// Calls a tool with this argument text, JSON or not.
    pub fn raw_call(id: impl Into<String>, tool: impl Into<String>, arguments: impl Into<String>) -> Reply {
        let call = Call { id: id.into(), tool: Some(tool.into()), raw: Some(arguments.into()), ..Call::default() };
        Reply(Turn { calls: vec![call], ..Turn::default() })
    }

    /// One more call in the same reply.
    #[must_use]
    pub fn and_call(mut self, id: impl Into<String>, tool: impl Into<String>, with: Value) -> Reply {
        let (with, raw) = match with {
            Value::Object(members) => (Some(members), None),
            other => (None, Some(other.to_string())),
        };
        self.0.calls.push(Call { id: id.into(), tool: Some(tool.into()), with, raw, ..Call::default() });
        self
    }

    /// Text before the calls.
    #[must_use]
    pub fn saying(mut self, say: impl Into<String>) -> Reply {
        self.0.say = say.into();
        self
    }

    /// Another stop reason than the one that follows from the reply.
    #[must_use]
    pub fn stopping(mut self, stop: Stop) -> Reply {
        self.0.stop = Some(stop);
        self
    }

    /// Another grouping of the bytes than one write a frame.
    #[must_use]
    pub fn delivered(mut self, delivery: Delivery) -> Reply {
        self.0.delivery = delivery;
        self
    }

    /// Held back until the gate of this name is opened.
    #[must_use]
    pub fn behind(mut self, gate: impl Into<String>) -> Reply {
        self.0.gate = Some(gate.into());
        self
    }
}

impl From<Turn> for Reply {
    fn from(turn: Turn) -> Reply {
        Reply(turn)
    }
}

/// A mock for one test, listening on 127.0.0.1. When it is dropped it fails the test if a reply was never asked for,
/// or if something was asked that no reply was given for.
#[derive(Debug)]
pub struct TestMock {
    mock: MockLlm,
    listening: Listening,
    /// Whether the script's end still has to be looked at.
    armed: bool,
}

impl MockLlm {
    /// Starts a mock for one test, on a free port of 127.0.0.1.
    ///
    /// ```
    /// # use mock_llm::{MockLlm, Reply};
    /// # use serde_json::{Value, json};
    /// # use tokio::io::{AsyncReadExt, AsyncWriteExt};
    /// # async fn ask(base_url: &str, messages: Value) -> std::io::Result<()> {
    /// #     let addr = base_url.trim_start_matches("http://").trim_end_matches("/v1");
    /// #     let body = json!({"model": "m", "messages": messages}).to_string();
    /// #     let head = "POST /v1/chat/completions HTTP/1.1\r\nconnection: close\r\n";
    /// #     let mut client = tokio::net::TcpStream::connect(addr).await?;
    /// #     client.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
    /// #     let mut answer = String::new();
    /// #     client.read_to_string(&mut answer).await?;
    /// #     Ok(())
    /// # }
    /// # async fn your_agent(base_url: &str) -> std::io::Result<()> {
    /// #     let go = json!({"role": "user", "content": "go"});
    /// #     ask(base_url, json!([go])).await?;
    /// #     let function = json!({"name": "read_file", "arguments": "{\"path\":\"a.txt\"}"});
    /// #     let call = json!({"id": "c1", "type": "function", "function": function});
    /// #     let assistant = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    /// #     let result = json!({"role": "tool", "tool_call_id": "c1", "content": "hello\n"});
    /// #     ask(base_url, json!([go, assistant, result])).await
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let mock = MockLlm::start().await?;
    /// mock.reply(Reply::call("c1", "read_file", json!({"path": "a.txt"}))).reply(Reply::text("done"));
    /// your_agent(&mock.base_url()).await?;
    /// mock.assert_result("c1", |text| text.contains("hello"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When no port can be bound.
    pub async fn start() -> io::Result<TestMock> {
        MockLlm::start_with(Config::default()).await
    }

    /// Starts a mock for one test under settings such as side traffic or strictness.
    ///
    /// # Errors
    ///
    /// When no port can be bound.
    pub async fn start_with(config: Config) -> io::Result<TestMock> {
        let mock = MockLlm::with_config(Script::default(), config);
        let listening = mock.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        Ok(TestMock { mock, listening, armed: true })
    }
}

impl TestMock {
    /// Adds a reply after those given so far.
    ///
    /// # Panics
    ///
    /// When the reply repeats a call id of an earlier one, since results could not be told apart.
    #[track_caller]
    pub fn reply(&self, reply: impl Into<Reply>) -> &TestMock {
        let turn = reply.into().0;
        let script = self.mock.script();
        let known: Vec<&str> = script.turns.iter().flat_map(|turn| &turn.calls).map(|call| call.id.as_str()).collect();
        if let Some(call) = turn.calls.iter().find(|call| known.contains(&call.id.as_str())) {
            panic!("call id `{}` is taken by an earlier reply; give each call an id of its own", call.id);
        }
        self.mock.push(turn);
        self
    }

    /// What an OpenAI client takes as its base URL: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        self.listening.base_url()
    }

    /// Asserts that the agent answered call `id` exactly once in its last request that holds it, with a text that
    /// `holds` accepts.
    ///
    /// # Panics
    ///
    /// When it did not. The message shows the texts that came.
    #[track_caller]
    pub fn assert_result(&self, id: &str, holds: impl Fn(&str) -> bool) {
        let requests = self.mock.requests();
        let results = requests.iter().rev().map(|request| {
            request.results().filter(|(of, _)| *of == id).map(|(_, text)| text.to_owned()).collect::<Vec<_>>()
        });
        let Some(results) = results.into_iter().find(|results| !results.is_empty()) else {
            panic!("no request holds a result for call `{id}`; {}", self.seen());
        };
        match results.as_slice() {
            [one] if holds(one) => {}
            [one] => panic!("the result of call `{id}` is not as expected: {one:?}"),
            many => panic!("call `{id}` has {} results, expected one: {many:?}", many.len()),
        }
    }

    /// Asserts that so many requests of the conversation arrived.
    ///
    /// # Panics
    ///
    /// When it was another number.
    #[track_caller]
    pub fn assert_requests(&self, count: usize) {
        let seen = self.mock.requests().len();
        assert!(seen == count, "expected {count} requests, {}", self.seen());
    }

    /// Asserts that no request so far had anything that a real provider refuses.
    ///
    /// # Panics
    ///
    /// When one had. The message lists the objections.
    #[track_caller]
    pub fn assert_valid(&self) {
        let journal = self.mock.journal();
        let refused = journal.requests().flat_map(|request| &request.objections).filter(|objection| objection.rejects);
        let lines: Vec<String> = refused.map(|one| format!("{} at {}: {}", one.cause, one.at, one.detail)).collect();
        assert!(lines.is_empty(), "a provider would refuse what was sent:\n{}", lines.join("\n"));
    }

    /// Ends the test's script and hands back its report in place of panicking on drop.
    pub fn finish(mut self) -> Report {
        self.armed = false;
        self.mock.finish()
    }

    /// One line on what arrived, for messages.
    fn seen(&self) -> String {
        let requests = self.mock.requests();
        let mut ids: Vec<String> =
            requests.iter().flat_map(|request| request.results()).map(|(id, _)| id.to_owned()).collect();
        ids.sort();
        ids.dedup();
        format!("{} arrived, with results for [{}]", requests.len(), ids.join(", "))
    }
}

impl Deref for TestMock {
    type Target = MockLlm;

    fn deref(&self) -> &MockLlm {
        &self.mock
    }
}

impl Drop for TestMock {
    fn drop(&mut self) {
        let report = self.mock.finish();
        // A test that is failing already has said why; a second panic would abort the process.
        if self.armed && !report.is_clean() && !std::thread::panicking() {
            panic!("the mock's script did not play out:\n{report}");
        }
    }
}
