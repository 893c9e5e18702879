//! The constants of the crate and of its header, against the lists of both ABIs that were printed by compiled programs.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

fn here(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// Values by name of a list of an ABI; `None` where there is none.
fn list(name: &str) -> Option<HashMap<String, i64>> {
    let file = here("../../../shared/mpi").join(name);
    let text = fs::read_to_string(file).ok()?;
    let value = |line: &str| {
        let mut cells = line.split(',').skip(1);
        Some((cells.next()?.to_string(), cells.next()?.parse().ok()?))
    };
    let mut values = HashMap::new();
    for (name, own) in text.lines().filter_map(value) {
        values.entry(name).or_insert(own);
    }
    Some(values)
}

fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[test]
fn constants_are_those_of_both_abis() {
    let (Some(standard), Some(mpich)) = (list("abi-standard.csv"), list("abi-mpich.csv")) else {
        testkit::skipped!("there are no lists of the ABIs in shared/mpi");
        return;
    };
    let text = fs::read_to_string(here("constants.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut compared = 0;
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, name, own, inside] = words[..] else {
            panic!("{line}")
        };
        assert_eq!(number(own), standard.get(name).copied(), "{name}");
        // Handles of MPICH are 32 bits.
        let low = |value: i64| value as i32;
        assert_eq!(
            number(inside).map(low),
            mpich.get(name).copied().map(low),
            "{name}"
        );
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn the_header_has_the_constants_of_the_standard() {
    let Some(standard) = list("abi-standard.csv") else {
        testkit::skipped!("there is no list of the ABI in shared/mpi");
        return;
    };
    let text = fs::read_to_string(here("include/mpi.h")).unwrap();
    let mut compared = 0;
    for line in text.lines() {
        let Some((name, value)) = line
            .strip_prefix("#define ")
            .and_then(|line| line.split_once(' '))
        else {
            continue;
        };
        let value = value
            .rsplit(')')
            .find(|part| !part.is_empty())
            .unwrap_or_default();
        let value = value.trim_start_matches('(');
        assert_eq!(number(value), standard.get(name).copied(), "{line}");
        compared += 1;
    }
    assert!(compared > 250, "{compared}");
}
