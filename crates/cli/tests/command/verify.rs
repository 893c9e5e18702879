//! `verify`, and commands that meet damaged results.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::bench::{Bench, EXPERIMENT, texts};

/// Flips a bit in the middle of a file.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("readable");
    let middle = bytes.len() / 4;
    bytes[middle] ^= 8;
    fs::write(path, bytes).expect("written");
}

/// Exit status, standard output and standard error.
fn outcome(bench: &Bench, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = bench.run(arguments);
    let (stdout, stderr) = texts(&output);
    assert!(!stderr.contains("panicked"), "{stderr}");
    (output.status.code(), stdout, stderr)
}

/// The commands that read numbers of a result.
const READERS: [&[&str]; 3] = [
    &["export", "a", "--format", "csv"],
    &["report", "a"],
    &["compare", "a", "b"],
];

#[test]
fn damaged_results_are_told_and_shown_only_by_force() {
    let bench = Bench::new(EXPERIMENT);
    for name in ["a", "b"] {
        bench.succeeds(&["run", "experiment.toml", "--out", name]);
    }
    let told = bench.succeeds(&["verify", "a", "b"]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(
        lines[0].starts_with("a: verified: ") && lines[0].ends_with(" bytes"),
        "{told}"
    );
    for reader in READERS {
        let (status, _, stderr) = outcome(&bench, reader);
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{reader:?}");
    }

    flip(&bench.path().join("a/links.parquet"));
    let (status, stdout, stderr) = outcome(&bench, &["verify", "a", "b"]);
    assert_eq!(status, Some(2), "{stdout}{stderr}");
    assert!(
        stdout.starts_with("a/links.parquet: damaged: its column '"),
        "{stdout}"
    );
    assert!(stdout.contains("\nb: verified: "), "{stdout}");
    assert!(
        stderr.contains("1 of 2 folders could not be verified"),
        "{stderr}"
    );
    let (status, stdout, _) = outcome(&bench, &["verify", "--json", "a", "b", "nowhere"]);
    let json: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(status, Some(2));
    assert_eq!(json[0]["damaged"][0]["file"], "links.parquet");
    assert_eq!(json[1]["damaged"], Value::Array(Vec::new()));
    assert!(json[1]["tables"].as_u64() > Some(3) && json[1]["bytes"].as_u64() > Some(1000));
    assert!(
        json[2]["error"]
            .as_str()
            .is_some_and(|error| error.contains("nowhere"))
    );

    for reader in &READERS[..2] {
        let (status, stdout, stderr) = outcome(&bench, reader);
        assert_eq!((status, stdout.as_str()), (Some(2), ""), "{reader:?}: {stderr}");
        for words in ["a/links.parquet", "column '", "is damaged", "--force"] {
            assert!(stderr.contains(words), "{reader:?}: {stderr}");
        }
        let (status, _, stderr) = outcome(&bench, &[reader, &["--force"][..]].concat());
        assert!(
            stderr.starts_with("fabricsim: warning: a/links.parquet: damaged: its column '"),
            "{stderr}"
        );
        // The flipped bit may make the bytes unreadable.
        assert!(
            status == Some(0) || stderr.contains("cannot read a/links.parquet"),
            "{stderr}"
        );
    }

    let summary = bench.path().join("a/summary.json");
    let text = fs::read_to_string(&summary).expect("readable");
    let changed = text.replacen("\"packets_injected\": ", "\"packets_injected\": 1", 1);
    assert_ne!(changed, text);
    fs::write(&summary, changed).expect("written");
    for reader in READERS {
        let (status, stdout, stderr) = outcome(&bench, reader);
        assert_eq!((status, stdout.as_str()), (Some(2), ""), "{reader:?}: {stderr}");
        assert!(
            stderr.contains("cannot read a/summary.json: it is damaged"),
            "{stderr}"
        );
    }
    let (status, stdout, stderr) = outcome(&bench, &["compare", "a", "b", "--force"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stderr.contains("warning: a/summary.json: damaged"), "{stderr}");
    assert!(!stdout.is_empty());
    let (status, _, _) = outcome(&bench, &["verify", "a"]);
    assert_eq!(status, Some(2));
}

#[test]
fn results_without_checksums_are_shown_with_a_note() {
    let bench = Bench::new(EXPERIMENT);
    bench.succeeds(&["run", "experiment.toml", "--out", "a"]);
    bench.succeeds(&["run", "experiment.toml", "--out", "b"]);
    let summary = bench.path().join("a/summary.json");
    let text = fs::read_to_string(&summary).expect("readable");
    let end = text.find(",\n  \"checksums\": {").expect("it carries checksums");
    fs::write(&summary, format!("{}\n}}\n", &text[..end])).expect("written");
    for reader in READERS {
        let (status, _, stderr) = outcome(&bench, reader);
        assert_eq!(status, Some(0), "{reader:?}: {stderr}");
        assert_eq!(
            stderr.matches("fabricsim: note: a is not verified").count(),
            1,
            "{stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    let (status, stdout, _) = outcome(&bench, &["verify", "a"]);
    assert_eq!(status, Some(2));
    assert!(
        stdout.starts_with("a: not verified: it carries no checksums"),
        "{stdout}"
    );
}
