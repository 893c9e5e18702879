//! Toy motif: every rank sends one message to the next rank and receives one from the rank before it.

use config::{Parameter, Type};

use super::parameters::{bytes, ranks};
use super::{Motif, Script, Skeleton, workload};

pub(super) const MOTIF: Motif = Motif {
    name: "toy-ring",
    summary: "a message from every rank to the next",
    source: "this file",
    parameters: &[
        Parameter::required("ranks", Type::Integer, "number of ranks"),
        Parameter::size("bytes", "8 B", "of each message"),
    ],
    example: "ranks = 5",
    build: |section| {
        Ok(workload(ToyRing {
            ranks: ranks(section)?,
            bytes: bytes(section, "bytes")?,
        }))
    },
};

struct ToyRing {
    ranks: u32,
    bytes: u64,
}

impl Skeleton for ToyRing {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn step(&self, rank: u32, _: u64, script: &mut Script) -> bool {
        let before = (rank + self.ranks - 1) % self.ranks;
        script.start_receive(before, 0, self.bytes);
        script.start_send((rank + 1) % self.ranks, 0, self.bytes);
        script.wait_all();
        false
    }
}
