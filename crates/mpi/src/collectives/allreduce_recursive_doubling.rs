//! Allreduce by recursive doubling of whole vectors. With n ranks, p the largest power of two in n and
//! r = n - p: r ranks first hand their vector to a neighbour and get the result back at the end; the
//! others exchange in log2 p rounds. p log2 p + 2 r messages.

use workload::Collective;

use super::{Algorithm, CollectiveCall, Round};

pub(super) static ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    name: "recursive-doubling",
    summary: "exchanges whole vectors at distances 1, 2, 4, ...; best for short vectors",
    source: "Thakur, Rabenseifner, Gropp 2005; remainder as in MPICH",
    round,
};

fn round(call: &CollectiveCall, k: u32, out: &mut Round) -> bool {
    let doublings = call.ranks.ilog2();
    let rest = call.ranks - (1 << doublings);
    let paired = call.rank < 2 * rest;
    // Of each pair the odd rank takes part in the doubling.
    let sits_out = paired && call.rank.is_multiple_of(2);
    if rest > 0 && (k == 0 || k == doublings + 1) {
        match (paired, sits_out == (k == 0)) {
            (false, _) => {}
            (true, true) => out.send(call.rank ^ 1, call.bytes),
            (true, false) => out.receive(call.rank ^ 1, call.bytes),
        }
        return true;
    }
    let step = if rest > 0 { k - 1 } else { k };
    if step >= doublings {
        return false;
    }
    if !sits_out {
        let position = if paired { call.rank / 2 } else { call.rank - rest };
        let other = position ^ (1 << step);
        let peer = if other < rest { 2 * other + 1 } else { other + rest };
        out.send(peer, call.bytes);
        out.receive(peer, call.bytes);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{Sum, every_size, run};
    use super::*;

    #[test]
    fn everyone_has_every_contribution_once() {
        every_size(|ranks| {
            let doublings = ranks.ilog2();
            let rest = ranks - (1 << doublings);
            let (sums, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                100,
                Sum::of,
                |sum, _, _| (sum.clone(), 100),
                |sum, message, news| {
                    // The last round brings the result to those that sat out.
                    if rest > 0 && message.round == doublings + 1 {
                        *sum = news;
                    } else {
                        sum.add(&news);
                    }
                },
            );
            assert!(sums.iter().all(|sum| *sum == Sum::of_all(0..ranks)), "{ranks}");
            let messages = u64::from((ranks - rest) * doublings + 2 * rest);
            assert_eq!(tally, (messages, messages * 100));
        });
    }
}
