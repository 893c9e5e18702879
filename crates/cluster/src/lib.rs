//! The processes of one run, on one machine or several, over MPI.
//!
//! [`join`] makes this process a member of what an MPI launcher (`mpirun`, `srun`) has started, and
//! [`ProcessGroup`] is the kernel's interface to it, [`des::Processes`]. Knows nothing of what the processes
//! compute. Without the feature `mpi` the interface is the same, and a process is always alone.
//!
//! **What blocks.** [`Processes::least`] and [`Processes::exchange`] return when all processes have called
//! them, and dropping a [`ProcessGroup`] when all have got there.
//!
//! **Threads.** MPI is initialised with `MPI_THREAD_FUNNELED`: only the thread that joined may communicate,
//! or drop the membership; a call from another one panics.
//!
//! **Failures.** A process that ends without dropping its membership would leave the others waiting, so one
//! that fails by itself calls [`ProcessGroup::abort`]. A panic that unwinds through the owner of the
//! membership does so by itself, with status 101, if it comes from the thread that joined; whoever catches
//! panics of other threads must abort. A process that is killed is noticed by the launcher, which ends the
//! others. Errors of MPI itself end all processes as well (MPI's default, `MPI_ERRORS_ARE_FATAL`).

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
        /// Number of processes, if the launcher says it.
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
    /// MPI can be initialised once in the life of a process.
    #[error("this process has initialised MPI before, which it can do only once")]
    JoinedBefore,
    /// The MPI library does not support threads.
    #[error("the MPI library allows no threads beside the one that communicates (MPI_THREAD_FUNNELED)")]
    WithoutThreads,
}

/// Joins the other processes, if an MPI launcher has started several; call it first in `main`, once.
///
/// A process that was started without a launcher, or as the only one, is alone and does not initialise
/// MPI: that takes time, and can fail where nobody meant to use MPI. Before it is initialised only the
/// environment tells, then MPI is believed. So a command that a process of an MPI program starts is taken
/// for that process, by its environment.
///
/// # Errors
/// Several processes without the feature `mpi`, or with the launcher of another MPI library; MPI initialised
/// before; an MPI library without threads.
pub fn join() -> Result<ProcessGroup, JoinError> {
    // Not by `var`: a value that is no text is no number either.
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

/// This process among those of a run. Dropping it takes leave of the others: it waits for them, and
/// finalises MPI; or, while the thread panics, ends them.
pub struct ProcessGroup {
    world: Option<MpiWorld>,
    /// Shared with other threads, but not moved to one: it would be dropped there, and MPI finalised.
    stays_in_thread: PhantomData<MutexGuard<'static, ()>>,
}

impl ProcessGroup {
    /// Ends all processes with this exit status, for one that has failed and cannot tell them.
    pub fn abort(&self, status: i32) -> ! {
        match &self.world {
            Some(world) => world.abort(status),
            None => std::process::exit(status),
        }
    }

    /// For tests: sends no more than this many bytes in one go, instead of 1 GiB.
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
