//! Congestion control by pairs of end points: a port limits its unacknowledged bytes to each destination by a window.
//!
//! A port acknowledges each packet that arrives, with a packet of the size of a header. A packet that has waited long
//! at the last hop is marked, and so is its acknowledgement. An acknowledgement without a mark widens the window by one
//! packet for each window of bytes; a marked one halves it, at most once for each window of bytes. So senders to a
//! congested last hop become slow, and other pairs of the same hosts do not.
//!
//! Acknowledgements leave before packets of messages. A message whose window is closed keeps its place among the
//! others, which go on.
//!
//! Source: D. De Sensi et al., "An in-depth analysis of the Slingshot interconnect", SC 2020, section II. It says that
//! each pair is controlled, by acknowledgements, and slowed where it contributes to congestion of a last hop. How fast
//! windows change is not public: that is additive increase and multiplicative decrease (D. Chiu and R. Jain, Computer
//! Networks and ISDN Systems 17, 1989).

use std::collections::BTreeMap;

use config::{Bytes, Duration, Error};

use super::*;
use crate::PacketFate;

/// Values of `congestion_control`, the default first.
pub const CONGESTION_CONTROLS: &[&str] = &["none", "pairs"];

/// Keys that only `congestion_control = "pairs"` reads.
const OF_PAIRS: [&str; 2] = ["pair_window", "congestion_threshold"];

/// The window of a pair unless the key is given: 10 us at 200 Gbps, longer than a round trip in a large network.
const DEFAULT_WINDOW: Bytes = Bytes { bytes: 256 << 10 };

/// The threshold unless the key is given: six packets of 4 KiB at 200 Gbps.
const DEFAULT_THRESHOLD: Duration = Duration { ps: 1_000_000 };

/// Largest window in bytes.
const MOST_WINDOW: u64 = 1 << 30;

/// Longest threshold.
const LONGEST_THRESHOLD: Time = Time(1_000_000_000_000);

/// The bit of [`Packet::sequence`] that an acknowledgement has for a marked packet. Routers may mark the
/// acknowledgement itself, which says nothing about that packet.
const MARKED: u16 = 1 << 15;

/// The parameters of the congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairControl {
    /// Largest window of a pair in bytes. A window is no smaller than the payload of one packet.
    pub window: u32,
    /// Wait at a last hop beyond which a packet is marked.
    pub threshold: Time,
}

impl PairControl {
    /// Reads the parameters; `None` without congestion control.
    pub fn read(section: &Section) -> Result<Option<PairControl>, Error> {
        if section.choice("congestion_control")? == CONGESTION_CONTROLS[0] {
            if let Some(key) = OF_PAIRS.into_iter().find(|key| section.has(key)) {
                let message = "has no effect without congestion control; expected congestion_control = \"pairs\" \
                               beside it, or no such key";
                return Err(section.error(key, message));
            }
            return Ok(None);
        }
        let window = section.or(OF_PAIRS[0], DEFAULT_WINDOW)?;
        if !(1..=MOST_WINDOW).contains(&window.bytes) {
            let message = format!("{window} is out of range; expected 1 B to 1 GiB");
            return Err(section.error(OF_PAIRS[0], message));
        }
        let threshold = section.or(OF_PAIRS[1], DEFAULT_THRESHOLD)?;
        if threshold.ps > LONGEST_THRESHOLD.ps() {
            let message = format!("{threshold} is out of range; expected at most 1 s");
            return Err(section.error(OF_PAIRS[1], message));
        }
        Ok(Some(PairControl {
            window: window.bytes as u32,
            threshold: Time(threshold.ps),
        }))
    }
}

/// One destination of a port. Without an entry nothing is unacknowledged, and the window is the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Payload that has left and is not acknowledged, in bytes.
    outstanding: u32,
    window: u32,
    /// Bytes to be acknowledged before the window may be halved again.
    cut_left: u32,
}

/// The acknowledgement of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// The end point that sent the packet.
    to: HostId,
    /// Payload of the packet in bytes.
    bytes: u32,
    /// Job of the packet.
    job: u16,
    /// Whether the packet was marked.
    marked: bool,
}

/// The windows of a port, and acknowledgements that it has to send.
#[derive(Clone, Debug)]
pub struct PairWindows {
    /// Payload of the largest packet, the smallest window.
    least: u32,
    /// The largest window.
    most: u32,
    of: BTreeMap<HostId, Pair>,
    pub acknowledgements: VecDeque<Acknowledgement>,
}

/// The mutable state of [`PairWindows`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairWindowsState {
    of: BTreeMap<HostId, Pair>,
    pub acknowledgements: VecDeque<Acknowledgement>,
}

impl PairWindows {
    pub fn new(control: PairControl, payload: u32) -> PairWindows {
        PairWindows {
            least: payload,
            most: control.window.max(payload),
            of: BTreeMap::new(),
            acknowledgements: VecDeque::new(),
        }
    }

    /// Whether a packet to this end point may leave: fewer bytes than the window are unacknowledged. This holds for
    /// packets of any size, so that messages of one pair keep their order.
    fn is_open(&self, to: HostId) -> bool {
        self.of.get(&to).is_none_or(|pair| pair.outstanding < pair.window)
    }

    /// The place of the first message whose window is open.
    fn first_open<T>(&self, queue: &VecDeque<Queued<T>>) -> Option<usize> {
        let mut closed = None;
        queue.iter().position(|message| {
            // Neighbours in the queue often go to the same place.
            let is_open = closed != Some(message.destination) && self.is_open(message.destination);
            if !is_open {
                closed = Some(message.destination);
            }
            is_open
        })
    }

    /// Changes the entry of an end point. Returns the one before.
    fn change(&mut self, to: HostId, change: impl FnOnce(&mut Pair)) -> Option<Pair> {
        let before = self.of.get(&to).copied();
        let mut pair = before.unwrap_or(Pair {
            outstanding: 0,
            window: self.most,
            cut_left: 0,
        });
        change(&mut pair);
        let is_new = (pair.outstanding, pair.cut_left) == (0, 0) && pair.window == self.most;
        self.set(to, Some(pair).filter(|_| !is_new));
        before
    }

    /// Sets the entry of an end point.
    pub fn set(&mut self, to: HostId, pair: Option<Pair>) {
        match pair {
            Some(pair) => self.of.insert(to, pair),
            None => self.of.remove(&to),
        };
    }

    /// A packet with this payload leaves. Returns the entry before.
    fn sent(&mut self, to: HostId, bytes: u32) -> Option<Pair> {
        self.change(to, |pair| {
            pair.outstanding = pair.outstanding.saturating_add(bytes)
        })
    }

    /// A packet with this payload is acknowledged. Returns the entry before.
    fn acknowledged(&mut self, from: HostId, bytes: u32, marked: bool) -> Option<Pair> {
        let (least, most) = (self.least, self.most);
        self.change(from, |pair| {
            let outstanding = pair.outstanding;
            pair.outstanding = outstanding.saturating_sub(bytes);
            if !marked {
                let wider = u64::from(least) * u64::from(bytes) / u64::from(pair.window);
                pair.window = (u64::from(pair.window) + wider).min(most.into()) as u32;
            } else if pair.cut_left == 0 {
                // A window that was not used says nothing: what is halved is what was under way.
                pair.window = (pair.window.min(outstanding) / 2).max(least);
                pair.cut_left = outstanding;
            }
            pair.cut_left = pair.cut_left.saturating_sub(bytes);
        })
    }

    pub fn state(&self) -> PairWindowsState {
        PairWindowsState {
            of: self.of.clone(),
            acknowledgements: self.acknowledgements.clone(),
        }
    }

    /// Whether a saved state has windows that these parameters allow.
    pub fn allow(&self, state: &PairWindowsState) -> bool {
        let windows = self.least..=self.most;
        state.of.values().all(|pair| windows.contains(&pair.window))
    }

    pub fn restore(&mut self, state: PairWindowsState) {
        (self.of, self.acknowledgements) = (state.of, state.acknowledgements);
    }
}

impl<T: NicReport> QueuedNic<T> {
    /// The windows; `None` without congestion control.
    #[inline]
    pub(super) fn pairs(&self) -> Option<&PairWindows> {
        self.others.as_ref()?.pairs.as_deref()
    }

    #[inline]
    pub(super) fn pairs_mut(&mut self) -> Option<&mut PairWindows> {
        self.others.as_mut()?.pairs.as_deref_mut()
    }

    /// Sends an acknowledgement, or brings a message to the front that has an open window. Returns whether there is
    /// such a message.
    pub(super) fn choose_by_windows<O: NicOutputs<Self>>(&mut self, now: Time, out: &mut O) -> bool {
        let first = self.pairs().and_then(|pairs| pairs.acknowledgements.front());
        let lacks_credits = match first.copied() {
            Some(first) if self.acknowledge(now, first, out) => return false,
            first => first.is_some(),
        };
        if self.bring_forward(out) {
            return true;
        }
        match lacks_credits {
            true => self.block(now, out),
            false => self.unblock(now, out),
        }
        false
    }

    /// Sends the first acknowledgement, if the router has space for it.
    fn acknowledge<O: NicOutputs<Self>>(
        &mut self,
        now: Time,
        acknowledgement: Acknowledgement,
        out: &mut O,
    ) -> bool {
        let bytes = self.format.header.max(1);
        if self.credits < bytes {
            return false;
        }
        if let Some(pairs) = self.pairs_mut() {
            pairs.acknowledgements.pop_front();
        }
        out.note(|| QueuedNicUndo::Acknowledged(acknowledgement));
        out.note(|| QueuedNicUndo::LinkReserved {
            bytes,
            busy_until: self.busy_until,
            blocked_since: self.blocked_since(),
        });
        self.end_stall(now, out);
        let serialization = self.reserve_link(now, bytes);
        let Acknowledgement { to, marked, job, .. } = acknowledgement;
        let mut packet = Packet::new(self.end_point, to, acknowledgement.bytes, bytes, now, job);
        packet.hops = 1;
        packet.set_control();
        packet.sequence = if marked { MARKED } else { 0 };
        out.depart_control(0, packet, Time::ZERO, serialization);
        if self.has_packets() {
            self.set_timer(serialization, out);
        }
        true
    }

    /// Brings the first message with an open window to the front: of the source whose turn it is, or of the next one.
    fn bring_forward<O: NicOutputs<Self>>(&mut self, out: &mut O) -> bool {
        let Some(Others {
            sources,
            pairs: Some(pairs),
            ..
        }) = self.others.as_deref_mut()
        else {
            return !self.queue.is_empty();
        };
        let mut place = pairs.first_open(&self.queue);
        if place.is_none() {
            let mut waiting = sources.queues.iter().enumerate();
            let next = waiting.find_map(|(at, source)| Some((at, pairs.first_open(&source.messages)?)));
            let Some((at, of_source)) = next else {
                return false;
            };
            let mut sending = Sending {
                of_job: &mut self.source,
                messages: &mut self.queue,
            };
            if let Some(step) = sources.skip_to(&mut sending, at) {
                out.note(|| QueuedNicUndo::Turn(step));
            }
            place = Some(of_source);
        }
        if let Some(from @ 1..) = place
            && let Some(message) = self.queue.remove(from)
        {
            self.queue.push_front(message);
            out.note(|| QueuedNicUndo::MovedForward { from: from as u32 });
        }
        true
    }

    /// Undoes [`QueuedNicUndo::MovedForward`].
    pub(super) fn undo_forward(&mut self, from: u32) {
        if let Some(message) = self.queue.pop_front() {
            self.queue.insert(from as usize, message);
        }
    }

    /// No packet lacks credits any more, as all windows are closed.
    fn unblock<O: NicOutputs<Self>>(&mut self, now: Time, out: &mut O) {
        if let Some(since) = self.blocked_since() {
            out.note(|| QueuedNicUndo::Unblocked { since, until: now });
            self.end_stall(now, out);
        }
    }

    /// Undoes [`QueuedNicUndo::Unblocked`].
    pub(super) fn undo_unblock(&mut self, since: Time, until: Time) {
        self.stalls.undo_unblock(since, until, self.measured);
        self.blocked_since = since;
    }

    /// A packet of a message, with this payload, has left.
    pub(super) fn count_sent<O: NicOutputs<Self>>(&mut self, to: HostId, bytes: u32, out: &mut O) {
        if let Some(pairs) = self.pairs_mut() {
            let before = pairs.sent(to, bytes);
            out.note(|| QueuedNicUndo::PairChanged { to, before });
        }
    }

    /// A packet has arrived in a network with congestion control. Returns whether it is one of a message.
    pub(super) fn receive<O: NicOutputs<Self>>(&mut self, now: Time, packet: &Packet, out: &mut O) -> bool {
        let header = self.format.header;
        let Some(pairs) = self.pairs_mut() else {
            return true;
        };
        if packet.is_control() {
            let marked = packet.sequence & MARKED != 0;
            let before = pairs.acknowledged(packet.source, packet.message, marked);
            let to = packet.source;
            out.note(|| QueuedNicUndo::PairChanged { to, before });
            out.fate(packet, PacketFate::Consumed);
        } else {
            pairs.acknowledgements.push_back(Acknowledgement {
                to: packet.source,
                bytes: packet.bytes.saturating_sub(header),
                job: packet.job,
                marked: packet.mark() != 0,
            });
            out.note(|| QueuedNicUndo::AcknowledgementQueued);
        }
        self.serve(now, out);
        !packet.is_control()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO: HostId = HostId(7);

    fn pairs() -> PairWindows {
        let control = PairControl {
            window: 1000,
            threshold: Time::ZERO,
        };
        PairWindows::new(control, 100)
    }

    fn window(pairs: &PairWindows) -> u32 {
        pairs.of.get(&TO).map_or(pairs.most, |pair| pair.window)
    }

    #[test]
    fn a_window_closes_when_it_is_full_and_nothing_is_kept_of_an_idle_pair() {
        let mut pairs = pairs();
        for _ in 0..10 {
            assert!(pairs.is_open(TO));
            pairs.sent(TO, 100);
        }
        assert!(!pairs.is_open(TO));
        assert!(pairs.is_open(HostId(8)), "another pair");
        for _ in 0..10 {
            pairs.acknowledged(TO, 100, false);
            assert!(pairs.is_open(TO));
        }
        assert!(pairs.of.is_empty());
    }

    #[test]
    fn marks_halve_a_window_once_for_each_window_of_bytes() {
        let mut pairs = pairs();
        for _ in 0..10 {
            pairs.sent(TO, 100);
        }
        let mut windows = Vec::new();
        for _ in 0..10 {
            pairs.acknowledged(TO, 100, true);
            windows.push(window(&pairs));
        }
        assert_eq!(windows, [500; 10]);
        // What was under way is halved: 200 of 500 bytes. No window is smaller than one packet.
        for expected in [100, 100] {
            pairs.sent(TO, 100);
            pairs.sent(TO, 100);
            pairs.acknowledged(TO, 100, true);
            pairs.acknowledged(TO, 100, true);
            assert_eq!(window(&pairs), expected);
        }
    }

    /// Additive increase: one packet for each window of acknowledged bytes, so 100, 200, 300 ... after 1, 2, 3 ...
    /// packets more.
    #[test]
    fn a_window_widens_by_one_packet_for_each_window() {
        let mut pairs = pairs();
        pairs.sent(TO, 100);
        pairs.acknowledged(TO, 100, true);
        assert_eq!(window(&pairs), 100);
        let mut acknowledged = 0;
        for packets in 1..9 {
            for _ in 0..packets {
                pairs.sent(TO, 100);
                pairs.acknowledged(TO, 100, false);
                acknowledged += 1;
            }
            let expected = 100 * (packets + 1);
            assert!(
                window(&pairs).abs_diff(expected) <= expected / 8,
                "{acknowledged}"
            );
        }
        for _ in 0..30 {
            pairs.acknowledged(TO, 100, false);
        }
        assert!(pairs.of.is_empty(), "as wide as at first");
    }
}
