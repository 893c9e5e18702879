//! Mappings: the host of each rank, among the hosts of a job.
//!
//! A mapping knows the numbers of ranks and of the job's hosts, counted from 0 in the order of the placement. It does
//! not know the network. One mapping is one file and one line in [`MAPPINGS`].

mod blocked;
mod file;
mod linear;
mod random;
mod round_robin;

use std::path::Path;

use config::{Error, Parameter, Section};
use des::RandomStream;

use crate::setup::named::{self, Described};

/// Largest number of ranks of a host.
const MAX_RANKS_PER_HOST: u32 = 4096;

/// A kind of mapping.
pub struct Mapping {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// Summary of one line.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Maps all ranks.
    pub map: fn(&Section, &mut MappingRequest<'_>) -> Result<RankMapping, Error>,
}

/// All mappings; the first one is the default.
pub static MAPPINGS: &[Mapping] = &[
    linear::KIND,
    round_robin::KIND,
    random::KIND,
    blocked::KIND,
    file::KIND,
];

/// The ranks to map.
pub struct MappingRequest<'a> {
    /// The job.
    job: &'a Section,
    /// Number of ranks.
    ranks: u32,
    /// Base of relative paths.
    folder: &'a Path,
    /// Random stream of the run's seed and the job's number.
    random: RandomStream,
}

/// The host of each rank.
pub struct RankMapping {
    /// Number of the host among those of the job, by rank.
    pub hosts: Vec<u32>,
    /// Largest number of ranks of a host.
    pub per_host: u32,
}

/// Maps ranks as `mapping` and `ranks_per_host` of a job specify; by default `linear` with one rank per host.
///
/// # Errors
/// An unknown mapping, or invalid parameters.
pub fn map_ranks(
    job: &Section,
    ranks: u32,
    folder: &Path,
    random: RandomStream,
) -> Result<RankMapping, Error> {
    let parts: Vec<Described> = MAPPINGS.iter().map(|m| (m.name, m.parameters)).collect();
    let mut request = MappingRequest {
        job,
        ranks,
        folder,
        random,
    };
    named::build(job, "mapping", &parts, |at, section| {
        (MAPPINGS[at].map)(section, &mut request)
    })
}

impl MappingRequest<'_> {
    /// Number of ranks that share a host.
    fn per_host(&self, default: u32) -> Result<u32, Error> {
        let per_host: u32 = self.job.or("ranks_per_host", default)?;
        if !(1..=MAX_RANKS_PER_HOST).contains(&per_host) {
            let message = format!("{per_host} is out of range; expected 1 to {MAX_RANKS_PER_HOST}");
            return Err(self.job.error("ranks_per_host", message));
        }
        Ok(per_host)
    }

    /// Uses as many hosts as needed. `host` returns the host of a rank, from the rank, the ranks per host and the
    /// number of hosts.
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
    /// Number of hosts that the mapping uses.
    pub fn host_count(&self) -> u32 {
        self.hosts.iter().max().map_or(0, |last| last + 1)
    }
}

#[cfg(test)]
mod tests;
