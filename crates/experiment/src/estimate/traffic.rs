//! The work of synthetic traffic: what its hosts offer until the end of the run.

use des::Time;
use routing::Random;

use super::job_work::JobWork;
use super::pair_hops::PairHops;
use super::sample::sample;
use crate::setup::job::TrafficJob;
use crate::setup::network::NetworkModel;

/// Largest number of hosts that are asked for destinations.
const MOST_HOSTS: u32 = 1024;

/// Number of messages that are looked at, over all hosts.
const SAMPLED_MESSAGES: u32 = 2048;

/// The work of a job of synthetic traffic that sends for this time.
pub fn work_of(traffic: &TrafficJob, time: Time, hops: &mut PairHops<'_>) -> JobWork {
    let network = hops.network;
    let messages = messages_of_host(traffic, network, time);
    let packets = traffic.mean_packets(network.packet);
    let mut work = JobWork::default();
    let hosts = sample(traffic.host_count, MOST_HOSTS, &mut hops.random);
    let draws = (SAMPLED_MESSAGES / hosts.len().max(1) as u32).max(1);
    for host in hosts {
        // A silent host has no hops and no messages.
        let Some(mean_hops) = mean_hops(traffic, host.index, (draws, messages), hops) else {
            continue;
        };
        let of_host = JobWork {
            packet_hops: messages * packets * mean_hops,
            messages,
            is_lower_limit: false,
        };
        work.add(of_host, host.stands_for.into());
    }
    work
}

/// Messages of each sending host. A host whose packets with their headers exceed its link sends what the link carries.
fn messages_of_host(traffic: &TrafficJob, network: &NetworkModel, time: Time) -> f64 {
    const PS_PER_S: f64 = 1e12;
    let load = traffic.load.min(1.0 / traffic.wire_factor(network.packet));
    let bytes = load * network.injection_bits_per_s() as f64 / 8.0 * time.ps() as f64 / PS_PER_S;
    bytes / traffic.mean_bytes()
}

/// Mean hops of some messages of a host, out of so many; `None` if the host is silent.
fn mean_hops(
    traffic: &TrafficJob,
    host: u32,
    (draws, messages): (u32, f64),
    hops: &mut PairHops<'_>,
) -> Option<f64> {
    let last = (messages as u32).max(1);
    let mut sum = 0.0;
    for _ in 0..draws {
        // Some patterns go through their destinations in order.
        let index = hops.random.below(last);
        let to = traffic.destination(host, index.into(), &mut hops.random)?;
        sum += hops.between(traffic.host(host), to);
    }
    Some(sum / f64::from(draws))
}
