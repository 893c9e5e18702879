//! Alltoall by Bruck: a block for the rank at distance d travels by the bits of d. In round `k` each rank sends
//! all blocks with bit k of their distance to the rank 2^k after it. Ceil(log2 n) rounds; a block is sent once
//! for each bit of its distance.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Alltoall,
    name: "bruck",
    summary: "log2(n) rounds with about half of all blocks each; short messages",
    source: "Bruck, Ho, Kipnis, Upfal, Weathersby 1997; Thakur, Rabenseifner, Gropp 2005",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k >= call.doublings() {
        return false;
    }
    // Distances below n that have bit k.
    let bit = 1u64 << k;
    let n = u64::from(call.ranks);
    let blocks = n / (2 * bit) * bit + (n % (2 * bit)).saturating_sub(bit);
    let bytes = call.bytes.saturating_mul(blocks);
    out.send(call.rank_after(1 << k), bytes);
    out.receive(call.rank_before(1 << k), bytes);
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, pairs, run};
    use super::*;

    #[test]
    fn every_rank_gets_its_block_from_everyone() {
        every_size(|ranks| {
            let (received, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                100,
                |rank| (0..ranks).map(|to| (rank, to)).collect::<Vec<_>>(),
                |blocks, message, _| {
                    let travels =
                        |(from, to): &(u32, u32)| ((to + ranks - from) % ranks) & (1 << message.round) != 0;
                    let sent: Vec<_> = blocks.extract_if(.., |block| travels(block)).collect();
                    let size = sent.len() as u64 * 100;
                    (sent, size)
                },
                |blocks, _, news| blocks.extend(news),
            );
            for (rank, mut blocks) in (0..).zip(received) {
                blocks.sort_unstable();
                assert_eq!(blocks, (0..ranks).map(|from| (from, rank)).collect::<Vec<_>>());
            }
            let rounds = u64::from(ranks.next_power_of_two().ilog2());
            let n = u64::from(ranks);
            assert_eq!(tally, (n * rounds, n * pairs(ranks) * 100));
        });
    }
}
