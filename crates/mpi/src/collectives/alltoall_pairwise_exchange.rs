//! Alltoall in n - 1 rounds of one partner. With a power of two of ranks, partners exchange: in round `k` the
//! partner of `r` is `r xor (k + 1)`. With any other number, it is `pairwise`.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round, alltoall_pairwise};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Alltoall,
    name: "pairwise-exchange",
    summary: "n - 1 rounds; in powers of two pairs of ranks exchange, else as pairwise",
    source: "Thakur, Rabenseifner, Gropp 2005; MPICH, TraceR",
    varying: true,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if !call.ranks.is_power_of_two() {
        return alltoall_pairwise::round(call, k, out);
    }
    if k >= call.ranks - 1 {
        return false;
    }
    let partner = call.rank ^ (k + 1);
    out.send(partner, call.bytes_to(partner));
    out.receive(partner, call.bytes_from(partner));
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{alltoalls, every_size};
    use super::*;

    #[test]
    fn every_rank_gets_its_block_from_everyone() {
        every_size(|ranks| alltoalls(&ALGORITHM, ranks, false));
    }
}
