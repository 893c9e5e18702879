//! The way of a NIC into the memory of its host: one queue, in which the packets of the port follow each other at the
//! bandwidth of the memory.
//!
//! Source: the receiving NIC of SST/macro's model SCULPIN. The head of a packet goes on while its tail still comes in.
//! A way that is faster than the link waits so long that the tail does not fall behind.

use des::Time;

use crate::Rate;

/// The way into memory, and when it is free.
#[derive(Clone, Copy, Debug)]
pub struct MemoryQueue {
    /// Bandwidth of the link that ends here.
    link: Rate,
    rate: Rate,
    pub free: Time,
    /// Packets that have arrived and are not in memory.
    pub held: u32,
}

impl MemoryQueue {
    pub fn new(link: Rate, rate: Rate) -> MemoryQueue {
        MemoryQueue {
            link,
            rate,
            free: Time::ZERO,
            held: 0,
        }
    }

    /// When a packet is in memory whose tail arrives at this time.
    pub fn stored(&self, tail: Time, bytes: u32) -> Time {
        let head = tail.saturating_sub(self.link.serialization(bytes));
        let serialization = self.rate.serialization(bytes);
        let alone = tail.max(head + serialization);
        alone.max(self.free + serialization)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_stored_as_it_comes_in_and_after_the_one_before() {
        // 10 bytes, whose head arrives at 50 ns. The way takes 1000 ps for a byte, and is faster than the link, as
        // fast, or slower; then the packet before is in the way.
        let times = |per_byte: u64| Rate::bits_per_s(8_000_000_000_000 / per_byte);
        for (link, free, stored) in [
            (1000, 0, 60_000),
            (2000, 0, 70_000),
            (500, 0, 60_000),
            (1000, 50_000, 60_000),
            (1000, 53_000, 63_000),
            (2000, 59_000, 70_000),
            (2000, 61_000, 71_000),
        ] {
            let queue = MemoryQueue {
                free: Time(free),
                ..MemoryQueue::new(times(link), times(1000))
            };
            assert_eq!(
                queue.stored(Time(50_000 + 10 * link), 10),
                Time(stored),
                "{link} {free}"
            );
        }
    }
}
