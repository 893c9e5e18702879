//! The binomial tree of broadcast, reduce, gather and scatter.
//!
//! Ranks are counted from the root. The parent of rank `r` is `r` with its lowest set bit cleared. The subtree
//! of `r` has the consecutive ranks from `r` on, as many as that bit, up to the last rank.

use super::CollectiveCall;

/// The edge of the tree that a rank uses in one round.
pub(super) enum TreeEdge {
    /// The rank is the child; its own subtree has `subtree` ranks.
    ToParent { peer: u32, subtree: u32 },
    /// The rank is the parent; the peer's subtree has `subtree` ranks.
    ToChild { peer: u32, subtree: u32 },
}

/// The edge of length 2^`level` of this rank, if it has one.
pub(super) fn edge(call: &CollectiveCall, level: u32) -> Option<TreeEdge> {
    let from_root = call.rank_before(call.root);
    let length = 1u32 << level;
    let absolute = |relative: u32| {
        CollectiveCall {
            rank: relative,
            ..*call
        }
        .rank_after(call.root)
    };
    let subtree = |top: u32| length.min(call.ranks - top);
    let lower_bits = from_root & (length - 1);
    if lower_bits != 0 {
        None
    } else if from_root & length != 0 {
        Some(TreeEdge::ToParent {
            peer: absolute(from_root - length),
            subtree: subtree(from_root),
        })
    } else if length < call.ranks - from_root {
        let child = from_root + length;
        Some(TreeEdge::ToChild {
            peer: absolute(child),
            subtree: subtree(child),
        })
    } else {
        None
    }
}
