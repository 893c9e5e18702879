//! Events and their total order.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::Time;

/// Address of a logical process: dense, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LpId(pub u32);

/// A fact that an LP learns at a point in time. A plain value without pointers, so that it can cross
/// threads and processes as bytes.
///
/// With a payload of up to 44 bytes an event is one cache line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(C)]
pub struct Event<P> {
    /// When it happens.
    pub time: Time,
    /// The LP that sent it.
    pub source: LpId,
    /// How many events its source had sent before, modulo 2^32.
    pub sequence: u32,
    /// The LP that it happens to.
    pub target: LpId,
    /// What happens.
    pub payload: P,
}

/// Position of an event in the total order: time, then source LP, then the source's send counter.
///
/// Nothing of it depends on threads, partitions or arrival order. The counter may wrap: two events of
/// one source with the same counter are 2^32 sends apart and cannot share a time stamp, and the order of
/// a pair that straddles the wrap is as fixed as any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Time stamp.
    pub time: Time,
    tie: u64,
}

impl Key {
    pub(crate) const FIRST: Key = Key {
        time: Time::ZERO,
        tie: 0,
    };
}

impl Key {
    pub(crate) fn new(time: Time, source: LpId, sequence: u32) -> Key {
        Key {
            time,
            tie: u64::from(source.0) << 32 | u64::from(sequence),
        }
    }

    /// The LP that sent the event.
    pub(crate) fn source(self) -> LpId {
        LpId((self.tie >> 32) as u32)
    }

    /// Time in ps, and what breaks ties.
    pub(crate) fn parts(self) -> (u64, u64) {
        (self.time.0, self.tie)
    }

    #[inline]
    fn as_number(self) -> u128 {
        u128::from(self.time.0) << 64 | u128::from(self.tie)
    }
}

impl Ord for Key {
    /// One comparison of 128 bits: keys are compared several times per event.
    #[inline]
    fn cmp(&self, other: &Key) -> Ordering {
        self.as_number().cmp(&other.as_number())
    }
}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    #[inline]
    fn lt(&self, other: &Key) -> bool {
        self.as_number() < other.as_number()
    }
}

/// The place of an event in a list, with its key: what sorting and heaps move about instead of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexed {
    pub(crate) key: Key,
    pub(crate) index: u32,
}

impl PartialEq for Indexed {
    #[inline]
    fn eq(&self, other: &Indexed) -> bool {
        self.key == other.key
    }
}
impl Eq for Indexed {}
impl PartialOrd for Indexed {
    #[inline]
    fn partial_cmp(&self, other: &Indexed) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Indexed {
    /// Latest first: the top of a binary heap is the earliest.
    #[inline]
    fn cmp(&self, other: &Indexed) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// All of an event but what happens. Kept apart from the payload until it is known where the event goes, so that
/// it is written there at once: an event that is put together elsewhere and copied would be read before it is all
/// written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) time: Time,
    pub(crate) source: LpId,
    pub(crate) sequence: u32,
    pub(crate) target: LpId,
}

impl Head {
    /// The event.
    #[inline(always)]
    pub(crate) fn event<P>(self, payload: P) -> Event<P> {
        let Head {
            time,
            source,
            sequence,
            target,
        } = self;
        Event {
            time,
            source,
            sequence,
            target,
            payload,
        }
    }
}

impl<P> Event<P> {
    /// Its head and its payload.
    #[inline(always)]
    pub(crate) fn into_parts(self) -> (Head, P) {
        let Event {
            time,
            source,
            sequence,
            target,
            payload,
        } = self;
        let head = Head {
            time,
            source,
            sequence,
            target,
        };
        (head, payload)
    }

    /// Position in the total order.
    #[inline]
    pub fn key(&self) -> Key {
        Key::new(self.time, self.source, self.sequence)
    }
}
