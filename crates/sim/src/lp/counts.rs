//! What a host counts of each job.

use des::{Journal, Time};
use fabric::Packet;
use results::Histogram;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// What one job has sent and received at one host.
///
/// In the order of what sending a packet touches, and then receiving one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[repr(C)]
pub struct JobCounts {
    /// The job.
    pub job: u16,
    /// Messages handed to the NIC (or to memory).
    pub messages: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Bytes handed to the NIC in the measured part.
    pub offered_bytes: u64,
    /// Packets begun.
    pub packets_injected: u64,
    /// Whole messages that came for its ranks.
    pub messages_received: u64,
    /// Bytes of those.
    pub message_bytes_received: u64,
    /// Packets received.
    pub packets_delivered: u64,
    /// Bytes of those.
    pub bytes_delivered: u64,
    /// Bytes received in the measured part.
    pub accepted_bytes: u64,
    /// From the message being handed to the NIC to the packet's tail at the receiver, in ps, of packets
    /// whose message was handed over in the measured part.
    pub latency: Histogram,
    /// Links crossed by the same packets.
    pub hops: Histogram,
}

/// Those of all jobs that a host has to do with: mostly one, which lies in the host itself.
pub type AllCounts = SmallVec<[JobCounts; 1]>;

/// One step back of a host's counts.
#[derive(Clone, Copy, Debug)]
pub enum CountsUndo {
    /// A job was met for the first time.
    Opened,
    /// A message was handed over.
    Message {
        /// Job.
        job: u16,
        /// Whether in the measured part, to the NIC.
        offered: bool,
        /// Its size.
        bytes: u64,
    },
    /// A whole message came.
    Received {
        /// Job.
        job: u16,
        /// Its size.
        bytes: u64,
    },
    /// A packet was begun.
    Injected {
        /// Job.
        job: u16,
    },
    /// A packet was received.
    Delivered {
        /// Job.
        job: u16,
        /// Whether in the measured part.
        accepted: bool,
        /// Its size.
        bytes: u32,
    },
    /// Its latency was recorded.
    Latency {
        /// Job.
        job: u16,
        /// Latency in ps.
        ps: u64,
        /// The greatest before.
        max: u64,
    },
    /// The links that it crossed were recorded.
    Hops {
        /// Job.
        job: u16,
        /// How many.
        hops: u8,
        /// The most before.
        max: u8,
    },
}

const _: () = assert!(size_of::<CountsUndo>() <= 24);

/// The counts of a job, new ones if it has none yet: a host has to do with few jobs, which are looked for from
/// the front.
#[inline]
pub fn counts_of<'a, J: Journal<CountsUndo>>(
    counts: &'a mut AllCounts,
    job: u16,
    journal: &mut J,
) -> &'a mut JobCounts {
    // Asked for at first, since the others need a search.
    let index = match counts.first() {
        Some(first) if first.job == job => 0,
        _ => position(counts, job, journal),
    };
    &mut counts[index]
}

#[inline(never)]
fn position<J: Journal<CountsUndo>>(counts: &mut AllCounts, job: u16, journal: &mut J) -> usize {
    counts.iter().position(|c| c.job == job).unwrap_or_else(|| {
        counts.push(JobCounts {
            job,
            ..JobCounts::default()
        });
        journal.note(|| CountsUndo::Opened);
        counts.len() - 1
    })
}

/// The counts of one job among these.
pub fn of_job(counts: &AllCounts, job: usize) -> Option<&JobCounts> {
    counts.iter().find(|counts| usize::from(counts.job) == job)
}

/// A journal where nothing is ever taken back.
pub struct Unkept;

impl Journal<CountsUndo> for Unkept {
    const KEPT: bool = false;

    #[inline]
    fn keep(&mut self, _: CountsUndo) {}
}

impl JobCounts {
    /// A message is handed over; `offered`: in the measured part, to the NIC.
    #[inline]
    pub fn message<J: Journal<CountsUndo>>(&mut self, bytes: u64, offered: bool, journal: &mut J) {
        self.messages += 1;
        self.bytes += bytes;
        if offered {
            self.offered_bytes += bytes;
        }
        let job = self.job;
        journal.note(|| CountsUndo::Message { job, offered, bytes });
    }

    /// A whole message has come.
    #[inline]
    pub fn received<J: Journal<CountsUndo>>(&mut self, bytes: u64, journal: &mut J) {
        self.messages_received += 1;
        self.message_bytes_received += bytes;
        let job = self.job;
        journal.note(|| CountsUndo::Received { job, bytes });
    }

    /// A packet is begun.
    #[inline]
    pub fn injected<J: Journal<CountsUndo>>(&mut self, journal: &mut J) {
        self.packets_injected += 1;
        journal.note(|| CountsUndo::Injected { job: self.job });
    }

    /// Asks for the memory that taking in this packet will touch.
    #[inline]
    pub fn prefetch_for(&self, now: Time, packet: &Packet) {
        if let Some(bucket) = self.latency.bucket((now - packet.created_at()).ps()) {
            des::prefetch(bucket);
        }
        if let Some(bucket) = self.hops.bucket(packet.hops.into()) {
            des::prefetch(bucket);
        }
    }

    /// A packet's tail has come; measuring begins at `warmup`.
    #[inline]
    pub fn delivered<J: Journal<CountsUndo>>(
        &mut self,
        now: Time,
        packet: &Packet,
        warmup: Time,
        journal: &mut J,
    ) {
        let (job, bytes) = (self.job, packet.bytes);
        let accepted = now >= warmup;
        self.packets_delivered += 1;
        self.bytes_delivered += u64::from(bytes);
        if accepted {
            self.accepted_bytes += u64::from(bytes);
        }
        journal.note(|| CountsUndo::Delivered { job, accepted, bytes });
        if packet.created_at() >= warmup {
            let ps = (now - packet.created_at()).ps();
            let max = self.latency.record(ps);
            let most = self.hops.record(u64::from(packet.hops));
            journal.note(|| CountsUndo::Latency { job, ps, max });
            let (hops, max) = (packet.hops, most as u8);
            journal.note(|| CountsUndo::Hops { job, hops, max });
        }
    }
}

impl CountsUndo {
    /// Takes this step back.
    pub fn undo(self, counts: &mut AllCounts) {
        let job = match self {
            CountsUndo::Opened => return drop(counts.pop()),
            CountsUndo::Message { job, .. }
            | CountsUndo::Received { job, .. }
            | CountsUndo::Injected { job }
            | CountsUndo::Delivered { job, .. }
            | CountsUndo::Latency { job, .. }
            | CountsUndo::Hops { job, .. } => job,
        };
        let Some(of) = counts.iter_mut().find(|c| c.job == job) else {
            unreachable!("the step that opened the job's counts is older")
        };
        match self {
            CountsUndo::Opened => {}
            CountsUndo::Message { offered, bytes, .. } => {
                of.messages -= 1;
                of.bytes -= bytes;
                if offered {
                    of.offered_bytes -= bytes;
                }
            }
            CountsUndo::Received { bytes, .. } => {
                of.messages_received -= 1;
                of.message_bytes_received -= bytes;
            }
            CountsUndo::Injected { .. } => of.packets_injected -= 1,
            CountsUndo::Delivered { accepted, bytes, .. } => {
                of.packets_delivered -= 1;
                of.bytes_delivered -= u64::from(bytes);
                if accepted {
                    of.accepted_bytes -= u64::from(bytes);
                }
            }
            CountsUndo::Latency { ps, max, .. } => of.latency.forget(ps, max),
            CountsUndo::Hops { hops, max, .. } => of.hops.forget(u64::from(hops), u64::from(max)),
        }
    }
}
