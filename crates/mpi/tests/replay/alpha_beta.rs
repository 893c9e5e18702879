//! Times of all algorithms for powers of two against the alpha-beta formulas of the literature: a message of x
//! bytes takes alpha + beta x, independent of other messages, and a rank continues when its data has arrived.

use des::Time;
use mpi::{ALGORITHMS, HostLayout, MpiSettings};
use workload::Collective;

use super::network::*;

const ALPHA: u64 = 1000;
const BYTES: u64 = 6400;

/// Time of `BYTES` on n ranks in nanoseconds, by the formulas of `docs/methods/collectives.md`.
fn expected(collective: Collective, name: &str, n: u64) -> u64 {
    use Collective::*;
    let (log, b) = (u64::from(n.ilog2()), BYTES);
    let message = |bytes: u64| ALPHA + bytes;
    // Parts of a vector that halve down to 1 / n: b (n - 1) / n in log2 n messages.
    let halving = log * ALPHA + b * (n - 1) / n;
    // Contributions that double up to n / 2 of them.
    let doubling = log * ALPHA + b * (n - 1);
    // A message without payload has one byte on the wire.
    let signal = message(1);
    match (collective, name) {
        (Barrier, "dissemination" | "recursive-doubling") => log * signal,
        (Barrier, "tree") => 2 * log * signal,
        (Barrier, "linear") => 2 * signal,
        (Barrier, "binary-tree") => 2 * log * signal,
        (Bcast | Reduce, "binomial" | "binary-tree") => log * message(b),
        (Bcast, "knomial") => log.div_ceil(2) * message(b),
        // The last step goes from the last rank to the root, which is another one.
        (Reduce, "in-order-binary-tree") => (log + 1) * message(b),
        (Bcast | Reduce, "linear") => message(b),
        // A chain with one segment.
        (Bcast | Reduce, "pipeline" | "chain") => (n - 1) * message(b),
        (Bcast, "scatter-recursive-doubling-allgather") => 2 * halving,
        (Bcast, "scatter-ring-allgather") => halving + (n - 1) * message(b / n),
        (Reduce | Allreduce, "rabenseifner") => 2 * halving,
        (Allreduce, "recursive-doubling") => log * message(b),
        (Allreduce, "ring") => 2 * (n - 1) * message(b / n),
        (Allreduce, "reduce-bcast" | "binary-tree") => 2 * log * message(b),
        // One segment in each half.
        (Allreduce, "double-binary-tree") => 2 * log * message(b / 2),
        (Allgather, "ring") => (n - 1) * message(b),
        (Allgather, "recursive-doubling" | "bruck") => doubling,
        (Allgather, "neighbor-exchange") => message(b) + (n / 2 - 1) * message(2 * b),
        (Allgather, "gather-bcast") => message(b) + log * message(n * b),
        (Alltoall, "pairwise" | "pairwise-exchange") => (n - 1) * message(b),
        (Alltoall, "ring") => (n - 1) * ALPHA + b * n * (n - 1) / 2,
        (Alltoall, "bruck") => log * message(n / 2 * b),
        (Alltoall, "linear") => message(b),
        (Alltoall, "scattered") => (n - 1).div_ceil(32) * message(b),
        (Gather | Scatter, "binomial") => doubling,
        (Gather | Scatter, "linear") => message(b),
        (ReduceScatter, "pairwise" | "ring") => (n - 1) * message(b / n),
        (ReduceScatter, "reduce-scatterv") => log * message(b) + message(b / n),
        (ReduceScatter, "recursive-halving") => halving,
        (ReduceScatter, "recursive-doubling") => log * message(b) - b * (n - 1) / n,
        (Scan | Exscan, "recursive-doubling") => log * message(b),
        (Scan | Exscan, "linear") => (n - 1) * message(b),
        _ => panic!("{collective:?} {name} has no formula"),
    }
}

/// Time of an algorithm on two levels, on h hosts with c ranks each. Both are powers of two.
fn expected_on_hosts(collective: Collective, h: u64, c: u64) -> u64 {
    use Collective::*;
    let (hosts, inside, b) = (u64::from(h.ilog2()), u64::from(c.ilog2()), BYTES);
    let message = |bytes: u64| ALPHA + bytes;
    match collective {
        Barrier => (2 * inside + hosts) * message(1),
        Bcast | Reduce => (hosts + inside) * message(b),
        Allreduce => 2 * (hosts + inside) * message(b),
        Gather | Scatter => (hosts + inside) * ALPHA + b * (h * c - 1),
        Allgather => {
            let gather = inside * ALPHA + b * (c - 1);
            gather + (h - 1) * message(c * b) + inside * message(h * c * b)
        }
        _ => panic!("{collective:?} has no formula on two levels"),
    }
}

#[test]
fn every_algorithm_takes_the_time_of_its_form() {
    for algorithm in ALGORITHMS {
        for (log, inside) in (1..=6).flat_map(|log| (0..log).map(move |inside| (log, inside))) {
            let ranks = 1u32 << log;
            // Ranks that share hosts matter on two levels only, and are needed there.
            if (algorithm.layout == HostLayout::Any) != (inside == 0) {
                continue;
            }
            let mut settings = MpiSettings {
                eager_threshold: u64::MAX,
                send_overhead: Time::ZERO,
                receive_overhead: Time::ZERO,
                header_bytes: 0,
                ..settings()
            };
            settings
                .collectives
                .choose(algorithm.collective, algorithm.name)
                .unwrap();
            let root = ranks / 3;
            let operation = collective(algorithm.collective, 0, root, BYTES);
            let programs = vec![vec![operation]; ranks as usize];
            let world = vec![(0..ranks).collect()];
            let host_of = |rank: u32| rank >> inside;
            let outcome = run_on_hosts(settings, fixed(), world, host_of, programs).unwrap();
            outcome.assert_clean();
            let last = (0..ranks as usize).map(|rank| outcome.end_ns(rank)).max();
            let form = match algorithm.layout {
                HostLayout::Any => expected(algorithm.collective, algorithm.name, u64::from(ranks)),
                _ => expected_on_hosts(algorithm.collective, u64::from(ranks >> inside), 1 << inside),
            };
            let name = (algorithm.collective.name(), algorithm.name);
            assert_eq!(last, Some(form), "{name:?} of {ranks}");
        }
    }
}
