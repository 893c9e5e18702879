//! Allreduce round a ring: n - 1 rounds reduce one part of the vector per rank, n - 1 more hand the
//! results round. Each rank sends 2 (n - 1)/n of the vector, the least that is possible.

use workload::Collective;

use super::{Algorithm, CollectiveCall, Round};

pub(super) static ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    name: "ring",
    summary: "reduce-scatter and allgather round a ring; best for long vectors",
    source: "Patarasuk, Yuan 2009; Open MPI, NCCL",
    round,
};

/// The part of the vector that this rank sends in round `k`: it starts with its own and passes on what
/// it got in the round before.
fn sent_part(call: &CollectiveCall, k: u32) -> u32 {
    call.down(k % call.ranks)
}

fn round(call: &CollectiveCall, k: u32, out: &mut Round) -> bool {
    if u64::from(k) >= 2 * u64::from(call.ranks - 1) {
        return false;
    }
    let left = CollectiveCall {
        rank: call.down(1),
        ..*call
    };
    out.send(call.up(1), call.part(sent_part(call, k)));
    out.receive(left.rank, call.part(sent_part(&left, k)));
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{Sum, every_size, run};
    use super::*;

    #[test]
    fn everyone_has_every_contribution_once_in_every_part() {
        every_size(|ranks| {
            let call = |rank| CollectiveCall {
                rank,
                ranks,
                root: 0,
                bytes: 1000,
            };
            let (vectors, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                1000,
                |rank| vec![Sum::of(rank); ranks as usize],
                |parts, message, _| {
                    let part = sent_part(&call(message.from), message.round);
                    (parts[part as usize].clone(), call(0).part(part))
                },
                |parts, message, news| {
                    let part = &mut parts[sent_part(&call(message.from), message.round) as usize];
                    if message.round < ranks - 1 {
                        part.add(&news)
                    } else {
                        *part = news
                    }
                },
            );
            let all = Sum::of_all(0..ranks);
            assert!(vectors.iter().flatten().all(|part| *part == all), "{ranks}");
            let n = u64::from(ranks);
            assert_eq!(tally, (2 * n * (n - 1), 2 * (n - 1) * 1000));
        });
    }
}
