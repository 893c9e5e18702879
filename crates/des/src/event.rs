//! Events and their total order.

use crate::Time;

/// Address of a logical process: dense, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LpId(pub u32);

/// A fact that an LP learns at a point in time. A plain value without pointers, so that it can cross
/// threads and processes as bytes.
///
/// With a payload of up to 44 bytes an event is one cache line.
#[derive(Clone, Copy, Debug)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

impl<P> Event<P> {
    /// Position in the total order.
    #[inline]
    pub fn key(&self) -> Key {
        Key {
            time: self.time,
            tie: u64::from(self.source.0) << 32 | u64::from(self.sequence),
        }
    }
}
