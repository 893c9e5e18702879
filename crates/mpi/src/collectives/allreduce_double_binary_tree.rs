//! Allreduce over two binary trees, half of the vector over each, up and down in segments. The inner ranks of
//! one tree are leaves of the other, so each rank sends and receives about twice the vector, in about 2 log2 n
//! steps.
//!
//! The first tree has its ranks in order, the root 0 above it. The second is the first mirrored (n even) or shifted
//! by one (n odd). NCCL cuts its segments by the size of its buffers; here they have 64 KiB.

use workload::Collective;

use super::segments::{passing, segments};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allreduce,
    name: "double-binary-tree",
    summary: "half of the vector over each of two complementary binary trees, in segments of 64 KiB",
    source: "Sanders, Speck, Traff 2009; NCCL 2.4",
    varying: false,
    layout: HostLayout::Any,
    round,
};

/// One of the two trees.
#[derive(Clone, Copy)]
struct BinaryTree {
    ranks: u32,
    second: bool,
}

impl BinaryTree {
    /// The node of the first tree that a rank has in this tree, and the reverse.
    fn node(self, rank: u32) -> u32 {
        match (self.second, self.ranks.is_multiple_of(2)) {
            (false, _) => rank,
            (true, true) => self.ranks - 1 - rank,
            (true, false) => (rank + self.ranks - 1) % self.ranks,
        }
    }

    fn rank(self, node: u32) -> u32 {
        match (self.second, self.ranks.is_multiple_of(2)) {
            (false, _) => node,
            (true, true) => self.ranks - 1 - node,
            (true, false) => (node + 1) % self.ranks,
        }
    }

    /// The parent: the lowest bit moves up by one or, beyond the end, is cleared.
    fn above(self, node: u32) -> Option<u32> {
        let bit = 1u32 << node.trailing_zeros().min(31);
        let rest = node.checked_sub(bit)?;
        let up = u64::from(rest) | u64::from(bit) << 1;
        Some(if up < u64::from(self.ranks) {
            up as u32
        } else {
            rest
        })
    }

    /// The children: half the lowest bit to either side, within the tree.
    fn below(self, node: u32) -> impl Iterator<Item = u32> {
        let half = match node {
            0 => self.ranks.next_power_of_two() / 2,
            _ => (1 << node.trailing_zeros()) / 2,
        };
        let left = (node > 0 && half > 0).then(|| node - half);
        let halves = (0..32)
            .map(move |shift| half >> shift)
            .take_while(|half| *half > 0);
        let right = halves
            .filter_map(move |half| node.checked_add(half))
            .find(|right| *right < self.ranks);
        left.into_iter().chain(right)
    }

    /// Edges between a node and the root.
    fn depth(self, node: u32) -> u32 {
        std::iter::successors(self.above(node), |node| self.above(*node)).count() as u32
    }
}

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let height = call.doublings();
    let halves = [call.even_part(2, 0..1), call.even_part(2, 1..2)];
    if call.ranks == 1 || k >= (2 * height - 1).saturating_add(segments(halves[1])) {
        return false;
    }
    for (second, bytes) in [false, true].into_iter().zip(halves) {
        let ranks = call.ranks;
        let tree = BinaryTree { ranks, second };
        let node = tree.node(call.rank);
        let depth = tree.depth(node);
        let above = tree.above(node).map(|node| tree.rank(node));
        let below = || tree.below(node).map(|node| tree.rank(node));
        // Up: the deepest nodes start. Down: the root starts when it has the first segment.
        if let (Some(above), Some(bytes)) = (above, passing(bytes, k, height - depth)) {
            out.send(above, bytes);
        }
        if let Some(bytes) = passing(bytes, k, height + depth) {
            below().for_each(|rank| out.send(rank, bytes));
        }
        if depth < height
            && let Some(bytes) = passing(bytes, k, height - depth - 1)
        {
            below().for_each(|rank| out.receive_and_reduce(rank, bytes));
        }
        if let (Some(above), Some(bytes)) = (above, passing(bytes, k, height + depth - u32::from(depth > 0)))
        {
            out.receive(above, bytes);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::segments::{SEGMENT, segment};
    use super::super::symbolic::{MessagePassage, every_size, reduces_for_all};
    use super::*;

    #[test]
    fn the_trees_are_trees_and_the_inner_ranks_of_one_are_leaves_of_the_other() {
        for ranks in 1..200u32 {
            let trees = [false, true].map(|second| BinaryTree { ranks, second });
            for tree in trees {
                for node in 0..ranks {
                    assert_eq!(tree.rank(tree.node(node)), node);
                    let below: Vec<u32> = tree.below(node).collect();
                    let whose: Vec<u32> = (0..ranks).filter(|n| tree.above(*n) == Some(node)).collect();
                    assert_eq!(below, whose, "{node} of {ranks}");
                    assert!(tree.depth(node) <= ranks.next_power_of_two().ilog2());
                }
            }
            let inner = |tree: BinaryTree, rank: u32| tree.below(tree.node(rank)).count() > 1;
            assert!((0..ranks).all(|rank| !(inner(trees[0], rank) && inner(trees[1], rank))));
        }
    }

    #[test]
    fn every_rank_has_every_contribution_to_every_segment_once() {
        every_size(|ranks| {
            for bytes in [10, 4 * SEGMENT + 7] {
                let height = ranks.next_power_of_two().ilog2();
                let halves = [bytes / 2, bytes - bytes / 2];
                let sizes = halves.map(|half| (0..).map_while(move |i| segment(half, i)).collect::<Vec<_>>());
                let first = sizes[0].len() as u32;
                // Segments of the first tree, then of the second. Messages between two ranks in one round are
                // in this order.
                let paths = |message: MessagePassage| {
                    let mut paths = Vec::new();
                    for (second, sizes) in [false, true].into_iter().zip(&sizes) {
                        let tree = BinaryTree { ranks, second };
                        let (from, to) = (tree.node(message.from), tree.node(message.to));
                        let up = tree.above(from) == Some(to);
                        if up || tree.above(to) == Some(from) {
                            let depth = tree.depth(from);
                            let start = if up { height - depth } else { height + depth };
                            let segment = message.round.wrapping_sub(start);
                            if (segment as usize) < sizes.len() {
                                paths.push((up, segment + if second { first } else { 0 }));
                            }
                        }
                    }
                    paths[message.nth as usize]
                };
                let tally = reduces_for_all(
                    &ALGORITHM,
                    ranks,
                    bytes,
                    &sizes.concat(),
                    |message| vec![paths(message).1],
                    |message| paths(message).0,
                );
                let n = u64::from(ranks);
                let segments = sizes.concat().len() as u64;
                assert_eq!(tally, (2 * (n - 1) * segments, 2 * (n - 1) * bytes));
            }
        });
    }
}
