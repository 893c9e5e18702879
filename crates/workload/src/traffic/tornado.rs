//! Tornado: in each dimension to the router almost halfway around, in one direction.
//!
//! Dally and Towles 2004, table 3.1: d_x = s_x + ceil(k/2) - 1 mod k. With minimal routing all traffic takes
//! the same direction around a ring of k routers, whose links in that direction carry the traffic of ceil(k/2)
//! - 1 routers each, and the others none. BookSim: `tornado`.

use super::pair::PartnerPattern;
use super::{PatternKind, RouterGrid};

pub(super) const KIND: PatternKind = PatternKind {
    name: "tornado",
    summary: "nearly half of the way around in each dimension; on a torus, mesh or HyperX",
    parameters: &[],
    example: "",
    build: |section, place| Ok(Box::new(PartnerPattern(partner(place.grid(section)?)))),
};

/// The partner of each host.
pub(super) fn partner(grid: RouterGrid) -> impl Fn(u32) -> u32 {
    move |source| grid.moved(source, |size, x| (x + size.div_ceil(2) - 1) % size)
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{FakeNetwork, error, partners_on};

    #[test]
    fn rings_of_eight_and_of_five() {
        let torus = FakeNetwork::torus(&[8, 5], 2);
        let partners = partners_on("tornado", "", &torus);
        // (0, 0) to (3, 2); (6, 4) to (1, 1); second host of each router.
        assert_eq!(partners[0], Some(2 * (3 + 8 * 2)));
        assert_eq!(partners[2 * (6 + 8 * 4) + 1], Some(2 * (1 + 8) + 1));
    }

    /// ceil(2/2) - 1 = 0.
    #[test]
    fn a_size_of_two_does_not_move() {
        let torus = FakeNetwork::torus(&[2, 2], 1);
        assert_eq!(partners_on("tornado", "", &torus), [None; 4]);
    }

    #[test]
    fn networks_without_coordinates_are_refused() {
        let part = error("tornado", "", 8);
        assert!(
            part.contains("needs the coordinates of routers") && part.contains("hosts = \"all\""),
            "{part}"
        );
        let groups = FakeNetwork::groups(3, 2, 2);
        let error = groups.error("tornado", "");
        assert!(
            error.contains("expected a mesh, a torus or a HyperX, and this is a"),
            "{error}"
        );
    }
}
