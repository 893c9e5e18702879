//! incast: all ranks send to one at the same time.
//!
//! Source: Ember, `mpi/incast/incast.c`.

use super::parameters::{bytes, iterations, pause, ranks};
use super::{Motif, Script, Skeleton, workload};
use config::{Type, parameters};

pub(super) const MOTIF: Motif = Motif {
    name: "incast",
    summary: "all ranks send to one at the same time",
    source: "Ember, mpi/incast",
    parameters: parameters! {
        required("ranks", Type::Integer, "number of ranks; at least 2");
        size("bytes", "8 KiB", "from each rank");
        computed("target", Type::Integer, "the last", "the rank that they send to");
        integer("iterations", 1, "how many");
        time("compute", "0 ps", "time of the computation before each");
        flag("barriers", true, "those before, after, and between receives and sends of an iteration");
    },
    example: "ranks = 5\niterations = 2",
    build: |section| {
        let ranks = ranks(section)?;
        if ranks < 2 {
            return Err(section.error("ranks", "1 leaves no sender; expected at least 2"));
        }
        let target = section.or("target", ranks - 1)?;
        if target >= ranks {
            let message = format!("{target} is out of range; expected 0 to {}", ranks - 1);
            return Err(section.error("target", message));
        }
        Ok(workload(IncastMotif {
            ranks,
            target,
            bytes: bytes(section, "bytes")?,
            iterations: u64::from(iterations(section)?),
            compute_ps: pause(section)?,
            barriers: section.get("barriers")?,
        }))
    },
};

const TAG: u32 = 1000;

struct IncastMotif {
    ranks: u32,
    target: u32,
    bytes: u64,
    iterations: u64,
    compute_ps: u64,
    barriers: bool,
}

impl Skeleton for IncastMotif {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        if step == 0 && self.barriers {
            script.barrier();
        }
        script.compute(self.compute_ps);
        if rank == self.target {
            for peer in (0..self.ranks).filter(|peer| *peer != rank) {
                script.start_receive(peer, TAG, self.bytes);
            }
        }
        if self.barriers {
            script.barrier();
        }
        if rank == self.target {
            script.wait_all();
        } else {
            script.send(self.target, TAG, self.bytes);
        }
        script.end_iteration(step + 1 < self.iterations, self.barriers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{error, totals};
    use crate::Collective;

    #[test]
    fn messages_and_bytes() {
        for target in [0, 3, 6] {
            let text = format!("ranks = 7\nbytes = \"5 B\"\niterations = 4\ntarget = {target}");
            let found = totals("incast", &text);
            assert_eq!((found.messages, found.bytes), (4 * 6, 4 * 6 * 5));
            assert_eq!(found.calls(Collective::Barrier), (2 + 4) * 7);
        }
    }

    #[test]
    fn the_target_has_to_exist() {
        assert!(
            error("incast", "ranks = 4\ntarget = 4").contains("target: 4 is out of range; expected 0 to 3")
        );
        assert!(error("incast", "ranks = 1").contains("no sender"));
    }
}
