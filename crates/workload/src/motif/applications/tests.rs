//! Presets against their formulas, and against the same phases that are written out.

use super::*;
use crate::motif::grid::most_cubic;
use crate::motif::test_support::{error, open, section, totals};
use crate::motif::{MOTIFS, test_support::MotifTotals};
use crate::{Collective, Operation, WORLD};

/// Numbers of ranks of a row, a cube, a prime, and a grid with three different sides.
const RANKS_TESTED: [u32; 5] = [1, 5, 8, 24, 27];

#[test]
fn presets_are_motifs_with_sources() {
    for preset in PRESETS {
        let is_listed = MOTIFS.iter().any(|motif| motif.name == preset.name);
        assert!(is_listed, "{}", preset.name);
        for parameter in preset.parameters {
            let summary = parameter.summary;
            let has_source = summary.contains("assumed") || summary.contains("; source: ");
            let is_size_of_the_job = ["ranks", "iterations"].contains(&parameter.name);
            assert!(has_source != is_size_of_the_job, "{}: {parameter}", preset.name);
        }
    }
}

/// No phase has an unknown key, and every parameter has an effect on the phases.
#[test]
fn phases_use_all_their_keys_and_all_parameters() {
    let applications = [
        ("hypre", hypre::APPLICATION),
        ("atratus", atratus::APPLICATION),
        ("mercury", mercury::APPLICATION),
        ("milc", milc::APPLICATION),
        ("paradis", paradis::APPLICATION),
        ("pf3d", pf3d::APPLICATION),
        ("qbox", qbox::APPLICATION),
    ];
    assert_eq!(applications.len(), PRESETS.len());
    for (name, application) in applications {
        let given = section(name, "ranks = 12");
        let text = application.expand(given.declare(application.parameters)).unwrap();
        assert!(!text.contains('$'), "{text}");
        let phases = Section::from_toml(&format!("motif = \"phases\"\n{text}"), "x.toml").unwrap();
        crate::motif::read(&phases).unwrap();
        phases.finish().unwrap();
        for parameter in application.parameters {
            let value = match parameter.kind {
                Type::Number => "0.75",
                Type::Time => "\"77 ns\"",
                Type::Size => "\"77 B\"",
                _ => "6",
            };
            let ranks = if parameter.name == "ranks" {
                ""
            } else {
                "ranks = 12\n"
            };
            let changed = section(name, &format!("{ranks}{} = {value}", parameter.name));
            let changed = application.expand(changed.declare(application.parameters));
            assert_ne!(changed.unwrap(), text, "{name}: {parameter}");
        }
    }
}

/// A preset is its phases: the same operations of all ranks.
#[test]
fn a_preset_is_its_phases() {
    let written = "ranks = 12\niterations = 2\nphases = [
        { compute = \"5 us\", imbalance = 0.4 },
        { motif = \"halo3d-26\", nx = 4, ny = 4, nz = 4, item_bytes = 3, compute = \"0 ps\", barriers = false, iterations = 2 },
        { motif = \"halo3d\", nx = 1, ny = 1, nz = 1, item_bytes = 700, compute = \"0 ps\", barriers = false },
        { collective = \"allreduce\", bytes = \"9 B\" } ]";
    let preset = "ranks = 12\niterations = 2\ncompute = \"5 us\"\nimbalance = 0.4\nsmall = \"3 B\"\nexchanges = 2\nlarge = \"700 B\"\nreduction = \"9 B\"";
    let (written, preset) = (open("phases", written), open("paradis", preset));
    assert_eq!(written.communicators(), preset.communicators());
    for rank in 0..12 {
        let (mut written, mut preset) = (written.program(rank).unwrap(), preset.program(rank).unwrap());
        loop {
            let operation = preset.next().unwrap();
            assert_eq!(operation, written.next().unwrap());
            if operation.is_none() {
                break;
            }
        }
    }
}

/// Ordered pairs of neighbours with the offset in a grid.
fn pairs(grid: &[u64], offset: [i32; 3], periodic: bool) -> u64 {
    grid.iter()
        .zip(offset)
        .map(|(side, step)| side - u64::from(step != 0 && !periodic))
        .product()
}

/// Sides of the most cubic grid.
fn grid(ranks: u32) -> Vec<u64> {
    most_cubic(ranks, 3).iter().map(|side| u64::from(*side)).collect()
}

/// All 26 offsets.
fn offsets() -> impl Iterator<Item = [i32; 3]> {
    (0..27)
        .map(|n: i32| [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1])
        .filter(|offset| *offset != [0; 3])
}

/// Messages and bytes of a V-cycle with 26 neighbours, with four cells of each rank along a dimension, and `each`
/// bytes for a cell.
fn v_cycle(ranks: u32, each: u64) -> (u64, u64) {
    let sides = grid(ranks);
    let (mut messages, mut bytes) = (0, 0);
    // Four, two, one cell; then one cell of every second rank and so on, until one rank is left.
    let longest = sides.iter().max().unwrap();
    let depth = 2 + longest.next_power_of_two().trailing_zeros();
    for level in 0..depth {
        let stride = 1u64 << level.saturating_sub(2);
        let cells = (4u64 >> level).max(1);
        let active: Vec<u64> = sides.iter().map(|side| side.div_ceil(stride)).collect();
        let visits = if level + 1 == depth { 1 } else { 2 };
        for offset in offsets() {
            let pairs = visits * pairs(&active, offset, false);
            let dimensions = offset.iter().filter(|step| **step == 0).count() as u32;
            messages += pairs;
            bytes += pairs * cells.pow(dimensions) * each;
        }
    }
    (messages, bytes)
}

/// Messages of an exchange with six neighbours.
fn six(sides: &[u64], periodic: bool) -> u64 {
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
        .iter()
        .map(|offset| 2 * pairs(sides, *offset, periodic))
        .sum()
}

fn calls(found: &MotifTotals, expected: &[(Collective, u64)]) {
    for (collective, calls) in expected {
        assert_eq!(found.calls(*collective), *calls, "{}", collective.name());
    }
}

#[test]
fn hypre_and_atratus_have_their_formula() {
    for ranks in RANKS_TESTED {
        let (messages, bytes) = v_cycle(ranks, 5);
        let all = u64::from(ranks);
        let text = format!(
            "ranks = {ranks}\niterations = 3\nnx = 4\nny = 4\nnz = 4\nbytes_per_cell = \"5 B\"\nsweeps = 2\nreductions = 7\ncompute = \"2 us\""
        );
        let found = totals("hypre", &text);
        assert_eq!((found.messages, found.bytes), (3 * 2 * messages, 3 * 2 * bytes));
        assert_eq!(found.compute_ps, 3 * 2_000_000 * all);
        calls(&found, &[(Collective::Allreduce, 3 * 7 * all)]);
        let found = totals("atratus", &format!("{text}\nlarge = \"101 KB\""));
        let large = 2 * (all - 1);
        assert_eq!(
            (found.messages, found.bytes),
            (3 * (2 * messages + large), 3 * (2 * bytes + large * 101_000))
        );
        assert_eq!(found.compute_ps, 3 * 2_000_000 * all);
        calls(&found, &[(Collective::Allreduce, 3 * 7 * all)]);
    }
}

/// The mean message is below 1 KB, and the largest of Atratus above 100 KB, as in the source.
#[test]
fn small_messages_have_the_published_mean() {
    // The two large messages of Atratus matter less on many ranks, which have more levels.
    for (name, largest, sizes) in [
        ("hypre", 8 * 8 * 14, [27, 512]),
        ("atratus", 128 << 10, [1000, 1728]),
    ] {
        for ranks in sizes {
            let found = totals(name, &format!("ranks = {ranks}"));
            assert!(found.bytes / found.messages < 1000, "{name} {ranks} {found:?}");
        }
        let workload = open(name, "ranks = 8");
        let mut program = workload.program(0).unwrap();
        let mut most = 0;
        while let Some(operation) = program.next().unwrap() {
            if let Operation::Send { bytes, .. } = operation {
                most = most.max(bytes);
            }
        }
        assert_eq!(most, largest);
    }
}

#[test]
fn mercury_has_its_formula() {
    for ranks in RANKS_TESTED {
        let text = format!(
            "ranks = {ranks}\niterations = 3\nparticles = \"70 B\"\nexchanges = 2\ncollective = \"9 B\"\ncompute = \"2 us\""
        );
        let found = totals("mercury", &text);
        let all = u64::from(ranks);
        // Along a side of one rank, it is its own neighbour.
        let messages = 3 * 2 * six(&grid(ranks), true);
        assert_eq!(messages, 3 * 2 * 6 * all);
        assert_eq!((found.messages, found.bytes), (messages, messages * 70));
        assert_eq!(found.compute_ps, 3 * 2_000_000 * all);
        let each = 3 * all;
        let expected = [
            (Collective::Bcast, each),
            (Collective::Reduce, each),
            (Collective::Allreduce, each),
        ];
        calls(&found, &expected);
    }
}

#[test]
fn milc_has_its_formula() {
    for ranks in RANKS_TESTED {
        let text = format!(
            "ranks = {ranks}\niterations = 3\nnx = 2\nny = 3\nnz = 5\nnt = 7\nbytes_per_site = \"11 B\"\nexchanges = 2\nreductions = 4\ncompute = \"2 us\""
        );
        let found = totals("milc", &text);
        let all = u64::from(ranks);
        let faces = 3 * 5 * 7 + 2 * 5 * 7 + 2 * 3 * 7 + 2 * 3 * 5;
        assert_eq!(found.messages, 3 * 2 * 8 * all);
        assert_eq!(found.bytes, 3 * 2 * 2 * faces * 11 * all);
        // The computation is that of an iteration, not of an exchange.
        assert_eq!(found.compute_ps, 3 * 2_000_000 * all);
        calls(&found, &[(Collective::Allreduce, 3 * 4 * all)]);
    }
    let settings = section("milc", "ranks = 2");
    crate::motif::read(&settings).unwrap();
    let settings = settings.finish().unwrap();
    let sites: u64 = ["nx", "ny", "nz", "nt"]
        .iter()
        .map(|side| settings[side].as_u64().unwrap())
        .product();
    assert_eq!(sites, 16_384);
}

#[test]
fn paradis_has_its_formula() {
    for ranks in RANKS_TESTED {
        let text = format!(
            "ranks = {ranks}\niterations = 3\nsmall = \"13 B\"\nexchanges = 2\nlarge = \"7 KB\"\nreduction = \"9 B\"\ncompute = \"2 us\"\nimbalance = 0"
        );
        let found = totals("paradis", &text);
        let (all, sides) = (u64::from(ranks), grid(ranks));
        let small: Vec<(u64, u64)> = offsets()
            .map(|offset| {
                let zeros = offset.iter().filter(|step| **step == 0).count() as u32;
                let pairs = pairs(&sides, offset, false);
                (pairs, pairs * 4u64.pow(zeros) * 13)
            })
            .collect();
        let messages: u64 = small.iter().map(|(messages, _)| messages).sum();
        let bytes: u64 = small.iter().map(|(_, bytes)| bytes).sum();
        let large = six(&sides, false);
        assert_eq!(found.messages, 3 * (2 * messages + large));
        assert_eq!(found.bytes, 3 * (2 * bytes + large * 7000));
        assert_eq!(found.compute_ps, 3 * 2_000_000 * all);
        calls(&found, &[(Collective::Allreduce, 3 * all)]);
    }
}

#[test]
fn pf3d_has_its_formula() {
    for (ranks, plane, sides) in [
        (1, 1, [1, 1, 1]),
        (24, 6, [3, 2, 4]),
        (24, 24, [6, 4, 1]),
        (35, 5, [5, 1, 7]),
    ] {
        let text = format!(
            "ranks = {ranks}\nplane = {plane}\niterations = 3\npair = \"5 B\"\ntransforms = 4\nface = \"70 B\"\ncompute = \"2 us\""
        );
        let found = totals("pf3d", &text);
        let messages = 3 * six(&sides, false);
        assert_eq!((found.messages, found.bytes), (messages, messages * 70));
        assert_eq!(found.compute_ps, 3 * 2_000_000 * ranks);
        calls(&found, &[(Collective::Alltoall, 3 * 4 * ranks)]);
    }
}

#[test]
fn qbox_has_its_formula() {
    for (ranks, plane) in [(1, 1), (24, 6), (24, 24), (35, 5)] {
        let text = format!(
            "ranks = {ranks}\nplane = {plane}\niterations = 3\npair = \"5 B\"\ntransforms = 4\nlarge = \"70 B\"\ncompute = \"2 us\""
        );
        let found = totals("qbox", &text);
        assert_eq!((found.messages, found.compute_ps), (0, 3 * 2_000_000 * ranks));
        let expected = [
            (Collective::Alltoall, 3 * 4 * ranks),
            (Collective::Bcast, 3 * ranks),
            (Collective::Reduce, 3 * ranks),
            (Collective::Allreduce, 3 * ranks),
        ];
        calls(&found, &expected);
    }
    // Columns are consecutive ranks, rows every sixth.
    let workload = open("qbox", "ranks = 24\nplane = 6");
    let members = workload.communicators();
    let mut program = workload.program(8).unwrap();
    let mut seen = Vec::new();
    while let Some(operation) = program.next().unwrap() {
        if let Operation::Collective { communicator, .. } = operation {
            assert_ne!(communicator, WORLD);
            let members = &members[communicator as usize];
            if seen.last() != Some(members) {
                seen.push(members.clone());
            }
        }
    }
    assert_eq!(seen, [vec![6, 7, 8, 9, 10, 11], vec![2, 8, 14, 20]]);
}

#[test]
fn planes_have_a_default_or_a_reason() {
    for (ranks, plane) in [
        (1, 1),
        (63, 63),
        (64, 64),
        (101, 101),
        (200, 100),
        (256, 128),
        (4096, 128),
        (16_384, 128),
        (65_536, 128),
        (10_000, 125),
    ] {
        for name in ["pf3d", "qbox"] {
            let settings = section(name, &format!("ranks = {ranks}"));
            crate::motif::read(&settings).unwrap();
            assert_eq!(settings.finish().unwrap()["plane"], plane, "{name} {ranks}");
        }
    }
    let found = error("pf3d", "ranks = 257");
    assert!(
        found.starts_with("x.toml:2: ranks: 257 has no divisor from 64 to 256"),
        "{found}"
    );
    assert!(found.contains("of which 256 is the nearest"), "{found}");
    let found = error("qbox", "ranks = 16381");
    assert!(found.contains("of which 16380 is the nearest"), "{found}");
    for plane in [0, 5, 25] {
        let found = error("pf3d", &format!("ranks = 24\nplane = {plane}"));
        let expected = format!("x.toml:3: plane: {plane} does not divide ranks = 24");
        assert!(found.starts_with(&expected), "{found}");
    }
}

#[test]
fn wrong_parameters_name_the_phase() {
    for (name, text, needles) in [
        (
            "hypre",
            "ranks = 8\nnx = 0",
            ["hypre.toml:", "nx: 0 is out of range"],
        ),
        ("hypre", "ranks = 0", ["x.toml:2: ranks: 0", "expected 1 to"]),
        ("hypre", "", ["ranks: missing", ""]),
        (
            "milc",
            "ranks = 8\niterations = 0",
            ["x.toml:3: iterations", "expected 1 to"],
        ),
        (
            "paradis",
            "ranks = 8\nimbalance = 2",
            ["paradis.toml:", "imbalance: 2 is out of range"],
        ),
        (
            "paradis",
            "ranks = 8\nimbalance = nan",
            ["x.toml:3: imbalance", "not a number"],
        ),
        (
            "mercury",
            "ranks = 8\ncollective = \"2 TiB\"",
            ["mercury.toml:", "more than 1 TiB"],
        ),
        (
            "qbox",
            "ranks = 8\ncompute = \"200 days\"",
            ["x.toml:3: compute", "days"],
        ),
        (
            "pf3d",
            "ranks = 8\nface = \"0 B\"",
            ["pf3d.toml:", "item_bytes: 0 is out of range"],
        ),
    ] {
        let found = error(name, text);
        assert!(needles.iter().all(|needle| found.contains(needle)), "{found}");
    }
}
