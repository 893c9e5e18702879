//! Runs a program under `mpirun` with a time limit, on any machine.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Settings for Open MPI; other implementations ignore them.
const SETTINGS: &[(&str, &str)] = &[
    // Containers of continuous integration run as root.
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    // Their cores may be fewer than the processes of a test (Open MPI 4, then 5).
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    // They often forbid reading the memory of another process.
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ("OMPI_MCA_btl_sm_single_copy_mechanism", "none"),
];

/// Runs `count` processes of a program to their end.
///
/// # Panics
/// `mpirun` is missing, or has not ended within the limit.
pub fn mpirun<A: AsRef<OsStr>>(count: usize, program: &Path, arguments: &[A], limit: Duration) -> Output {
    mpirun_with(count, program, arguments, &[], limit)
}

/// As [`mpirun`], with environment variables for the processes.
///
/// # Panics
/// As [`mpirun`].
pub fn mpirun_with<A: AsRef<OsStr>>(
    count: usize,
    program: &Path,
    arguments: &[A],
    environment: &[(&str, &str)],
    limit: Duration,
) -> Output {
    let mut command = Command::new("mpirun");
    command
        .args(["-n", &count.to_string()])
        .arg(program)
        .args(arguments)
        .envs(SETTINGS.iter().chain(environment).copied());
    finish(command, limit)
}

/// Runs a command to its end.
fn finish(mut command: Command, limit: Duration) -> Output {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            panic!("mpirun is missing; scripts/install-packages.sh --mpi installs it")
        }
        Err(error) => panic!("mpirun does not start: {error}"),
    };
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child of this process") {
            break status;
        }
        if Instant::now() > deadline {
            end(&mut child);
            panic!("{command:?} has not ended within {limit:?}");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = |reader: thread::JoinHandle<Vec<u8>>| reader.join().expect("readable");
    Output {
        status,
        stdout: text(stdout),
        stderr: text(stderr),
    }
}

/// Reads a pipe while the process runs, which would block on a full pipe.
fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut text = Vec::new();
        pipe.expect("piped").read_to_end(&mut text).expect("readable");
        text
    })
}

/// Terminates `mpirun`, so that it ends its processes, and kills it if that fails.
fn end(child: &mut Child) {
    let _ = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    for _ in 0..100 {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "mpirun is missing; scripts/install-packages.sh --mpi")]
    fn a_missing_mpirun_is_said() {
        finish(Command::new("there-is-no-such-mpirun"), Duration::from_secs(1));
    }

    #[test]
    #[should_panic(expected = "has not ended within")]
    fn what_hangs_is_ended() {
        let mut command = Command::new("sleep");
        command.arg("600");
        finish(command, Duration::from_millis(50));
    }

    #[test]
    fn more_output_than_a_pipe_holds() {
        let mut command = Command::new("head");
        command.args(["-c", "1000000", "/dev/zero"]);
        let output = finish(command, Duration::from_secs(60));
        assert!(output.status.success());
        assert_eq!(output.stdout.len(), 1_000_000);
    }
}
