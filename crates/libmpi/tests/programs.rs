//! Programs in C, compiled here, with the library in their processes, on a simulated network.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use experiment::Experiment;
use online::{OnlinePrograms, RankStatus};
use tempfile::TempDir;

/// Four hosts on one switch of a fat tree. A message of one packet takes 100 ns on cables, 100 ns in the switch, and
/// its bytes with their header at 100 Gbps.
const NETWORK: &str = r#"
[network]
topology = { kind = "fat-tree", levels = 2, radix = 8 }
routing = { algorithm = "destination-mod-k" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
router.delay = "100 ns"
packet = "4 KiB"
[mpi]
eager_threshold = "1 KiB"
send_overhead = "300 ns"
receive_overhead = "200 ns"
header_size = "32 B"
control_size = "64 B"
"#;

/// The library that cargo has built beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.with_file_name("libfabricsim_libmpi.so")
}

/// The library of this crate: these tests are those of both ABIs.
fn own_library() -> PathBuf {
    library().with_file_name(format!("lib{}.so", env!("CARGO_PKG_NAME").replace('-', "_")))
}

/// A program of `tests/programs`, compiled; `None` where there is no compiler.
fn compiled(folder: &Path, name: &str) -> Option<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join(name);
    let done = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here.join("include"))
        // `fabricsim.h` is the same for both.
        .arg("-idirafter")
        .arg(here.join("../libmpi/include"))
        .arg("-o")
        .arg(&program)
        .arg(here.join("../libmpi/tests/programs").join(format!("{name}.c")))
        .arg(own_library())
        .arg("-lm")
        .output();
    let Ok(done) = done else {
        testkit::skipped!("there is no C compiler");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(program.display().to_string())
}

/// What a run of a program has left.
struct Ran {
    result: Result<String, String>,
    ranks: Vec<RankStatus>,
    aborted: Option<i32>,
}

/// Runs a command on ranks: the digest.
fn run(command: &[&str], ranks: u32, keys: &str) -> Ran {
    run_with(command, ranks, "none", keys)
}

/// As [`run`], with `job.workload.compute`.
fn run_with(command: &[&str], ranks: u32, compute: &str, keys: &str) -> Ran {
    let programs = OnlinePrograms::new(Some(library()));
    let words: Vec<String> = command.iter().map(|word| format!("{word:?}")).collect();
    let text = format!(
        "{NETWORK}[[job]]\nname = \"c\"\nworkload.command = [{}]\nworkload.ranks = {ranks}\nworkload.compute = \
         {compute:?}\n[run]\n{keys}\n",
        words.join(", ")
    );
    let run = || {
        let experiment =
            Experiment::from_toml_with(&text, "c.toml", &[], &[&programs]).map_err(|e| e.to_string())?;
        let result = sim::run(&experiment, &sim::RunControl::new()).map_err(|e| e.to_string())?;
        Ok(result.summary.digest.clone())
    };
    let result = run();
    let aborted = programs.aborted();
    let ranks = programs.end();
    Ran {
        result,
        ranks,
        aborted,
    }
}

/// What each rank has written.
fn written(prefix: &Path, ranks: u32) -> Vec<Vec<u64>> {
    let of = |rank| {
        let text = fs::read_to_string(format!("{}.{rank}", prefix.display())).unwrap();
        text.split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect()
    };
    (0..ranks).map(of).collect()
}

#[test]
fn a_ring_takes_the_time_of_the_closed_form() {
    let folder = TempDir::new().unwrap();
    let Some(ring) = compiled(folder.path(), "ring") else {
        return;
    };
    let out = folder.path().join("out");
    // Of one packet, in ps: cables, switch, bytes at 80 ps each.
    let network = |bytes: u64| 200_000 + 80 * bytes;
    let overheads = 300_000 + 200_000;
    let eager = overheads + network(8 + 32);
    let rendezvous = overheads + 2 * network(64) + network(3000 + 32);
    for (bytes, message) in [(8, eager), (3000, rendezvous)] {
        let command = [&*ring, out.to_str().unwrap(), "3", &bytes.to_string()];
        let mut digests = Vec::new();
        for keys in [
            "executor = \"sequential\"",
            "executor = \"conservative\"\nthreads = 2",
        ] {
            let ran = run(&command, 4, keys);
            digests.push(ran.result.unwrap());
            assert_eq!(ran.ranks, [RankStatus::Exited(0); 4]);
            let written = written(&out, 4);
            // Each rank adds one in each of the three rounds, and passes it on.
            let values: Vec<u64> = written.iter().map(|numbers| numbers[0]).collect();
            assert_eq!(values, [12, 10, 11, 12]);
            assert_eq!(written[0][1], 3 * 4 * message, "{bytes} bytes, {keys}");
        }
        assert_eq!(digests[0], digests[1]);
    }
}

/// Programs that check their own results, with these numbers of ranks.
#[test]
fn programs_find_what_mpi_says() {
    let folder = TempDir::new().unwrap();
    let programs: [(&str, &[u32]); 9] = [
        ("collectives", &[1, 2, 4]),
        ("datatypes", &[2, 3]),
        ("topologies", &[1, 2, 4]),
        ("requests", &[2, 3]),
        ("communicators", &[2, 4]),
        ("one_sided", &[1, 3]),
        ("files", &[1, 2, 4]),
        ("clocks", &[2]),
        ("handles", &[1, 3]),
    ];
    for (name, sizes) in programs {
        let Some(program) = compiled(folder.path(), name) else {
            return;
        };
        for &ranks in sizes {
            // A folder of its own for what it writes.
            let files = TempDir::new().unwrap();
            let ran = run(&[&program, files.path().to_str().unwrap()], ranks, "");
            ran.result
                .unwrap_or_else(|message| panic!("{name} on {ranks}: {message}"));
            let expected = vec![RankStatus::Exited(0); ranks as usize];
            assert_eq!(
                ran.ranks, expected,
                "{name} on {ranks}; its standard error says what is wrong"
            );
        }
    }
}

#[test]
fn sampled_sections_run_a_few_times_and_take_their_time_always() {
    let folder = TempDir::new().unwrap();
    let Some(sampling) = compiled(folder.path(), "sampling") else {
        return;
    };
    for (compute, command) in [
        ("none", vec![&*sampling]),
        ("measured", vec![&sampling, "measured"]),
    ] {
        let ran = run_with(&command, 2, compute, "");
        assert!(ran.result.is_ok(), "{:?}", ran.result);
        assert_eq!(ran.ranks, [RankStatus::Exited(0); 2], "{compute}");
    }
}

/// The simulated order of moves of shared pointers, which the program checks, on threads that are apart in time.
#[test]
fn files_are_the_same_on_several_threads() {
    let folder = TempDir::new().unwrap();
    let Some(program) = compiled(folder.path(), "files") else {
        return;
    };
    let digest = |keys| {
        let files = TempDir::new().unwrap();
        let ran = run(&[&program, files.path().to_str().unwrap()], 7, keys);
        assert_eq!(ran.ranks, [RankStatus::Exited(0); 7], "{keys}");
        ran.result.unwrap()
    };
    let expected = digest("executor = \"sequential\"");
    assert_eq!(digest("executor = \"conservative\"\nthreads = 2"), expected);
}

#[test]
fn ranks_that_end_early_are_named() {
    let folder = TempDir::new().unwrap();
    let Some(ending) = compiled(folder.path(), "ending") else {
        return;
    };
    for (how, expected) in [
        (
            "exit",
            "rank 1: its process ended with exit status 3 before MPI_Finalize",
        ),
        ("crash", "rank 1: signal 11 ended its process before MPI_Finalize"),
        ("abort", "rank 1: the program called MPI_Abort with 5"),
        (
            "error",
            "rank 1: MPI_Send: invalid rank: 99; expected 0 to 2 of the communicator",
        ),
    ] {
        let ran = run(&[&ending, how], 3, "");
        let message = ran.result.unwrap_err();
        assert!(message.contains(expected), "{how}: {message}");
        assert_eq!(
            ran.aborted,
            (how == "abort").then_some(5).or((how == "error").then_some(6))
        );
    }
    let ran = run(&[&ending, "late"], 3, "");
    assert!(ran.result.is_ok());
    assert_eq!(
        ran.ranks.iter().map(|rank| rank.code()).collect::<Vec<_>>(),
        [0, 4, 0]
    );
    let message = run(&["true"], 2, "").result.unwrap_err();
    let expected = "rank 0: its process ended with exit status 0 without MPI_Init of FabricSim's library";
    assert!(message.contains(expected), "{message}");
    let message = run(&["./there-is-no-such-program"], 2, "").result.unwrap_err();
    assert!(
        message.contains("there-is-no-such-program cannot be started"),
        "{message}"
    );
}

#[test]
fn what_a_program_lacks_is_named_before_it_runs() {
    let folder = TempDir::new().unwrap();
    let Some(lacking) = compiled(folder.path(), "lacking") else {
        return;
    };
    let programs = OnlinePrograms::new(Some(library()));
    let needs = programs.needs(Path::new(&lacking)).unwrap();
    assert_eq!(
        needs.functions,
        ["MPI_Finalize", "MPI_Init", "MPI_Open_port"]
            .map(String::from)
            .into()
    );
    assert_eq!(needs.missing, ["MPI_Open_port"].map(String::from).into());
    assert_eq!(needs.obstacle(), None);
    let message = run(&[&lacking], 1, "").result.unwrap_err();
    assert!(message.contains("MPI_Open_port"), "{message}");
    let needs = programs.needs(Path::new("/bin/sh")).unwrap();
    assert!(needs.obstacle().unwrap().contains("calls MPI"), "{needs}");
    let needs = programs.needs(Path::new("/nonexistent"));
    assert!(needs.unwrap_err().contains("/nonexistent: No such file"));
}

#[test]
fn ranks_that_wait_forever_are_named() {
    let folder = TempDir::new().unwrap();
    let Some(ending) = compiled(folder.path(), "ending") else {
        return;
    };
    let message = run(&[&ending, "wait"], 3, "").result.unwrap_err();
    assert!(
        message.contains("rank 0") && message.contains("MPI_Recv"),
        "{message}"
    );
}

/// The operations that a run leaves give its result again, with every executor, and the same programs in another run.
#[test]
fn a_run_leaves_what_replays_it() {
    let folder = TempDir::new().unwrap();
    let Some(timing) = compiled(folder.path(), "timing") else {
        return;
    };
    let programs = OnlinePrograms::new(Some(library()));
    let text = format!(
        "{NETWORK}poll_overhead = \"150 ns\"\nmatching_overhead = \"7 ns\"\n[[job]]\nname = \"c\"\nworkload.command = \
         [{timing:?}]\nworkload.ranks = 7\nworkload.compute = \"none\"\n"
    );
    let live = Experiment::from_toml_with(&text, "c.toml", &[], &[&programs]).unwrap();
    let replay = sim::leave_operations(&live, &folder.path().into()).unwrap();
    let digest = sim::run(&live, &sim::RunControl::new()).unwrap().summary.digest;
    assert_eq!(programs.end(), [RankStatus::Exited(0); 7]);
    fs::write(folder.path().join("replay.toml"), replay.experiment).unwrap();
    for (executor, threads) in [
        ("sequential", 1),
        ("reverse-check", 1),
        ("conservative", 2),
        ("optimistic", 2),
    ] {
        let keys = [
            ("run.executor".into(), format!("{executor:?}")),
            ("run.threads".into(), threads.to_string()),
        ];
        let experiment = Experiment::load(&folder.path().join("replay.toml"), &keys).unwrap();
        let replayed = sim::run(&experiment, &sim::RunControl::new()).unwrap();
        assert_eq!(replayed.summary.digest, digest, "{executor}");
    }
    let slower = [("network.links.host.latency".into(), "\"900 ns\"".into())];
    let experiment = Experiment::load(&folder.path().join("replay.toml"), &slower).unwrap();
    let replayed = sim::run(&experiment, &sim::RunControl::new()).unwrap();
    assert_ne!(replayed.summary.digest, digest, "another network");
}
