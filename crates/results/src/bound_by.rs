//! What bounds the time of a job of ranks: the shares of its critical path by cause. `docs/methods/bound-by.md`
//! describes how they are counted and what they leave out.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::show;

/// The critical path of a job of ranks that have all finished, as counted during the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathTotals {
    /// Computation on the path, in picoseconds.
    pub compute_ps: u64,
    /// CPU time in MPI on the path.
    pub overhead_ps: u64,
    /// Latency of the messages on the path.
    pub latency_ps: u64,
    /// How the rest of the path is divided among memory and classes of links.
    pub transfers: Vec<TransferWeight>,
}

/// The weight of one cause in the transfers of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferWeight {
    /// Name of the class of links. `None` for memory.
    pub class: Option<String>,
    /// Its time among that of all transfers.
    pub weight: u128,
}

/// Shares of the critical path of a job by cause. They add up to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoundBy {
    /// Computation that every rank has: the mean over the ranks.
    pub computation: f64,
    /// Computation on the path beyond that: ranks that compute more than others, and chains of computations that depend
    /// on each other.
    pub imbalance: f64,
    /// CPU time in MPI.
    pub overhead: f64,
    /// Latency of cables, router pipelines and memory.
    pub latency: f64,
    /// Bandwidth of the memory of hosts.
    pub memory: f64,
    /// Bandwidth of links, by class: bytes on the wire and waits for links and buffers.
    pub links: Vec<LinkShare>,
}

/// Share of one class of links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkShare {
    /// Name of the class.
    pub class: String,
    /// Share of the critical path, 0 to 1.
    pub share: f64,
}

/// A cause that has less than this share is not shown.
const SHOWN: f64 = 0.0005;

impl PathTotals {
    /// The shares of a job that took `time_ps`, with this mean computation per rank. `None` for a job without time.
    pub fn bound_by(&self, time_ps: u64, mean_compute_ps: u64) -> Option<BoundBy> {
        if time_ps == 0 {
            return None;
        }
        let share = |ps: u64| ps as f64 / time_ps as f64;
        // Rounding in messages may make the parts a little longer than the whole.
        let mut rest = time_ps;
        let mut take = |ps: u64| {
            let taken = ps.min(rest);
            rest -= taken;
            taken
        };
        let compute = take(self.compute_ps);
        let overhead = take(self.overhead_ps);
        let latency = take(self.latency_ps);
        let all: u128 = self.transfers.iter().map(|transfer| transfer.weight).sum();
        let part = |weight: u128| match all {
            0 => 0.0,
            _ => share(rest) * (weight as f64 / all as f64),
        };
        let of_memory = |transfer: &&TransferWeight| transfer.class.is_none();
        let mut links: Vec<LinkShare> = self
            .transfers
            .iter()
            .filter_map(|transfer| {
                Some(LinkShare {
                    class: transfer.class.clone()?,
                    share: part(transfer.weight),
                })
            })
            .collect();
        if all == 0
            && let Some(first) = links.first_mut()
        {
            first.share = share(rest);
        }
        let computation = compute.min(mean_compute_ps);
        Some(BoundBy {
            computation: share(computation),
            imbalance: share(compute - computation),
            overhead: share(overhead),
            latency: share(latency),
            memory: self
                .transfers
                .iter()
                .find(of_memory)
                .map_or(0.0, |transfer| part(transfer.weight)),
            links,
        })
    }
}

impl BoundBy {
    /// Share of the network: latency and the bandwidth of its links.
    pub fn network(&self) -> f64 {
        self.latency + self.links.iter().map(|link| link.share).sum::<f64>()
    }

    /// All causes with their shares, in a fixed order: classes of links last.
    pub fn causes(&self) -> Vec<(String, f64)> {
        let mut causes: Vec<(String, f64)> = [
            ("computation", self.computation),
            ("imbalance", self.imbalance),
            ("MPI overhead", self.overhead),
            ("latency", self.latency),
            ("memory bandwidth", self.memory),
        ]
        .map(|(name, share)| (name.to_string(), share))
        .into();
        let links = self.links.iter();
        causes.extend(links.map(|link| (format!("{} links", link.class), link.share)));
        causes
    }

    /// The causes that matter, the greatest first.
    pub fn greatest(&self) -> Vec<(String, f64)> {
        let mut causes = self.causes();
        causes.retain(|(_, share)| *share >= SHOWN);
        causes.sort_by(|a, b| b.1.total_cmp(&a.1));
        causes
    }
}

impl fmt::Display for BoundBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, share)) in self.greatest().iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{} {name}", show::percent(*share))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(parts: [u64; 3], transfers: &[(Option<&str>, u128)]) -> PathTotals {
        let transfers = transfers.iter().map(|(class, weight)| TransferWeight {
            class: class.map(String::from),
            weight: *weight,
        });
        PathTotals {
            compute_ps: parts[0],
            overhead_ps: parts[1],
            latency_ps: parts[2],
            transfers: transfers.collect(),
        }
    }

    fn sum(bound_by: &BoundBy) -> f64 {
        bound_by.causes().iter().map(|(_, share)| share).sum()
    }

    #[test]
    fn shares_add_up_to_one() {
        let weights = [(Some("host"), 30), (Some("global"), 10), (None, 60)];
        let bound_by = path([400, 100, 200], &weights).bound_by(1000, 300).unwrap();
        assert_eq!((bound_by.computation, bound_by.imbalance), (0.3, 0.1));
        assert_eq!((bound_by.overhead, bound_by.latency), (0.1, 0.2));
        assert!((bound_by.memory - 0.18).abs() < 1e-12);
        assert!((bound_by.network() - 0.32).abs() < 1e-12);
        assert!((sum(&bound_by) - 1.0).abs() < 1e-12);
        assert_eq!(
            bound_by.to_string(),
            "30.0 % computation, 20.0 % latency, 18.0 % memory bandwidth, 10.0 % imbalance, 10.0 % MPI overhead, \
             9.0 % host links, 3.0 % global links"
        );
    }

    #[test]
    fn parts_that_rounding_made_too_long_are_cut() {
        let bound_by = path([900, 90, 90], &[(Some("host"), 1)])
            .bound_by(1000, 900)
            .unwrap();
        assert!((sum(&bound_by) - 1.0).abs() < 1e-12, "{bound_by:?}");
        assert!((bound_by.latency - 0.01).abs() < 1e-12);
    }

    #[test]
    fn transfers_without_a_weight_belong_to_the_links_of_hosts() {
        let bound_by = path([0, 0, 0], &[(Some("host"), 0), (None, 0)])
            .bound_by(10, 0)
            .unwrap();
        assert_eq!(bound_by.links[0].share, 1.0);
        assert_eq!(path([0; 3], &[]).bound_by(0, 0), None);
    }
}
