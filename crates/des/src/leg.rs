//! A leg of a run: what one executor executes of it. A run on a single executor has one leg.
//!
//! Between two legs, all events before some point in the total order have been executed, and no other. So any executor
//! can go on from there, on any number of threads. LPs are moved, not saved: what they know of later times stays.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::slot::Slot;
use crate::{Event, Model, Partition, Time};

/// The state of a run between two legs.
pub(crate) struct Midway<M: Model> {
    /// LPs in order.
    pub(crate) slots: Vec<Slot<M::Lp>>,
    pub(crate) pending: Vec<Event<M::Payload>>,
    /// Time of the last executed event.
    pub(crate) last: Time,
    /// The earliest stop that was requested.
    pub(crate) stop: Time,
}

/// LPs of a part, and their pending events.
type PartOfMidway<M> = (Vec<Slot<<M as Model>::Lp>>, Vec<Event<<M as Model>::Payload>>);

/// When a leg ends, unless the run does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    /// With the run.
    Whole,
    /// After this time.
    Time(Duration),
    /// After so many events of the leading thread.
    Events(u64),
}

/// A leg of a run.
pub(crate) struct Leg<M: Model> {
    /// By part; `None` if the run begins with this leg.
    parts: Option<Vec<Mutex<PartOfMidway<M>>>>,
    /// Time of the last event before the leg.
    pub(crate) last: Time,
    /// The earliest stop requested before the leg.
    pub(crate) stop: Time,
    length: Length,
    /// When the first event of the leg was about to execute.
    begin: Mutex<Option<Instant>>,
    /// The earliest stop at the end of the leg, plus one; 0 while the run goes on in it, or if the run ended with it.
    paused: AtomicU64,
}

/// Decides on the leading thread when a leg ends.
pub(crate) struct LegTimer {
    length: Length,
    begin: Instant,
    /// Number of questions until the next look at the clock, which costs as much as a short window.
    looks: u32,
}

/// Questions between two looks at the clock.
const LOOK: u32 = 16;

impl LegTimer {
    /// Whether the leg is over. `processed`: events of this thread.
    #[inline]
    pub(crate) fn is_over(&mut self, processed: u64) -> bool {
        match self.length {
            Length::Whole => false,
            Length::Events(events) => processed >= events,
            Length::Time(length) => {
                self.looks += 1;
                self.looks.is_multiple_of(LOOK) && self.begin.elapsed() >= length
            }
        }
    }

    /// Events until the next question, of an executor that asks every `events` events.
    pub(crate) fn interval(&self, events: u64) -> u64 {
        match self.length {
            Length::Events(most) => events.min(most).max(1),
            _ => events,
        }
    }
}

impl<M: Model> Leg<M> {
    /// The only leg of a run. `stop` and `last`: those of the snapshot from which it begins.
    pub(crate) fn whole(last: Time, stop: Time) -> Leg<M> {
        Leg {
            parts: None,
            last,
            stop,
            length: Length::Whole,
            begin: Mutex::new(None),
            paused: AtomicU64::new(0),
        }
    }

    /// A leg of this length. `midway`: what the one before has left.
    pub(crate) fn new(
        midway: Option<Midway<M>>,
        partition: &Partition,
        length: Length,
        first: Leg<M>,
    ) -> Leg<M> {
        let Some(midway) = midway else {
            return Leg { length, ..first };
        };
        let (mut slots, mut parts) = (midway.slots, Vec::new());
        for part in (0..partition.parts()).rev() {
            parts.push((slots.split_off(partition.range(part).start as usize), Vec::new()));
        }
        parts.reverse();
        for event in midway.pending {
            parts[partition.owner(event.target)].1.push(event);
        }
        Leg {
            parts: Some(parts.into_iter().map(Mutex::new).collect()),
            last: midway.last,
            stop: midway.stop,
            length,
            ..first
        }
    }

    /// The LPs of a part and their pending events; `None` if the run begins with this leg.
    pub(crate) fn take(&self, part: usize) -> Option<PartOfMidway<M>> {
        let mut part = self.parts.as_ref()?[part]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Some(std::mem::take(&mut *part))
    }

    /// What decides when the leg ends, on the leading thread. Called when the first event is about to execute.
    pub(crate) fn start(&self) -> LegTimer {
        let begin = Instant::now();
        *self.begin.lock().unwrap_or_else(PoisonError::into_inner) = Some(begin);
        LegTimer {
            length: self.length,
            begin,
            looks: 0,
        }
    }

    /// Notes that the leg is over and the run is not. `stop`: the earliest stop that was requested.
    pub(crate) fn pause(&self, stop: Time) {
        self.paused.store(stop.0.saturating_add(1), Relaxed);
    }

    /// The earliest stop, if the leg is over and the run is not.
    pub(crate) fn paused(&self) -> Option<Time> {
        match self.paused.load(Relaxed) {
            0 => None,
            u64::MAX => Some(Time::MAX),
            more => Some(Time(more - 1)),
        }
    }

    /// Time since the first event of the leg was about to execute.
    pub(crate) fn elapsed(&self) -> Duration {
        let begin = *self.begin.lock().unwrap_or_else(PoisonError::into_inner);
        begin.map_or(Duration::ZERO, |begin| begin.elapsed())
    }
}
