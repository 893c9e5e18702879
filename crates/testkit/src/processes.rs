//! Processes of a run as threads of a test, without MPI.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use des::Processes;

/// One of several simulated processes. They share only the data that each passes to the others.
///
/// When one is dropped, at its end or by a panic, the others panic at their next wait for it.
pub struct ThreadProcess {
    rank: usize,
    exchange: Arc<Exchange>,
}

struct Exchange {
    table: Mutex<ExchangeTable>,
    all_arrived: Condvar,
}

struct ExchangeTable {
    /// Contributions of each process.
    contributions: Vec<Contribution>,
    /// Number of processes that have arrived at the current exchange, and number of completed exchanges.
    present: usize,
    completed: u64,
    /// The first process that has ended.
    left: Option<usize>,
}

enum Contribution {
    Nothing,
    Values(Vec<u64>),
    Parcels(Vec<Vec<u8>>),
}

impl ThreadProcess {
    /// Creates `count` processes, by rank.
    pub fn new(count: usize) -> Vec<ThreadProcess> {
        let exchange = Arc::new(Exchange {
            table: Mutex::new(ExchangeTable {
                contributions: (0..count).map(|_| Contribution::Nothing).collect(),
                present: 0,
                completed: 0,
                left: None,
            }),
            all_arrived: Condvar::new(),
        });
        let process = |rank| ThreadProcess {
            rank,
            exchange: Arc::clone(&exchange),
        };
        (0..count).map(process).collect()
    }

    /// Runs a body in `count` processes, each in its own thread. Returns their results by rank.
    ///
    /// # Panics
    /// One of the processes panics.
    pub fn run<T: Send>(count: usize, body: impl Fn(&ThreadProcess) -> T + Sync) -> Vec<T> {
        thread::scope(|scope| {
            let start = |process| scope.spawn(|| body(&{ process }));
            let started: Vec<_> = ThreadProcess::new(count).into_iter().map(start).collect();
            let ended: Vec<_> = started.into_iter().map(|thread| thread.join()).collect();
            ended
                .into_iter()
                .map(|result| result.expect("a process has panicked"))
                .collect()
        })
    }

    fn contribute(&self, what: Contribution) {
        self.exchange.lock().contributions[self.rank] = what;
        self.synchronise();
    }

    /// Returns when all processes have called it.
    fn synchronise(&self) {
        let mut table = self.exchange.lock();
        table.present += 1;
        if table.present == table.contributions.len() {
            table.present = 0;
            table.completed += 1;
            self.exchange.all_arrived.notify_all();
            return;
        }
        let completed = table.completed;
        while table.completed == completed {
            if let Some(left) = table.left {
                drop(table);
                panic!("process {} waits for process {left}, which has ended", self.rank);
            }
            table = self
                .exchange
                .all_arrived
                .wait(table)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Processes for ThreadProcess {
    fn index(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.exchange.lock().contributions.len()
    }

    fn least(&self, values: &mut [u64]) {
        self.contribute(Contribution::Values(values.to_vec()));
        for contribution in &self.exchange.lock().contributions {
            let Contribution::Values(others) = contribution else {
                panic!("all processes call the same methods in the same order");
            };
            assert_eq!(others.len(), values.len(), "all give equally many values");
            for (value, other) in values.iter_mut().zip(others) {
                *value = (*value).min(*other);
            }
        }
        // No process contributes new values before all have read these.
        self.synchronise();
    }

    fn exchange(&self, parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        assert_eq!(parcels.len(), self.count(), "one parcel for each process");
        self.contribute(Contribution::Parcels(parcels));
        let mut table = self.exchange.lock();
        let mine = table
            .contributions
            .iter_mut()
            .map(|contribution| match contribution {
                Contribution::Parcels(parcels) => mem::take(&mut parcels[self.rank]),
                _ => panic!("all processes call the same methods in the same order"),
            });
        let mine = mine.collect();
        drop(table);
        self.synchronise();
        mine
    }
}

impl Drop for ThreadProcess {
    fn drop(&mut self) {
        self.exchange.lock().left.get_or_insert(self.rank);
        self.exchange.all_arrived.notify_all();
    }
}

impl Exchange {
    /// Ignores poisoning, so that a panic is reported by the process in which it occurred.
    fn lock(&self) -> MutexGuard<'_, ExchangeTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a body and expects that every process ends or panics, and at least one panics.
    fn fails(count: usize, body: impl Fn(&ThreadProcess) + Sync) {
        thread::scope(|scope| {
            let start = |process: ThreadProcess| scope.spawn(|| body(&{ process }));
            let started: Vec<_> = ThreadProcess::new(count).into_iter().map(start).collect();
            let failed = started.into_iter().filter_map(|thread| thread.join().err());
            assert!(failed.count() > 0);
        });
    }

    #[test]
    fn a_panic_reaches_waiting_processes() {
        fails(3, |process| {
            process.least(&mut [1]);
            assert!(process.index() != 1, "fails by itself");
            process.exchange(vec![Vec::new(); 3]);
            unreachable!("process 1 has panicked");
        });
    }

    #[test]
    fn waiting_for_an_ended_process_panics() {
        fails(2, |process| {
            if process.index() == 0 {
                process.least(&mut [1]);
            }
        });
    }

    #[test]
    fn different_calls_panic() {
        fails(2, |process| {
            if process.index() == 0 {
                process.least(&mut [1]);
            } else {
                process.exchange(vec![Vec::new(); 2]);
            }
        });
    }

    #[test]
    fn different_numbers_of_values_panic() {
        fails(2, |process| process.least(&mut vec![1; process.index() + 1]));
    }

    #[test]
    fn the_least_of_each_place() {
        let seen = ThreadProcess::run(3, |process| {
            let mut values = [process.index() as u64, 10 - process.index() as u64, u64::MAX];
            process.least(&mut values);
            values
        });
        assert_eq!(seen, [[0, 8, u64::MAX]; 3]);
    }

    #[test]
    fn parcels_arrive_in_every_round() {
        for count in 1..=4 {
            ThreadProcess::run(count, |process| {
                for round in 0..200 {
                    let parcel =
                        |from: usize, to: usize| vec![(from * 7 + to) as u8; (round * from + to) % 5];
                    let own = process.index();
                    let parcels = (0..count).map(|to| parcel(own, to)).collect();
                    let expected: Vec<_> = (0..count).map(|from| parcel(from, own)).collect();
                    assert_eq!(process.exchange(parcels), expected);
                    let mut values = [round as u64];
                    process.least(&mut values);
                    assert_eq!(values, [round as u64]);
                }
            });
        }
    }
}
