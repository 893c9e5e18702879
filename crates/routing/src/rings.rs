//! Bubble rings in a graph of channels: the cycles that bubble flow control keeps moving. Independent of networks;
//! `deadlock.rs` explains why such a ring is harmless.

/// Flag of an edge: the waiting packet needs space only for itself.
pub(crate) const CREDIT: u8 = 1;
/// The waiting packet needs a bubble.
pub(crate) const BUBBLE: u8 = 2;

/// For each channel, the channels that its packets wait for, with flags.
pub(crate) type Dependencies = Vec<Vec<(u32, u8)>>;

/// Marks the channels of all bubble rings, and counts these rings. `guarded` says whether all packets that enter a
/// channel from a host leave a bubble, and none enters with reserved space.
pub(crate) fn bubble_rings(waits: &Dependencies, guarded: impl Fn(u32) -> bool) -> (Vec<bool>, u64) {
    let mut in_ring = vec![false; waits.len()];
    let mut waited_by = vec![0u32; waits.len()];
    for (next, how) in waits.iter().flatten() {
        waited_by[*next as usize] += u32::from(how & CREDIT != 0);
    }
    let mut rings = 0;
    for component in components(waits) {
        let mut inside: Vec<u32> = component.clone();
        inside.sort_unstable();
        let is_ring = component.iter().all(|channel| {
            let mut next = waits[*channel as usize]
                .iter()
                .filter(|(next, _)| inside.binary_search(next).is_ok());
            // Packets inside the ring wait for space without a bubble, and no others do.
            let goes_round =
                |(next, how): &(u32, u8)| *how == CREDIT && waited_by[*next as usize] == 1 && guarded(*next);
            next.next().is_some_and(goes_round) && next.next().is_none()
        });
        if is_ring {
            rings += 1;
            for channel in component {
                in_ring[channel as usize] = true;
            }
        }
    }
    (in_ring, rings)
}

/// A vertex that Tarjan's search has visited.
#[derive(Clone, Copy)]
struct Reached {
    /// Order of the visit, from 1 on; 0 before the visit.
    index: u32,
    /// The lowest visited vertex that is known to be reachable and whose component is incomplete.
    low: u32,
    on_stack: bool,
}

/// The strongly connected components of two vertices or more (R. Tarjan, "Depth-first search and linear graph
/// algorithms", SIAM J. Computing 1(2), 1972), without recursion.
fn components(waits: &Dependencies) -> Vec<Vec<u32>> {
    let untouched = Reached {
        index: 0,
        low: 0,
        on_stack: false,
    };
    let mut reached = vec![untouched; waits.len()];
    let (mut found, mut stack, mut count) = (Vec::new(), Vec::new(), 0);
    for root in 0..waits.len() as u32 {
        if reached[root as usize].index != 0 {
            continue;
        }
        // Vertices on the search path, each with the number of edges followed.
        let mut path = vec![(root, 0usize)];
        while let Some((vertex, followed)) = path.last_mut() {
            let (v, edge) = (*vertex as usize, *followed);
            if edge == 0 && reached[v].index == 0 {
                count += 1;
                reached[v] = Reached {
                    index: count,
                    low: count,
                    on_stack: true,
                };
                stack.push(v as u32);
            }
            if let Some((next, _)) = waits[v].get(edge) {
                *followed += 1;
                let there = reached[*next as usize];
                if there.index == 0 {
                    path.push((*next, 0));
                } else if there.on_stack {
                    reached[v].low = reached[v].low.min(there.index);
                }
                continue;
            }
            path.pop();
            if let Some((before, _)) = path.last() {
                let before = *before as usize;
                reached[before].low = reached[before].low.min(reached[v].low);
            }
            if reached[v].low == reached[v].index {
                let first = stack
                    .iter()
                    .rposition(|w| *w as usize == v)
                    .expect("on the stack");
                let component = stack.split_off(first);
                for member in &component {
                    reached[*member as usize].on_stack = false;
                }
                if component.len() > 1 {
                    found.push(component);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings(waits: &[&[(u32, u8)]]) -> u64 {
        let waits: Dependencies = waits.iter().map(|edges| edges.to_vec()).collect();
        bubble_rings(&waits, |_| true).1
    }

    #[test]
    fn components_are_those_of_mutual_reach() {
        let edges = [
            vec![1],
            vec![2, 4],
            vec![0, 3],
            vec![4],
            vec![3, 5],
            vec![],
            vec![6],
        ];
        let waits: Dependencies = edges
            .iter()
            .map(|next| next.iter().map(|n| (*n, CREDIT)).collect())
            .collect();
        let mut found = components(&waits);
        for component in &mut found {
            component.sort_unstable();
        }
        found.sort();
        assert_eq!(found, [vec![0, 1, 2], vec![3, 4]]);
    }

    #[test]
    fn a_ring_needs_bubbles_at_every_entrance_and_none_inside() {
        // The ring is 0 -> 1 -> 2 -> 0, with an entry from 3 and an exit to 4.
        assert_eq!(
            rings(&[
                &[(1, CREDIT)],
                &[(2, CREDIT)],
                &[(0, CREDIT), (4, CREDIT)],
                &[(0, BUBBLE)],
                &[]
            ]),
            1
        );
        assert_eq!(
            rings(&[
                &[(1, CREDIT)],
                &[(2, CREDIT)],
                &[(0, CREDIT)],
                &[(0, CREDIT)],
                &[]
            ]),
            0
        );
        assert_eq!(
            rings(&[
                &[(1, CREDIT)],
                &[(2, CREDIT)],
                &[(0, CREDIT)],
                &[(0, CREDIT | BUBBLE)],
                &[]
            ]),
            0
        );
        assert_eq!(rings(&[&[(1, BUBBLE)], &[(2, CREDIT)], &[(0, CREDIT)]]), 0);
        assert_eq!(
            rings(&[&[(1, CREDIT | BUBBLE)], &[(2, CREDIT)], &[(0, CREDIT)]]),
            0
        );
    }

    #[test]
    fn what_is_more_than_a_ring_is_none() {
        // Two rings lead into each other, by bubbles.
        let both = [(1, CREDIT), (2, BUBBLE)];
        assert_eq!(
            rings(&[&both, &[(0, CREDIT)], &[(3, CREDIT), (0, BUBBLE)], &[(2, CREDIT)]]),
            0
        );
        // With one direction only, both rings are harmless.
        assert_eq!(rings(&[&both, &[(0, CREDIT)], &[(3, CREDIT)], &[(2, CREDIT)]]), 2);
        // The ring has a chord.
        assert_eq!(
            rings(&[&[(1, CREDIT), (2, BUBBLE)], &[(2, CREDIT)], &[(0, CREDIT)]]),
            0
        );
    }

    #[test]
    fn a_ring_that_is_entered_unguarded_is_none() {
        let waits: Dependencies = vec![vec![(1, CREDIT)], vec![(0, CREDIT)]];
        assert_eq!(bubble_rings(&waits, |_| true), (vec![true, true], 1));
        assert_eq!(
            bubble_rings(&waits, |channel| channel != 1),
            (vec![false, false], 0)
        );
    }
}
