//! Progressive adaptive routing: UGAL whose choice of the minimal path can be taken back on the way.
//!
//! Source: N. Jiang, J. Kim, W. J. Dally, "Indirect adaptive routing on large scale interconnection networks",
//! ISCA 2009 (PAR, in dragonflies; in other networks it is the same idea at every router of a minimal path).
//!
//! A packet on a minimal path decides again at further routers, each time as in `ugal`, by the loads of
//! that router's ports and with new random places: in networks of groups in the source's group, up to the
//! router with the global link; elsewhere at every router before the destination's. Once it has left for an
//! intermediate place it goes there and on to its destination, and decides no more. Minimal paths use VCs below
//! those of the others as long as they can be left; how many that takes is said in the legs.

use crate::Algorithm;
use crate::segments::{self, ROUTER_OR_GROUP};
use crate::ugal::{PARAMETERS, Rule};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "par",
    works_on: segments::WORKS_ON,
    summary: "as ugal, but a minimal path can be left at later routers, too (Jiang et al. 2009)",
    parameters: PARAMETERS,
    routes: segments::routes,
    build: |section, topology| {
        let rule = Rule::read(section, &*topology)?;
        segments::build::<true>(section, topology, ROUTER_OR_GROUP, rule)
    },
};
