//! Who sends how much to whom, gathered by destination: what the walk of flows asks for.
//!
//! There is no table of hosts x hosts. Traffic that treats all hosts alike is given by how many hosts each router
//! has; of other patterns the shares are asked for once, and added up by router.

use topology::{HostId, RouterId, Topology};
use workload::traffic::Pattern;

/// Pairs of a router and a destination that are kept at most: some 50 MB.
const MOST_PAIRS: usize = 1 << 22;

/// The traffic of one job, if every host offers a load of 1, by destination.
pub struct Demand {
    /// A host of each destination: of each router with hosts of the job, or every host of it.
    pub destinations: Vec<HostId>,
    /// What the hosts send, in loads of an injection link.
    pub injected: Vec<f64>,
    /// What the hosts receive.
    pub ejected: Vec<f64>,
    flows: Flows,
}

enum Flows {
    /// From every host as much to every other one.
    Even {
        /// Routers with hosts of the job, and how many.
        routers: Vec<(RouterId, u32)>,
        /// By destination: its router's place in `routers`, and how many hosts it stands for.
        destinations: Vec<(u32, u32)>,
        hosts: u32,
        include_self: bool,
    },
    /// By destination: where its flows begin; the flows: router and load.
    Listed {
        first: Vec<usize>,
        flows: Vec<(RouterId, f64)>,
    },
}

impl Demand {
    /// What `senders`, numbered in their order, send each other by a pattern; asks it for at most `most_shares`
    /// shares. `by_host`: destinations are hosts, not routers.
    ///
    /// # Errors
    /// It is too much; says what would be needed.
    pub fn new(
        topology: &dyn Topology,
        pattern: &dyn Pattern,
        senders: &[HostId],
        by_host: bool,
        most_shares: u64,
    ) -> Result<Demand, String> {
        let mut hosts: Vec<(RouterId, HostId, u32)> = senders
            .iter()
            .zip(0..)
            .map(|(host, index)| (topology.attachment(*host).0, *host, index))
            .collect();
        hosts.sort_unstable();
        match pattern.is_uniform() {
            Some(include_self) => Ok(even(topology, &hosts, by_host, include_self)),
            None => listed(topology, pattern, senders, &hosts, by_host, most_shares),
        }
    }

    /// Whether all hosts of the network send as much to all others.
    pub fn is_even_over(&self, topology: &dyn Topology) -> bool {
        matches!(self.flows, Flows::Even { hosts, .. } if hosts == topology.hosts())
    }

    /// Whether anybody sends to one of the destinations, by its number.
    pub fn has(&self, destination: usize) -> bool {
        match &self.flows {
            Flows::Even { .. } => true,
            Flows::Listed { first, .. } => first[destination] < first[destination + 1],
        }
    }

    /// The routers that send to one of the destinations, by its number, with their loads.
    pub fn sources(&self, destination: usize) -> Box<dyn Iterator<Item = (RouterId, f64)> + '_> {
        match &self.flows {
            Flows::Listed { first, flows } => {
                Box::new(flows[first[destination]..first[destination + 1]].iter().copied())
            }
            Flows::Even {
                routers,
                destinations,
                hosts,
                include_self,
            } => {
                let (own, receivers) = destinations[destination];
                let choices = f64::from(hosts - u32::from(!include_self));
                let load = move |(index, (router, senders)): (usize, &(RouterId, u32))| {
                    let pairs = f64::from(*senders) * f64::from(receivers);
                    let themselves = match index == own as usize && !include_self {
                        true => f64::from(receivers),
                        false => 0.0,
                    };
                    (*router, (pairs - themselves) / choices)
                };
                Box::new(
                    routers
                        .iter()
                        .enumerate()
                        .map(load)
                        .filter(|(_, load)| *load > 0.0),
                )
            }
        }
    }
}

fn even(
    topology: &dyn Topology,
    hosts: &[(RouterId, HostId, u32)],
    by_host: bool,
    include_self: bool,
) -> Demand {
    let mut all = vec![0.0; topology.hosts() as usize];
    let mut routers: Vec<(RouterId, u32)> = Vec::new();
    let mut demand = (Vec::new(), Vec::new());
    for (router, host, _) in hosts {
        all[host.0 as usize] = 1.0;
        let is_new = routers.last().is_none_or(|(last, _)| last != router);
        if is_new {
            routers.push((*router, 0));
        }
        routers.last_mut().expect("one was pushed").1 += 1;
        if is_new || by_host {
            demand.0.push(*host);
            demand.1.push((routers.len() as u32 - 1, 1));
        } else {
            demand.1.last_mut().expect("one was pushed").1 += 1;
        }
    }
    Demand {
        destinations: demand.0,
        injected: all.clone(),
        ejected: all,
        flows: Flows::Even {
            routers,
            destinations: demand.1,
            hosts: hosts.len() as u32,
            include_self,
        },
    }
}

fn listed(
    topology: &dyn Topology,
    pattern: &dyn Pattern,
    numbered: &[HostId],
    hosts: &[(RouterId, HostId, u32)],
    by_host: bool,
    most_shares: u64,
) -> Result<Demand, String> {
    let all = topology.hosts() as usize;
    let (mut injected, mut ejected) = (vec![0.0; all], vec![0.0; all]);
    // The number of the destination that each of the job's hosts belongs to.
    let mut of_host = vec![0u32; hosts.len()];
    let mut destinations: Vec<HostId> = Vec::new();
    let mut last = None;
    for (router, host, index) in hosts {
        if by_host || last != Some(router) {
            destinations.push(*host);
        }
        last = Some(router);
        of_host[*index as usize] = destinations.len() as u32 - 1;
    }
    // Flows in the order of the routers that they come from: destination, router, load.
    let mut found: Vec<(u32, RouterId, f64)> = Vec::new();
    let mut of_router = vec![0.0; destinations.len()];
    let mut touched: Vec<u32> = Vec::new();
    let (mut shares, mut senders) = (0u64, hosts.iter().peekable());
    while let Some((router, host, index)) = senders.next() {
        pattern.shares(*index, numbered.len() as u32, &mut |to, share| {
            shares += 1;
            let destination = of_host[to as usize];
            let load = &mut of_router[destination as usize];
            if *load == 0.0 {
                touched.push(destination);
            }
            *load += share;
            injected[host.0 as usize] += share;
            ejected[numbered[to as usize].0 as usize] += share;
        });
        if shares > most_shares {
            return Err(format!(
                "too large: the pattern has more than {most_shares} pairs of hosts"
            ));
        }
        if senders.peek().is_some_and(|(next, ..)| next == router) {
            continue;
        }
        touched.sort_unstable();
        touched.dedup();
        for destination in touched.drain(..) {
            let load = std::mem::take(&mut of_router[destination as usize]);
            if load > 0.0 {
                found.push((destination, *router, load));
            }
        }
        if found.len() > MOST_PAIRS {
            return Err(format!(
                "too large: the pattern has more than {MOST_PAIRS} pairs of routers"
            ));
        }
    }
    let mut first = vec![0usize; destinations.len() + 1];
    for (destination, ..) in &found {
        first[*destination as usize + 1] += 1;
    }
    for destination in 0..destinations.len() {
        first[destination + 1] += first[destination];
    }
    let mut next = first.clone();
    let mut flows = vec![(RouterId(0), 0.0); found.len()];
    for (destination, router, load) in found {
        let place = &mut next[destination as usize];
        flows[*place] = (router, load);
        *place += 1;
    }
    Ok(Demand {
        destinations,
        injected,
        ejected,
        flows: Flows::Listed { first, flows },
    })
}
