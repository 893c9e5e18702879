//! Records on their way to the results, in the total order.

use serde::{Deserialize, Serialize};

use crate::event::Key;
use crate::{Model, Observer, Time};

/// A record with its position in the total order: first by the event that emitted it, then by the emission.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Emitted<R> {
    pub(crate) key: Key,
    pub(crate) index: u32,
    pub(crate) record: R,
}

/// Sorts the records of all threads and processes into the total order.
pub(crate) struct Committer<R> {
    /// Records that others may still precede. Records of one event are adjacent and in order.
    early: Vec<Emitted<R>>,
    /// Ranges of the records of each event. Sorting moves these, since they are far fewer and smaller than records.
    events: Vec<Emission>,
}

/// The records of one event.
#[derive(Clone, Copy)]
struct Emission {
    key: Key,
    first: usize,
}

impl<R: Copy> Committer<R> {
    pub(crate) fn new() -> Self {
        Committer {
            early: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(crate) fn take(&mut self, records: &mut Vec<Emitted<R>>) {
        self.early.append(records);
    }

    /// Passes on the records before `bound`, a time that all threads have passed.
    pub(crate) fn commit_before<M: Model<Record = R>>(
        &mut self,
        bound: Time,
        observer: &mut dyn Observer<M>,
    ) {
        if self.early.is_empty() {
            return;
        }
        self.events.clear();
        let mut last = None;
        for (first, emitted) in self.early.iter().enumerate() {
            let key = emitted.key;
            if key.time < bound && last != Some(key) {
                self.events.push(Emission { key, first });
            }
            last = Some(key);
        }
        self.events.sort_unstable_by_key(|event| event.key);
        for Emission { key, first } in &self.events {
            let of_event = self.early[*first..].iter().take_while(|e| e.key == *key);
            for emitted in of_event {
                observer.commit(key.time, emitted.record);
            }
        }
        self.early.retain(|e| e.key.time >= bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LpId;

    /// A model whose events are empty and whose records are numbers.
    struct Silent;

    impl Model for Silent {
        type Payload = ();
        type Lp = ();
        type Record = u32;
        type Undo = ();
        type Error = ();
        type Tally = ();

        fn lps(&self) -> u32 {
            0
        }
        fn lookahead(&self) -> Time {
            Time(1)
        }
        fn tally(&self) {}
        fn create(&self, _: LpId) {}
        fn start(&self, (): &mut (), _: &mut impl crate::Context<Self>) {}
        fn handle(&self, (): &mut (), _: &crate::Event<()>, _: &mut impl crate::Context<Self>) {}
        fn undo(&self, (): &mut (), (): ()) {}
        fn save(&self, (): &(), _: &mut Vec<u8>) {}
        fn restore(&self, (): &mut (), _: &[u8], _: crate::Purpose) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn records_come_out_in_the_total_order_and_in_that_of_their_event() {
        let mut committer = Committer::new();
        let emitted = |time, source, index| Emitted {
            key: Key::new(Time(time), LpId(source), 3),
            index,
            record: time as u32 * 100 + source * 10 + index,
        };
        let mut seen = Vec::new();
        let mut observer = |time: Time, record: u32| seen.push((time.0, record));
        let observer: &mut dyn Observer<Silent> = &mut observer;
        // The threads run one after the other.
        committer.take(&mut vec![
            emitted(5, 1, 0),
            emitted(5, 1, 1),
            emitted(2, 1, 0),
            emitted(2, 1, 1),
        ]);
        committer.take(&mut vec![emitted(2, 0, 0), emitted(7, 0, 0), emitted(7, 0, 1)]);
        committer.commit_before(Time(2), observer);
        committer.commit_before(Time(5), observer);
        committer.take(&mut vec![emitted(5, 0, 0), emitted(6, 2, 0)]);
        committer.commit_before(Time(7), observer);
        committer.commit_before(Time::MAX, observer);
        committer.commit_before(Time::MAX, observer);
        let expected = [
            (2, 200),
            (2, 210),
            (2, 211),
            (5, 500),
            (5, 510),
            (5, 511),
            (6, 620),
            (7, 700),
            (7, 701),
        ];
        assert_eq!(seen, expected);
    }
}
