//! The worst case of each topology for minimal routing.
//!
//! - groups (dragonflies) and trees: group i to random hosts of group i + n, over the few links between the
//!   two, or through the top of the tree (see `shift`);
//! - torus: tornado;
//! - HyperX and mesh: dimension complement reverse;
//! - Slim Fly, and any other graph: paired flows of two links, below.
//!
//! Paired flows: M. Besta, T. Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014; as
//! pairs of routers in N. Wolfe, C. D. Carothers, M. Mubarak, R. Ross, P. Carns, "Modeling a million-node Slim
//! Fly network using parallel discrete-event simulation", SIGSIM-PADS 2016. In a row of four routers a, b, c, d,
//! a exchanges with c and b with d. Where b is the only router between a and c, and c between b and d,
//! both flows take the link between b and c: with p hosts on each router, 2 p flows share it, so at most
//! 1/(2 p) of the injection bandwidth is delivered. Routers are divided into such rows greedily and then by
//! regrouping; the few that remain send to each other in a circle.

use config::{Section, parameters};

use super::adjacency::RouterAdjacency;
use super::pair::PartnerPattern;
use super::shift::{Shift, group_size};
use super::{
    Geometry, GridKind, Pattern, PatternContext, PatternKind, dimension_complement_reverse, tornado,
};

pub(super) const KIND: PatternKind = PatternKind {
    name: "adversarial",
    summary: "the worst case of the topology for minimal routing",
    parameters: parameters! {
        integer("offset", 1, "in networks with groups, and trees: how many groups further on");
    },
    example: "",
    build: |section, place| {
        let network = place.network(section, "the whole network")?;
        match network.grid().map(|grid| grid.kind) {
            Some(GridKind::Torus) => Ok(Box::new(PartnerPattern(tornado::partner(place.grid(section)?)))),
            Some(GridKind::Mesh | GridKind::AllToAll) => {
                let partner = dimension_complement_reverse::partner(section, place)?;
                Ok(Box::new(PartnerPattern(partner)))
            }
            None if network.is_graph() => paired_flows(section, place, network),
            None => {
                let offset = section.get("offset")?;
                let size = group_size(section, place)?;
                let shift = Shift::new(section, "offset", offset, size, true, place.hosts)?;
                if shift.is_within() {
                    let groups = place.hosts / size;
                    let message = format!(
                        "{offset} leads each group to itself, as there are {groups}; expected another number of \
                         groups to go on, or a network with several groups"
                    );
                    return Err(section.error("offset", message));
                }
                Ok(Box::new(shift))
            }
        }
    },
};

fn paired_flows(
    section: &Section,
    place: &PatternContext<'_>,
    network: &dyn Geometry,
) -> Result<Box<dyn Pattern>, config::Error> {
    let refuse = |message: &str| {
        let message = format!("{message}, and this is a {}", network.describe());
        Err(section.error("pattern", message))
    };
    let Some(hosts_per_router) = network.hosts_per_router() else {
        return refuse("pairs routers; expected as many hosts on each router that has any");
    };
    let Some(routers) = RouterRows::new(network).partners() else {
        return refuse(
            "expected routers in a row a - b - c - d with b alone between a and c, c between b and d",
        );
    };
    let first_hosts = (0..place.hosts).step_by(hosts_per_router as usize);
    let partners: Box<[u32]> = first_hosts
        .map(|host| {
            let partner = routers[network.router(host) as usize];
            network.first_host(partner).unwrap_or(host)
        })
        .collect();
    let partner = move |source: u32| {
        let router = source / hosts_per_router;
        partners[router as usize] + source % hosts_per_router
    };
    Ok(Box::new(PartnerPattern(partner)))
}

/// Routers in rows of four.
struct RouterRows {
    search: RowSearch,
    rows: Vec<[u32; 4]>,
    /// Index in `rows` by router, or `NONE`.
    row_of: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl RouterRows {
    fn new(network: &dyn Geometry) -> RouterRows {
        let routers = 0..network.routers();
        let search = RowSearch {
            links: RouterAdjacency::new(network),
            free: routers
                .clone()
                .map(|router| network.first_host(router).is_some())
                .collect(),
            seen: vec![NONE; network.routers() as usize],
        };
        let mut rows = RouterRows {
            search,
            rows: Vec::new(),
            row_of: vec![NONE; network.routers() as usize],
        };
        for router in routers {
            if let Some(row) = rows.take(router) {
                rows.rows.push(row);
                rows.settle(rows.rows.len() - 1);
            }
        }
        rows.regroup();
        rows
    }

    /// The free routers.
    fn left(&self) -> Vec<u32> {
        let free = (0u32..).zip(&self.search.free);
        free.filter_map(|(router, is_free)| is_free.then_some(router))
            .collect()
    }

    /// A row of free routers that contains this router; its routers are no longer free.
    fn take(&mut self, router: u32) -> Option<[u32; 4]> {
        if !self.search.free[router as usize] {
            return None;
        }
        let row = self.search.row(router)?;
        self.set_free(row, false);
        Some(row)
    }

    fn set_free(&mut self, row: [u32; 4], is_free: bool) {
        row.iter()
            .for_each(|router| self.search.free[*router as usize] = is_free);
    }

    fn settle(&mut self, index: usize) {
        for router in self.rows[index] {
            self.row_of[router as usize] = index as u32;
        }
    }

    /// Regroups rows next to free routers while one row and the free routers make two rows.
    fn regroup(&mut self) {
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for router in self.left() {
                // A router may be in a row by now, which the regrouping of another made.
                has_changed |= self.search.free[router as usize] && self.find_space(router);
            }
        }
    }

    fn find_space(&mut self, router: u32) -> bool {
        let mut beside = self.search.links.of(router).to_vec();
        beside.retain(|end| self.row_of[*end as usize] != NONE);
        beside
            .into_iter()
            .any(|end| self.divide(self.row_of[end as usize] as usize, router))
    }

    /// Regroups one row and the free routers into two rows, one of which contains `router`.
    fn divide(&mut self, index: usize, router: u32) -> bool {
        let old = self.rows[index];
        self.set_free(old, true);
        let Some(first) = self.take(router) else {
            self.set_free(old, false);
            return false;
        };
        // The free routers made no row.
        let Some(second) = old.into_iter().find_map(|router| self.take(router)) else {
            self.set_free(first, true);
            self.set_free(old, false);
            return false;
        };
        old.iter().for_each(|router| self.row_of[*router as usize] = NONE);
        self.rows[index] = first;
        self.rows.push(second);
        self.settle(index);
        self.settle(self.rows.len() - 1);
        true
    }

    /// The partner of each router, itself without partner; `None` if there is no row.
    fn partners(self) -> Option<Vec<u32>> {
        if self.rows.is_empty() {
            return None;
        }
        let mut partners: Vec<u32> = (0u32..self.row_of.len() as u32).collect();
        for [a, b, c, d] in &self.rows {
            for (from, to) in [(a, c), (c, a), (b, d), (d, b)] {
                partners[*from as usize] = *to;
            }
        }
        let left = self.left();
        for (index, router) in left.iter().enumerate() {
            partners[*router as usize] = left[(index + 1) % left.len()];
        }
        Some(partners)
    }
}

struct RowSearch {
    links: RouterAdjacency,
    /// Whether a router has hosts and no partner yet.
    free: Vec<bool>,
    /// Marks the neighbours of the last inspected router with its number.
    seen: Vec<u32>,
}

impl RowSearch {
    /// A row of free routers with `router` at its end or second.
    fn row(&mut self, router: u32) -> Option<[u32; 4]> {
        for b in self.next(router, &[]) {
            for c in self.next(b, &[router]) {
                if !self.is_only_way(router, c) {
                    continue;
                }
                let ends = self.next(c, &[router, b]);
                if let Some(d) = ends.into_iter().find(|d| self.is_only_way(b, *d)) {
                    return Some([router, b, c, d]);
                }
                let ends = self.next(router, &[b, c]);
                if let Some(z) = ends.into_iter().find(|z| self.is_only_way(*z, b)) {
                    return Some([z, router, b, c]);
                }
            }
        }
        None
    }

    /// The free neighbours of a router except these, those with the fewest free neighbours first, as they are
    /// hardest to place later.
    fn next(&self, router: u32, but: &[u32]) -> Vec<u32> {
        let is_free = |end: &u32| self.free[*end as usize];
        let free_beside = |end: &u32| self.links.of(*end).iter().filter(|end| is_free(end)).count();
        let ends = self.links.of(router).iter().copied();
        let mut ends: Vec<u32> = ends.filter(|end| is_free(end) && !but.contains(end)).collect();
        ends.sort_by_cached_key(|end| (free_beside(end), *end));
        ends
    }

    /// Whether two routers are two links apart by exactly one path.
    fn is_only_way(&mut self, from: u32, to: u32) -> bool {
        for end in self.links.of(from) {
            self.seen[*end as usize] = from;
        }
        let paths = self
            .links
            .of(to)
            .iter()
            .filter(|end| self.seen[**end as usize] == from);
        let paths = paths.count();
        let are_neighbours = self.seen[to as usize] == from;
        // Each router's marks are set again, as marks of other routers are not cleared.
        paths == 1 && !are_neighbours
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{FakeNetwork, check_shares, error, is_permutation, partners_on, shares};

    /// Hoffman and Singleton's graph, the Slim Fly of q = 5: pentagons, pentagrams, and P(h, j) to
    /// Q(i, h i + j).
    fn hoffman_singleton(hosts_per_router: u32) -> FakeNetwork {
        let mut edges = Vec::new();
        for h in 0..5 {
            for j in 0..5 {
                edges.push((5 * h + j, 5 * h + (j + 1) % 5));
                edges.push((25 + 5 * h + j, 25 + 5 * h + (j + 2) % 5));
                edges.extend((0..5).map(|i| (5 * h + j, 25 + 5 * i + (h * i + j) % 5)));
            }
        }
        FakeNetwork::graph(&edges, 50, hosts_per_router)
    }

    #[test]
    fn two_flows_of_every_host_share_a_link() {
        let network = hoffman_singleton(3);
        let partners = partners_on("adversarial", "", &network);
        assert!(is_permutation(&partners));
        // Flows over each link. Two routers at distance two have one path.
        let mut flows = std::collections::BTreeMap::new();
        let mut two_link_paths = Vec::new();
        for (host, partner) in partners.iter().enumerate() {
            let (from, to) = (host as u32 / 3, partner.unwrap() / 3);
            let between = (0..50).find(|via| network.linked(from, *via) && network.linked(*via, to));
            let via = match between {
                Some(via) if !network.linked(from, to) => via,
                // Two routers remain without a row.
                _ => continue,
            };
            for link in [(from, via), (via, to)] {
                *flows.entry(link).or_insert(0) += 1;
            }
            two_link_paths.push([(from, via), (via, to)]);
        }
        assert!(
            two_link_paths.len() >= 144,
            "{} hosts of 150 go over two links",
            two_link_paths.len()
        );
        let slowed = two_link_paths
            .iter()
            .filter(|path| path.iter().any(|link| flows[link] == 6));
        assert!(slowed.count() >= 144, "2 p flows share a link");
    }

    #[test]
    fn groups_shift() {
        let network = FakeNetwork::groups(3, 2, 2);
        let pattern = network.built("adversarial", "offset = -1");
        let to: Vec<u32> = shares(pattern.as_ref(), 1, 12)
            .iter()
            .map(|share| share.0)
            .collect();
        assert_eq!(to, [8, 9, 10, 11]);
        check_shares(pattern.as_ref(), 12);
        for offset in [0, 3] {
            let error = network.error("adversarial", &format!("offset = {offset}"));
            assert!(
                error.contains("leads each group to itself, as there are 3"),
                "{error}"
            );
        }
    }

    #[test]
    fn grids() {
        let torus = FakeNetwork::torus(&[5, 5], 1);
        assert_eq!(
            partners_on("adversarial", "", &torus),
            partners_on("tornado", "", &torus)
        );
        for network in [FakeNetwork::mesh(&[3, 3], 1), FakeNetwork::hyperx(&[3, 3], 1)] {
            assert_eq!(
                partners_on("adversarial", "", &network),
                partners_on("dimension-complement-reverse", "", &network)
            );
        }
    }

    #[test]
    fn graphs_without_such_a_row_are_refused() {
        let triangle = FakeNetwork::graph(&[(0, 1), (1, 2), (2, 0)], 3, 1);
        assert!(triangle.error("adversarial", "").contains("routers in a row"));
        assert!(error("adversarial", "", 8).contains("needs the whole network"));
    }
}
