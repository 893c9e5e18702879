//! Parts of paths whose VC is the number of links that a packet has crossed, for
//! [`Routing::visit_paths`](crate::Routing::visit_paths): one part for each link.

use topology::{Peer, Port, RouterId, Topology};

use crate::Hop;
use crate::path_parts::{PathVisitor, Unvisited};

/// Tells that packets that have crossed any number of links, fewer than `vcs`, may take any link next. The junctions
/// are these numbers.
pub(crate) fn visit(
    topology: &(impl Topology + ?Sized),
    vcs: u8,
    visitor: &mut dyn PathVisitor,
) -> Result<(), Unvisited> {
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(Port) {
            if !matches!(topology.peer(router, port), Peer::Router(..)) {
                continue;
            }
            for vc in 0..vcs {
                // Numbers are those of the links crossed before; the first link follows no other.
                let at = visitor.begin(&[vc], router, Hop::new(port, vc))?;
                if vc + 1 < vcs {
                    visitor.end(at, vc + 1);
                }
            }
        }
    }
    Ok(())
}
