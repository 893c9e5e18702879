//! Broadcast down a knomial tree of radix 4: the children of a rank, counted from the root, differ from it in
//! one more digit of base 4, below its lowest one. A rank sends to all its children at once, most distant
//! first. n - 1 messages.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, CollectiveCall, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Bcast,
    name: "knomial",
    summary: "down a knomial tree of radix 4; ceil(log4(n)) steps, the whole vector to all children at once",
    source: "Open MPI, with its default radix",
    varying: false,
    layout: HostLayout::Any,
    round,
};

const BITS_OF_A_DIGIT: u32 = 2;
const RADIX: u32 = 1 << BITS_OF_A_DIGIT;

/// Digits of base 4 that are not zero: the edges between a rank, counted from the root, and the root.
fn depth(from_root: u32) -> u32 {
    let digits = (0..u32::BITS / BITS_OF_A_DIGIT).map(|digit| from_root >> (BITS_OF_A_DIGIT * digit));
    digits.filter(|rest| rest % RADIX != 0).count() as u32
}

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let from_root = call.rank_before(call.root);
    let absolute = |from_root: u32| {
        let at = CollectiveCall {
            rank: from_root,
            ..**call
        };
        at.rank_after(call.root)
    };
    // A rank begins when the vector arrives.
    let receives = u32::from(from_root > 0);
    out.round_offset = depth(from_root).saturating_sub(1);
    // Shift of the lowest digit that is not zero; of the root, that of the highest digit of any rank.
    let end = match from_root {
        0 => call.doublings().next_multiple_of(BITS_OF_A_DIGIT),
        _ => from_root.trailing_zeros() / BITS_OF_A_DIGIT * BITS_OF_A_DIGIT,
    };
    if k < receives {
        let digit = (from_root >> end) % RADIX;
        out.receive(absolute(from_root - (digit << end)), call.bytes);
        return true;
    }
    if k > receives || call.ranks - from_root == 1 || end == 0 {
        return false;
    }
    for shift in (0..end).step_by(BITS_OF_A_DIGIT as usize).rev() {
        for digit in 1..RADIX {
            let child = u64::from(from_root) + (u64::from(digit) << shift);
            if child < u64::from(call.ranks) {
                out.send(absolute(child as u32), call.bytes);
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{bcasts, every_size, every_size_and_root};
    use super::*;

    #[test]
    fn every_rank_gets_the_vector_of_the_root() {
        let all = |ranks, root| {
            let n = u64::from(ranks);
            let tally = bcasts(&ALGORITHM, ranks, root, 100, &[100], |_| vec![0]);
            assert_eq!(tally, (n - 1, (n - 1) * 100));
        };
        every_size_and_root(all);
        all(300, 7);
    }

    #[test]
    fn the_tree_has_four_branches_a_step() {
        // The root of 16: distances 4, 8, 12, then 1, 2, 3.
        let call = CollectiveArgs::new(CollectiveCall::new(5, 16, 5, 9), None);
        let mut out = Round::default();
        assert!(round(&call, 0, &mut out));
        let to: Vec<u32> = out.sends.iter().map(|(to, _)| *to).collect();
        assert_eq!(to, [9, 13, 1, 6, 7, 8]);
        every_size(|ranks| {
            let most = (0..ranks).map(depth).max().unwrap();
            assert!(4u64.pow(most) < 4 * u64::from(ranks), "{ranks}");
        });
    }
}
