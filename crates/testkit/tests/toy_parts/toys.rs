//! A toy part of each kind that ARCHITECTURE.md names: its new files, which lie in `files`, and the edits that
//! register it.

/// A toy part.
pub struct Toy {
    /// First cell of its row in ARCHITECTURE.md.
    pub row: &'static str,
    /// Its new files: paths in the workspace, and below `files`.
    pub files: &'static [&'static str],
    /// Its edits of existing files.
    pub edits: &'static [Edit],
    /// Its kind and name in `fabricsim list --json`, if its kind is listed there.
    pub listed: Option<(&'static str, &'static str)>,
}

/// Text that is added to a file.
pub struct Edit {
    /// The file.
    pub path: &'static str,
    /// Text that the file contains once.
    pub after: &'static str,
    /// Text that is inserted there.
    pub insert: &'static str,
}

const fn edit(path: &'static str, after: &'static str, insert: &'static str) -> Edit {
    Edit { path, after, insert }
}

/// Rows of ARCHITECTURE.md without a toy, with the reason.
pub const NOT_COVERED: &[(&str, &str)] = &[
    (
        "state of an LP",
        "a field of an existing part, without a registry",
    ),
    (
        "a machine, a hardware family",
        "a data file and its line in a list, which a test compares with docs/machines.md",
    ),
    ("a column of sweeps", "Python only"),
    ("a key that names an input file", "Python only"),
    ("a key of the experiment", "a line in an existing function"),
    ("a class of Python", "Python only"),
    ("a figure of Python", "Python only"),
    ("a function of the MPI library", "programs in C call them all"),
    (
        "a [proposal](docs/methods/verdict.md#proposals) of the verdict on jobs of ranks",
        "a line in a list, whose unit tests name each bound with its proposals",
    ),
    (
        "a rule of the [verdict](docs/methods/verdict.md)",
        "a function and its line in a list, which crates/results/tests/verdict.rs compares with the page",
    ),
    (
        "a way to draw a topology",
        "a variant of an enum and its drawing, without a registry",
    ),
];

/// The toys, in the order of the table.
pub const TOYS: &[Toy] = &[
    Toy {
        row: "a topology",
        files: &[
            "crates/topology/src/toy_clique.rs",
            "docs/methods/topologies/toy-clique.md",
        ],
        edits: &[
            edit("crates/topology/src/lib.rs", "mod torus;", "\nmod toy_clique;"),
            edit("crates/topology/src/registry.rs", "use crate::{", "toy_clique, "),
            edit(
                "crates/topology/src/registry.rs",
                "torus::KIND,",
                "\n    toy_clique::KIND,",
            ),
            edit(
                "crates/topology/tests/conformance/cases.rs",
                "pub const CASES: &[(&str, &str)] = &[",
                "(\"toy-clique\", \"routers = 1\"),",
            ),
            edit(
                "crates/topology/tests/conformance/main.rs",
                "const LARGE: &[(&str, &str)] = &[",
                "(\"toy-clique\", \"routers = 1000\\nhosts_per_router = 1000\"),",
            ),
        ],
        listed: Some(("topologies", "toy-clique")),
    },
    Toy {
        row: "a routing algorithm",
        files: &[
            "crates/routing/src/toy_first.rs",
            "docs/methods/routing/toy-first.md",
        ],
        edits: &[
            edit(
                "crates/routing/src/lib.rs",
                "mod source_destination_hashed;",
                "\nmod toy_first;",
            ),
            edit("crates/routing/src/registry.rs", "use crate::{", "toy_first, "),
            edit(
                "crates/routing/src/registry.rs",
                "source_destination_hashed::ALGORITHM,",
                "\n    toy_first::ALGORITHM,",
            ),
            edit(
                "crates/routing/tests/conformance/networks.rs",
                "| \"scatter\"\n        | \"source-destination-hashed\"",
                " | \"toy-first\"",
            ),
        ],
        listed: Some(("routings", "toy-first")),
    },
    Toy {
        row: "a traffic pattern",
        files: &["crates/workload/src/traffic/toy_partner.rs"],
        edits: &[
            edit(
                "crates/workload/src/traffic/mod.rs",
                "mod tornado;",
                "\nmod toy_partner;",
            ),
            edit(
                "crates/workload/src/traffic/mod.rs",
                "tornado::KIND,",
                "\n    toy_partner::KIND,",
            ),
        ],
        listed: Some(("patterns", "toy-partner")),
    },
    Toy {
        row: "an arrival process",
        files: &["crates/workload/src/traffic/toy_twos.rs"],
        edits: &[
            edit(
                "crates/workload/src/traffic/mod.rs",
                "mod transpose;",
                "\nmod toy_twos;",
            ),
            edit(
                "crates/workload/src/traffic/mod.rs",
                "on_off::KIND",
                ", toy_twos::KIND",
            ),
        ],
        listed: Some(("arrivals", "toy-twos")),
    },
    Toy {
        row: "a distribution of message sizes",
        files: &["crates/workload/src/traffic/size/toy_powers.rs"],
        edits: &[
            edit(
                "crates/workload/src/traffic/size/mod.rs",
                "mod geometric;",
                "\nmod toy_powers;",
            ),
            edit(
                "crates/workload/src/traffic/size/mod.rs",
                " geometric::KIND,",
                " toy_powers::KIND,",
            ),
        ],
        listed: Some(("message-sizes", "toy-powers")),
    },
    Toy {
        row: "a motif",
        files: &["crates/workload/src/motif/toy_ring.rs"],
        edits: &[
            edit(
                "crates/workload/src/motif/mod.rs",
                "mod sweep3d;",
                "\nmod toy_ring;",
            ),
            edit(
                "crates/workload/src/motif/mod.rs",
                "sweep3d::MOTIF,",
                "\n    toy_ring::MOTIF,",
            ),
        ],
        listed: Some(("motifs", "toy-ring")),
    },
    Toy {
        row: "a trace format",
        files: &["crates/workload/src/toytrace.rs"],
        edits: &[
            edit("crates/workload/src/lib.rs", "mod source;", "\nmod toytrace;"),
            edit("crates/workload/src/trace.rs", "use crate::{", "toytrace, "),
            edit(
                "crates/workload/src/trace.rs",
                " otf2::FORMAT",
                ", toytrace::FORMAT",
            ),
            edit(
                "crates/workload/src/source.rs",
                "read: |section, folder| read_trace(section, \"otf2\", folder),\n    },",
                "\n    WorkloadSource {
        key: \"toytrace\",
        kind: \"trace\",
        summary: \"a list of messages\",
        read: |section, folder| read_trace(section, \"toytrace\", folder),
    },",
            ),
            edit(
                "python/fabricsim/sweep/inputs.py",
                "\"job.workload.otf2\": _otf2,",
                "\n    \"job.workload.toytrace\": _one,",
            ),
        ],
        listed: Some(("trace-formats", "toytrace")),
    },
    Toy {
        row: "another kind of workload",
        files: &["crates/workload/src/toy_broadcast.rs"],
        edits: &[
            edit("crates/workload/src/lib.rs", "mod scan;", "\nmod toy_broadcast;"),
            edit("crates/workload/src/source.rs", "use crate::{", "toy_broadcast, "),
            edit(
                "crates/workload/src/source.rs",
                "pub static SOURCES: &[WorkloadSource] = &[",
                "\n    WorkloadSource {
        key: \"toy_broadcast\",
        kind: \"program\",
        summary: \"one broadcast of so many ranks\",
        read: toy_broadcast::read,
    },",
            ),
        ],
        listed: None,
    },
    Toy {
        row: "a placement",
        files: &["crates/experiment/src/setup/placement/toy_backwards.rs"],
        edits: &[
            edit(
                "crates/experiment/src/setup/placement/mod.rs",
                "mod round_robin;",
                "\nmod toy_backwards;",
            ),
            edit(
                "crates/experiment/src/setup/placement/mod.rs",
                "hostlist::KIND,",
                "\n    toy_backwards::KIND,",
            ),
        ],
        listed: Some(("placements", "toy-backwards")),
    },
    Toy {
        row: "a mapping",
        files: &["crates/experiment/src/setup/mapping/toy_backwards.rs"],
        edits: &[
            edit(
                "crates/experiment/src/setup/mapping/mod.rs",
                "mod round_robin;",
                "\nmod toy_backwards;",
            ),
            edit(
                "crates/experiment/src/setup/mapping/mod.rs",
                "file::KIND,",
                "\n    toy_backwards::KIND,",
            ),
        ],
        listed: Some(("mappings", "toy-backwards")),
    },
    Toy {
        row: "thresholds of an MPI library",
        files: &[],
        edits: &[edit(
            "crates/mpi/src/presets.rs",
            "        source: \"hpcgroup/TraceR, tracer/tracer-driver.C: eager_limit\",
        eager_threshold: 8 << 10,
        copy_threshold: 0,
    },",
            "\n    Preset {
        name: \"toy-mpi\",
        summary: \"eager up to 77 B\",
        source: \"this test\",
        eager_threshold: 77,
        copy_threshold: 0,
    },",
        )],
        listed: Some(("mpi-presets", "toy-mpi")),
    },
    Toy {
        row: "an algorithm for a collective",
        files: &["crates/mpi/src/collectives/bcast_toy_chain.rs"],
        edits: &[
            edit(
                "crates/mpi/src/collectives/mod.rs",
                "mod bcast_scatter_ring_allgather;",
                "\nmod bcast_toy_chain;",
            ),
            edit(
                "crates/mpi/src/collectives/mod.rs",
                "&bcast_linear::ALGORITHM,",
                "\n    &bcast_toy_chain::ALGORITHM,",
            ),
            edit(
                "crates/mpi/tests/replay/alpha_beta.rs",
                "    match (collective, name) {",
                "\n        (Bcast, \"toy-chain\") => (n - 1) * message(b),",
            ),
        ],
        listed: Some(("collectives", "bcast/toy-chain")),
    },
    Toy {
        row: "a table that selects algorithms of collectives",
        files: &["crates/mpi/src/collectives/tables/toy_table.rs"],
        edits: &[
            edit(
                "crates/mpi/src/collectives/tables/mod.rs",
                "mod thakur_2005;",
                "\nmod toy_table;",
            ),
            edit(
                "crates/mpi/src/collectives/tables/mod.rs",
                "tracer::TABLE",
                ", toy_table::TABLE",
            ),
        ],
        listed: Some(("collectives", "table/toy-table")),
    },
    Toy {
        row: "a router model",
        files: &[
            "crates/fabric/src/router/toy_queues.rs",
            "crates/fabric/src/router/toy_flits.rs",
            "crates/fabric/src/router/toy_frame.rs",
            "crates/fabric/src/router/toy_lossy.rs",
            "crates/fabric/src/router/toy_retry.rs",
        ],
        edits: &[
            edit(
                "crates/fabric/src/router/mod.rs",
                "pub mod packet;",
                "\nmod toy_frame;\npub mod toy_flits;\npub mod toy_lossy;\npub mod toy_queues;\npub mod toy_retry;",
            ),
            edit(
                "crates/fabric/src/router/mod.rs",
                "Packet: packet::PacketRouter,",
                "
    ToyFlits: toy_flits::ToyFlitsRouter,
    ToyLossy: toy_lossy::ToyLossyRouter,
    ToyQueues: toy_queues::ToyQueuesRouter,
    ToyRetry: toy_retry::ToyRetryRouter,",
            ),
        ],
        listed: Some(("router-models", "toy-queues")),
    },
    Toy {
        row: "a NIC model",
        files: &["crates/fabric/src/nic/toy_resend.rs"],
        edits: &[
            edit(
                "crates/fabric/src/nic/mod.rs",
                "pub mod queued;",
                "\npub mod toy_resend;",
            ),
            edit(
                "crates/fabric/src/nic/mod.rs",
                "Queued: queued::QueuedNic,",
                "\n    ToyResend: toy_resend::ToyResendNic,",
            ),
        ],
        listed: Some(("nic-models", "toy-resend")),
    },
    Toy {
        row: "a table of the result",
        files: &[],
        edits: &[
            edit(
                "crates/results/src/rows.rs",
                "        message: Option<u32>,\n    }\n}\n",
                "
table! {
    /// Messages of a job.
    ToyTotalsRow, toy_totals {
        /// Job.
        job: Arc<str>,
        /// Messages sent.
        messages: u64,
    }
}
",
            ),
            edit(
                "crates/results/src/rows.rs",
                "            critical_path([]),",
                "\n            toy_totals([]),",
            ),
            edit(
                "crates/sim/src/outcome/final_state.rs",
                "        tables.extend([routers, hosts, units, pairs]);",
                "
        tables.push(results::rows::toy_totals(jobs.iter().map(|job| results::rows::ToyTotalsRow {
            job: job.name.as_str().into(),
            messages: job.messages,
        })));",
            ),
            edit(
                "crates/export/src/folder.rs",
                "        \"routers\",",
                "\n        \"toy_totals\",",
            ),
            edit(
                "crates/view/src/folder.rs",
                "        name: \"timeline\",\n        time: BINS,\n    },",
                "\n    Known {\n        name: \"toy_totals\",\n        time: None,\n    },",
            ),
            edit(
                "docs/formats/tables.md",
                "its sending host, as in `messages`; null: through memory |\n",
                "
## `toy_totals`

Messages of each job.

| column | type | meaning |
| --- | --- | --- |
| `job` | text | job |
| `messages` | u64 | messages sent |
",
            ),
        ],
        listed: None,
    },
    Toy {
        row: "a scheduler of job traces",
        files: &["crates/experiment/src/setup/schedule/toy_latest.rs"],
        edits: &[
            edit(
                "crates/experiment/src/setup/schedule/mod.rs",
                "mod fcfs;",
                "\nmod toy_latest;",
            ),
            edit(
                "crates/experiment/src/setup/schedule/mod.rs",
                "conservative_backfill::KIND",
                ", toy_latest::KIND",
            ),
        ],
        listed: Some(("schedulers", "toy-latest")),
    },
    Toy {
        row: "a format of job traces",
        files: &["crates/experiment/src/setup/job_trace/toyjobs.rs"],
        edits: &[
            edit(
                "crates/experiment/src/setup/job_trace/mod.rs",
                "mod trace_time;",
                "\nmod toyjobs;",
            ),
            edit(
                "crates/experiment/src/setup/job_trace/mod.rs",
                "swf::FORMAT",
                ", toyjobs::FORMAT",
            ),
        ],
        listed: Some(("job-trace-formats", "toyjobs")),
    },
    Toy {
        row: "a format of exports",
        files: &["crates/export/src/toy.rs"],
        edits: &[
            edit("crates/export/src/lib.rs", "mod place;", "\nmod toy;"),
            edit("crates/export/src/format.rs", "use crate::{", "toy, "),
            edit(
                "crates/export/src/format.rs",
                "&perfetto::FORMAT",
                ", &toy::FORMAT",
            ),
            edit(
                "docs/exports.md",
                "messages, loads and critical paths over time |",
                "\n| `toy` | this test | file `DIR.toy.txt`: names of the tables |",
            ),
        ],
        listed: None,
    },
    Toy {
        row: "a section of the report",
        files: &["crates/results/src/report/plots/toy.rs"],
        edits: &[
            edit("crates/results/src/report/plots.rs", "mod split;", "\nmod toy;"),
            edit(
                "crates/results/src/report/plots.rs",
                "    figures.extend(hosts::maps(source)?);",
                "\n    figures.extend(toy::totals(summary));",
            ),
            edit(
                "docs/report.md",
                "| Interference | how much slower are jobs together than alone? | `summary.json` | \
                 `fabricsim run --interference` |",
                "\n| Toy totals | how much does each job send? | `summary.json` | always |",
            ),
        ],
        listed: None,
    },
];
