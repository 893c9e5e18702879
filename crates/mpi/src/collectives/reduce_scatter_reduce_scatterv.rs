//! Reduce-scatter as a reduction to rank 0 up a binomial tree, and a scatter where rank 0 sends each rank its
//! part at once. 2 (n - 1) messages.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, CollectiveCall, HostLayout, Round, reduce_binomial};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::ReduceScatter,
    name: "reduce-scatterv",
    summary: "reduce to rank 0 over a binomial tree, which then sends each rank its part",
    source: "Open MPI (non-overlapping)",
    varying: true,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let whole = CollectiveCall {
        root: 0,
        bytes: call.parts(0..call.ranks),
        ..**call
    };
    if reduce_binomial::round(&CollectiveArgs::new(whole, None), k, out) {
        return true;
    }
    if k > call.doublings() {
        return false;
    }
    if call.rank == 0 {
        for rank in 1..call.ranks {
            out.send(rank, call.part(rank));
        }
    } else {
        out.receive(0, call.part(call.rank));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{MessagePassage, every_size, reduce_scatters};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution_to_its_part() {
        every_size(|ranks| {
            let n = u64::from(ranks);
            let up = ranks.next_power_of_two().ilog2();
            let carried = |message: MessagePassage| match message.round < up {
                true => (0..ranks).collect(),
                false => vec![message.to],
            };
            reduce_scatters(
                &ALGORITHM,
                ranks,
                carried,
                |message| message.round < up,
                2 * (n - 1),
                n - 1,
                |rank| rank > 0,
            );
        });
    }
}
