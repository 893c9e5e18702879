//! Interrupted and resumed runs, with the real binary, real signals, and full disks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::{Bench, EXPERIMENT, texts};

/// A run of a second or more.
const LONG: &[&str] = &["run", "experiment.toml", "--set", "run.until=400 us"];

/// The time of its interruption.
const HERE: &[&str] = &["--out", "here"];

/// An interval that makes some hundred checkpoints.
const OFTEN: &[&str] = &["--checkpoint-every-simulated", "1 us"];

/// A timeout far above the time of any of these commands.
const LIMIT: Duration = Duration::from_secs(120);

fn digest(printed: &str) -> String {
    let summary: Value = serde_json::from_str(printed).unwrap_or_else(|e| panic!("{e}: {printed}"));
    summary["digest"].as_str().expect("a digest").to_string()
}

/// The digest of an uninterrupted run.
fn undisturbed(bench: &Bench, run: &[&str]) -> String {
    let printed = bench.succeeds(&[run, &["--json", "--out", "elsewhere"]].concat());
    fs::remove_dir_all(bench.path().join("elsewhere")).unwrap();
    digest(&printed)
}

fn checkpoint(bench: &Bench) -> PathBuf {
    bench.path().join("here/checkpoint.fabricsim")
}

/// Modification time of a file, if it exists.
fn written(file: &Path) -> Option<std::time::SystemTime> {
    file.metadata().and_then(|data| data.modified()).ok()
}

fn start(bench: &Bench, arguments: &[&str]) -> Child {
    let mut command = bench.command();
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("the command starts")
}

/// Waits until a new checkpoint exists and some more time; then sends the signal. Returns false if the run ended
/// before.
fn breaks_off(bench: &Bench, mut child: Child, signal: &str, more: Duration) -> bool {
    let before = written(&checkpoint(bench));
    let deadline = Instant::now() + LIMIT;
    while written(&checkpoint(bench)) == before {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(Instant::now() < deadline, "no checkpoint comes");
        thread::yield_now();
    }
    thread::sleep(more);
    let status = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    let output = child.wait_with_output().unwrap();
    let (_, stderr) = texts(&output);
    match signal {
        "-KILL" => assert_eq!(output.status.code().unwrap_or(0), 0, "{stderr}"),
        _ => assert!(matches!(output.status.code(), Some(0 | 130)), "{stderr}"),
    }
    !output.status.success()
}

/// Names in a result folder.
fn names(bench: &Bench, folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(bench.path().join(folder)).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

fn assert_holds_a_result_only(bench: &Bench) {
    assert_holds_a_result_only_in(bench, "here", 2);
}

/// A result in this folder, and this number of entries beside each other.
fn assert_holds_a_result_only_in(bench: &Bench, folder: &str, entries: usize) {
    let names = names(bench, folder);
    assert!(
        names.contains("summary.json") && names.contains("report.html"),
        "{names:?}"
    );
    assert!(
        names
            .iter()
            .all(|name| !name.starts_with('.') && !name.contains("checkpoint")),
        "{names:?}"
    );
    let beside = fs::read_dir(bench.path()).unwrap().count();
    assert_eq!(beside, entries, "the experiment and results, nothing else");
}

/// A folder with a checkpoint of [`LONG`], whose run was killed.
fn killed() -> (Bench, String) {
    let bench = Bench::new(EXPERIMENT);
    let digest = undisturbed(&bench, LONG);
    let child = start(&bench, &[LONG, HERE, OFTEN].concat());
    assert!(
        breaks_off(&bench, child, "-KILL", Duration::ZERO),
        "it is too fast"
    );
    assert!(checkpoint(&bench).is_file());
    assert!(!bench.path().join("here/summary.json").exists());
    (bench, digest)
}

#[test]
fn a_killed_run_goes_on_to_the_same_result() {
    let (bench, expected) = killed();
    // Files of a writer that was killed while writing.
    let whole = fs::read(checkpoint(&bench)).unwrap();
    fs::write(
        bench.path().join("here/.checkpoint-torn"),
        &whole[..whole.len() / 3],
    )
    .unwrap();
    let printed = bench.succeeds(&["resume", "here"]);
    assert!(
        printed.contains("continues from ") && printed.contains("report  here/report.html"),
        "{printed}"
    );
    assert_holds_a_result_only(&bench);
    let summary = fs::read_to_string(bench.path().join("here/summary.json")).unwrap();
    assert_eq!(digest(&summary), expected);
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert!(
        summary["run"]["resumed_at_ns"]
            .as_f64()
            .is_some_and(|at| at > 0.0)
    );
}

/// Somebody moves the folder of a run and starts another run of that name: each result is where its folder is.
#[cfg(target_os = "linux")]
#[test]
fn a_run_follows_its_folder() {
    let bench = Bench::new(EXPERIMENT);
    let expected = undisturbed(&bench, LONG);
    let series = ["--set", "collect.series=vcs", "--set", "collect.bin=1 us"];
    let checkpoints = ["--checkpoint-every-simulated", "40 us"];
    let mut child = start(&bench, &[LONG, HERE, &checkpoints, &series].concat());
    let deadline = Instant::now() + LIMIT;
    while written(&checkpoint(&bench)).is_none() {
        assert!(child.try_wait().unwrap().is_none() && Instant::now() < deadline);
        thread::yield_now();
    }
    fs::rename(bench.path().join("here"), bench.path().join("there")).unwrap();
    let other = bench.succeeds(&["run", "experiment.toml", "--json", "--out", "here"]);
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(
        stdout.contains("there/report.html") && !stdout.contains("here/report.html\n "),
        "{stdout}"
    );
    assert_holds_a_result_only_in(&bench, "here", 3);
    assert_holds_a_result_only_in(&bench, "there", 3);
    let digest_in =
        |name: &str| digest(&fs::read_to_string(bench.path().join(name).join("summary.json")).unwrap());
    assert_eq!(digest_in("here"), digest(&other));
    assert_eq!(digest_in("there"), expected);
}

/// Interrupts a run repeatedly at random times, with changing executors: there is always a complete checkpoint, and
/// never an older one.
#[test]
fn a_run_that_is_killed_again_and_again() {
    let bench = Bench::new(EXPERIMENT);
    let expected = undisturbed(&bench, LONG);
    let ways = [
        ["--executor", "conservative", "--threads", "2"],
        ["--executor", "optimistic", "--threads", "2"],
        ["--executor", "sequential", "--threads", "1"],
        ["--executor", "optimistic", "--threads", "1"],
    ];
    let mut reached = 0.0;
    for (round, way) in ways.iter().cycle().take(9).enumerate() {
        let first = if round == 0 {
            [LONG, HERE].concat()
        } else {
            vec!["resume", "here"]
        };
        let child = start(&bench, &[&first[..], way, OFTEN].concat());
        let signal = if round % 3 == 2 { "-INT" } else { "-KILL" };
        // The time of a few checkpoints.
        let more = Duration::from_micros(u64::from(std::process::id()) * 7919 * (round as u64 + 1) % 9_000);
        if !breaks_off(&bench, child, signal, more) {
            break;
        }
        let head = fs::read(checkpoint(&bench)).unwrap();
        let head = String::from_utf8_lossy(&head[..head.len().min(400)]).into_owned();
        let (_, rest) = head
            .split_once("\"simulated_ns\":")
            .expect("it says when it is of");
        let now: f64 = rest.split_once(',').unwrap().0.parse().unwrap();
        assert!(now > reached, "{now} after {reached}");
        reached = now;
    }
    if !bench.path().join("here/summary.json").exists() {
        bench.succeeds(&["resume", "here"]);
    }
    let summary = fs::read_to_string(bench.path().join("here/summary.json")).unwrap();
    assert_eq!(digest(&summary), expected);
    assert_holds_a_result_only(&bench);
}

#[test]
fn an_undisturbed_run_leaves_no_checkpoint() {
    let bench = Bench::new(EXPERIMENT);
    for every in [OFTEN, &["--checkpoint-every", "1ms"]] {
        bench.succeeds(&[&["run", "experiment.toml", "--out", "here"], every].concat());
        assert_holds_a_result_only(&bench);
    }
}

#[test]
fn a_checkpoint_is_not_run_over() {
    let mut bench = Bench::new(EXPERIMENT);
    bench.write("here/checkpoint.fabricsim", "hours of work");
    bench.refuses(
        &["run", "experiment.toml", "--out", "here"],
        &[
            "here contains the checkpoint of an interrupted run",
            "`fabricsim resume here` continues it",
            "remove here/checkpoint.fabricsim to start again",
        ],
    );
    // A writer that was killed before its first complete checkpoint leaves no reason to fail.
    fs::rename(
        bench.path().join("here/checkpoint.fabricsim"),
        bench.path().join("here/.checkpoint-torn"),
    )
    .unwrap();
    bench.succeeds(&["run", "experiment.toml", "--out", "here"]);
    assert_holds_a_result_only(&bench);
}

#[test]
fn nothing_to_resume() {
    let mut bench = Bench::new(EXPERIMENT);
    bench.write("empty/.keep", "");
    for folder in ["empty", "nowhere", "experiment.toml"] {
        let says = format!("{folder} holds no checkpoint (checkpoint.fabricsim)");
        let help = format!("`fabricsim run ... --out {folder} --checkpoint-every 60s` writes them");
        bench.refuses(&["resume", folder], &[&says, &help]);
    }
    bench.refuses(&["resume"], &["DIR"]);
}

/// This exit status, one message, and no other effect.
fn fails(bench: &Bench, command: &mut Command, status: i32, needles: &[&str]) {
    let before = bench.files();
    let output = command.current_dir(bench.path()).output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{command:?}: {stdout}{stderr}"
    );
    let said = stderr.lines().filter(|line| line.starts_with("fabricsim: "));
    assert_eq!(said.count(), 1, "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    for needle in needles {
        assert!(stderr.contains(needle), "'{needle}' is missing: {stderr}");
    }
    assert_eq!(bench.files(), before, "nothing is left behind, nothing is gone");
}

#[test]
fn a_checkpoint_that_cannot_be_continued_stays() {
    let (bench, _) = killed();
    let whole = fs::read(checkpoint(&bench)).unwrap();
    let mut spoilt = whole.clone();
    spoilt[whole.len() / 2] ^= 1;
    let named = "here/checkpoint.fabricsim: ";
    for (bytes, needle) in [
        (&spoilt[..], "is damaged"),
        (&whole[..1000], "is damaged"),
        (b"", "is not a checkpoint"),
        (b"Dear diary", "is not a checkpoint"),
    ] {
        fs::write(checkpoint(&bench), bytes).unwrap();
        fails(
            &bench,
            bench.command().args(["resume", "here"]),
            2,
            &[named, needle],
        );
        assert_eq!(fs::read(checkpoint(&bench)).unwrap(), bytes);
    }
    // The checkpoint contains the experiment, so its file may be missing.
    fs::write(checkpoint(&bench), whole).unwrap();
    fs::write(bench.path().join("experiment.toml"), "something else").unwrap();
    bench.succeeds(&["resume", "here"]);
}

/// The command with a limit on file sizes. The system would end it with a signal (SIGXFSZ), which is ignored here, so
/// that writing fails.
fn limited(bench: &Bench, blocks: u32, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let program = bench.command().get_program().to_owned();
    command
        .args([
            "-c",
            &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""),
        ])
        .arg(program)
        .args(arguments);
    command
}

#[test]
fn a_disk_that_is_full() {
    let (bench, expected) = killed();
    let before = fs::read(checkpoint(&bench)).unwrap();
    let short = &["run", "experiment.toml", "--out"];
    // The result does not fit: nothing of it is written.
    fails(
        &bench,
        &mut limited(&bench, 4, &[short, &["new"][..]].concat()),
        1,
        &["cannot write ", "File too large"],
    );
    // A checkpoint does not fit. The folder exists and is empty.
    fs::create_dir(bench.path().join("new")).unwrap();
    fails(
        &bench,
        &mut limited(&bench, 4, &[short, &["new"][..], OFTEN].concat()),
        1,
        &["cannot write new/RUNNING.json: ", "File too large"],
    );
    // The next checkpoint does not fit: the previous one stays, and so for the result.
    for more in [OFTEN, &[]] {
        fails(
            &bench,
            &mut limited(&bench, 4, &[&["resume", "here", "--json"], more].concat()),
            1,
            &["here", "File too large"],
        );
        assert_eq!(fs::read(checkpoint(&bench)).unwrap(), before);
    }
    assert_eq!(digest(&bench.succeeds(&["resume", "here", "--json"])), expected);
}

/// A file system of this many bytes, if this process may mount one.
struct Disk(PathBuf);

impl Disk {
    fn mount(folder: &Path, bytes: usize) -> Option<Disk> {
        fs::create_dir(folder).unwrap();
        let size = format!("size={bytes}");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &size, "fabricsim-test"])
            .arg(folder)
            .stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(Disk(folder.into()));
        }
        testkit::skipped!("this user may not mount a small disk");
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_small_disk_that_becomes_full() {
    let bench = Bench::new(EXPERIMENT);
    let Some(_disk) = Disk::mount(&bench.path().join("disk"), 64 << 10) else {
        return;
    };
    for every in [OFTEN, &[]] {
        let arguments = [&["run", "experiment.toml", "--out", "disk/here"][..], every].concat();
        let output = bench.run(&arguments);
        let (stdout, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
        assert!(
            stderr.contains("disk/here") && stderr.contains("No space left"),
            "{stderr}"
        );
        // A checkpoint may have fitted; half a result or half a checkpoint must not exist.
        let left: Vec<_> = bench.files().into_iter().filter(|path| path.is_file()).collect();
        let allowed = |path: &PathBuf| {
            path.ends_with("experiment.toml") || path.ends_with("disk/here/checkpoint.fabricsim")
        };
        assert!(left.iter().all(allowed), "{left:?}");
        let _ = fs::remove_dir_all(bench.path().join("disk/here"));
    }
}
