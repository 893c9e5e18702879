//! Real time of a call that the simulator answers, with the events of the network: `MPI_Iprobe` on all ranks of a
//! program in C. The start of the processes does not count: a run without calls is subtracted.
//!
//! `cargo bench -p fabricsim-libmpi`, on a machine that is idle otherwise.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use experiment::Experiment;
use online::OnlinePrograms;

/// Ranks, and calls of each.
const CASES: [(u32, u32); 2] = [(64, 2000), (1024, 200)];

const ROUNDS: usize = 5;

fn seconds(program: &str, ranks: u32, calls: u32) -> f64 {
    let library = std::env::current_exe()
        .unwrap()
        .with_file_name("libfabricsim_libmpi.so");
    let programs = OnlinePrograms::new(Some(library));
    let text = format!(
        "[network]\ntopology = {{ kind = \"fat-tree\", levels = 3, radix = 16 }}\nrouting = {{ algorithm = \
         \"destination-mod-k\" }}\nlink = {{ bandwidth = \"100 Gbps\", latency = \"50 ns\" }}\n[[job]]\nname = \
         \"probing\"\nworkload = {{ command = [{program:?}, \"{calls}\"], ranks = {ranks}, compute = \"none\" }}\n[run]\n\
         executor = \"sequential\"\n"
    );
    let experiment = Experiment::from_toml_with(&text, "probing.toml", &[], &[&programs]).unwrap();
    let start = Instant::now();
    sim::run(&experiment, &sim::RunControl::new()).unwrap();
    programs.end();
    start.elapsed().as_secs_f64()
}

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("probing");
    let library = std::env::current_exe()
        .unwrap()
        .with_file_name("libfabricsim_libmpi.so");
    let compiled = Command::new("cc")
        .args(["-O2", "-I"])
        .arg(here.join("include"))
        .arg("-o")
        .args([&program, &here.join("benches/probing.c"), &library])
        .status();
    assert!(compiled.unwrap().success());
    let program = program.display().to_string();
    println!("ranks,calls,rounds,least us,median us");
    for (ranks, calls) in CASES {
        let mut times: Vec<f64> = (0..ROUNDS)
            .map(|_| seconds(&program, ranks, calls) - seconds(&program, ranks, 0))
            .map(|time| time * 1e6 / f64::from(ranks * calls))
            .collect();
        times.sort_by(f64::total_cmp);
        println!(
            "{ranks},{},{ROUNDS},{:.1},{:.1}",
            ranks * calls,
            times[0],
            times[ROUNDS / 2]
        );
    }
}
