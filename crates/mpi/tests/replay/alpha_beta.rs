//! Times of all algorithms for powers of two against the alpha-beta formulas of the literature: a message of x
//! bytes takes alpha + beta x, independent of other messages, and a rank continues when its data has arrived. Where
//! reductions take time, a rank that combines x bytes with its own first works for gamma x.

use des::Time;
use mpi::{ALGORITHMS, HostLayout, MpiSettings};
use workload::Collective;

use super::network::*;

const ALPHA: u64 = 1000;
const BYTES: u64 = 6400;
/// Picoseconds per byte of a reduction. They are few, so that the order of arrivals stays that without reductions.
const GAMMA: u64 = 16;

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

/// Bytes that are reduced one after the other before the last of n ranks ends, with n a power of two. The formulas are
/// the gamma terms of Thakur, Rabenseifner and Gropp 2005.
fn reduced(collective: Collective, name: &str, n: u64) -> u64 {
    use Collective::*;
    let (log, b) = (u64::from(n.ilog2()), BYTES);
    let algorithm = (collective, name);
    match algorithm {
        // The deepest leaf has no sibling, so each of its ancestors has reduced its other child before.
        (Reduce, "binomial" | "binary-tree" | "in-order-binary-tree") => log * b,
        // All vectors arrive at once, or one after the other.
        (Reduce, "linear" | "pipeline" | "chain") => (n - 1) * b,
        (Reduce | Allreduce, "rabenseifner") => b * (n - 1) / n,
        (Allreduce, "recursive-doubling" | "reduce-bcast" | "binary-tree") => log * b,
        // In each tree both children of a node arrive at once; the root has one.
        (Allreduce, "double-binary-tree") => (2 * log - 1) * b / 2,
        (Allreduce, "ring") => b * (n - 1) / n,
        (ReduceScatter, "pairwise" | "ring" | "recursive-halving") => b * (n - 1) / n,
        (ReduceScatter, "reduce-scatterv") => log * b,
        (ReduceScatter, "recursive-doubling") => log * b - b * (n - 1) / n,
        // The last rank is the upper one of each pair.
        (Scan, "recursive-doubling") => 2 * log * b,
        (Exscan, "recursive-doubling") => (2 * log - 1) * b,
        (Scan, "linear") => (n - 1) * b,
        (Exscan, "linear") => (n - 2) * b,
        _ => 0,
    }
}

/// The same on h hosts with c ranks each.
fn reduced_on_hosts(collective: Collective, h: u64, c: u64) -> u64 {
    match collective {
        Collective::Reduce | Collective::Allreduce => u64::from(h.ilog2() + c.ilog2()) * BYTES,
        _ => 0,
    }
}

#[test]
fn every_algorithm_takes_the_time_of_its_form() {
    check_all_algorithms(None);
}

#[test]
fn every_reduction_takes_the_time_of_its_form() {
    check_all_algorithms(Some(8_000_000_000_000 / GAMMA));
}

/// Compares the times of all algorithms with their forms.
fn check_all_algorithms(reduction_bandwidth: Option<u64>) {
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
                reduction_bandwidth,
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
            let last = (0..ranks as usize).map(|rank| outcome.end(rank)).max();
            let (hosts, each) = (u64::from(ranks >> inside), 1 << inside);
            let (form, reduced) = match algorithm.layout {
                HostLayout::Any => (
                    expected(algorithm.collective, algorithm.name, u64::from(ranks)),
                    reduced(algorithm.collective, algorithm.name, u64::from(ranks)),
                ),
                _ => (
                    expected_on_hosts(algorithm.collective, hosts, each),
                    reduced_on_hosts(algorithm.collective, hosts, each),
                ),
            };
            let gamma = reduction_bandwidth.map_or(0, |_| GAMMA);
            let form = Time::from_ps(form * 1000 + reduced * gamma);
            let name = (algorithm.collective.name(), algorithm.name);
            assert_eq!(last, Some(form), "{name:?} of {ranks}");
        }
    }
}
