//! Reduce-scatter in n - 1 rounds: in round `k` everyone sends the rank k + 1 up its part of the
//! vector and hears from the one k + 1 down. The vector is cut evenly.

use workload::Collective;

use super::{Algorithm, CollectiveCall, Round};

pub(super) static ALGORITHM: Algorithm = Algorithm {
    collective: Collective::ReduceScatter,
    name: "pairwise",
    summary: "n - 1 rounds, one partner each; each part goes straight to its owner",
    source: "Thakur, Rabenseifner, Gropp 2005",
    round,
};

fn round(call: &CollectiveCall, k: u32, out: &mut Round) -> bool {
    if k >= call.ranks - 1 {
        return false;
    }
    let owner = call.up(k + 1);
    out.send(owner, call.part(owner));
    out.receive(call.down(k + 1), call.part(call.rank));
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{Sum, every_size, run};
    use super::*;

    #[test]
    fn everyone_has_every_contribution_to_its_part() {
        every_size(|ranks| {
            let whole = CollectiveCall {
                rank: 0,
                ranks,
                root: 0,
                bytes: 1000,
            };
            let (sums, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                1000,
                |rank| (Sum::of(rank), rank),
                |_, message, _| ((Sum::of(message.from), message.to), whole.part(message.to)),
                |(sum, part), _, (news, of_part)| {
                    assert_eq!(*part, of_part);
                    sum.add(&news);
                },
            );
            assert!(sums.iter().all(|(sum, _)| *sum == Sum::of_all(0..ranks)));
            let n = u64::from(ranks);
            assert_eq!(tally, (n * (n - 1), (n - 1) * 1000));
        });
    }
}
