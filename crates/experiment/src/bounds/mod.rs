//! Bounds: limits of the network for synthetic traffic, computed without simulation. `docs/methods/bounds.md` explains
//! the numbers and conventions.
//!
//! Source: W. J. Dally and B. Towles, "Principles and Practices of Interconnection Networks", 2004, chapters 3 and 23
//! (channel load, ideal throughput, zero-load latency). Queues are not considered: a run may stay below its bound, and
//! does so with poor flow control.

mod demand;
mod effort;
mod flow;
mod pairs;
#[cfg(test)]
mod tests;
mod timing;

use fabric::{PacketFormat, Rate};
use results::{Bounds, JobBounds, ZeroLoad};
use routing::Oblivious;
use topology::{HOST_LINK, HostId, LinkClass, Peer, Port, RouterId, Topology};
use workload::traffic::Pattern;

use crate::setup::experiment::Experiment;
use crate::setup::job::{Job, JobKind};
use crate::setup::network::NetworkModel;
use demand::Demand;
pub use effort::Effort;
use flow::{Channels, FlowPattern, FlowWalk};
use pairs::{PairFlow, pair_flow};
use timing::{Timing, longest_idle_ps};

/// Relative difference that rounding can explain.
const ROUNDING: f64 = 1e-9;

/// The router model has no contention between routers.
const AT_ONCE: &str = "packets are on no link between routers: only links of hosts have a bound";

/// Hosts choose among rails, and a host has several injection links.
const SEVERAL_RAILS: &str = "hosts have several rails, and bounds are those of one";

/// A job of synthetic traffic.
struct Traffic<'a> {
    name: &'a str,
    pattern: &'a dyn Pattern,
    /// Hosts in the order of their numbers in the job.
    hosts: Vec<HostId>,
    /// Size of a message of mean size.
    message_bytes: u64,
    /// Size of the largest message.
    largest_bytes: u64,
    /// Bytes on the wire for each byte of a message, in the mean.
    wire_factor: f64,
    load: f64,
}

impl Traffic<'_> {
    fn of(job: &Job, packet: PacketFormat) -> Option<Traffic<'_>> {
        match &job.kind {
            JobKind::Traffic(traffic) => Some(Traffic {
                name: &job.name,
                pattern: traffic.pattern(),
                hosts: (0..traffic.host_count).map(|index| traffic.host(index)).collect(),
                message_bytes: traffic.mean_bytes().round() as u64,
                largest_bytes: traffic.largest_bytes(),
                wire_factor: traffic.wire_factor(packet),
                load: traffic.load,
            }),
            JobKind::Ranks(_) => None,
        }
    }
}

/// Loads of all links, in units of the link of a host. Headers of packets are part of them.
struct Loads {
    injection: Vec<f64>,
    ejection: Vec<f64>,
    /// Load by channel; `None` if unknown.
    routers: Option<Vec<f64>>,
    /// Largest number of links on any one path, by link class.
    most: Vec<u32>,
}

/// The part of headers in the traffic of all jobs. Both numbers are 1 without headers.
#[derive(Clone, Copy)]
struct Headers {
    /// Bytes on the wire for each byte of a message, of the job that has most of them.
    most_wire: f64,
    /// Greatest share of payload in a packet.
    greatest_payload: f64,
}

impl Headers {
    fn of(traffic: &[Traffic<'_>], packet: PacketFormat) -> Headers {
        let most_wire = traffic.iter().map(|traffic| traffic.wire_factor);
        let largest = traffic.iter().map(|traffic| traffic.largest_bytes).max();
        let payload = largest.unwrap_or(1).min(packet.payload.into()) as f64;
        Headers {
            most_wire: most_wire.fold(1.0, f64::max),
            greatest_payload: payload / (payload + f64::from(packet.header)),
        }
    }
}

/// A link.
#[derive(Clone, Copy)]
enum Link {
    Injection(HostId),
    Ejection(HostId),
    Router(RouterId, Port),
}

/// The links that saturate first.
struct Fullest {
    /// Factor on all loads at which they saturate.
    factor: f64,
    link: Link,
    /// Number of links that saturate at that factor.
    count: u64,
}

/// The bounds of an experiment's synthetic traffic, within the limits of `effort`; `None` without such traffic.
pub fn bounds(experiment: &Experiment, effort: Effort) -> Option<Bounds> {
    let network = experiment.network.as_ref();
    let traffic: Vec<Traffic> = experiment
        .jobs
        .iter()
        .filter_map(|job| Traffic::of(job, network.packet))
        .collect();
    if traffic.is_empty() {
        return None;
    }
    let hosts = network.hosts() as usize;
    let channels = match network.rails.count() {
        _ if network.router_models.capabilities().crosses_at_once => Err(AT_ONCE.into()),
        1 => Channels::new(network.topology.as_ref()),
        _ => Err(SEVERAL_RAILS.into()),
    };
    let mut total = Loads {
        injection: vec![0.0; hosts],
        ejection: vec![0.0; hosts],
        routers: channels.as_ref().ok().map(|channels| vec![0.0; channels.count()]),
        most: vec![0; network.links.len()],
    };
    let (mut jobs, mut offered, mut all_known) = (Vec::new(), 0.0, true);
    let mut of_jobs = Vec::new();
    for traffic in &traffic {
        let (bounds, loads) = of_job(network, &channels, traffic, effort);
        all_known &= bounds.not_computed.is_empty();
        let sent = |loads: &Loads| loads.sent() / traffic.wire_factor;
        offered += traffic.load * loads.as_ref().map_or(traffic.hosts.len() as f64, sent);
        if let Some(loads) = loads {
            total.add(&loads, traffic.load);
            of_jobs.push((traffic, loads));
        }
        jobs.push(bounds);
    }
    // Without the links between routers, or without a job, the factor is an upper limit.
    let fullest = match (&channels, all_known) {
        (Ok(channels), true) => total.fullest(network, channels),
        _ => total.fullest_of_hosts(network),
    };
    let most = fullest.as_ref().and_then(|fullest| {
        let load = |of: &(&Traffic, Loads)| of.0.load * of.1.of_link(fullest.link, &channels);
        of_jobs.iter().max_by(|a, b| load(a).total_cmp(&load(b)))
    });
    let alone = traffic.len() == experiment.jobs.len();
    let headers = Headers::of(&traffic, network.packet);
    let lost = || total.excess(network, channels.as_ref().ok(), headers);
    let accepted = alone.then(|| (offered - lost()) / hosts as f64);
    Some(Bounds {
        jobs,
        scale: fullest.as_ref().map(|fullest| fullest.factor),
        scale_limited_by: fullest.map_or(String::new(), |fullest| fullest.name(network)),
        scale_job: most.map_or(String::new(), |(traffic, _)| traffic.name.into()),
        scale_of_host_links: !all_known,
        accepted_load: accepted,
    })
}

/// The bounds of one job, and the loads if every host of the job offers a load of 1.
fn of_job(
    network: &NetworkModel,
    channels: &Result<Channels, String>,
    traffic: &Traffic<'_>,
    effort: Effort,
) -> (JobBounds, Option<Loads>) {
    let mut bounds = JobBounds {
        name: traffic.name.into(),
        longest_idle_ns: Some(longest_idle_ps(network, traffic.largest_bytes) as f64 / 1000.0),
        ..JobBounds::default()
    };
    if network.rails.count() > 1 {
        bounds.not_computed = SEVERAL_RAILS.into();
        return (bounds, None);
    }
    let oblivious = network.routing.oblivious();
    let by_host = oblivious.is_some_and(|oblivious| oblivious.by_host);
    let topology = network.topology.as_ref();
    let demand = Demand::new(topology, traffic.pattern, &traffic.hosts, by_host, effort.shares);
    let demand = match demand {
        Ok(demand) => demand,
        Err(why) => {
            bounds.not_computed = why;
            return (bounds, None);
        }
    };
    let timing = Timing::new(network, traffic.message_bytes);
    let flow = match (oblivious, channels) {
        (None, _) => Err("where packets go depends on congestion: only links of hosts have a bound".into()),
        (_, Err(why)) => Err(why.clone()),
        (Some(oblivious), Ok(channels)) => {
            let even = flow(network, channels, &demand, oblivious, &timing, effort);
            even.map(|even| exact_where_known(network, channels, traffic, &timing, effort, even, &mut bounds))
        }
    };
    let on_wire = |mut loads: Vec<f64>| {
        loads.iter_mut().for_each(|load| *load *= traffic.wire_factor);
        loads
    };
    let mut loads = Loads {
        injection: on_wire(demand.injected),
        ejection: on_wire(demand.ejected),
        routers: None,
        most: vec![0; network.links.len()],
    };
    let hosts = loads.fullest_of_hosts(network);
    bounds.host_throughput = hosts.as_ref().map(|fullest| fullest.factor);
    let mut fullest = hosts;
    match (flow, channels) {
        (Ok(mut flow), Ok(channels)) => {
            flow.loads = on_wire(flow.loads);
            let links = flow.loads.iter().sum::<f64>() / network.topology.router_links().max(1) as f64;
            bounds.mean_channel_load = Some(links);
            bounds.max_channel_load = Some(flow.loads.iter().copied().fold(0.0, f64::max));
            if flow.sent > 0.0 {
                bounds.mean_hops = Some(2.0 + flow.hops / flow.sent);
                bounds.zero_load_latency_ns = Some(ZeroLoad {
                    mean: flow.latency / flow.sent / 1000.0,
                    max: flow.longest / 1000.0,
                });
            }
            loads.most = flow.most;
            loads.routers = Some(flow.loads);
            let routers = loads.fullest_of_routers(network, channels);
            bounds.router_throughput = routers.as_ref().map(|fullest| fullest.factor);
            fullest = Fullest::first(fullest, routers);
        }
        (Err(why), _) => bounds.not_computed = why,
        (Ok(_), Err(why)) => bounds.not_computed = why.clone(),
    }
    bounds.throughput = fullest.as_ref().map(|fullest| fullest.factor);
    bounds.limited_by = fullest.map_or(String::new(), |fullest| fullest.name(network));
    (bounds, Some(loads))
}

/// Loads of links between routers, hops and latencies.
fn flow(
    network: &NetworkModel,
    channels: &Channels,
    demand: &Demand,
    oblivious: Oblivious,
    timing: &Timing,
    effort: Effort,
) -> Result<FlowPattern, String> {
    let topology = network.topology.as_ref();
    let mut walk = FlowWalk::new(topology, network.routing.as_ref(), channels, timing);
    let mut flow = walk.flow();
    let alike = oblivious.symmetric && topology.is_symmetric() && demand.is_even_over(topology);
    let used: Vec<usize> = (0..demand.destinations.len())
        .filter(|destination| demand.has(*destination))
        .collect();
    let wanted = if alike { 1 } else { used.len() };
    for (done, destination) in used.iter().take(wanted).enumerate() {
        let host = demand.destinations[*destination];
        // The first destination predicts the effort of the others.
        let remaining = if done == 0 { wanted as u64 } else { 1 };
        let sources = demand.sources(*destination);
        walk.add(sources, host, remaining, effort, &mut flow)?;
    }
    if alike {
        spread_evenly(topology, channels, used.len(), &mut flow);
    }
    Ok(flow)
}

/// The loads of single pairs in place of even ones, where a hash gives each pair one path. Notes in `bounds` if there
/// are too many pairs for that.
fn exact_where_known(
    network: &NetworkModel,
    channels: &Channels,
    traffic: &Traffic<'_>,
    timing: &Timing,
    effort: Effort,
    even: FlowPattern,
    bounds: &mut JobBounds,
) -> FlowPattern {
    if !even.is_split {
        return even;
    }
    let empty = FlowWalk::new(
        network.topology.as_ref(),
        network.routing.as_ref(),
        channels,
        timing,
    )
    .flow();
    match pair_flow(network, channels, traffic, timing, effort.situations, empty) {
        PairFlow::Exact(flow) => flow,
        PairFlow::RandomPaths => even,
        PairFlow::TooManyPairs => {
            bounds.expected = true;
            even
        }
    }
}

/// Extends the flow to one destination to all destinations, if all destinations and all links of a class are
/// equivalent.
fn spread_evenly(topology: &dyn Topology, channels: &Channels, destinations: usize, flow: &mut FlowPattern) {
    let classes = topology.link_classes().len();
    let (mut sums, mut links) = (vec![0.0; classes], vec![0u64; classes]);
    for (router, port, channel) in channels.between_routers(topology) {
        let class = usize::from(topology.link_class(router, port).0);
        sums[class] += flow.loads[channel];
        links[class] += 1;
    }
    for (router, port, channel) in channels.between_routers(topology) {
        let class = usize::from(topology.link_class(router, port).0);
        flow.loads[channel] = sums[class] * destinations as f64 / links[class] as f64;
    }
    for sum in [&mut flow.sent, &mut flow.hops, &mut flow.latency] {
        *sum *= destinations as f64;
    }
}

/// Bandwidths at which a NIC sends and receives, in units of that of its link. Its way into memory may be slower than
/// the link.
fn capacities_of_nic(network: &NetworkModel) -> (f64, f64) {
    let time = |rate: Rate| rate.serialization(u32::MAX).ps() as f64;
    let link = time(network.links[usize::from(HOST_LINK.0)].rate);
    let memory = network.router_models.memory_rate().map_or(link, time);
    (link / time(network.injection), (link / memory).min(1.0))
}

/// Bandwidth of a link, in units of an injection link.
fn capacity(network: &NetworkModel, class: LinkClass) -> f64 {
    let speed = |class: LinkClass| network.links[usize::from(class.0)].bandwidth.bits_per_s as f64;
    speed(class) / speed(HOST_LINK)
}

impl Loads {
    fn sent(&self) -> f64 {
        self.injection.iter().sum()
    }

    fn add(&mut self, other: &Loads, factor: f64) {
        let add = |to: &mut [f64], from: &[f64]| {
            to.iter_mut()
                .zip(from)
                .for_each(|(to, from)| *to += factor * from);
        };
        add(&mut self.injection, &other.injection);
        add(&mut self.ejection, &other.ejection);
        if let (Some(to), Some(from)) = (&mut self.routers, &other.routers) {
            add(to, from);
        }
        self.most
            .iter_mut()
            .zip(&other.most)
            .for_each(|(to, from)| *to = (*to).max(*from));
    }

    /// The load of a link; 0 if it is not known.
    fn of_link(&self, link: Link, channels: &Result<Channels, String>) -> f64 {
        match (link, &self.routers, channels) {
            (Link::Injection(host), ..) => self.injection[host.0 as usize],
            (Link::Ejection(host), ..) => self.ejection[host.0 as usize],
            (Link::Router(router, port), Some(loads), Ok(channels)) => loads[channels.of(router, port)],
            (Link::Router(..), ..) => 0.0,
        }
    }

    fn fullest_of_hosts(&self, network: &NetworkModel) -> Option<Fullest> {
        let (sending, receiving) = capacities_of_nic(network);
        let injection = self
            .injection
            .iter()
            .zip(0..)
            .map(|(load, host)| (Link::Injection(HostId(host)), *load / sending));
        let ejection = self
            .ejection
            .iter()
            .zip(0..)
            .map(|(load, host)| (Link::Ejection(HostId(host)), *load / receiving));
        Fullest::of(injection.chain(ejection))
    }

    fn fullest_of_routers(&self, network: &NetworkModel, channels: &Channels) -> Option<Fullest> {
        let (loads, topology) = (self.routers.as_ref()?, network.topology.as_ref());
        let links = channels.between_routers(topology).map(|(router, port, channel)| {
            let link_capacity = capacity(network, topology.link_class(router, port));
            (Link::Router(router, port), loads[channel] / link_capacity)
        });
        Fullest::of(links)
    }

    fn fullest(&self, network: &NetworkModel, channels: &Channels) -> Option<Fullest> {
        Fullest::first(
            self.fullest_of_hosts(network),
            self.fullest_of_routers(network, channels),
        )
    }

    /// Least part of the offered load that is lost. A packet crosses one injection link, one ejection link and a
    /// limited number of links of each other class. The load beyond the capacity of a class, divided by that number, is
    /// lost at least.
    ///
    /// Which packets are lost is not known: messages that compete may send their long packets and keep their short last
    /// ones. So the payload that a link carries is at most that of the packets with the smallest share of headers.
    fn excess(&self, network: &NetworkModel, channels: Option<&Channels>, headers: Headers) -> f64 {
        let over = |load: f64, capacity: f64| {
            (load / headers.most_wire - capacity * headers.greatest_payload).max(0.0)
        };
        let (sending, receiving) = capacities_of_nic(network);
        let too_much = |loads: &[f64], capacity| loads.iter().map(|load| over(*load, capacity)).sum::<f64>();
        let mut excess = too_much(&self.injection, sending).max(too_much(&self.ejection, receiving));
        let (Some(loads), Some(channels)) = (&self.routers, channels) else {
            return excess;
        };
        let topology = network.topology.as_ref();
        let mut sums = vec![0.0; self.most.len()];
        for (router, port, channel) in channels.between_routers(topology) {
            let class = topology.link_class(router, port);
            sums[usize::from(class.0)] += over(loads[channel], capacity(network, class));
        }
        for (sum, most) in sums.iter().zip(&self.most) {
            excess = excess.max(sum / f64::from((*most).max(1)));
        }
        excess
    }
}

impl Fullest {
    /// The links that saturate first, of links with loads in units of their capacity; `None` without load.
    fn of(links: impl Iterator<Item = (Link, f64)>) -> Option<Fullest> {
        let mut fullest: Option<(f64, Link, u64)> = None;
        for (link, load) in links.filter(|(_, load)| *load > 0.0) {
            match &mut fullest {
                Some((most, _, count)) if (load - *most).abs() <= ROUNDING * *most => *count += 1,
                Some((most, ..)) if load < *most => {}
                _ => fullest = Some((load, link, 1)),
            }
        }
        fullest.map(|(load, link, count)| Fullest {
            factor: 1.0 / load,
            link,
            count,
        })
    }

    /// The one that saturates first; the second if both are equal.
    fn first(one: Option<Fullest>, other: Option<Fullest>) -> Option<Fullest> {
        match (one, other) {
            (Some(one), Some(other)) if one.factor < other.factor => Some(one),
            (one, None) => one,
            (_, other) => other,
        }
    }

    fn name(&self, network: &NetworkModel) -> String {
        let topology = network.topology.as_ref();
        let router = |router: RouterId| match topology.coordinates(router) {
            grid if grid.starts_with('(') => format!("router {} {grid}", router.0),
            words => format!("router {} ({words})", router.0),
        };
        let link = match self.link {
            Link::Injection(host) => format!("injection link of host {}", host.0),
            Link::Ejection(host) if capacities_of_nic(network).1 < 1.0 => {
                format!("way into memory of host {}", host.0)
            }
            Link::Ejection(host) => format!("ejection link of host {}", host.0),
            Link::Router(from, port) => {
                let class = topology.link_classes()[usize::from(topology.link_class(from, port).0)];
                let to = match topology.peer(from, port) {
                    Peer::Router(to, _) => router(to),
                    Peer::Host(_) | Peer::Unwired => unreachable!("links between routers only"),
                };
                format!("{class} link of {} to {to}", router(from))
            }
        };
        match self.count {
            1 => link,
            2 => format!("{link}, and one more"),
            count => format!("{link}, and {} more", count - 1),
        }
    }
}
