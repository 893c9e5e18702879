//! The assumed speed of the simulator: CPU time of packet-hops, messages of ranks, ports and hosts.
//!
//! Source: `benches/README.md`, rounded to one digit, on its two machines, of which one is up to twice as fast.
//! `docs/performance.md` compares the estimate with the CPU time of runs of fifteen studies.

use fabric::router::RouterParameters;
use topology::RouterId;

use super::job_work::JobWork;
use crate::setup::network::NetworkModel;

/// Packet-hops of synthetic traffic per second under routing that is independent of congestion ("Packet-hops per CPU
/// second": 8 to 15 million up to 83,232 hosts).
const OBLIVIOUS: f64 = 10e6;

/// The same under adaptive routing, where each credit is an event (the same table: 7 to 9 million).
const ADAPTIVE: f64 = 7e6;

/// Packet-hops of synthetic traffic per second through router models other than `packet`, from `input-queued` on one
/// switch (the study single-switch in `docs/performance.md`). `output-queued` was not measured.
const WITH_QUEUES: f64 = 3e6;

/// Packet-hops of ranks per second, without the time of their messages: with [`S_PER_MESSAGE`] the order of the times
/// of "Applications".
const OF_RANKS: f64 = 4e6;

/// Seconds for each message of a rank.
const S_PER_MESSAGE: f64 = 4e-6;

/// Seconds for each router port and host: construction, the audit and the tables at the end ("A million hosts": `run`
/// less `windows`, 50 s for 15 million ports and hosts).
const S_PER_PORT: f64 = 3e-6;

/// Seconds of a run without work: the result and its report.
const S_OF_RUN: f64 = 0.01;

/// CPU time in seconds, by what takes it.
pub struct CpuTime {
    packet_hops_s: f64,
    other_s: f64,
}

impl CpuTime {
    /// The time of an experiment with this work.
    pub fn of(network: &NetworkModel, of_traffic: &JobWork, of_ranks: &JobWork) -> CpuTime {
        let topology = network.topology.as_ref();
        let ports: u64 = (0..topology.routers())
            .map(|router| u64::from(topology.ports(RouterId(router))))
            .sum();
        let ends = ports as f64 + f64::from(network.hosts());
        CpuTime {
            packet_hops_s: of_traffic.packet_hops / of_traffic_rate(network)
                + of_ranks.packet_hops / OF_RANKS,
            other_s: of_ranks.messages * S_PER_MESSAGE + ends * S_PER_PORT + S_OF_RUN,
        }
    }

    /// All of it.
    pub fn total_s(&self) -> f64 {
        self.packet_hops_s + self.other_s
    }

    /// Packet-hops per second of the time that they take; without packets the rate of ranks.
    pub fn rate(&self, packet_hops: f64) -> f64 {
        if self.packet_hops_s > 0.0 {
            packet_hops / self.packet_hops_s
        } else {
            OF_RANKS
        }
    }
}

fn of_traffic_rate(network: &NetworkModel) -> f64 {
    let is_packet = |model: RouterParameters| matches!(model, RouterParameters::Packet(_));
    match (
        network.router_models.all().all(is_packet),
        network.routing.oblivious(),
    ) {
        (true, Some(_)) => OBLIVIOUS,
        (true, None) => ADAPTIVE,
        (false, _) => WITH_QUEUES,
    }
}
