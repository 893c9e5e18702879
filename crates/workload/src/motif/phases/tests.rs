use std::sync::Arc;

use crate::motif::test_support::{error, open, section, totals};
use crate::{Call, Collective, Operation, WORLD, Workload};

use super::program::PhasesProgram;
use super::{OVER, PHASE};

/// All operations of a rank.
fn operations(workload: &Arc<dyn Workload>, rank: u32) -> Vec<Operation> {
    let mut program = workload.program(rank).unwrap();
    std::iter::from_fn(|| program.next().unwrap()).collect()
}

fn phases(text: &str) -> Arc<dyn Workload> {
    open("phases", text)
}

/// Times of the computations of a rank.
fn times(workload: &Arc<dyn Workload>, rank: u32) -> Vec<u64> {
    let computations = operations(workload, rank).into_iter();
    computations
        .map(|operation| match operation {
            Operation::Compute { ps, .. } => ps,
            other => panic!("{other:?}"),
        })
        .collect()
}

/// A motif as a phase has the operations of the motif alone.
#[test]
fn a_motif_as_a_phase_has_its_own_operations() {
    for (name, ranks, keys) in [
        ("halo3d-26", 27, "nx = 4, vars = 3, iterations = 3, reduce = true"),
        ("subcom3d-a2a", 24, "iterations = 2"),
        ("sweep3d", 12, "pex = 4, pey = 3"),
        ("random-pairs", 10, "seed = 7"),
        ("amg", 64, "levels = 3"),
        ("fft3d", 8, "nx = 8, ny = 8, nz = 8"),
        ("all-to-all", 5, "bytes = \"3 B\""),
    ] {
        let alone = open(name, &format!("ranks = {ranks}\n{}", keys.replace(", ", "\n")));
        let phase = phases(&format!(
            "ranks = {ranks}\nphases = [{{ motif = \"{name}\", {keys} }}]"
        ));
        assert_eq!(phase.communicators(), alone.communicators(), "{name}");
        for rank in 0..ranks {
            assert_eq!(
                operations(&phase, rank),
                operations(&alone, rank),
                "{name}, rank {rank}"
            );
        }
    }
}

/// Messages and bytes are the sums of the phases' formulas.
#[test]
fn messages_bytes_and_calls_are_the_sums_of_the_phases() {
    let found = totals(
        "phases",
        "ranks = 60\ngrid = [3, 4, 5]\niterations = 2\nphases = [
            { motif = \"halo3d-26\", periodic = true, nx = 1, ny = 1, nz = 1, barriers = false, compute = \"0 ps\" },
            { collective = \"allreduce\", bytes = \"8 B\" },
            { iterations = 3, phases = [
                { collective = \"alltoall\", bytes = \"7 B\", over = \"row\" },
                { collective = \"alltoall\", bytes = \"11 B\", over = \"column\", iterations = 5 },
                { compute = \"2 ns\", iterations = 4 },
            ] },
            { collective = \"alltoall\", bytes = \"13 B\", over = \"plane\" },
            { collective = \"alltoall\", bytes = \"17 B\", over = { axes = [2] } },
            { collective = \"alltoall\", bytes = \"19 B\", over = { axes = [0], grid = [15, 4] } },
            { collective = \"alltoall\", bytes = \"23 B\", over = { group = 16 } },
            { collective = \"bcast\", bytes = \"1 MiB\", over = { ranks = 7, first = 3, stride = 9 }, root = 6 },
        ]",
    );
    // Each of 60 ranks sends 8 bytes to 26 neighbours.
    assert_eq!((found.messages, found.bytes), (2 * 26 * 60, 2 * 26 * 60 * 8));
    assert_eq!(found.calls(Collective::Allreduce), 2 * 60);
    assert_eq!(found.calls(Collective::Barrier), 0);
    assert_eq!(found.calls(Collective::Bcast), 2 * 7);
    assert_eq!(
        found.calls(Collective::Alltoall),
        2 * 60 * (3 + 15 + 1 + 1 + 1 + 1)
    );
    // Ranks times the ranks of their group times bytes. The last block has 12 ranks.
    let blocks = (3 * 16 * 16 + 12 * 12) * 23;
    let each = 3 * 3 * 7 + 15 * 4 * 11 + 12 * 13 + 5 * 17 + 15 * 19;
    assert_eq!(found.all_to_all_bytes, 2 * (60 * each + blocks));
    assert_eq!(found.compute_ps, 2 * 60 * 3 * 4 * 2000);
}

#[test]
fn groups_have_the_ranks_of_their_formula() {
    let communicators = |over: &str, ranks: u32| {
        let text = format!(
            "ranks = {ranks}\ngrid = [{ranks}]\nphases = [{{ collective = \"barrier\", over = {over} }}]"
        );
        let workload = phases(&text);
        for rank in 0..ranks {
            // The rank is in its communicator, or in none.
            let own = operations(&workload, rank);
            let members = workload.communicators();
            match &own[..] {
                [] => assert!(members[1..].iter().all(|members| !members.contains(&rank))),
                [
                    Operation::Collective {
                        communicator, call, ..
                    },
                ] => {
                    assert_eq!(*call, Call::Barrier);
                    assert!(members[*communicator as usize].contains(&rank));
                }
                other => panic!("{other:?}"),
            }
        }
        workload.communicators()[1..].to_vec()
    };
    assert_eq!(
        communicators("{ group = 3 }", 7),
        [vec![0, 1, 2], vec![3, 4, 5], vec![6]]
    );
    assert!(communicators("{ group = 7 }", 7).is_empty());
    assert!(communicators("\"all\"", 7).is_empty());
    assert!(communicators("\"row\"", 7).is_empty());
    let planes = communicators("{ grid = [2, 3, 2], axes = [0, 1] }", 12);
    assert_eq!(planes, [vec![0, 1, 2, 3, 4, 5], vec![6, 7, 8, 9, 10, 11]]);
    let across = communicators("{ grid = [2, 3, 2], axes = [2, 0] }", 12);
    assert_eq!(across, [vec![0, 1, 6, 7], vec![2, 3, 8, 9], vec![4, 5, 10, 11]]);
    let columns = communicators("{ grid = [2, 3], axes = [1] }", 6);
    assert_eq!(columns, [vec![0, 2, 4], vec![1, 3, 5]]);
    assert!(communicators("{ grid = [2, 3, 1], axes = [1, 0] }", 6).is_empty());
    assert_eq!(
        communicators("{ ranks = 3, first = 1, stride = 2 }", 6),
        [vec![1, 3, 5]]
    );
}

/// Phases with the same groups share their communicators, and so do equal motifs.
#[test]
fn communicators_are_shared_by_phases() {
    let workload = phases(
        "ranks = 24\nphases = [
            { collective = \"barrier\", over = \"row\" },
            { motif = \"subcom3d-a2a\" },
            { collective = \"scan\", bytes = \"8 B\", over = { grid = [4, 6], axes = [0] } },
            { iterations = 9, phases = [{ motif = \"subcom3d-a2a\", bytes_x = \"1 B\" }] },
            { collective = \"barrier\", over = { group = 4 } },
        ]",
    );
    // Sides 4, 3, 2: rows along x, y and z. The blocks of 4 ranks are the rows along x.
    assert_eq!(workload.communicators().len(), 1 + 6 + (6 + 8 + 12));
    totals(
        "phases",
        "ranks = 24\nphases = [{ motif = \"subcom3d-a2a\" }, { motif = \"fft3d\", nx = 8, ny = 8, nz = 8 }, { motif = \"subcom3d-a2a\" }]",
    );
}

/// Repetition and nesting are the same as writing the phases again.
#[test]
fn repetitions_equal_phases_that_are_written_again() {
    let motif = "{ motif = \"halo3d\", nx = 3, reduce = true }";
    let row = "{ collective = \"reduce\", bytes = \"9 B\", root = 1, over = \"row\" }";
    let pause = "{ compute = \"1 us\", imbalance = 0.3, distribution = \"uniform\", variation = 0.1 }";
    let inner = [motif, row, row, pause, pause, pause];
    let block = [&inner[..], &inner[..]].concat();
    let all: Vec<&str> = [&[pause][..], &block, &[row], &[pause], &block, &[row]].concat();
    let written = phases(&format!("ranks = 8\nphases = [{}]", all.join(", ")));
    let times =
        |phase: &str, iterations: u32| phase.replacen("{ ", &format!("{{ iterations = {iterations}, "), 1);
    let repeated = phases(&format!(
        "ranks = 8\niterations = 2\nphases = [{pause}, {{ iterations = 2, phases = [{motif}, {}, {{ phases = [{}] }}] }}, {row}]",
        times(row, 2),
        times(pause, 3),
    ));
    for rank in 0..8 {
        let expected = operations(&written, rank);
        assert!(expected.len() > 60);
        assert_eq!(operations(&repeated, rank), expected, "rank {rank}");
    }
}

/// A rank without operations ends, however often it repeats nothing.
#[test]
fn repetitions_of_nothing_end() {
    let nothing = "{ iterations = 1000000000, compute = \"0 ps\" }";
    let many = format!("{{ iterations = 1000000000, phases = [{nothing}, {nothing}] }}");
    let text = format!(
        "ranks = 4\niterations = 3\nphases = [{many}, {{ iterations = 2, phases = [{{ collective = \"barrier\", over = {{ ranks = 2 }} }}, {many}] }}]"
    );
    let workload = phases(&text);
    assert_eq!(
        [0, 1, 2, 3].map(|rank| operations(&workload, rank).len()),
        [6, 6, 0, 0]
    );
}

/// A rank's state has the same size for any number of ranks, phases and repetitions, and 10^9 repetitions of 10^9
/// start at once.
#[test]
fn memory_of_a_rank_is_constant() {
    assert!(size_of::<PhasesProgram>() <= 96, "{}", size_of::<PhasesProgram>());
    let workload = phases(
        "ranks = 4194304\niterations = 1000000000\nphases = [
            { iterations = 1000000000, phases = [
                { motif = \"halo3d-26\", iterations = 1000000000 },
                { collective = \"allreduce\", bytes = \"8 B\", iterations = 1000000000, over = \"plane\" } ] } ]",
    );
    let communicators = workload.communicators();
    // The first plane has the ranks of the first two sides: 256 x 128 of 256 x 128 x 128.
    assert_eq!(
        (communicators.len(), communicators[1].len()),
        (1 + 128, 256 * 128)
    );
    let mut program = workload.program(4_194_303).unwrap();
    for _ in 0..1000 {
        assert!(program.next().unwrap().is_some());
    }
    assert!(workload.program(4_194_304).is_err());
}

#[test]
fn imbalance_is_a_deviation_of_each_rank() {
    let text = |seed: u32| {
        format!(
            "ranks = 1000\nphases = [{{ compute = \"1 us\", imbalance = 0.2, iterations = 3, seed = {seed} }}]"
        )
    };
    let (workload, other) = (phases(&text(1331)), phases(&text(2)));
    let mut means = Vec::new();
    for rank in 0..1000 {
        let own = times(&workload, rank);
        assert_eq!(own, [own[0]; 3]);
        means.push(own[0]);
    }
    let (least, most) = (means.iter().min().unwrap(), means.iter().max().unwrap());
    // All of 0.8 us to 1.2 us, and a mean of 1 us with a standard error of 0.2 us / sqrt(3 x 1000).
    assert!(
        (800_000..802_000).contains(least) && (1_198_000..=1_200_000).contains(most),
        "{least} {most}"
    );
    let mean = means.iter().sum::<u64>() / 1000;
    assert!((985_000..1_015_000).contains(&mean), "{mean}");
    assert_ne!(
        means[..5],
        (0..5).map(|rank| times(&other, rank)[0]).collect::<Vec<_>>()
    );
    // Two phases with one seed have the same slow ranks.
    let two = phases(
        "ranks = 5\nphases = [{ compute = \"1 us\", imbalance = 0.2 }, { compute = \"2 us\", imbalance = 0.2 }]",
    );
    for rank in 0..5 {
        let own = times(&two, rank);
        assert!(own[1].abs_diff(2 * own[0]) <= 2, "{own:?}");
    }
    assert_eq!(
        times(
            &phases("ranks = 1\nphases = [{ compute = \"1 us\", imbalance = 0 }]"),
            0
        ),
        [1_000_000]
    );
}

/// Moments of the distributions, over draws of one rank and over ranks.
#[test]
fn distributions_have_their_moments() {
    let draws = 200_000;
    let sample = |keys: &str, rank: u32| {
        let text = format!("ranks = 2\nphases = [{{ compute = \"1 us\", iterations = {draws}, {keys} }}]");
        let all: Vec<f64> = times(&phases(&text), rank)
            .into_iter()
            .map(|ps| ps as f64 / 1e6)
            .collect();
        assert_eq!(all.len(), draws);
        let mean = all.iter().sum::<f64>() / draws as f64;
        let variance = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws as f64;
        // Neighbouring draws are not correlated.
        let pairs: f64 = all
            .windows(2)
            .map(|pair| (pair[0] - mean) * (pair[1] - mean))
            .sum();
        assert!((pairs / draws as f64 / variance).abs() < 4.0 / (draws as f64).sqrt());
        (mean, variance, all)
    };
    for rank in [0, 1] {
        let (mean, variance, all) = sample("distribution = \"exponential\"", rank);
        assert!(
            (mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03,
            "{mean} {variance}"
        );
        // A share of 1/e is above the mean.
        let above = all.iter().filter(|x| **x > 1.0).count() as f64 / draws as f64;
        assert!((above - (-1f64).exp()).abs() < 0.005, "{above}");
        let (mean, variance, all) = sample("distribution = \"uniform\", variation = 0.3", rank);
        assert!(
            (mean - 1.0).abs() < 0.002 && (variance - 0.03).abs() < 0.0004,
            "{mean} {variance}"
        );
        assert!(all.iter().all(|x| (0.7..=1.3).contains(x)));
        // Six standard deviations below the mean are above zero: nothing is truncated.
        let (mean, variance, all) = sample("distribution = \"normal\", variation = 0.15", rank);
        assert!(
            (mean - 1.0).abs() < 0.0015 && (variance.sqrt() - 0.15).abs() < 0.001,
            "{mean} {variance}"
        );
        assert!(all.iter().all(|x| (0.1..=1.9).contains(x)));
        // Shares of the normal distribution within one and two standard deviations. The sum of twelve has 0.2 % less
        // within one.
        for (deviations, share) in [(1.0, 0.6827), (2.0, 0.9545)] {
            let within = all
                .iter()
                .filter(|x| (**x - 1.0).abs() <= deviations * 0.15)
                .count();
            assert!((within as f64 / draws as f64 - share).abs() < 0.006, "{within}");
        }
        // Truncation at zero, two standard deviations below the mean, raises the mean by 0.42 %.
        let (mean, _, all) = sample("distribution = \"normal\", variation = 0.5", rank);
        assert!((mean - 1.0042).abs() < 0.004, "{mean}");
        let zeros = all.iter().filter(|x| **x == 0.0).count() as f64 / draws as f64;
        assert!((zeros - 0.0228).abs() < 0.002, "{zeros}");
    }
    assert_ne!(
        sample("distribution = \"exponential\"", 0).2,
        sample("distribution = \"exponential\"", 1).2
    );
}

/// Times do not depend on the order in which ranks ask for them, nor on earlier programs.
#[test]
fn times_depend_on_rank_and_draw_only() {
    let text = "ranks = 3\niterations = 5\nphases = [{ compute = \"1 us\", imbalance = 1, distribution = \"exponential\" }, { compute = \"3 us\", distribution = \"uniform\" }]";
    let workload = phases(text);
    let alone: Vec<Vec<u64>> = (0..3).rev().map(|rank| times(&workload, rank)).collect();
    let mut programs: Vec<_> = (0..3).map(|rank| workload.program(rank).unwrap()).collect();
    let mut expected: Vec<_> = alone.iter().rev().map(|times| times.iter()).collect();
    for _ in 0..10 {
        for (program, expected) in programs.iter_mut().zip(&mut expected) {
            let ps = *expected.next().unwrap();
            assert_eq!(
                program.next().unwrap(),
                Some(Operation::Compute { ps, region: None })
            );
        }
    }
    // Integers only: the same on every machine.
    assert_eq!(alone[2][..4], GOLDEN);
}

const GOLDEN: [u64; 4] = [271_185, 2_194_197, 2_826_176, 2_215_627];

#[test]
fn collectives_have_their_calls() {
    for collective in super::read::COLLECTIVES {
        let bytes = if collective == Collective::Barrier {
            ""
        } else {
            ", bytes = \"5 B\""
        };
        let text = format!(
            "ranks = 3\nphases = [{{ collective = \"{}\"{bytes} }}]",
            collective.name()
        );
        let all = operations(&phases(&text), 2);
        let [
            Operation::Collective {
                collective: found,
                communicator,
                root,
                call,
                ..
            },
        ] = &all[..]
        else {
            panic!("{all:?}")
        };
        assert_eq!((*found, *communicator, *root), (collective, WORLD, 0));
        assert_eq!(call.collective(), Some(collective));
    }
}

#[test]
fn wrong_phases_are_refused_with_their_key() {
    let one = |phase: &str| {
        error(
            "phases",
            &format!("ranks = 12\nphases = [{{ compute = \"1 us\" }}, {phase}]"),
        )
    };
    for (phase, key, message) in [
        (
            "{ motif = \"halo3d-62\" }",
            "phases.1.motif",
            "did you mean 'halo3d-26'?",
        ),
        (
            "{ motif = \"phases\", phases = [] }",
            "phases.1",
            "expected one of motif, collective, phases, compute",
        ),
        (
            "{ motif = \"phases\" }",
            "phases.1.motif",
            "phases are no motif inside phases",
        ),
        (
            "{ motif = \"allreduce\", collective = \"bcast\" }",
            "phases.1",
            "found motif and collective",
        ),
        (
            "{ compute = \"1 us\", collective = \"bcast\" }",
            "phases.1",
            "found collective and compute",
        ),
        ("{ iterations = 3 }", "phases.1", "found none of them"),
        (
            "{ collective = \"alreduce\" }",
            "phases.1.collective",
            "did you mean 'allreduce'?",
        ),
        ("{ collective = \"allreduce\" }", "phases.1.bytes", "missing"),
        (
            "{ collective = \"allreduce\", bytes = 8 }",
            "phases.1.bytes",
            "no unit",
        ),
        (
            "{ collective = \"bcast\", bytes = \"2 TiB\" }",
            "phases.1.bytes",
            "more than 1 TiB",
        ),
        (
            "{ collective = \"bcast\", bytes = \"8 B\", root = 12 }",
            "phases.1.root",
            "ranks 0 to 11",
        ),
        (
            "{ collective = \"bcast\", bytes = \"8 B\", root = 2, over = { group = 5 } }",
            "phases.1.root",
            "ranks 0 to 1",
        ),
        (
            "{ collective = \"barrier\", over = \"rows\" }",
            "phases.1.over",
            "did you mean 'row'?",
        ),
        (
            "{ collective = \"barrier\", over = {} }",
            "phases.1.over",
            "found none of them",
        ),
        (
            "{ collective = \"barrier\", over = { group = 2, axes = [0] } }",
            "phases.1.over",
            "found several",
        ),
        (
            "{ collective = \"barrier\", over = { group = 0 } }",
            "phases.1.over.group",
            "expected 1 to 12",
        ),
        (
            "{ collective = \"barrier\", over = { group = 13 } }",
            "phases.1.over.group",
            "expected 1 to 12",
        ),
        (
            "{ collective = \"barrier\", over = { axes = [3] } }",
            "phases.1.over.axes",
            "dimensions 0 to 2",
        ),
        (
            "{ collective = \"barrier\", over = { axes = [] } }",
            "phases.1.over.axes",
            "at least one",
        ),
        (
            "{ collective = \"barrier\", over = { axes = [0, 0] } }",
            "phases.1.over.axes",
            "dimension 0 twice",
        ),
        (
            "{ collective = \"barrier\", over = { axes = [0], grid = [5, 2] } }",
            "phases.1.over.grid",
            "has 10 ranks; expected the 12",
        ),
        (
            "{ collective = \"barrier\", over = { axes = [0], grid = [65536, 65536] } }",
            "phases.1.over.grid",
            "more than 2^32",
        ),
        (
            "{ collective = \"barrier\", over = { axes = [0], grid = [] } }",
            "phases.1.over.grid",
            "0 dimensions",
        ),
        (
            "{ collective = \"barrier\", over = { ranks = 4, first = 12 } }",
            "phases.1.over.first",
            "ranks 0 to 11",
        ),
        (
            "{ collective = \"barrier\", over = { ranks = 4, first = 3, stride = 3 } }",
            "phases.1.over.ranks",
            "end with rank 12",
        ),
        (
            "{ collective = \"barrier\", over = { ranks = 4, stride = 0 } }",
            "phases.1.over.stride",
            "expected 1 to 12",
        ),
        (
            "{ motif = \"halo3d\", ranks = 6 }",
            "phases.1.ranks",
            "the motif has 6 ranks; expected the 12 of the job",
        ),
        ("{ motif = \"halo3d\", pex = 5 }", "phases.1.pex", "no multiple"),
        ("{ compute = \"200 days\" }", "phases.1.compute", "days"),
        (
            "{ compute = \"10000000 s\" }",
            "phases.1.compute",
            "more than 100 days",
        ),
        (
            "{ compute = \"1 us\", imbalance = 1.5 }",
            "phases.1.imbalance",
            "from 0 to 1",
        ),
        (
            "{ compute = \"1 us\", imbalance = -0.1 }",
            "phases.1.imbalance",
            "from 0 to 1",
        ),
        (
            "{ compute = \"1 us\", distribution = \"gaussian\" }",
            "phases.1.distribution",
            "unknown name",
        ),
        (
            "{ compute = \"1 us\", distribution = \"normal\", variation = 0.6 }",
            "phases.1.variation",
            "from 0 to 0.5",
        ),
        (
            "{ compute = \"1 us\", distribution = \"uniform\", variation = 2 }",
            "phases.1.variation",
            "from 0 to 1",
        ),
        (
            "{ compute = \"1 us\", iterations = 0 }",
            "phases.1.iterations",
            "expected 1 to 1000000000",
        ),
        (
            "{ phases = [{ compute = \"1 us\" }, { collective = \"x\" }] }",
            "phases.1.phases.1.collective",
            "unknown name",
        ),
        (
            "{ iterations = 0, phases = [{ compute = \"1 us\" }] }",
            "phases.1.iterations",
            "expected 1 to 1000000000",
        ),
    ] {
        let found = one(phase);
        assert!(
            found.starts_with(&format!("x.toml:3: {key}: ")),
            "{phase}: {found}"
        );
        assert!(found.contains(message), "{phase}: {found}");
    }
    let found = error("phases", "ranks = 4");
    assert!(found.contains("phases: missing; expected a list"), "{found}");
    assert!(error("phases", "ranks = 4\nphases = []").contains("not a list of tables"));
    assert!(error("phases", "phases = [{ compute = \"1 us\" }]").contains("ranks: missing"));
    let found = error(
        "phases",
        "ranks = 4\ngrid = [2, 3]\nphases = [{ compute = \"1 us\" }]",
    );
    assert!(found.contains("grid: a grid of [2, 3] has 6 ranks"), "{found}");
    let found = error(
        "phases",
        "ranks = 4\ngrid = [4]\nphases = [{ collective = \"barrier\", over = \"plane\" }]",
    );
    assert!(
        found.contains("phases.0.over: needs dimension 1; the grid [4] has"),
        "{found}"
    );
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| {
        let (open, close) = (
            "{ iterations = 2, phases = [".repeat(depth - 1),
            "] }".repeat(depth - 1),
        );
        format!("ranks = 2\niterations = 2\nphases = [{open}{{ compute = \"1 ps\", iterations = 2 }}{close}]")
    };
    // Eight lists and the computation are repeated.
    assert_eq!(totals("phases", &nested(8)).compute_ps, 2 * 512);
    let found = error("phases", &nested(9));
    let path = "phases.0.".repeat(8);
    assert!(
        found.contains(&format!("{path}phases: phases are nested more than 8 deep")),
        "{found}"
    );
}

/// Keys of another kind of phase are unknown.
#[test]
fn unused_keys_are_refused() {
    for (phase, key) in [
        ("{ compute = \"1 us\", bytes = \"8 B\" }", "bytes"),
        ("{ compute = \"1 us\", variation = 0.5 }", "variation"),
        ("{ collective = \"barrier\", bytes = \"8 B\" }", "bytes"),
        (
            "{ collective = \"allreduce\", bytes = \"8 B\", root = 0 }",
            "root",
        ),
        (
            "{ collective = \"barrier\", over = { group = 2, grid = [4] } }",
            "over.grid",
        ),
        ("{ phases = [{ compute = \"1 us\" }], over = \"row\" }", "over"),
    ] {
        let section =
            crate::motif::test_support::section("phases", &format!("ranks = 4\nphases = [{phase}]"));
        crate::motif::read(&section).unwrap();
        let found = section.finish().unwrap_err().to_string();
        let last = key.rsplit('.').next().unwrap();
        assert!(
            found.contains(&format!("phases.0.{key}: unknown key '{last}'")),
            "{found}"
        );
    }
}

/// Every constant default of the registry is that of a phase that has the key.
#[test]
fn keys_have_their_registered_defaults() {
    let text = "ranks = 4\nphases = [
        { collective = \"bcast\", bytes = \"8 B\" },
        { compute = \"1 us\", distribution = \"uniform\" },
        { compute = \"1 us\" },
        { collective = \"barrier\", over = { ranks = 2 } } ]";
    let section = section("phases", text);
    crate::motif::read(&section).unwrap();
    let settings = section.finish().unwrap();
    let phases = settings["phases"].as_array().unwrap();
    let over: Vec<_> = phases.iter().map(|phase| phase["over"].clone()).collect();
    for (parameters, tables) in [(PHASE, phases), (OVER, &over)] {
        for parameter in parameters {
            let default = parameter.default.to_json();
            let given = |table: &&serde_json::Value| match parameter.name {
                // The second phase has another one, and the last has a table.
                "distribution" => table.get("variation").is_none(),
                "over" => table["collective"] != "barrier",
                _ => true,
            };
            let found: Vec<_> = tables
                .iter()
                .filter(given)
                .filter_map(|table| table.get(parameter.name))
                .collect();
            if !default.is_null() {
                assert!(!found.is_empty(), "{parameter}");
                assert!(
                    found.iter().all(|value| **value == default),
                    "{parameter}: {found:?}"
                );
            }
        }
    }
}
