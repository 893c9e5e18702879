//! How evenly the hosts of a job of synthetic traffic are served.
//!
//! Source of the index: R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness and discrimination for resource
//! allocation in shared computer systems", DEC-TR-301, 1984.

use serde::{Deserialize, Serialize};

/// What one host offered, and what the network took from it.
#[derive(Clone, Copy, Debug)]
pub struct HostTraffic {
    /// Bytes generated in the measured span.
    pub offered_bytes: u64,
    /// Bytes that its NIC sent in the measured span, without headers of packets.
    pub injected_bytes: u64,
}

/// Accepted load by sending host. Past saturation a network may serve some hosts far better than others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Number of hosts that offered traffic. Hosts that other jobs use, too, do not count.
    pub hosts: u64,
    /// Least injected load of a host, as a fraction of its injection bandwidth.
    pub least_load: f64,
    /// Mean injected load.
    pub mean_load: f64,
    /// Greatest injected load.
    pub greatest_load: f64,
    /// Least share of its offered traffic that a host injected.
    pub least_share: f64,
    /// Mean of these shares.
    pub mean_share: f64,
    /// Jain's index of these shares: 1 if all are equal, 1/n if one of n hosts is served alone.
    pub jain: f64,
}

impl Fairness {
    /// The fairness between these hosts, each of which can inject `capacity_bytes`. `None` if no host offered traffic.
    pub fn of(hosts: impl Iterator<Item = HostTraffic>, capacity_bytes: u64) -> Option<Fairness> {
        let capacity = capacity_bytes.max(1) as f64;
        let mut fairness = Fairness {
            least_load: f64::INFINITY,
            least_share: f64::INFINITY,
            ..Fairness::default()
        };
        let (mut injected_bytes, mut shares, mut squares) = (0u128, 0.0, 0.0);
        for host in hosts.filter(|host| host.offered_bytes > 0) {
            let load = host.injected_bytes as f64 / capacity;
            // A host also injects what was offered before the measured time.
            let share = (host.injected_bytes as f64 / host.offered_bytes as f64).min(1.0);
            fairness.hosts += 1;
            fairness.least_load = fairness.least_load.min(load);
            fairness.greatest_load = fairness.greatest_load.max(load);
            fairness.least_share = fairness.least_share.min(share);
            injected_bytes += u128::from(host.injected_bytes);
            shares += share;
            squares += share * share;
        }
        if fairness.hosts == 0 {
            return None;
        }
        let hosts = fairness.hosts as f64;
        fairness.mean_load = injected_bytes as f64 / hosts / capacity;
        fairness.mean_share = shares / hosts;
        // Hosts that are all served with nothing are served alike.
        fairness.jain = if squares > 0.0 {
            shares * shares / (hosts * squares)
        } else {
            1.0
        };
        Some(fairness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hosts: &[(u64, u64)]) -> Option<Fairness> {
        let hosts = hosts.iter().map(|(offered_bytes, injected_bytes)| HostTraffic {
            offered_bytes: *offered_bytes,
            injected_bytes: *injected_bytes,
        });
        Fairness::of(hosts, 1000)
    }

    #[test]
    fn jains_index_has_its_known_values() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(0, 0)]), None, "a silent host");
        let equal = of(&[(500, 250), (500, 250), (0, 0)]).unwrap();
        assert_eq!((equal.hosts, equal.jain, equal.least_load), (2, 1.0, 0.25));
        // One of four is served alone.
        let alone = of(&[(500, 500), (500, 0), (500, 0), (500, 0)]).unwrap();
        assert_eq!(
            (alone.jain, alone.least_share, alone.mean_share),
            (0.25, 0.0, 0.25)
        );
        assert_eq!((alone.mean_load, alone.greatest_load), (0.125, 0.5));
        // (1 + 0.5)^2 / (2 * 1.25), by demand: both inject the same bytes.
        let demand = of(&[(200, 200), (400, 200)]).unwrap();
        assert_eq!(demand.jain, 0.9);
        assert_eq!(of(&[(9, 0), (9, 0)]).unwrap().jain, 1.0);
        assert_eq!(
            of(&[(100, 130)]).unwrap().mean_share,
            1.0,
            "30 were offered before"
        );
    }
}
