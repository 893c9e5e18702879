//! The energy of a run and of its jobs, from the busy times of links. `docs/methods/energy.md` has the model.
//!
//! Everything is a whole number: microwatts times picoseconds are attojoules. Where a quotient is rounded down, the
//! rest is part of what no job has, so that jobs and that rest add up to the energy of the run.

use std::collections::BTreeMap;

use des::Time;
use experiment::PowerSetting;
use results::{ComponentTotals, EnergyTotals, JobEnergyTotals, JobTotals};
use topology::{HOST_LINK, HostId, LinkClass, Peer, Port, RouterId};

use crate::lp::model::NetworkLp;
use crate::lp::not_begun::{Reservation, late_reservations};
use crate::lp::simulation::Simulation;
use crate::lp::times_by_job::TimesByJob;
use crate::outcome::final_state::FinalState;

/// The energy of a run, if the experiment gives the power of its parts. Also sets that of the jobs, whose times are
/// known.
pub fn energy(state: &FinalState<'_>, jobs: &mut [JobTotals]) -> Option<EnergyTotals> {
    let simulation = state.simulation;
    let power = simulation.power.as_ref()?;
    let load = Load::of(state, power);
    let time = u128::from(state.end.ps());
    let parts = parts(simulation, power, time, &load);
    let idle_uw: u128 = idle(simulation, power).iter().map(Idle::uw).sum();
    let held = held(simulation, state.end, jobs);
    let hosts = u128::from(simulation.network.hosts().max(1));
    let mut unallocated = JobEnergyTotals {
        idle_aj: parts.iter().map(|part| part.idle_aj).sum(),
        dynamic_aj: parts.iter().map(|part| part.dynamic_aj).sum(),
    };
    for ((job, held), dynamic_aj) in jobs.iter_mut().zip(held).zip(load.dynamic_of_jobs(power)) {
        let of_job = JobEnergyTotals {
            idle_aj: mul_div(held, idle_uw, hosts),
            dynamic_aj,
        };
        unallocated.idle_aj -= of_job.idle_aj;
        unallocated.dynamic_aj -= of_job.dynamic_aj;
        job.energy = Some(of_job);
    }
    Some(EnergyTotals {
        time_ps: state.end.ps(),
        parts,
        unallocated,
    })
}

/// Parts that draw the same power.
struct Idle {
    part: &'static str,
    kind: String,
    count: u64,
    /// Power of each without traffic.
    each_uw: u64,
}

impl Idle {
    fn uw(&self) -> u128 {
        u128::from(self.count) * u128::from(self.each_uw)
    }
}

/// All parts, with what they draw without traffic: kinds of routers, link classes, NIC ports, hosts.
fn idle(simulation: &Simulation, power: &PowerSetting) -> Vec<Idle> {
    let network = &simulation.network;
    let topology = network.topology.as_ref();
    let mut ends = vec![0; power.links.len()];
    ends[usize::from(HOST_LINK.0)] = u64::from(network.hosts()) * u64::from(network.rails.count());
    for router in (0..topology.routers()).map(RouterId) {
        for class in wired(simulation, router).map(|(_, class)| class) {
            ends[usize::from(class.0)] += 1;
        }
    }
    let mut routers = vec![0; power.kinds.len()];
    for kind in &power.kind_of {
        routers[*kind as usize] += 1;
    }
    let part = |part, kind: &str, count, each_uw| Idle {
        part,
        kind: kind.into(),
        count,
        each_uw,
    };
    let routers = power.kinds.iter().zip(routers);
    let routers = routers.map(|(kind, count)| part("routers", &kind.name, count, kind.draw.idle.uw));
    let links = topology.link_classes().into_iter().zip(&power.links).zip(ends);
    let links = links.map(|((class, draw), count)| part("links", class, count, draw.idle.uw));
    let nics = u64::from(network.hosts()) * u64::from(network.rails.count());
    let nics = part("nics", "", nics, power.nic.idle.uw);
    let hosts = part("hosts", "", network.hosts().into(), power.host.uw);
    routers.chain(links).chain([nics, hosts]).collect()
}

/// The energy of all parts.
fn parts(simulation: &Simulation, power: &PowerSetting, time: u128, load: &Load) -> Vec<ComponentTotals> {
    let nics = nic_energy(power, load.links[usize::from(HOST_LINK.0)]);
    let links = load.links.iter().zip(&power.links);
    let links = links.map(|(busy, draw)| busy * u128::from(draw.dynamic_uw()));
    let dynamic = load.routers.iter().copied().chain(links).chain([nics, 0]);
    let parts = idle(simulation, power).into_iter().zip(dynamic);
    let totals = |(idle, dynamic_aj): (Idle, u128)| ComponentTotals {
        idle_aj: idle.uw() * time,
        dynamic_aj,
        part: idle.part,
        kind: idle.kind,
        count: idle.count,
    };
    parts.map(totals).collect()
}

/// A NIC port at full load sends and receives. `busy_ps` is the sum for injection and ejection links.
fn nic_energy(power: &PowerSetting, busy_ps: u128) -> u128 {
    busy_ps * u128::from(power.nic.dynamic_uw()) / 2
}

/// Wired ports of a router, with the classes of their links.
fn wired(simulation: &Simulation, router: RouterId) -> impl Iterator<Item = (Port, LinkClass)> + '_ {
    let topology = simulation.network.topology.as_ref();
    let ports = (0..topology.ports(router)).map(Port);
    let wired = ports.filter(move |port| !matches!(topology.peer(router, *port), Peer::Unwired));
    wired.map(move |port| (port, topology.link_class(router, port)))
}

/// What depends on the load: busy times of links, and the energy of routers that follows from them.
struct Load {
    /// By link class: busy times of all links, in ps.
    links: Vec<u128>,
    /// By kind of router: the energy that the load adds, in aJ.
    routers: Vec<u128>,
    jobs: Vec<JobLoad>,
}

/// The part of a job in [`Load`].
#[derive(Clone)]
struct JobLoad {
    links: Vec<u128>,
    /// Of routers of all kinds.
    routers: u128,
}

impl Load {
    fn of(state: &FinalState<'_>, power: &PowerSetting) -> Load {
        let simulation = state.simulation;
        let classes = power.links.len();
        let mut load = Load {
            links: vec![0; classes],
            routers: vec![0; power.kinds.len()],
            jobs: vec![
                JobLoad {
                    links: vec![0; classes],
                    routers: 0,
                };
                simulation.jobs.len()
            ],
        };
        if power.depends_on_load() {
            load.add(state, power);
        }
        load
    }

    fn add(&mut self, state: &FinalState<'_>, power: &PowerSetting) {
        let simulation = state.simulation;
        let (classes, jobs) = (self.links.len(), self.jobs.len());
        let weights = weights(simulation);
        let mut late = late(state);
        for lp in state.lps.iter() {
            let mut busy = LpBusy::new(classes, jobs);
            match lp {
                NetworkLp::Host(host) => {
                    for rail in 0..simulation.network.rails.count() {
                        busy.links[usize::from(HOST_LINK.0)] +=
                            u128::from(host.injection_use(rail, state.end).total.busy.ps());
                    }
                    busy.divide(host.collection().transmissions(), &BTreeMap::new());
                }
                NetworkLp::Router(router_lp) => {
                    let id = router_lp.router.id();
                    let mut capacity = 0;
                    for (port, class) in wired(simulation, id) {
                        let used = router_lp.router.used(port.0, state.end).total.busy;
                        busy.links[usize::from(class.0)] += u128::from(used.ps());
                        capacity += weights[usize::from(class.0)];
                    }
                    busy.divide(
                        router_lp.collection.transmissions(),
                        &late.remove(&id).unwrap_or_default(),
                    );
                    let kind = power.kind(id);
                    let dynamic = u128::from(power.kinds[kind].draw.dynamic_uw());
                    let weighted = |links: &[u128]| -> u128 {
                        let links = links.iter().zip(&weights);
                        links.map(|(busy, weight)| busy * weight).sum()
                    };
                    let energy = |links: &[u128]| mul_div(weighted(links), dynamic, capacity.max(1));
                    self.routers[kind] += energy(&busy.links);
                    for (job, of_job) in self.jobs.iter_mut().zip(&busy.jobs) {
                        job.routers += energy(of_job);
                    }
                }
                NetworkLp::TerminationDetector(_) => continue,
            }
            add_each(&mut self.links, &busy.links);
            for (job, of_job) in self.jobs.iter_mut().zip(&busy.jobs) {
                add_each(&mut job.links, of_job);
            }
        }
    }

    /// The energy that the packets of each job added, in aJ.
    fn dynamic_of_jobs(&self, power: &PowerSetting) -> Vec<u128> {
        let energy = |job: &JobLoad| {
            let links = job.links.iter().zip(&power.links);
            let links: u128 = links
                .map(|(busy, draw)| busy * u128::from(draw.dynamic_uw()))
                .sum();
            links + job.routers + nic_energy(power, job.links[usize::from(HOST_LINK.0)])
        };
        self.jobs.iter().map(energy).collect()
    }
}

fn add_each(sums: &mut [u128], others: &[u128]) {
    for (sum, other) in sums.iter_mut().zip(others) {
        *sum += other;
    }
}

/// Bandwidths of the link classes in their greatest common unit.
fn weights(simulation: &Simulation) -> Vec<u128> {
    let links = &simulation.network.links;
    let unit = links
        .iter()
        .fold(0, |unit, link| gcd(link.bandwidth.bits_per_s, unit));
    let weight = |bits_per_s: u64| u128::from(bits_per_s / unit.max(1));
    links
        .iter()
        .map(|link| weight(link.bandwidth.bits_per_s))
        .collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        b => gcd(b, a % b),
    }
}

/// Transmissions of one router that begin after the end of the run, by link class and job, in ps.
type Late = BTreeMap<(usize, usize), u128>;

/// Transmissions that routers reserved and that begin after the end of the run, by router.
fn late(state: &FinalState<'_>) -> BTreeMap<RouterId, Late> {
    let Simulation {
        network, numbering, ..
    } = state.simulation;
    let mut late: BTreeMap<RouterId, Late> = BTreeMap::new();
    for Reservation {
        router, port, packet, ..
    } in late_reservations(network, numbering, state.pending, state.end)
    {
        let class = usize::from(network.topology.link_class(router, port).0);
        let time = network.rate(router, port).serialization(packet.bytes);
        let of_router = late.entry(router).or_default();
        *of_router.entry((class, packet.job.into())).or_default() += u128::from(time.ps());
    }
    late
}

/// Busy times of the links of one LP, in ps.
struct LpBusy {
    /// By link class, of all jobs.
    links: Vec<u128>,
    /// By job and link class.
    jobs: Vec<Vec<u128>>,
}

impl LpBusy {
    fn new(classes: usize, jobs: usize) -> LpBusy {
        LpBusy {
            links: vec![0; classes],
            jobs: vec![vec![0; classes]; jobs],
        }
    }

    /// Divides the busy times among jobs by the transmissions that were counted, without those that begin after the
    /// end. Only the last one of each link may be cut off by the end.
    fn divide(&mut self, counted: Option<&TimesByJob>, late: &Late) {
        if let [job] = self.jobs.as_mut_slice() {
            job.clone_from(&self.links);
            return;
        }
        for (job, class, time) in counted.into_iter().flat_map(|counted| counted.all()) {
            let (job, class) = (usize::from(job), usize::from(class.0));
            let late = late.get(&(class, job)).copied().unwrap_or(0);
            self.jobs[job][class] = u128::from(time.ps()).saturating_sub(late);
        }
        for (class, busy) in self.links.iter().enumerate() {
            let mut of_class: Vec<u128> = self.jobs.iter().map(|job| job[class]).collect();
            scale_to(&mut of_class, *busy);
            for (job, share) in self.jobs.iter_mut().zip(of_class) {
                job[class] = share;
            }
        }
    }
}

/// Reduces shares in proportion, so that their sum is `sum`. Shares that are all 0 remain.
fn scale_to(shares: &mut [u128], sum: u128) {
    let before: u128 = shares.iter().sum();
    if before <= sum {
        return;
    }
    for share in shares.iter_mut() {
        *share = mul_div(*share, sum, before);
    }
    let rest = sum - shares.iter().sum::<u128>();
    if let Some(greatest) = shares.iter_mut().max() {
        *greatest += rest;
    }
}

/// Times of the hosts that each job holds, from its start to its end, added up over its hosts, in ps. A host that
/// several jobs hold at one time is divided evenly among them.
fn held(simulation: &Simulation, end: Time, jobs: &[JobTotals]) -> Vec<u128> {
    let spans: Vec<(u64, u64)> = simulation
        .jobs
        .iter()
        .zip(jobs)
        .map(|(job, totals)| {
            let start = job.start.min(end).ps();
            (start, start.saturating_add(totals.time_ps).min(end.ps()))
        })
        .collect();
    let mut sets: BTreeMap<Vec<u16>, u128> = BTreeMap::new();
    for host in (0..simulation.network.hosts()).map(HostId) {
        let ranks = simulation.occupants.ranks(host).map(|(job, _)| job);
        let sources = simulation.occupants.sources(host).map(|(job, _)| job);
        let mut set: Vec<u16> = ranks.chain(sources).collect();
        set.sort_unstable();
        set.dedup();
        *sets.entry(set).or_default() += 1;
    }
    let mut held = vec![0; jobs.len()];
    for (set, hosts) in sets {
        let spans: Vec<(u64, u64)> = set.iter().map(|job| spans[usize::from(*job)]).collect();
        for (job, time) in set.iter().zip(divided(&spans)) {
            held[usize::from(*job)] += time * hosts;
        }
    }
    held
}

/// The time of each span, where each moment is divided evenly among the spans that contain it.
fn divided(spans: &[(u64, u64)]) -> Vec<u128> {
    let mut borders: Vec<u64> = spans.iter().flat_map(|(from, to)| [*from, *to]).collect();
    borders.sort_unstable();
    borders.dedup();
    let mut times = vec![0; spans.len()];
    for border in borders.windows(2) {
        let has = |span: &(u64, u64)| span.0 <= border[0] && border[1] <= span.1;
        let several = spans.iter().filter(|span| has(span)).count().max(1) as u128;
        for (time, _) in times.iter_mut().zip(spans).filter(|(_, span)| has(span)) {
            *time += u128::from(border[1] - border[0]) / several;
        }
    }
    times
}

/// `a * b / c`, rounded down. `c` is at least 1, and `a / c * b` fits 128 bits. Exact for `b` and `c` below 2^64;
/// greater ones lose low bits.
fn mul_div(a: u128, mut b: u128, mut c: u128) -> u128 {
    while c >> 64 > 0 || b >> 64 > 0 {
        (b, c) = (b >> 1, (c >> 1).max(1));
    }
    (a / c) * b + (a % c) * b / c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_divided_among_the_jobs_that_hold_the_host() {
        assert_eq!(divided(&[(10, 110)]), [100]);
        assert_eq!(divided(&[(0, 100), (40, 60)]), [90, 10]);
        assert_eq!(divided(&[(0, 30), (0, 30), (0, 30)]), [10, 10, 10]);
        assert_eq!(divided(&[(0, 10), (20, 30)]), [10, 10], "one after the other");
        assert_eq!(divided(&[(50, 50), (0, 100)]), [0, 100], "a job without time");
        assert!(divided(&[]).is_empty());
    }

    #[test]
    fn shares_are_reduced_to_their_sum() {
        let mut shares = [30, 10, 0];
        scale_to(&mut shares, 40);
        assert_eq!(shares, [30, 10, 0], "nothing was cut off");
        scale_to(&mut shares, 39);
        assert_eq!(shares, [30, 9, 0]);
        let large = 1 << 90;
        let mut shares = [large, 2 * large];
        scale_to(&mut shares, 3 * large - 5);
        assert_eq!(shares.iter().sum::<u128>(), 3 * large - 5);
        let mut shares = [0, 0];
        scale_to(&mut shares, 7);
        assert_eq!(shares, [0, 0]);
    }

    #[test]
    fn products_do_not_overflow() {
        assert_eq!(mul_div(7, 3, 2), 10);
        let large = u128::from(u64::MAX);
        assert_eq!(mul_div(large * 1000, large, large), large * 1000);
        assert_eq!(mul_div(large << 40, 5 << 70, 5 << 71), (large << 40) / 2);
    }
}
