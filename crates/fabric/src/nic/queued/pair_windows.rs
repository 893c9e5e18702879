//! The windows of a port by destination, and their parameters: see `pairs`.

use std::collections::{BTreeMap, VecDeque};

use config::{Bytes, Duration, Error, Section};
use des::Time;
use serde::{Deserialize, Serialize};
use topology::HostId;

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
pub const MARKED: u16 = 1 << 15;

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
    pub to: HostId,
    /// Payload of the packet in bytes.
    pub bytes: u32,
    /// Job of the packet.
    pub job: u16,
    /// Whether the packet was marked.
    pub marked: bool,
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
    pub fn is_open(&self, to: HostId) -> bool {
        self.of.get(&to).is_none_or(|pair| pair.outstanding < pair.window)
    }

    /// The place of the first of these destinations whose window is open.
    pub fn first_open(&self, destinations: impl Iterator<Item = HostId>) -> Option<usize> {
        let mut closed = None;
        let mut destinations = destinations;
        destinations.position(|to| {
            // Neighbours in a queue often go to the same place.
            let is_open = closed != Some(to) && self.is_open(to);
            if !is_open {
                closed = Some(to);
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
    pub fn sent(&mut self, to: HostId, bytes: u32) -> Option<Pair> {
        self.change(to, |pair| {
            pair.outstanding = pair.outstanding.saturating_add(bytes)
        })
    }

    /// A packet with this payload is acknowledged. Returns the entry before.
    pub fn acknowledged(&mut self, from: HostId, bytes: u32, marked: bool) -> Option<Pair> {
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
