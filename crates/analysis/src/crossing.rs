//! Divides the network time of one message into transfer and waits.
//!
//! The packets of a message wait at many links at the same time, and also behind each other. Only the chain of waits
//! that determines the arrival of the last byte counts. It is found backwards, from link to link:
//!
//! 1. The last wait of any packet ends when the packet starts onto a link. From then on the time is transfer.
//! 2. If a packet of the same message used this link before, the time that it occupied the link is transfer, and the
//!    time since then is a wait for others. The chain continues with that packet at the same link.
//! 3. Otherwise the packet waited for others since its arrival. The chain continues with the last wait that had ended
//!    by then.
//!
//! So a message that shares a link equally with others is half of its time at this link in transfer and half waiting.
//! An undisturbed message is always in transfer, however many packets it has.

use std::collections::HashMap;

use crate::columns::Name;

/// The stay of a packet at a link, until it started onto the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    pub link: u32,
    pub start: u64,
    pub end: u64,
    /// Serialisation time of the packet on the link.
    pub serialization: u64,
    /// Causes and lengths of the wait. The lengths add up to the stay.
    pub parts: Vec<(Cause, u64)>,
}

/// The cause of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cause {
    /// The link, free buffer space behind it, or the NIC.
    pub reason: Name,
    /// Job that occupied it.
    pub holder: Option<Name>,
}

/// A part of the time that a message takes in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub start: u64,
    pub end: u64,
    /// Place and cause of the wait. `None` is transfer.
    pub wait: Option<(u32, Cause)>,
}

/// The time of a message in the network.
#[derive(Debug)]
pub(crate) struct Crossing {
    /// Its parts from the last to the first, without gap.
    pub pieces: Vec<Piece>,
    /// Links and lengths of the transfer in which a packet waited behind another one of the same message: the bandwidth
    /// of these links limits the message.
    pub serialized: Vec<(u32, u64)>,
}

/// Divides the time from `begin` to `end` by the stays of the packets of the message that end in it. `own` is the job.
pub(crate) fn divide(start: u64, end: u64, stays: &mut [Stay], own: Name) -> Crossing {
    stays.sort_by_key(|stay| (stay.end, stay.link, stay.start));
    let links = PathLinks::new(stays);
    let mut chain = WaitChain {
        start,
        now: end,
        pieces: Vec::new(),
        serialized: Vec::new(),
    };
    // All following stays end after `now`.
    let mut left = stays.len();
    while chain.now > start {
        left = stays[..left].partition_point(|stay| stay.end <= chain.now);
        let Some(last) = left.checked_sub(1).filter(|last| stays[*last].end > start) else {
            break;
        };
        chain.transfer_from(stays[last].end);
        left = chain.at_link(stays, &links, last, own);
    }
    chain.transfer_from(start);
    Crossing {
        pieces: chain.pieces,
        serialized: chain.serialized,
    }
}

/// Stays by link.
struct PathLinks {
    /// The previous stay at the same link, by end time, for each stay.
    before: Vec<Option<usize>>,
    /// Serialisation time of the packet of each stay and of all before it at the same link.
    wire: Vec<u64>,
    /// Stays of each link, ordered by end time.
    stays: HashMap<u32, Vec<usize>>,
}

impl PathLinks {
    fn new(stays: &[Stay]) -> PathLinks {
        let mut links = PathLinks {
            before: Vec::new(),
            wire: Vec::new(),
            stays: HashMap::new(),
        };
        for (index, stay) in stays.iter().enumerate() {
            let of_link = links.stays.entry(stay.link).or_default();
            let before = of_link.last().copied();
            of_link.push(index);
            links.before.push(before);
            let sum = before.map_or(0, |before| links.wire[before]);
            links.wire.push(sum.saturating_add(stay.serialization));
        }
        links
    }

    /// Time in a stay for which packets of the same message occupied the link.
    fn ours(&self, stays: &[Stay], at: usize) -> u64 {
        let (stay, Some(last)) = (&stays[at], self.before[at]) else {
            return 0;
        };
        let started = |index: usize| stays[index].end;
        let gone = |index: usize| started(index).saturating_add(stays[index].serialization);
        let of_link = &self.stays[&stay.link];
        let Some(first) = of_link.get(of_link.partition_point(|index| gone(*index) <= stay.start)) else {
            return 0;
        };
        if *first >= at {
            return 0;
        }
        let whole = (self.wire[last] - self.wire[*first]).saturating_add(stays[*first].serialization);
        let (early, late) = (
            stay.start.saturating_sub(started(*first)),
            gone(last).saturating_sub(stay.end),
        );
        whole.saturating_sub(early.saturating_add(late))
    }
}

/// Pieces found so far, from the end down to `now`.
struct WaitChain {
    start: u64,
    now: u64,
    pieces: Vec<Piece>,
    serialized: Vec<(u32, u64)>,
}

impl WaitChain {
    /// Adds transfer from `time` until now.
    fn transfer_from(&mut self, time: u64) {
        self.go_back(time, None);
    }

    fn go_back(&mut self, time: u64, wait: Option<(u32, Cause)>) {
        let start = time.max(self.start);
        if start >= self.now {
            return;
        }
        let end = std::mem::replace(&mut self.now, start);
        match self.pieces.last_mut() {
            Some(later) if later.wait == wait => later.start = start,
            _ => self.pieces.push(Piece { start, end, wait }),
        }
    }

    /// Goes back from the end of a stay to the arrival of the first packet of an unbroken queue at the same link.
    /// Returns how many of the stays may come before.
    fn at_link(&mut self, stays: &[Stay], links: &PathLinks, mut at: usize, own: Name) -> usize {
        loop {
            let stay = &stays[at];
            let gone = |other: usize| stays[other].end.saturating_add(stays[other].serialization);
            let Some(before) = links.before[at].filter(|before| gone(*before) > stay.start) else {
                self.wait(stay, stay.start, 0, own);
                return at;
            };
            self.wait(stay, gone(before), links.ours(stays, at), own);
            let start = stays[before].end.max(self.start);
            if start < self.now {
                self.serialized.push((stay.link, self.now - start));
            }
            self.transfer_from(start);
            at = before;
        }
    }

    /// Adds waits from `time` until now, with the causes of the stay, except the time `ours` in which packets of the
    /// same message occupied the link.
    fn wait(&mut self, stay: &Stay, time: u64, mut ours: u64, own: Name) {
        let time = time.max(self.start);
        let span = self.now.saturating_sub(time);
        if span == 0 {
            return;
        }
        let mut parts: Vec<(Cause, u64)> = stay.parts.clone();
        for (cause, length) in &mut parts {
            if cause.holder == Some(own) {
                let less = ours.min(*length);
                *length -= less;
                ours -= less;
            }
        }
        if parts.iter().all(|(_, length)| *length == 0) {
            parts.clone_from(&stay.parts);
        }
        let whole: u128 = parts.iter().map(|(_, length)| u128::from(*length)).sum();
        // From the last cause to the first, each by its share, so that no rounding error remains.
        let (end, mut done) = (self.now, 0_u128);
        for (cause, length) in parts.iter().rev() {
            done += u128::from(*length);
            let back = u128::from(span) * done / whole.max(1);
            self.go_back(end - back as u64, Some((stay.link, *cause)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::columns::NameColumn;

    struct Case {
        names: NameColumn,
        stays: Vec<Stay>,
    }

    /// Serialisation takes 10 on every link.
    impl Case {
        fn new() -> Case {
            let mut names = NameColumn::default();
            names.number("A");
            Case {
                names,
                stays: Vec::new(),
            }
        }

        fn stay(mut self, link: u32, start: u64, parts: &[(&str, &str, u64)]) -> Case {
            let parts: Vec<(Cause, u64)> = parts
                .iter()
                .map(|(reason, holder, length)| (self.cause(reason, holder), *length))
                .collect();
            self.stays.push(Stay {
                link,
                start,
                end: start + parts.iter().map(|(_, length)| length).sum::<u64>(),
                serialization: 10,
                parts,
            });
            self
        }

        fn cause(&mut self, reason: &str, holder: &str) -> Cause {
            Cause {
                reason: self.names.number(reason),
                holder: (!holder.is_empty()).then(|| self.names.number(holder)),
            }
        }

        /// A message of job A from 0 to `end`, pieces from the first to the last.
        fn shown(mut self, end: u64) -> Vec<String> {
            let own = self.names.number("A");
            let mut pieces = divide(0, end, &mut self.stays, own).pieces;
            pieces.reverse();
            let shown = |piece: &Piece| match piece.wait {
                None => format!("{}-{} transfer", piece.start, piece.end),
                Some((link, cause)) => {
                    let holder = cause.holder.map_or("none", |holder| self.names.text(holder));
                    let reason = self.names.text(cause.reason);
                    format!("{}-{} {reason} of {link}, {holder}", piece.start, piece.end)
                }
            };
            pieces.iter().map(shown).collect()
        }
    }

    #[test]
    fn what_nothing_disturbs_is_transfer() {
        assert_eq!(Case::new().shown(100), ["0-100 transfer"]);
        assert_eq!(Case::new().shown(0), [""; 0]);
    }

    #[test]
    fn a_packet_waits_at_one_link_after_the_other() {
        let case = Case::new().stay(3, 20, &[("wire", "B", 15)]).stay(
            5,
            60,
            &[("credits", "C", 5), ("wire", "B", 10)],
        );
        assert_eq!(
            case.shown(100),
            [
                "0-20 transfer",
                "20-35 wire of 3, B",
                "35-60 transfer",
                "60-65 credits of 5, C",
                "65-75 wire of 5, B",
                "75-100 transfer",
            ]
        );
    }

    /// Ten packets arrive at a rate of one in 10. The first finds another packet on the link for 10. The others wait
    /// as long, each for the previous one.
    #[test]
    fn one_disturbance_counts_once_for_a_message_of_many_packets() {
        let mut case = Case::new().stay(7, 20, &[("wire", "B", 10)]);
        for packet in 1..10 {
            case = case.stay(7, 20 + 10 * packet, &[("wire", "A", 10)]);
        }
        let own = case.names.number("A");
        let serialized = divide(0, 150, &mut case.stays.clone(), own).serialized;
        assert!(serialized.iter().all(|(link, _)| *link == 7), "{serialized:?}");
        let nine_packets: u64 = serialized.iter().map(|(_, ps)| ps).sum();
        assert_eq!(nine_packets, 90, "the link limits the message");
        // The last packet starts at 120, takes 10 on the link and 20 to the host.
        assert_eq!(
            case.shown(150),
            ["0-20 transfer", "20-30 wire of 7, B", "30-150 transfer"]
        );
    }

    /// Packets arrive at a rate of one in 10 and leave at one in 20: from 0 on, a packet of B precedes each.
    #[test]
    fn a_link_that_is_shared_is_half_transfer_and_half_wait() {
        let mut case = Case::new();
        for packet in 0..10 {
            let (start, end) = (10 * packet, 10 + 20 * packet);
            let of_b: u64 = (0..=packet)
                .map(|turn| (20 * turn + 10).max(start) - (20 * turn).max(start))
                .sum();
            let of_a = end - start - of_b;
            let parts = [("wire", "A", of_a), ("wire", "B", of_b)];
            case = case.stay(7, start, if of_a > 0 { &parts } else { &parts[1..] });
        }
        // Packet i starts at 10 + 20 i. The last starts at 190 and arrives at 200.
        let expected = (0..10).flat_map(|packet| {
            let start = 20 * packet;
            [
                format!("{start}-{} wire of 7, B", start + 10),
                format!("{}-{} transfer", start + 10, start + 20),
            ]
        });
        assert_eq!(case.shown(200), expected.collect::<Vec<_>>());
    }

    /// The cost is that of sorting, however many packets queue behind each other.
    #[test]
    fn messages_may_have_very_many_packets() {
        let mut case = Case::new();
        for packet in 0..200_000 {
            case = case.stay(7, packet, &[("wire", "A", 9 * packet + 1), ("wire", "B", 1)]);
        }
        let own = case.names.number("A");
        let pieces = divide(0, 3_000_000, &mut case.stays, own).pieces;
        assert_eq!(
            pieces.iter().map(|piece| piece.end - piece.start).sum::<u64>(),
            3_000_000
        );
    }

    #[test]
    fn waits_behind_other_messages_of_the_job_are_waits() {
        let case = Case::new().stay(7, 20, &[("wire", "A", 10), ("wire", "B", 10)]);
        assert_eq!(
            case.shown(60),
            [
                "0-20 transfer",
                "20-30 wire of 7, A",
                "30-40 wire of 7, B",
                "40-60 transfer"
            ]
        );
    }

    #[test]
    fn stays_beyond_the_span_are_cut() {
        let case = Case::new()
            .stay(1, 0, &[("nic", "", 30)])
            .stay(2, 90, &[("wire", "B", 30)]);
        assert_eq!(case.shown(100), ["0-30 nic of 1, none", "30-100 transfer"]);
    }

    proptest! {
        #[test]
        fn pieces_follow_each_other_without_gap(
            stays in prop::collection::vec((0..4_u32, 0..100_u64, 1..30_u64, any::<bool>(), 0..30_u64), 0..20),
            start in 0..50_u64,
            length in 0..100_u64,
        ) {
            let mut case = Case::new();
            for (link, at, first, own, second) in stays {
                let holder = if own { "A" } else { "B" };
                let parts = [("wire", holder, first), ("credits", "C", second)];
                case = case.stay(link, at, &parts[..if second > 0 { 2 } else { 1 }]);
            }
            let own = case.names.number("A");
            let Crossing { pieces, serialized } = divide(start, start + length, &mut case.stays, own);
            let transfer = pieces.iter().filter(|piece| piece.wait.is_none());
            let transfer: u64 = transfer.map(|piece| piece.end - piece.start).sum();
            prop_assert!(serialized.iter().map(|(_, ps)| ps).sum::<u64>() <= transfer);
            let mut now = start + length;
            for piece in &pieces {
                prop_assert_eq!(piece.end, now);
                prop_assert!(piece.start < piece.end);
                now = piece.start;
            }
            prop_assert_eq!(now, start);
        }
    }
}
