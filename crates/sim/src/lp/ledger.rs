//! What has become of packets other than deliveries, at one LP: the audit adds it up.

use fabric::{DropReason, Packet, PacketFate};
use serde::{Deserialize, Serialize};

/// Packets of one LP that were neither a part of a message nor delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketLedger {
    /// Packets of the NIC itself that it has sent.
    pub control: u64,
    /// Packets that a router has added.
    pub multiplied: u64,
    /// Packets that have ended here.
    pub consumed: u64,
    /// Lost packets, by the number of the reason.
    pub dropped: [DroppedPackets; DropReason::ALL.len()],
}

/// Lost packets of one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedPackets {
    /// Packets, modulo 2^64.
    pub packets: u64,
    /// Their bytes with headers, modulo 2^64.
    pub bytes: u64,
}

/// One step of a ledger to undo.
#[derive(Clone, Copy, Debug)]
pub enum PacketLedgerUndo {
    /// A packet of the NIC itself was sent.
    Control,
    /// Something became of a packet of this size.
    Fate {
        /// What.
        fate: PacketFate,
        /// Bytes of the packet.
        bytes: u32,
    },
}

impl PacketLedger {
    /// Something becomes of a packet.
    pub fn note(&mut self, packet: &Packet, fate: PacketFate) -> PacketLedgerUndo {
        let step = PacketLedgerUndo::Fate {
            fate,
            bytes: packet.bytes,
        };
        self.add(step, 1);
        step
    }

    /// The NIC sends a packet of its own.
    pub fn note_control(&mut self) -> PacketLedgerUndo {
        self.control = self.control.wrapping_add(1);
        PacketLedgerUndo::Control
    }

    /// Undoes one step.
    pub fn undo(&mut self, step: PacketLedgerUndo) {
        self.add(step, u64::MAX);
    }

    /// Adds what a step counts so many times, modulo 2^64.
    fn add(&mut self, step: PacketLedgerUndo, times: u64) {
        let (fate, bytes) = match step {
            PacketLedgerUndo::Control => {
                self.control = self.control.wrapping_add(times);
                return;
            }
            PacketLedgerUndo::Fate { fate, bytes } => (fate, u64::from(bytes)),
        };
        match fate {
            PacketFate::Multiplied => self.multiplied = self.multiplied.wrapping_add(times),
            PacketFate::Consumed => self.consumed = self.consumed.wrapping_add(times),
            PacketFate::Dropped(reason) => {
                let dropped = &mut self.dropped[reason.index()];
                dropped.packets = dropped.packets.wrapping_add(times);
                dropped.bytes = dropped.bytes.wrapping_add(bytes.wrapping_mul(times));
            }
        }
    }

    /// Adds another ledger.
    pub fn merge(&mut self, other: &PacketLedger) {
        self.control += other.control;
        self.multiplied += other.multiplied;
        self.consumed += other.consumed;
        for (sum, dropped) in self.dropped.iter_mut().zip(&other.dropped) {
            sum.packets += dropped.packets;
            sum.bytes += dropped.bytes;
        }
    }

    /// All lost packets.
    pub fn all_dropped(&self) -> u64 {
        self.dropped.iter().map(|dropped| dropped.packets).sum()
    }
}

#[cfg(test)]
mod tests {
    use des::Time;
    use topology::HostId;

    use super::*;

    #[test]
    fn every_step_can_be_undone() {
        let packet = Packet::new(HostId(0), HostId(1), 2, 300, Time(4), 5);
        let (mut ledger, mut steps) = (PacketLedger::default(), Vec::new());
        let fates = DropReason::ALL.map(PacketFate::Dropped);
        for fate in [PacketFate::Multiplied, PacketFate::Consumed]
            .into_iter()
            .chain(fates)
        {
            steps.push(ledger.note(&packet, fate));
        }
        steps.push(ledger.note_control());
        let one = DroppedPackets {
            packets: 1,
            bytes: 300,
        };
        assert_eq!((ledger.control, ledger.multiplied, ledger.consumed), (1, 1, 1));
        assert_eq!((ledger.dropped, ledger.all_dropped()), ([one; 3], 3));
        steps.into_iter().rev().for_each(|step| ledger.undo(step));
        assert_eq!(ledger, PacketLedger::default());
    }
}
