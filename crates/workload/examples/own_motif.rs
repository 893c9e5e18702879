//! A motif of one's own: a token goes around a ring of ranks.
//!
//! `cargo run -p fabricsim-workload --example own_motif` prints what each rank does. In the project, this is a
//! file `crates/workload/src/motif/ring.rs` (with `use super::{Motif, Script, Skeleton, workload}`) and the line
//! `ring::MOTIF,` in `MOTIFS`: then experiments can name it, `fabricsim list motifs` has it, and the tests of all
//! motifs run it.

use config::{Bytes, Parameter, Section, Type};
use fabricsim_workload::motif::{Motif, Script, Skeleton, workload};

/// What experiments call it, and how it is built.
pub const MOTIF: Motif = Motif {
    name: "ring",
    summary: "a token goes around a ring",
    source: "this file",
    parameters: &[
        Parameter::required("ranks", Type::Integer, "number of ranks"),
        Parameter::size("bytes", "1 KiB", "of the token"),
        Parameter::integer("iterations", 1, "how many times around"),
    ],
    example: "ranks = 5\niterations = 2",
    build: |section| {
        let ranks: u32 = section.required("ranks")?;
        if ranks < 2 {
            return Err(section.error("ranks", "is no ring; expected at least 2"));
        }
        let bytes = section.get::<Bytes>("bytes")?.bytes;
        let iterations = section.get("iterations")?;
        Ok(workload(Ring {
            ranks,
            bytes,
            iterations,
        }))
    },
};

struct Ring {
    ranks: u32,
    bytes: u64,
    iterations: u64,
}

impl Skeleton for Ring {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Once around.
    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        let (next, previous) = ((rank + 1) % self.ranks, (rank + self.ranks - 1) % self.ranks);
        let begins = rank == 0;
        if begins {
            script.send(next, 0, self.bytes);
        }
        script.receive(previous, 0, self.bytes);
        if !begins {
            script.send(next, 0, self.bytes);
        }
        step + 1 < self.iterations
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let section = Section::from_toml(MOTIF.example, "the example")?;
    let ring = (MOTIF.build)(section.declare(MOTIF.parameters))?;
    for rank in 0..ring.ranks() {
        let mut program = ring.program(rank)?;
        while let Some(operation) = program.next()? {
            println!("rank {rank}: {operation:?}");
        }
    }
    Ok(())
}
