//! The complete binary tree of broadcast, reduce, allreduce and barrier.
//!
//! Ranks have positions, counted from the root. The children of position `i` are `2i + 1` and `2i + 2`.

use super::{CollectiveCall, Round};

/// Edges between a position and the root.
pub(super) fn depth(position: u32) -> u32 {
    (u64::from(position) + 1).ilog2()
}

/// Edges between the root and the last position.
pub(super) fn height(ranks: u32) -> u32 {
    depth(ranks - 1)
}

/// The position of a parent; `None` for the root.
pub(super) fn parent(position: u32) -> Option<u32> {
    position.checked_sub(1).map(|before| before / 2)
}

/// The positions of the children, in the order in which they are served.
pub(super) fn children(position: u32, ranks: u32) -> impl Iterator<Item = u32> {
    let first = 2 * u64::from(position) + 1;
    (first..first + 2)
        .take_while(move |child| *child < u64::from(ranks))
        .map(|child| child as u32)
}

/// Round `k` of a broadcast: a rank at depth d receives in round d - 1 and sends to all its children in round
/// d. Returns false after the last round.
pub(super) fn down(call: &CollectiveCall, k: u32, bytes: u64, out: &mut Round) -> bool {
    if k >= height(call.ranks) {
        return false;
    }
    let tree = TreeNeighbours::new(call);
    if k == tree.depth {
        tree.children().for_each(|rank| out.send(rank, bytes));
    } else if k + 1 == tree.depth {
        tree.parent()
            .into_iter()
            .for_each(|rank| out.receive(rank, bytes));
    }
    true
}

/// Round `k` of a reduction: a rank at depth d receives from all its children, and sends in the round after
/// that. Returns false after the last round.
pub(super) fn up(call: &CollectiveCall, k: u32, bytes: u64, out: &mut Round) -> bool {
    let height = height(call.ranks);
    if k >= height {
        return false;
    }
    let tree = TreeNeighbours::new(call);
    if k + tree.depth == height {
        tree.parent().into_iter().for_each(|rank| out.send(rank, bytes));
    } else if k + tree.depth + 1 == height {
        tree.children()
            .for_each(|rank| out.receive_and_reduce(rank, bytes));
    }
    true
}

/// Round `k` of a reduction to rank 0 and a broadcast from it.
pub(super) fn up_and_down(call: &CollectiveCall, k: u32, bytes: u64, out: &mut Round) -> bool {
    let call = CollectiveCall { root: 0, ..*call };
    match k.checked_sub(height(call.ranks)) {
        None => up(&call, k, bytes, out),
        Some(k) => down(&call, k, bytes, out),
    }
}

/// The neighbours of a rank in the tree, as ranks.
struct TreeNeighbours<'a> {
    call: &'a CollectiveCall,
    position: u32,
    depth: u32,
}

impl TreeNeighbours<'_> {
    fn new(call: &CollectiveCall) -> TreeNeighbours<'_> {
        let position = call.rank_before(call.root);
        TreeNeighbours {
            call,
            position,
            depth: depth(position),
        }
    }

    fn rank(&self, position: u32) -> u32 {
        let at = CollectiveCall {
            rank: position,
            ..*self.call
        };
        at.rank_after(self.call.root)
    }

    fn parent(&self) -> Option<u32> {
        parent(self.position).map(|position| self.rank(position))
    }

    fn children(&self) -> impl Iterator<Item = u32> {
        children(self.position, self.call.ranks).map(|position| self.rank(position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_tree_of_least_height() {
        for ranks in 1..200 {
            for position in 0..ranks {
                let whose: Vec<u32> = (0..ranks).filter(|p| parent(*p) == Some(position)).collect();
                assert_eq!(children(position, ranks).collect::<Vec<_>>(), whose);
                assert!(parent(position).is_none_or(|up| depth(up) + 1 == depth(position)));
                assert!(depth(position) <= height(ranks));
            }
            assert_eq!(height(ranks), ranks.ilog2());
        }
        assert_eq!(children(u32::MAX - 1, u32::MAX).count(), 0);
        assert_eq!(depth(u32::MAX), 32);
    }
}
