//! Reduce-scatter in n - 1 rounds: in round `k` each rank sends the rank k + 1 after it that rank's part of the
//! vector and receives from the rank k + 1 before it. Without counts the vector is cut evenly.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::ReduceScatter,
    name: "pairwise",
    summary: "n - 1 rounds, one partner each; each part goes straight to its owner",
    source: "Thakur, Rabenseifner, Gropp 2005",
    varying: true,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k >= call.ranks - 1 {
        return false;
    }
    let owner = call.rank_after(k + 1);
    out.send(owner, call.part(owner));
    out.receive_and_reduce(call.rank_before(k + 1), call.part(call.rank));
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, reduce_scatters};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution_to_its_part() {
        every_size(|ranks| {
            let n = u64::from(ranks);
            reduce_scatters(
                &ALGORITHM,
                ranks,
                |message| vec![message.to],
                |_| true,
                n * (n - 1),
                n - 1,
                |_| false,
            );
        });
    }
}
