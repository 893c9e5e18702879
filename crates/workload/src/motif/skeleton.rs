//! The interface of motifs, and workloads made of them.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{Call, Collective, Communicator, Counts, Operation, Program, TraceError, WORLD, Workload};

/// The operations of an application's ranks, step by step.
///
/// The motif chooses the size of a step: an iteration, a block of a sweep. The operations of one step are in
/// memory at a time.
pub trait Skeleton: Send + Sync + 'static {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Members of each communicator besides that of all ranks. The first of these is communicator number 1.
    fn communicators(&self) -> Vec<Vec<u32>> {
        Vec::new()
    }

    /// Writes the operations of `rank` in step number `step`, from 0; there may be none. Returns whether
    /// another step follows.
    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool;
}

/// A workload of this skeleton.
pub fn workload(skeleton: impl Skeleton) -> Arc<dyn Workload> {
    let world = (0..skeleton.ranks()).collect();
    let communicators = std::iter::once(world).chain(skeleton.communicators()).collect();
    Arc::new(SkeletonWorkload {
        skeleton: Arc::new(skeleton),
        communicators,
    })
}

/// The blocking call of a collective.
pub(super) const fn blocking_call(collective: Collective) -> Call {
    match collective {
        Collective::Barrier => Call::Barrier,
        Collective::Bcast => Call::Bcast,
        Collective::Reduce => Call::Reduce,
        Collective::Allreduce => Call::Allreduce,
        Collective::Allgather => Call::Allgather,
        Collective::Alltoall => Call::Alltoall,
        Collective::Gather => Call::Gather,
        Collective::Scatter => Call::Scatter,
        Collective::ReduceScatter => Call::ReduceScatter,
        Collective::Scan => Call::Scan,
        Collective::Exscan => Call::Exscan,
    }
}

/// The next operations of a rank.
#[derive(Default)]
pub struct Script {
    operations: VecDeque<Operation>,
    /// Requests that were not waited for.
    open: Vec<u64>,
    /// Number of the next request. Numbers are not reused.
    next_request: u64,
}

impl Script {
    /// Computes for a time, which may be 0.
    pub fn compute(&mut self, ps: u64) {
        if ps > 0 {
            self.push(Operation::Compute { ps, region: None });
        }
    }

    /// Blocking send to a rank of the world: `MPI_Send`.
    pub fn send(&mut self, to: u32, tag: u32, bytes: u64) {
        let (communicator, request, call) = (WORLD, None, Call::Send);
        self.push(Operation::Send {
            to,
            tag,
            communicator,
            bytes,
            request,
            call,
        });
    }

    /// Blocking receive from a rank of the world: `MPI_Recv`.
    pub fn receive(&mut self, from: u32, tag: u32, bytes: u64) {
        let (from, tag, communicator) = (Some(from), Some(tag), WORLD);
        let (request, call) = (None, Call::Recv);
        self.push(Operation::Receive {
            from,
            tag,
            communicator,
            bytes,
            request,
            call,
        });
    }

    /// Non-blocking send to a rank of the world: `MPI_Isend`.
    pub fn start_send(&mut self, to: u32, tag: u32, bytes: u64) {
        let (communicator, request, call) = (WORLD, self.request(), Call::Isend);
        self.push(Operation::Send {
            to,
            tag,
            communicator,
            bytes,
            request,
            call,
        });
    }

    /// Non-blocking receive from a rank of the world: `MPI_Irecv`.
    pub fn start_receive(&mut self, from: u32, tag: u32, bytes: u64) {
        let (from, tag, communicator) = (Some(from), Some(tag), WORLD);
        let (request, call) = (self.request(), Call::Irecv);
        self.push(Operation::Receive {
            from,
            tag,
            communicator,
            bytes,
            request,
            call,
        });
    }

    /// Waits for all open requests, even if there are none: `MPI_Waitall`.
    pub fn wait_all(&mut self) {
        let all = self.open.len();
        self.wait_for_first(all);
    }

    /// Waits for the `count` oldest open requests: `MPI_Waitall`.
    pub fn wait_for_first(&mut self, count: usize) {
        let rest = self.open.split_off(count.min(self.open.len()));
        let requests = std::mem::replace(&mut self.open, rest);
        self.push(Operation::Wait {
            requests,
            call: Call::Waitall,
        });
    }

    /// A collective without root; `bytes` as in [`Collective`].
    pub fn collective(&mut self, collective: Collective, communicator: Communicator, bytes: u64) {
        let call = blocking_call(collective);
        self.push(Operation::Collective {
            collective,
            communicator,
            root: 0,
            bytes,
            counts: None,
            request: None,
            reduction: None,
            call,
        });
    }

    /// A barrier of all ranks.
    pub fn barrier(&mut self) {
        self.collective(Collective::Barrier, WORLD, 0);
    }

    /// Ends an iteration, with a barrier after the last. Returns whether another follows.
    pub(super) fn end_iteration(&mut self, another_follows: bool, barriers: bool) -> bool {
        if !another_follows && barriers {
            self.barrier();
        }
        another_follows
    }

    /// An exchange of parts of different sizes: `MPI_Alltoallv`.
    pub fn all_to_all_v(&mut self, communicator: Communicator, sends: Vec<u64>, receives: Vec<u64>) {
        let total: u64 = sends.iter().sum();
        self.push(Operation::Collective {
            collective: Collective::Alltoall,
            communicator,
            root: 0,
            bytes: total.div_ceil((sends.len() as u64).max(1)),
            counts: Some(Box::new(Counts::new(sends, receives))),
            request: None,
            reduction: None,
            call: Call::Alltoallv,
        });
    }

    /// Any other operation.
    pub fn push(&mut self, operation: Operation) {
        self.operations.push_back(operation);
    }

    fn request(&mut self) -> Option<u64> {
        let request = self.next_request;
        self.next_request += 1;
        self.open.push(request);
        Some(request)
    }
}

struct SkeletonWorkload<S> {
    skeleton: Arc<S>,
    communicators: Arc<[Vec<u32>]>,
}

impl<S: Skeleton> Workload for SkeletonWorkload<S> {
    fn ranks(&self) -> u32 {
        self.skeleton.ranks()
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.communicators.clone()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        rank_exists(rank, self.skeleton.ranks())?;
        Ok(Box::new(SkeletonProgram {
            skeleton: self.skeleton.clone(),
            rank,
            step: Some(0),
            script: Script::default(),
        }))
    }

    fn reopens(&self) -> bool {
        true
    }
}

/// Refuses a rank that the motif does not have.
pub(super) fn rank_exists(rank: u32, ranks: u32) -> Result<(), TraceError> {
    if rank < ranks {
        return Ok(());
    }
    Err(TraceError {
        file: "motif".into(),
        rank: Some(rank),
        message: format!("does not exist; there are {ranks} ranks"),
    })
}

struct SkeletonProgram<S> {
    skeleton: Arc<S>,
    rank: u32,
    /// The next step; `None` after the last.
    step: Option<u64>,
    script: Script,
}

impl<S: Skeleton> Program for SkeletonProgram<S> {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        loop {
            if let Some(operation) = self.script.operations.pop_front() {
                return Ok(Some(operation));
            }
            let Some(step) = self.step else {
                return Ok(None);
            };
            let goes_on = self.skeleton.step(self.rank, step, &mut self.script);
            self.step = goes_on.then(|| step + 1);
        }
    }
}
