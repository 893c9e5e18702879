//! All threads of all processes of one run: synchronisation, agreement and event exchange.
//!
//! Threads of one process share memory. Processes communicate when their threads synchronise: the first thread of
//! each, which called [`crate::run()`], exchanges the messages of all of them.

use std::mem::take;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::barrier::{Barrier, Ticket};
use crate::commit::Emitted;
use crate::event::Key;
use crate::run::Run;
use crate::snapshot::SnapshotPart;
use crate::sync::{AtomicBool, AtomicU64, Mutex, yield_now};
use crate::{Event, LpId, Model, Observer, Partition, Processes, Snapshot, Time};

/// Times that a thread without work yields and looks for mail before it sleeps: some hundred microseconds on an idle
/// machine, as long as a short round of GVT.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 512 };

/// The contribution of a thread to a synchronisation, and the agreed result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SyncState {
    /// Lower bound of all pending and in-transit events.
    pub(crate) next: Time,
    /// The earliest requested stop.
    pub(crate) stop: Time,
    /// The earliest failure of a handler.
    pub(crate) failed: Time,
    /// The owner interrupted the run.
    pub(crate) interrupted: bool,
    /// The owner wants a snapshot.
    pub(crate) snapshot: bool,
    /// The leg is over.
    pub(crate) pause: bool,
    /// A thread had much to do since the synchronisation before.
    pub(crate) is_long: bool,
}

impl SyncState {
    const VALUES: usize = 7;

    pub(crate) const NOTHING: SyncState = SyncState {
        next: Time::MAX,
        stop: Time::MAX,
        failed: Time::MAX,
        interrupted: false,
        snapshot: false,
        pause: false,
        is_long: false,
    };

    /// The state as numbers, whose minimum over all threads is the agreed state.
    fn to_numbers(self) -> [u64; SyncState::VALUES] {
        let no = |yes: bool| u64::from(!yes);
        [
            self.next.0,
            self.stop.0,
            self.failed.0,
            no(self.interrupted),
            no(self.snapshot),
            no(self.pause),
            no(self.is_long),
        ]
    }

    fn from_numbers(
        [next, stop, failed, interrupted, snapshot, pause, is_long]: [u64; SyncState::VALUES],
    ) -> SyncState {
        SyncState {
            next: Time(next),
            stop: Time(stop),
            failed: Time(failed),
            interrupted: interrupted == 0,
            snapshot: snapshot == 0,
            pause: pause == 0,
            is_long: is_long == 0,
        }
    }
}

/// A message to an LP.
pub(crate) trait Mail: Send + Serialize + DeserializeOwned {
    fn target(&self) -> LpId;
}

impl<P: Send + Serialize + DeserializeOwned> Mail for Event<P> {
    fn target(&self) -> LpId {
        self.target
    }
}

/// Messages of other threads to one thread, in the order of each sender.
struct Mailbox<T> {
    mail: Mutex<Vec<T>>,
    /// Whether it may hold messages.
    filled: AtomicBool,
}

impl<T> Mailbox<T> {
    fn new() -> Self {
        Mailbox {
            mail: Mutex::new(Vec::new()),
            filled: AtomicBool::new(false),
        }
    }

    fn put(&self, mail: &mut Vec<T>) {
        let mut inside = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        if inside.is_empty() {
            // The usual case swaps buffers without a copy.
            std::mem::swap(&mut *inside, mail);
        } else {
            inside.append(mail);
        }
        self.filled.store(true, Release);
    }

    /// Moves the messages into `mail`, which is empty.
    fn empty_into(&self, mail: &mut Vec<T>) {
        if self.filled.load(Acquire) {
            let mut inside = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut *inside, mail);
            self.filled.store(false, Relaxed);
        }
    }
}

/// The parts of a snapshot of all threads of one process.
pub(crate) type SnapshotParts<M> = std::sync::Mutex<Vec<SnapshotPart<<M as Model>::Payload>>>;

/// Shared data of the threads of one process.
pub(crate) struct Team<'a, T, R> {
    pub(crate) partition: &'a Partition,
    processes: &'a dyn Processes,
    barrier: Barrier,
    /// States by thread, in two alternating sets. A fast thread may reach the next synchronisation while a slow one
    /// still reads this one, but cannot be two ahead.
    sync_states: [Vec<[AtomicU64; SyncState::VALUES]>; 2],
    /// The agreed state of all processes, if there are several.
    agreed: [AtomicU64; SyncState::VALUES],
    mailboxes: Vec<Mailbox<T>>,
    /// Messages to other processes, by process.
    outgoing: Vec<Mutex<Vec<T>>>,
    /// Records in transit to the first thread of the first process.
    records: Mutex<Vec<Emitted<R>>>,
}

impl<'a, T: Mail, R: Copy + Serialize + DeserializeOwned> Team<'a, T, R> {
    pub(crate) fn new(partition: &'a Partition, processes: &'a dyn Processes) -> Self {
        let threads = partition.parts() / processes.count();
        assert_eq!(
            threads * processes.count(),
            partition.parts(),
            "all processes have equally many threads"
        );
        let zeros = || std::array::from_fn(|_| AtomicU64::new(0));
        let sync_states = || (0..threads).map(|_| zeros()).collect();
        Team {
            partition,
            processes,
            barrier: Barrier::new(threads),
            sync_states: [sync_states(), sync_states()],
            agreed: zeros(),
            mailboxes: (0..threads).map(|_| Mailbox::new()).collect(),
            outgoing: (0..processes.count()).map(|_| Mutex::new(Vec::new())).collect(),
            records: Mutex::new(Vec::new()),
        }
    }

    /// Number of threads of this process.
    pub(crate) fn threads(&self) -> usize {
        self.mailboxes.len()
    }

    /// Number of processes.
    pub(crate) fn processes(&self) -> usize {
        self.processes.count()
    }

    /// The part of the LPs of a thread of this process.
    pub(crate) fn part(&self, thread: usize) -> usize {
        self.processes.index() * self.threads() + thread
    }

    /// Whether this thread passes records and snapshots to the owner.
    pub(crate) fn leads(&self, thread: usize) -> bool {
        thread == 0 && self.processes.index() == 0
    }

    /// Sends messages to the owner of a part and empties `mail`. They arrive at once within a process, and at the
    /// next synchronisation otherwise.
    pub(crate) fn post(&self, part: usize, mail: &mut Vec<T>) {
        if mail.is_empty() {
            return;
        }
        let process = part / self.threads();
        if process == self.processes.index() {
            self.mailboxes[part % self.threads()].put(mail);
        } else {
            let mut outgoing = self.outgoing[process]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            outgoing.append(mail);
        }
    }

    /// Sends records to the committer. They arrive at the next synchronisation.
    pub(crate) fn post_records(&self, records: &mut Vec<Emitted<R>>) {
        if !records.is_empty() {
            let mut all = self.records.lock().unwrap_or_else(PoisonError::into_inner);
            all.append(records);
        }
    }

    /// Receives the messages to a thread into `mail`, which is empty.
    pub(crate) fn collect(&self, thread: usize, mail: &mut Vec<T>) {
        self.mailboxes[thread].empty_into(mail);
    }

    /// Whether a thread may have messages.
    pub(crate) fn has_mail(&self, thread: usize) -> bool {
        self.mailboxes[thread].filled.load(Relaxed)
    }

    /// Receives records, on the leading thread.
    pub(crate) fn collect_records(&self) -> Vec<Emitted<R>> {
        take(&mut *self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Synchronises all threads of all processes and returns the agreed state. `round` counts synchronisations.
    pub(crate) fn synchronise(&self, round: usize, thread: usize, sync_state: SyncState) -> SyncState {
        let ticket = self.arrive(round, thread, sync_state);
        self.agree(round, thread, ticket)
    }

    /// The first half of [`Team::synchronise`], which does not wait.
    pub(crate) fn arrive(&self, round: usize, thread: usize, sync_state: SyncState) -> Ticket {
        let sync_states = &self.sync_states[round % 2];
        for (place, number) in sync_states[thread].iter().zip(sync_state.to_numbers()) {
            place.store(number, Relaxed);
        }
        // The barrier orders these stores before the loads in `agree`.
        self.barrier.arrive()
    }

    /// Whether all threads of this process have arrived.
    pub(crate) fn has_all_arrived(&self, ticket: Ticket) -> bool {
        self.barrier.has_all_arrived(ticket)
    }

    /// Waits for mail, or until all threads of this process have arrived, but not for long: returns false if neither
    /// happened.
    pub(crate) fn waits_for_mail(&self, thread: usize, ticket: Ticket) -> bool {
        let has_any = || self.has_mail(thread) || self.has_all_arrived(ticket);
        (0..LOOKS).any(|_| {
            yield_now();
            has_any()
        })
    }

    /// The second half of [`Team::synchronise`]: waits, and returns the agreed state.
    pub(crate) fn agree(&self, round: usize, thread: usize, ticket: Ticket) -> SyncState {
        let sync_states = &self.sync_states[round % 2];
        self.barrier.wait_for_others(ticket);
        let here = || {
            std::array::from_fn(|i| {
                let given = sync_states.iter().map(|n| n[i].load(Relaxed));
                given.min().unwrap_or(u64::MAX)
            })
        };
        if self.processes.count() == 1 {
            return SyncState::from_numbers(here());
        }
        if thread == 0 {
            let mut numbers = here();
            self.processes.least(&mut numbers);
            for (place, number) in self.agreed.iter().zip(numbers) {
                place.store(number, Relaxed);
            }
            self.exchange();
        }
        self.barrier.wait();
        SyncState::from_numbers(std::array::from_fn(|i| self.agreed[i].load(Relaxed)))
    }

    /// The earliest [`SyncState::next`] of the other threads at a synchronisation, until this thread arrives at the
    /// next one; time zero if other processes have threads, of which each is not known.
    pub(crate) fn next_of_others(&self, round: usize, thread: usize) -> Time {
        if self.processes.count() > 1 {
            return Time::ZERO;
        }
        let sync_states = self.sync_states[round % 2].iter().enumerate();
        let others = sync_states.filter(|(other, _)| *other != thread);
        let next = others.map(|(_, numbers)| numbers[0].load(Relaxed)).min();
        next.map_or(Time::MAX, Time)
    }

    /// Exchanges messages and records with the other processes.
    fn exchange(&self) {
        let mut parcels = Vec::new();
        for (process, outgoing) in self.outgoing.iter().enumerate() {
            let mail = take(&mut *outgoing.lock().unwrap_or_else(PoisonError::into_inner));
            let records = if process == 0 && self.processes.index() != 0 {
                self.collect_records()
            } else {
                Vec::new()
            };
            parcels.push(match mail.is_empty() && records.is_empty() {
                true => Vec::new(),
                false => to_bytes(&(mail, records)),
            });
        }
        for parcel in self.processes.exchange(parcels) {
            if parcel.is_empty() {
                continue;
            }
            let (mail, mut records): (Vec<T>, Vec<Emitted<R>>) = from_bytes(&parcel);
            let mut sorted: Vec<Vec<T>> = (0..self.threads()).map(|_| Vec::new()).collect();
            for item in mail {
                sorted[self.partition.owner(item.target()) % self.threads()].push(item);
            }
            for (thread, mut mail) in sorted.into_iter().enumerate() {
                if !mail.is_empty() {
                    self.mailboxes[thread].put(&mut mail);
                }
            }
            self.post_records(&mut records);
        }
    }

    /// Makes the waiting threads panic too, so that none waits forever.
    pub(crate) fn break_if_panicking(&self) {
        self.barrier.break_if_panicking();
    }

    /// Joins the parts of a snapshot after all threads have added theirs, for the observer in the first process.
    pub(crate) fn gather_snapshot<M: Model>(
        &self,
        thread: usize,
        time: Time,
        stop: Time,
        parts: &SnapshotParts<M>,
        observer: &mut Option<&mut dyn Observer<M>>,
    ) {
        self.barrier.wait();
        if thread != 0 {
            return;
        }
        let mut all = take(&mut *parts.lock().unwrap_or_else(PoisonError::into_inner));
        if self.processes.count() > 1 {
            all = give_to_first(self.processes, &all)
                .into_iter()
                .flatten()
                .collect();
        }
        if let Some(observer) = observer {
            observer.snapshot(Snapshot::gather(time, stop, all));
        }
    }
}

/// Executes `work` on all threads of this process and returns its results by thread. Only the leading thread gets the
/// observer.
pub(crate) fn in_threads<M: Model, T: Mail, V: Send>(
    run: &Run<'_, M>,
    observer: &mut dyn Observer<M>,
    work: impl Fn(&Team<'_, T, M::Record>, &SnapshotParts<M>, usize, Option<&mut dyn Observer<M>>) -> V + Sync,
) -> Vec<V> {
    let team = Team::new(&run.settings.partition, run.processes);
    let parts = SnapshotParts::<M>::default();
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..team.threads())
            .map(|thread| {
                let (team, parts, work) = (&team, &parts, &work);
                scope.spawn(move || work(team, parts, thread, None))
            })
            .collect();
        // The caller's thread is the first one, so that the observer need not be `Send`, and the thread that
        // initialised MPI uses it.
        let first = work(&team, &parts, 0, team.leads(0).then_some(observer));
        let others = others
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(first).chain(others).collect()
    })
}

/// Informs the other threads if this one panics.
pub(crate) struct PanicGuard<'a, 'b, T: Mail, R: Copy + Serialize + DeserializeOwned>(
    pub(crate) &'b Team<'a, T, R>,
);

impl<T: Mail, R: Copy + Serialize + DeserializeOwned> Drop for PanicGuard<'_, '_, T, R> {
    fn drop(&mut self) {
        self.0.break_if_panicking();
    }
}

/// Collective: sends a value of each process to the first process, which gets them by process.
pub(crate) fn give_to_first<V: Serialize + DeserializeOwned>(processes: &dyn Processes, value: &V) -> Vec<V> {
    let mut parcels = vec![Vec::new(); processes.count()];
    parcels[0] = to_bytes(value);
    let parcels = processes.exchange(parcels);
    if processes.index() == 0 {
        parcels.iter().map(|parcel| from_bytes(parcel)).collect()
    } else {
        Vec::new()
    }
}

/// Collective: whether this process has the least key; `None` is no key.
pub(crate) fn has_least(processes: &dyn Processes, key: Option<Key>) -> bool {
    let (time, tie) = key.map_or((u64::MAX, u64::MAX), |key| key.parts());
    let mut least = [time];
    processes.least(&mut least);
    let mut tied = [if time == least[0] { tie } else { u64::MAX }];
    processes.least(&mut tied);
    key.is_some() && [time, tie] == [least[0], tied[0]]
}

pub(crate) fn to_bytes<V: Serialize>(value: &V) -> Vec<u8> {
    postcard::to_stdvec(value).expect("a value in memory can be written to memory")
}

/// Decodes a value of another process of the same run.
///
/// # Panics
/// The processes run different versions.
fn from_bytes<V: DeserializeOwned>(bytes: &[u8]) -> V {
    postcard::from_bytes(bytes).expect("all processes of a run are the same version of the program")
}

// These tests detected the following mistakes: `Mailbox::put` marks the mailbox as filled before the messages are in;
// `Mailbox::empty_into` marks it as empty after it has released the messages; one set of states instead of two.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::SingleProcess;
    use loom::sync::Arc;

    /// Two senders and a receiver that polls: no message is lost, and each sender's order is kept.
    #[test]
    fn a_mailbox_loses_nothing_and_keeps_the_order() {
        loom::model(|| {
            let mailbox = Arc::new(Mailbox::new());
            let sender = |first: u32| {
                let mailbox = mailbox.clone();
                loom::thread::spawn(move || {
                    mailbox.put(&mut vec![first]);
                    mailbox.put(&mut vec![first + 1]);
                })
            };
            let senders = [sender(10), sender(20)];
            let mut seen = Vec::new();
            let mut look = || {
                let mut mail = Vec::new();
                mailbox.empty_into(&mut mail);
                seen.append(&mut mail);
            };
            look();
            look();
            for sender in senders {
                sender.join().unwrap();
            }
            look();
            let of = |tens: u32| -> Vec<u32> { seen.iter().copied().filter(|n| n / 10 == tens).collect() };
            assert_eq!((of(1), of(2)), (vec![10, 11], vec![20, 21]));
        });
    }

    /// Two threads that arrive, send on before all have arrived, and read their mail once they have: a message that was
    /// sent before an arrival has been received then, and the agreed time is not later than one that was not.
    #[test]
    fn what_was_sent_before_an_arrival_is_received_after_it() {
        loom::model(|| {
            let partition: &Partition = Box::leak(Box::new(Partition::new(vec![0, 1, 2])));
            let team: Arc<Team<'_, Event<u64>, ()>> = Arc::new(Team::new(partition, &SingleProcess));
            let rounds = |team: &Team<'_, Event<u64>, ()>, me: usize| {
                let send = |time: u64| {
                    let mail = Event {
                        time: Time(time),
                        source: LpId(me as u32),
                        sequence: 0,
                        target: LpId(1 - me as u32),
                        payload: time,
                    };
                    team.post(1 - me, &mut vec![mail]);
                    Time(time)
                };
                let mut seen = Vec::new();
                // The first message is sent before the first arrival, the second one between two arrivals.
                let mut sent = send(10 + me as u64);
                for round in 1..=2u64 {
                    let next = Time(100 * round).min(sent);
                    let ticket = team.arrive(
                        round as usize,
                        me,
                        SyncState {
                            next,
                            ..SyncState::NOTHING
                        },
                    );
                    sent = Time::MAX;
                    if round == 1 && !team.has_all_arrived(ticket) {
                        sent = send(20 + me as u64);
                    }
                    let agreed = team.agree(round as usize, me, ticket);
                    let mut mail = Vec::new();
                    team.collect(me, &mut mail);
                    assert!(mail.iter().all(|event| event.time >= agreed.next));
                    seen.extend(mail.iter().map(|event| event.payload));
                    let other = 1 - me as u64;
                    assert!(seen.contains(&(10 + other)), "{seen:?} in round {round}");
                }
                seen
            };
            let other = {
                let team = team.clone();
                loom::thread::spawn(move || rounds(&team, 1))
            };
            rounds(&team, 0);
            other.join().unwrap();
        });
    }

    /// Two threads that synchronise several times: both agree on the states of this synchronisation and on nothing of
    /// the next, and earlier messages have arrived.
    #[test]
    fn all_agree_at_each_meeting() {
        loom::model(|| {
            let partition: &Partition = Box::leak(Box::new(Partition::new(vec![0, 1, 2])));
            let team: Arc<Team<'_, Event<u64>, ()>> = Arc::new(Team::new(partition, &SingleProcess));
            let synchronisations = |team: &Team<'_, Event<u64>, ()>, me: u64| {
                let mut seen = Vec::new();
                for round in 1..=3u64 {
                    let mail = Event {
                        time: Time(round),
                        source: LpId(me as u32),
                        sequence: 0,
                        target: LpId(1 - me as u32),
                        payload: round,
                    };
                    team.post(1 - me as usize, &mut vec![mail]);
                    let sync_state = SyncState {
                        next: Time(round * 10 + me),
                        stop: Time(round * 10 + 1 - me),
                        ..SyncState::NOTHING
                    };
                    let agreed = team.synchronise(round as usize, me as usize, sync_state);
                    assert_eq!((agreed.next, agreed.stop), (Time(round * 10), Time(round * 10)));
                    let mut mail = Vec::new();
                    team.collect(me as usize, &mut mail);
                    seen.extend(mail.iter().map(|event| event.payload));
                    // The other thread may already have sent for the next synchronisation.
                    let expected: Vec<u64> = (1..=seen.len() as u64).collect();
                    assert!(seen == expected && seen.len() as u64 >= round, "{seen:?}");
                }
            };
            let other = {
                let team = team.clone();
                loom::thread::spawn(move || synchronisations(&team, 1))
            };
            synchronisations(&team, 0);
            other.join().unwrap();
        });
    }
}
