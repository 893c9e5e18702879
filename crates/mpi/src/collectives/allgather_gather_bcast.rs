//! Allgather as a gather to rank 0, where all ranks send at once, and a broadcast of everything down a binomial
//! tree. 2 (n - 1) messages.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, CollectiveCall, HostLayout, Round, bcast_binomial};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allgather,
    name: "gather-bcast",
    summary: "all ranks send to rank 0 at once, which broadcasts all contributions over a binomial tree",
    source: "Open MPI (default of allgatherv)",
    varying: true,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    match k.checked_sub(1) {
        None if call.rank == 0 => {
            for rank in 1..call.ranks {
                out.receive(rank, call.contributions(rank..rank + 1));
            }
            true
        }
        None => {
            out.send(0, call.contributions(call.rank..call.rank + 1));
            true
        }
        Some(k) => {
            let all = CollectiveCall {
                root: 0,
                bytes: call.contributions(0..call.ranks),
                ..**call
            };
            bcast_binomial::round(&CollectiveArgs::new(all, None), k, out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{allgathers_of, every_size};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution() {
        every_size(|ranks| {
            let carried = |message: super::super::symbolic::MessagePassage| match message.round {
                0 => vec![message.from],
                _ => (0..ranks).collect(),
            };
            let n = u64::from(ranks);
            // The broadcast carries everything n - 1 times, the gather all but the part of rank 0.
            allgathers_of(&ALGORITHM, ranks, carried, |sizes| {
                let all: u64 = sizes.iter().sum();
                (2 * (n - 1), (n - 1) * all + all - sizes[0])
            });
        });
    }
}
