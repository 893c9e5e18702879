//! The contract of every routing on a whole network: packets of all pairs of hosts arrive, minimal paths have the
//! fewest hops, and no deadlock is possible.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use fabricsim_routing::{check_order, prove_deadlock_free};
use topology::{Peer, Port, RouterId, Shape, Topology};

use crate::networks::{has_parts, is_minimal, is_ordered};
use crate::parts;
use crate::walk::{Draws, pairs, path, routings};

/// Fewest links from a router to every other, with at most one global link in networks of groups.
fn fewest_hops(topology: &dyn Topology, from: RouterId) -> Vec<u32> {
    let Shape::Groups(groups) = topology.shape() else {
        return (0..topology.routers())
            .map(|to| topology.distance(from, RouterId(to)))
            .collect();
    };
    let mut best = vec![u32::MAX; topology.routers() as usize];
    let mut seen = HashSet::from([(from, false)]);
    let mut queue = VecDeque::from([(from, false, 0)]);
    while let Some((router, crossed, hops)) = queue.pop_front() {
        let fewest = &mut best[router.0 as usize];
        *fewest = hops.min(*fewest);
        for port in (0..topology.ports(router)).map(Port) {
            let Peer::Router(next, _) = topology.peer(router, port) else {
                continue;
            };
            let global = groups.group(next) != groups.group(router);
            if !(global && crossed) && seen.insert((next, crossed || global)) {
                queue.push_back((next, crossed || global, hops + 1));
            }
        }
    }
    best
}

pub fn check(topology: &Arc<dyn Topology>, max_states: u64) {
    for (name, parameters, routing) in routings(topology) {
        let what = format!("{name} {parameters} on {}", topology.describe());
        let mut draws = Draws(1);
        let mut fewest: HashMap<RouterId, Vec<u32>> = HashMap::new();
        for (source, destination) in pairs(&**topology) {
            let links = path(&**topology, &*routing, (source, destination), &mut draws);
            let (from, to) = (topology.attachment(source).0, topology.attachment(destination).0);
            let fewest = fewest
                .entry(from)
                .or_insert_with(|| fewest_hops(&**topology, from));
            let fewest = fewest[to.0 as usize] as usize;
            if is_minimal(name, &topology.shape()) {
                assert_eq!(links.len(), fewest, "{what}: {source:?} to {destination:?}");
            } else {
                // Two global links can be shorter than the single one of a minimal path.
                assert!(links.len() >= topology.distance(from, to) as usize);
            }
        }
        let recorded = parts::Recorded::new(&**topology, &*routing);
        match prove_deadlock_free(&**topology, &recorded, max_states) {
            Ok(proof) => {
                assert!(proof.states >= u64::from(topology.hosts()).pow(2));
                assert!(proof.channels <= topology.router_links() * u64::from(routing.vcs()));
                let sampled = check_order(&**topology, &*routing, 2_000);
                let sampled = sampled.unwrap_or_else(|failure| panic!("{what}: {failure}"));
                // A network without dependencies is ordered by any numbers.
                if proof.dependencies > 0 {
                    assert_eq!(proof.ordered, sampled.is_some(), "{what}");
                    assert_eq!(
                        proof.ordered,
                        is_ordered(name, parameters, &topology.shape()),
                        "{what}"
                    );
                }
            }
            Err(failure) => panic!("{what}: {failure}"),
        }
        let known = parts::check(recorded, &what);
        assert_eq!(known, has_parts(name, parameters, &topology.shape()), "{what}");
    }
}
