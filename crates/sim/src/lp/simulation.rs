//! The network and the jobs of a run, which all logical processes read.

use std::sync::Arc;

use des::Time;
use experiment::{Experiment, HostOccupants, Job, JobKind, NetworkModel, PowerSetting};
use fabric::{Measured, Packet};
use routing::At;
use topology::{Port, RouterId};

use crate::Error;
use crate::lp::hop_latency::HopLatency;
use crate::lp::path_latencies::PathLatencies;
use crate::lp::sampling::Plan;
use crate::lp::shortcuts::Shortcuts;
use crate::lp::wiring::Numbering;

/// The network and its jobs; read-only during the run.
pub struct Simulation {
    pub network: Arc<NetworkModel>,
    pub jobs: Arc<[Job]>,
    pub occupants: HostOccupants,
    pub numbering: Arc<Numbering>,
    /// Latencies of paths, from what packets count.
    pub hop_latency: HopLatency,
    /// The paths of packets that cross the network at once; `None` where they go from router to router.
    pub path_latencies: Option<PathLatencies>,
    /// The measured part of the run.
    pub measured: Measured,
    /// Bytes that each packet has on the wire besides its payload.
    pub packet_header: u32,
    /// Whether the run goes on until the measured packets have arrived.
    pub drains: bool,
    /// Interval of the rounds of the termination detector; `None` if the run ends by itself when ranks wait forever.
    pub detection_interval: Option<Time>,
    /// What is collected.
    pub plan: Plan,
    /// Whether ranks and NICs emit timelines and messages.
    pub timeline: bool,
    /// Whether NICs and routers emit which packets wait for whom.
    pub waits: bool,
    /// Whether the table of hosts has the latencies and hops of the packets that each received.
    pub host_latency: bool,
    /// Whether packets of synthetic traffic carry their wait at the source, and latencies are divided by it.
    pub network_latency: bool,
    /// Whether either the drain phase or [`Simulation::network_latency`] needs that wait: one test for each packet.
    pub uses_source_wait: bool,
    /// What routers, links, NICs and hosts draw, if the experiment says so.
    pub power: Option<Arc<PowerSetting>>,
    /// Wait for the link to a host beyond which packets are marked.
    pub mark_after: Time,
    /// The exact shortcuts of this run.
    pub shortcuts: Shortcuts,
}

/// The reason for which an LP ends a run.
#[derive(Debug)]
pub enum LpFailure {
    /// The run has no result.
    Error(Error),
    /// A packet lacks credits while they return in batches. The run is repeated without batches.
    CreditsRanShort,
}

impl Simulation {
    /// The output of a packet at a router that it will enter by a port, and the number of ports of the router; `None`
    /// if that depends on more than the packet.
    pub fn output_ahead(
        &self,
        (router, input): (RouterId, Port),
        routing_vc: u8,
        packet: &Packet,
    ) -> Option<(u16, u16)> {
        let at = At {
            router,
            input,
            vc: routing_vc,
            source: packet.source,
            destination: packet.destination,
        };
        let port = self.network.routing.predicted_port(at, packet.route)?;
        Some((port.0, self.network.topology.ports(router)))
    }

    /// The model of an experiment.
    pub fn new(experiment: &Experiment, shortcuts: Shortcuts) -> Simulation {
        Simulation {
            network: experiment.network.clone(),
            jobs: experiment.jobs.clone(),
            occupants: HostOccupants::new(&experiment.jobs, experiment.network.rails.hosts()),
            numbering: Arc::new(Numbering::new(&experiment.network)),
            hop_latency: HopLatency::new(&experiment.network),
            path_latencies: (experiment.network.router_models.capabilities().crosses_at_once)
                .then(|| PathLatencies::new(&experiment.network)),
            measured: experiment.run.measured(),
            packet_header: experiment.network.packet.header,
            drains: experiment.run.drains(),
            detection_interval: detection_interval(experiment),
            plan: Plan::new(
                &experiment.collect,
                &experiment.network,
                shortcuts.tallies.is_on(),
            ),
            timeline: experiment.collect.timeline,
            waits: experiment.collect.waits,
            host_latency: experiment.collect.host_latency,
            network_latency: experiment.collect.network_latency,
            uses_source_wait: experiment.run.drains() || experiment.collect.network_latency,
            power: experiment.power.clone(),
            mark_after: experiment.network.router_models.mark_after().unwrap_or(Time::MAX),
            shortcuts,
        }
    }

    /// Whether transmissions are counted by job, to divide the load-dependent energy. All of it belongs to a job that
    /// is alone.
    pub fn divides_energy(&self) -> bool {
        let power = self.power.as_ref();
        self.jobs.len() > 1 && power.is_some_and(|power| power.depends_on_load())
    }

    /// Payload of a packet in bytes.
    #[inline]
    pub fn payload(&self, packet: &Packet) -> u32 {
        packet.bytes - self.packet_header
    }

    /// The traffic class of a job.
    #[inline]
    pub fn traffic_class_of(&self, job: u16) -> u8 {
        match self.network.traffic_classes.is_one() {
            true => 0,
            false => self.jobs[usize::from(job)].traffic_class,
        }
    }

    /// Number of ranks of each job.
    pub fn ranks_of_jobs(&self) -> impl Iterator<Item = u64> {
        let ranks = |job: &Job| match &job.kind {
            JobKind::Ranks(ranks) => ranks.hosts.len() as u64,
            JobKind::Traffic(_) => 0,
        };
        self.jobs.iter().map(ranks)
    }
}

impl From<Error> for LpFailure {
    fn from(error: Error) -> LpFailure {
        LpFailure::Error(error)
    }
}

/// Without jobs that go on, the last event ends the run. Without ranks, nothing can wait forever.
fn detection_interval(experiment: &Experiment) -> Option<Time> {
    let goes_on = experiment.jobs.iter().any(Job::goes_on);
    let waits = !experiment.jobs.iter().all(Job::is_traffic);
    (goes_on && waits).then_some(experiment.run.watchdog)
}
