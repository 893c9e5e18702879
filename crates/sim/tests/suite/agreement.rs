//! Ranks that disagree about a collective end the run with an error that names the ranks and their calls, whatever
//! the algorithm and the executor. Ranks that agree never get this error.

use mpi::{ALGORITHMS, MpiSettings};
use testkit::executors::OF_SIMULATIONS;
use workload::{Call, Collective, Counts, Operation};

use crate::support::{compute, job, jobs_on, run, try_run};

const NETWORK: &str = r#"
[network]
topology = { kind = "torus", sizes = [3, 3] }
routing = { algorithm = "dimension-order" }
"#;

const RANKS: usize = 4;

/// A collective, blocking or started and awaited.
fn call(collective: Collective, root: u32, bytes: u64, blocks: bool) -> Vec<Operation> {
    let call = *Call::ALL
        .iter()
        .find(|call| call.collective() == Some(collective) && call.is_nonblocking_collective() != blocks)
        .expect("a call of each collective");
    operations(collective, call, (root, bytes), None, blocks)
}

fn operations(
    collective: Collective,
    call: Call,
    (root, bytes): (u32, u64),
    counts: Option<Counts>,
    blocks: bool,
) -> Vec<Operation> {
    let request = (!blocks).then_some(1);
    let start = Operation::Collective {
        collective,
        communicator: 0,
        root,
        bytes,
        counts: counts.map(Box::new),
        request,
        call,
    };
    let requests = vec![1];
    let call = Call::Wait;
    let wait = (!blocks).then_some(Operation::Wait { requests, call });
    std::iter::once(start).chain(wait).collect()
}

/// A barrier, then the operations of each rank.
fn after_barrier(own: impl Fn(u32) -> Vec<Operation>) -> Vec<Vec<Operation>> {
    let program = |rank| {
        let mut operations = call(Collective::Barrier, 0, 0, true);
        operations.extend(own(rank));
        operations
    };
    (0..RANKS as u32).map(program).collect()
}

fn ending(programs: Vec<Vec<Operation>>, settings: &MpiSettings) -> sim::Experiment {
    let application = job("a", programs, settings, &[0, 4, 4, 8]);
    jobs_on(NETWORK, vec![application])
}

/// The error of these programs, the same on the given executors.
fn error_of(programs: &[Vec<Operation>], settings: &MpiSettings, executors: usize) -> String {
    let mut experiment = ending(programs.to_vec(), settings);
    let errors: Vec<String> = OF_SIMULATIONS[..executors]
        .iter()
        .map(|(executor, threads)| {
            (experiment.run.executor, experiment.run.threads) = (*executor, *threads);
            let error = try_run(&experiment).expect_err("the ranks disagree");
            error.to_string()
        })
        .collect();
    assert!(errors.windows(2).all(|e| e[0] == e[1]), "{errors:#?}");
    errors[0].clone()
}

fn assert_named(error: &str, part: &str) {
    let line = format!("job 'a': collective 1 of communicator 0: {part}");
    assert!(error.contains(&line), "'{line}' is missing: {error}");
}

/// All algorithms of a collective.
fn settings_of(collective: Collective, varying: bool) -> Vec<MpiSettings> {
    let algorithms = ALGORITHMS
        .iter()
        .filter(|algorithm| algorithm.collective == collective && (algorithm.varying || !varying));
    let settings = algorithms.map(|algorithm| {
        let mut settings = MpiSettings::default();
        settings.collectives.choose(collective, algorithm.name);
        settings
    });
    settings.collect()
}

/// Root and bytes of rank 1 differ from those of the others.
#[test]
fn every_collective_with_every_algorithm_has_its_root_and_bytes_checked() {
    use Collective::*;
    for collective in [
        Bcast,
        Reduce,
        Allreduce,
        Allgather,
        Alltoall,
        Gather,
        Scatter,
        ReduceScatter,
        Scan,
        Exscan,
    ] {
        let has_root = matches!(collective, Bcast | Reduce | Gather | Scatter);
        for (settings, blocks) in settings_of(collective, false)
            .iter()
            .flat_map(|settings| [(settings, true), (settings, false)])
        {
            let (root, prefix) = if has_root {
                ("root 0, ", "root 1, ")
            } else {
                ("", "")
            };
            let sizes = after_barrier(|rank| call(collective, 0, if rank == 1 { 16 } else { 8 }, blocks));
            let error = error_of(&sizes, settings, 1);
            assert!(
                error.contains(&format!("with {root}8 B; rank 1 calls")),
                "{error}"
            );
            assert!(error.contains(&format!("with {root}16 B")), "{error}");
            assert_named(&error, "rank 0 calls ");
            if has_root {
                let roots = after_barrier(|rank| call(collective, u32::from(rank == 1), 8, blocks));
                let error = error_of(&roots, settings, 1);
                assert!(
                    error.contains(&format!("with {root}8 B; rank 1 calls")),
                    "{error}"
                );
                assert!(error.contains(&format!("with {prefix}8 B")), "{error}");
            }
        }
    }
}

#[test]
fn the_ranks_their_calls_and_values_are_named_on_all_executors() {
    let barrier = || call(Collective::Barrier, 0, 0, true);
    let settings = MpiSettings::default();
    for (programs, expected) in [
        (
            after_barrier(|rank| call(Collective::Bcast, u32::from(rank != 0), 8, true)),
            "rank 0 calls MPI_Bcast with root 0, 8 B; rank 1 calls MPI_Bcast with root 1, 8 B",
        ),
        (
            after_barrier(|rank| call(Collective::Allreduce, 0, if rank == 2 { 16 } else { 8 }, true)),
            "rank 0 calls MPI_Allreduce with 8 B; rank 2 calls MPI_Allreduce with 16 B",
        ),
        (
            after_barrier(|rank| call(Collective::Alltoall, 0, if rank == 3 { 16 } else { 8 }, false)),
            "rank 0 calls MPI_Ialltoall with 8 B; rank 3 calls MPI_Ialltoall with 16 B",
        ),
        (
            after_barrier(|rank| match rank {
                1 => barrier(),
                _ => call(Collective::Allreduce, 0, 8, true),
            }),
            "rank 0 calls MPI_Allreduce with 8 B; rank 1 calls MPI_Barrier",
        ),
        (
            // The root alone takes part in a second broadcast and waits for no rank.
            after_barrier(|rank| match rank {
                0 => call(Collective::Bcast, 0, 8, true),
                _ => Vec::new(),
            }),
            "rank 0 calls MPI_Bcast with root 0, 8 B; rank 1 ends without it",
        ),
    ] {
        assert_named(&error_of(&programs, &settings, OF_SIMULATIONS.len()), expected);
    }
}

/// Operations of a collective with counts, where `wrong` replaces one count of rank 1.
fn with_counts(collective: Collective, rank: u32, wrong: bool, blocks: bool) -> Vec<Operation> {
    let size = |from: u32, to: u32| 100 + u64::from(10 * from + to);
    let everywhere = 0..RANKS as u32;
    let to_all = |from: u32| everywhere.clone().map(|to| size(from, to)).collect::<Vec<_>>();
    let from_all = |to: u32| everywhere.clone().map(|from| size(from, to)).collect::<Vec<_>>();
    let wrong = wrong && rank == 1;
    let own = if wrong { 7 } else { size(rank, 0) };
    let (call, sends, mut receives) = match (collective, rank) {
        (Collective::Gather, 0) => (Call::Gatherv, vec![own], from_all(0)),
        (Collective::Gather, _) => (Call::Gatherv, vec![own], Vec::new()),
        (Collective::Scatter, 0) => (Call::Scatterv, from_all(0), vec![own]),
        (Collective::Scatter, _) => (Call::Scatterv, Vec::new(), vec![own]),
        (Collective::Allgather, _) => (Call::Allgatherv, vec![size(rank, 0)], from_all(0)),
        (Collective::Alltoall, _) => (Call::Alltoallv, to_all(rank), from_all(rank)),
        _ => (Call::ReduceScatter, Vec::new(), from_all(0)),
    };
    if wrong && receives.len() > 1 {
        receives[2] = 7;
    }
    operations(
        collective,
        call,
        (0, 100),
        Some(Counts::new(sends, receives)),
        blocks,
    )
}

const VARYING: [(Collective, &str); 5] = [
    (
        Collective::Gather,
        "rank 1 calls MPI_Gatherv with root 0 and sends 7 B to rank 0; \
         rank 0 calls MPI_Gatherv with root 0 and expects 110 B from rank 1",
    ),
    (
        Collective::Scatter,
        "rank 0 calls MPI_Scatterv with root 0 and sends 110 B to rank 1; \
         rank 1 calls MPI_Scatterv with root 0 and expects 7 B from rank 0",
    ),
    (
        Collective::Allgather,
        "rank 2 calls MPI_Allgatherv and sends 120 B to rank 1; \
         rank 1 calls MPI_Allgatherv and expects 7 B from rank 2",
    ),
    (
        Collective::Alltoall,
        "rank 2 calls MPI_Alltoallv and sends 121 B to rank 1; \
         rank 1 calls MPI_Alltoallv and expects 7 B from rank 2",
    ),
    (
        Collective::ReduceScatter,
        "rank 0 calls MPI_Reduce_scatter with 120 B for rank 2; \
         rank 1 calls MPI_Reduce_scatter with 7 B for rank 2",
    ),
];

#[test]
fn lists_of_counts_are_checked_with_every_algorithm() {
    for (collective, expected) in VARYING {
        for settings in settings_of(collective, collective != Collective::ReduceScatter) {
            for blocks in [true, false] {
                let programs = after_barrier(|rank| with_counts(collective, rank, true, blocks));
                assert_named(&error_of(&programs, &settings, 1), expected);
                let equal = after_barrier(|rank| with_counts(collective, rank, false, blocks));
                run(&ending(equal, &settings));
            }
        }
    }
    let programs = after_barrier(|rank| with_counts(Collective::Gather, rank, true, true));
    let error = error_of(&programs, &MpiSettings::default(), OF_SIMULATIONS.len());
    assert_named(&error, VARYING[0].1);
}

/// Sizes that a rank does not know, and averages of sizes that differ, contradict nothing.
#[test]
fn unknown_sizes_agree() {
    for (collective, of) in [
        (Collective::Gather, Call::Gatherv),
        (Collective::Alltoall, Call::Alltoallv),
    ] {
        for counts in [None, Some(Counts::default())] {
            let own = |rank: u32| {
                let bytes = 8 + u64::from(rank);
                operations(collective, of, (0, bytes), counts.clone(), true)
            };
            run(&ending(after_barrier(own), &MpiSettings::default()));
        }
        let half_known = |rank: u32| {
            let sends = vec![8 + u64::from(rank)];
            let receives = Vec::new();
            operations(collective, of, (0, 8), Some(Counts::new(sends, receives)), true)
        };
        run(&ending(after_barrier(half_known), &MpiSettings::default()));
    }
}

/// A run that ends before some ranks have made their calls finds only what differs among the calls made.
#[test]
fn a_run_that_is_cut_off_checks_the_calls_that_were_made() {
    let cut = |root: u32| {
        let programs = after_barrier(|rank| {
            let bcast = call(Collective::Bcast, if rank == 1 { root } else { 0 }, 8, true);
            let late = if rank == 3 {
                vec![compute(1_000_000)]
            } else {
                Vec::new()
            };
            late.into_iter().chain(bcast).collect()
        });
        let mut experiment = ending(programs, &MpiSettings::default());
        experiment.run.until = Some(des::Time::from_ns(100_000));
        try_run(&experiment)
    };
    cut(0).expect("the calls agree");
    let error = cut(1).expect_err("rank 1 has another root").to_string();
    assert_named(
        &error,
        "rank 0 calls MPI_Bcast with root 0, 8 B; rank 1 calls MPI_Bcast with root 1, 8 B",
    );
}

/// Fences have a context of their own.
#[test]
fn fences_are_counted() {
    let fence = Operation::Fence {
        communicator: 0,
        call: Call::WinFence,
    };
    let programs = after_barrier(|rank| vec![fence.clone(); if rank == 3 { 1 } else { 2 }]);
    let error = error_of(&programs, &MpiSettings::default(), OF_SIMULATIONS.len());
    let expected = "fence 1 of communicator 0: rank 0 calls MPI_Win_fence; rank 3 ends without it";
    assert!(error.contains(expected), "{error}");
}
