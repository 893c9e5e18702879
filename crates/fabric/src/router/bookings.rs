//! A server of bytes that is booked in advance: the crossbar of a router, or a link behind it.
//!
//! A packet is booked as soon as it has its space behind the server. Its bytes come in during a known span. With
//! cut-through, a packet that comes in more slowly than the server works leaves idle stretches, which packets that are
//! booked later use.
//!
//! Source: the arbitrators `cut_through` and `simple` of PISCES (SST/macro). Of each idle stretch that ends before all
//! of a packet is here, the packet takes as many bytes as have come by then, at the end of the stretch. From the time
//! at which all of it is here, it takes all. Not copied: the last one or two bytes, which PISCES does not book.

use std::collections::VecDeque;

use des::Time;
use serde::{Deserialize, Serialize};

use crate::Rate;

/// When a packet leaves a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Booking {
    /// Its first byte starts to leave.
    pub(super) head: Time,
    /// Its last byte has left.
    pub(super) tail: Time,
    /// Time for which the server is taken: that of the bytes, each part of them rounded up.
    pub(super) busy: Time,
}

/// The bookings of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bookings {
    /// Idle stretches before `free`, in order.
    idle: VecDeque<(Time, Time)>,
    /// End of the last booking.
    free: Time,
}

impl Bookings {
    /// End of the last booking.
    #[inline]
    pub(super) fn free(&self) -> Time {
        self.free
    }

    /// Booked time after a time that is not before the latest booking.
    pub(super) fn to_come(&self, time: Time) -> Time {
        let idle: u64 = self
            .idle
            .iter()
            .map(|(start, end)| end.saturating_sub((*start).max(time)).ps())
            .sum();
        Time(self.free.saturating_sub(time).ps().saturating_sub(idle))
    }

    /// Whether there are no idle stretches before [`Bookings::free`].
    #[inline]
    pub(super) fn is_simple(&self) -> bool {
        self.idle.is_empty()
    }

    /// A server without idle stretches that is free from a time on.
    pub(super) fn until(free: Time) -> Bookings {
        Bookings {
            idle: VecDeque::new(),
            free,
        }
    }

    /// Whether the saved state is one of a server.
    pub(super) fn is_valid(&self) -> bool {
        let mut last = Time::ZERO;
        self.idle.iter().all(|(start, end)| {
            let is_good = last <= *start && start < end && *end <= self.free;
            last = *end;
            is_good
        })
    }

    /// Books a packet whose head comes in now, and whose tail comes in after `incoming`.
    #[inline]
    pub(super) fn cut_through(&mut self, now: Time, rate: Rate, bytes: u32, incoming: Time) -> Booking {
        let serialization = rate.serialization(bytes);
        if self.idle.is_empty() && incoming <= serialization {
            let head = now.max(self.free);
            self.free = head + serialization;
            return Booking {
                head,
                tail: self.free,
                busy: serialization,
            };
        }
        self.among_idle_stretches(now, rate, bytes, incoming)
    }

    /// Books a packet that is complete when it comes in, and leaves when it is complete again.
    pub(super) fn store_and_forward(&mut self, now: Time, rate: Rate, bytes: u32) -> Booking {
        let busy = rate.serialization(bytes);
        self.free = now.max(self.free) + busy;
        Booking {
            head: self.free,
            tail: self.free,
            busy,
        }
    }

    #[inline(never)]
    fn among_idle_stretches(&mut self, now: Time, rate: Rate, bytes: u32, incoming: Time) -> Booking {
        let one_byte = rate.serialization(1);
        let complete = now + incoming;
        let is_slow = incoming > rate.serialization(bytes);
        // Bytes that have come by a time, at most `complete`.
        let come = |time: Time| {
            let part = u128::from(bytes) * u128::from((time - now).ps());
            (part / u128::from(incoming.ps().max(1))) as u32
        };
        let (mut taken, mut head, mut tail, mut busy) = (0, None, now, Time::ZERO);
        let mut idle = VecDeque::new();
        let mut keep = |start: Time, end: Time| {
            if start < end {
                idle.push_back((start, end));
            }
        };
        let bytes_in = |span: Time| u32::try_from(rate.bytes_in(span)).unwrap_or(u32::MAX);
        for (start, end) in std::mem::take(&mut self.idle) {
            let mut start = start.max(now);
            if end.saturating_sub(start) < one_byte {
                // Too short for a byte.
                keep(start, end);
                continue;
            }
            head.get_or_insert(start);
            if is_slow && start < complete && taken < bytes {
                let until = end.min(complete);
                let takes = (come(until) - taken).min(bytes_in(until - start));
                let time = rate.serialization(takes).min(until - start);
                keep(start, until - time);
                if takes > 0 {
                    tail = until;
                }
                (taken, busy, start) = (taken + takes, busy + time, until);
            }
            let takes = (bytes - taken).min(bytes_in(end.saturating_sub(start)));
            if takes > 0 {
                let time = rate.serialization(takes).min(end - start);
                (taken, busy, start) = (taken + takes, busy + time, start + time);
                tail = start;
            }
            keep(start, end);
        }
        let mut start = self.free.max(now);
        if taken < bytes {
            head.get_or_insert(start);
            if is_slow && start < complete {
                let takes = (come(complete) - taken).min(bytes_in(complete - start));
                if takes > 0 {
                    let time = rate.serialization(takes).min(complete - start);
                    keep(start, complete - time);
                    (taken, busy, start) = (taken + takes, busy + time, complete);
                    tail = complete;
                }
            }
            if taken < bytes {
                let time = rate.serialization(bytes - taken);
                (busy, start) = (busy + time, start + time);
                tail = start;
            }
            self.free = start;
        }
        self.idle = idle;
        let head = head.unwrap_or(now);
        Booking {
            head,
            tail: tail.max(head),
            busy,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 10 GB/s: 100 ps for each byte.
    fn rate() -> Rate {
        Rate::bits_per_s(80_000_000_000)
    }

    fn book(server: &mut Bookings, now: u64, bytes: u32, incoming: u64) -> (u64, u64) {
        let Booking { head, tail, .. } = server.cut_through(Time(now), rate(), bytes, Time(incoming));
        (head.ps(), tail.ps())
    }

    #[test]
    fn packets_that_come_in_fast_leave_one_after_the_other() {
        let mut server = Bookings::default();
        assert_eq!(book(&mut server, 1_000, 10, 0), (1_000, 2_000));
        assert_eq!(book(&mut server, 1_500, 10, 1_000), (2_000, 3_000));
        assert_eq!(book(&mut server, 9_000, 1, 0), (9_000, 9_100));
        assert_eq!(server.free(), Time(9_100));
    }

    /// The case `p40_fill_gaps` of PISCES: 1,024 B that come in at half the rate.
    #[test]
    fn a_packet_that_comes_in_slowly_leaves_idle_stretches_for_others() {
        let mut server = Bookings::default();
        assert_eq!(book(&mut server, 20_000, 1024, 204_800), (20_000, 224_800));
        // 362 bytes until 122,400, where the first packet takes its bytes; the others from 224,800 on.
        assert_eq!(server.to_come(Time(20_000)), Time(102_400), "at the end");
        assert_eq!(server.to_come(Time(173_600)), Time(51_200));
        assert_eq!(book(&mut server, 50_000, 1024, 204_800), (50_000, 291_000));
        assert_eq!(server.to_come(Time(50_000)), Time(204_800));
        assert_eq!(book(&mut server, 224_800, 1024, 204_800), (291_000, 429_600));
    }

    #[test]
    fn a_packet_is_stored_before_it_is_forwarded() {
        let mut server = Bookings::default();
        let booked = server.store_and_forward(Time(100), rate(), 10);
        assert_eq!((booked.head, booked.tail), (Time(1_100), Time(1_100)));
        assert_eq!(server.store_and_forward(Time(200), rate(), 10).head, Time(2_100));
    }

    proptest! {
        /// The server is never given more bytes than it can serve, and a packet leaves when all of it is here and not
        /// sooner than the server can carry it.
        #[test]
        fn no_byte_leaves_twice_or_before_it_has_come(
            packets in prop::collection::vec((0u64..50_000, 1u32..300, 0u64..60_000), 1..40),
        ) {
            let (mut server, mut now, mut all, mut heads) = (Bookings::default(), 0, 0u64, 0);
            for (gap, bytes, incoming) in packets {
                now += gap;
                let before = server.to_come(Time(now));
                let booked = server.cut_through(Time(now), rate(), bytes, Time(incoming));
                let (head, tail) = (booked.head.ps(), booked.tail.ps());
                prop_assert_eq!(booked.busy, rate().serialization(bytes));
                prop_assert_eq!(server.to_come(Time(now)), before + booked.busy);
                prop_assert!(head >= now && head >= heads, "{} after {}", head, heads);
                prop_assert!(tail >= now + incoming.max(u64::from(bytes) * 100));
                prop_assert!(tail <= server.free().ps());
                prop_assert!(server.is_valid());
                heads = head;
                all += u64::from(bytes);
                prop_assert!(all * 100 <= server.free().ps());
            }
        }
    }
}
