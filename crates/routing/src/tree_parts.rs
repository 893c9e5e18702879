//! Parts of paths in a tree, for [`Routing::visit_paths`](crate::Routing::visit_paths): one part for each link.

use topology::{Peer, Port, RouterId, Topology, Tree};

use crate::Hop;
use crate::path_parts::{PathVisitor, Unvisited};

/// Junction: behind a link upwards.
const ABOVE: u8 = 0;
/// Junction: behind a link downwards.
const BELOW: u8 = 1;

/// Tells that packets behind a link upwards may take any link, and behind a link downwards any link further down:
/// where a host is below a router, it is below the next router of the way down.
pub(crate) fn visit(
    topology: &dyn Topology,
    tree: &dyn Tree,
    visitor: &mut dyn PathVisitor,
) -> Result<(), Unvisited> {
    for router in (0..topology.routers()).map(RouterId) {
        let up = tree.up_ports(router);
        for port in 0..topology.ports(router) {
            if !matches!(topology.peer(router, Port(port)), Peer::Router(..)) {
                continue;
            }
            let (begins, behind): (&[u8], u8) = match up.contains(&port) {
                true => (&[ABOVE], ABOVE),
                false => (&[ABOVE, BELOW], BELOW),
            };
            let at = visitor.begin(begins, router, Hop::new(Port(port), 0))?;
            visitor.end(at, behind);
        }
    }
    Ok(())
}
