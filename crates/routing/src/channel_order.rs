//! Numbers of channels in the order in which packets take them, for [`Routing::channel_order`]. One function for each
//! shape. They know where a channel is, and no paths.
//!
//! [`Routing::channel_order`]: crate::Routing::channel_order

use topology::{Cartesian, Groups, HyperX, Peer, Port, RouterId, Topology, Tree};

use crate::ring_protection::Rings;

/// The router at the far end of a link between routers.
fn far_end(topology: &(impl Topology + ?Sized), router: RouterId, port: Port) -> Option<RouterId> {
    match topology.peer(router, port) {
        Peer::Router(next, _) => Some(next),
        _ => None,
    }
}

/// In a tree: upwards by level, then downwards.
pub(crate) fn in_tree(topology: &dyn Topology, tree: &dyn Tree, router: RouterId, port: Port) -> Option<u64> {
    let next = far_end(topology, router, port)?;
    let (from, to) = (tree.level(router), tree.level(next));
    Some(u64::from(if to > from { from } else { 2 * tree.levels() - from }))
}

/// The dimension of a link in a HyperX.
pub(crate) fn dimension_in_hyperx(network: &dyn HyperX, router: RouterId, port: Port) -> Option<u64> {
    let next = far_end(network, router, port)?;
    let (dimension, _) = network.first_difference(router, next)?;
    Some(dimension as u64)
}

/// In a torus or mesh: dimension, VC, position on the way round the ring or along the line. None of a ring whose
/// order depends on bubbles.
///
/// With a dateline VC 0 ends with the wrap-around link, and VC 1 follows. With datelines at entry VC 1 upwards and
/// VC 0 downwards belong to packets that wrap around. These cross at most half of the ring, so the positions are
/// counted from the far side of the wrap-around link.
pub(crate) fn in_grid(
    topology: &dyn Topology,
    grid: &dyn Cartesian,
    rings: Rings,
    (router, port, vc): (RouterId, Port, u8),
) -> Option<u64> {
    let next = far_end(topology, router, port)?;
    let (dimension, here, _) = grid.first_difference(router, next)?;
    let up = (0..grid.links(dimension)).any(|cable| grid.step_port(router, dimension, true, cable) == port);
    let size = grid.sizes()[dimension];
    let along = if up { here } else { size - 1 - here };
    let position = match rings {
        Rings::Bubble => return None,
        Rings::DatelineAtEntry if up == (vc == 1) => (along + size / 2) % size,
        Rings::None | Rings::Dateline | Rings::DatelineAtEntry => along,
    };
    let most = u64::from(grid.sizes().iter().copied().max().unwrap_or(1));
    Some((dimension as u64 * u64::from(rings.vcs()) + u64::from(vc)) * most + u64::from(position))
}

/// Number of kinds of links that [`in_groups`] tells apart within a VC.
const KINDS: u64 = 4;

/// In a network of groups: by VC; within a VC global links before local ones. Local links that go up to a router
/// without hosts come before those that go down, except on the VC `down_first`. Of other local links those of one
/// link class come before those of a later one, as the paths of [`Groups::local_port`] take them.
pub(crate) fn in_groups(
    groups: &(impl Topology + Groups + ?Sized),
    down_first: Option<u8>,
    (router, port, vc): (RouterId, Port, u8),
) -> Option<u64> {
    let next = far_end(groups, router, port)?;
    let kind = match groups.group(next) == groups.group(router) {
        false => 0,
        true => {
            let has_hosts = |r: RouterId| r.0 % groups.routers_per_group() < groups.host_routers_per_group();
            match (has_hosts(router), has_hosts(next)) {
                (true, false) => 2,
                (false, true) if down_first == Some(vc) => 1,
                (false, true) => 3,
                // Classes are hosts, local ones, global ones.
                _ => u64::from(groups.link_class(router, port).0).min(KINDS - 1),
            }
        }
    };
    Some(u64::from(vc) * KINDS + kind)
}
