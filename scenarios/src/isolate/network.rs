//! The network namespace itself: made, given its loopback, and shown to hold nothing else.

use super::netlink::Netlink;
use super::{Isolation, IsolationError};
use rustix::thread::UnshareFlags;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, UdpSocket};

pub(super) fn enter() -> Result<Isolation, IsolationError> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        return Err(IsolationError::Threads { threads });
    }
    let isolation = unshare()?;
    loopback().and_then(|()| verify()).map_err(|problem| IsolationError::Unfit { problem, reason: forbidding() })?;
    Ok(isolation)
}

/// Leaves the caller's network namespace: directly with the privilege to do so, else through a user namespace.
fn unshare() -> Result<Isolation, IsolationError> {
    let refused = |source: std::io::Error| IsolationError::Refused { source, reason: forbidding() };
    match leave(UnshareFlags::NEWNET) {
        Ok(()) => return Ok(Isolation::Network),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
        Err(error) => return Err(refused(error)),
    }
    // Who we are outside must be asked before, for inside nobody is mapped yet.
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    leave(UnshareFlags::NEWUSER | UnshareFlags::NEWNET).map_err(refused)?;
    // Everyone keeps their own ids, so that an agent sees no difference. Group ids may only be mapped without
    // privileges once setgroups is given up; kernels before 3.19 have no such file and no such condition.
    let _ = std::fs::write("/proc/self/setgroups", "deny");
    for (file, id) in [("/proc/self/uid_map", user), ("/proc/self/gid_map", group)] {
        std::fs::write(file, format!("{id} {id} 1")).map_err(|error| IsolationError::Unfit {
            problem: format!("cannot write {file}: {error}"),
            reason: forbidding(),
        })?;
    }
    Ok(Isolation::UserAndNetwork)
}

#[expect(unsafe_code, reason = "unshare(2) has no safe form in rustix any more")]
fn leave(flags: UnshareFlags) -> std::io::Result<()> {
    // SAFETY: unshare is unsafe because CLONE_FILES can part a thread from descriptors that it holds. The callers pass
    // CLONE_NEWNET and CLONE_NEWUSER only, which touch neither memory nor descriptors, and `enter` has made sure that
    // this is the only thread.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(Into::into)
}

/// Switches `lo` on.
fn loopback() -> Result<(), String> {
    let problem = |error| format!("cannot switch loopback on: {error}");
    let netlink = Netlink::open().map_err(problem)?;
    match netlink.links().map_err(problem)?.iter().find(|link| link.name == "lo") {
        Some(link) => netlink.switch_on(link).map_err(problem),
        None => Err("there is no loopback interface".to_owned()),
    }
}

/// Shows that loopback works and that nothing else does.
fn verify() -> Result<(), String> {
    let listener =
        TcpListener::bind(("127.0.0.1", 0)).map_err(|error| format!("cannot listen on loopback: {error}"))?;
    let address = listener.local_addr().map_err(|error| format!("cannot listen on loopback: {error}"))?;
    TcpStream::connect(address).map_err(|error| format!("cannot connect over loopback: {error}"))?;
    let links = Netlink::open().and_then(|netlink| netlink.links()).map_err(|error| error.to_string())?;
    // Some kernels put tunnel devices into every namespace. They are off, and lead nowhere.
    if let Some(link) = links.iter().find(|link| link.up && link.name != "lo") {
        return Err(format!("interface {} is switched on", link.name));
    }
    // Connecting a datagram socket sends nothing; it only asks the routing table. The addresses are reserved for
    // documentation.
    for (from, to) in [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")] {
        if UdpSocket::bind(from).is_ok_and(|socket| socket.connect(to).is_ok()) {
            return Err(format!("there is a route to {to}"));
        }
    }
    Ok(())
}

/// The setting of this machine that forbids namespaces to users, as an addition to a message.
fn forbidding() -> String {
    [
        ("/proc/sys/user/max_user_namespaces", "0"),
        ("/proc/sys/user/max_net_namespaces", "0"),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
    ]
    .iter()
    .find(|(file, value)| std::fs::read_to_string(file).is_ok_and(|text| text.trim() == *value))
    .map_or_else(String::new, |(file, value)| format!(": {file} is {value}"))
}
