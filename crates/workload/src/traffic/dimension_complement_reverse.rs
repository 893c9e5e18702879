//! Dimension complement reverse: coordinates in reverse order, each counted from the other end.
//!
//! N. McDonald, M. Isaev, A. Flores, A. Davis, J. Kim, "Practical and efficient incremental adaptive routing
//! for HyperX networks", SC 2019. It is adverse to HyperX: all hosts of a line of routers send to one line, in
//! three dimensions with dimension-order routing over one link. With p hosts on each of S x S x S routers, S
//! even, at most 1/(S p) of the injection bandwidth is delivered. On a mesh, the routers of a row send to one
//! column.

use config::{Error, Section};

use super::pair::PartnerPattern;
use super::{PatternContext, PatternKind, RouterGrid};

pub(super) const KIND: PatternKind = PatternKind {
    name: "dimension-complement-reverse",
    summary: "coordinates in reverse order and each from the other end; on a HyperX, mesh or torus",
    parameters: &[],
    example: "",
    build: |section, place| Ok(Box::new(PartnerPattern(partner(section, place)?))),
};

/// The partner of each host.
///
/// # Errors
/// There are no coordinates, or the sizes differ in reverse order.
pub(super) fn partner(
    section: &Section,
    place: &PatternContext<'_>,
) -> Result<impl Fn(u32) -> u32 + use<>, Error> {
    let grid = place.grid(section)?;
    if !grid.sizes.iter().eq(grid.sizes.iter().rev()) {
        let message = format!(
            "reverses the order of coordinates; expected sizes that are the same from either end, such as \
             [4, 4] or [3, 4, 3], and here they are {:?}",
            grid.sizes
        );
        return Err(section.error("pattern", message));
    }
    let strides: Vec<u32> = strides(&grid).collect();
    let RouterGrid {
        sizes,
        hosts_per_router,
        ..
    } = grid;
    Ok(move |source: u32| {
        let (router, position) = (source / hosts_per_router, source % hosts_per_router);
        let partner: u32 = (sizes.iter().zip(&strides))
            .zip(strides.iter().rev())
            .map(|((size, stride), opposite)| (size - 1 - router / opposite % size) * stride)
            .sum();
        partner * hosts_per_router + position
    })
}

fn strides(grid: &RouterGrid) -> impl Iterator<Item = u32> {
    grid.sizes.iter().scan(1, |next, size| {
        let stride = *next;
        *next *= size;
        Some(stride)
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{FakeNetwork, partners_on};

    /// (x, y, z) to (2 - z, 1 - y, 2 - x).
    #[test]
    fn three_dimensions() {
        let hyperx = FakeNetwork::hyperx(&[3, 2, 3], 2);
        let number = |x: u32, y: u32, z: u32| 2 * (x + 3 * (y + 2 * z));
        let partners = partners_on("dimension-complement-reverse", "", &hyperx);
        assert_eq!(partners[number(0, 0, 0) as usize], Some(number(2, 1, 2)));
        assert_eq!(partners[number(1, 0, 0) as usize + 1], Some(number(2, 1, 1) + 1));
        assert_eq!(partners[number(0, 1, 1) as usize], Some(number(1, 0, 2)));
    }

    #[test]
    fn one_dimension_is_the_complement() {
        let hyperx = FakeNetwork::hyperx(&[3], 1);
        let partners = partners_on("dimension-complement-reverse", "", &hyperx);
        assert_eq!(partners, [Some(2), None, Some(0)]);
    }

    #[test]
    fn sizes_have_to_be_the_same_in_reverse() {
        let error = FakeNetwork::hyperx(&[3, 4], 1).error("dimension-complement-reverse", "");
        assert!(error.contains("here they are [3, 4]"), "{error}");
    }
}
