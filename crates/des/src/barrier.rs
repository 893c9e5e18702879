//! A barrier for windows of microseconds: it spins, then yields the core, then sleeps.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, yield_now};

/// Number of spins before the first yield: about a microsecond.
const SPINS: u32 = if cfg!(loom) { 0 } else { 200 };

/// Number of yields before sleeping: some tens of microseconds on an idle machine.
const YIELDS: u32 = if cfg!(loom) { 1 } else { 64 };

/// An arrival of a thread at a [`Barrier`].
#[derive(Clone, Copy)]
pub(crate) struct Ticket {
    generation: usize,
}

/// A barrier at which all threads wait until the last has arrived. A thread may arrive first, and wait later.
///
/// `std::sync::Barrier` sleeps in the operating system at every wait, which costs several short windows.
pub(crate) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    /// Changes only while `sleepers` is locked, so that no thread misses a change and sleeps.
    generation: AtomicUsize,
    broken: AtomicBool,
    sleepers: Mutex<usize>,
    bell: Condvar,
}

impl Barrier {
    pub(crate) fn new(threads: usize) -> Barrier {
        Barrier {
            threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            bell: Condvar::new(),
        }
    }

    /// Waits for the other threads. Everything that a thread did before its wait is visible to all threads after
    /// theirs.
    ///
    /// # Panics
    /// Another thread panicked and will never arrive.
    pub(crate) fn wait(&self) {
        self.wait_for_others(self.arrive());
    }

    /// Arrives without waiting. A thread arrives again only after it has seen that all have arrived.
    pub(crate) fn arrive(&self) -> Ticket {
        let generation = self.generation.load(Acquire);
        if self.arrived.fetch_add(1, AcqRel) + 1 == self.threads {
            self.arrived.store(0, Relaxed);
            self.open(generation.wrapping_add(1));
        }
        Ticket { generation }
    }

    /// Whether all threads have arrived. Then everything that a thread did before its arrival is visible.
    ///
    /// # Panics
    /// As [`Barrier::wait`].
    pub(crate) fn has_all_arrived(&self, ticket: Ticket) -> bool {
        let has = self.generation.load(Acquire) != ticket.generation;
        assert!(
            has || !self.broken.load(Relaxed),
            "another thread of the simulation panicked"
        );
        has
    }

    /// Waits for the threads that have not arrived yet.
    ///
    /// # Panics
    /// As [`Barrier::wait`].
    pub(crate) fn wait_for_others(&self, ticket: Ticket) {
        let generation = ticket.generation;
        let mut looks = 0;
        while !self.has_all_arrived(ticket) {
            looks += 1;
            match looks {
                _ if looks <= SPINS => std::hint::spin_loop(),
                _ if looks <= SPINS + YIELDS => yield_now(),
                _ => self.sleep(generation),
            }
        }
    }

    fn open(&self, generation: usize) {
        if self.threads == 1 {
            return self.generation.store(generation, Release);
        }
        let sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        self.generation.store(generation, Release);
        if *sleepers > 0 {
            self.bell.notify_all();
        }
    }

    fn sleep(&self, generation: usize) {
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        while self.generation.load(Acquire) == generation && !self.broken.load(Relaxed) {
            *sleepers += 1;
            sleepers = self.bell.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
            *sleepers -= 1;
        }
    }

    /// Makes the waiting threads panic too, so that none waits forever.
    pub(crate) fn break_if_panicking(&self) {
        if std::thread::panicking() {
            self.give_up();
        }
    }

    fn give_up(&self) {
        let _sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        self.broken.store(true, Relaxed);
        self.bell.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_thread_overtakes() {
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
                            if round % 500 == me {
                                // The other threads fall asleep meanwhile.
                                std::thread::sleep(std::time::Duration::from_millis(2));
                            }
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

    #[test]
    fn a_panic_wakes_the_sleepers() {
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| barrier.wait());
            let panicking = scope.spawn(|| {
                struct Guard<'a>(&'a Barrier);
                impl Drop for Guard<'_> {
                    fn drop(&mut self) {
                        self.0.break_if_panicking();
                    }
                }
                let _guard = Guard(&barrier);
                std::thread::sleep(std::time::Duration::from_millis(20));
                panic!("on purpose");
            });
            assert!(panicking.join().is_err());
            assert!(sleeper.join().is_err());
        });
    }
}

// These tests detected the following mistakes: `open` stores the generation with `Relaxed`; `open` counts the
// sleepers and releases the lock before it stores the generation; `wait` counts with `Relaxed`; `wait` clears the
// arrivals after it has opened; `give_up` does not lock (no thread wakes up, loom panics within a panic, and the test
// aborts). Storing the generation before taking the lock is correct, since a sleeper reads it under the lock.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::sync::AtomicU64;
    use loom::sync::Arc;

    /// As the next test, with threads that arrive and look again and again instead of waiting.
    #[test]
    fn stores_before_an_arrival_are_seen_once_all_have_arrived() {
        loom::model(|| {
            let shared = Arc::new((Barrier::new(2), [AtomicU64::new(0), AtomicU64::new(0)]));
            let round = |shared: &(Barrier, [AtomicU64; 2]), me: usize| {
                for round in 1..=2 {
                    shared.1[me].store(round, Relaxed);
                    let ticket = shared.0.arrive();
                    if !shared.0.has_all_arrived(ticket) {
                        yield_now();
                        shared.0.wait_for_others(ticket);
                    }
                    let seen = shared.1[1 - me].load(Relaxed);
                    assert!(seen >= round, "{seen} in round {round}");
                }
            };
            let other = {
                let shared = shared.clone();
                loom::thread::spawn(move || round(&shared, 1))
            };
            round(&shared, 0);
            other.join().unwrap();
        });
    }

    /// Two rounds of two threads in all interleavings: a store before a wait is visible to the other thread after it,
    /// and no thread sleeps forever.
    #[test]
    fn stores_before_a_wait_are_seen_after_it() {
        loom::model(|| {
            let shared = Arc::new((Barrier::new(2), [AtomicU64::new(0), AtomicU64::new(0)]));
            let round = |shared: &(Barrier, [AtomicU64; 2]), me: usize| {
                for round in 1..=2 {
                    shared.1[me].store(round, Relaxed);
                    shared.0.wait();
                    let seen = shared.1[1 - me].load(Relaxed);
                    assert!(seen >= round, "{seen} in round {round}");
                }
            };
            let other = {
                let shared = shared.clone();
                loom::thread::spawn(move || round(&shared, 1))
            };
            round(&shared, 0);
            other.join().unwrap();
        });
    }

    /// A thread that sleeps, or is about to, when another thread gives up wakes up and gives up too. Loom reports a
    /// thread that sleeps forever as a deadlock.
    #[test]
    fn a_broken_barrier_wakes_all() {
        loom::model(|| {
            let barrier = Arc::new(Barrier::new(2));
            let sleeper = {
                let barrier = barrier.clone();
                loom::thread::spawn(move || barrier.sleep(0))
            };
            barrier.give_up();
            sleeper.join().unwrap();
        });
    }
}
