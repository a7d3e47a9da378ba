//! Network isolation, in a process of its own: a namespace can only be entered before the first thread, so that this
//! test brings its own `main`. Where the kernel refuses namespaces the tests are listed as ignored, with the reason.

#![allow(clippy::unwrap_used, reason = "a test may simply fail")]

use libtest_mimic::{Arguments, Failed, Trial};
use slotspec::isolate::census::is_childless;
use slotspec::isolate::{self, IsolationError};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let entered = isolate::enter();
    let childless = childless();
    let refused = matches!(entered, Err(IsolationError::Refused { .. } | IsolationError::Unsupported));
    if let Err(error) = &entered
        && refused
    {
        eprintln!("isolation is NOT tested here: {error}");
    }
    let entered = entered.map(|isolation| isolation.to_string()).map_err(|error| error.to_string());
    let tests = vec![
        Trial::test("entered", move || check(entered?.ends_with("namespace with only loopback"), "another isolation")),
        Trial::test("loopback_works", loopback_works),
        Trial::test("nothing_else_has_a_route", nothing_else_has_a_route),
        Trial::test("children_are_inside_too", children_are_inside_too),
        Trial::test("threads_are_noticed", threads_are_noticed),
    ];
    let mut tests: Vec<Trial> = tests.into_iter().map(|test| test.with_ignored_flag(refused)).collect();
    tests.push(Trial::test("a_child_is_noticed", move || {
        let seen = childless?;
        check(seen == [false, true, false, true], &format!("{seen:?}"))
    }));
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// Whether this process is known to be childless: before orphans are its own, after that, with a child, and without it.
/// The other tests start children as well, so this comes before them.
fn childless() -> std::io::Result<[bool; 4]> {
    let before = is_childless();
    isolate::adopt_orphans();
    let adopted = is_childless();
    let mut child = Command::new("sleep").arg("600").spawn()?;
    let with = is_childless();
    child.kill()?;
    child.wait()?;
    Ok([before, adopted, with, is_childless()])
}

fn check(holds: bool, otherwise: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

fn loopback_works() -> Result<(), Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    client.write_all(b"x")?;
    let mut byte = [0];
    listener.accept()?.0.read_exact(&mut byte)?;
    check(byte == *b"x", "another byte came")
}

fn nothing_else_has_a_route() -> Result<(), Failed> {
    // An address of the documentation range; connecting a datagram socket sends nothing.
    let error = UdpSocket::bind("0.0.0.0:0")?.connect("192.0.2.1:9").err();
    let code = error.as_ref().and_then(std::io::Error::raw_os_error);
    check(code == Some(rustix::io::Errno::NETUNREACH.raw_os_error()), &format!("{error:?}"))
}

fn children_are_inside_too() -> Result<(), Failed> {
    let own = std::fs::read_link("/proc/self/ns/net")?;
    let child = Command::new("readlink").arg("/proc/self/ns/net").output()?;
    check(child.status.success(), "readlink failed")?;
    check(String::from_utf8_lossy(&child.stdout).trim() == own.to_string_lossy(), "a child is elsewhere")?;
    let devices = Command::new("cat").arg("/proc/self/net/route").output()?;
    check(String::from_utf8_lossy(&devices.stdout).lines().count() <= 1, "a child has a route")
}

fn threads_are_noticed() -> Result<(), Failed> {
    let barrier = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| barrier.wait());
        let again = isolate::enter();
        barrier.wait();
        match again {
            Err(error @ IsolationError::Threads { .. }) => {
                check(error.untouched(), "the process was touched")?;
                check(error.to_string().contains("--allow-network"), "no way out is named")
            }
            other => Err(format!("{other:?}").into()),
        }
    })
}
