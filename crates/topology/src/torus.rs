//! Torus: a grid of any number of dimensions whose every dimension is a ring (k-ary n-cube).
//!
//! Source: W. J. Dally and B. Towles, "Principles and Practices of Interconnection Networks", 2004,
//! chapter 5. Numbering and small sizes: see `cartesian.rs`.

use crate::Kind;
use crate::cartesian::{Grid, PARAMETERS, SIZING};

pub(crate) const KIND: Kind = Kind {
    name: "torus",
    summary: "grid of any number of dimensions, each a ring (k-ary n-cube)",
    parameters: PARAMETERS,
    example: "sizes = [4, 2, 3]\n",
    build: |section| Ok(Box::new(Grid::read(section, true)?)),
    sizing: Some(SIZING),
};

#[cfg(test)]
mod tests {
    use config::Section;

    use super::KIND;
    use crate::{Peer, Port, RouterId};

    #[test]
    fn a_ring_of_two_has_two_cables() {
        let section = Section::from_toml("sizes = [2]", "x.toml").unwrap();
        let torus = (KIND.build)(section.declare(KIND.parameters)).unwrap();
        let (up, down) = (Port(1), Port(2));
        assert_eq!(torus.peer(RouterId(0), up), Peer::Router(RouterId(1), down));
        assert_eq!(torus.peer(RouterId(0), down), Peer::Router(RouterId(1), up));
        assert_eq!(torus.router_links(), 4);
    }
}
