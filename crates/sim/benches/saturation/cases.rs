//! Generated experiments of synthetic traffic below and above saturation, and the long run that judges each.

use experiment::Experiment;
use fabricsim_sim::{RunControl, run};
use results::{JobSummary, Note, RunResult};

/// A generated experiment.
pub struct Case {
    /// Topology, routing, traffic, for people.
    pub name: String,
    /// All sections but `[run]`.
    text: String,
    /// Whether single messages take most of a short run.
    long_messages: bool,
}

/// A run of a case: its end and its warm-up, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// `run.until`.
    pub until_us: u32,
    /// `run.warmup`.
    pub warmup_us: u32,
}

/// The lengths at which each case runs.
pub const LENGTHS: [Length; 4] = [
    Length {
        until_us: 20,
        warmup_us: 0,
    },
    Length {
        until_us: 40,
        warmup_us: 10,
    },
    Length {
        until_us: 80,
        warmup_us: 0,
    },
    Length {
        until_us: 160,
        warmup_us: 60,
    },
];

/// Topologies, with the routing algorithms that each runs with.
const NETWORKS: &[(&str, &[&str])] = &[
    (
        r#"kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2"#,
        &[
            r#"algorithm = "minimal""#,
            r#"algorithm = "valiant""#,
            r#"algorithm = "ugal""#,
            r#"algorithm = "ugal", information = "group""#,
            r#"algorithm = "ugal", bias = "1 KiB""#,
            r#"algorithm = "par""#,
            r#"algorithm = "piggyback""#,
        ],
    ),
    (
        r#"kind = "dragonfly-plus", hosts_per_leaf = 3, leaves_per_group = 3, global_links_per_spine = 2"#,
        &[
            r#"algorithm = "minimal""#,
            r#"algorithm = "valiant""#,
            r#"algorithm = "ugal""#,
            r#"algorithm = "par""#,
        ],
    ),
    (
        r#"kind = "fat-tree", radix = 12, levels = 2, tapering = "2:1", leaves = 9"#,
        &[
            r#"algorithm = "adaptive""#,
            r#"algorithm = "destination-mod-k""#,
            r#"algorithm = "scatter""#,
            r#"algorithm = "source-destination-hashed""#,
        ],
    ),
    (
        r#"kind = "fat-tree", levels = 3, radix = 8, pods = 4"#,
        &[
            r#"algorithm = "adaptive""#,
            r#"algorithm = "source-destination-hashed""#,
        ],
    ),
    (
        r#"kind = "hyperx", shape = [4, 4], hosts_per_router = 4"#,
        &[
            r#"algorithm = "dimension-order""#,
            r#"algorithm = "minimal", paths = "adaptive""#,
            r#"algorithm = "minimal-adaptive""#,
            r#"algorithm = "dal""#,
            r#"algorithm = "doal""#,
            r#"algorithm = "ugal""#,
            r#"algorithm = "valiant""#,
        ],
    ),
    (
        r#"kind = "torus", sizes = [8, 4], hosts_per_router = 2"#,
        &[
            r#"algorithm = "dimension-order""#,
            r#"algorithm = "minimal-adaptive""#,
        ],
    ),
    (
        r#"kind = "mesh", sizes = [5, 5]"#,
        &[
            r#"algorithm = "dimension-order""#,
            r#"algorithm = "minimal-adaptive""#,
        ],
    ),
    (
        r#"kind = "slim-fly", q = 5, hosts_per_router = 2"#,
        &[
            r#"algorithm = "minimal""#,
            r#"algorithm = "valiant""#,
            r#"algorithm = "ugal""#,
            r#"algorithm = "par""#,
        ],
    ),
];

/// Patterns. `adversarial` is the worst one of each topology.
const PATTERNS: &[&str] = &[
    r#"pattern = "uniform""#,
    r#"pattern = "adversarial""#,
    r#"pattern = "uniform""#,
    r#"pattern = "adversarial""#,
    r#"pattern = "permutation""#,
    r#"pattern = "hotspot", targets = [3], share = 0.1"#,
    r#"pattern = "incast", targets = 2"#,
    r#"pattern = "shift", by = 5"#,
];

/// Loads, among them some close to saturation of usual networks.
const LOADS: &[f64] = &[0.15, 0.3, 0.45, 0.6, 0.75, 0.85, 0.95];

/// Sizes and arrivals of messages, and whether the messages are long.
const MESSAGES: &[(&str, bool)] = &[
    (r#"message = "1 KiB""#, false),
    (r#"message = "1 KiB""#, false),
    (r#"message = "8 KiB""#, false),
    (r#"message = "1 KiB", arrival = "on-off", burst = 20"#, false),
    (
        r#"message = { distribution = "geometric", mean = "4 KiB" }"#,
        false,
    ),
    (
        r#"message = { distribution = "bimodal", small = "1 KiB", large = "1 MiB", large_share = 0.002 }"#,
        true,
    ),
];

/// Number of cases.
pub const CASES: usize = 400;

/// The case of this number, below [`CASES`].
pub fn case(number: usize) -> Case {
    let algorithms: Vec<(&str, &str)> = NETWORKS
        .iter()
        .flat_map(|(topology, algorithms)| algorithms.iter().map(move |algorithm| (*topology, *algorithm)))
        .collect();
    // A multiplicative hash of the number gives each choice its own sequence.
    let pick = |choice: u64, count: usize| {
        let mut bits = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ choice.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 29).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits >> 33) % count as u64) as usize
    };
    let (topology, algorithm) = algorithms[number % algorithms.len()];
    let small_job = pick(5, 5) == 0;
    // A job of some hosts has no worst pattern.
    let pattern = match PATTERNS[pick(1, PATTERNS.len())] {
        r#"pattern = "adversarial""# if small_job => r#"pattern = "permutation""#,
        pattern => pattern,
    };
    let load = LOADS[pick(2, LOADS.len())];
    let (message, long_messages) = MESSAGES[pick(3, MESSAGES.len())];
    let packet = if long_messages { "4 KiB" } else { "1 KiB" };
    let buffer = if long_messages {
        "64 KiB"
    } else {
        ["8 KiB", "32 KiB"][pick(4, 2)]
    };
    let name = format!(
        "{number}: {topology}; {algorithm}; {pattern}, {load}; {message}; buffer {buffer}; small job {small_job}"
    );
    let mut text = format!(
        r#"
[network]
topology = {{ {topology} }}
routing = {{ {algorithm} }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ model = "packet", delay = "100 ns", buffer = "{buffer}" }}
packet = "{packet}"
"#
    );
    // A job of few hosts beside one of all others, which then offers little.
    let (others, hosts) = if small_job {
        (0.1, "hosts = 12\nplacement = \"random\"\n")
    } else {
        (load, "")
    };
    text +=
        &format!("[[job]]\nname = \"judged\"\n{hosts}traffic = {{ {pattern}, load = {load}, {message} }}\n");
    if small_job {
        text += &format!(
            "[[job]]\nname = \"others\"\ntraffic = {{ pattern = \"uniform\", load = {others}, message = \"1 KiB\" }}\n"
        );
    }
    Case {
        name,
        text,
        long_messages,
    }
}

impl Case {
    /// The experiment of a run of this length.
    pub fn experiment(&self, length: Length) -> String {
        let Length { until_us, warmup_us } = length;
        format!(
            "{}\n[run]\nuntil = \"{until_us} us\"\nwarmup = \"{warmup_us} us\"\n[collect]\nseries = \"off\"\n",
            self.text
        )
    }

    /// The run whose loads say whether the case is saturated.
    pub fn judge(&self) -> Length {
        let until_us = if self.long_messages { 4000 } else { 800 };
        Length {
            until_us,
            warmup_us: until_us / 2,
        }
    }
}

/// Deficit of the long run above which a case is saturated.
const SATURATED: f64 = 0.05;

/// Deficit of the long run below which it is not. Between the two either answer is right.
const UNSATURATED: f64 = 0.02;

/// What the notes of the runs of a case say, against its long run.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Runs of jobs that the long run shows to be saturated.
    pub saturated: u32,
    /// Of these, runs with the note `saturated`.
    pub noted: u32,
    /// Of these, runs with the note `not-steady`.
    pub not_steady: u32,
    /// Runs of jobs that the long run shows to be below saturation.
    pub unsaturated: u32,
    /// Wrong runs, for people: silent ones that lack more than 5 %, and false ones.
    pub wrong: Vec<String>,
}

impl Verdict {
    /// Adds another verdict.
    pub fn add(&mut self, other: Verdict) {
        self.saturated += other.saturated;
        self.noted += other.noted;
        self.not_steady += other.not_steady;
        self.unsaturated += other.unsaturated;
        self.wrong.extend(other.wrong);
    }

    fn add_run(&mut self, name: &str, job: &JobSummary, result: &RunResult, long: f64) {
        let of_job = |kind: &str| {
            let mut notes = result.summary.notes.iter();
            notes.find(|note| note.kind == kind && note.job.as_deref() == Some(&job.name))
        };
        let (saturated, not_steady) = (of_job("saturated"), of_job("not-steady"));
        let deficit = deficit(job);
        if long > SATURATED {
            self.saturated += 1;
            self.noted += u32::from(saturated.is_some());
            self.not_steady += u32::from(not_steady.is_some());
            if deficit > SATURATED && saturated.is_none() && not_steady.is_none() {
                self.wrong
                    .push(format!("silent at a deficit of {deficit:.3}: {name}"));
            }
        } else if long < UNSATURATED {
            self.unsaturated += 1;
            // A full link of few hosts is hardly seen in the sum over all.
            let is_bound = |note: &&Note| note.found.contains("is full at");
            if let Some(note) = saturated.filter(|note| !is_bound(note)) {
                self.wrong.push(format!("false: {name}: {note}"));
            }
        }
    }
}

/// Share of the offered traffic of a job that did not arrive in the measured time.
fn deficit(job: &JobSummary) -> f64 {
    let traffic = job.traffic.as_ref().expect("all jobs are traffic");
    1.0 - traffic.accepted_bytes as f64 / traffic.offered_bytes.max(1) as f64
}

/// Runs a case at all lengths and judges the notes.
pub fn judge(number: usize) -> Verdict {
    let case = case(number);
    let at = |length: Length| {
        let text = case.experiment(length);
        let experiment = Experiment::from_toml(&text, "case.toml", &[]);
        let experiment = experiment.unwrap_or_else(|error| panic!("{error}\n{text}"));
        run(&experiment, &RunControl::new()).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let long: Vec<f64> = at(case.judge()).summary.jobs.iter().map(deficit).collect();
    let mut verdict = Verdict::default();
    for length in LENGTHS {
        let result = at(length);
        for (job, long) in result.summary.jobs.iter().zip(&long) {
            let name = format!("{}, job {}, {length:?}, long run {long:.3}", case.name, job.name);
            verdict.add_run(&name, job, &result, *long);
        }
    }
    verdict
}
