//! Allgather round a ring: in each of n - 1 rounds everyone passes on what it got in the round before.

use workload::Collective;

use super::{Algorithm, CollectiveCall, Round};

pub(super) static ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    name: "ring",
    summary: "n - 1 rounds to the next rank; best for long contributions",
    source: "Thakur, Rabenseifner, Gropp 2005",
    round,
};

fn round(call: &CollectiveCall, k: u32, out: &mut Round) -> bool {
    if k >= call.ranks - 1 {
        return false;
    }
    out.send(call.up(1), call.bytes);
    out.receive(call.down(1), call.bytes);
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, run};
    use super::*;

    #[test]
    fn everyone_has_every_contribution() {
        every_size(|ranks| {
            let (gathered, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                100,
                |rank| vec![rank],
                |blocks, _, _| (*blocks.last().unwrap(), 100),
                |blocks, _, news| blocks.push(news),
            );
            for mut blocks in gathered {
                blocks.sort_unstable();
                assert_eq!(blocks, (0..ranks).collect::<Vec<_>>());
            }
            let messages = u64::from(ranks) * u64::from(ranks - 1);
            assert_eq!(tally, (messages, messages * 100));
        });
    }
}
