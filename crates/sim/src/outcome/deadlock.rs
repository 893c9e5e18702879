//! Deadlocks of applications: the error that names the ranks that wait forever, and why they may wait.
//!
//! The ranks of a job that disagree about a collective are an error, too, and often the reason why ranks wait.

use std::borrow::Cow;

use des::{Finished, Lps, Time};
use experiment::{Job, JobKind};
use mpi::{Rank, ReplayError};
use topology::HostId;

use crate::Error;
use crate::lp::host::RankSlot;
use crate::lp::model::NetworkLp;
use crate::lp::simulation::Simulation;
use crate::outcome::wait_cycles::{Awaited, wait_cycles};

/// Number of ranks that an error about a deadlock names.
const NAMED_RANKS: usize = 8;

/// Checks that no rank waits forever, and that the ranks of each job agree about their collectives.
///
/// # Errors
/// Ranks that wait forever, or that disagree about a collective.
pub fn check_ranks(
    simulation: &Simulation,
    finished: &Finished<Simulation>,
    drained: bool,
) -> Result<(), Error> {
    let idle = if drained {
        Some(finished.time)
    } else {
        stuck(&finished.lps)
    };
    let agreement = check_collectives(simulation, &finished.lps);
    match idle {
        Some(time) => waiting_ranks(simulation, &finished.lps, time, agreement),
        None => agreement,
    }
}

/// When the termination detector found that no rank can continue.
fn stuck(lps: &Lps<NetworkLp>) -> Option<Time> {
    lps.iter().find_map(|lp| match lp {
        NetworkLp::TerminationDetector(termination_detector) => termination_detector.stuck(),
        _ => None,
    })
}

/// Checks that the ranks of each job agree about their collectives.
fn check_collectives(simulation: &Simulation, lps: &Lps<NetworkLp>) -> Result<(), Error> {
    for (index, job) in simulation.jobs.iter().enumerate() {
        let JobKind::Ranks(ranks) = &job.kind else {
            continue;
        };
        let state = |(rank, host): (u32, &HostId)| {
            let slot = rank_slot(simulation, lps, (index as u16, rank, *host))?;
            slot.state.as_ref()
        };
        let states: Vec<Option<&Rank>> = (0..).zip(&ranks.hosts).map(state).collect();
        let program = (!job.reacts()).then_some(|rank| ranks.workload.program(rank));
        mpi::check_agreement(&ranks.mpi, &states, program).map_err(|source| {
            let job = job.name.clone();
            let source = with_limit(source, ranks.workload.matching_limit().as_deref());
            Error::Replay { job, source }
        })?;
    }
    Ok(())
}

/// A disagreement of ranks with the limit of their workload that may explain it.
fn with_limit(error: ReplayError, limit: Option<&str>) -> ReplayError {
    match (error, limit) {
        (
            ReplayError::Collective {
                communicator,
                kind,
                number,
                what,
            },
            Some(limit),
        ) => ReplayError::Collective {
            communicator,
            kind,
            number,
            what: format!("{what}; {limit}"),
        },
        (error, _) => error,
    }
}

/// The slot of a rank, given with its job and host.
fn rank_slot<'a>(
    simulation: &Simulation,
    lps: &'a Lps<NetworkLp>,
    (job, rank, host): (u16, u32, HostId),
) -> Option<&'a RankSlot> {
    let NetworkLp::Host(host) = &lps[simulation.numbering.host(host)] else {
        return None;
    };
    let slot = simulation.occupants.slot(job, rank);
    host.ranks().get(usize::from(slot))
}

/// Checks that all ranks have finished when no event for them is left. `agreement` is the result of
/// [`check_collectives`].
fn waiting_ranks(
    simulation: &Simulation,
    lps: &Lps<NetworkLp>,
    time: Time,
    agreement: Result<(), Error>,
) -> Result<(), Error> {
    let mut lines = Vec::new();
    let mut count = 0u64;
    let mut awaited: Vec<Awaited> = Vec::new();
    awaited.resize_with(simulation.jobs.len(), Vec::new);
    for (job, rank, host) in ranks(simulation) {
        let Some(slot) = rank_slot(simulation, lps, (job, rank, host)) else {
            continue;
        };
        let state = slot
            .state
            .as_ref()
            .filter(|state| !state.finished() && state.stopped_at().is_none());
        // Ranks come in ascending order.
        awaited[usize::from(job)].push(state.map(Rank::awaited_ranks));
        let Some(state) = state else {
            continue;
        };
        count += 1;
        if lines.len() < NAMED_RANKS {
            let what = state.waiting_for().unwrap_or_else(|| "nothing known".into());
            let name = &simulation.jobs[usize::from(job)].name;
            lines.push(format!("  job '{name}', rank {rank}: {what}"));
        }
    }
    if count == 0 {
        return agreement;
    }
    let more = count as usize - lines.len();
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    for (job, awaited) in simulation.jobs.iter().zip(&awaited) {
        let cycles = wait_cycles(awaited).into_iter();
        lines.extend(cycles.map(|cycle| format!("  job '{}': {cycle}", job.name)));
    }
    match agreement {
        Err(disagreement) => lines.push(format!("  {disagreement}")),
        Ok(()) => {
            for (job, awaited) in simulation.jobs.iter().zip(&awaited) {
                let is_waiting = awaited.iter().any(Option::is_some);
                let limit = matching_limit(job).filter(|_| is_waiting);
                lines.extend(limit.map(|limit| format!("  job '{}': {limit}", job.name)));
            }
        }
    }
    Err(Error::Deadlock(format!(
        "the application waits forever: at {time} none of its messages is in flight, and {count} ranks have not finished\n{}",
        lines.join("\n")
    )))
}

/// The limit of a job's workload that may explain why its ranks wait.
fn matching_limit(job: &Job) -> Option<Cow<'static, str>> {
    match &job.kind {
        JobKind::Ranks(ranks) => ranks.workload.matching_limit(),
        JobKind::Traffic(_) => None,
    }
}

/// Job, rank and host of all ranks.
fn ranks(simulation: &Simulation) -> impl Iterator<Item = (u16, u32, HostId)> + '_ {
    simulation.jobs.iter().enumerate().flat_map(|(index, job)| {
        let hosts = match &job.kind {
            JobKind::Ranks(ranks) => ranks.hosts.as_slice(),
            JobKind::Traffic(_) => &[],
        };
        hosts
            .iter()
            .enumerate()
            .map(move |(rank, host)| (index as u16, rank as u32, *host))
    })
}
