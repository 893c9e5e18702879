//! PHOLD on several processes, and on as many threads of one process beside it.
//!
//! `cargo bench -p fabricsim-cluster --features mpi --bench phold_processes` prints million committed events per second
//! of wall-clock time, the best of three runs, for `conservative` and `optimistic` on 1, 2 and 4 threads, and on 2 and
//! 4 processes under `mpirun`. `-- COUNT NAME` goes up to COUNT threads and processes, and takes the cases whose name
//! contains NAME. Beside a rate of `optimistic` stands the part of its executed events that were not rolled back.

use std::process::Command;
use std::time::{Duration, Instant};

use des::{Control, Executor, Optimism, Pace, Partition, Processes, Run, Settings, Time};
use fabricsim_cluster as cluster;
use testkit::{mpirun::mpirun, phold::Phold};

/// Runs of each, of which the best counts.
const RUNS: usize = 3;

/// Limit of one call of `mpirun`.
const LIMIT: Duration = Duration::from_secs(300);

/// Name, LPs, lookahead in picoseconds, and events of a run; the rest is as in the bench `warp` of the testkit.
const CASES: &[(&str, u32, u64, u64)] = &[
    ("1024/1-ns", 1 << 10, 1_000, 8_000_000),
    ("16384/1-ns", 1 << 14, 1_000, 8_000_000),
    ("262144/1-ns", 1 << 18, 1_000, 12_000_000),
    ("1024/10-ps", 1 << 10, 10, 1_000_000),
    ("16384/10-ps", 1 << 14, 10, 6_000_000),
];

const EXECUTORS: [Executor; 2] = [Executor::Conservative, Executor::Optimistic];

/// First argument of a process that measures. The numbers of the case and of the executor, and its threads follow.
const ONE: &str = "--one";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if arguments.first().is_some_and(|argument| argument == ONE) {
        let numbers: Vec<usize> = arguments[1..]
            .iter()
            .map(|text| text.parse().expect("a number"))
            .collect();
        return measure(numbers[0], EXECUTORS[numbers[1]], numbers[2]);
    }
    let most: usize = arguments.first().and_then(|text| text.parse().ok()).unwrap_or(4);
    let filter = arguments.last().filter(|text| text.parse::<usize>().is_err());
    let counts = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n <= most);
    // Processes and threads.
    let machines: Vec<(usize, usize)> = counts
        .flat_map(|n| {
            if n == 1 {
                vec![(1, 1)]
            } else {
                vec![(1, n), (n, 1)]
            }
        })
        .collect();
    print!("{:14} {:12}", "LPs/lookahead", "executor");
    for (processes, threads) in &machines {
        let name = if *processes > 1 {
            format!("{processes} processes")
        } else {
            format!("{threads} thread{}", if *threads > 1 { "s" } else { "" })
        };
        print!(" {name:>14}");
    }
    println!();
    let program = std::env::current_exe().expect("it is running");
    for (number, (name, ..)) in CASES.iter().enumerate() {
        if filter.is_some_and(|part| !name.contains(part.as_str())) {
            continue;
        }
        for (executor_number, executor) in EXECUTORS.iter().enumerate() {
            print!("{name:14} {:12}", executor.name());
            for (processes, threads) in &machines {
                let numbers = [number, executor_number, *threads].map(|number| number.to_string());
                let call: Vec<&str> = std::iter::once(ONE)
                    .chain(numbers.iter().map(String::as_str))
                    .collect();
                // Without the launcher, which would bind both threads of a process to one core.
                let output = match processes {
                    1 => Command::new(&program).args(&call).output().expect("it starts"),
                    _ => mpirun(*processes, &program, &call, LIMIT),
                };
                assert!(
                    output.status.success(),
                    "{name}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                print!(" {:>14}", String::from_utf8_lossy(&output.stdout).trim());
            }
            println!();
        }
    }
}

/// Measures in each process of a run, and prints the rate in the first.
fn measure(case: usize, executor: Executor, threads: usize) {
    let processes = cluster::join().unwrap_or_else(|error| panic!("{error}"));
    let (_, lps, lookahead, events) = CASES[case];
    let model = Phold {
        lps,
        population: 16,
        lookahead: Time(lookahead),
        spread: Time::from_ns(2),
        remote: 6_554,
        records: false,
        tallies: false,
    };
    // The mean delay is half of the lookahead and the spread, within and between LPs.
    let mean = (lookahead + 2_000) / 2;
    let settings = Settings {
        executor,
        partition: Partition::balanced(lps, processes.count() * threads, |_| 1),
        seed: 1,
        until: Time(events / (u64::from(lps) * 16) * mean + mean),
        optimism: Optimism::default(),
        pace: Pace::Measured,
    };
    let mut best = (0.0f64, 1.0);
    for _ in 0..RUNS {
        let run = Run {
            model: &model,
            settings: &settings,
            control: &Control::default(),
            processes: &processes,
            from: None,
        };
        processes.least(&mut [0]);
        let start = Instant::now();
        let finished = run.execute(&mut |_, _| ()).expect("it begins without a snapshot");
        let (statistics, seconds) = (finished.statistics, start.elapsed().as_secs_f64());
        let rate = statistics.committed as f64 / seconds / 1e6;
        if rate > best.0 {
            best = (rate, statistics.committed as f64 / statistics.processed as f64);
        }
    }
    if processes.index() == 0 {
        match executor {
            Executor::Optimistic => println!("{:.2} ({:.3})", best.0, best.1),
            _ => println!("{:.2}", best.0),
        }
    }
}
