//! Alltoall in n - 1 rounds: in round `k` everyone sends to the rank k + 1 up and hears from the one
//! k + 1 down. Works for any n and sends every byte once.

use workload::Collective;

use super::{Algorithm, CollectiveCall, Round};

pub(super) static ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    name: "pairwise",
    summary: "n - 1 rounds, one partner each; best for long messages",
    source: "Thakur, Rabenseifner, Gropp 2005",
    round,
};

fn round(call: &CollectiveCall, k: u32, out: &mut Round) -> bool {
    if k >= call.ranks - 1 {
        return false;
    }
    out.send(call.up(k + 1), call.bytes);
    out.receive(call.down(k + 1), call.bytes);
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, run};
    use super::*;

    #[test]
    fn everyone_gets_its_block_from_everyone() {
        every_size(|ranks| {
            let (received, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                100,
                |rank| vec![(rank, rank)],
                |_, message, _| ((message.from, message.to), 100),
                |blocks, _, news| blocks.push(news),
            );
            for (rank, mut blocks) in (0..).zip(received) {
                blocks.sort_unstable();
                assert_eq!(blocks, (0..ranks).map(|from| (from, rank)).collect::<Vec<_>>());
            }
            let messages = u64::from(ranks) * u64::from(ranks - 1);
            assert_eq!(tally, (messages, messages * 100));
        });
    }
}
