//! Toy pattern: hosts 2k and 2k + 1 send to each other. The last of an odd number of hosts is silent.

use super::{Pattern, PatternKind, Random};

pub(super) const KIND: PatternKind = PatternKind {
    name: "toy-partner",
    summary: "to the neighbour in a pair of hosts",
    parameters: &[],
    example: "",
    build: |_, _| Ok(Box::new(ToyPartner)),
};

struct ToyPartner;

impl Pattern for ToyPartner {
    fn destination(&self, source: u32, hosts: u32, _: u64, _: &mut dyn Random) -> Option<u32> {
        Some(source ^ 1).filter(|partner| *partner < hosts)
    }

    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64)) {
        let partner = source ^ 1;
        if partner < hosts {
            each(partner, 1.0);
        }
    }
}
