//! The expected work of each LP, by which the LPs are divided among threads and processes.
//!
//! A router has work for each of its ports, a host for each of its rails, if a job uses the host or the hosts of the
//! router. A job on a part of a machine leaves the other routers with little to do: with minimal routing nothing, with
//! detours their share of all packets.

use des::{LpId, Partition};
use topology::{HostId, RouterId, Shape, Topology};

use crate::lp::simulation::Simulation;
use crate::lp::wiring::LpIdentity;

/// Work of a port, or of a rail, whose hosts all have jobs. Parts of it are integers.
const OF_PORT: u64 = 1 << 10;

/// The expected work of each LP of a run, in parts of the work of a busy port.
pub struct ExpectedWork {
    by_lp: Vec<u64>,
}

/// How many hosts there are, and how many of them have a job.
#[derive(Clone, Copy, Default)]
struct Hosts {
    all: u64,
    busy: u64,
}

impl Hosts {
    fn add(&mut self, is_busy: bool) {
        self.all += 1;
        self.busy += u64::from(is_busy);
    }

    /// `work` times the share of busy hosts. Without hosts: `None`.
    fn share_of(&self, work: u64) -> Option<u64> {
        (work * self.busy).checked_div(self.all)
    }
}

impl ExpectedWork {
    /// The expected work of the LPs of a run in this number of processes.
    ///
    /// With several processes, a quarter of the work is divided by ports alone, as memory is: no process gets more than
    /// about four times the ports of the mean.
    pub fn new(simulation: &Simulation, processes: usize) -> ExpectedWork {
        let busy = busy_hosts(simulation);
        let mut by_lp = of_busy_hosts(simulation, &busy);
        if processes > 1 {
            let of_ports: Vec<u64> = (0..simulation.numbering.lps())
                .map(|lp| OF_PORT * ports(simulation, LpId(lp)))
                .collect();
            let (all, all_ports) = (sum(&by_lp), sum(&of_ports));
            for (work, of_ports) in by_lp.iter_mut().zip(of_ports) {
                let part = u128::from(*work) * u128::from(all_ports) / u128::from(all.max(1));
                *work = 3 * part as u64 + of_ports;
            }
        }
        ExpectedWork { by_lp }
    }

    /// The expected work of an LP.
    pub fn of(&self, lp: LpId) -> u64 {
        self.by_lp[lp.0 as usize]
    }

    /// The expected work of all LPs.
    pub fn total(&self) -> u64 {
        sum(&self.by_lp)
    }

    /// Contiguous parts of about equal work, one per thread. Neighbours stay together if the balance permits: groups of
    /// a dragonfly, planes of a torus or HyperX, columns of a Slim Fly, and a router with its hosts. Routers at the
    /// same position in several planes stay together, since they share hosts.
    pub fn partition(&self, simulation: &Simulation, parts: usize) -> Partition {
        let neighbourhood = neighbourhood(simulation.network.topology.as_ref());
        let border = |lp| match simulation.numbering.identity(lp) {
            LpIdentity::Router(router) if router.0.is_multiple_of(neighbourhood.max(1)) => 2,
            LpIdentity::Router(_) => 1,
            LpIdentity::Host(_) | LpIdentity::TerminationDetector => 0,
        };
        Partition::between_neighbours(self.by_lp.len() as u32, parts, |lp| self.of(lp), border)
    }
}

/// Whether each host has a job. All have one if none has.
fn busy_hosts(simulation: &Simulation) -> Vec<bool> {
    let mut busy = vec![false; simulation.network.rails.hosts() as usize];
    let occupants = &simulation.occupants;
    for HostId(host) in occupants.hosts().chain(occupants.hosts_with_sources()) {
        busy[host as usize] = true;
    }
    if !busy.contains(&true) {
        busy.fill(true);
    }
    busy
}

/// The work by the jobs of hosts.
fn of_busy_hosts(simulation: &Simulation, busy: &[bool]) -> Vec<u64> {
    let (network, numbering) = (&simulation.network, &simulation.numbering);
    let (mut of_network, mut of_routers) = (
        Hosts::default(),
        vec![Hosts::default(); network.topology.routers() as usize],
    );
    for (host, is_busy) in (0..).map(HostId).zip(busy) {
        of_network.add(*is_busy);
        for rail in 0..network.rails.count() {
            let (RouterId(router), _) = network.attachment(host, rail);
            of_routers[router as usize].add(*is_busy);
        }
    }
    let share = of_network.share_of(OF_PORT).unwrap_or(OF_PORT);
    let of_lp = |lp| {
        let of_port = match numbering.identity(lp) {
            // An eighth of a router's packets may belong to any hosts, as those of detours. Packets of all hosts cross
            // a router without hosts.
            LpIdentity::Router(router) => match of_routers[router.0 as usize].share_of(OF_PORT) {
                Some(own) => (7 * own + share) / 8,
                None => share,
            },
            LpIdentity::Host(host) if !busy[host.0 as usize] => 0,
            LpIdentity::Host(_) | LpIdentity::TerminationDetector => OF_PORT,
        };
        ports(simulation, lp) * of_port
    };
    (0..numbering.lps()).map(|lp| of_lp(LpId(lp))).collect()
}

/// Ports of a router, or rails of a host.
fn ports(simulation: &Simulation, lp: LpId) -> u64 {
    match simulation.numbering.identity(lp) {
        LpIdentity::Router(router) => u64::from(simulation.network.topology.ports(router)),
        LpIdentity::Host(_) => u64::from(simulation.network.rails.count()),
        LpIdentity::TerminationDetector => 0,
    }
}

fn sum(work: &[u64]) -> u64 {
    work.iter().sum()
}

/// Number of consecutive routers, starting at a multiple of it, that should stay together.
fn neighbourhood(topology: &dyn Topology) -> u32 {
    match topology.shape() {
        Shape::Groups(groups) => groups.routers_per_group(),
        Shape::Cartesian(grid) => {
            // Routers are numbered with the first coordinate fastest.
            let sizes = grid.sizes();
            sizes.iter().take(sizes.len().saturating_sub(1)).product()
        }
        Shape::HyperX(hyperx) => hyperx.neighbourhood(),
        Shape::Graph(graph) => graph.neighbourhood(),
        Shape::Tree(_) => 1,
        Shape::Planes(planes) => planes.count() * neighbourhood(planes.plane()).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lp::shortcuts::{Declared, Requested, Shortcuts};
    use experiment::Experiment;

    /// A dragonfly of 33 groups with 32 hosts each, and these jobs.
    fn dragonfly(jobs: &str) -> Simulation {
        let text = format!(
            r#"
            [network]
            topology = {{ kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4 }}
            routing = {{ algorithm = "minimal" }}
            {jobs}
            [run]
            until = "1 us"
            "#
        );
        let experiment = Experiment::from_toml(&text, "test.toml", &[]).unwrap();
        let requested = Requested::new(&experiment, true);
        let shortcuts = Shortcuts::choose(&requested, &Declared::new(&experiment.network));
        Simulation::new(&experiment, shortcuts)
    }

    /// Busy hosts, and routers, of each part.
    fn divided(simulation: &Simulation, processes: usize, parts: usize) -> Vec<(usize, usize)> {
        let busy = busy_hosts(simulation);
        let partition = ExpectedWork::new(simulation, processes).partition(simulation, parts);
        let of_part = |part| {
            let lps = partition
                .range(part)
                .map(|lp| simulation.numbering.identity(LpId(lp)));
            lps.fold((0, 0), |(hosts, routers), lp| match lp {
                LpIdentity::Router(_) => (hosts, routers + 1),
                LpIdentity::Host(host) => (hosts + usize::from(busy[host.0 as usize]), routers),
                LpIdentity::TerminationDetector => (hosts, routers),
            })
        };
        (0..parts).map(of_part).collect()
    }

    const ALL: &str = r#"
        [[job]]
        traffic = { pattern = "uniform", load = 0.1 }
    "#;
    const FOUR_GROUPS: &str = r#"
        [[job]]
        traffic = { pattern = "uniform", load = 0.1 }
        hosts = 128
    "#;

    #[test]
    fn jobs_on_all_hosts_divide_by_ports() {
        let hosts: Vec<usize> = divided(&dragonfly(ALL), 1, 3).iter().map(|part| part.0).collect();
        assert_eq!(hosts, [11 * 32; 3], "whole groups");
    }

    #[test]
    fn a_job_on_a_part_of_the_hosts_is_divided() {
        let simulation = dragonfly(FOUR_GROUPS);
        let of_parts = divided(&simulation, 1, 2);
        // The second part has the routers of the other groups, too, so it has fewer of the job.
        assert!((50..=64).contains(&of_parts[1].0), "{of_parts:?}");
        // Ranks count as traffic does.
        let ranks = dragonfly(
            r#"
            [[job]]
            workload = { motif = "allreduce", ranks = 128, bytes = "1 KiB", iterations = 1 }
            "#,
        );
        assert_eq!(divided(&ranks, 1, 2), divided(&simulation, 1, 2));
    }

    #[test]
    fn idle_routers_are_divided_among_processes() {
        let simulation = dragonfly(FOUR_GROUPS);
        for parts in [2, 8, 12] {
            let of_parts = divided(&simulation, parts, parts);
            let most = of_parts.iter().map(|part| part.1).max().unwrap();
            assert!(most <= 4 * 33 * 8 / parts, "{of_parts:?}");
            assert!(
                of_parts[0].0 < 128,
                "the job has more than one process: {of_parts:?}"
            );
        }
    }
}
