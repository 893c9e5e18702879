//! What happens in a simulated network: the payloads of all events, and the records of a run.

use fabric::Packet;
use routing::Entry;
use serde::{Deserialize, Serialize};

use crate::hearsay::Loads;

/// A fact that a router, a host or the overseer learns.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Fact {
    /// Router: a packet's head has come in and is through the pipeline. Host: a packet's tail has come.
    PacketArrived {
        /// Port it came by; at a host, the rail.
        port: u16,
        /// VC of the buffer it takes.
        vc: u8,
        /// The packet.
        packet: Packet,
    },
    /// Router, from itself: a packet may go on to a link that is faster than the one it came by.
    PacketReady {
        /// Input port.
        input: u16,
        /// Output port.
        output: u16,
        /// VC of the input buffer.
        input_vc: u8,
        /// VC at the far end of the output.
        output_vc: u8,
        /// What it needs there.
        entry: Entry,
        /// The packet.
        packet: Packet,
    },
    /// Router, from itself: a tail has left, or a packet may go on to a faster link.
    SwitchDue,
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
    /// Overseer: a rank has finished.
    RankFinished,
    /// Overseer, from itself: it is time to ask whether any rank can go on.
    RoundDue,
    /// Host: the overseer asks whether its ranks can go on.
    ProgressAsked,
    /// Overseer: a host's answer.
    ProgressTold {
        /// Ranks of the host that will do something without being sent anything.
        active: u32,
        /// Messages sent by its ranks less those received by them, modulo 2^32.
        under_way: u32,
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_cache_line() {
        assert!(
            size_of::<des::Event<Fact>>() <= 64,
            "{}",
            size_of::<des::Event<Fact>>()
        );
    }

    /// There are many of them, and all are sorted.
    #[test]
    fn a_record_is_small() {
        assert!(size_of::<Record>() <= 48, "{}", size_of::<Record>());
    }
}
