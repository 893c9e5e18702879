//! One run of a job whose ranks are processes.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rank_channel::SharedMemory;
use workload::{Operation, OperationsWriter};

use crate::exchange::DataExchange;
use crate::launch::{LaunchCommand, Launched, RankStatus};

/// What a job executes.
#[derive(Debug)]
pub(crate) struct OnlineProgram {
    pub command: LaunchCommand,
    pub ranks: u32,
    pub measures: bool,
    /// The host of each rank.
    pub hosts: OnceLock<Vec<u32>>,
}

/// One run of a job whose ranks are processes. They start when the first of them is asked for an operation.
#[derive(Debug)]
pub(crate) struct OnlineJob {
    what: Arc<OnlineProgram>,
    exchange: DataExchange,
    /// Where the operations of the run are left.
    operations: Option<OperationsWriter>,
    launched: Mutex<Option<Result<Arc<Launched>, String>>>,
    /// Ranks that have called `MPI_Finalize`.
    finished: AtomicU32,
    /// What a rank has given to `MPI_Abort`.
    aborted: Mutex<Option<i32>>,
}

impl OnlineJob {
    /// A run, which leaves its operations in a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(what: Arc<OnlineProgram>, file: Option<&Path>) -> io::Result<OnlineJob> {
        let create = |file| OperationsWriter::new(File::create(file)?, what.ranks);
        Ok(OnlineJob {
            exchange: DataExchange::new(what.ranks),
            operations: file.map(create).transpose()?,
            what,
            launched: Mutex::new(None),
            finished: AtomicU32::new(0),
            aborted: Mutex::new(None),
        })
    }

    /// Notes an operation of a rank.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(&self, rank: u32, operation: Operation) -> io::Result<()> {
        match &self.operations {
            Some(operations) => operations.add(rank, operation),
            None => Ok(()),
        }
    }

    pub fn ranks(&self) -> u32 {
        self.what.ranks
    }

    /// The command in one line.
    pub fn command(&self) -> String {
        self.what.command.words.join(" ")
    }

    /// A rank has called `MPI_Finalize`. The last one completes the file of operations.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&self) -> io::Result<()> {
        let finished = self.finished.fetch_add(1, Ordering::AcqRel) + 1;
        match &self.operations {
            Some(operations) if finished == self.ranks() => operations.finish(),
            _ => Ok(()),
        }
    }

    pub fn exchange(&self) -> &DataExchange {
        &self.exchange
    }

    /// The processes.
    ///
    /// # Errors
    /// They cannot be started.
    pub fn launched(&self) -> Result<Arc<Launched>, String> {
        let mut launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || {
            let OnlineProgram { ranks, measures, .. } = *self.what;
            let memory = SharedMemory::create(ranks, measures)
                .map_err(|error| format!("no memory for {ranks} ranks: {error}"))?;
            let hosts = self.what.hosts.get().map_or(&[][..], Vec::as_slice);
            (0..)
                .zip(hosts)
                .for_each(|(rank, host)| memory.place(rank, *host));
            Launched::start(&self.what.command, memory).map(Arc::new)
        };
        launched.get_or_insert_with(start).clone()
    }

    /// A rank has called `MPI_Abort`. An aborted run must not look good.
    pub fn aborted(&self, status: i32) {
        let status = match status & 0xff {
            0 => 1,
            status => status,
        };
        self.locked_aborted().get_or_insert(status);
    }

    pub fn locked_aborted(&self) -> MutexGuard<'_, Option<i32>> {
        self.aborted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> Option<Arc<Launched>> {
        let launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner);
        launched.as_ref().and_then(|launched| launched.clone().ok())
    }

    /// Ends the processes: waits for them, if all ranks have called `MPI_Finalize`.
    pub fn end(&self) -> Vec<RankStatus> {
        match self.running() {
            Some(launched) if self.finished.load(Ordering::Relaxed) == self.ranks() => launched.wait(),
            Some(launched) => {
                launched.end_all();
                Vec::new()
            }
            None => Vec::new(),
        }
    }
}
