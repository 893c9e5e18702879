//! The time of a message between hosts, or through memory, by cause.

use des::Time;
use fabric::{Packet, Rate};
use mpi::Transit;
use topology::HOST_LINK;

use crate::lp::simulation::Simulation;

/// The time of a message of this size whose last packet arrives now.
pub fn through_network(simulation: &Simulation, now: Time, last: &Packet, bytes: u64) -> Transit {
    let network = &simulation.network;
    let all = now.saturating_sub(last.created_at());
    let latency = simulation
        .hop_latency
        .of_path(last.hops, last.far_hops())
        .min(all);
    let rate = network.links[usize::from(HOST_LINK.0)].rate;
    let of_rail = bytes / network.rails.used_by(bytes, network.packet.payload);
    let alone = serialization(rate, network.packet.on_wire(of_rail));
    let serialization = alone.min(all - latency);
    Transit {
        latency,
        serialization,
        memory: Time::ZERO,
        queueing: all - latency - serialization,
    }
}

/// The time of a message of this size through memory.
pub fn through_memory(simulation: &Simulation, bytes: u64) -> Transit {
    let memory = simulation.network.memory;
    Transit {
        latency: memory.latency,
        memory: serialization(memory.rate, bytes),
        ..Transit::default()
    }
}

/// Time of a message at a bandwidth.
fn serialization(rate: Rate, bytes: u64) -> Time {
    const MEBIBYTE: u32 = 1 << 20;
    let rest = rate.serialization((bytes % u64::from(MEBIBYTE)) as u32);
    let mebibytes = bytes / u64::from(MEBIBYTE);
    if mebibytes == 0 {
        return rest;
    }
    // A message can take longer than a packet: whole mebibytes, then the rest.
    Time(rate.serialization(MEBIBYTE).ps() * mebibytes) + rest
}
