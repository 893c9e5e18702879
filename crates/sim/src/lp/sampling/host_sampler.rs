//! Samples a host: its injection links, its NIC queues and its jobs.

use des::Time;
use experiment::{Bins, JobKind, NetworkModel};
use fabric::{Flow, MAX_TRAFFIC_CLASSES, NicClassView};
use serde::{Deserialize, Serialize};
use topology::HostId;

use super::plan::{INJECTION, Plan};
use super::sampled_link::{SampledLink, SampledVc, bytes_of_links};
use crate::lp::counts::JobCounts;
use crate::lp::net_event::{JobFlow, Record};
use crate::lp::simulation::Simulation;

/// State of a host's sampler at the last sample: everything that changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSamples {
    /// Bin of the latest event; `None` before the first event.
    open: Option<u64>,
    /// One entry for each rail, or one for all of them.
    links: Vec<SampledLink>,
    /// By rail, then traffic class, the VC into which the host injects; empty unless VCs are sampled.
    vcs: Vec<SampledVc>,
    /// Jobs in the order of the host's counts.
    jobs: Vec<JobFlow>,
    packets_sent: u64,
    bytes_sent: u64,
    packets_received: u64,
    bytes_received: u64,
    queue_bytes: u64,
}

/// Samples a host.
pub struct HostSampler {
    /// See [`super::RouterSampler`].
    due: Time,
    details: bool,
    samples: Option<Box<HostSamples>>,
}

/// The state of one rail, as the sampler sees it.
pub struct RailView {
    /// What its link has carried up to the end of the bin.
    pub flow: Flow,
    /// Bytes in the queues.
    pub backlog: u64,
    /// By traffic class; those that do not exist have zeros.
    pub traffic_classes: [NicClassView; MAX_TRAFFIC_CLASSES],
    /// Whether anything happens after the bin.
    pub is_active: bool,
}

/// The state of a host's NIC, as the sampler sees it.
pub struct HostView<R> {
    /// Number of the host.
    pub id: HostId,
    /// State of a rail at a time.
    pub rail: R,
    /// Number of rails.
    pub rails: u32,
}

impl HostSampler {
    /// Memory of the sampler of a host with this number of rails, in bytes.
    pub fn bytes(plan: &Plan, rails: u64, vcs: u64) -> u64 {
        match plan.samples_hosts() {
            true => {
                (size_of::<HostSamples>() + size_of::<JobFlow>()) as u64 + bytes_of_links(plan, rails, vcs)
            }
            false => 0,
        }
    }

    /// The sampler of a host before the run.
    pub fn new(simulation: &Simulation, host: HostId) -> HostSampler {
        let (plan, network) = (&simulation.plan, &simulation.network);
        if !plan.samples_hosts() {
            return HostSampler {
                due: Time::MAX,
                details: false,
                samples: None,
            };
        }
        // A host belongs to the router of its first rail.
        let (router, _) = network.attachment(host, 0);
        let details = plan.setting.details(router);
        let rails = network.rails.count() as usize;
        let traffic_classes = usize::from(network.traffic_classes.count());
        let (links, vcs) = match details {
            true if plan.vcs() => (rails, rails * traffic_classes),
            true => (rails, 0),
            false => (1, 0),
        };
        HostSampler {
            due: Time::ZERO,
            details,
            samples: Some(Box::new(HostSamples {
                links: vec![SampledLink::default(); links],
                vcs: vec![SampledVc::default(); vcs],
                ..HostSamples::default()
            })),
        }
    }

    /// Whether a sample must precede an event at this time.
    #[inline(always)]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.due
    }

    /// Raises the peaks of VCs to their levels before the event that is executed next. `note` gets the previous state
    /// of each that has changed.
    pub fn raise_peaks<R: Fn(u32, Time) -> RailView>(
        &mut self,
        simulation: &Simulation,
        seen: &HostView<R>,
        now: Time,
        mut note: impl FnMut(u16, SampledVc),
    ) {
        let vcs = self.samples.iter_mut().flat_map(|samples| &mut samples.vcs);
        let traffic_classes = u32::from(simulation.network.traffic_classes.count());
        for (index, sampled) in (0..).zip(vcs) {
            let rail = (seen.rail)(index / traffic_classes, now);
            let (used, waiting) = levels(
                simulation,
                rail.traffic_classes[(index % traffic_classes) as usize],
            );
            let before = *sampled;
            sampled.raise(used, waiting);
            if *sampled != before {
                note(index as u16, before);
            }
        }
    }

    /// Undoes a step of [`HostSampler::raise_peaks`].
    pub fn undo_raise(&mut self, index: u16, before: SampledVc) {
        let vcs = self.samples.as_mut().map(|samples| &mut samples.vcs);
        if let Some(sampled) = vcs.and_then(|vcs| vcs.get_mut(usize::from(index))) {
            *sampled = before;
        }
    }

    /// As [`super::RouterSampler::sample`].
    pub fn sample<R: Fn(u32, Time) -> RailView>(
        &mut self,
        simulation: &Simulation,
        state: (&HostView<R>, &[JobCounts]),
        now: Time,
        reversible: bool,
        emit: &mut impl FnMut(Record),
    ) -> Option<Box<HostSamples>> {
        let samples = &mut **self.samples.as_mut()?;
        let bins = simulation.plan.bins();
        if samples.open.is_some_and(|open| now < bins.end(open)) {
            return None;
        }
        let before = reversible.then(|| Box::new(samples.clone()));
        let bin = bins.of(now);
        if let Some(open) = samples.open {
            for bin in open..bin {
                if !samples.sample(simulation, state, self.details, (bin, bins.end(bin)), emit) {
                    break;
                }
            }
        }
        samples.open = Some(bin);
        self.due = samples.due(bins);
        before
    }

    /// As [`super::RouterSampler::finish`].
    pub fn finish<R: Fn(u32, Time) -> RailView>(
        &self,
        simulation: &Simulation,
        state: (&HostView<R>, &[JobCounts]),
        end: Time,
        emit: &mut impl FnMut(Record),
    ) {
        let Some(before) = &self.samples else { return };
        let Some(open) = before.open else { return };
        let mut samples = (**before).clone();
        let plan = &simulation.plan;
        for bin in open..=plan.last_before(end) {
            let bin_end = plan.bins().end(bin).min(end);
            if !samples.sample(simulation, state, self.details, (bin, bin_end), emit) {
                break;
            }
        }
    }

    /// Restores the state before a sample.
    pub fn undo(&mut self, bins: Bins, before: Box<HostSamples>) {
        self.due = before.due(bins);
        self.samples = Some(before);
    }

    /// All state that changes; `None` if nothing is sampled.
    pub fn state(&self) -> Option<HostSamples> {
        self.samples.as_deref().cloned()
    }

    /// Replaces the state by one that [`HostSampler::state`] returned.
    ///
    /// # Errors
    /// The state belongs to another host, or the collection settings differ.
    pub fn restore(&mut self, bins: Bins, saved: Option<HostSamples>) -> Result<(), String> {
        let shape = |samples: &HostSamples| (samples.links.len(), samples.vcs.len());
        if self.samples.as_deref().map(shape) != saved.as_ref().map(shape) {
            return Err("the host was sampled differently".into());
        }
        if let Some(saved) = saved {
            self.undo(bins, Box::new(saved));
        }
        Ok(())
    }
}

/// Bytes of the router's buffer for the packets of a traffic class of a host: all copies of the VC together.
fn capacity(network: &NetworkModel) -> u32 {
    network.buffer_of_vc(topology::HOST_LINK) * u32::from(network.traffic_classes.copies())
}

/// Of one traffic class, bytes in use of the router's buffer, and the least number of packets that the bytes in the
/// queues make.
fn levels(simulation: &Simulation, class: NicClassView) -> (u32, u32) {
    let network = &simulation.network;
    let used = capacity(network).saturating_sub(class.credits);
    let packets = class.backlog.div_ceil(u64::from(network.packet.payload));
    (used, u32::try_from(packets).unwrap_or(u32::MAX))
}

impl HostSamples {
    /// See [`super::router_sampler::RouterSamples::due`].
    fn due(&self, bins: Bins) -> Time {
        let open = self.open.filter(|_| self.vcs.is_empty());
        open.map_or(Time::ZERO, |bin| bins.end(bin))
    }

    /// Samples one bin, which ends at a time. Returns whether anything happens after it.
    fn sample<R: Fn(u32, Time) -> RailView>(
        &mut self,
        simulation: &Simulation,
        (seen, counts): (&HostView<R>, &[JobCounts]),
        details: bool,
        (bin, end): (u64, Time),
        emit: &mut impl FnMut(Record),
    ) -> bool {
        let (network, bin) = (&simulation.network, bin as u32);
        let (mut goes_on, mut all, mut queue_bytes) = (false, Flow::default(), 0);
        for rail in 0..seen.rails {
            let view = (seen.rail)(rail, end);
            let RailView {
                flow,
                backlog,
                traffic_classes,
                is_active,
            } = view;
            let packets = traffic_classes.map(|class| levels(simulation, class).1);
            let packets = packets.into_iter().fold(0, u32::saturating_add);
            goes_on |= is_active;
            queue_bytes += backlog;
            all.add(&flow);
            if !details {
                continue;
            }
            let link = seen.id.0 * seen.rails + rail;
            let sampled = &mut self.links[rail as usize];
            let flow = sampled.advance(flow);
            if sampled.wait(packets, backlog) || !flow.is_nothing() {
                emit(Record::LinkSample {
                    bin,
                    link,
                    class: INJECTION,
                    flow,
                    waiting_packets: packets,
                    waiting_bytes: backlog,
                });
            }
            for class in 0..network.traffic_classes.count() {
                let index = rail as usize * usize::from(network.traffic_classes.count()) + usize::from(class);
                let (used, packets) = levels(simulation, traffic_classes[usize::from(class)]);
                let sampled = self.vcs.get_mut(index);
                if let Some(levels) = sampled.and_then(|sampled| sampled.close(used, packets)) {
                    emit(Record::VcSample {
                        bin,
                        link,
                        vc: network.traffic_classes.first_vc(class),
                        levels,
                        capacity: capacity(network),
                    });
                }
            }
        }
        if details {
            let header = u64::from(simulation.packet_header);
            self.sample_host((seen.id, counts), (all, queue_bytes), header, bin, emit);
        } else {
            let flow = self.links[0].advance(all);
            if !flow.is_nothing() {
                let class = INJECTION;
                emit(Record::LinkClassSample { bin, class, flow });
            }
        }
        self.sample_jobs(simulation, counts, bin, emit);
        goes_on
    }

    fn sample_host(
        &mut self,
        (id, counts): (HostId, &[JobCounts]),
        (all, queue_bytes): (Flow, u64),
        header: u64,
        bin: u32,
        emit: &mut impl FnMut(Record),
    ) {
        let since = |known: &mut u64, now: u64| now.saturating_sub(std::mem::replace(known, now));
        let sum = |of: fn(&JobCounts) -> u64| counts.iter().map(of).sum();
        let packets_received = since(&mut self.packets_received, sum(|c| c.packets_delivered)) as u32;
        let received = sum(|c| c.bytes_delivered) + sum(|c| c.packets_delivered) * header;
        let bytes_received = since(&mut self.bytes_received, received);
        let packets_sent = since(&mut self.packets_sent, all.packets) as u32;
        let bytes_sent = since(&mut self.bytes_sent, all.bytes);
        let is_other = std::mem::replace(&mut self.queue_bytes, queue_bytes) != queue_bytes;
        if packets_sent > 0 || packets_received > 0 || is_other {
            emit(Record::HostSample {
                bin,
                host: id.0,
                packets_sent,
                packets_received,
                bytes_sent,
                bytes_received,
                queue_bytes,
            });
        }
    }

    fn sample_jobs(
        &mut self,
        simulation: &Simulation,
        counts: &[JobCounts],
        bin: u32,
        emit: &mut impl FnMut(Record),
    ) {
        self.jobs.resize(counts.len(), JobFlow::default());
        for (last, counts) in self.jobs.iter_mut().zip(counts) {
            let now = JobFlow {
                messages_sent: counts.messages,
                bytes_sent: counts.bytes,
                messages_received: counts.messages_received,
                bytes_received: match &simulation.jobs[usize::from(counts.job)].kind {
                    JobKind::Ranks(_) => counts.message_bytes_received,
                    JobKind::Traffic(_) => counts.bytes_delivered,
                },
                packets_delivered: counts.packets_delivered,
            };
            let last = std::mem::replace(last, now);
            let flow = JobFlow {
                messages_sent: now.messages_sent.saturating_sub(last.messages_sent),
                bytes_sent: now.bytes_sent.saturating_sub(last.bytes_sent),
                messages_received: now.messages_received.saturating_sub(last.messages_received),
                bytes_received: now.bytes_received.saturating_sub(last.bytes_received),
                packets_delivered: now.packets_delivered.saturating_sub(last.packets_delivered),
            };
            if flow != JobFlow::default() {
                let (bin, job) = (bin, counts.job);
                emit(Record::JobSample { bin, job, flow });
            }
        }
    }
}
