//! The parts of the paths of segments in networks of groups, for both files of such segments
//! ([`Routing::visit_paths`](crate::Routing::visit_paths)).

use topology::{Groups, Topology};

use super::group_nodes::{GroupNodes, VC_INSIDE_GROUP};
use crate::group_parts::{GroupParts, ToOtherGroup};
use crate::groups::GroupNetwork;
use crate::path_parts::{PathVisitor, Unvisited};

/// Junction: at the intermediate node, before the last segment.
const AT_NODE: u8 = 0;
/// Junction: in the group of the intermediate router, on the first segment.
const IN_GROUP_OF_NODE: u8 = 1;
/// Junction: in the destination's group, on the last segment.
const IN_LAST_GROUP: u8 = 2;
/// Junction: on a minimal path that can be left.
const TENTATIVE: u8 = 3;
/// Junction: at a router with hosts of the intermediate group, below a spine.
const BELOW_SPINE: u8 = 4;
/// Junction: at an intermediate router of the same group.
const AT_NODE_INSIDE: u8 = 5;

/// Tells the parts of all paths: minimal ones, and those through nodes. Parts that only some parameters have are told
/// where they keep the order anyway.
pub(super) fn visit<T: Topology + Groups>(
    network: &GroupNetwork<T>,
    nodes: &GroupNodes,
    retractable: bool,
    visitor: &mut dyn PathVisitor,
) -> Result<(), Unvisited> {
    let mut parts = GroupParts { network, visitor };
    let (first_vc, last_vc) = (nodes.first_vc, nodes.last_vc);
    if retractable {
        parts.between_groups(&ToOtherGroup {
            begins: &[],
            first_vc: last_vc,
            tentative: Some((0, TENTATIVE)),
            ends: &[IN_LAST_GROUP],
        })?;
    }
    // The last segment, and minimal paths that cannot be left.
    parts.between_groups(&ToOtherGroup {
        begins: &[AT_NODE, BELOW_SPINE],
        first_vc: last_vc,
        tentative: None,
        ends: &[IN_LAST_GROUP],
    })?;
    let begins = [AT_NODE, IN_LAST_GROUP, AT_NODE_INSIDE];
    parts.inside_groups(&begins, last_vc + 1, true, &[])?;
    let at_group = nodes.intermediate.is_at_group();
    let ends: &[u8] = match at_group {
        true => &[AT_NODE],
        false => &[AT_NODE, IN_GROUP_OF_NODE],
    };
    parts.between_groups(&ToOtherGroup {
        begins: &[TENTATIVE],
        first_vc,
        tentative: None,
        ends,
    })?;
    match at_group {
        // With `any-router` the first segment may stay in the group.
        false => parts.inside_groups(&[IN_GROUP_OF_NODE], first_vc + 1, true, &[AT_NODE])?,
        true => parts.down(&[AT_NODE], first_vc + 1, &[BELOW_SPINE])?,
    }
    if nodes.has_places_inside() {
        parts.inside_groups(&[], VC_INSIDE_GROUP, false, &[AT_NODE_INSIDE])?;
    }
    Ok(())
}
