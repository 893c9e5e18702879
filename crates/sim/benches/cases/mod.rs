//! Networks and what runs on them, for several benches: mostly uniform random traffic.

/// One network and what runs on it. Links of 100 Gbps and 50 ns, routers of 100 ns, 100 KB per port, packets of 256 B,
/// as in the Slim Fly study of CODES.
pub struct Case {
    pub name: &'static str,
    topology: &'static str,
    routing: &'static str,
    job: Job,
}

enum Job {
    /// Uniform traffic.
    Uniform { load: f64, microseconds: u32 },
    /// The keys of a job.
    Keys(&'static str),
}

pub const CASES: &[Case] = &[
    case("dragonfly-1056/minimal/0.1", DRAGONFLY_1K, "minimal", 0.1, 200),
    case("dragonfly-1056/minimal/0.3", DRAGONFLY_1K, "minimal", 0.3, 100),
    case("dragonfly-1056/minimal/0.5", DRAGONFLY_1K, "minimal", 0.5, 60),
    case("dragonfly-1056/minimal/0.7", DRAGONFLY_1K, "minimal", 0.7, 60),
    case("dragonfly-1056/minimal/0.9", DRAGONFLY_1K, "minimal", 0.9, 60),
    case("dragonfly-1056/ugal/0.1", DRAGONFLY_1K, "ugal", 0.1, 100),
    case("dragonfly-1056/ugal/0.5", DRAGONFLY_1K, "ugal", 0.5, 40),
    case("dragonfly-1056/ugal/0.9", DRAGONFLY_1K, "ugal", 0.9, 20),
    case("dragonfly-5256/minimal/0.5", DRAGONFLY_5K, "minimal", 0.5, 20),
    case("dragonfly-16512/minimal/0.5", DRAGONFLY_16K, "minimal", 0.5, 10),
    case("dragonfly-83232/minimal/0.5", DRAGONFLY_83K, "minimal", 0.5, 4),
    case("dragonfly-262656/minimal/0.5", DRAGONFLY_262K, "minimal", 0.5, 3),
    case("slim-fly-3042/minimal/0.1", SLIM_FLY_3K, "minimal", 0.1, 60),
    case("slim-fly-3042/minimal/0.5", SLIM_FLY_3K, "minimal", 0.5, 20),
    case("fat-tree-1024/adaptive/0.5", FAT_TREE, "adaptive", 0.5, 20),
    case(
        "torus-8x8x8/dimension-order/0.3",
        TORUS,
        "dimension-order",
        0.3,
        40,
    ),
];

/// Cases that take minutes.
#[allow(dead_code, reason = "not all benches run them")]
pub const LARGE: &[Case] = &[
    Case {
        name: "halo3d-26/32768-ranks/32-cells",
        topology: DRAGONFLY_PLUS_8K,
        routing: "minimal",
        job: Job::Keys(
            "workload = { motif = \"halo3d-26\", ranks = 32768, nx = 32, ny = 32, nz = 32 }\nranks_per_host = 4",
        ),
    },
    case("slim-fly-1009622/minimal/0.1", SLIM_FLY_1M, "minimal", 0.1, 20),
];

const fn case(
    name: &'static str,
    topology: &'static str,
    routing: &'static str,
    load: f64,
    microseconds: u32,
) -> Case {
    Case {
        name,
        topology,
        routing,
        job: Job::Uniform { load, microseconds },
    }
}

/// The arguments of a bench: the text that names of cases must contain, and the number of rounds, `rounds` by default.
pub fn arguments(rounds: usize) -> (String, usize) {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with('-'));
    let filter = arguments.next().unwrap_or_default();
    let rounds = arguments.next().map_or(rounds, |rounds| {
        rounds.parse().expect("the second argument is a number of rounds")
    });
    (filter, rounds)
}

impl Case {
    /// The experiment. Tables may be appended.
    pub fn toml(&self) -> String {
        let Case {
            topology, routing, ..
        } = self;
        let job = match self.job {
            Job::Uniform { load, microseconds } => format!(
                "traffic = {{ pattern = \"uniform\", load = {load} }}\n[run]\nuntil = \"{microseconds} us\""
            ),
            Job::Keys(keys) => keys.into(),
        };
        format!(
            r#"
            [network]
            topology = {{ {topology} }}
            routing = {{ algorithm = "{routing}" }}
            link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
            router = {{ delay = "100 ns", buffer = "100 KB" }}
            packet = "256 B"
            [[job]]
            {job}
            "#
        )
    }
}

const DRAGONFLY_1K: &str =
    r#"kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4"#;
const DRAGONFLY_16K: &str =
    r#"kind = "dragonfly", hosts_per_router = 8, routers_per_group = 16, global_links_per_router = 8"#;
const DRAGONFLY_5K: &str =
    r#"kind = "dragonfly", hosts_per_router = 6, routers_per_group = 12, global_links_per_router = 6"#;
const DRAGONFLY_83K: &str =
    r#"kind = "dragonfly", hosts_per_router = 12, routers_per_group = 24, global_links_per_router = 12"#;
const DRAGONFLY_262K: &str =
    r#"kind = "dragonfly", hosts_per_router = 16, routers_per_group = 32, global_links_per_router = 16"#;
/// 16 links between any two groups, routers of 47 ports.
const DRAGONFLY_PLUS_8K: &str = r#"kind = "dragonfly-plus", leaves_per_group = 16, hosts_per_leaf = 16, global_links_per_spine = 31, groups = 32"#;
const SLIM_FLY_3K: &str = r#"kind = "slim-fly", q = 13, hosts_per_router = 9"#;
const SLIM_FLY_1M: &str = r#"kind = "slim-fly", q = 163, hosts_per_router = 19"#;
const FAT_TREE: &str = r#"kind = "fat-tree", levels = 3, radix = 16"#;
const TORUS: &str = r#"kind = "torus", sizes = [8, 8, 8]"#;
