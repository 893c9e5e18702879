//! Mappings: which rank sits on which of the hosts that a job has taken.
//!
//! A mapping knows numbers of ranks and of the job's hosts, counted from 0 in the order of its placement; no
//! network. One mapping is one file and one line in [`MAPPINGS`].

mod blocked;
mod file;
mod linear;
mod random;
mod round_robin;

use std::path::Path;

use config::{Error, Parameter, Section};
use des::RandomStream;

use crate::setup::named::{self, Described};

/// Most ranks that a host can have.
const MAX_RANKS_PER_HOST: u32 = 4096;

/// A kind of mapping.
pub struct Mapping {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// The seats of all ranks.
    pub seat: fn(&Section, &mut MappingRequest<'_>) -> Result<RankMapping, Error>,
}

/// All mappings; the first one is the default.
pub static MAPPINGS: &[Mapping] = &[
    linear::KIND,
    round_robin::KIND,
    random::KIND,
    blocked::KIND,
    file::KIND,
];

/// The ranks that are to be seated.
pub struct MappingRequest<'a> {
    /// The job.
    job: &'a Section,
    /// How many ranks it has.
    ranks: u32,
    /// What paths are relative to.
    folder: &'a Path,
    /// Depends on the run's seed and the job's number.
    random: RandomStream,
}

/// Who sits where.
pub struct RankMapping {
    /// By rank: the number of its host among the job's.
    pub hosts: Vec<u32>,
    /// Most ranks of a host.
    pub per_host: u32,
}

/// The seats that `mapping` and `ranks_per_host` of a job ask for: `linear`, with one rank per host, by default.
///
/// # Errors
/// An unknown mapping, or parameters that make no sense.
pub fn seats(job: &Section, ranks: u32, folder: &Path, random: RandomStream) -> Result<RankMapping, Error> {
    let parts: Vec<Described> = MAPPINGS.iter().map(|m| (m.name, m.parameters)).collect();
    let mut crew = MappingRequest {
        job,
        ranks,
        folder,
        random,
    };
    named::build(job, "mapping", &parts, |at, section| {
        (MAPPINGS[at].seat)(section, &mut crew)
    })
}

impl MappingRequest<'_> {
    /// Ranks that share a host.
    fn per_host(&self, default: u32) -> Result<u32, Error> {
        let per_host: u32 = self.job.or("ranks_per_host", default)?;
        if !(1..=MAX_RANKS_PER_HOST).contains(&per_host) {
            let message = format!("{per_host} is out of range; expected 1 to {MAX_RANKS_PER_HOST}");
            return Err(self.job.error("ranks_per_host", message));
        }
        Ok(per_host)
    }

    /// As many hosts as are needed, each with so many ranks; `host` gives the number of a rank's host, of all.
    fn filled(&self, host: impl Fn(u32, u32, u32) -> u32) -> Result<RankMapping, Error> {
        let per_host = self.per_host(1)?;
        let hosts = self.ranks.div_ceil(per_host);
        Ok(RankMapping {
            hosts: (0..self.ranks).map(|rank| host(rank, per_host, hosts)).collect(),
            per_host,
        })
    }
}

impl RankMapping {
    /// Hosts that it needs.
    pub fn host_count(&self) -> u32 {
        self.hosts.iter().max().map_or(0, |last| last + 1)
    }
}

#[cfg(test)]
mod tests;
