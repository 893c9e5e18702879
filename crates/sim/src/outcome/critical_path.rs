//! The critical path of a job of ranks, as its ranks, hosts and routers counted it.
//!
//! The rank that finished last knows how much of its path was computation, MPI overhead and latency (`mpi::PathTime`).
//! The rest was transfer. It is divided in two steps:
//!
//! 1. into bytes on the links of hosts, bytes through memory, and queueing, in proportion to the messages that ended an
//!    idle wait of any rank of the job;
//! 2. queueing into waits behind other messages at the NIC of the sender, and waits in the network. The latter are
//!    divided among classes of links in proportion to the waits of the job's packets for links that were busy. Waits
//!    for buffer space do not count: the link behind the full buffer is busy and has waits of its own.

use des::Time;
use mpi::Rank;
use results::{PathTotals, TransferWeight};
use topology::HOST_LINK;

use crate::lp::host::Host;
use crate::lp::router_lp::RouterLp;

/// Transfers of the ranks of a job, and the path of the rank that finished last.
#[derive(Default)]
pub struct PathCounter {
    last: Option<(Time, PathTotals)>,
    serialization: u128,
    memory: u128,
    queueing: u128,
}

/// Waits of all messages of a job in the network, in ps.
pub struct JobWaits {
    /// In queues, from the handover of a message to its arrival.
    queueing: u128,
    /// Behind other messages at the NIC of the sender.
    injection: u128,
    /// For busy links, by link class; for links of hosts, those of ejection.
    links: Vec<u128>,
}

impl PathCounter {
    /// Adds a rank, in the order of ranks. The last of several that finish together counts, as in `explain`.
    pub fn add(&mut self, rank: &Rank) {
        let stats = rank.stats();
        let ps = |time: Time| u128::from(time.ps());
        let awaited = rank.awaited();
        self.serialization += ps(awaited.serialization);
        self.memory += ps(awaited.memory);
        self.queueing += ps(awaited.queueing);
        if let Some(finished) = stats.finished_at
            && self.last.as_ref().is_none_or(|(last, _)| *last <= finished)
        {
            let path = rank.path();
            let totals = PathTotals {
                compute_ps: path.compute.ps(),
                overhead_ps: path.overhead.ps(),
                latency_ps: path.latency.ps(),
                transfers: Vec::new(),
            };
            self.last = Some((finished, totals));
        }
    }

    /// The path of the job. `names` are those of the classes of links.
    pub fn totals(self, waits: &JobWaits, names: &[&str]) -> Option<PathTotals> {
        let (_, path) = self.last?;
        let injection = waits.injection.min(waits.queueing);
        let in_links: u128 = waits.links.iter().sum();
        let in_network = waits.queueing - injection;
        // Without a wait for a busy link, nothing is known but that the NIC could not send.
        let of_injection = if in_links == 0 { waits.queueing } else { injection };
        let part =
            |wait: u128, of: u128, whole: u128| share(share(self.queueing, wait, of), whole, waits.queueing);
        let of_link = |wait: u128| part(wait, in_links, in_network);
        let weight = |class: &str, weight| TransferWeight {
            class: Some(class.into()),
            weight,
        };
        let own = part(1, 1, of_injection);
        let mut transfers = vec![weight("injection", self.serialization + own)];
        for (class, name) in names.iter().enumerate() {
            let name = if class == usize::from(HOST_LINK.0) {
                "ejection"
            } else {
                name
            };
            transfers.push(weight(name, of_link(waits.links[class])));
        }
        transfers.push(TransferWeight {
            class: None,
            weight: self.memory,
        });
        Some(PathTotals { transfers, ..path })
    }
}

impl JobWaits {
    /// The waits of a job with this index. `rails` is the number of rails of each host, `classes` that of link classes.
    pub fn new<'a>(
        job: usize,
        (rails, classes): (u32, usize),
        end: Time,
        hosts: impl Iterator<Item = &'a Host>,
        routers: impl Iterator<Item = &'a RouterLp>,
    ) -> JobWaits {
        let mut waits = JobWaits {
            queueing: 0,
            injection: 0,
            links: vec![0; classes],
        };
        for host in hosts {
            let Some(counts) = host.collection().counts(job) else {
                continue;
            };
            waits.queueing += u128::from(counts.queueing_ps);
            let (mut busy, mut full) = (0, 0);
            for rail in 0..rails {
                let total = host.injection_use(rail, end).total;
                busy += u128::from(total.busy.ps());
                full += u128::from(total.buffer_full.ps());
            }
            // Messages that wait see the link busy and the buffer behind it full in proportion to these times.
            let while_busy = share(counts.injection_ps.into(), busy, busy + full);
            waits.injection += while_busy.saturating_sub(counts.injection_own_ps.into());
        }
        for router in routers {
            for (class, wait) in router.collection.rank_waits(job) {
                waits.links[usize::from(class.0)] += u128::from(wait.ps());
            }
        }
        waits
    }
}

/// `whole * part / of`, to 32 bits, without overflow; 0 if `of` is 0.
fn share(whole: u128, part: u128, of: u128) -> u128 {
    if of == 0 {
        return 0;
    }
    let fraction = (part << 32) / of;
    (whole * fraction) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(counter: PathCounter, waits: JobWaits) -> Vec<(String, u128)> {
        let path = counter.totals(&waits, &["host", "local", "global"]).unwrap();
        let name = |class: Option<String>| class.unwrap_or_else(|| "memory".into());
        let transfers = path.transfers.into_iter();
        transfers
            .map(|transfer| (name(transfer.class), transfer.weight))
            .collect()
    }

    fn counter(serialization: u128, memory: u128, queueing: u128) -> PathCounter {
        PathCounter {
            last: Some((Time(1), PathTotals::default())),
            serialization,
            memory,
            queueing,
        }
    }

    #[test]
    fn queueing_is_divided_among_the_nic_and_the_links() {
        let waits = JobWaits {
            queueing: 1 << 20,
            injection: 1 << 19,
            links: vec![1, 0, 3],
        };
        let expected = [
            ("injection", 100 + (1 << 9)),
            ("ejection", 1 << 7),
            ("local", 0),
            ("global", 3 << 7),
            ("memory", 7),
        ];
        let expected = expected.map(|(name, weight)| (name.to_string(), weight));
        assert_eq!(weights(counter(100, 7, 1 << 10), waits), expected);
    }

    #[test]
    fn queueing_without_a_wait_for_a_link_is_that_of_injection() {
        let waits = JobWaits {
            queueing: 50,
            injection: 0,
            links: vec![0; 3],
        };
        assert_eq!(
            weights(counter(1, 0, 64), waits)[0],
            ("injection".to_string(), 65)
        );
    }

    #[test]
    fn a_share_of_large_numbers_does_not_overflow() {
        let large = u128::from(u64::MAX) * 1_000_000;
        assert!(share(large, large, large).abs_diff(large) == 0);
        assert_eq!(share(8, 1, 0), 0);
    }
}
