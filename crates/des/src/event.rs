//! Events and their total order.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::Time;

/// Number of a logical process, from 0 without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LpId(pub u32);

/// A fact that an LP learns at a point in time. It is a plain value without pointers, so that it can cross threads
/// and processes as bytes.
///
/// An event with a payload of up to 44 bytes fills one cache line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(C)]
pub struct Event<P> {
    /// Time of the event.
    pub time: Time,
    /// The sending LP.
    pub source: LpId,
    /// Number of events that the source had sent before, modulo 2^32.
    pub sequence: u32,
    /// The receiving LP.
    pub target: LpId,
    /// Content of the event.
    pub payload: P,
}

/// Position of an event in the total order: time, then source LP, then the source's send counter.
///
/// The key does not depend on threads, partitions or arrival order. The counter may wrap: two events of one source
/// with the same counter are 2^32 sends apart and cannot have the same time, and the order of a pair across the wrap
/// is as deterministic as any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

    /// Time in ps, and the tie-breaker.
    pub(crate) fn parts(self) -> (u64, u64) {
        (self.time.0, self.tie)
    }

    #[inline]
    fn as_number(self) -> u128 {
        u128::from(self.time.0) << 64 | u128::from(self.tie)
    }
}

impl Ord for Key {
    /// One comparison of 128 bits, since keys are compared several times per event.
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

/// The index of an event in a list, with its key. Sorting and heaps move it instead of the event.
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
    /// Latest first, so that the top of a binary heap is the earliest.
    #[inline]
    fn cmp(&self, other: &Indexed) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// An event without its payload. The payload is added at the final location of the event: an event that is assembled
/// elsewhere and copied would be read before its stores complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) time: Time,
    pub(crate) source: LpId,
    pub(crate) sequence: u32,
    pub(crate) target: LpId,
}

impl Head {
    /// The event with this payload.
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
    /// Head and payload.
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
