//! The operations of a rank: a position in the steps, and the program of the current motif.

use std::sync::Arc;

use crate::motif::skeleton::{blocking_call, rank_exists};
use crate::{Collective, Communicator, Operation, Program, TraceError, WORLD, Workload};

use super::computation::Computation;
use super::over::Over;

/// Nested lists of phases at most, the outermost included.
pub(super) const MAX_DEPTH: usize = 8;

/// Loops that enclose each other at most: one for each list of phases, and one for a single phase in the innermost.
pub(super) const LOOPS: usize = MAX_DEPTH + 1;

/// All phases. Ranks share them.
pub(super) struct Phases {
    pub(super) ranks: u32,
    /// Members of each communicator, that of all ranks first.
    pub(super) communicators: Arc<[Vec<u32>]>,
    /// Executed from the first to the last.
    pub(super) steps: Vec<PhaseStep>,
}

/// One step of all ranks.
pub(super) enum PhaseStep {
    /// All operations of a motif.
    Motif {
        workload: Arc<dyn Workload>,
        /// What is added to the number of its communicators, that of all ranks excepted.
        offset: Communicator,
    },
    Collective {
        collective: Collective,
        bytes: u64,
        root: u32,
        over: Over,
        /// Communicator of the first group.
        first: Communicator,
    },
    Compute(Computation),
    /// The end of a loop.
    Repeat {
        /// Its first step.
        first: usize,
        /// How often the loop is executed.
        iterations: u32,
        /// Number of loops that enclose it.
        level: usize,
    },
}

/// A job made of phases.
pub(super) struct PhasesWorkload {
    phases: Arc<Phases>,
}

impl PhasesWorkload {
    pub(super) fn new(phases: Phases) -> PhasesWorkload {
        PhasesWorkload {
            phases: Arc::new(phases),
        }
    }
}

impl Workload for PhasesWorkload {
    fn ranks(&self) -> u32 {
        self.phases.ranks
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.phases.communicators.clone()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        rank_exists(rank, self.phases.ranks)?;
        Ok(Box::new(PhasesProgram {
            phases: self.phases.clone(),
            rank,
            step: 0,
            done: [0; LOOPS],
            silent: u16::MAX,
            draws: 0,
            offset: 0,
            motif: None,
        }))
    }

    fn reopens(&self) -> bool {
        true
    }
}

/// The position of one rank. Its size depends neither on ranks nor on repetitions.
pub(super) struct PhasesProgram {
    phases: Arc<Phases>,
    rank: u32,
    /// The next step.
    step: usize,
    /// Complete iterations of the current loops.
    done: [u32; LOOPS],
    /// Bit of each loop whose current iteration has given no operation.
    silent: u16,
    /// Number of random times that were drawn.
    draws: u64,
    /// As in [`PhaseStep::Motif`], of the current motif.
    offset: Communicator,
    /// The current motif.
    motif: Option<Box<dyn Program>>,
}

impl Program for PhasesProgram {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        loop {
            if let Some(motif) = &mut self.motif {
                if let Some(mut operation) = motif.next()? {
                    if self.offset > 0 {
                        renumber(&mut operation, self.offset);
                    }
                    self.silent = 0;
                    return Ok(Some(operation));
                }
                self.motif = None;
            }
            let Some(step) = self.phases.steps.get(self.step) else {
                return Ok(None);
            };
            self.step += 1;
            let operation = match step {
                PhaseStep::Motif { workload, offset } => {
                    self.offset = *offset;
                    self.motif = Some(workload.program(self.rank)?);
                    None
                }
                PhaseStep::Collective {
                    collective,
                    bytes,
                    root,
                    over,
                    first,
                } => over.group(self.rank).map(|group| Operation::Collective {
                    collective: *collective,
                    communicator: first + group,
                    root: *root,
                    bytes: *bytes,
                    counts: None,
                    request: None,
                    reduction: None,
                    call: blocking_call(*collective),
                }),
                PhaseStep::Compute(computation) => {
                    let ps = computation.ps(self.rank, self.draws);
                    self.draws += u64::from(computation.is_drawn());
                    (!computation.is_free()).then_some(Operation::Compute { ps, region: None })
                }
                PhaseStep::Repeat {
                    first,
                    iterations,
                    level,
                } => {
                    let (done, bit) = (&mut self.done[*level], 1 << level);
                    *done += 1;
                    // An iteration without operations takes no simulated time, and the following are like it.
                    if *done < *iterations && self.silent & bit == 0 {
                        self.step = *first;
                    } else {
                        *done = 0;
                    }
                    self.silent |= bit;
                    None
                }
            };
            if operation.is_some() {
                self.silent = 0;
                return Ok(operation);
            }
        }
    }
}

/// Adds `offset` to the communicator of an operation, unless it is that of all ranks.
fn renumber(operation: &mut Operation, offset: Communicator) {
    match operation {
        Operation::Send { communicator, .. }
        | Operation::Receive { communicator, .. }
        | Operation::Probe { communicator, .. }
        | Operation::Iprobe { communicator, .. }
        | Operation::MatchedProbe { communicator, .. }
        | Operation::NewCommunicator { communicator, .. }
        | Operation::Collective { communicator, .. }
        | Operation::Put { communicator, .. }
        | Operation::Get { communicator, .. }
        | Operation::Fence { communicator, .. } => {
            if *communicator != WORLD {
                *communicator += offset;
            }
        }
        Operation::Compute { .. }
        | Operation::Wait { .. }
        | Operation::Select { .. }
        | Operation::ReceiveMatched { .. }
        | Operation::Cancel { .. }
        | Operation::RepetitionEnd { .. } => {}
    }
}
