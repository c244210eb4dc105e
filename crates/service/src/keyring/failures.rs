//! Failed attempts to authenticate, counted for each client network.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::extract::network_of;

/// Failed attempts per network in [`WINDOW`].
const FAILURES_MAX: u32 = 50;
pub(super) const WINDOW: Duration = Duration::from_secs(10);
/// Networks whose time is over are removed at most this often.
const PRUNE_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Failures {
    by_network: HashMap<IpAddr, (Instant, u32)>,
    pruned_at: Option<Instant>,
}

impl Failures {
    /// Counts a failure. Whether its network must wait.
    pub(super) fn count(&mut self, peer: IpAddr, now: Instant) -> bool {
        if self.pruned_at.is_none_or(|at| now - at >= PRUNE_INTERVAL) {
            self.by_network.retain(|_, (since, _)| now - *since < WINDOW);
            self.pruned_at = Some(now);
        }
        let (since, count) = self.by_network.entry(network_of(peer)).or_insert((now, 0));
        if now - *since >= WINDOW {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count > FAILURES_MAX
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn v6(network: u16, host: u16) -> IpAddr {
        Ipv6Addr::new(0x2001, 0xdb8, 0, network, 0, 0, 0, host).into()
    }

    #[test]
    fn the_addresses_of_one_network_are_counted_together() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        assert!((0..50).all(|host| !failures.count(v6(1, host), now)));
        assert!(failures.count(v6(1, 50), now));
        assert!(!failures.count(v6(2, 1), now) && !failures.count([10, 0, 0, 1].into(), now));
        assert!(!failures.count(v6(1, 51), now + WINDOW), "a new window begins");
    }

    #[test]
    fn networks_are_removed_after_their_window() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        for network in 0..1000 {
            failures.count(v6(network, 1), now);
        }
        failures.count(v6(1, 1), now + WINDOW / 2);
        assert_eq!(failures.by_network.len(), 1000);
        failures.count(v6(1000, 1), now + WINDOW);
        assert_eq!(failures.by_network.len(), 1);
    }
}
