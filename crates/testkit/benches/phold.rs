//! PHOLD on every executor: events per second by thread count and share of remote events.
//!
//! `cargo bench -p fabricsim-testkit`; divan prints items (committed events) per second.

use des::{Control, Executor, Optimism, Pace, Partition, Settings, Time, run};
use divan::{Bencher, counter::ItemsCount};
use fabricsim_testkit::phold::Phold;

fn main() {
    divan::main();
}

const LPS: u32 = 1024;

/// Probabilities that an event goes to another LP, in 65536ths: a tenth, and 1.
const REMOTE: [u64; 2] = [6_554, 65_536];

/// 1,024 LPs with 16 events each. Delays between LPs are the lookahead plus at most 2 ns, so the mean delay hardly
/// depends on the lookahead.
fn phold(remote: u64, lookahead: Time) -> Phold {
    Phold {
        lps: LPS,
        population: 16,
        lookahead,
        spread: Time::from_ns(2),
        remote,
        records: false,
        tallies: false,
    }
}

fn bench(bencher: Bencher, executor: Executor, threads: usize, remote: u64, lookahead: Time, until: Time) {
    let model = phold(remote, lookahead);
    let settings = Settings {
        executor,
        partition: Partition::balanced(LPS, threads, |_| 1),
        seed: 1,
        until,
        optimism: Optimism::default(),
        pace: Pace::default(),
    };
    let go = || {
        run(&model, &settings, &Control::default(), &mut |_, _| ())
            .statistics
            .committed
    };
    bencher.counter(ItemsCount::new(go())).bench(go);
}

macro_rules! group {
    ($(#[$doc:meta])* $name:ident, $lookahead:expr, $until:expr) => {
        $(#[$doc])*
        #[divan::bench_group(sample_count = 5)]
        mod $name {
            use super::*;

            fn case(bencher: Bencher, executor: Executor, threads: usize, remote: u64) {
                bench(bencher, executor, threads, remote, $lookahead, $until);
            }

            #[divan::bench(args = REMOTE)]
            fn sequential(bencher: Bencher, remote: u64) {
                case(bencher, Executor::Sequential, 1, remote);
            }
            #[divan::bench(args = REMOTE)]
            fn conservative_1_thread(bencher: Bencher, remote: u64) {
                case(bencher, Executor::Conservative, 1, remote);
            }
            #[divan::bench(args = REMOTE)]
            fn conservative_2_threads(bencher: Bencher, remote: u64) {
                case(bencher, Executor::Conservative, 2, remote);
            }
            #[divan::bench(args = REMOTE)]
            fn optimistic_1_thread(bencher: Bencher, remote: u64) {
                case(bencher, Executor::Optimistic, 1, remote);
            }
            #[divan::bench(args = REMOTE)]
            fn optimistic_2_threads(bencher: Bencher, remote: u64) {
                case(bencher, Executor::Optimistic, 2, remote);
            }
        }
    };
}

group!(
    /// A window of the conservative executor holds thousands of events.
    lookahead_1_ns,
    Time::from_ns(1),
    Time::from_ns(200)
);
group!(
    /// A window holds one or two hundred events.
    lookahead_10_ps,
    Time(10),
    Time::from_ns(100)
);
group!(
    /// A window holds some ten events.
    lookahead_1_ps,
    Time(1),
    Time::from_ns(20)
);
