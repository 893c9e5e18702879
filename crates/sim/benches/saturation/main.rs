//! Whether the notes `saturated` and `not-steady` are right: generated cases of synthetic traffic, each run at several
//! lengths, with a long run as the judge.
//!
//! `cargo bench -p fabricsim-sim --bench saturation` runs all cases on all cores, prints counts and wrong runs, and
//! fails if a run is wrong. The test suite runs some of the cases (`crates/sim/tests/suite/saturation.rs`).

mod cases;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cases::{CASES, Verdict, judge};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let next = AtomicUsize::new(0);
    let sum = Mutex::new(Verdict::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= CASES {
                        return;
                    }
                    let verdict = judge(number);
                    sum.lock().expect("no thread panics with it").add(verdict);
                }
            });
        }
    });
    let sum = sum.into_inner().expect("no thread panicked with it");
    println!(
        "{CASES} cases at {} lengths\nsaturated: {} runs of a job, {} noted, {} not steady\nbelow saturation: {} runs of a job",
        cases::LENGTHS.len(),
        sum.saturated,
        sum.noted,
        sum.not_steady,
        sum.unsaturated
    );
    for wrong in &sum.wrong {
        println!("{wrong}");
    }
    println!("{} wrong", sum.wrong.len());
    ExitCode::from(u8::from(!sum.wrong.is_empty()))
}
