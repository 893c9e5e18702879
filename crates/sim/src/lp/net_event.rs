//! The payloads of all events of a simulated network, and the records of a run.

use fabric::router::{RouterSignal, RouterTimer};
use fabric::{NicTimer, Packet};
use serde::{Deserialize, Serialize};

use crate::lp::host_message::HostMessage;
use crate::lp::load_reports::Loads;
use crate::lp::timeline_record::TimelineRecord;

/// An event of a router, a host or the termination detector.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum NetEvent {
    /// Router: a packet's head has passed the input pipeline. Host: a packet's tail has arrived.
    PacketArrived {
        /// Input port; at a host, the rail.
        port: u16,
        /// VC of its input buffer.
        vc: u8,
        /// The packet.
        packet: Packet,
    },
    /// Router, from itself: a timer of its model.
    RouterTimer(RouterTimer),
    /// A signal has arrived on a link: at a router, of its model; at a host, of the model of its NIC's router.
    SignalArrived {
        /// Input port; at a host, the rail.
        port: u16,
        /// The signal.
        signal: RouterSignal,
    },
    /// Router, from itself: a load report is due.
    LoadReportDue,
    /// Router: another router of its group reports loads, see [`routing::Reports`].
    LoadsReported {
        /// Index of the first load in the group's table.
        first: u16,
        /// Number of loads.
        count: u8,
        /// The loads.
        loads: Loads,
    },
    /// Buffer space at the far end of a link has become free.
    CreditReturned {
        /// Output port; at a host, the rail.
        port: u16,
        /// VC.
        vc: u8,
        /// Bytes.
        bytes: u32,
    },
    /// Host, from itself: a timer of a port of its NIC.
    NicTimer {
        /// The rail.
        rail: u8,
        /// Content of the timer.
        timer: NicTimer,
    },
    /// Host: an MPI message for it was sent.
    MessageAnnounced(HostMessage),
    /// Host, from itself: the gap after the previous message of its ranks has passed, and a message goes to the NIC.
    MessageDue(HostMessage),
    /// Host, from itself: the last byte of a message of one of its ranks has left, or the last byte that one of several
    /// rails carries.
    MessageInjected {
        /// Slot of the rank.
        slot: u16,
        /// The rank's request.
        request: u32,
    },
    /// Host, from itself: a message between two of its ranks has arrived through memory.
    MemoryDelivered(HostMessage),
    /// Host, from itself: a rank begins.
    RankStarted {
        /// Slot of the rank.
        slot: u16,
    },
    /// Host, from itself: the job of a rank has reached its end.
    EndReached {
        /// Slot of the rank.
        slot: u16,
    },
    /// Host, from itself: a rank has finished a computation or paid an overhead.
    RankResumed {
        /// Slot of the rank.
        slot: u16,
    },
    /// Host, from itself: the next message of synthetic traffic is due.
    TrafficDue {
        /// Index of the source on the host.
        source: u16,
    },
    /// Termination detector: a rank has finished or was stopped.
    RankFinished {
        /// Its job.
        job: u16,
    },
    /// Termination detector, from itself: a round is due.
    RoundDue,
    /// Host: the termination detector asks for the measured traffic that is under way.
    DrainAsked,
    /// Termination detector: a host's answer.
    DrainReported {
        /// Measured bytes that its sources have made, minus those that have arrived at it, modulo 2^64: the
        /// lower half, then the upper one. One number of 64 bits would align, and so lengthen, all events.
        bytes: [u32; 2],
    },
    /// Host: the termination detector asks for the progress of its ranks.
    ProgressAsked,
    /// Termination detector: a host's answer for one of the jobs that have ranks there, one after another.
    ProgressReported {
        /// The job.
        job: u16,
        /// Ranks of the job on the host that can continue without receiving anything.
        active: u32,
        /// Messages sent by these ranks minus those that have arrived for them, modulo 2^32.
        in_flight: u32,
    },
}

/// An output of an LP at commit, in the total order. LPs emit records, and collection turns them into rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// A rank has finished, at the time of the event.
    RankDone {
        /// Job.
        job: u16,
        /// Rank.
        rank: u32,
    },
    /// A rank has ended a repetition, at the time of the event.
    RepetitionDone {
        /// Job.
        job: u16,
        /// Number of the repetition, from 1.
        number: u64,
    },
    /// A timeline record of ranks, NICs and routers.
    Timeline(TimelineRecord),
    /// The sum over the links of one class at one router or host in a bin.
    LinkClassSample {
        /// The bin.
        bin: u32,
        /// The class, see [`Plan`](crate::lp::sampling::Plan).
        class: u8,
        /// Flow in the bin.
        flow: BinFlow,
    },
    /// One link in a bin.
    LinkSample {
        /// The bin.
        bin: u32,
        /// The link.
        link: u32,
        /// Its class.
        class: u8,
        /// Flow in the bin.
        flow: BinFlow,
        /// Packets that wait for the link at the end of the bin.
        waiting_packets: u32,
        /// Bytes of these packets.
        waiting_bytes: u64,
    },
    /// One link of a router in a period of bins, for sums over links.
    LinkUse {
        /// The period.
        period: u32,
        /// Pair of blocks, as the [`Plan`](crate::lp::sampling::Plan) numbers them.
        pair: u32,
        /// The link.
        link: PeriodLink,
    },
    /// Links from one block to another in a period.
    PairSample {
        /// The period.
        period: u32,
        /// Pair of blocks, as the [`Plan`](crate::lp::sampling::Plan) numbers them.
        pair: u32,
        /// Sum over some of the links.
        sum: PairSum,
    },
    /// Links of some of the routers of a tile in a period.
    TileSample {
        /// The period.
        period: u32,
        /// The tile.
        tile: u32,
        /// The greatest times of these links.
        load: TileLoad,
    },
    /// Links with the same load in a period.
    LoadSample {
        /// The period.
        period: u32,
        /// Their load.
        step: LoadStep,
        /// Their number.
        links: u32,
    },
    /// A link that may be one of those with the greatest loads of a period.
    TopLink {
        /// The period.
        period: u32,
        /// The link.
        link: PeriodLink,
    },
    /// One VC of a link in a bin.
    VcSample {
        /// The bin.
        bin: u32,
        /// The link.
        link: u32,
        /// The VC.
        vc: u8,
        /// Levels in the bin.
        levels: VcLevels,
        /// Bytes of the buffer of one VC.
        capacity: u32,
    },
    /// One host in a bin.
    HostSample {
        /// The bin.
        bin: u32,
        /// The host.
        host: u32,
        /// Packets that started to leave.
        packets_sent: u32,
        /// Packets that arrived.
        packets_received: u32,
        /// Bytes of the packets sent.
        bytes_sent: u64,
        /// Bytes of the packets received.
        bytes_received: u64,
        /// Bytes in the queues of its NIC at the end of the bin.
        queue_bytes: u64,
    },
    /// One router in a bin.
    RouterSample {
        /// The bin.
        bin: u32,
        /// The router.
        router: u32,
        /// Packets that started to leave.
        packets_sent: u32,
        /// Packets that arrived.
        packets_received: u32,
    },
    /// One job at one host in a bin.
    JobSample {
        /// The bin.
        bin: u32,
        /// The job.
        job: u16,
        /// Flow in the bin.
        flow: JobFlow,
    },
}

/// Levels of one VC of a link in one bin. A peak includes the level at the start of the bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VcLevels {
    /// Bytes in use of the buffer at the far end, at the end of the bin.
    pub used: u32,
    /// Their peak.
    pub used_max: u32,
    /// Packets that wait for the link and this VC, at the end of the bin.
    pub waiting: u32,
    /// Their peak.
    pub waiting_max: u32,
}

/// What one job sent and received in one bin, at one host or at all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFlow {
    /// Messages sent.
    pub messages_sent: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Messages that arrived.
    pub messages_received: u64,
    /// Bytes that arrived.
    pub bytes_received: u64,
    /// Packets that arrived.
    pub packets_delivered: u64,
}

impl JobFlow {
    /// Adds another flow.
    #[inline]
    pub fn add(&mut self, other: &JobFlow) {
        self.messages_sent += other.messages_sent;
        self.bytes_sent += other.bytes_sent;
        self.messages_received += other.messages_received;
        self.bytes_received += other.bytes_received;
        self.packets_delivered += other.packets_delivered;
    }
}

/// The flow of one link, or of all links of a class, in one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinFlow {
    /// Bytes of the packets that started.
    pub bytes: u64,
    /// Packets that started.
    pub packets: u64,
    /// Time in which bits were on the link, in ps.
    pub busy_ps: u64,
    /// Time in which the downstream buffers were full, in ps.
    pub buffer_full_ps: u64,
}

/// What a link did in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodLink {
    /// Its number, as in the table `links`.
    pub link: u32,
    /// Its class, see [`Plan`](crate::lp::sampling::Plan).
    pub class: u8,
    /// Time in which bits were on it, in ps.
    pub busy_ps: u64,
    /// Time in which it was free and no packet had credits, in ps.
    pub buffer_full_ps: u64,
}

/// Sum over the links from one block to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairSum {
    /// Sum of the times in which the links were busy, in ps.
    pub busy_ps: u64,
    /// The greatest of these times, in ps.
    pub busy_ps_max: u64,
    /// Sum of the times in which links were free and had no packet with credits, in ps.
    pub buffer_full_ps: u64,
    /// Links that were full.
    pub full_links: u32,
    /// Links that were blocked.
    pub blocked_links: u32,
}

/// A class and two steps: of the time in which links were busy, and of that in which buffers were full.
pub type LoadStep = (u8, u8, u8);

/// The greatest times of the links of a tile in a period, busy and with full buffers, in percent of the period, rounded
/// up.
pub type TileLoad = [u8; 2];

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

    /// Events are copied and sorted often, so they must stay small.
    #[test]
    fn a_record_is_small() {
        assert!(size_of::<Record>() <= 64, "{}", size_of::<Record>());
    }
}
