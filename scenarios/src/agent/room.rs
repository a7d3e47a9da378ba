//! The room in which a case's tools meet: overlap and exclusion are seen by who was there, never by time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// How often a call that wants to be alone lets others run.
const LOOKS: usize = 64;

/// Who is in the room.
#[derive(Debug, Default)]
pub struct Room {
    inside: Mutex<Inside>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inside {
    /// The calls that are there, in the order in which they came.
    calls: Vec<u64>,
    /// Whether as many have met as wanted to, so that they may go.
    met: bool,
    next: u64,
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        // No code under the lock can panic.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Comes in, waits until `count` calls are there, and goes when all that came later have gone.
    pub async fn meet(&self, count: usize) {
        let visit = self.enter();
        loop {
            let changed = self.changed.notified();
            {
                let mut inside = self.lock();
                inside.met |= inside.calls.len() >= count;
                if inside.met && inside.calls.last() == Some(&visit.ticket) {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Comes in, stays for a while, and tells whether nobody else was there meanwhile.
    pub async fn is_alone(&self) -> bool {
        let _visit = self.enter();
        for _ in 0..LOOKS {
            if self.lock().calls.len() > 1 {
                return false;
            }
            tokio::task::yield_now().await;
        }
        true
    }

    fn enter(&self) -> Visit<'_> {
        let mut inside = self.lock();
        let ticket = inside.next;
        inside.next += 1;
        inside.calls.push(ticket);
        drop(inside);
        self.changed.notify_waiters();
        Visit { room: self, ticket }
    }
}

/// A call that is in the room until it is dropped.
struct Visit<'a> {
    room: &'a Room,
    ticket: u64,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut inside = self.room.lock();
        inside.calls.retain(|ticket| *ticket != self.ticket);
        inside.met &= !inside.calls.is_empty();
        drop(inside);
        self.room.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::future::poll_fn;
    use std::task::Poll;

    #[test]
    fn whoever_comes_last_goes_first() {
        let room = Room::default();
        let (mut first, mut second) = (Box::pin(room.meet(2)), Box::pin(room.meet(2)));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_some());
        assert!(first.now_or_never().is_some());
        assert!(room.meet(2).now_or_never().is_none());
    }

    #[tokio::test]
    async fn company_is_noticed() {
        let room = Room::default();
        assert!(room.is_alone().await);
        let mut guest = Box::pin(room.meet(2));
        poll_fn(|cx| Poll::Ready(guest.as_mut().poll(cx).is_pending())).await;
        assert!(!room.is_alone().await);
        drop(guest);
        assert!(room.is_alone().await);
    }
}
