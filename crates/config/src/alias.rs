//! Short and foreign names that people write, and the names that they mean. They occur in errors only: an experiment
//! has one name for one thing.
//!
//! The names of other simulators and of papers are here, too: p, a, h, g of Kim et al. 2008, k of Al-Fares et al.
//! 2008, S, K, T of Ahn et al. 2009, BookSim, CODES, SST. This is the only file of the crate that knows names of
//! experiments; a test of `crates/sim` compares all that are meant with the registries.

/// Names for which people write others.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// What people write, in lower case with hyphens.
    pub written: &'static [&'static str],
    /// What they mean: the first of these that is valid in the place applies. One with dots is the full path of a key;
    /// it applies where no other does.
    pub meant: &'static [&'static str],
    /// A setting beside it, such as `information = "group"`; often empty.
    pub with: &'static str,
}

const fn alias(written: &'static [&'static str], meant: &'static [&'static str]) -> Alias {
    Alias {
        written,
        meant,
        with: "",
    }
}

/// Names of parts: values of keys such as `kind`, `algorithm`, `pattern`, `motif`.
pub static NAME_ALIASES: &[Alias] = &[
    // Topologies.
    alias(&["dfly", "df", "df1d", "dragonfly-1d"], &["dragonfly"]),
    alias(
        &[
            "df+",
            "dfly+",
            "dfp",
            "dfplus",
            "dragonfly+",
            "dragonflyplus",
            "megafly",
        ],
        &["dragonfly-plus"],
    ),
    alias(
        &[
            "df2d",
            "dfly-2d",
            "2d-dragonfly",
            "aries",
            "cascade",
            "cray-xc",
            "xc",
        ],
        &["dragonfly-2d"],
    ),
    alias(
        &[
            "clos",
            "folded-clos",
            "fattree",
            "ft",
            "ftree",
            "k-ary-n-tree",
            "leaf-spine",
            "pgft",
            "spine-leaf",
            "tree",
            "xgft",
        ],
        &["fat-tree"],
    ),
    alias(
        &[
            "fb",
            "fbfly",
            "flatfly",
            "flattened-butterfly",
            "full-mesh",
            "hamming",
            "hx",
            "hypercube",
            "hyper-x",
        ],
        &["hyperx"],
    ),
    alias(&["mms", "sf", "sfly"], &["slim-fly"]),
    alias(&["grid", "k-ary-n-mesh"], &["mesh"]),
    alias(
        &[
            "cube",
            "k-ary-n-cube",
            "ring",
            "torus2d",
            "torus3d",
            "2d-torus",
            "3d-torus",
        ],
        &["torus"],
    ),
    alias(
        &["anynet", "custom", "file", "jellyfish", "random-graph"],
        &["graph"],
    ),
    // Routing algorithms.
    alias(
        &["direct", "min", "shortest", "shortest-path", "sp"],
        &["minimal", "dimension-order", "adaptive"],
    ),
    alias(
        &[
            "non-minimal",
            "nonminimal",
            "val",
            "valiant-load-balancing",
            "vlb",
        ],
        &["valiant"],
    ),
    alias(&["ugal-l", "ugall"], &["ugal"]),
    Alias {
        written: &["ugal-g", "ugalg"],
        meant: &["ugal"],
        with: "information = \"group\"",
    },
    alias(&["progressive", "progressive-adaptive"], &["par"]),
    alias(&["pb"], &["piggyback"]),
    alias(
        &["ecmp", "hash", "hashed", "rss"],
        &["source-destination-hashed", "minimal"],
    ),
    alias(
        &["d-mod-k", "destmodk", "dmodk", "static", "s-mod-k"],
        &["destination-mod-k"],
    ),
    alias(
        &[
            "oblivious",
            "packet-spraying",
            "random",
            "rr",
            "spray",
            "spraying",
        ],
        &["scatter", "valiant"],
    ),
    alias(&["nca", "anca", "up-down", "updown"], &["adaptive"]),
    alias(
        &[
            "dimension-ordered",
            "dim-order",
            "dor",
            "e-cube",
            "ecube",
            "xy",
            "xyz",
        ],
        &["dimension-order"],
    ),
    alias(&["duato", "min-adapt", "minimal-adapt"], &["minimal-adaptive"]),
    alias(&["dimwar", "dim-war"], &["doal"]),
    alias(&["omniwar", "omni-war"], &["dal"]),
    // Router models, executors.
    alias(&["cut-through", "vct", "virtual-cut-through"], &["packet"]),
    alias(&["iq", "input-buffered", "voq"], &["input-queued"]),
    alias(&["pisces", "hr-router", "xbar"], &["crossbar"]),
    alias(&["oq", "ideal", "output-buffered"], &["output-queued"]),
    alias(&["seq", "serial"], &["sequential"]),
    alias(&["cons", "yawns", "parallel"], &["conservative"]),
    alias(&["time-warp", "timewarp", "tw"], &["optimistic"]),
    // Patterns of synthetic traffic, arrivals.
    alias(
        &["rand", "random-uniform", "uniform-random", "ur", "un"],
        &["uniform"],
    ),
    alias(&["adv", "worst", "worst-case", "wc"], &["adversarial"]),
    alias(&["bc", "bitcomp", "complement"], &["bit-complement"]),
    alias(&["bitrev", "reverse"], &["bit-reverse"]),
    alias(&["neighbor", "neighbour", "nn"], &["nearest-neighbour"]),
    alias(&["perm", "random-permutation", "randperm"], &["permutation"]),
    alias(&["hot", "hotspots"], &["hotspot"]),
    alias(&["tor"], &["tornado"]),
    alias(&["poisson"], &["exponential"]),
    // Motifs.
    alias(&["a2a", "alltoall"], &["all-to-all"]),
    alias(&["ar", "all-reduce"], &["allreduce"]),
    alias(&["halo", "halo3d-7", "stencil3d"], &["halo3d"]),
    alias(&["halo26", "3d27", "stencil27", "stencil3d27"], &["halo3d-26"]),
    alias(&["fft", "fft-3d"], &["fft3d"]),
    alias(&["sweep", "kba"], &["sweep3d"]),
    alias(&["many-to-one", "n-to-1"], &["incast"]),
    alias(&["latency", "osu-latency", "pingpong"], &["ping-pong"]),
    alias(&["mg"], &["multigrid"]),
    // Placements, mappings, schedulers.
    alias(&["block", "cont", "contiguous", "consecutive"], &["linear"]),
    alias(&["rand", "random-nodes", "rnd"], &["random"]),
    alias(&["cyclic", "rr"], &["round-robin"]),
    alias(&["easy"], &["easy-backfill"]),
    alias(&["fifo"], &["fcfs"]),
];

/// Keys of experiments.
pub static KEY_ALIASES: &[Alias] = &[
    // Sizes of topologies.
    alias(
        &[
            "c",
            "concentration",
            "hosts-per-switch",
            "nodes-per-router",
            "p",
            "t",
        ],
        &["hosts_per_router", "hosts_per_leaf"],
    ),
    alias(
        &["a", "num-routers", "routers", "switches-per-group"],
        &["routers_per_group", "leaves_per_group"],
    ),
    alias(
        &["global-channels", "global-links", "h", "num-global-channels"],
        &["global_links_per_router", "global_links_per_spine"],
    ),
    alias(&["g", "n-groups", "ngroups", "num-groups"], &["groups", "gap"]),
    alias(
        &["k", "num-ports", "ports", "r", "switch-radix"],
        &["radix", "width", "sizes", "network.radix"],
    ),
    alias(&["l", "n", "num-levels", "tiers"], &["levels"]),
    alias(&["spines"], &["spines_per_group", "uplinks_per_leaf"]),
    alias(&["oversubscription", "taper"], &["tapering"]),
    alias(
        &[
            "dim",
            "dimensions",
            "dims",
            "dim-length",
            "s",
            "shape",
            "size",
            "sizes",
        ],
        &["sizes", "shape", "grid"],
    ),
    alias(&["w", "num-links"], &["width", "links"]),
    alias(&["name", "topo", "topology", "type"], &["kind"]),
    alias(&["alg", "algo"], &["algorithm", "network.routing.algorithm"]),
    alias(&["kind", "mode", "name", "routing", "type"], &["algorithm"]),
    // The network.
    alias(
        &[
            "endpoints",
            "n",
            "n-hosts",
            "nhosts",
            "n-nodes",
            "nodes",
            "num-hosts",
            "num-nodes",
        ],
        &["hosts", "network.hosts"],
    ),
    alias(
        &["bandwidth", "bw", "link-bandwidth", "link-bw", "rate", "speed"],
        &["bandwidth", "network.link.bandwidth"],
    ),
    alias(
        &["delay", "lat", "latency", "link-latency"],
        &["latency", "network.link.latency"],
    ),
    alias(
        &["buf", "buffer", "buffer-size", "buffers", "vc-size"],
        &["buffer", "network.router.buffer"],
    ),
    alias(
        &["router-delay", "router-latency"],
        &["router_delay", "network.router.delay"],
    ),
    alias(&["mtu", "packet-size", "pkt-size"], &["packet", "network.packet"]),
    alias(
        &["header", "packet-overhead"],
        &["packet_header", "network.packet_header"],
    ),
    alias(&["switch", "switches"], &["router", "network.router"]),
    alias(&["topo", "topology"], &["topology", "network.topology"]),
    alias(&["route", "routing"], &["routing", "network.routing"]),
    alias(
        &["nics", "num-rails", "ports-per-host"],
        &["rails", "network.rails"],
    ),
    // Jobs.
    alias(
        &["apps", "jobs", "traffic", "workload", "workloads"],
        &["job", "workload"],
    ),
    alias(&["pattern"], &["pattern", "job.traffic.pattern"]),
    alias(&["type"], &["pattern"]),
    alias(
        &["inj", "injection-rate", "load", "offered-load", "rate"],
        &["load", "job.traffic.load"],
    ),
    alias(
        &["message-size", "msg", "msg-size", "size"],
        &["message", "bytes"],
    ),
    alias(&["app", "application", "motif"], &["motif", "job.workload.motif"]),
    alias(
        &[
            "n",
            "nprocs",
            "np",
            "num-ranks",
            "procs",
            "processes",
            "ranks",
            "tasks",
        ],
        &["ranks", "job.workload.ranks"],
    ),
    alias(
        &["ppn", "ranks-per-node", "tasks-per-node"],
        &["ranks_per_host", "job.ranks_per_host"],
    ),
    alias(
        &["iter", "iters", "iterations", "repeat", "steps"],
        &["iterations", "repetitions"],
    ),
    alias(&["alloc", "allocation"], &["placement"]),
    // Of version 0.1.0.
    alias(&["compute-scale"], &["compute", "job.compute"]),
    // The run.
    alias(
        &["duration", "end", "runtime", "sim-time", "stop", "time", "until"],
        &["until", "run.until"],
    ),
    alias(&["warm-up", "warmup", "warmup-time"], &["warmup", "run.warmup"]),
    alias(&["random-seed", "rng-seed", "seed"], &["seed", "run.seed"]),
    alias(
        &["cores", "nthreads", "num-threads", "threads", "workers"],
        &["threads", "run.threads"],
    ),
    alias(
        &["engine", "executor", "scheduler", "sync"],
        &["executor", "run.executor"],
    ),
    alias(&["output", "stats", "statistics"], &["collect"]),
    alias(&["simulation", "sim"], &["run"]),
];

/// Units of quantities, exactly as written.
static UNIT_ALIASES: &[(&[&str], &[&str])] = &[
    (&["T", "Tb", "Tbit", "Tb/s", "TbE"], &["Tbps", "TB"]),
    (&["G", "Gb", "Gbit", "Gb/s", "GbE", "GE", "Gig"], &["Gbps", "GB"]),
    (&["M", "Mb", "Mbit", "Mb/s"], &["Mbps", "MB", "MW"]),
    (
        &["k", "K", "kb", "Kb", "kbit", "kb/s", "Kb/s"],
        &["kbps", "KB", "kW"],
    ),
    (&["TBps", "TB"], &["TB/s"]),
    (&["GBps", "GB"], &["GB/s"]),
    (&["MBps", "MB"], &["MB/s"]),
    (&["KBps", "kBps", "KB"], &["kB/s"]),
    (&["GiBps", "GiB"], &["GiB/s"]),
    (&["byte", "bytes", "Byte", "Bytes", "b"], &["B"]),
    (&["Ki", "kiB"], &["KiB"]),
    (&["Mi"], &["MiB"]),
    (&["Gi"], &["GiB"]),
    (&["nsec", "nanoseconds", "n"], &["ns"]),
    (&["µs", "μs", "usec", "microseconds", "u"], &["us"]),
    (&["msec", "milliseconds"], &["ms"]),
    (&["sec", "seconds"], &["s"]),
    (&["watt", "watts", "Watt"], &["W"]),
];

/// The name that `written` stands for, with its setting beside: `'ugal' with information = "group"`.
///
/// Names with dots apply if no other is in `known`.
pub(crate) fn meant(aliases: &[Alias], written: &str, known: &[&str]) -> Option<String> {
    let folded = fold(written);
    let fitting = || {
        let all = aliases.iter();
        all.filter(|alias| alias.written.contains(&folded.as_str()))
    };
    let is_valid = |name: &&&str| known.contains(*name) && fold(name) != folded;
    let valid = fitting().find_map(|alias| Some((alias, alias.meant.iter().find(is_valid)?)));
    let elsewhere =
        || fitting().find_map(|alias| Some((alias, alias.meant.iter().find(|m| m.contains('.'))?)));
    let (alias, name) = valid.or_else(elsewhere)?;
    Some(match alias.with {
        "" => format!("'{name}'"),
        with => format!("'{name}' with {with}"),
    })
}

/// A key of `given` that stands for `name`.
pub(crate) fn stands_for<'a>(name: &str, given: &[&'a str]) -> Option<&'a str> {
    let mut meaning = KEY_ALIASES.iter().filter(|alias| alias.meant.contains(&name));
    meaning.find_map(|alias| {
        let written = |key: &&&str| alias.written.contains(&fold(key).as_str());
        given.iter().find(written).copied()
    })
}

/// The unit of `known` that an unknown unit stands for: by the table, or the only one that differs in case alone.
pub(crate) fn unit<'a>(written: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let meant = UNIT_ALIASES.iter().filter(|(units, _)| units.contains(&written));
    let mut meant = meant.flat_map(|(_, meant)| *meant);
    if let Some(unit) = meant.find_map(|meant| known.clone().find(|known| known == meant)) {
        return Some(unit);
    }
    let mut same = known.filter(|unit| unit.eq_ignore_ascii_case(written));
    let first = same.next()?;
    // KB and kB are the same unit.
    same.all(|other| other == "kB").then_some(first)
}

pub(crate) fn fold(name: &str) -> String {
    name.trim().replace(['_', ' '], "-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_decides_what_a_short_name_means() {
        let key = |written, known: &[&str]| meant(KEY_ALIASES, written, known);
        let dragonfly = [
            "hosts_per_router",
            "routers_per_group",
            "global_links_per_router",
            "groups",
        ];
        let plus = [
            "hosts_per_leaf",
            "leaves_per_group",
            "global_links_per_spine",
            "groups",
        ];
        for (written, of_dragonfly, of_plus) in [
            ("p", "'hosts_per_router'", "'hosts_per_leaf'"),
            ("a", "'routers_per_group'", "'leaves_per_group'"),
            ("H", "'global_links_per_router'", "'global_links_per_spine'"),
            ("num_groups", "'groups'", "'groups'"),
        ] {
            assert_eq!(key(written, &dragonfly).as_deref(), Some(of_dragonfly));
            assert_eq!(key(written, &plus).as_deref(), Some(of_plus));
        }
        assert_eq!(key("k", &["radix", "levels"]).as_deref(), Some("'radix'"));
        assert_eq!(
            key("bw", &["latency", "bandwidth"]).as_deref(),
            Some("'bandwidth'")
        );
        assert_eq!(
            key("bw", &["packet"]).as_deref(),
            Some("'network.link.bandwidth'")
        );
        assert_eq!(key("colour", &["packet"]), None);
        let name = |written, known: &[&str]| meant(NAME_ALIASES, written, known);
        assert_eq!(
            name("ecmp", &["adaptive", "source-destination-hashed"]).as_deref(),
            Some("'source-destination-hashed'")
        );
        assert_eq!(name("ECMP", &["minimal", "ugal"]).as_deref(), Some("'minimal'"));
        assert_eq!(
            name("UGAL_G", &["ugal"]).as_deref(),
            Some("'ugal' with information = \"group\"")
        );
        assert_eq!(name("dfly", &["torus"]), None);
    }

    #[test]
    fn written_names_are_folded_and_occur_once_for_each_meaning() {
        for aliases in [NAME_ALIASES, KEY_ALIASES] {
            for alias in aliases {
                assert!(!alias.meant.is_empty() && !alias.written.is_empty());
                for written in alias.written {
                    assert_eq!(fold(written), *written);
                    let same = |other: &&Alias| {
                        other.written.contains(written) && other.meant.first() == alias.meant.first()
                    };
                    assert_eq!(aliases.iter().filter(same).count(), 1, "{written}");
                }
            }
        }
    }

    #[test]
    fn units_are_guessed_within_their_family() {
        let rates = ["Gbps", "bps", "GB/s", "kB/s"];
        let sizes = ["GiB", "GB", "KiB", "KB", "kB", "B"];
        for (written, rate, size) in [
            ("G", Some("Gbps"), Some("GB")),
            ("GBps", Some("GB/s"), None),
            ("gbps", Some("Gbps"), None),
            ("kb", None, Some("KB")),
            ("bytes", None, Some("B")),
            ("parsec", None, None),
        ] {
            assert_eq!(unit(written, rates.into_iter()), rate, "{written}");
            assert_eq!(unit(written, sizes.into_iter()), size, "{written}");
        }
        assert_eq!(unit("mw", ["MW", "mW"].into_iter()), None);
    }
}
