//! The few sentences of rtnetlink that are needed: switch an interface on, list interfaces.
//!
//! Netlink is used in place of the older ioctls because a datagram of plain bytes needs no unsafe code.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::os::fd::OwnedFd;

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_DUMP: u16 = 0x300;
const IFLA_IFNAME: u16 = 3;
const IFF_UP: u32 = 1;
/// `nlmsghdr` and `ifinfomsg` are 16 bytes each.
const HEADER: usize = 16;
/// Datagrams of one answer beyond which it is given up.
const MAX_DATAGRAMS: usize = 64;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// The kernel's number for it.
    pub(super) index: u32,
    /// Its name.
    pub(super) name: String,
    /// Whether it is switched on.
    pub(super) up: bool,
}

/// A netlink socket.
pub(super) struct Netlink(OwnedFd);

impl Netlink {
    /// Opens a socket in the current network namespace.
    pub(super) fn open() -> std::io::Result<Netlink> {
        // No protocol is number 0, which is NETLINK_ROUTE.
        Ok(Netlink(rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?))
    }

    /// All interfaces.
    pub(super) fn links(&self) -> std::io::Result<Vec<Link>> {
        self.send(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 0, 0)?;
        let mut links = Vec::new();
        for _ in 0..MAX_DATAGRAMS {
            for message in messages(&self.receive()?) {
                match message.kind {
                    NLMSG_DONE => return Ok(links),
                    NLMSG_ERROR => outcome(message.body)?,
                    RTM_NEWLINK => links.extend(link(message.body)),
                    _ => {}
                }
            }
        }
        Err(std::io::Error::other("the kernel's list of interfaces has no end"))
    }

    /// Switches an interface on.
    pub(super) fn switch_on(&self, link: &Link) -> std::io::Result<()> {
        self.send(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, link.index, IFF_UP)?;
        for _ in 0..MAX_DATAGRAMS {
            for message in messages(&self.receive()?) {
                if message.kind == NLMSG_ERROR {
                    return outcome(message.body);
                }
            }
        }
        Err(std::io::Error::other("the kernel never confirmed"))
    }

    fn send(&self, kind: u16, flags: u16, index: u32, on: u32) -> std::io::Result<()> {
        let mut message = Vec::with_capacity(2 * HEADER);
        message.extend((2 * HEADER as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend([0; 8]); // sequence and port: there is one request at a time
        message.extend([0; 4]); // family, padding, device type
        message.extend(index.to_ne_bytes());
        message.extend(on.to_ne_bytes()); // flags
        message.extend(on.to_ne_bytes()); // which flags to change
        rustix::net::send(&self.0, &message, SendFlags::empty())?;
        Ok(())
    }

    fn receive(&self) -> std::io::Result<Vec<u8>> {
        let mut buffer = vec![0; 64 * 1024];
        let (filled, _) = rustix::net::recv(&self.0, buffer.as_mut_slice(), RecvFlags::empty())?;
        buffer.truncate(filled);
        Ok(buffer)
    }
}

struct Message<'a> {
    kind: u16,
    body: &'a [u8],
}

/// The messages of a datagram; a malformed rest is left out.
fn messages(mut datagram: &[u8]) -> Vec<Message<'_>> {
    let mut found = Vec::new();
    while let (Some(len), Some(kind)) = (number(datagram, 0), short(datagram, 4)) {
        let Some(body) = datagram.get(HEADER..len as usize) else { break };
        found.push(Message { kind, body });
        datagram = datagram.get((len as usize).next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// The result in a message of kind `NLMSG_ERROR`, which is also the acknowledgement.
fn outcome(body: &[u8]) -> std::io::Result<()> {
    match number(body, 0).map(u32::cast_signed) {
        Some(0) => Ok(()),
        Some(code) => Err(std::io::Error::from_raw_os_error(code.saturating_neg())),
        None => Err(std::io::Error::other("the kernel's answer is too short")),
    }
}

/// The interface in a message of kind `RTM_NEWLINK`.
fn link(body: &[u8]) -> Option<Link> {
    let (index, flags) = (number(body, 4)?, number(body, 8)?);
    let mut attributes = body.get(HEADER..)?;
    let mut name = String::new();
    while let (Some(len), Some(kind)) = (short(attributes, 0), short(attributes, 2)) {
        let Some(value) = attributes.get(4..usize::from(len)) else { break };
        if kind == IFLA_IFNAME {
            name = String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into_owned();
        }
        attributes = attributes.get(usize::from(len).next_multiple_of(4)..).unwrap_or_default();
    }
    Some(Link { index, name, up: flags & IFF_UP != 0 })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_lists_loopback() {
        let links = Netlink::open().unwrap().links().unwrap();
        assert!(links.iter().any(|link| link.name == "lo"), "{links:?}");
    }

    #[test]
    fn an_interface_that_does_not_exist_cannot_be_switched_on() {
        let nothing = Link { index: u32::MAX / 2, name: "none".into(), up: false };
        let error = Netlink::open().unwrap().switch_on(&nothing).unwrap_err();
        assert!(error.raw_os_error().is_some_and(|code| code > 0), "{error}");
    }

    #[test]
    fn malformed_datagrams_are_survived() {
        let zero_length = [0; 16];
        let too_long = [255, 0, 0, 0, 16, 0, 0, 0];
        for datagram in [&[][..], &[1], &zero_length, &too_long, &[0xff; 40]] {
            assert_eq!(messages(datagram).len(), 0, "{datagram:?}");
        }
        assert_eq!(link(&[0; 8]), None);
        let endless_attribute = [0; 24];
        assert_eq!(link(&endless_attribute), Some(Link { index: 0, name: String::new(), up: false }));
        assert!(outcome(&[]).is_err());
        assert!(outcome(&i32::MIN.to_ne_bytes()).is_err());
    }
}
