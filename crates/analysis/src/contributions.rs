//! What adds to a critical path: its shares by cause, and its parts by rank, call, function and links.
//!
//! A computation is named by its function and the MPI call that follows. What a rank computes on the path beyond the
//! mean of all computations of that name is imbalance of this rank. Transfer is divided into latency, which the run
//! counted along the path, memory, links that a message's own packets queue for, and bytes on the injection link.
//! `docs/methods/critical-path.md` describes both.

use std::collections::BTreeMap;

use results::{BoundBy, JobSummary, LinkShare, PathContribution, PathWait};

use crate::columns::Name;
use crate::explained::Explained;
use crate::walk::{ComputeSite, HeldBy, PathStepKind};

/// The class of links at which bytes of messages count that no other link delays.
const INJECTION: &str = "injection";

/// Time by rank.
#[derive(Default)]
struct OfRanks {
    ps: BTreeMap<u32, u64>,
}

impl OfRanks {
    fn add(&mut self, rank: u32, ps: u64) {
        *self.ps.entry(rank).or_default() += ps;
    }

    fn total(&self) -> u64 {
        self.ps.values().sum()
    }

    /// The rank with the most; the lowest of equal ones.
    fn most(&self) -> Option<(u32, u64)> {
        let ranks = self.ps.iter().map(|(rank, ps)| (*rank, *ps));
        ranks.max_by_key(|(rank, ps)| (*ps, std::cmp::Reverse(*rank)))
    }
}

/// The time of a path, in picoseconds, by what takes it.
#[derive(Default)]
struct PathTimes {
    /// Computation of each rank at each site, and its number of computations.
    computations: BTreeMap<ComputeSite, BTreeMap<u32, (u64, u64)>>,
    overhead: BTreeMap<Option<Name>, OfRanks>,
    transfer: u64,
    memory: u64,
    /// Waits for links by class. The gap of the NIC counts at the injection link.
    waits: BTreeMap<String, u64>,
    unknown: u64,
}

impl PathTimes {
    fn of(explained: &Explained<'_>) -> PathTimes {
        let mut times = PathTimes::default();
        for step in &explained.path.steps {
            let ps = step.end - step.start;
            match step.what {
                PathStepKind::Compute { rank, site } => {
                    let of_rank = times
                        .computations
                        .entry(site)
                        .or_default()
                        .entry(rank)
                        .or_default();
                    *of_rank = (of_rank.0 + ps, of_rank.1 + 1);
                }
                PathStepKind::Overhead { rank, call } => {
                    times.overhead.entry(call).or_default().add(rank, ps)
                }
                PathStepKind::Transfer(leg) if leg.number.is_none() => times.memory += ps,
                PathStepKind::Transfer(_) => times.transfer += ps,
                PathStepKind::PacketWait { at, .. } => {
                    *times.waits.entry(class(explained, at)).or_default() += ps;
                }
                PathStepKind::Unknown { .. } => times.unknown += ps,
            }
        }
        times
    }

    fn compute(&self) -> u64 {
        let of_ranks = self.computations.values().flat_map(BTreeMap::values);
        of_ranks.map(|(ps, _)| ps).sum()
    }
}

/// The class of the links of a wait.
fn class(explained: &Explained<'_>, at: HeldBy) -> String {
    match at {
        HeldBy::Gap => INJECTION.into(),
        HeldBy::Link { link, .. } => class_of_link(explained, link),
    }
}

fn class_of_link(explained: &Explained<'_>, link: u32) -> String {
    let link = explained.links.get(&link);
    link.map_or_else(|| INJECTION.into(), |link| link.class.clone())
}

/// Parts of the transfer on a path, in picoseconds.
struct TransferParts {
    latency: u64,
    memory: u64,
    /// Bytes of messages by class of links.
    bytes: BTreeMap<String, u64>,
}

impl TransferParts {
    /// Divides the transfer of `times`. `latency` is that of the path as the run counted it, memory included.
    fn of(explained: &Explained<'_>, times: &PathTimes, latency: u64, memory_latency: u64) -> TransferParts {
        let memory_latency = memory_latency
            .saturating_mul(explained.path.memory_messages)
            .min(times.memory);
        let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
        let mut rest = times.transfer;
        for (link, ps) in &explained.path.serialized {
            let taken = (*ps).min(rest);
            rest -= taken;
            *bytes.entry(class_of_link(explained, *link)).or_default() += taken;
        }
        let in_network = latency.saturating_sub(memory_latency).min(rest);
        *bytes.entry(INJECTION.into()).or_default() += rest - in_network;
        TransferParts {
            latency: in_network + memory_latency,
            memory: times.memory - memory_latency,
            bytes,
        }
    }
}

/// The contributions to a path, the largest first, and the shares of its causes if the run counted the latency.
pub(crate) fn of(
    explained: &Explained<'_>,
    job: &JobSummary,
    memory_latency: u64,
    waits: &[PathWait],
) -> (Vec<PathContribution>, Option<BoundBy>) {
    let times = PathTimes::of(explained);
    let path_ps: u64 = explained
        .path
        .steps
        .iter()
        .map(|step| step.end - step.start)
        .sum();
    let counted = job.bound_by.as_ref();
    let latency = counted.map_or(0.0, |counted| counted.latency) * path_ps as f64;
    let transfer = TransferParts::of(explained, &times, latency.round() as u64, memory_latency);
    let bound_by = counted.filter(|_| path_ps > 0 && job.finished);
    let bound_by = bound_by.map(|counted| shares(&times, &transfer, counted, path_ps, mean_compute(job)));
    let mut all = Contributions {
        explained,
        path_ps,
        all: Vec::new(),
    };
    all.computation(&times, mean_compute(job));
    all.overhead(&times);
    all.network(&times, &transfer, waits);
    (all.sorted(), bound_by)
}

/// Computation of a rank, mean over the ranks of a job, in picoseconds.
fn mean_compute(job: &JobSummary) -> u64 {
    (job.compute_ns * 1000.0).round() as u64
}

/// The shares of a path, with the classes of links in the order of the counted ones.
fn shares(
    times: &PathTimes,
    transfer: &TransferParts,
    counted: &BoundBy,
    path_ps: u64,
    mean_compute_ps: u64,
) -> BoundBy {
    let share = |ps: u64| ps as f64 / path_ps as f64;
    let compute = times.compute();
    let computation = compute.min(mean_compute_ps);
    let at = |class: &str| -> u64 {
        let of = |all: &BTreeMap<String, u64>| all.get(class).copied().unwrap_or(0);
        of(&transfer.bytes) + of(&times.waits)
    };
    let mut classes: Vec<&str> = counted.links.iter().map(|link| link.class.as_str()).collect();
    for class in transfer.bytes.keys().chain(times.waits.keys()) {
        if !classes.contains(&class.as_str()) {
            classes.push(class);
        }
    }
    BoundBy {
        computation: share(computation),
        imbalance: share(compute - computation),
        overhead: share(times.overhead.values().map(OfRanks::total).sum()),
        latency: share(transfer.latency),
        memory: share(transfer.memory),
        links: classes
            .into_iter()
            .map(|class| LinkShare {
                class: class.into(),
                share: share(at(class)),
            })
            .collect(),
    }
}

/// Contributions found so far.
struct Contributions<'e, 'a> {
    explained: &'e Explained<'a>,
    path_ps: u64,
    all: Vec<PathContribution>,
}

impl Contributions<'_, '_> {
    fn add(&mut self, cause: &str, ps: u64, more: PathContribution) {
        if ps == 0 {
            return;
        }
        self.all.push(PathContribution {
            cause: cause.into(),
            time_ns: ps as f64 / 1000.0,
            share: ps as f64 / self.path_ps as f64,
            ..more
        });
    }

    /// A place of the program, with the rank that has the most of its time.
    fn at(&self, site: ComputeSite, most: Option<(u32, u64)>) -> PathContribution {
        let text = |name: Option<Name>| name.map(|name| self.explained.text(name).to_string());
        PathContribution {
            rank: most.map(|(rank, _)| rank),
            rank_ns: most.map(|(_, ps)| ps as f64 / 1000.0),
            call: text(site.before),
            function: text(site.region),
            ..PathContribution::default()
        }
    }

    /// Computation, and the imbalance in it: first that of single ranks, then that of chains, which is what the path
    /// computes beyond the mean of a rank without a rank that computes long.
    fn computation(&mut self, times: &PathTimes, mean_compute_ps: u64) {
        let mut usual: Vec<(ComputeSite, OfRanks)> = Vec::new();
        let (mut late, mut rest) = (0, 0);
        for (site, ranks) in &times.computations {
            let mut of_site = OfRanks::default();
            for (rank, (ps, count)) in ranks {
                let longer = ps.saturating_sub(self.mean(*site, *count));
                let most = Some((*rank, longer));
                self.add("imbalance", longer, self.at(*site, most));
                of_site.add(*rank, ps - longer);
                late += longer;
            }
            rest += of_site.total();
            usual.push((*site, of_site));
        }
        let chain = (late + rest)
            .saturating_sub(mean_compute_ps)
            .saturating_sub(late)
            .min(rest);
        self.add("imbalance", chain, PathContribution::default());
        let mut left = chain;
        for (site, of_site) in usual {
            let total = of_site.total();
            // The chain takes the same part of each site; rounding up leaves nothing for the last.
            let taken = part(chain, total, rest).min(left);
            left -= taken;
            let kept = total - taken;
            let most = of_site.most().map(|(rank, ps)| (rank, part(kept, ps, total)));
            self.add("computation", kept, self.at(site, most));
        }
    }

    /// The mean time of so many computations of a site, over all ranks.
    fn mean(&self, site: ComputeSite, count: u64) -> u64 {
        let totals = self
            .explained
            .path
            .computations
            .get(&site)
            .copied()
            .unwrap_or_default();
        part(totals.ps, count, totals.count)
    }

    fn overhead(&mut self, times: &PathTimes) {
        for (call, ranks) in &times.overhead {
            let site = ComputeSite {
                region: None,
                before: *call,
            };
            self.add("MPI overhead", ranks.total(), self.at(site, ranks.most()));
        }
    }

    fn network(&mut self, times: &PathTimes, transfer: &TransferParts, waits: &[PathWait]) {
        self.add("latency", transfer.latency, PathContribution::default());
        self.add("memory bandwidth", transfer.memory, PathContribution::default());
        self.add("unknown", times.unknown, PathContribution::default());
        for (class, ps) in &transfer.bytes {
            self.add(&format!("{class} links"), *ps, PathContribution::default());
        }
        for wait in waits {
            let place = PathContribution {
                place: Some(wait.place.clone()),
                holder: wait.holder.clone(),
                ..PathContribution::default()
            };
            let class = wait.class.as_deref().unwrap_or(INJECTION);
            self.add(
                &format!("{class} links"),
                (wait.wait_ns * 1000.0).round() as u64,
                place,
            );
        }
    }

    fn sorted(mut self) -> Vec<PathContribution> {
        self.all.sort_by(|a, b| b.time_ns.total_cmp(&a.time_ns));
        self.all.truncate(LISTED);
        self.all
    }
}

/// Maximum number of contributions.
const LISTED: usize = 50;

/// `whole * share / of`, rounded up; 0 of nothing.
fn part(whole: u64, share: u64, of: u64) -> u64 {
    let product = u128::from(whole) * u128::from(share);
    u64::try_from(product.div_ceil(u128::from(of.max(1)))).unwrap_or(u64::MAX)
}
