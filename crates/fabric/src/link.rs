//! Use of a link, counted at its sending end.

use des::Time;
use serde::{Deserialize, Serialize};

/// Use of one direction of a cable. The measured part of a run begins at the end of the warm-up.
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
    /// Use before the measured part.
    before: Flow,
    buffer_full: Time,
}

impl LinkCounters {
    /// A packet starts now and takes `serialization`. Measuring begins at `warmup`; `stalls` is called only before
    /// that.
    #[inline]
    pub(crate) fn depart<'a>(
        &mut self,
        now: Time,
        serialization: Time,
        bytes: u32,
        warmup: Time,
        stalls: impl FnOnce() -> &'a mut StallCounters,
    ) {
        if now >= warmup {
            self.packets += 1;
            self.bytes += u64::from(bytes);
            self.busy += serialization;
        } else {
            let measured = (now + serialization).saturating_sub(warmup);
            self.busy += measured;
            let stalls = stalls();
            stalls.before.packets += 1;
            stalls.before.bytes += u64::from(bytes);
            stalls.before.busy += serialization - measured;
        }
    }

    /// Undoes the latest [`LinkCounters::depart`], which had the same arguments.
    pub(crate) fn undo_depart<'a>(
        &mut self,
        now: Time,
        serialization: Time,
        bytes: u32,
        warmup: Time,
        stalls: impl FnOnce() -> &'a mut StallCounters,
    ) {
        if now >= warmup {
            self.packets -= 1;
            self.bytes -= u64::from(bytes);
            self.busy = self.busy - serialization;
        } else {
            let measured = (now + serialization).saturating_sub(warmup);
            self.busy = self.busy - measured;
            let stalls = stalls();
            stalls.before.packets -= 1;
            stalls.before.bytes -= u64::from(bytes);
            stalls.before.busy = stalls.before.busy - (serialization - measured);
        }
    }
}

impl StallCounters {
    /// The link's packets lacked credits from `since` until now.
    #[inline]
    pub(crate) fn unblock(&mut self, since: Time, now: Time, warmup: Time) {
        self.buffer_full += now.saturating_sub(since.max(warmup));
        self.before.buffer_full += now.min(warmup).saturating_sub(since);
    }

    /// Undoes the latest [`StallCounters::unblock`], which had the same arguments.
    pub(crate) fn undo_unblock(&mut self, since: Time, now: Time, warmup: Time) {
        self.buffer_full = self.buffer_full - now.saturating_sub(since.max(warmup));
        self.before.buffer_full = self.before.buffer_full - now.min(warmup).saturating_sub(since);
    }
}

impl LinkUse {
    /// Use until `end` of a link that is busy until `busy_until`.
    pub(crate) fn new(counters: LinkCounters, stalls: StallCounters, end: Time, busy_until: Time) -> LinkUse {
        let to_come = busy_until.saturating_sub(end);
        let before = stalls.before;
        LinkUse {
            packets: counters.packets,
            bytes: counters.bytes,
            busy: counters.busy.saturating_sub(to_come),
            buffer_full: stalls.buffer_full,
            total: Flow {
                packets: before.packets + counters.packets,
                bytes: before.bytes + counters.bytes,
                busy: (before.busy + counters.busy).saturating_sub(to_come),
                buffer_full: before.buffer_full + stalls.buffer_full,
            },
        }
    }
}
