//! PHOLD on every executor: events per second, and how they depend on threads and remote events.
//!
//! `cargo bench -p fabricsim-testkit`; divan prints items (committed events) per second.

use des::{Control, Executor, Optimism, Partition, Settings, Time, run};
use divan::{Bencher, counter::ItemsCount};
use fabricsim_testkit::phold::Phold;

fn main() {
    divan::main();
}

const LPS: u32 = 1024;
const SPAN: Time = Time(200_000);

/// 1,024 LPs with 16 events each, lookahead 1 ns, delays up to 2 ns.
fn phold(remote: u64) -> Phold {
    Phold {
        lps: LPS,
        population: 16,
        lookahead: Time::from_ns(1),
        spread: Time::from_ns(1),
        remote,
        records: false,
    }
}

fn bench(bencher: Bencher, executor: Executor, threads: usize, remote: u64) {
    let model = phold(remote);
    let settings = Settings {
        executor,
        partition: Partition::balanced(LPS, threads, |_| 1),
        seed: 1,
        until: SPAN,
        optimism: Optimism::default(),
    };
    let go = || {
        run(&model, &settings, &Control::default(), &mut |_, _| ())
            .anatomy
            .committed
    };
    bencher.counter(ItemsCount::new(go())).bench(go);
}

#[divan::bench(args = [0, 6_554, 65_536], sample_count = 5)]
fn sequential(bencher: Bencher, remote_per_65536: u64) {
    bench(bencher, Executor::Sequential, 1, remote_per_65536);
}

#[divan::bench(args = [0, 6_554, 65_536], sample_count = 5)]
fn conservative_1_thread(bencher: Bencher, remote_per_65536: u64) {
    bench(bencher, Executor::Conservative, 1, remote_per_65536);
}

#[divan::bench(args = [0, 6_554, 65_536], sample_count = 5)]
fn conservative_2_threads(bencher: Bencher, remote_per_65536: u64) {
    bench(bencher, Executor::Conservative, 2, remote_per_65536);
}
