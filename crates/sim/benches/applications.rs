//! Cost of simulating applications: packet-hops per second of processor time where every rank of a large
//! machine exchanges with its neighbours, in stand-ins for applications of Design Forward, and memory where a trace is
//! played many times. Nothing is collected over time: the bench `collection` says what that costs.
//!
//! `cargo bench -p fabricsim-sim --bench applications` runs each case in a process of its own; `-- NAME` runs the
//! cases whose name contains NAME.

use std::process::Command;

use experiment::Experiment;
use fabricsim_sim::{RunControl, run};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// 8,192 hosts on routers of 47 ports, 16 links between any two groups.
const DRAGONFLY_PLUS: &str = r#"
    topology = { kind = "dragonfly-plus", leaves_per_group = 16, hosts_per_leaf = 16, global_links_per_spine = 31, groups = 32 }
    routing = { algorithm = "minimal" }
    link = { bandwidth = "100 Gbps", latency = "50 ns" }
    packet = "256 B""#;

/// Links of 5.25 GiB/s, and of 4.7 GiB/s between groups of a dragonfly, under the stand-ins for Design Forward.
const LINKS: &str = r#"
    link = { bandwidth = "45.0972 Gbps", latency = "50 ns" }
    packet = "512 B""#;
const BETWEEN_GROUPS: &str = r#"
    links = { global = { bandwidth = "40.3726 Gbps" } }"#;

/// A stand-in for an application of Design Forward.
struct StandIn {
    name: &'static str,
    motif: &'static str,
    /// Hosts per router, routers per group, and global links per router of its dragonfly.
    dragonfly: [u32; 3],
    /// Sizes of tori with a host for each rank.
    tori: &'static [&'static [u32]],
}

const DESIGN_FORWARD: &[StandIn] = &[
    StandIn {
        name: "crystal-router/10000-ranks/1-of-100-passes",
        motif: r#"motif = "crystal-router", volume = "21990232555 B", iterations = 1"#,
        dragonfly: [8, 16, 8],
        tori: &[],
    },
    StandIn {
        name: "amg/13824-ranks",
        motif: r#"motif = "amg""#,
        dragonfly: [8, 16, 8],
        tori: &[
            &[24, 24, 24],
            &[6, 6, 6, 8, 8],
            &[4, 4, 4, 4, 3, 3, 6],
            &[4, 4, 4, 2, 2, 2, 3, 3, 3],
        ],
    },
    StandIn {
        name: "multigrid/110592-ranks/1-32nd-of-volume",
        motif: r#"motif = "multigrid", volume = "10.1875 GiB""#,
        dragonfly: [13, 26, 13],
        tori: &[
            &[48, 48, 48],
            &[8, 8, 12, 12, 12],
            &[4, 4, 4, 6, 6, 6, 8],
            &[4, 4, 4, 4, 4, 4, 3, 3, 3],
        ],
    },
];

const FAT_TREE: &str = r#"
    topology = { kind = "fat-tree", radix = 8 }
    routing = { algorithm = "adaptive" }
    packet = "1 KiB""#;

/// Name, network, size of buffers, job and what follows it.
const OTHERS: &[(&str, &str, &str, &str)] = &[
    (
        "halo3d-26/32768-ranks/32-cells",
        DRAGONFLY_PLUS,
        "100 KB",
        r#"workload = { motif = "halo3d-26", ranks = 32768, nx = 32, ny = 32, nz = 32 }
        ranks_per_host = 4"#,
    ),
    (
        "halo3d-26/32768-ranks/64-cells/no-barriers",
        DRAGONFLY_PLUS,
        "100 KB",
        r#"workload = { motif = "halo3d-26", ranks = 32768, nx = 64, ny = 64, nz = 64, barriers = false }
        ranks_per_host = 4"#,
    ),
    (
        "halo3d-26/32768-ranks/64-cells/no-barriers/small-buffers",
        DRAGONFLY_PLUS,
        "8 KiB",
        r#"workload = { motif = "halo3d-26", ranks = 32768, nx = 64, ny = 64, nz = 64, barriers = false }
        ranks_per_host = 4"#,
    ),
    (
        "uniform-traffic/0.5",
        DRAGONFLY_PLUS,
        "100 KB",
        r#"traffic = { pattern = "uniform", load = 0.5 }
        [run]
        until = "20 us""#,
    ),
    (
        "lammps/once",
        FAT_TREE,
        "100 KB",
        r#"workload = { otf2 = "examples/traces/otf2-lammps-melt-27" }"#,
    ),
    (
        "lammps/100-times",
        FAT_TREE,
        "100 KB",
        r#"workload = { otf2 = "examples/traces/otf2-lammps-melt-27" }
        repetitions = 100"#,
    ),
];

/// One run.
struct Case {
    name: String,
    network: String,
    buffer: &'static str,
    job: String,
}

fn cases() -> Vec<Case> {
    let others = OTHERS.iter().map(|(name, network, buffer, job)| Case {
        name: (*name).into(),
        network: (*network).into(),
        buffer,
        job: (*job).into(),
    });
    let stand_ins = DESIGN_FORWARD.iter().flat_map(|stand_in| {
        let StandIn {
            name,
            motif,
            dragonfly: [hosts, routers, links],
            tori,
        } = stand_in;
        let case = move |on: String, network: String| Case {
            name: format!("{name}/{on}"),
            network,
            buffer: "100 KB",
            job: format!("workload = {{ {motif} }}"),
        };
        let of_groups = format!(
            "topology = {{ kind = \"dragonfly\", hosts_per_router = {hosts}, routers_per_group = {routers}, \
             global_links_per_router = {links} }}\nrouting = {{ algorithm = \"minimal\" }}{LINKS}{BETWEEN_GROUPS}"
        );
        let of_rings = |sizes: &[u32]| {
            format!(
                "topology = {{ kind = \"torus\", sizes = {sizes:?} }}\n\
                 routing = {{ algorithm = \"dimension-order\" }}{LINKS}"
            )
        };
        let tori = tori.iter().map(move |sizes| case(format!("torus-{}d", sizes.len()), of_rings(sizes)));
        std::iter::once(case("dragonfly".into(), of_groups)).chain(tori)
    });
    others.chain(stand_ins).collect()
}

/// Argument of the process that runs one case.
const ONE: &str = "--one";

fn main() {
    // Traces are named as seen from the repository's root.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::env::set_current_dir(root).expect("the repository is there");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [one, name] = arguments.as_slice()
        && one == ONE
    {
        let case = cases().into_iter().find(|case| case.name == *name);
        return measure(&case.expect("the name of a case"));
    }
    let filter = arguments
        .into_iter()
        .find(|a| !a.starts_with('-'))
        .unwrap_or_default();
    println!(
        "{:58} {:>12} {:>10} {:>8} {:>13} {:>9} {:>12}",
        "case", "packet-hops", "messages", "CPU s", "M hops/CPU s", "peak MiB", "simulated ms"
    );
    for Case { name, .. } in cases().iter().filter(|case| case.name.contains(&filter)) {
        let program = std::env::current_exe().expect("it is running");
        let status = Command::new(program).args([ONE, name]).status();
        assert!(status.expect("it starts").success(), "{name}");
    }
}

fn measure(case: &Case) {
    let Case {
        name,
        network,
        buffer,
        job,
    } = case;
    let toml = format!(
        "[network]\n{network}\nrouter = {{ delay = \"100 ns\", buffer = \"{buffer}\" }}\n\
         [collect]\nseries = \"off\"\n[[job]]\n{job}\n"
    );
    let experiment = Experiment::from_toml(&toml, name, &[]).unwrap_or_else(|e| panic!("{e}"));
    let result = run(&experiment, &RunControl::new()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let summary = &result.summary;
    let (hops, cpu_s) = (summary.network.packet_hops, summary.run.cpu_s);
    println!(
        "{name:58} {hops:>12} {:>10} {cpu_s:>8.2} {:>13.2} {:>9.0} {:>12.3}",
        summary.jobs[0].messages,
        hops as f64 / cpu_s / 1e6,
        summary.run.peak_rss_bytes as f64 / f64::from(1 << 20),
        summary.run.simulated_ns / 1e6
    );
}
