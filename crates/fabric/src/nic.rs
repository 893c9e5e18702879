//! The sending side of a NIC: messages in, packets out onto the injection link.

use std::collections::VecDeque;

use des::Time;
use topology::HostId;

use crate::link::{Carried, Held};
use crate::{LinkUse, Packet, Rate};

/// A message on its way into the network. `T` identifies it to the layer above.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<T> {
    /// Receiver.
    pub destination: HostId,
    /// Bytes on the wire, all packets together; at least 1.
    pub bytes: u64,
    /// Job.
    pub job: u16,
    /// Whether nobody waits for it as a whole (see [`Packet::alone`]).
    pub alone: bool,
    /// If given, comes back when the last byte has left.
    pub report: Option<T>,
}

#[derive(Clone, Debug)]
struct Queued<T> {
    message: Outgoing<T>,
    number: u32,
    born: Time,
    left: u64,
}

/// What a NIC makes happen.
pub trait NicOutputs<T> {
    /// The packet starts onto the injection link now; its tail leaves after `serialization`.
    fn depart(&mut self, packet: Packet, serialization: Time);
    /// [`Nic::wake`] is to be called after this span.
    fn wake(&mut self, after: Time);
    /// The last byte of a message leaves after this span.
    fn injected(&mut self, report: T, after: Time);
}

/// The sending side of one NIC with one injection link. Messages under way take turns packet by packet.
#[derive(Clone, Debug)]
pub struct Nic<T> {
    host: HostId,
    rate: Rate,
    packet_bytes: u32,
    warmup: Time,
    queue: VecDeque<Queued<T>>,
    /// Room in the router's input buffer, in bytes.
    credits: u32,
    busy_until: Time,
    wake_pending: bool,
    blocked_since: Option<Time>,
    next_message: u32,
    carried: Carried,
    held: Held,
}

impl<T: Copy> Nic<T> {
    /// An idle NIC that may send `credits` bytes before the router returns any.
    pub fn new(host: HostId, rate: Rate, packet_bytes: u32, credits: u32, warmup: Time) -> Self {
        Nic {
            host,
            rate,
            packet_bytes,
            warmup,
            queue: VecDeque::new(),
            credits,
            busy_until: Time::ZERO,
            wake_pending: false,
            blocked_since: None,
            next_message: 0,
            carried: Carried::default(),
            held: Held::default(),
        }
    }

    /// Takes a message; returns its number, which its packets carry.
    pub fn send(&mut self, now: Time, message: Outgoing<T>, out: &mut impl NicOutputs<T>) -> u32 {
        let number = self.next_message;
        self.next_message = number.wrapping_add(1);
        self.queue.push_back(Queued {
            message,
            number,
            born: now,
            left: message.bytes,
        });
        self.serve(now, out);
        number
    }

    /// The injection link is free again.
    pub fn wake(&mut self, now: Time, out: &mut impl NicOutputs<T>) {
        self.wake_pending = false;
        self.serve(now, out);
    }

    /// The router has room for so many bytes more.
    pub fn credit(&mut self, now: Time, bytes: u32, out: &mut impl NicOutputs<T>) {
        self.credits += bytes;
        self.serve(now, out);
    }

    fn serve(&mut self, now: Time, out: &mut impl NicOutputs<T>) {
        if self.wake_pending || self.queue.is_empty() {
            return;
        }
        if self.busy_until > now {
            self.wake_pending = true;
            out.wake(self.busy_until - now);
            return;
        }
        let front = self.queue.front_mut().expect("not empty");
        let bytes = front.left.min(u64::from(self.packet_bytes)) as u32;
        if self.credits < bytes {
            self.blocked_since.get_or_insert(now);
            return;
        }
        if let Some(since) = self.blocked_since.take() {
            self.held.unblock(since, now, self.warmup);
        }
        let serialization = self.rate.serialization(bytes);
        self.credits -= bytes;
        self.busy_until = now + serialization;
        self.carried
            .depart(now, serialization, bytes, self.warmup, &mut self.held);

        let mut packet = Packet::new(
            self.host,
            front.message.destination,
            front.number,
            bytes,
            front.born,
            front.message.job,
        );
        packet.alone = front.message.alone;
        packet.hops = 1;
        front.left -= u64::from(bytes);
        let queued = self.queue.pop_front().expect("not empty");
        if queued.left > 0 {
            self.queue.push_back(queued);
        } else if let Some(report) = queued.message.report {
            out.injected(report, serialization);
        }
        out.depart(packet, serialization);
        if !self.queue.is_empty() {
            self.wake_pending = true;
            out.wake(serialization);
        }
    }

    /// Bytes that wait to be sent.
    pub fn backlog(&self) -> u64 {
        self.queue.iter().map(|q| q.left).sum()
    }

    /// Credits left, in bytes.
    pub fn credits(&self) -> u32 {
        self.credits
    }

    /// Use of the injection link up to `end`.
    pub fn used(&self, end: Time) -> LinkUse {
        let mut held = self.held;
        if let Some(since) = self.blocked_since {
            held.unblock(since, end, self.warmup);
        }
        LinkUse::new(self.carried, held, end, self.busy_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Out {
        departed: Vec<(u32, u32)>,
        wake: Option<Time>,
        injected: Vec<(char, Time)>,
    }

    impl NicOutputs<char> for Out {
        fn depart(&mut self, packet: Packet, _: Time) {
            self.departed.push((packet.message, packet.bytes));
        }
        fn wake(&mut self, after: Time) {
            assert!(self.wake.replace(after).is_none(), "one wake-up at a time");
        }
        fn injected(&mut self, report: char, after: Time) {
            self.injected.push((report, after));
        }
    }

    fn message(bytes: u64, report: char) -> Outgoing<char> {
        Outgoing {
            destination: HostId(9),
            bytes,
            job: 0,
            alone: false,
            report: Some(report),
        }
    }

    /// 8 Gbps: 1000 ps per byte.
    fn nic(credits: u32) -> Nic<char> {
        Nic::new(
            HostId(0),
            Rate::bits_per_s(8_000_000_000),
            100,
            credits,
            Time::ZERO,
        )
    }

    #[test]
    fn messages_take_turns_and_report_their_end() {
        let (mut nic, mut out) = (nic(10_000), Out::default());
        nic.send(Time(0), message(250, 'a'), &mut out);
        nic.send(Time(0), message(120, 'b'), &mut out);
        let mut now = Time(0);
        while let Some(after) = out.wake.take() {
            now += after;
            nic.wake(now, &mut out);
        }
        assert_eq!(out.departed, [(0, 100), (0, 100), (1, 100), (0, 50), (1, 20)]);
        assert_eq!(out.injected, [('a', Time(50_000)), ('b', Time(20_000))]);
        assert_eq!(nic.used(Time(370_000)).busy, Time(370_000));
        assert_eq!(nic.used(Time(360_000)).busy, Time(360_000), "clipped at the end");
    }

    #[test]
    fn without_credit_nothing_leaves_and_the_wait_is_counted() {
        let (mut nic, mut out) = (nic(150), Out::default());
        nic.send(Time(0), message(200, 'a'), &mut out);
        let after = out.wake.take().unwrap();
        nic.wake(after, &mut out);
        assert_eq!((out.departed.len(), nic.credits(), nic.backlog()), (1, 50, 100));
        nic.credit(Time(130_000), 100, &mut out);
        assert_eq!((out.departed.len(), nic.credits(), nic.backlog()), (2, 50, 0));
        assert_eq!(nic.used(Time(500_000)).buffer_full, Time(30_000));
    }
}
