//! A barrier for windows of microseconds: spins, then yields the core.

use std::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// Looks at the generation that often before giving the core away: about a microsecond.
const SPINS: u32 = 200;

/// All threads wait until the last has come.
///
/// `std::sync::Barrier` sleeps in the kernel at every wait, which costs several short windows.
pub(crate) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    broken: AtomicBool,
}

impl Barrier {
    pub(crate) fn new(threads: usize) -> Barrier {
        Barrier {
            threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits for the others. What any thread did before its wait is visible to all after theirs.
    ///
    /// # Panics
    /// If another thread panicked, since it will never come.
    pub(crate) fn wait(&self) {
        let generation = self.generation.load(Acquire);
        if self.arrived.fetch_add(1, AcqRel) + 1 == self.threads {
            self.arrived.store(0, Relaxed);
            self.generation.store(generation.wrapping_add(1), Release);
            return;
        }
        let mut spins = 0;
        while self.generation.load(Acquire) == generation {
            assert!(
                !self.broken.load(Relaxed),
                "another thread of the simulation panicked"
            );
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }

    /// Lets the waiting threads panic too instead of waiting for ever.
    pub(crate) fn break_if_panicking(&self) {
        if std::thread::panicking() {
            self.broken.store(true, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_overtakes() {
        const ROUNDS: usize = 2_000;
        for threads in 1..=4 {
            let barrier = Barrier::new(threads);
            let counters: Vec<AtomicUsize> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
            std::thread::scope(|scope| {
                for me in 0..threads {
                    let (barrier, counters) = (&barrier, &counters);
                    scope.spawn(move || {
                        for round in 1..=ROUNDS {
                            counters[me].store(round, Relaxed);
                            barrier.wait();
                            for other in counters {
                                let seen = other.load(Relaxed);
                                assert!(seen == round || seen == round + 1, "{seen} in round {round}");
                            }
                            barrier.wait();
                        }
                    });
                }
            });
        }
    }
}
