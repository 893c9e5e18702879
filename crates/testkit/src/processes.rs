//! Processes of a run that are threads of a test: what several processes compute, without MPI.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use des::Processes;

/// One of several "processes". They share no more than real ones do: what each gives to the others.
///
/// One that is dropped, at its end or by a panic, lets the others panic as soon as they wait for it.
pub struct Together {
    rank: usize,
    meeting: Arc<Meeting>,
}

struct Meeting {
    table: Mutex<ExchangeTable>,
    turn: Condvar,
}

struct ExchangeTable {
    /// What each process has brought.
    brought: Vec<Brought>,
    /// How many have come to the present meeting, and how many meetings there have been.
    present: usize,
    held: u64,
    /// The first who left, for good.
    left: Option<usize>,
}

enum Brought {
    Nothing,
    Values(Vec<u64>),
    Parcels(Vec<Vec<u8>>),
}

impl Together {
    /// As many processes, by rank.
    pub fn new(count: usize) -> Vec<Together> {
        let meeting = Arc::new(Meeting {
            table: Mutex::new(ExchangeTable {
                brought: (0..count).map(|_| Brought::Nothing).collect(),
                present: 0,
                held: 0,
                left: None,
            }),
            turn: Condvar::new(),
        });
        let process = |rank| Together {
            rank,
            meeting: Arc::clone(&meeting),
        };
        (0..count).map(process).collect()
    }

    /// Runs a body as so many processes, each in a thread of its own, and returns what they return, by rank.
    ///
    /// # Panics
    /// If one of them panics.
    pub fn run<T: Send>(count: usize, body: impl Fn(&Together) -> T + Sync) -> Vec<T> {
        thread::scope(|scope| {
            let start = |process| scope.spawn(|| body(&{ process }));
            let started: Vec<_> = Together::new(count).into_iter().map(start).collect();
            let ended: Vec<_> = started.into_iter().map(|thread| thread.join()).collect();
            ended
                .into_iter()
                .map(|result| result.expect("a process has panicked"))
                .collect()
        })
    }

    fn bring(&self, what: Brought) {
        self.meeting.lock().brought[self.rank] = what;
        self.meet();
    }

    /// Returns when all have called it.
    fn meet(&self) {
        let mut table = self.meeting.lock();
        table.present += 1;
        if table.present == table.brought.len() {
            table.present = 0;
            table.held += 1;
            self.meeting.turn.notify_all();
            return;
        }
        let held = table.held;
        while table.held == held {
            if let Some(left) = table.left {
                drop(table);
                panic!("process {} waits for process {left}, which has ended", self.rank);
            }
            table = self
                .meeting
                .turn
                .wait(table)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Processes for Together {
    fn index(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.meeting.lock().brought.len()
    }

    fn least(&self, values: &mut [u64]) {
        self.bring(Brought::Values(values.to_vec()));
        for brought in &self.meeting.lock().brought {
            let Brought::Values(others) = brought else {
                panic!("all processes call the same methods in the same order");
            };
            assert_eq!(others.len(), values.len(), "all give equally many values");
            for (value, other) in values.iter_mut().zip(others) {
                *value = (*value).min(*other);
            }
        }
        // Nobody brings anything new before all have seen this.
        self.meet();
    }

    fn exchange(&self, parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        assert_eq!(parcels.len(), self.count(), "one parcel for each process");
        self.bring(Brought::Parcels(parcels));
        let mut table = self.meeting.lock();
        let mine = table.brought.iter_mut().map(|brought| match brought {
            Brought::Parcels(parcels) => mem::take(&mut parcels[self.rank]),
            _ => panic!("all processes call the same methods in the same order"),
        });
        let mine = mine.collect();
        drop(table);
        self.meet();
        mine
    }
}

impl Drop for Together {
    fn drop(&mut self) {
        self.meeting.lock().left.get_or_insert(self.rank);
        self.meeting.turn.notify_all();
    }
}

impl Meeting {
    /// A process that panics does not hide why by letting the others panic over a poisoned lock.
    fn lock(&self) -> MutexGuard<'_, ExchangeTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the body and expects that every process panics or ends, and at least one panics.
    fn fails(count: usize, body: impl Fn(&Together) + Sync) {
        thread::scope(|scope| {
            let start = |process: Together| scope.spawn(|| body(&{ process }));
            let started: Vec<_> = Together::new(count).into_iter().map(start).collect();
            let failed = started.into_iter().filter_map(|thread| thread.join().err());
            assert!(failed.count() > 0);
        });
    }

    #[test]
    fn a_panic_reaches_those_who_wait() {
        fails(3, |process| {
            process.least(&mut [1]);
            assert!(process.index() != 1, "fails by itself");
            process.exchange(vec![Vec::new(); 3]);
            unreachable!("process 1 never comes");
        });
    }

    #[test]
    fn who_waits_for_one_that_has_ended_panics() {
        fails(2, |process| {
            if process.index() == 0 {
                process.least(&mut [1]);
            }
        });
    }

    #[test]
    fn different_calls_do_not_meet() {
        fails(2, |process| {
            if process.index() == 0 {
                process.least(&mut [1]);
            } else {
                process.exchange(vec![Vec::new(); 2]);
            }
        });
    }

    #[test]
    fn different_numbers_of_values_do_not_meet() {
        fails(2, |process| process.least(&mut vec![1; process.index() + 1]));
    }

    #[test]
    fn the_least_of_each_place() {
        let seen = Together::run(3, |process| {
            let mut values = [process.index() as u64, 10 - process.index() as u64, u64::MAX];
            process.least(&mut values);
            values
        });
        assert_eq!(seen, [[0, 8, u64::MAX]; 3]);
    }

    #[test]
    fn parcels_arrive_round_after_round() {
        for count in 1..=4 {
            Together::run(count, |process| {
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
