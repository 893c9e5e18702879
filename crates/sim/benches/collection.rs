//! What collection costs: processor time of a run with series of all kinds, compared with the same run without.
//!
//! `cargo bench -p fabricsim-sim --bench collection`. The runs of a round follow each other, and each round begins
//! with another one, so that what else the machine does hits all alike; of all rounds the least, the median and the
//! share of the least over that of the run without are printed. Time counts from the model to the last row on the
//! disk; a result's other tables and its page are not in it.

use cpu_time::ProcessTime;
use experiment::Experiment;
use fabricsim_sim::{RunContext, RunControl, run_in};

/// Repetitions of each case.
const ROUNDS: usize = 9;

/// The 1,056-host dragonfly of `packet_hops`, once for as long and once for a long run.
const CASES: &[(&str, f64, u32)] = &[
    ("dragonfly-1056/minimal/0.5, 40 us", 0.5, 40),
    ("dragonfly-1056/minimal/0.5, 200 us", 0.5, 200),
];

/// `collect.series` and `collect.bin`. The default is `auto` for both: 128 bins, however short the run.
const SERIES: &[[&str; 2]] = &[
    ["off", "auto"],
    ["auto", "auto"],
    ["links", "1 us"],
    ["vcs", "1 us"],
    ["links", "auto"],
    ["vcs", "auto"],
];

fn main() {
    for (name, load, microseconds) in CASES {
        println!("{name}: CPU seconds, {ROUNDS} rounds");
        println!(
            "{:8} {:8} {:>8} {:>8} {:>10} {:>10}",
            "series", "bin", "least", "median", "over off", "rows"
        );
        measure(*load, *microseconds);
    }
}

fn measure(load: f64, microseconds: u32) {
    let experiments = SERIES.iter().map(|[series, bin]| {
        let toml = format!(
            r#"
            [network]
            topology = {{ kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4 }}
            routing = {{ algorithm = "minimal" }}
            link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
            router = {{ delay = "100 ns", buffer = "100 KB" }}
            packet = "256 B"
            [[job]]
            traffic = {{ pattern = "uniform", load = {load} }}
            [run]
            until = "{microseconds} us"
            executor = "conservative"
            [collect]
            series = "{series}"
            bin = "{bin}"
            "#
        );
        Experiment::from_toml(&toml, series, &[]).expect("the case is valid")
    });
    let experiments: Vec<Experiment> = experiments.collect();
    let mut seconds = vec![Vec::new(); SERIES.len()];
    let mut rows = vec![0; SERIES.len()];
    for round in 0..ROUNDS {
        for turn in 0..SERIES.len() {
            let index = (turn + round) % SERIES.len();
            let folder = tempfile::tempdir().expect("a folder");
            let way = RunContext {
                parts: Some(&folder.path().into()),
                ..RunContext::default()
            };
            let start = ProcessTime::now();
            let result = run_in(&experiments[index], &RunControl::new(), &way).expect("the case runs");
            seconds[index].push(start.elapsed().as_secs_f64());
            let summary = result.expect("one process").summary;
            let collect = summary.collect.expect("it is always there");
            rows[index] = collect.tables.iter().map(|table| table.rows).sum::<u64>();
        }
    }
    for seconds in &mut seconds {
        seconds.sort_by(f64::total_cmp);
    }
    for (index, [series, bin]) in SERIES.iter().enumerate() {
        let over = |of: fn(&[f64]) -> f64| (of(&seconds[index]) / of(&seconds[0]) - 1.0) * 100.0;
        println!(
            "{series:8} {bin:8} {:8.3} {:8.3} {:9.1}% {:10}  (medians: {:.1} %)",
            seconds[index][0],
            seconds[index][ROUNDS / 2],
            over(|s| s[0]),
            rows[index],
            over(|s| s[ROUNDS / 2]),
        );
    }
}
