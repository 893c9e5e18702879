//! Constants in the documentation equal those in the code.
//!
//! Each row names a page, the words around the number, and the constant. `{}` stands for the number, with commas
//! where it has five digits or more (or as the page writes it).

use std::path::{Path, PathBuf};

/// Page, words around the number, source file, constant, unit in which the page writes it.
const QUOTED: &[(&str, &str, &str, &str, u64)] = &[
    (
        "README.md",
        "for up to {} ranks",
        "workload/src/motif/parameters.rs",
        "MAX_RANKS",
        1,
    ),
    (
        "README.md",
        "(at most {})",
        "topology/src/graph/network.rs",
        "MOST_ROUTERS",
        1,
    ),
    (
        "docs/methods/topologies/graph.md",
        "At most {} routers",
        "topology/src/graph/network.rs",
        "MOST_ROUTERS",
        1,
    ),
    (
        "docs/methods/kernel.md",
        "at most {} strips per thread",
        "des/src/windows/calendar.rs",
        "MAX_STRIPS",
        1,
    ),
    (
        "docs/methods/collectives.md",
        "have {} KiB",
        "mpi/src/collectives/segments.rs",
        "SEGMENT",
        1024,
    ),
    (
        "docs/methods/collection.md",
        "a run has {} bins",
        "experiment/src/setup/collect/setting.rs",
        "BINS",
        1,
    ),
    (
        "docs/methods/collection.md",
        "single links up to {} of them",
        "experiment/src/setup/collect/setting.rs",
        "FEW_LINKS",
        1,
    ),
    (
        "docs/methods/programs.md",
        "up to {} operations",
        "py/src/program.rs",
        "AHEAD",
        1,
    ),
    (
        "docs/methods/programs.md",
        "Up to {} ranks",
        "py/src/program.rs",
        "MAX_RANKS",
        1,
    ),
    (
        "docs/formats/critical-path.md",
        "longest first, at most {}",
        "analysis/src/explain.rs",
        "LISTED",
        1,
    ),
    (
        "docs/formats/dumpi.md",
        "completions of up to {} receives",
        "workload/src/dumpi/look_ahead.rs",
        "KEPT",
        1,
    ),
    (
        "docs/formats/otf2.md",
        "up to {} operations",
        "workload/src/otf2/program.rs",
        "QUEUE",
        1,
    ),
    (
        "docs/report.md",
        "Time plots have at most {} columns",
        "results/src/report/grid.rs",
        "MOST_COLUMNS",
        1,
    ),
    (
        "docs/report.md",
        "have at most {} steps",
        "results/src/report/plots/path.rs",
        "MOST_STEPS",
        1,
    ),
    (
        "docs/report.md",
        "has at most {} MB",
        "results/src/report.rs",
        "REPORT_BYTES",
        1_000_000,
    ),
    (
        "benches/README.md",
        "Networks of up to {} links sample single links",
        "experiment/src/setup/collect/setting.rs",
        "FEW_LINKS",
        1,
    ),
    (
        "docs/formats/experiment.md",
        "up to {} links, and",
        "experiment/src/setup/collect/setting.rs",
        "FEW_LINKS",
        1,
    ),
    (
        "docs/methods/kernel.md",
        "the model has at least {} LPs",
        "des/src/auto.rs",
        "LARGE_MODEL",
        1,
    ),
    (
        "docs/methods/kernel.md",
        "no thread had {} events",
        "des/src/optimistic/worker.rs",
        "EVENTS_PER_SYNCHRONISATION",
        1,
    ),
    (
        "docs/methods/kernel.md",
        "beyond {} epochs",
        "des/src/windows/calendar.rs",
        "EPOCHS",
        1,
    ),
    (
        "docs/methods/kernel.md",
        "beyond {} eras",
        "des/src/windows/calendar.rs",
        "ERAS",
        1,
    ),
    (
        "docs/performance.md",
        "at most {} ranks of a job",
        "experiment/src/estimate/ranks.rs",
        "MOST_RANKS",
        1,
    ),
    (
        "docs/performance.md",
        "({} of a program in Python)",
        "experiment/src/estimate/ranks.rs",
        "MOST_RANKS_OF_PROGRAMS",
        1,
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The value of an integer, a shift or a product of integers.
fn value(expression: &str) -> u64 {
    let number = |text: &str| {
        let digits = text.trim().replace('_', "");
        digits
            .parse::<u64>()
            .unwrap_or_else(|_| panic!("'{text}' is not an integer"))
    };
    if let Some((left, right)) = expression.split_once("<<") {
        return number(left) << number(right);
    }
    expression.split('*').map(number).product()
}

fn constant(file: &str, name: &str) -> u64 {
    let text = read(&root().join("crates").join(file));
    let start = format!("const {name}: ");
    let line = text.lines().find(|line| line.contains(&start));
    let line = line.unwrap_or_else(|| panic!("crates/{file} has no constant {name}"));
    let (_, expression) = line.split_once('=').expect("a constant has a value");
    value(expression.trim().trim_end_matches(';'))
}

/// A number with commas between groups of three digits.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[test]
fn quoted_constants_are_those_of_the_code() {
    for (page, words, file, name, unit) in QUOTED {
        let number = constant(file, name) / unit;
        let text = read(&root().join(page));
        let quoted = [number.to_string(), with_commas(number)].map(|number| words.replace("{}", &number));
        assert!(
            quoted.iter().any(|quoted| text.contains(quoted.as_str())),
            "{page} does not say '{}', but {name} of crates/{file} is {number} (in units of {unit})",
            quoted[1]
        );
    }
}

#[test]
fn numbers_are_written_with_commas() {
    let written = [7, 4096, 65_536, 16_777_216].map(with_commas);
    assert_eq!(written, ["7", "4,096", "65,536", "16,777,216"]);
    assert_eq!(
        [value("1 << 24"), value("2 * 1_000"), value("64")],
        [1 << 24, 2000, 64]
    );
}
