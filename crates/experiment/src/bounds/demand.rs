//! Demand: the traffic matrix of a job, grouped by destination, as the input of flows.
//!
//! No table of host pairs exists. Uniform traffic is described by the number of hosts of each router. Other patterns
//! are asked once for their shares, which are added by router.

use topology::{HostId, RouterId, Topology};
use workload::traffic::Pattern;

/// Largest number of stored pairs of router and destination: some 50 MB.
const MOST_PAIRS: usize = 1 << 22;

/// The traffic of one job, by destination, if every host offers a load of 1.
pub struct Demand {
    /// One host for each destination: one per router with hosts of the job, or every host of the job.
    pub destinations: Vec<HostId>,
    /// Traffic that each host sends, in loads of an injection link.
    pub injected: Vec<f64>,
    /// Traffic that each host receives.
    pub ejected: Vec<f64>,
    flows: Flows,
}

enum Flows {
    /// Every host sends the same to every other host.
    Even {
        /// Routers with hosts of the job, with the number of hosts.
        routers: Vec<(RouterId, u32)>,
        /// By destination: index of its router in `routers`, and number of hosts.
        destinations: Vec<(u32, u32)>,
        hosts: u32,
        include_self: bool,
    },
    /// Start of the flows of each destination, and the flows: router and load.
    Listed {
        first: Vec<usize>,
        flows: Vec<(RouterId, f64)>,
    },
}

impl Demand {
    /// The traffic among `senders`, in their order, of a pattern. The pattern is asked for at most `most_shares`
    /// shares. With `by_host`, destinations are hosts instead of routers.
    ///
    /// # Errors
    /// The demand is too large. The message says what it would need.
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

    /// Whether each host of the network sends the same to all others.
    pub fn is_even_over(&self, topology: &dyn Topology) -> bool {
        matches!(self.flows, Flows::Even { hosts, .. } if hosts == topology.hosts())
    }

    /// Whether any host sends to the destination.
    pub fn has(&self, destination: usize) -> bool {
        match &self.flows {
            Flows::Even { .. } => true,
            Flows::Listed { first, .. } => first[destination] < first[destination + 1],
        }
    }

    /// Routers that send to the destination, with their loads.
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
    // Index of the destination of each host of the job.
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
    // Flows in the order of their routers: destination, router, load.
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
