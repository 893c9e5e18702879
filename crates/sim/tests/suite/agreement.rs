//! Ranks that disagree about a collective end the run with an error that names the ranks and their calls, whatever
//! the algorithm and the executor. Ranks that agree never get this error.

use mpi::{ALGORITHMS, MpiSettings};
use testkit::executors::OF_SIMULATIONS;
use workload::{Call, Collective, Counts, Operation, Reduction};

use crate::support::{compute, job, job_of, jobs_on, run, try_run};

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
        reduction: None,
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

fn ending(programs: Vec<Vec<Operation>>, settings: &MpiSettings) -> experiment::Experiment {
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

/// A call whose record does not tell whether it was in place: `bytes`, or `in_place`.
fn ambiguous(collective: Collective, bytes: u64, in_place: u64) -> Vec<Operation> {
    let call = match collective {
        Collective::Scan => Call::Scan,
        _ => Call::ReduceScatter,
    };
    let counts = Counts {
        in_place_bytes: std::num::NonZeroU64::new(in_place),
        ..Counts::default()
    };
    operations(collective, call, (0, bytes), Some(counts), true)
}

#[test]
fn a_size_in_place_may_be_the_common_one() {
    let settings = MpiSettings::default();
    for collective in [Collective::Scan, Collective::ReduceScatter] {
        let legal = after_barrier(|rank| match rank {
            1 => ambiguous(collective, 12, 16),
            2 => ambiguous(collective, 16, 20),
            _ => call(collective, 0, 16, true),
        });
        run(&ending(legal, &settings));
        run(&ending(
            after_barrier(|rank| ambiguous(collective, 12, 16 + u64::from(rank))),
            &settings,
        ));
        let wrong = after_barrier(|rank| match rank {
            1 => ambiguous(collective, 12, 16),
            _ => call(collective, 0, 20, true),
        });
        let name = match collective {
            Collective::Scan => "MPI_Scan",
            _ => "MPI_Reduce_scatter",
        };
        let error = error_of(&wrong, &settings, OF_SIMULATIONS.len());
        assert!(
            error.contains(&format!("rank 1 calls {name} with 12 B (16 B if in place)")),
            "{error}"
        );
    }
}

#[test]
fn reductions_are_compared_where_they_are_known() {
    let settings = MpiSettings::default();
    let reducing = |of: Option<Reduction>| {
        let mut program = call(Collective::Allreduce, 0, 8, true);
        if let Operation::Collective { reduction, .. } = &mut program[0] {
            *reduction = of;
        }
        program
    };
    let wrong = after_barrier(|rank| {
        reducing(match rank {
            0 => None,
            3 => Some(Reduction::Max),
            _ => Some(Reduction::Sum),
        })
    });
    assert_named(
        &error_of(&wrong, &settings, OF_SIMULATIONS.len()),
        "rank 1 calls MPI_Allreduce with 8 B, MPI_SUM; rank 3 calls MPI_Allreduce with 8 B, MPI_MAX",
    );
    let unknown = after_barrier(|rank| reducing((rank == 1).then_some(Reduction::Sum)));
    run(&ending(unknown, &settings));
}

#[test]
fn blocking_collectives_do_not_match_nonblocking_ones() {
    let settings = MpiSettings::default();
    let mixed = after_barrier(|rank| call(Collective::Allreduce, 0, 8, rank != 2));
    assert_named(
        &error_of(&mixed, &settings, OF_SIMULATIONS.len()),
        "rank 0 calls MPI_Allreduce with 8 B; rank 2 calls MPI_Iallreduce with 8 B; blocking collectives do not match \
         non-blocking ones",
    );
}

/// Legal on two communicators, which liballprof does not tell apart.
#[test]
fn another_order_on_duplicates_names_the_limit_of_the_format() {
    let folder = tempfile::tempdir().expect("a folder");
    for rank in 0..2 {
        let dup = format!("MPI_Comm_dup:3.0:0,{rank},2:640:4.0\n");
        let mut starts = [
            format!("MPI_Ibarrier:5.0:0,{rank},2:800:6.0\n"),
            format!("MPI_Iallreduce:7.0:9:9:1:1,4,4:3:7,{rank},2:808:8.0\n"),
        ];
        if rank == 1 {
            starts.swap(0, 1);
        }
        let waits = "MPI_Wait:9.0:800:0:10.0\nMPI_Wait:11.0:808:0:12.0\n";
        let text = format!(
            "MPI_Init:-:1:2:2.0\n{dup}{}{waits}MPI_Finalize:13.0:-\n",
            starts.concat()
        );
        std::fs::write(folder.path().join(format!("t-{rank}.txt")), text).expect("a file");
    }
    let workload = workload::open(folder.path()).expect("the trace is readable");
    let application = job_of("a", workload, &MpiSettings::default(), &[0, 4]);
    let error = try_run(&jobs_on(NETWORK, vec![application]))
        .expect_err("the order differs")
        .to_string();
    for part in [
        "rank 0 calls MPI_Ibarrier; rank 1 calls MPI_Iallreduce with 4 B",
        "liballprof does not record which is which",
        "docs/formats/liballprof.md",
    ] {
        assert!(error.contains(part), "'{part}' is missing: {error}");
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
