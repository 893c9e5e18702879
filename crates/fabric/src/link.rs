//! Use of a link, counted at its sending end.

use des::Time;
use serde::{Deserialize, Serialize};

/// The measured part of a run: the times from the end of the warm-up to the start of the drain phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Its start, the end of the warm-up.
    pub from: Time,
    /// Its end, which does not belong to it; the largest time if it ends with the run.
    pub until: Time,
}

/// Use of one direction of a cable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkUse {
    /// Packets begun in the measured part.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time in the measured part during which the link carried bits.
    pub busy: Time,
    /// Time in the measured part during which the link was free and packets waited, but none had credits.
    pub buffer_full: Time,
    /// The same quantities over the whole run.
    pub total: Flow,
}

/// Use of a link from the start of the run to a point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Packets begun.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time during which the link carried bits.
    pub busy: Time,
    /// Time during which no waiting packet had credits.
    pub buffer_full: Time,
}

/// Counters that every packet touches. They are small, so that they fit the cache line of their port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LinkCounters {
    packets: u64,
    bytes: u64,
    busy: Time,
}

/// Counters that few packets touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StallCounters {
    /// Use before and after the measured part.
    outside: Flow,
    buffer_full: Time,
}

impl Measured {
    /// The part that begins at `from` and ends with the run.
    pub fn after(from: Time) -> Measured {
        Measured {
            from,
            until: Time::MAX,
        }
    }

    /// Whether a point in time is measured.
    #[inline]
    pub fn contains(self, time: Time) -> bool {
        self.from <= time && time < self.until
    }

    /// The measured part of the span between two points in time.
    fn within(self, from: Time, to: Time) -> Time {
        to.min(self.until).saturating_sub(from.max(self.from))
    }
}

impl LinkCounters {
    /// A packet starts now and takes `serialization`. `stalls` is called only if a part of this time is not measured.
    #[inline(always)]
    pub(crate) fn depart<'a>(
        &mut self,
        now: Time,
        serialization: Time,
        bytes: u32,
        measured: Measured,
        stalls: impl FnOnce() -> &'a mut StallCounters,
    ) {
        let end = now + serialization;
        if now >= measured.from && end <= measured.until {
            self.packets += 1;
            self.bytes += u64::from(bytes);
            self.busy += serialization;
        } else {
            let busy = measured.within(now, end);
            let outside = &mut stalls().outside;
            self.busy += busy;
            outside.busy += serialization - busy;
            // A packet counts where it begins.
            let (packets, of_bytes) = match measured.contains(now) {
                true => (&mut self.packets, &mut self.bytes),
                false => (&mut outside.packets, &mut outside.bytes),
            };
            *packets += 1;
            *of_bytes += u64::from(bytes);
        }
    }

    /// A part of a packet that has begun before starts now and takes `serialization`.
    pub(crate) fn carry<'a>(
        &mut self,
        now: Time,
        serialization: Time,
        bytes: u32,
        measured: Measured,
        stalls: impl FnOnce() -> &'a mut StallCounters,
    ) {
        let busy = measured.within(now, now + serialization);
        self.busy += busy;
        if measured.contains(now) {
            self.bytes += u64::from(bytes);
        }
        if busy < serialization || !measured.contains(now) {
            let outside = &mut stalls().outside;
            outside.busy += serialization - busy;
            outside.bytes += if measured.contains(now) {
                0
            } else {
                u64::from(bytes)
            };
        }
    }

    /// Undoes the latest [`LinkCounters::depart`], which had the same arguments.
    pub(crate) fn undo_depart<'a>(
        &mut self,
        now: Time,
        serialization: Time,
        bytes: u32,
        measured: Measured,
        stalls: impl FnOnce() -> &'a mut StallCounters,
    ) {
        let end = now + serialization;
        if now >= measured.from && end <= measured.until {
            self.packets -= 1;
            self.bytes -= u64::from(bytes);
            self.busy = self.busy - serialization;
        } else {
            let busy = measured.within(now, end);
            let outside = &mut stalls().outside;
            self.busy = self.busy - busy;
            outside.busy = outside.busy - (serialization - busy);
            let (packets, of_bytes) = match measured.contains(now) {
                true => (&mut self.packets, &mut self.bytes),
                false => (&mut outside.packets, &mut outside.bytes),
            };
            *packets -= 1;
            *of_bytes -= u64::from(bytes);
        }
    }
}

impl StallCounters {
    /// The link's packets lacked credits from `since` until now.
    #[inline]
    pub(crate) fn unblock(&mut self, since: Time, now: Time, measured: Measured) {
        let inside = measured.within(since, now);
        self.buffer_full += inside;
        self.outside.buffer_full += now.saturating_sub(since) - inside;
    }

    /// Undoes the latest [`StallCounters::unblock`], which had the same arguments.
    pub(crate) fn undo_unblock(&mut self, since: Time, now: Time, measured: Measured) {
        let inside = measured.within(since, now);
        self.buffer_full = self.buffer_full - inside;
        self.outside.buffer_full = self.outside.buffer_full - (now.saturating_sub(since) - inside);
    }
}

impl LinkUse {
    /// Use until `end` of a link that is busy until `busy_until`.
    pub(crate) fn new(
        counters: LinkCounters,
        stalls: StallCounters,
        (end, busy_until): (Time, Time),
        measured: Measured,
    ) -> LinkUse {
        LinkUse {
            packets: counters.packets,
            bytes: counters.bytes,
            busy: counters.busy.saturating_sub(measured.within(end, busy_until)),
            buffer_full: stalls.buffer_full,
            total: Flow::new(counters, stalls, (end, busy_until)),
        }
    }
}

impl Flow {
    /// Adds another flow.
    #[inline]
    pub fn add(&mut self, other: &Flow) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.busy += other.busy;
        self.buffer_full += other.buffer_full;
    }

    /// Use from the start of the run until `end` of a link that is busy until `busy_until`.
    #[inline]
    pub(crate) fn new(
        counters: LinkCounters,
        stalls: StallCounters,
        (end, busy_until): (Time, Time),
    ) -> Flow {
        let to_come = busy_until.saturating_sub(end);
        let outside = stalls.outside;
        Flow {
            packets: outside.packets + counters.packets,
            bytes: outside.bytes + counters.bytes,
            busy: (outside.busy + counters.busy).saturating_sub(to_come),
            buffer_full: outside.buffer_full + stalls.buffer_full,
        }
    }
}
