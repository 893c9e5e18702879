//! Reduction up a balanced binary tree in which each subtree has consecutive ranks and its last rank is its
//! root, so that vectors are combined in the order of the ranks. The last rank of all has the result, and sends
//! it to the root if that is another one. n - 1 messages, or n.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Reduce,
    name: "in-order-binary-tree",
    summary: "up a binary tree in the order of the ranks to the last rank, and from it to the root",
    source: "Pjesivac-Grbovic et al. 2007; Open MPI",
    varying: false,
    layout: HostLayout::Any,
    round,
};

/// The node of a rank in the tree.
#[derive(Debug, PartialEq, Eq)]
struct InOrderNode {
    parent: Option<u32>,
    /// Roots of the subtrees of the lower and the upper half.
    children: [Option<u32>; 2],
    depth: u32,
}

fn node(rank: u32, ranks: u32) -> InOrderNode {
    // The subtree of the ranks from `first` to `last`.
    let (mut first, mut last) = (0, ranks - 1);
    let (mut parent, mut depth) = (None, 0);
    loop {
        // Half of the ranks, rounded down.
        let lower = (last - first).div_ceil(2);
        let children = [
            (lower > 0).then(|| first + lower - 1),
            (last - first > lower).then(|| last - 1),
        ];
        if rank == last {
            return InOrderNode {
                parent,
                children,
                depth,
            };
        }
        (parent, depth) = (Some(last), depth + 1);
        match rank < first + lower {
            true => last = first + lower - 1,
            false => (first, last) = (first + lower, last - 1),
        }
    }
}

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let height = call.ranks.ilog2();
    let last = call.ranks - 1;
    if k >= height + u32::from(call.root != last) {
        return false;
    }
    if k == height {
        if call.rank == last {
            out.send(call.root, call.bytes);
        } else if call.rank == call.root {
            out.receive(last, call.bytes);
        }
        return true;
    }
    let node = node(call.rank, call.ranks);
    if k + node.depth == height {
        node.parent
            .into_iter()
            .for_each(|rank| out.send(rank, call.bytes));
    } else if k + node.depth + 1 == height {
        let children = node.children.into_iter().flatten();
        children.for_each(|rank| out.receive_and_reduce(rank, call.bytes));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{MessagePassage, every_size_and_root, reduces};
    use super::*;

    #[test]
    fn the_root_has_every_contribution_once() {
        every_size_and_root(|ranks, root| {
            let n = u64::from(ranks);
            let adds = |message: MessagePassage| message.round < ranks.ilog2();
            let tally = reduces(&ALGORITHM, ranks, root, 100, &[100], |_| vec![0], adds);
            let messages = n - 1 + u64::from(root != ranks - 1);
            assert_eq!(tally, (messages, messages * 100));
        });
    }

    #[test]
    fn subtrees_are_consecutive_and_end_with_their_root() {
        for ranks in 1..200u32 {
            // Lowest rank of the subtree of each rank. Children have smaller numbers than their parents.
            let mut first: Vec<u32> = Vec::new();
            for rank in 0..ranks {
                let at = node(rank, ranks);
                assert!(at.depth <= ranks.ilog2());
                assert_eq!(at.parent.is_none(), rank == ranks - 1);
                let [lower, upper] = at.children;
                let start = lower.or(upper).map_or(rank, |child| first[child as usize]);
                if let (Some(lower), Some(upper)) = (lower, upper) {
                    assert_eq!(first[upper as usize], lower + 1);
                }
                let end = upper.or(lower);
                assert!(end.is_none_or(|end| end + 1 == rank));
                for child in at.children.into_iter().flatten() {
                    assert_eq!(node(child, ranks).parent, Some(rank));
                }
                first.push(start);
            }
        }
    }
}
