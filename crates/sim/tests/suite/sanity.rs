//! Expectations from applications on large machines, in the manner of the studies for the Exascale Computing
//! Project: motifs on networks of 1,024 hosts with one rank each. Bounds are wide. `studies/applications` has their
//! reasons and the measured values; `--nocapture` prints those of this run.
//!
//! At the end, what needs no bound: repetitions, jobs that share nothing, and one graph in several formats, exactly.

use std::fmt::Write;

use experiment::Experiment;
use results::SlowDown;
use sim::{RunContext, RunControl, run_with_interference};

use crate::support::{experiment, run, table};

/// Three levels, 8 hosts on a leaf, 64 in a pod.
const TREE: &str = r#"{ kind = "fat-tree", levels = 3, radix = 16 }"#;
/// The same with a quarter of the links between pods.
const TREE_OF_TAPERED_PODS: &str = r#"{ kind = "fat-tree", down = [8, 8, 16], up = [8, 2] }"#;
/// Two of those pods: 128 hosts.
const TWO_PODS: &str = r#"{ kind = "fat-tree", down = [8, 8, 2], up = [8, 2] }"#;
/// Two levels, 32 hosts on a leaf.
const WIDE_LEAVES: &str = r#"{ kind = "fat-tree", down = [32, 32], up = [32] }"#;
/// The same with a quarter of the uplinks.
const TAPERED_LEAVES: &str = r#"{ kind = "fat-tree", down = [32, 32], up = [8] }"#;
/// 16 groups of 64 hosts.
const DRAGONFLY_PLUS: &str = r#"{ kind = "dragonfly-plus", hosts_per_leaf = 8, leaves_per_group = 8, groups = 16, global_links_per_spine = 8 }"#;

/// 64³ cells of 8 B on a rank: faces of 32 KiB, edges of 512 B, corners of 8 B. The ranks are 16 by 8 by 8.
const HALO: &str = r#"{ motif = "halo3d-26", ranks = 1024, nx = 64, ny = 64, nz = 64, barriers = false }"#;
/// The same with ranks of 4 by 4 by 64: 32 ranks in a row, or 64, are whole layers of the grid.
const HALO_OF_LAYERS: &str =
    r#"{ motif = "halo3d-26", pex = 4, pey = 4, pez = 64, nx = 64, ny = 64, nz = 64, barriers = false }"#;
/// 8 KiB from each rank to each in its row, of 16, of 8 and again of 8 ranks.
const ROWS: &str = r#"{ motif = "subcom3d-a2a", ranks = 1024, bytes_x = "8 KiB", bytes_y = "8 KiB", bytes_z = "8 KiB", barriers = false }"#;
/// 128 B from each to each, by default after Bruck: ten exchanges of 64 KiB with ranks 1, 2, 4, ... 512 further on.
const ALL_TO_ALL: &str = r#"{ motif = "all-to-all", ranks = 1024, bytes = "128 B" }"#;
/// Blocks of 50 by 50 by 10 cells, computed for 1 us and 1 ns for each cell; messages of 4,000 B.
const SWEEP: &str =
    r#"{ motif = "sweep3d", ranks = 1024, nz = 20, compute_per_cell = "1 ns", barriers = false }"#;
/// The same motif with 1 us of computation per block, the motif's default.
const HASTY_SWEEP: &str = r#"{ motif = "sweep3d", ranks = 1024, nz = 20, barriers = false }"#;

struct Case<'a> {
    topology: &'a str,
    routing: &'a str,
    gbps: u32,
    workload: &'a str,
    /// More lines of the job's table.
    job: &'a str,
    seed: u64,
}

impl<'a> Case<'a> {
    fn new(topology: &'a str, workload: &'a str) -> Self {
        let routing = if topology == DRAGONFLY_PLUS {
            "minimal"
        } else {
            "adaptive"
        };
        Self {
            topology,
            routing,
            gbps: 25,
            workload,
            job: "",
            seed: 1,
        }
    }

    /// The time of the job in microseconds.
    fn us(&self) -> f64 {
        let text = format!(
            "{}[[job]]\nworkload = {}\n{}\n[run]\nseed = {}\n",
            network(self.topology, self.routing, self.gbps),
            self.workload,
            self.job,
            self.seed,
        );
        let experiment = experiment(&text);
        assert_eq!(experiment.network.hosts(), 1024);
        let result = run(&experiment);
        let job = &result.summary.jobs[0];
        assert!(job.finished);
        assert_eq!(job.ranks, 1024);
        job.time_ns / 1e3
    }
}

fn network(topology: &str, routing: &str, gbps: u32) -> String {
    format!(
        "[network]\ntopology = {topology}\nrouting = {{ algorithm = \"{routing}\" }}\n\
         link = {{ bandwidth = \"{gbps} Gbps\", latency = \"50 ns\" }}\npacket = \"4 KiB\"\n"
    )
}

// ---- Bandwidth ----------------------------------------------------------------------------------------

/// The speed-up of a motif by four times the bandwidth.
fn speed_up(topology: &str, workload: &str) -> f64 {
    let [slow, fast] = [25, 100].map(|gbps| {
        Case {
            gbps,
            ..Case::new(topology, workload)
        }
        .us()
    });
    eprintln!(
        "{topology} {workload}: {slow:.3} us, with 100 Gbps {fast:.3} us: {:.3}",
        slow / fast
    );
    slow / fast
}

/// Large messages wait for links, and four times the bandwidth gives at most a factor of four, because the CPU's time
/// per message stays.
#[test]
fn bandwidth_speeds_up_halos_and_all_to_alls() {
    for topology in [TREE, DRAGONFLY_PLUS] {
        for workload in [HALO, ROWS] {
            let speed_up = speed_up(topology, workload);
            assert!(
                (2.5..=4.0).contains(&speed_up),
                "{workload} on {topology}: {speed_up}"
            );
        }
    }
}

/// A block is computed for 26 us, and its messages are in flight for a few.
#[test]
fn bandwidth_hardly_speeds_up_sweeps() {
    for topology in [TREE, DRAGONFLY_PLUS] {
        let speed_up = speed_up(topology, SWEEP);
        assert!((1.0..=1.15).contains(&speed_up), "on {topology}: {speed_up}");
    }
}

/// Where computation hardly counts, the same messages determine the time if the links are slow.
#[test]
fn bandwidth_does_speed_up_sweeps_that_hardly_compute() {
    for topology in [TREE, DRAGONFLY_PLUS] {
        let speed_up = speed_up(topology, HASTY_SWEEP);
        assert!((1.4..=2.5).contains(&speed_up), "on {topology}: {speed_up}");
    }
}

// ---- Placement ----------------------------------------------------------------------------------------

/// With full bisection a placement can only separate ranks of a row from their routers. It makes static routes
/// collide, which suit such rows.
#[test]
fn random_placement_does_not_beat_linear_for_a_halo() {
    for routing in ["adaptive", "destination-mod-k"] {
        let case = Case {
            routing,
            ..Case::new(TREE, HALO)
        };
        let linear = case.us();
        for seed in [1, 2] {
            let random = Case {
                job: "placement = \"random\"",
                seed,
                ..case
            }
            .us();
            eprintln!("{routing}: linear {linear:.3} us, random with seed {seed} {random:.3} us");
            assert!(
                linear <= 1.05 * random,
                "{routing}, seed {seed}: {linear} and {random}"
            );
        }
    }
}

// ---- Tapering -----------------------------------------------------------------------------------------

/// The slowdown of a job on the second tree against the first.
fn slower(full: &str, tapered: &str, workload: &str, job: &str) -> f64 {
    let [full, tapered] = [full, tapered].map(|tree| {
        Case {
            job,
            ..Case::new(tree, workload)
        }
        .us()
    });
    eprintln!(
        "{workload}: {full:.3} us, tapered {tapered:.3} us: {:.3}",
        tapered / full
    );
    tapered / full
}

/// The line of a job that places blocks of 4 by 4 by 4 ranks of a grid of 16 by 8 by 8 under one pod of 64 hosts
/// each.
fn blocks_under_pods(folder: &tempfile::TempDir) -> String {
    let mut hosts = String::new();
    for rank in 0..1024 {
        let (x, y, z) = (rank % 16, rank / 16 % 8, rank / 128);
        let pod = x / 4 + 4 * (y / 4 + 2 * (z / 4));
        let inside = x % 4 + 4 * (y % 4 + 4 * (z % 4));
        writeln!(hosts, "{}", pod * 64 + inside).expect("strings take everything");
    }
    let path = folder.path().join("blocks.txt");
    std::fs::write(&path, hosts).unwrap();
    format!("mapping = {{ file = {path:?} }}")
}

#[test]
fn tapering_hurts_all_to_alls() {
    // Five of ten exchanges leave the leaf completely and one by half. Rows along x stay inside a leaf.
    let whole = slower(WIDE_LEAVES, TAPERED_LEAVES, ALL_TO_ALL, "");
    assert!((1.8..=4.0).contains(&whole), "all-to-all: {whole}");
    let rows = slower(WIDE_LEAVES, TAPERED_LEAVES, ROWS, "");
    assert!((1.6..=4.0).contains(&rows), "in rows: {rows}");
    // Only exchanges that leave a pod compete with each other: four complete ones.
    let pods = slower(TREE, TREE_OF_TAPERED_PODS, ALL_TO_ALL, "");
    assert!((1.6..=4.0).contains(&pods), "tapered above the pods: {pods}");
}

#[test]
fn tapering_does_not_hurt_a_halo_of_neighbours() {
    // Two layers of 16 ranks are under a leaf: 32 of their 160 faces leave it, on 8 links.
    let layers = slower(WIDE_LEAVES, TAPERED_LEAVES, HALO_OF_LAYERS, "");
    assert!((0.95..=1.1).contains(&layers), "layers: {layers}");
    // Cubes of 64 ranks are under a pod: at most 64 of their faces leave it, on 16 links.
    let folder = tempfile::tempdir().unwrap();
    let blocks = slower(TREE, TREE_OF_TAPERED_PODS, HALO, &blocks_under_pods(&folder));
    assert!((0.95..=1.1).contains(&blocks), "cubes: {blocks}");
}

/// A linear mapping is not enough: a rank of two rows of 16 under a leaf has three of six neighbours outside it.
#[test]
fn tapering_hurts_a_halo_whose_neighbours_are_elsewhere() {
    let rows = slower(WIDE_LEAVES, TAPERED_LEAVES, HALO, "");
    assert!((1.6..=4.0).contains(&rows), "rows of 16: {rows}");
}

// ---- Exactly ------------------------------------------------------------------------------------------

/// The end of each rank in ps.
fn ends(repetitions: u32, bytes: u64) -> Vec<u64> {
    let text = format!(
        "{}[[job]]\nworkload = {{ motif = \"ping-pong\", bytes = {bytes:?}, barriers = false }}\nrepetitions = {repetitions}\n\
         [mpi]\neager_threshold = \"4 KiB\"\nsend_overhead = \"250 ns\"\nreceive_overhead = \"350 ns\"\n\
         header_size = \"40 B\"\ncontrol_size = \"64 B\"\n",
        network(TREE, "adaptive", 100),
        bytes = format!("{bytes} B"),
    );
    let result = run(&experiment(&text));
    table(&result, "ranks").u64s("time_ps").unwrap().to_vec()
}

/// Two hosts of a leaf: two links of 50 ns, a router, and the bytes at 100 Gbps.
fn transfer(bytes: u64) -> u64 {
    2 * 50_000 + 100_000 + bytes * 80
}

#[test]
fn n_repetitions_take_n_times_as_long() {
    let eager = |bytes: u64| 250_000 + 350_000 + transfer(bytes + 40);
    let rendezvous = |bytes: u64| eager(bytes) + 2 * transfer(64);
    for (bytes, way) in [
        (0, eager(0)),
        (4096, eager(4096)),
        (4097, rendezvous(4097)),
        (100_000, rendezvous(100_000)),
    ] {
        for repetitions in [1, 2, 7, 1000] {
            // Rank 0 begins, and ends with the last answer.
            let end = ends(repetitions, bytes)[0];
            assert_eq!(
                end,
                u64::from(repetitions) * 2 * way,
                "{repetitions} times {bytes} B"
            );
        }
    }
}

/// A halo and an all-to-all of 64 ranks each, placed by these keys.
fn two_jobs(topology: &str, routing: &str, placement: &str) -> Experiment {
    experiment(&format!(
        r#"{}
[[job]]
name = "halo"
workload = {{ motif = "halo3d-26", ranks = 64, nx = 32, ny = 32, nz = 32, iterations = 2 }}
{placement}
[[job]]
name = "all-to-all"
workload = {{ motif = "all-to-all", ranks = 64, bytes = "8 KiB" }}
{placement}
"#,
        network(topology, routing, 100)
    ))
}

fn slow_downs(experiment: &Experiment) -> Vec<SlowDown> {
    let result = run_with_interference(experiment, &RunControl::new(), &RunContext::default());
    let result = result.unwrap_or_else(|e| panic!("{e}")).expect("it is alone");
    result.summary.interference.expect("it was asked for").jobs
}

#[test]
fn jobs_in_pods_of_their_own_do_not_interfere() {
    for routing in ["adaptive", "destination-mod-k"] {
        let jobs = slow_downs(&two_jobs(TREE, routing, ""));
        for job in &jobs {
            assert_eq!(job.slowdown, Some(1.0), "{routing}: {job:#?}");
            assert_eq!(job.mpi_ns, job.alone_mpi_ns, "{routing}: {job:#?}");
            assert_eq!(job.latency_ns, job.alone_latency_ns, "{routing}: {job:#?}");
        }
        // Mixed on two pods with few links between them, the jobs interfere.
        let jobs = slow_downs(&two_jobs(TWO_PODS, routing, "placement = \"random\""));
        assert!(
            jobs.iter()
                .any(|job| job.slowdown.is_some_and(|factor| factor > 1.05)),
            "{routing}: {jobs:#?}"
        );
    }
}

// ---- The same graph in all formats ---------------------------------------------------------------------

/// A ring of five routers with a chord, in which cables differ in number, bandwidth, latency and class.
const EDGES: &[(&str, &str, u32, &str, &str, &str)] = &[
    ("a", "b", 1, "400 Gbps", "25 ns", "copper"),
    ("b", "c", 2, "100 Gbps", "75 ns", "optical"),
    ("c", "d", 1, "100 Gbps", "75 ns", "optical"),
    ("d", "e", 1, "200 Gbps", "40 ns", "copper"),
    ("e", "a", 1, "200 Gbps", "40 ns", "copper"),
    ("a", "c", 1, "50 Gbps", "1 us", "long"),
];

fn edge_list() -> String {
    let line = |(a, b, count, bandwidth, latency, class): &(&str, &str, u32, &str, &str, &str)| {
        format!("{a} {b} {count} bandwidth=\"{bandwidth}\" latency=\"{latency}\" class={class}\n")
    };
    EDGES.iter().map(line).collect()
}

fn graphml() -> String {
    let mut text = String::from("<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n");
    for name in ["count", "bandwidth", "latency", "class"] {
        text += &format!("<key id=\"{name}\" for=\"edge\" attr.name=\"{name}\" attr.type=\"string\"/>\n");
    }
    text += "<graph edgedefault=\"undirected\">\n";
    // Numbering does not follow the order of the file.
    for name in ["e", "c", "a", "d", "b"] {
        text += &format!("<node id=\"{name}\"/>\n");
    }
    for (a, b, count, bandwidth, latency, class) in EDGES {
        text += &format!(
            "<edge source=\"{a}\" target=\"{b}\"><data key=\"count\">{count}</data>\
             <data key=\"bandwidth\">{bandwidth}</data><data key=\"latency\">{latency}</data>\
             <data key=\"class\">{class}</data></edge>\n"
        );
    }
    text + "</graph>\n</graphml>\n"
}

fn node_link() -> String {
    let nodes = ["d", "a", "b", "e", "c"].map(|name| format!("{{\"id\": \"{name}\"}}"));
    let edge = |(a, b, count, bandwidth, latency, class): &(&str, &str, u32, &str, &str, &str)| {
        format!(
            "{{\"source\": \"{a}\", \"target\": \"{b}\", \"count\": {count}, \"bandwidth\": \"{bandwidth}\", \
             \"latency\": \"{latency}\", \"class\": \"{class}\"}}"
        )
    };
    let edges: Vec<String> = EDGES.iter().map(edge).collect();
    format!(
        "{{\"nodes\": [{}], \"links\": [{}]}}",
        nodes.join(", "),
        edges.join(", ")
    )
}

#[test]
fn a_graph_gives_one_result_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let mut digests = Vec::new();
    for (name, text) in [
        ("graph.txt", edge_list()),
        ("graph.graphml", graphml()),
        ("graph.json", node_link()),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let result = run(&experiment(&format!(
            "[network]\ntopology = {{ kind = \"graph\", file = {file:?}, hosts_per_router = 2 }}\n\
             routing = {{ algorithm = \"ugal\" }}\n[[job]]\n\
             traffic = {{ pattern = \"uniform\", load = 0.4 }}\n[run]\nuntil = \"20 us\"\nwarmup = \"2 us\"\n"
        )));
        digests.push((name, result.summary.digest.clone()));
        // The speeds of the file count: all cables at 100 Gbps and 50 ns give another result.
        let classes: std::collections::BTreeSet<String> = table(&result, "links")
            .texts("class")
            .unwrap()
            .map(|class| class.unwrap().to_string())
            .collect();
        for class in [
            "copper (400 Gbps, 25 ns)",
            "copper (200 Gbps, 40 ns)",
            "optical",
            "long",
        ] {
            assert!(classes.contains(class), "{name}: {classes:?}");
        }
    }
    assert!(
        digests.windows(2).all(|pair| pair[0].1 == pair[1].1),
        "{digests:#?}"
    );
}
