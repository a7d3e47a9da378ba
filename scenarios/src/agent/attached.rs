//! An agent that a person drives: an editor's, one in a container, one that no command line starts.
//!
//! Nothing is started here. The mock is served at one address, the same for every case, so that the agent is set up
//! once; each case says its folders and its task, and waits until the agent has done it. The end comes when the person
//! says so, or when every turn of the script was served and nothing came after it for a while, or when the time is up.
//! What only the one who starts a process can see (its exit, its output, what it leaves running) is not seen.

use super::{Abilities, Agent, AgentEnd, AgentRun, BoxFuture, Job, Mode};
use mock_llm::MockLlm;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::watch;

/// An agent that has read the last turn may still be at work, and one that thinks that it broke asks again.
const QUIET: Duration = Duration::from_secs(3);
/// How often the mock is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Why the mock cannot be served where it was asked for.
#[derive(Debug, Error)]
pub enum AttachError {
    /// It is no address.
    #[error(
        "--attach {given}: {problem}; write where the mock is to listen, such as 127.0.0.1:8123 or \
             http://127.0.0.1:8123/v1; port 0 takes a free one"
    )]
    Address {
        /// What was given.
        given: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// It cannot be listened on.
    #[error("--attach: cannot listen on {address}: {source}; choose another address, or port 0 for a free one")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
}

/// How the person is spoken to.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// An agent that a person drives.
pub struct Attached {
    name: String,
    address: SocketAddr,
    abilities: Abilities,
    /// Changes whenever the person says that the agent is done.
    done: watch::Receiver<u64>,
    tell: Tell,
}

impl Attached {
    /// An agent called `name`, for which the mock listens at `address`. `done` changes when the person says that a case
    /// is done; it may be closed when nobody can say so. A port of 0 is replaced by a free one here.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on.
    pub fn new(
        name: String,
        address: SocketAddr,
        done: watch::Receiver<u64>,
        tell: Tell,
    ) -> Result<Attached, AttachError> {
        // Tried before the first case, and given up again: every case listens by itself.
        let bound = std::net::TcpListener::bind(address).and_then(|listener| listener.local_addr());
        let address = bound.map_err(|source| AttachError::Listen { address, source })?;
        // A person at the machine approves what the agent asks for, or has told it to ask for nothing.
        let abilities = Abilities { modes: vec![Mode::Unattended], file_tools: true, ..Abilities::default() };
        Ok(Attached { name, address, abilities, done, tell })
    }

    async fn run_job(&self, job: Job<'_>) -> Result<AgentEnd, String> {
        let mut done = self.done.clone();
        done.mark_unchanged();
        let cannot = |error| format!("the mock cannot listen on {}: {error}; is another program there?", self.address);
        let listening = job.mock.listen(self.address).await.map_err(cannot)?;
        (self.tell)(&invitation(&job, self.address));
        tokio::select! {
            () = said(&mut done) => {}
            () = over(job.mock) => {}
            () = tokio::time::sleep(job.limit) => {}
        }
        drop(listening);
        if job.mock.requests().is_empty() {
            return Err(format!(
                "nothing asked the model at http://{}/v1; is the agent set to that base URL?",
                self.address
            ));
        }
        Ok(AgentEnd::Unseen)
    }
}

impl Agent for Attached {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        ""
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn run<'a>(&'a self, job: Job<'a>) -> BoxFuture<'a, AgentRun> {
        Box::pin(async move {
            let end = self.run_job(job).await.unwrap_or_else(|reason| AgentEnd::NotStarted { reason });
            AgentRun { end, ..AgentRun::default() }
        })
    }
}

/// Where a person wants the mock to listen: `ADDRESS:PORT`, a port of this machine, or the base URL made of it.
///
/// # Errors
///
/// When it is none of them.
pub fn address(given: &str) -> Result<SocketAddr, AttachError> {
    let fault = |problem| AttachError::Address { given: given.to_owned(), problem };
    if given.starts_with("https://") {
        return Err(fault("the mock speaks plain HTTP"));
    }
    let rest = given.strip_prefix("http://").unwrap_or(given).trim_end_matches('/');
    let rest = rest.strip_suffix("/v1").unwrap_or(rest);
    if rest.contains('/') {
        return Err(fault("the mock serves no other path than /v1"));
    }
    if let Ok(port) = rest.parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    if let Some(port) = rest.strip_prefix("localhost:") {
        let port = port.parse::<u16>().map_err(|_| fault("the port is none"))?;
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    match rest.parse::<SocketAddr>() {
        Ok(address) => Ok(address),
        Err(_) if rest.parse::<IpAddr>().is_ok() => Err(fault("there is no port")),
        Err(_) => Err(fault("that is no address")),
    }
}

/// What a person is told of a case.
fn invitation(job: &Job<'_>, address: SocketAddr) -> String {
    let (workspace, home) = (job.world.workspace().display(), job.world.home().display());
    format!(
        "\n{case}\n  base URL   http://{address}/v1  ({dialect}; http://{address} for a client that appends /v1)\n  \
         workspace  {workspace}\n  home       {home}\n  task       {task}\n\
         Let the agent do the task in the workspace, with all approvals given, and press Enter when it is done. Without \
         it this goes on {quiet} s after the last turn, or after {limit} s.\n",
        case = job.case,
        dialect = job.dialect,
        task = job.prompt.escape_debug(),
        quiet = QUIET.as_secs(),
        limit = job.limit.as_secs(),
    )
}

/// Until the person says that the agent is done; for ever when nobody can.
async fn said(done: &mut watch::Receiver<u64>) {
    if done.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Until every turn was served and nothing came for a while.
async fn over(mock: &MockLlm) {
    let (mut quiet, mut seen) = (Duration::ZERO, 0);
    loop {
        tokio::time::sleep(LOOK).await;
        let served = mock.served();
        let now = mock.requests().len();
        quiet = if now == seen { quiet + LOOK } else { Duration::ZERO };
        seen = now;
        if quiet >= QUIET && served.iter().all(|turn| turn.times > 0) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mock_llm::Script;
    use tokio::io::AsyncWriteExt as _;

    #[track_caller]
    fn check(given: &str, expect: Result<&str, &str>) {
        let told = address(given).map(|address| address.to_string()).map_err(|error| error.to_string());
        let expect = expect.map(str::to_owned).map_err(|problem| {
            format!(
                "--attach {given}: {problem}; write where the mock is to listen, such as 127.0.0.1:8123 or \
                 http://127.0.0.1:8123/v1; port 0 takes a free one"
            )
        });
        assert_eq!(told, expect);
    }

    #[test]
    fn an_address_has_many_forms() {
        check("127.0.0.1:8123", Ok("127.0.0.1:8123"));
        check("http://127.0.0.1:8123/v1/", Ok("127.0.0.1:8123"));
        check("http://localhost:0", Ok("127.0.0.1:0"));
        check("8123", Ok("127.0.0.1:8123"));
        check("0.0.0.0:8123", Ok("0.0.0.0:8123"));
        check("[::1]:8123", Ok("[::1]:8123"));
    }

    #[test]
    fn what_is_no_address_is_told() {
        check("https://127.0.0.1:8123", Err("the mock speaks plain HTTP"));
        check("127.0.0.1:8123/api", Err("the mock serves no other path than /v1"));
        check("127.0.0.1", Err("there is no port"));
        check("localhost:many", Err("the port is none"));
        check("example.com:80", Err("that is no address"));
        check("", Err("that is no address"));
    }

    #[test]
    fn a_taken_address_is_told_before_the_first_case() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let made = Attached::new("x".into(), address, watch::channel(0).1, Box::new(|_| {}));
        let error = made.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(&format!("--attach: cannot listen on {address}: ")), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_script_is_over_a_while_after_its_last_turn() {
        let script = "[[turn]]\nsay = 'one'\n[[turn]]\nsay = 'two'\n";
        let mock = MockLlm::new(Script::from_toml(script, "s").unwrap());
        let ask = async |body: &str| {
            let (mut near, far) = tokio::io::duplex(1 << 16);
            let head = format!("POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {}\r\n\r\n", body.len());
            near.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            near.shutdown().await.unwrap();
            mock.serve_io(far).await;
        };
        let user = r#"{"role":"user","content":"x"}"#;
        ask(&format!(r#"{{"messages":[{user}]}}"#)).await;
        assert!(tokio::time::timeout(QUIET * 10, over(&mock)).await.is_err(), "turn 1 is still to come");
        ask(&format!(r#"{{"messages":[{user},{{"role":"assistant","content":"one"}},{user}]}}"#)).await;
        assert_eq!(mock.requests().len(), 2);
        assert!(tokio::time::timeout(QUIET * 2, over(&mock)).await.is_ok());
    }
}
