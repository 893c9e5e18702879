//! The processes of one run, on one machine or several, over MPI.
//!
//! [`join`] makes one run of the processes that an MPI launcher (`mpirun`, `srun`) started. [`ProcessGroup`]
//! implements the kernel's interface to them, [`des::Processes`]. The crate does not know what the processes compute.
//! Without the feature `mpi` the interface is the same, and every process is a group of one.
//!
//! **Blocking.** [`Processes::least`] and [`Processes::exchange`] return when all processes have called them.
//! Dropping a [`ProcessGroup`] returns when all processes drop theirs.
//!
//! **Threads.** MPI is initialised with `MPI_THREAD_FUNNELED`: only the thread that joined may communicate or drop the
//! group; a call from another thread panics.
//!
//! **Failures.** A process that ends without dropping its group would leave the others waiting, so a process that
//! fails alone calls [`ProcessGroup::abort`]. A panic of the thread that joined aborts with status 101 when it unwinds
//! through the owner of the group; code that catches panics of other threads must abort. The launcher notices a killed
//! process and ends the others. Errors of MPI itself end all processes too (MPI's default, `MPI_ERRORS_ARE_FATAL`).

mod launch;
#[cfg(feature = "mpi")]
mod world;
#[cfg(not(feature = "mpi"))]
#[path = "no_world.rs"]
mod world;

use std::marker::PhantomData;
use std::sync::MutexGuard;

pub use des::Processes;

use launch::Launch;
use world::MpiWorld;

/// Why a process could not join the others.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// There are several processes, but no MPI to reach them.
    #[error(
        "started {}by an MPI launcher, but this fabricsim was built without MPI: build it with `make mpi`",
        size.map_or(String::new(), |size| format!("as one of {size} processes "))
    )]
    WithoutMpi {
        /// Number of processes, if the launcher reports it.
        size: Option<usize>,
    },
    /// The launcher belongs to another MPI library.
    #[error(
        "the launcher has started {launched} processes, but MPI knows of one only: use the launcher of the MPI \
         library that fabricsim was built with"
    )]
    AnotherMpi {
        /// Number of processes that the launcher reports.
        launched: usize,
    },
    /// A process can initialise MPI only once.
    #[error("this process has initialised MPI before, which it can do only once")]
    JoinedBefore,
    /// The MPI library does not support threads.
    #[error("the MPI library allows no threads beside the one that communicates (MPI_THREAD_FUNNELED)")]
    WithoutThreads,
}

/// Joins the other processes, if an MPI launcher started several. Call it first in `main`, once.
///
/// A process without a launcher, or the only one, does not initialise MPI: that takes time, and can fail on machines
/// where no run needs MPI. Before initialisation the environment decides; afterwards MPI does. A command that a
/// process of an MPI program starts therefore counts as that process.
///
/// # Errors
/// Several processes without the feature `mpi`, or with the launcher of another MPI library; MPI initialised before;
/// an MPI library without threads.
pub fn join() -> Result<ProcessGroup, JoinError> {
    // Not `var`: a value that is not Unicode is not a number either.
    enter(&Launch::of(|name| std::env::var(name).ok()))
}

fn enter(launch: &Launch) -> Result<ProcessGroup, JoinError> {
    let world = match launch {
        Launch::SingleProcess => None,
        Launch::Several(size) => Some(MpiWorld::join(Some(*size))?),
        Launch::Unknown => Some(MpiWorld::join(None)?),
    };
    Ok(ProcessGroup {
        world,
        stays_in_thread: PhantomData,
    })
}

/// This process among those of a run. Dropping it waits for the others and finalises MPI; while the thread panics,
/// dropping it ends all processes.
pub struct ProcessGroup {
    world: Option<MpiWorld>,
    /// Shared with other threads, but never moved to one, which would drop it there and finalise MPI.
    stays_in_thread: PhantomData<MutexGuard<'static, ()>>,
}

impl ProcessGroup {
    /// Ends all processes with this exit status, after a failure that the others cannot know of.
    pub fn abort(&self, status: i32) -> ! {
        match &self.world {
            Some(world) => world.abort(status),
            None => std::process::exit(status),
        }
    }

    /// For tests: limits one MPI call to this many bytes, instead of 1 GiB.
    #[doc(hidden)]
    pub fn in_pieces_of(mut self, bytes: usize) -> ProcessGroup {
        self.world = self.world.take().map(|world| world.in_pieces_of(bytes));
        self
    }
}

impl Processes for ProcessGroup {
    fn index(&self) -> usize {
        self.world.as_ref().map_or(0, MpiWorld::rank)
    }

    fn count(&self) -> usize {
        self.world.as_ref().map_or(1, MpiWorld::count)
    }

    fn least(&self, values: &mut [u64]) {
        if let Some(world) = &self.world {
            world.least(values);
        }
    }

    fn exchange(&self, parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        match &self.world {
            Some(world) => world.exchange(parcels),
            None => parcels,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(feature = "mpi"))]
    #[test]
    fn several_processes_without_mpi_are_an_error() {
        let message = |launch| enter(&launch).err().expect("no MPI here").to_string();
        assert_eq!(
            message(Launch::Several(4)),
            "started as one of 4 processes by an MPI launcher, but this fabricsim was built without MPI: \
             build it with `make mpi`"
        );
        assert_eq!(
            message(Launch::Unknown),
            "started by an MPI launcher, but this fabricsim was built without MPI: build it with `make mpi`"
        );
    }

    #[test]
    fn a_lone_process_gives_to_itself() {
        let alone = enter(&Launch::SingleProcess).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((alone.index(), alone.count()), (0, 1));
        let mut values = [3, 4];
        alone.least(&mut values);
        assert_eq!(values, [3, 4]);
        assert_eq!(alone.exchange(vec![vec![1, 2]]), [[1, 2]]);
    }

    #[test]
    fn a_membership_is_shared_between_threads() {
        fn shared<T: Sync>() {}
        shared::<ProcessGroup>();
    }
}
