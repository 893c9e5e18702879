//! Broadcast by van de Geijn with recursive doubling: the vector is cut into p parts, the largest power of two
//! in n, and scattered down a binomial tree; then the ranks gather it by recursive doubling. Ranks are counted
//! from the root; those beyond p receive the whole vector at the end.

use workload::Collective;

use super::folding::{Folding, group};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Bcast,
    name: "scatter-recursive-doubling-allgather",
    summary: "scatter down a binomial tree, then allgather by recursive doubling; medium vectors",
    source: "Barnett et al. 1994 (van de Geijn); Thakur, Rabenseifner, Gropp 2005",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let folding = Folding::from_root(call);
    let (doublings, parts) = (folding.doublings, 1 << folding.doublings);
    if k == 2 * doublings && folding.rest > 0 {
        folding.unfold(call, call.bytes, out);
        return true;
    }
    if k >= 2 * doublings {
        return false;
    }
    let Some(position) = folding.position(call.rank) else {
        return true;
    };
    if k < doublings {
        // Scatter with the longest edges first; an edge carries the parts of the group below it.
        let bit = doublings - 1 - k;
        let peer = position ^ (1 << bit);
        let bytes = call.even_part(parts, group(position.max(peer), bit));
        if position % (1 << bit) == 0 {
            match position < peer {
                true => out.send(folding.rank_at(peer), bytes),
                false => out.receive(folding.rank_at(peer), bytes),
            }
        }
    } else {
        let bit = k - doublings;
        let peer = position ^ (1 << bit);
        out.send(folding.rank_at(peer), call.even_part(parts, group(position, bit)));
        out.receive(folding.rank_at(peer), call.even_part(parts, group(peer, bit)));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::CollectiveCall;
    use super::super::symbolic::{bcasts, every_size_and_root};
    use super::*;

    #[test]
    fn every_rank_gets_every_part() {
        every_size_and_root(|ranks, root| {
            let folding = Folding::from_root(&CollectiveCall::new(0, ranks, root, 0));
            let (d, p) = (folding.doublings, 1u32 << folding.doublings);
            let position = |rank: u32| folding.position(rank).unwrap();
            let tally = bcasts(
                &ALGORITHM,
                ranks,
                root,
                96 * u64::from(p),
                &vec![96; p as usize],
                |message| {
                    if message.round < d {
                        group(position(message.to), d - 1 - message.round).collect()
                    } else if message.round < 2 * d {
                        group(position(message.from), message.round - d).collect()
                    } else {
                        (0..p).collect()
                    }
                },
            );
            let (d, p, r) = (u64::from(d), u64::from(p), u64::from(folding.rest));
            let bytes = 96 * p;
            assert_eq!(
                tally,
                (p - 1 + p * d + r, bytes / 2 * d + (p - 1) * bytes + r * bytes)
            );
        });
    }
}
