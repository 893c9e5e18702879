//! What happens in a simulated network: the payloads of all events, and the records of a run.

use fabric::Packet;
use fabric::router::{RouterSignal, RouterTimer};
use serde::{Deserialize, Serialize};

use crate::lp::load_reports::Loads;
use crate::lp::trace_record::TraceRecord;

/// A fact that a router, a host or the overseer learns.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum NetEvent {
    /// Router: a packet's head has come in and is through the pipeline. Host: a packet's tail has come.
    PacketArrived {
        /// Port it came by; at a host, the rail.
        port: u16,
        /// VC of the buffer it takes.
        vc: u8,
        /// The packet.
        packet: Packet,
    },
    /// Router, from itself: a timer of its model.
    RouterTimer(RouterTimer),
    /// Router: a signal of its model has arrived on a link.
    SignalArrived {
        /// Port it came by.
        port: u16,
        /// The signal.
        signal: RouterSignal,
    },
    /// Router, from itself: it is time to tell others of its loads.
    ReportDue,
    /// Router: another one of its group tells loads, see [`routing::Reports`].
    LoadsTold {
        /// Where they begin in the group's table.
        slot: u16,
        /// How many there are.
        count: u8,
        /// The loads.
        loads: Loads,
    },
    /// There is room in the buffer at the far end of a link.
    CreditReturned {
        /// Output port; at a host, the rail.
        port: u16,
        /// VC.
        vc: u8,
        /// Bytes.
        bytes: u32,
    },
    /// Host, from itself: an injection link is free.
    InjectionFree {
        /// Of which rail.
        rail: u8,
    },
    /// Host: an MPI message is on its way to it.
    MessageAnnounced {
        /// Job.
        job: u16,
        /// Number among the messages of the sending host.
        number: u32,
        /// The message.
        message: mpi::Message,
    },
    /// Host, from itself: a message of one of its ranks has kept its distance from the one before, and goes to
    /// the NIC.
    MessageDue {
        /// Job.
        job: u16,
        /// Number among the messages of this host.
        number: u32,
        /// The message.
        message: mpi::Message,
    },
    /// Host, from itself: the last byte of a message of one of its ranks has left, or the last that one of
    /// several rails carries of it.
    MessageInjected {
        /// Which of the host's ranks.
        slot: u16,
        /// The rank's request.
        request: u32,
    },
    /// Host, from itself: a message between two of its ranks has arrived through memory.
    MemoryDelivered {
        /// Job.
        job: u16,
        /// The message.
        message: mpi::Message,
    },
    /// Host, from itself: a rank begins.
    RankStarted {
        /// Which of the host's ranks.
        slot: u16,
    },
    /// Host, from itself: a rank has computed, or spent its overhead.
    RankResumed {
        /// Which of the host's ranks.
        slot: u16,
    },
    /// Host, from itself: the next message of synthetic traffic is due.
    TrafficDue {
        /// Which of the host's sources.
        source: u16,
    },
    /// TerminationDetector: a rank has finished.
    RankFinished,
    /// TerminationDetector, from itself: it is time to ask whether any rank can go on.
    RoundDue,
    /// Host: the overseer asks whether its ranks can go on.
    ProgressAsked,
    /// TerminationDetector: a host's answer.
    ProgressTold {
        /// Ranks of the host that will do something without being sent anything.
        active: u32,
        /// Messages sent by its ranks less those received by them, modulo 2^32.
        in_flight: u32,
    },
}

/// What is committed in the total order: on its way from the LP that notes it to the
/// [`Collector`](crate::collect::Collector), which makes rows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// A rank has finished. Its time is that of the event.
    RankDone {
        /// Job.
        job: u16,
        /// Rank.
        rank: u32,
    },
    /// What ranks, NICs and routers tell of themselves.
    Trace(TraceRecord),
    /// What the links of one class did at one router or host in a bin.
    ClassSample {
        /// The bin.
        bin: u32,
        /// The class, see [`Plan`](crate::collect::Plan).
        class: u8,
        /// What they carried in it.
        flow: BriefFlow,
    },
    /// What one link did in a bin.
    LinkSample {
        /// The bin.
        bin: u32,
        /// The link.
        link: u32,
        /// Its class.
        class: u8,
        /// What it carried in the bin.
        flow: BriefFlow,
        /// Packets that wait for it at the end of the bin.
        waiting_packets: u32,
        /// Bytes that do.
        waiting_bytes: u64,
    },
    /// Room taken at the far end of a link at the end of a bin.
    VcSample {
        /// The bin.
        bin: u32,
        /// The link.
        link: u32,
        /// The first VC of which the record knows.
        first: u8,
        /// A bit for each VC from there on of which the room has changed.
        changed: u8,
        /// Bytes taken.
        used: [u32; VCS_PER_RECORD],
    },
    /// What one host did in a bin.
    HostSample {
        /// The bin.
        bin: u32,
        /// The host.
        host: u32,
        /// Packets begun.
        packets_sent: u32,
        /// Packets that came.
        packets_received: u32,
        /// Bytes of the packets begun.
        bytes_sent: u64,
        /// Bytes of those that came.
        bytes_received: u64,
        /// Bytes in the queues of its NIC at the end of the bin.
        queue_bytes: u64,
    },
    /// What one router did in a bin.
    RouterSample {
        /// The bin.
        bin: u32,
        /// The router.
        router: u32,
        /// Packets that began to leave.
        packets_sent: u32,
        /// Packets that came.
        packets_received: u32,
    },
    /// What a job did at one host in a bin.
    JobSample {
        /// The bin.
        bin: u32,
        /// The job.
        job: u16,
        /// Messages sent.
        messages_sent: u32,
        /// Messages that came.
        messages_received: u32,
        /// Packets that came.
        packets_delivered: u32,
        /// Bytes sent.
        bytes_sent: u64,
        /// Bytes that came.
        bytes_received: u64,
    },
}

/// VCs that one record of them has room for.
pub const VCS_PER_RECORD: usize = 8;

/// What one link carried in a bin: of one link, packets and bytes are few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefFlow {
    /// Bytes of the packets begun.
    pub bytes: u64,
    /// Those packets.
    pub packets: u32,
    /// Time during which bits were on the wire, in ps.
    pub busy_ps: u64,
    /// Time during which its buffers were full, in ps.
    pub buffer_full_ps: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_cache_line() {
        assert!(
            size_of::<des::Event<NetEvent>>() <= 64,
            "{}",
            size_of::<des::Event<NetEvent>>()
        );
    }

    /// There are many of them, and all are sorted.
    #[test]
    fn a_record_is_small() {
        assert!(size_of::<Record>() <= 64, "{}", size_of::<Record>());
    }
}
