//! ARCHITECTURE.md is correct: dependencies point down, the kernel contains no terms of networks, and all named
//! paths exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Direct dependencies that each crate may have. Every crate is listed.
const ALLOWED: &[(&str, &[&str])] = &[
    ("config", &[]),
    ("des", &[]),
    ("topology", &["config"]),
    ("routing", &["config", "topology"]),
    ("results", &["config"]),
    ("analysis", &["config", "results"]),
    ("otf2", &[]),
    ("operation", &[]),
    ("rank-channel", &["operation"]),
    ("rank-clock", &[]),
    ("libmpi-core", &["operation", "rank-channel"]),
    ("libmpi", &["libmpi-core"]),
    ("libmpi-abi", &["libmpi-core"]),
    ("online", &["config", "rank-channel", "workload"]),
    ("workload", &["config", "operation", "otf2"]),
    ("fabric", &["config", "des", "routing", "topology"]),
    ("mpi", &["config", "des", "workload"]),
    (
        "experiment",
        &[
            "config", "des", "fabric", "mpi", "results", "routing", "topology", "workload",
        ],
    ),
    (
        "sim",
        &[
            "config",
            "des",
            "experiment",
            "fabric",
            "mpi",
            "results",
            "routing",
            "topology",
            "workload",
        ],
    ),
    ("cluster", &["des"]),
    ("export", &["otf2", "results"]),
    ("view", &["results"]),
    (
        "cli",
        &[
            "analysis",
            "cluster",
            "config",
            "experiment",
            "export",
            "online",
            "results",
            "sim",
            "view",
            "workload",
        ],
    ),
    (
        "py",
        &[
            "analysis",
            "cli",
            "config",
            "experiment",
            "export",
            "online",
            "results",
            "same-features",
            "sim",
            "workload",
        ],
    ),
    ("testkit", &["des"]),
    ("same-features", &[]),
];

/// Terms of networks, which the kernel must not contain. ("Message" is allowed: Time Warp has anti-messages.)
const FOREIGN: &[&str] = &[
    "router",
    "packet",
    "topolog",
    "dragonfly",
    "torus",
    "credit",
    "bandwidth",
    "switch",
    " host",
    " nic ",
    "mpi_",
    " rank",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace is there")
}

#[test]
fn dependencies_point_down() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let short = |name: &Value| {
        name.as_str()
            .and_then(|n| n.strip_prefix("fabricsim-"))
            .map(str::to_string)
    };
    let seen: BTreeSet<String> = packages.iter().filter_map(|p| short(&p["name"])).collect();
    let known: BTreeSet<String> = ALLOWED.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(seen, known, "crates of the workspace and crates of the map");
    for package in packages {
        let name = short(&package["name"]).expect("all crates are called fabricsim-NAME");
        let (_, allowed) = ALLOWED.iter().find(|(n, _)| *n == name).expect("just compared");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let Some(used) = short(&dependency["name"]) else {
                continue;
            };
            let for_tests = dependency["kind"] == "dev";
            assert!(
                for_tests || allowed.contains(&used.as_str()),
                "crate {name} uses {used}; it may use {allowed:?}"
            );
        }
    }
}

#[test]
fn the_kernel_knows_nothing_of_networks() {
    let mut folders = vec![root().join("crates/des/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("readable").to_lowercase();
            for word in FOREIGN {
                assert!(!text.contains(word), "{} speaks of '{word}'", path.display());
            }
        }
    }
}

#[test]
fn the_map_names_what_exists() {
    for page in ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root().join(page)).expect("the page is there");
        let mut paths = 0;
        for quoted in text.split('`').skip(1).step_by(2) {
            let is_path = quoted.contains('/') && !quoted.contains([' ', '*', '<', '$', ':', '=']);
            // Created by a build or a run, or outside the project: absent from a clone.
            let made = ["target/", "results/", "http", "../"]
                .iter()
                .any(|p| quoted.starts_with(p));
            if is_path && !made {
                assert!(
                    root().join(quoted).exists(),
                    "{page} names `{quoted}`, which does not exist"
                );
                paths += 1;
            }
        }
        assert!(
            paths > 0 || page == "CONTRIBUTING.md",
            "{page} names no path at all"
        );
    }
}

/// All pages below a folder.
fn pages(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            pages(&path, out);
        } else if path.extension().is_some_and(|e| e == "md") {
            out.push(path);
        }
    }
}

#[test]
fn the_documentation_names_files_that_exist() {
    let mut all = Vec::new();
    for folder in ["docs", "studies", "benches", "examples"] {
        pages(&root().join(folder), &mut all);
    }
    let mut paths = 0;
    for page in all {
        let text = std::fs::read_to_string(&page).expect("the page is there");
        for quoted in text.split('`').skip(1).step_by(2) {
            let folders = ["crates/", "python/", "scripts/", "studies/", "tests/"];
            let is_path = !quoted.contains([' ', '*', '<', '$', ':', '=', '\n']);
            // The page on motifs tells readers to create this file.
            let is_created = quoted == "crates/workload/src/motif/ring.rs";
            if is_path && !is_created && folders.iter().any(|folder| quoted.starts_with(folder)) {
                let exists = root().join(quoted).exists();
                assert!(
                    exists,
                    "{} names `{quoted}`, which does not exist",
                    page.display()
                );
                paths += 1;
            }
        }
    }
    assert!(paths > 50, "only {paths} paths in the documentation");
}
