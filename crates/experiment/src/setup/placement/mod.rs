//! Placements: the order in which a job takes its hosts.
//!
//! A placement knows the free hosts, their routers and groups, and a random stream. It does not know the ranks; the
//! mapping assigns ranks to hosts. One placement is one file and one line in [`PLACEMENTS`].
//!
//! Source: the job placements of Jain, Bhatele, Ni, Wright and Kale, *Maximizing throughput on a dragonfly
//! network* (SC14), and Yang, Jenkins, Mubarak, Ross and Lan, *Watch out for the bully! Job interference study
//! on dragonfly network* (SC16): contiguous, random hosts, random routers, random groups, clusters.

mod clusters;
mod file;
mod hostlist;
mod linear;
mod random;
mod random_groups;
mod random_routers;
mod round_robin;

use std::collections::BTreeMap;
use std::path::Path;

use config::{Error, Parameter, Section};
use des::RandomStream;
use topology::HostId;
use workload::traffic::Geometry;

use crate::setup::geometry::HostGeometry;
use crate::setup::named::{self, Described};

/// A kind of placement.
pub struct Placement {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// Summary of one line.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Whether the placement names single hosts, instead of ordering all free hosts.
    pub names_hosts: bool,
    /// The hosts in the order in which the job takes them, without repetition.
    pub order: fn(&Section, &mut PlacementSite<'_>) -> Result<Vec<HostId>, Error>,
}

/// All placements; the first one is the default.
pub static PLACEMENTS: &[Placement] = &[
    linear::KIND,
    random::KIND,
    random_routers::KIND,
    random_groups::KIND,
    round_robin::KIND,
    clusters::KIND,
    file::KIND,
    hostlist::KIND,
];

/// The inputs of a placement.
pub struct PlacementSite<'a> {
    /// Free hosts in ascending order.
    pub free: Vec<HostId>,
    /// Who has a host that is not free, for messages.
    pub holder: &'a dyn Fn(HostId) -> String,
    /// Number of hosts of the network.
    pub hosts: u32,
    /// Geometry of the network.
    pub geometry: &'a HostGeometry<'a>,
    /// Base of relative paths.
    pub folder: &'a Path,
    /// Random stream of the run's seed and the job's number.
    pub random: RandomStream,
}

/// Hosts in the order in which a job takes them.
pub struct HostOrder {
    /// The hosts, without repetition.
    pub hosts: Vec<HostId>,
    /// Whether the experiment names single hosts.
    pub is_named: bool,
}

/// The order that the key `placement` of a job specifies; `linear` by default.
///
/// # Errors
/// An unknown placement, invalid parameters, or a placement that this network does not support.
pub fn order(job: &Section, site: &mut PlacementSite<'_>) -> Result<HostOrder, Error> {
    let parts: Vec<Described> = PLACEMENTS.iter().map(|p| (p.name, p.parameters)).collect();
    named::build(job, "placement", &parts, |at, section| {
        let placement = &PLACEMENTS[at];
        Ok(HostOrder {
            hosts: (placement.order)(section, site)?,
            is_named: placement.names_hosts,
        })
    })
}

impl PlacementSite<'_> {
    /// Free hosts by owner, in the order of the first host of each owner.
    fn by(&self, owner: impl Fn(HostId) -> u64) -> Vec<Vec<HostId>> {
        let mut parts: BTreeMap<u64, Vec<HostId>> = BTreeMap::new();
        for host in &self.free {
            parts.entry(owner(*host)).or_default().push(*host);
        }
        let mut parts: Vec<_> = parts.into_values().collect();
        parts.sort_unstable();
        parts
    }

    /// Free hosts by router.
    fn by_router(&self) -> Vec<Vec<HostId>> {
        self.by(|host| u64::from(self.geometry.router(host.0)))
    }

    /// Free hosts by group.
    ///
    /// # Errors
    /// The network has no groups, and `key` of `section` needs them.
    fn by_group(&self, section: &Section, key: &str) -> Result<Vec<Vec<HostId>>, Error> {
        if self
            .free
            .first()
            .is_some_and(|host| self.geometry.group(host.0).is_none())
        {
            let message = format!(
                "needs groups; expected a network with groups (such as a dragonfly) or levels (a fat tree), or a \
                 placement by routers, and this is a {}",
                self.geometry.describe()
            );
            return Err(section.error(key, message));
        }
        Ok(self.by(|host| self.geometry.group(host.0).unwrap_or_default()))
    }

    /// Hosts that the experiment names, each with its name in messages.
    ///
    /// # Errors
    /// A host that does not exist, is not free, or is named twice.
    fn named(&self, section: &Section, key: &str, named: Vec<(String, u64)>) -> Result<Vec<HostId>, Error> {
        let mut taken = BTreeMap::new();
        let mut hosts = Vec::with_capacity(named.len());
        for (name, number) in named {
            let host = u32::try_from(number).ok().filter(|host| *host < self.hosts);
            let Some(host) = host.map(HostId) else {
                let message = format!(
                    "{name}: host {number} does not exist; expected 0 to {}",
                    self.hosts - 1
                );
                return Err(section.error(key, message));
            };
            if self.free.binary_search(&host).is_err() {
                let message = format!(
                    "{name}: host {number} is taken by the ranks of {}",
                    (self.holder)(host)
                );
                return Err(section.error(key, message));
            }
            if let Some(before) = taken.insert(host, name.clone()) {
                let message = format!("{name}: host {number} is named twice, by {before} before");
                return Err(section.error(key, message));
            }
            hosts.push(host);
        }
        Ok(hosts)
    }
}

/// Shuffles a list: R. A. Fisher and F. Yates, as R. Durstenfeld, "Algorithm 235" (CACM 1964).
pub(crate) fn shuffle<T>(random: &mut RandomStream, list: &mut [T]) {
    for last in (1..list.len()).rev() {
        let other = (u128::from(random.next_u64()) * (last as u128 + 1)) >> 64;
        list.swap(last, other as usize);
    }
}

/// One host of each part in turn.
fn in_turn(parts: &[Vec<HostId>]) -> Vec<HostId> {
    let rounds = parts.iter().map(Vec::len).max().unwrap_or(0);
    (0..rounds)
        .flat_map(|round| parts.iter().filter_map(move |part| part.get(round).copied()))
        .collect()
}

#[cfg(test)]
mod tests;
