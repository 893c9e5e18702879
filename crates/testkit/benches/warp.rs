//! PHOLD over sizes, lookaheads and loads: where windows win, and where Time Warp does.
//!
//! `cargo bench -p fabricsim-testkit --bench warp` prints million committed events per second of wall-clock time, the
//! best of three runs that take turns, for each executor with 1 and 2 threads. `-- THREADS NAME` takes 1, 2, 4 and so
//! on up to THREADS threads, and the cases whose name contains NAME. `--once` runs each once, and `--parallel` leaves
//! out `sequential`, which takes a minute for a million LPs. Beside a rate of `optimistic` stands the part of its
//! executed events that were not rolled back.

use std::time::Instant;

use des::{Control, Executor, Optimism, Pace, Partition, Settings, Time, run};
use fabricsim_testkit::phold::Phold;

/// Runs of each, of which the best counts.
const RUNS: usize = 3;

/// Name, LPs, lookahead in picoseconds, and events of a run. 16 events for each LP, of which a tenth goes to another
/// LP; delays between LPs are the lookahead and up to 2 ns more.
const CASES: &[(&str, u32, u64, u64)] = &[
    ("1024/1-ns", 1 << 10, 1_000, 16_000_000),
    ("16384/1-ns", 1 << 14, 1_000, 16_000_000),
    ("262144/1-ns", 1 << 18, 1_000, 24_000_000),
    ("1048576/1-ns", 1 << 20, 1_000, 40_000_000),
    ("1024/10-ps", 1 << 10, 10, 8_000_000),
    ("1024/1-ps", 1 << 10, 1, 4_000_000),
    ("16384/1-ps", 1 << 14, 1, 6_000_000),
    ("262144/1-ps", 1 << 18, 1, 12_000_000),
    // Of two threads, the first has a twelfth of the LPs.
    ("16384/1-ns/uneven", 1 << 14, 1_000, 16_000_000),
    ("16384/10-ps/uneven", 1 << 14, 10, 12_000_000),
];

fn main() {
    let (options, arguments): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with('-'));
    let has = |option: &str| options.iter().any(|given| given == option);
    let runs = if has("--once") { 1 } else { RUNS };
    let most: usize = arguments.first().and_then(|text| text.parse().ok()).unwrap_or(2);
    let filter = arguments.last().filter(|text| text.parse::<usize>().is_err());
    let counts: Vec<usize> = std::iter::successors(Some(1), |n| Some(n * 2))
        .take_while(|n| *n <= most)
        .collect();
    let mut kinds = Vec::new();
    if !has("--parallel") {
        kinds.push((Executor::Sequential, 1));
    }
    kinds.extend(counts.iter().map(|threads| (Executor::Conservative, *threads)));
    kinds.extend(counts[1..].iter().map(|threads| (Executor::Optimistic, *threads)));
    kinds.push((Executor::Auto, most));
    print!("{:20}", "LPs/lookahead");
    for (executor, threads) in &kinds {
        print!(" {:>14}", format!("{} {threads}", &executor.name()[..4]));
    }
    println!();
    for (name, lps, lookahead, events) in CASES {
        if filter.is_some_and(|part| !name.contains(part.as_str())) {
            continue;
        }
        let model = Phold {
            lps: *lps,
            population: 16,
            lookahead: Time(*lookahead),
            spread: Time::from_ns(2),
            remote: 6_554,
            records: false,
            tallies: false,
        };
        // The mean delay is half of the lookahead and the spread, within and between LPs.
        let mean = (lookahead + 2_000) / 2;
        let until = Time(events / (u64::from(*lps) * 16) * mean + mean);
        let weight = |lp: des::LpId| match name.ends_with("uneven") {
            // As if these had half of the work.
            true if lp.0 < lps / 12 => 11,
            _ => 1,
        };
        let mut best = vec![(0.0f64, 1.0); kinds.len()];
        // In turn, so that all of them meet the same load of the machine.
        for _ in 0..runs {
            for ((executor, threads), best) in kinds.iter().zip(&mut best) {
                let settings = Settings {
                    executor: *executor,
                    partition: Partition::balanced(*lps, *threads, weight),
                    seed: 1,
                    until,
                    optimism: Optimism::default(),
                    pace: Pace::Measured,
                };
                let start = Instant::now();
                let statistics = run(&model, &settings, &Control::default(), &mut |_, _| ()).statistics;
                let rate = statistics.committed as f64 / start.elapsed().as_secs_f64() / 1e6;
                if rate > best.0 {
                    *best = (rate, statistics.committed as f64 / statistics.processed as f64);
                }
            }
        }
        print!("{name:20}");
        for ((executor, _), (rate, efficiency)) in kinds.iter().zip(best) {
            match executor {
                Executor::Optimistic => print!(" {:>14}", format!("{rate:.2} ({efficiency:.3})")),
                _ => print!(" {rate:>14.2}"),
            }
        }
        println!();
    }
}
