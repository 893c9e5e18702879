//! Allgather after Bruck: in round `k` everyone sends all it has, at most 2^k contributions, to the
//! rank 2^k down. Ceil(log2 n) rounds for any n; the same bytes as the ring.

use workload::Collective;

use super::{Algorithm, CollectiveCall, Round};

pub(super) static ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    name: "bruck",
    summary: "log2(n) rounds with doubling amounts; best for short contributions",
    source: "Bruck, Ho, Kipnis, Upfal, Weathersby 1997; Thakur, Rabenseifner, Gropp 2005",
    round,
};

fn round(call: &CollectiveCall, k: u32, out: &mut Round) -> bool {
    if k >= call.doublings() {
        return false;
    }
    let distance = 1 << k;
    let blocks = distance.min(call.ranks - distance);
    let bytes = call.bytes.saturating_mul(u64::from(blocks));
    out.send(call.down(distance), bytes);
    out.receive(call.up(distance), bytes);
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, run};
    use super::*;

    #[test]
    fn everyone_has_every_contribution_once() {
        every_size(|ranks| {
            let (gathered, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                100,
                |rank| vec![rank],
                |blocks, _, bytes| {
                    let sent = blocks[..(bytes / 100) as usize].to_vec();
                    let size = sent.len() as u64 * 100;
                    (sent, size)
                },
                |blocks, _, news| blocks.extend(news),
            );
            for mut blocks in gathered {
                blocks.sort_unstable();
                assert_eq!(blocks, (0..ranks).collect::<Vec<_>>());
            }
            let n = u64::from(ranks);
            assert_eq!(
                tally,
                (
                    n * u64::from(ranks.next_power_of_two().ilog2()),
                    n * (n - 1) * 100
                )
            );
        });
    }
}
