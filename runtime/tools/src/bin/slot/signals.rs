//! The signals that ask the program to end.

use std::future::pending;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that end a run: its calls are answered and its processes ended first. Those that whoever started the program
/// had it ignore (`nohup`) stay ignored.
pub struct Signals(Vec<Signal>);

impl Signals {
    /// Listens from now on. What cannot be listened to ends the program as it always did.
    pub fn listen() -> Signals {
        let kinds =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()].into_iter();
        let ignored = ignored();
        let heard = kinds.filter(|kind| ignored & bit(kind.as_raw_value()) == 0);
        Signals(heard.filter_map(|kind| signal(kind).ok()).collect())
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        if self.0.is_empty() {
            return pending().await;
        }
        std::future::poll_fn(|context| match self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        })
        .await;
    }
}

fn bit(number: i32) -> u64 {
    u32::try_from(number - 1).ok().and_then(|shift| 1_u64.checked_shl(shift)).unwrap_or(0)
}

/// The signals that are ignored, one bit each; none where that cannot be told.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
