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

use std::collections::VecDeque;

use super::pair_windows::{Acknowledgement, MARKED};
use super::*;
use crate::PacketFate;

fn destinations<T>(queue: &VecDeque<Queued<T>>) -> impl Iterator<Item = HostId> {
    queue.iter().map(|message| message.destination)
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
        let mut place = pairs.first_open(destinations(&self.queue));
        if place.is_none() {
            let mut waiting = sources.queues.iter().enumerate();
            let next = waiting
                .find_map(|(at, source)| Some((at, pairs.first_open(destinations(&source.messages))?)));
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
