//! The contract of networks of groups beyond that of graphs.

use std::collections::{HashMap, HashSet};

use fabricsim_topology::*;

use crate::contract::{ports, routers};
use crate::shapes::check_no_circle;

pub fn check(topology: &dyn Topology, groups: &dyn Groups) {
    let size = groups.routers_per_group();
    assert_eq!(groups.groups() * size, topology.routers());
    let mut counts = HashSet::new();
    for from in 0..groups.groups() {
        for to in (0..groups.groups()).filter(|to| *to != from) {
            let count = groups.links_between(from, to);
            counts.insert(count);
            let ends: HashSet<_> = (0..count).map(|i| groups.gateway(from, to, i)).collect();
            assert_eq!(ends.len() as u32, count);
            for (router, port) in ends {
                assert_eq!(groups.group(router), from);
                let Peer::Router(other, _) = topology.peer(router, port) else {
                    panic!("not a link");
                };
                assert_eq!(groups.group(other), to);
            }
        }
    }
    let (least, most) = (counts.iter().min(), counts.iter().max());
    assert!(
        least
            .zip(most)
            .is_none_or(|(least, most)| *least > 0 && most - least <= 1)
    );
    for from in routers(topology) {
        for to in routers(topology).filter(|to| *to != from) {
            if groups.group(from) != groups.group(to) {
                check_minimal_links(topology, groups, from, to);
            }
        }
    }
    check_hosts(topology, groups);
    check_local_paths(topology, groups);
}

/// The first routers of a group have hosts, all of them equally many; the others have none.
fn check_hosts(topology: &dyn Topology, groups: &dyn Groups) {
    let mut hosts = vec![0; topology.routers() as usize];
    for host in (0..topology.hosts()).map(HostId) {
        hosts[topology.attachment(host).0.0 as usize] += 1;
    }
    for (router, count) in hosts.iter().enumerate() {
        let own = router as u32 % groups.routers_per_group();
        let expected = if own < groups.host_routers_per_group() {
            hosts[0]
        } else {
            0
        };
        assert_eq!(*count, expected);
    }
}

/// Local paths are shortest paths, use all local links, and have no cyclic dependencies, except between routers
/// without hosts, where only passing packets go.
fn check_local_paths(topology: &dyn Topology, groups: &dyn Groups) {
    let size = groups.routers_per_group();
    let mut used = HashSet::new();
    // For every local link, its successors on some path.
    let mut next_links: HashMap<(RouterId, Port), HashSet<(RouterId, Port)>> = HashMap::new();
    let mut longest = 0;
    for group in [0, groups.groups() - 1] {
        for (from, to) in (0..size * size).map(|pair| (pair / size, pair % size)) {
            let (from, to) = (RouterId(group * size + from), RouterId(group * size + to));
            if from == to {
                continue;
            }
            longest = longest.max(topology.distance(from, to));
            let between_hosts =
                [from, to].map(|router| router.0 % size < groups.host_routers_per_group()) != [false; 2];
            let mut taken = HashMap::new();
            for path in 0..groups.local_paths() {
                let (mut here, mut before, mut length) = (from, None, 0);
                let mut links = Vec::new();
                while here != to {
                    let link = (here, groups.local_port(here, to, path));
                    let Peer::Router(next, _) = topology.peer(link.0, link.1) else {
                        panic!("not a link between routers");
                    };
                    assert_eq!(groups.group(next), group);
                    used.insert(link);
                    if let Some(before) = before.replace(link).filter(|_| between_hosts) {
                        next_links.entry(before).or_default().insert(link);
                    }
                    links.push(link);
                    (here, length) = (next, length + 1);
                    assert!(length <= groups.local_diameter());
                }
                assert_eq!(length, topology.distance(from, to));
                *taken.entry(links).or_insert(0) += 1;
            }
            let counts: HashSet<u32> = taken.into_values().collect();
            assert_eq!(counts.len(), 1, "all paths are drawn equally often");
        }
        for router in (group * size..(group + 1) * size).map(RouterId) {
            for port in ports(topology, router) {
                let local =
                    matches!(topology.peer(router, port), Peer::Router(to, _) if groups.group(to) == group);
                assert_eq!(local, used.contains(&(router, port)));
            }
        }
    }
    // A network may or may not report groups of a single router.
    assert_eq!(longest.max(1), groups.local_diameter());
    check_no_circle(next_links);
}

/// The draws reach exactly the links with the fewest local links.
fn check_minimal_links(topology: &dyn Topology, groups: &dyn Groups, from: RouterId, to: RouterId) {
    let (here, there) = (groups.group(from), groups.group(to));
    let count = groups.links_between(here, there);
    let local_links = |index| {
        let (router, port) = groups.gateway(here, there, index);
        let Peer::Router(other, _) = topology.peer(router, port) else {
            panic!("not a link");
        };
        topology.distance(router, from) + topology.distance(other, to)
    };
    let fewest = (0..count).map(local_links).min().expect("a link");
    let expected: HashSet<u32> = (0..count).filter(|i| local_links(*i) == fewest).collect();
    let draws = 4 * count;
    let drawn: HashSet<u32> = (0..draws)
        .map(|i| groups.minimal_link(from, to, (u64::from(i) * (1 << 32) / u64::from(draws)) as u32))
        .chain([groups.minimal_link(from, to, u32::MAX)])
        .collect();
    assert_eq!(drawn, expected);
}
