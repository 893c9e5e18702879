//! Alltoall in a ring: each rank passes on, to the rank after it, all blocks that are not for itself. In round
//! `k` these are n - 1 - k blocks. Every message goes to a neighbour; a block crosses as many edges as its
//! distance.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Alltoall,
    name: "ring",
    summary: "n - 1 rounds, blocks pass from neighbour to neighbour; for networks that are rings",
    source: "Grama, Gupta, Karypis, Kumar 2003, section 4.5.1",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k >= call.ranks - 1 {
        return false;
    }
    let bytes = call.bytes.saturating_mul(u64::from(call.ranks - 1 - k));
    out.send(call.rank_after(1), bytes);
    out.receive(call.rank_before(1), bytes);
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, run};
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
                    let sent: Vec<_> = blocks.extract_if(.., |(_, to)| *to != message.from).collect();
                    let size = sent.len() as u64 * 100;
                    (sent, size)
                },
                |blocks, _, news| blocks.extend(news),
            );
            for (rank, mut blocks) in (0..).zip(received) {
                blocks.sort_unstable();
                assert_eq!(blocks, (0..ranks).map(|from| (from, rank)).collect::<Vec<_>>());
            }
            let n = u64::from(ranks);
            assert_eq!(tally, (n * (n - 1), n * n * (n - 1) / 2 * 100));
        });
    }
}
