//! Mesh: a grid of any number of dimensions without wrap-around links (k-ary n-mesh).
//!
//! Source: W. J. Dally and B. Towles, "Principles and Practices of Interconnection Networks", 2004,
//! chapter 5. The outward ports of routers at an edge are not wired. Numbering: see `cartesian.rs`.

use crate::Kind;
use crate::cartesian::{Grid, PARAMETERS, SIZING};

pub(crate) const KIND: Kind = Kind {
    name: "mesh",
    summary: "grid of any number of dimensions without wrap-around links (k-ary n-mesh)",
    parameters: PARAMETERS,
    example: "sizes = [4, 2, 3]\n",
    build: |section| Ok(Box::new(Grid::read(section, false)?)),
    sizing: Some(SIZING),
};

#[cfg(test)]
mod tests {
    use config::Section;

    use super::KIND;
    use crate::{Peer, Port, RouterId};

    #[test]
    fn edges_are_not_wired() {
        let section = Section::from_toml("sizes = [2, 1]", "x.toml").unwrap();
        let mesh = (KIND.build)(section.declare(KIND.parameters)).unwrap();
        assert_eq!(
            mesh.peer(RouterId(0), Port(1)),
            Peer::Router(RouterId(1), Port(2))
        );
        for port in [2, 3, 4] {
            assert_eq!(mesh.peer(RouterId(0), Port(port)), Peer::Unwired);
        }
        assert_eq!(mesh.router_links(), 2);
    }
}
