//! Real processes under `mpirun`: exchanged data, and no process left waiting.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use testkit::mpirun::mpirun;

const MEMBER: &str = env!("CARGO_BIN_EXE_fabricsim-cluster-member");

/// A timeout far above the time of any case.
const LIMIT: Duration = Duration::from_secs(120);

fn start(count: usize, case: &str) -> Output {
    mpirun(count, Path::new(MEMBER), &[case], LIMIT)
}

fn passes(count: usize, case: &str) {
    let output = start(count, case);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.matches("passed").count() == count,
        "{case} with {count} processes: {output:?}"
    );
}

/// Ends with an error while the other processes wait. Returns status and messages.
fn fails(count: usize, case: &str) -> (Option<i32>, String) {
    let output = start(count, case);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{case}: {output:?}");
    let begun = String::from_utf8_lossy(&output.stdout).contains("running");
    assert!(
        begun && !said.contains("one process never comes"),
        "{case}: {output:?}"
    );
    (output.status.code(), said)
}

#[test]
fn without_a_launcher_mpi_is_not_initialised() {
    let output = Command::new(MEMBER)
        .arg("alone")
        // The tests themselves may run on a cluster.
        .env_remove("OMPI_COMM_WORLD_SIZE")
        .env_remove("PMI_SIZE")
        .env_remove("PMIX_RANK")
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn an_only_process_does_not_initialise_mpi() {
    passes(1, "alone");
}

#[test]
fn parcels_and_least_values_are_right() {
    for count in 1..=4 {
        passes(count, "exchange");
        passes(count, "tiny-pieces");
    }
}

#[test]
fn mpi_is_joined_once() {
    passes(2, "again");
}

#[test]
fn other_threads_may_not_communicate() {
    passes(2, "other-thread");
}

#[test]
fn a_panic_ends_all() {
    let (_, said) = fails(3, "panic");
    assert!(said.contains("process 1 fails by itself"), "{said}");
}

#[test]
fn an_abort_ends_all_with_its_status() {
    assert_eq!(fails(3, "abort").0, Some(7));
}

#[test]
fn a_killed_process_ends_all() {
    fails(3, "killed");
}
