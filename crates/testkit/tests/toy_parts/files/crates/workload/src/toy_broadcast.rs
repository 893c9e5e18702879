//! Toy workload: `toy_broadcast = N` is an application of N ranks whose first rank broadcasts 8 bytes.

use std::path::Path;
use std::sync::Arc;

use config::{Error, Section};

use crate::motif::{Script, Skeleton, workload};
use crate::{Call, Collective, Operation, WORLD, Workload};

struct ToyBroadcast {
    ranks: u32,
}

impl Skeleton for ToyBroadcast {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn step(&self, _: u32, _: u64, script: &mut Script) -> bool {
        script.push(Operation::Collective {
            collective: Collective::Bcast,
            communicator: WORLD,
            root: 0,
            bytes: 8,
            counts: None,
            request: None,
            reduction: None,
            call: Call::Bcast,
        });
        false
    }
}

/// Reads the key `toy_broadcast`.
///
/// # Errors
/// Its value is not a number from 1 to 1,000,000.
pub(crate) fn read(section: &Section, _: &Path) -> Result<Arc<dyn Workload>, Error> {
    match section.required("toy_broadcast")? {
        ranks @ 1..=1_000_000 => Ok(workload(ToyBroadcast { ranks })),
        ranks => {
            let message = format!("{ranks} is out of range; expected 1 to 1000000");
            Err(section.error("toy_broadcast", message))
        }
    }
}
