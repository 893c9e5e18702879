//! Progressive adaptive routing: UGAL that can revise the choice of the minimal path at later routers.
//!
//! Source: N. Jiang, J. Kim, W. J. Dally, "Indirect adaptive routing on large scale interconnection networks", ISCA
//! 2009 (PAR, in dragonflies; in other networks the same idea at every router of a minimal path).
//!
//! A packet on a minimal path decides again at later routers, each time as in `ugal`, by the loads of that router's
//! ports and with new random intermediate nodes. In networks of groups it does so in the source's group, up to the
//! router with the global link; elsewhere at every router before the destination's. Once it heads for an intermediate
//! node, it goes there and on to its destination without further decisions. Minimal paths that can be left use VCs
//! below those of the other paths; the path segments define how many.
//!
//! Jiang et al. divert a packet at any router of the source's group to any other group, which takes one more local
//! link and one more VC than UGAL. In CODES (dragonfly-dally, dragonfly-plus; M. Mubarak et al., TPDS 28(1), 2017) a
//! later router diverts it only over a link of its own: `detours = "linked"`.

use config::parameters;

use crate::Algorithm;
use crate::segments::{self, DETOURS, INTERMEDIATES};
use crate::ugal::{PARAMETERS, UgalRule};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "par",
    works_on: segments::WORKS_ON,
    summary: "as ugal, but a minimal path can be left at later routers, too (Jiang et al. 2009)",
    parameters: parameters! { ..PARAMETERS; DETOURS; },
    routes: segments::routes,
    build: |section, topology| {
        let rule = UgalRule::read(section, &*topology)?;
        segments::build::<true>(section, topology, INTERMEDIATES, rule)
    },
};
