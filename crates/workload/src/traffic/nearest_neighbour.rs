//! Nearest neighbour: to the routers one link away, with equal probability in all directions.
//!
//! On a grid, these are the routers with one coordinate one greater or less, as in W. J. Dally and B. Towles
//! 2004, section 3.2 ("nearest neighbor"), in both directions. Where no router with hosts is one link away, as
//! in a fat tree, the nearest hosts are those of the same router.

use super::adjacency::RouterAdjacency;
use super::block::HostBlock;
use super::{Pattern, PatternKind, TrafficRandom};

pub(super) const KIND: PatternKind = PatternKind {
    name: "nearest-neighbour",
    summary: "to the same position on a random router one link away; where there is none, on the same router",
    parameters: &[],
    example: "",
    build: |section, place| {
        let network = place.network(section, "the links between routers")?;
        let Some(hosts_per_router) = network.hosts_per_router() else {
            let message = format!(
                "goes from router to router; expected as many hosts on each router that has any, and this is a {}",
                network.describe()
            );
            return Err(section.error("pattern", message));
        };
        let links = RouterAdjacency::new(network);
        let (mut first, mut ends) = (vec![0], Vec::new());
        for host in (0..place.hosts).step_by(hosts_per_router as usize) {
            let neighbours = links.of(network.router(host)).iter();
            ends.extend(neighbours.filter_map(|router| network.first_host(*router)));
            first.push(ends.len());
        }
        Ok(Box::new(NearestNeighbour {
            hosts_per_router,
            first: first.into(),
            ends: ends.into(),
        }))
    },
};

struct NearestNeighbour {
    hosts_per_router: u32,
    /// Start of each router's neighbours in `ends`, and the number of all neighbours.
    first: Box<[usize]>,
    /// The first host of the router at the end of each link.
    ends: Box<[u32]>,
}

impl NearestNeighbour {
    fn ends(&self, source: u32) -> &[u32] {
        let router = (source / self.hosts_per_router) as usize;
        &self.ends[self.first[router]..self.first[router + 1]]
    }
}

impl Pattern for NearestNeighbour {
    fn destination(&self, source: u32, _: u32, _: u64, random: &mut dyn TrafficRandom) -> Option<u32> {
        let ends = self.ends(source);
        if ends.is_empty() {
            return HostBlock::around(source, self.hosts_per_router).any_but(source, random);
        }
        let end = ends[random.below(ends.len() as u64) as usize];
        Some(end + source % self.hosts_per_router)
    }

    fn shares(&self, source: u32, _: u32, each: &mut dyn FnMut(u32, f64)) {
        let ends = self.ends(source);
        if ends.is_empty() {
            return HostBlock::around(source, self.hosts_per_router).shares(source, 1.0, each);
        }
        let share = 1.0 / ends.len() as f64;
        ends.iter()
            .for_each(|end| each(end + source % self.hosts_per_router, share));
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{FakeNetwork, check_shares, error, shares};

    #[test]
    fn on_a_torus_one_coordinate_moves_by_one() {
        let torus = FakeNetwork::torus(&[4, 3], 2);
        let pattern = torus.built("nearest-neighbour", "");
        // Router (0, 0): (1, 0), (3, 0), (0, 1), (0, 2).
        assert_eq!(
            shares(pattern.as_ref(), 1, 24),
            [(3, 0.25), (7, 0.25), (9, 0.25), (17, 0.25)]
        );
        check_shares(pattern.as_ref(), 24);
    }

    #[test]
    fn two_cables_count_twice_and_ends_of_a_line_have_one_neighbour() {
        let ring = FakeNetwork::torus(&[2], 1).built("nearest-neighbour", "");
        assert_eq!(shares(ring.as_ref(), 0, 2), [(1, 1.0)]);
        let line = FakeNetwork::mesh(&[3], 1).built("nearest-neighbour", "");
        assert_eq!(shares(line.as_ref(), 0, 3), [(1, 1.0)]);
        assert_eq!(shares(line.as_ref(), 1, 3), [(0, 0.5), (2, 0.5)]);
    }

    #[test]
    fn without_neighbours_on_the_same_router() {
        let network = FakeNetwork::graph(&[], 2, 3);
        let pattern = network.built("nearest-neighbour", "");
        assert_eq!(shares(pattern.as_ref(), 4, 6), [(3, 0.5), (5, 0.5)]);
        check_shares(pattern.as_ref(), 6);
        let isolated = FakeNetwork::graph(&[], 2, 1).built("nearest-neighbour", "");
        assert_eq!(shares(isolated.as_ref(), 0, 2), []);
    }

    #[test]
    fn a_part_of_the_network_has_no_links() {
        assert!(error("nearest-neighbour", "", 4).contains("needs the links between routers"));
    }
}
