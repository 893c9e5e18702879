//! An invented run that looks like a real one: a 27-rank application and background traffic on a fat
//! tree of 64 hosts. The numbers come from a fixed sequence, so that the digest is a constant.

use std::borrow::Cow;
use std::sync::Arc;

use fabricsim_results::rows::{self, CallRow, LinkRow, RankRow};
use fabricsim_results::{
    Assumptions, BacklogGrowth, Bounds, Chain, ComponentTotals, EnergyTotals, Fairness, Histogram,
    Interference, JobBounds, JobEnergyTotals, JobTotals, MpiPartsTotals, NetworkTotals, Outcome, PathTotals,
    Rollbacks, RunResult, RunSummary, SlowDown, Table, ThreadTimes, TrafficTotals, TransferWeight,
    WorkerSummary, ZeroLoad,
};

const MEASURED_PS: u64 = 21_400_000_000;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
}

/// The result of the run.
pub fn result() -> RunResult {
    let mut result = RunResult::new(experiment(), outcome(), run());
    result.set_bounds(Some(bounds()));
    result.summary.interference = Some(interference());
    result
}

/// What the background does to the application.
pub fn interference() -> Interference {
    Interference {
        jobs: vec![SlowDown {
            name: "lammps".into(),
            slowdown: Some(1.25),
            time_ns: 21_385_534.392,
            alone_ns: 17_108_427.5,
            mpi_ns: 5_384_479.143,
            alone_mpi_ns: 1_107_372.25,
            latency_ns: Some(1125.875877725),
            alone_latency_ns: Some(700.5),
            alone_finished: true,
            alone_digest: "00ff".into(),
        }],
    }
}

/// What was computed beside.
pub fn bounds() -> Bounds {
    Bounds {
        jobs: vec![JobBounds {
            name: "background".into(),
            throughput: Some(0.75),
            limited_by: "leaf-spine link of router 3 (leaf 3) to router 9 (spine 1)".into(),
            host_throughput: Some(1.0),
            router_throughput: Some(0.75),
            mean_channel_load: Some(0.625),
            max_channel_load: Some(1.3125),
            mean_hops: Some(3.75),
            zero_load_latency_ns: Some(ZeroLoad {
                mean: 512.5,
                max: 620.48,
            }),
            longest_idle_ns: Some(1500.0),
            expected: false,
            not_computed: String::new(),
        }],
        scale: Some(2.5),
        scale_limited_by: "leaf-spine link of router 3 (leaf 3) to router 9 (spine 1)".into(),
        scale_job: "background".into(),
        scale_of_host_links: false,
        accepted_load: Some(0.3),
    }
}

/// What was asked.
pub fn experiment() -> serde_json::Value {
    serde_json::json!({
        "network": {
            "topology": { "kind": "fat-tree", "levels": 2, "radix": 16, "taper": "1:1" },
            "link": { "bandwidth": "100 Gbps", "latency": "50 ns" },
            "packet": "256 B"
        },
        "job": [{ "name": "lammps", "ranks": 27 }, { "name": "background", "load": 0.3 }],
        "run": { "until": "30 ms", "warmup": "100 us", "seed": 1 }
    })
}

/// What came out.
pub fn outcome() -> Outcome {
    let mut sequence = Sequence(1);
    let (lammps, background) = (
        packets(&mut sequence, 40_000, 0),
        packets(&mut sequence, 90_000, 700_000),
    );
    let mut network = NetworkTotals {
        topology: "fat tree: 2 levels, 64 hosts, 16 routers of radix 16".into(),
        hosts: 64,
        rails: 1,
        planes: 1,
        routers: 16,
        links: 256,
        detour_load_bytes: Some(7680),
        vc_buffer_bytes: 8192,
        packets_injected: 130_017,
        packets_delivered: 130_000,
        bytes_delivered: 130_000 * 256,
        packet_hops: 470_123,
        offered_bytes: 5_201_000_000,
        accepted_bytes: 5_138_000_000,
        capacity_bytes: 17_120_000_000,
        measured_ps: MEASURED_PS,
        ..Default::default()
    };
    for (latency, hops) in [&lammps, &background] {
        network.latency_ps.merge(latency);
        network.hops.merge(hops);
    }
    let (ranks, calls) = application(&mut sequence);
    let mut records = Chain::new();
    records.integers("message", &[1, 2, 3]);
    Outcome {
        jobs: jobs(&ranks, lammps, background),
        network,
        tables: vec![rows::ranks(ranks), rows::calls(calls), links(&mut sequence)],
        records,
        rounded_rates: Vec::new(),
        assumptions: Assumptions::default(),
        schedule: None,
        energy: Some(energy()),
    }
}

/// Joules of a network of 16 switches and 64 NICs in 21.5 ms.
fn energy() -> EnergyTotals {
    const JOULE: u128 = 1_000_000_000_000_000_000;
    let part = |part, kind: &str, count, idle_mj: u128, dynamic_mj: u128| ComponentTotals {
        part,
        kind: kind.into(),
        count,
        idle_aj: idle_mj * JOULE / 1000,
        dynamic_aj: dynamic_mj * JOULE / 1000,
    };
    EnergyTotals {
        time_ps: 21_500_000_000,
        parts: vec![
            part("routers", "leaf", 8, 47_128, 300),
            part("routers", "spine", 8, 47_128, 250),
            part("links", "leaf-spine", 128, 24_768, 0),
            part("nics", "", 64, 34_262, 120),
            part("hosts", "", 64, 0, 0),
        ],
        unallocated: JobEnergyTotals {
            idle_aj: 12 * JOULE,
            dynamic_aj: 0,
        },
    }
}

/// What it cost.
pub fn run() -> RunSummary {
    let part = |thread: u64| WorkerSummary {
        process: 0,
        thread,
        routers: 8,
        hosts: 32,
        router_range: [8 * thread, 8 * thread + 8],
        share: 0.5,
    };
    RunSummary {
        version: "0.1.0".into(),
        executor: "optimistic".into(),
        credits: "each".into(),
        processes: 1,
        threads: 2,
        wall_s: 3.21,
        cpu_s: 5.9,
        peak_rss_bytes: 84_000_000,
        simulated_ns: 21_500_000.0,
        events_processed: 1_236_332,
        events_committed: 1_204_332,
        events_rolled_back: 32_000,
        events_remote: 88_210,
        efficiency: 0.974,
        primary_rollbacks: 2_100,
        secondary_rollbacks: 5_300,
        rollbacks: Rollbacks {
            router: 4_700,
            host: 2_680,
            termination_detector: 20,
        },
        anti_messages: 6_100,
        gvt_rounds: 9_400,
        parts: vec![part(0), part(1)],
        thread_seconds: vec![
            ThreadTimes {
                processing: 2.0,
                queue: 0.5,
                synchronisation: 0.3,
                rollback: 0.2,
                idle: 0.1,
            },
            ThreadTimes {
                processing: 1.7,
                queue: 0.6,
                synchronisation: 0.5,
                rollback: 0.2,
                idle: 0.2,
            },
        ],
        ..Default::default()
    }
}

fn packets(sequence: &mut Sequence, packets: u64, more: u64) -> (Histogram, Histogram) {
    let (mut latency, mut hops) = (Histogram::new(), Histogram::new());
    for _ in 0..packets {
        let crossed = if sequence.below(8) == 0 { 2 } else { 4 };
        let queued = match sequence.below(100) {
            0..60 => sequence.below(40_000),
            60..98 => sequence.below(900_000 + more),
            _ => sequence.below(30_000_000),
        };
        latency.record(crossed * 170_480 + queued);
        hops.record(crossed);
    }
    (latency, hops)
}

fn application(sequence: &mut Sequence) -> (Vec<RankRow>, Vec<CallRow>) {
    let (mut ranks, mut calls) = (Vec::new(), Vec::new());
    let job: Arc<str> = Arc::from("lammps");
    for rank in 0..27 {
        let time_ps = 21_350_000_000 + sequence.below(40_000_000);
        let compute_ps = 14_000_000_000 + sequence.below(3_500_000_000);
        let mpi_ps = time_ps - compute_ps;
        let mut rest = mpi_ps;
        for (call, share) in [
            ("MPI_Wait", 50),
            ("MPI_Allreduce", 30),
            ("MPI_Send", 12),
            ("MPI_Irecv", 5),
            ("MPI_Bcast", 2),
            ("MPI_Barrier", 1),
        ] {
            let time_ps = (mpi_ps / 100 * share).min(rest);
            rest -= time_ps;
            calls.push(CallRow {
                job: job.clone(),
                rank,
                call: Cow::Borrowed(call),
                count: 10 * share,
                time_ps,
            });
        }
        ranks.push(RankRow {
            job: job.clone(),
            rank,
            host: 2 * rank,
            finished: true,
            time_ps,
            compute_ps,
            mpi_ps,
            overhead_ps: mpi_ps / 10,
            partner_ps: mpi_ps / 2,
            transfer_ps: mpi_ps / 5,
            link_wait_ps: mpi_ps - mpi_ps / 10 - mpi_ps / 2 - mpi_ps / 5,
            messages_sent: 612,
            bytes_sent: 7_344_000,
            messages_received: 612,
            bytes_received: 7_344_000,
            collective_messages_sent: 81,
            collective_bytes_sent: 3_888,
            collective_messages_received: 81,
            collective_bytes_received: 3_888,
            ..RankRow::default()
        });
    }
    (ranks, calls)
}

fn jobs(
    ranks: &[RankRow],
    lammps: (Histogram, Histogram),
    background: (Histogram, Histogram),
) -> Vec<JobTotals> {
    let sum = |of: fn(&RankRow) -> u64| ranks.iter().map(|r| u128::from(of(r))).sum();
    let mut mpi_parts = MpiPartsTotals::default();
    ranks.iter().for_each(|rank| mpi_parts.add(rank));
    vec![
        JobTotals {
            name: "lammps".into(),
            kind: "trace".into(),
            ranks: 27,
            hosts: 27,
            repetitions: 3,
            finished: true,
            time_ps: ranks.iter().map(|r| r.time_ps).max().unwrap_or(0),
            compute_sum_ps: sum(|r| r.compute_ps),
            mpi_sum_ps: sum(|r| r.mpi_ps),
            mpi_parts,
            messages: 18_711,
            bytes: 198_400_000,
            latency_ps: lammps.0,
            hops: lammps.1,
            traffic: None,
            path: Some(path(ranks)),
            ..Default::default()
        },
        JobTotals {
            name: "background".into(),
            kind: "traffic".into(),
            hosts: 37,
            repetitions: 1,
            finished: true,
            time_ps: MEASURED_PS,
            messages: 90_000,
            bytes: 23_040_000,
            latency_ps: background.0,
            hops: background.1,
            traffic: Some(traffic()),
            ..Default::default()
        },
    ]
}

/// The critical path of the ranks: mostly computation.
fn path(ranks: &[RankRow]) -> PathTotals {
    let time_ps = ranks.iter().map(|r| r.time_ps).max().unwrap_or(0);
    let weight = |class: Option<&str>, weight| TransferWeight {
        class: class.map(String::from),
        weight,
    };
    PathTotals {
        compute_ps: time_ps / 2,
        overhead_ps: time_ps / 8,
        latency_ps: time_ps / 16,
        transfers: vec![
            weight(Some("injection"), 3),
            weight(Some("ejection"), 1),
            weight(Some("local"), 0),
            weight(Some("global"), 4),
            weight(None, 0),
        ],
    }
}

/// What the background offers, and what arrives of it: stationary.
fn traffic() -> TrafficTotals {
    let growth = |from_ps, until_ps, bytes| BacklogGrowth {
        from_ps,
        until_ps,
        bytes,
    };
    TrafficTotals {
        offered_bytes: 2_970_000_000,
        accepted_bytes: 2_969_000_000,
        capacity_bytes: 9_897_500_000,
        backlog_bytes: 1_100_000,
        missing_bytes: None,
        growth: vec![
            growth(1 << 34, MEASURED_PS, 20_000),
            growth(1 << 33, 1 << 34, -10_000),
            growth(1 << 32, 1 << 33, 30_000),
        ],
        fairness: Some(Fairness {
            hosts: 37,
            least_load: 0.25,
            mean_load: 0.3,
            greatest_load: 0.375,
            least_share: 0.875,
            mean_share: 0.96875,
            jain: 0.984375,
        }),
    }
}

/// Kind, number and port of `host 3`, `leaf 3 port 2` or `spine 3 port 2`: spines are numbered after the eight leaves.
fn end(name: &str) -> (&'static str, u32, u32) {
    let words: Vec<&str> = name.split(' ').collect();
    let number = |index: usize| words.get(index).map_or(0, |word| word.parse().unwrap());
    match words[0] {
        "host" => ("host", number(1), 0),
        "leaf" => ("router", number(1), number(3)),
        _ => ("router", 8 + number(1), number(3)),
    }
}

fn links(sequence: &mut Sequence) -> Table {
    let hosts = (0..64u32).flat_map(|host| {
        let (host_name, port) = (
            format!("host {host}"),
            format!("leaf {} port {}", host / 8, host % 8),
        );
        [
            ("injection", host_name.clone(), port.clone(), 300),
            ("ejection", port, host_name, 320),
        ]
    });
    let ups = (0..64u32).flat_map(|i| {
        let (leaf, spine) = (
            format!("leaf {} port {}", i / 8, 8 + i % 8),
            format!("spine {} port {}", i % 8, i / 8),
        );
        [
            ("up", leaf.clone(), spine.clone(), 520),
            ("down", spine, leaf, 560),
        ]
    });
    let rows: Vec<LinkRow> = hosts
        .chain(ups)
        .enumerate()
        .map(|(link, (class, from, to, thousandths))| {
            let busy_ps = MEASURED_PS / 1000 * sequence.below(thousandths);
            let [(from_kind, from_id, from_port), (to_kind, to_id, to_port)] = [end(&from), end(&to)];
            LinkRow {
                link: link as u32,
                class: Cow::Borrowed(class),
                from,
                to,
                from_kind: Cow::Borrowed(from_kind),
                from_id,
                from_port,
                to_kind: Cow::Borrowed(to_kind),
                to_id,
                to_port,
                bandwidth_bits_per_s: 100_000_000_000,
                latency_ps: 50_000,
                bytes: busy_ps / 80,
                packets: busy_ps / 80 / 256,
                busy_ps,
                busy_fraction: busy_ps as f64 / MEASURED_PS as f64,
                buffer_full_ps: busy_ps / 10,
            }
        })
        .collect();
    rows::links(rows)
}
