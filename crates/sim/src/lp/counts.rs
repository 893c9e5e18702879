//! Counts of each job at a host.

use des::{Journal, Time};
use fabric::{Measured, Packet};
use results::Histogram;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// What one job has sent and received at one host.
///
/// The fields are in the order in which sending, then receiving a packet touches them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[repr(C)]
pub struct JobCounts {
    /// The job.
    pub job: u16,
    /// Messages handed to the NIC or to memory.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Bytes handed to the NIC in the measured part of the run.
    pub offered_bytes: u64,
    /// Packets that started to leave.
    pub packets_injected: u64,
    /// Time of the messages of ranks from their handover to the start of their last packet, in ps.
    pub injection_ps: u64,
    /// Serialisation of all packets of these messages but the last ones, in ps.
    pub injection_own_ps: u64,
    /// Messages that arrived completely for its ranks.
    pub messages_received: u64,
    /// Bytes of these messages.
    pub message_bytes_received: u64,
    /// Time that these messages spent in queues, in ps.
    pub queueing_ps: u64,
    /// Packets received.
    pub packets_delivered: u64,
    /// Bytes of these packets, without their headers.
    pub bytes_delivered: u64,
    /// Bytes received in the measured part of the run, without headers of packets.
    pub accepted_bytes: u64,
    /// Growth of the backlog in the measured part: bytes offered minus bytes received, by [`octave`]. Sums over all
    /// hosts are meaningful, since one host offers what another receives.
    pub growth: [i64; OCTAVES],
    /// Time from the handover of the message to the NIC to the arrival of the packet's tail, in ps, for packets of
    /// messages handed over in the measured part of the run.
    pub latency: Histogram,
    /// Links crossed by the same packets.
    pub hops: Histogram,
    /// Bytes of the same packets, without their headers.
    pub measured_bytes: u64,
    /// The latency in two parts, if it is collected. `None` until a packet that carries its wait is counted. Boxed,
    /// since most runs have none, and here, where alignment leaves space for it.
    pub parts: Option<Box<HostLatencyParts>>,
    /// Time from the handover of the message to the start of the packet onto the injection link, in ps, for the packets
    /// that leave here of messages handed over in the measured part. Counted only in runs with a drain phase, at whose
    /// end these are the packets whose latency is known.
    pub source_wait: Histogram,
}

/// The latency of the measured packets that arrived, in two parts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HostLatencyParts {
    /// Time from the start onto the injection link to the arrival of the tail, in ps.
    pub network_latency: Histogram,
    /// Time from the handover of the message to that start, in ps.
    pub source_wait: Histogram,
}

/// Number of octaves whose growth of the backlog is counted apart. An older octave shares its counter with one that is
/// sixteen times as long.
pub const OCTAVES: usize = 4;

/// The octave of a time since the warm-up: octave *k* is from 2^*k* to 2^(*k*+1) ps. It is the index of its counter.
///
/// Octaves divide a run into parts of similar length on a logarithmic scale, although its end may be unknown.
#[inline]
pub fn octave(since_warmup: Time) -> usize {
    (since_warmup.ps() | 1).ilog2() as usize % OCTAVES
}

/// Counts of all jobs of a host: mostly one, stored inside the host.
pub type AllCounts = SmallVec<[JobCounts; 1]>;

/// One undo step of a host's counts.
#[derive(Clone, Copy, Debug)]
pub enum CountsUndo {
    /// Counts of a job were added.
    Opened,
    /// A message was handed over.
    Message {
        /// Job.
        job: u16,
        /// The octave in which it was handed to the NIC, if that was measured.
        offered: Option<u8>,
        /// Its size.
        bytes: u64,
    },
    /// A message arrived completely.
    Received {
        /// Job.
        job: u16,
        /// Its size.
        bytes: u64,
        /// Its time in queues, in ps.
        queueing: u64,
    },
    /// A packet started to leave.
    Injected {
        /// Job.
        job: u16,
    },
    /// It was a packet of a rank.
    MessageInjected {
        /// Job.
        job: u16,
        /// Whether it was the last packet of its message.
        last: bool,
        /// Time of the message until then, or its own serialisation, in ps.
        ps: u64,
    },
    /// A packet was received.
    Delivered {
        /// Job.
        job: u16,
        /// The octave, if it was in the measured part.
        accepted: Option<u8>,
        /// Its payload.
        bytes: u32,
    },
    /// The wait of a packet at its source was recorded.
    SourceWait {
        /// Job.
        job: u16,
        /// The wait in ps.
        ps: u64,
        /// The maximum before.
        max: u64,
    },
    /// Its latency was recorded.
    Latency {
        /// Job.
        job: u16,
        /// Its payload.
        bytes: u32,
        /// Latency in ps.
        ps: u64,
        /// The maximum before.
        max: u64,
    },
    /// Its latency in the network was recorded.
    NetworkLatency {
        /// Job.
        job: u16,
        /// Latency in the network in ps.
        ps: u64,
        /// The maximum before.
        max: u64,
    },
    /// Its wait at the source was recorded where it arrived, before its latency in the network.
    ArrivedWait {
        /// Job.
        job: u16,
        /// The wait in ps.
        ps: u64,
        /// The maximum before.
        max: u64,
    },
    /// The number of its links was recorded.
    Hops {
        /// Job.
        job: u16,
        /// Number of links.
        hops: u8,
        /// The maximum before.
        max: u8,
    },
}

const _: () = assert!(size_of::<CountsUndo>() <= 24);

/// The counts of a job; new ones if it has none. A host has few jobs, so the search is linear.
#[inline]
pub fn counts_of<'a, J: Journal<CountsUndo>>(
    counts: &'a mut AllCounts,
    job: u16,
    journal: &mut J,
) -> &'a mut JobCounts {
    // The first entry is checked separately, since the others need a search.
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

/// The counts of one job.
pub fn of_job(counts: &AllCounts, job: usize) -> Option<&JobCounts> {
    counts.iter().find(|counts| usize::from(counts.job) == job)
}

impl JobCounts {
    /// Counts a message at its handover. `offered`: the time since the warm-up, if its handover to the NIC
    /// is measured.
    #[inline]
    pub fn message<J: Journal<CountsUndo>>(&mut self, bytes: u64, offered: Option<Time>, journal: &mut J) {
        self.messages += 1;
        self.bytes += bytes;
        let offered = offered.map(|since_warmup| octave(since_warmup) as u8);
        if let Some(octave) = offered {
            self.offered_bytes += bytes;
            self.growth[usize::from(octave)] += bytes as i64;
        }
        let job = self.job;
        journal.note(|| CountsUndo::Message { job, offered, bytes });
    }

    /// Counts a message that has arrived completely.
    #[inline]
    pub fn received<J: Journal<CountsUndo>>(&mut self, bytes: u64, queueing: Time, journal: &mut J) {
        let queueing = queueing.ps();
        self.messages_received += 1;
        self.message_bytes_received += bytes;
        self.queueing_ps = self.queueing_ps.wrapping_add(queueing);
        let job = self.job;
        journal.note(|| CountsUndo::Received { job, bytes, queueing });
    }

    /// Counts a packet that starts to leave.
    #[inline]
    pub fn injected<J: Journal<CountsUndo>>(&mut self, journal: &mut J) {
        self.packets_injected += 1;
        journal.note(|| CountsUndo::Injected { job: self.job });
    }

    /// Counts a packet of a message of a rank that starts to leave.
    #[inline]
    pub fn message_injected<J: Journal<CountsUndo>>(
        &mut self,
        (start, serialization): (Time, Time),
        packet: &Packet,
        last: bool,
        journal: &mut J,
    ) {
        let ps = if last {
            start.saturating_sub(packet.created_at()).ps()
        } else {
            serialization.ps()
        };
        let sum = self.injection_sum(last);
        *sum = sum.wrapping_add(ps);
        let job = self.job;
        journal.note(|| CountsUndo::MessageInjected { job, last, ps });
    }

    /// Counts the wait of a packet that starts to leave at `start`, if its message was handed over in the measured
    /// part.
    pub fn waited<J: Journal<CountsUndo>>(
        &mut self,
        start: Time,
        packet: &Packet,
        measured: Measured,
        journal: &mut J,
    ) {
        if measured.contains(packet.created_at()) {
            let (job, ps) = (self.job, start.saturating_sub(packet.created_at()).ps());
            let max = self.source_wait.record(ps);
            journal.note(|| CountsUndo::SourceWait { job, ps, max });
        }
    }

    #[inline]
    fn injection_sum(&mut self, last: bool) -> &mut u64 {
        if last {
            &mut self.injection_ps
        } else {
            &mut self.injection_own_ps
        }
    }

    /// Prefetches the memory that the delivery of this packet touches.
    #[inline]
    pub fn prefetch_for(&self, now: Time, packet: &Packet) {
        if let Some(bucket) = self.latency.bucket((now - packet.created_at()).ps()) {
            des::prefetch(bucket);
        }
        if let Some(bucket) = self.hops.bucket(packet.hops.into()) {
            des::prefetch(bucket);
        }
    }

    /// Counts a packet whose tail has arrived. `bytes` is its payload, `measured` the measured part of the run.
    #[inline]
    pub fn delivered<J: Journal<CountsUndo>>(
        &mut self,
        now: Time,
        (packet, bytes): (&Packet, u32),
        measured: Measured,
        journal: &mut J,
    ) {
        let job = self.job;
        let accepted = measured.contains(now).then(|| octave(now - measured.from) as u8);
        self.packets_delivered += 1;
        self.bytes_delivered += u64::from(bytes);
        if let Some(octave) = accepted {
            self.accepted_bytes += u64::from(bytes);
            self.growth[usize::from(octave)] -= i64::from(bytes);
        }
        journal.note(|| CountsUndo::Delivered { job, accepted, bytes });
        if measured.contains(packet.created_at()) {
            self.measured_bytes += u64::from(bytes);
            let ps = (now - packet.created_at()).ps();
            let max = self.latency.record(ps);
            let most = self.hops.record(u64::from(packet.hops));
            journal.note(|| CountsUndo::Latency { job, bytes, ps, max });
            let (hops, max) = (packet.hops, most as u8);
            journal.note(|| CountsUndo::Hops { job, hops, max });
            if let Some(wait) = packet.source_wait() {
                self.divided(ps, wait.ps(), journal);
            }
        }
    }

    /// Counts the parts of the latency of a packet, which carries its wait at the source.
    // Not inlined, to keep the code of runs without it small.
    #[inline(never)]
    fn divided<J: Journal<CountsUndo>>(&mut self, latency: u64, wait: u64, journal: &mut J) {
        let job = self.job;
        let parts = self.parts.get_or_insert_default();
        let max = parts.source_wait.record(wait);
        journal.note(|| CountsUndo::ArrivedWait { job, ps: wait, max });
        let ps = latency.saturating_sub(wait);
        let max = parts.network_latency.record(ps);
        journal.note(|| CountsUndo::NetworkLatency { job, ps, max });
    }

    /// Undoes the recording of one part of a latency.
    fn forget_part(&mut self, part: fn(&mut HostLatencyParts) -> &mut Histogram, (ps, max): (u64, u64)) {
        let Some(parts) = &mut self.parts else {
            unreachable!("the step that made it is older")
        };
        part(parts).forget(ps, max);
        // Equal states have equal bytes, and before the first packet there were no parts.
        if parts.source_wait.count() == 0 {
            self.parts = None;
        }
    }
}

impl CountsUndo {
    /// Undoes this step.
    pub fn undo(self, counts: &mut AllCounts) {
        let job = match self {
            CountsUndo::Opened => return drop(counts.pop()),
            CountsUndo::Message { job, .. }
            | CountsUndo::Received { job, .. }
            | CountsUndo::Injected { job }
            | CountsUndo::MessageInjected { job, .. }
            | CountsUndo::Delivered { job, .. }
            | CountsUndo::SourceWait { job, .. }
            | CountsUndo::Latency { job, .. }
            | CountsUndo::NetworkLatency { job, .. }
            | CountsUndo::ArrivedWait { job, .. }
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
                if let Some(octave) = offered {
                    of.offered_bytes -= bytes;
                    of.growth[usize::from(octave)] -= bytes as i64;
                }
            }
            CountsUndo::Received { bytes, queueing, .. } => {
                of.messages_received -= 1;
                of.message_bytes_received -= bytes;
                of.queueing_ps = of.queueing_ps.wrapping_sub(queueing);
            }
            CountsUndo::MessageInjected { last, ps, .. } => {
                let sum = of.injection_sum(last);
                *sum = sum.wrapping_sub(ps);
            }
            CountsUndo::Injected { .. } => of.packets_injected -= 1,
            CountsUndo::Delivered { accepted, bytes, .. } => {
                of.packets_delivered -= 1;
                of.bytes_delivered -= u64::from(bytes);
                if let Some(octave) = accepted {
                    of.accepted_bytes -= u64::from(bytes);
                    of.growth[usize::from(octave)] += i64::from(bytes);
                }
            }
            CountsUndo::SourceWait { ps, max, .. } => of.source_wait.forget(ps, max),
            CountsUndo::Latency { bytes, ps, max, .. } => {
                of.measured_bytes -= u64::from(bytes);
                of.latency.forget(ps, max);
            }
            CountsUndo::NetworkLatency { ps, max, .. } => {
                of.forget_part(|parts| &mut parts.network_latency, (ps, max));
            }
            CountsUndo::ArrivedWait { ps, max, .. } => {
                of.forget_part(|parts| &mut parts.source_wait, (ps, max));
            }
            CountsUndo::Hops { hops, max, .. } => of.hops.forget(u64::from(hops), u64::from(max)),
        }
    }
}
