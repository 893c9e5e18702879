//! Whether the ranks of a job agree about their collectives, after a run.

use workload::{Program, TraceError};

use crate::agreement::{RankHistories, check_histories};
use crate::rank::Rank;
use crate::{MpiJob, ReplayError};

/// Checks after a run that the ranks of a job agree about their collectives. `ranks` has one entry for each rank,
/// `None` if the rank has not started. `program` opens the program of a rank again; `None` if programs cannot be read
/// again, so that the error does not name the calls.
///
/// A rank that has not finished may have called fewer collectives than others.
///
/// # Errors
/// [`ReplayError::Collective`]: ranks disagree. [`ReplayError::Trace`]: a program cannot be read again.
pub fn check_agreement(
    job: &MpiJob,
    ranks: &[Option<&Rank>],
    program: Option<impl Fn(u32) -> Result<Box<dyn Program>, TraceError>>,
) -> Result<(), ReplayError> {
    let ranks: Vec<_> = ranks
        .iter()
        .map(|rank| {
            rank.map(|rank| RankHistories {
                histories: rank.measured_histories(),
                finished: rank.finished(),
            })
        })
        .collect();
    check_histories(job, &ranks, program)
}
