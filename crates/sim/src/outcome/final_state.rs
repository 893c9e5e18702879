//! Computes the totals and rows of the result from the final state of all LPs.

use std::sync::Arc;

use des::{Event, LpId, Lps, Time};
use experiment::JobKind;
use fabric::router::Router;
use fabric::{DropReason, LinkUse};
use mpi::{Rank, RankStats};
use results::rows::{
    CallRow, DropRow, LinkRow, RankRow, ReceivedPackets, calls, drops, ranks, with_received,
};
use results::{
    BacklogGrowth, Chain, CutSummary, DroppedSummary, Fairness, Histogram, HostTraffic, JobTotals,
    LatencyParts, NetworkTotals, Outcome, PathTotals, RecordingTotals, RepetitionTimes, Table, TrafficTotals,
    Unreceived, UnreceivedMessage,
};
use topology::{HostId, Port, RouterId};

use crate::lp::counts::{OCTAVES, octave};
use crate::lp::host::{Host, RankSlot};
use crate::lp::ledger::PacketLedger;
use crate::lp::model::NetworkLp;
use crate::lp::net_event::NetEvent;
use crate::lp::not_begun::{NotBegun, not_begun};
use crate::lp::simulation::Simulation;
use crate::lp::wiring::LpIdentity;
use crate::outcome::critical_path::{JobWaits, PathCounter};
use crate::outcome::energy::energy;
use crate::outcome::inventory::{self, DrawingTables, LinkTerminal};
use crate::outcome::pairs::Pairs;

/// The final state of a run.
pub struct FinalState<'a> {
    /// The model.
    pub simulation: &'a Simulation,
    /// Final state of all LPs.
    pub lps: &'a Lps<NetworkLp>,
    /// Events that were not executed.
    pub pending: &'a [Event<NetEvent>],
    /// When the run ended.
    pub end: Time,
    /// Digest of the records.
    pub records: Chain,
    /// Times of the repetitions of each job.
    pub repetitions: Vec<RepetitionTimes>,
    /// The tables `routers` and `hosts`.
    pub drawing: DrawingTables,
    /// What became of packets other than deliveries.
    pub ledger: PacketLedger,
}

impl FinalState<'_> {
    /// All measurements.
    pub fn outcome(self) -> Outcome {
        let not_begun = self.not_begun();
        let [links, units, pairs] = self.links(&not_begun);
        let mut network = self.network(&not_begun);
        network.links = links.rows() as u64;
        (network.ended_otherwise, network.dropped) = self.ended_otherwise();
        let drop_rows = self.drops();
        let mut jobs: Vec<JobTotals> = (0..self.simulation.jobs.len()).map(|job| self.job(job)).collect();
        let (rank_rows, call_rows) = self.ranks(&mut jobs);
        for job in &jobs {
            network.latency_ps.merge(&job.latency_ps);
            network.hops.merge(&job.hops);
            if let Some(wait) = &job.source_wait_ps {
                network.source_wait_ps.get_or_insert_default().merge(wait);
            }
        }
        let energy = energy(&self, &mut jobs);
        network.parts = LatencyParts::of_all(jobs.iter().map(|job| job.parts.as_ref()));
        let received = self.simulation.host_latency.then(|| self.received());
        let mut tables = vec![ranks(rank_rows), calls(call_rows), links];
        let [routers, hosts] = self.drawing;
        let hosts = match received {
            Some(received) => with_received(&hosts, received),
            None => hosts,
        };
        tables.extend([routers, hosts, units, pairs]);
        if !drop_rows.is_empty() {
            tables.push(drops(drop_rows));
        }
        Outcome {
            network,
            jobs,
            tables,
            records: self.records,
            energy,
            ..Outcome::default()
        }
    }

    /// Measured packets that each host received, of all jobs.
    fn received(&self) -> Vec<ReceivedPackets> {
        let jobs = self.simulation.jobs.len();
        let hosts = (0..self.simulation.network.hosts()).map(|host| self.host(HostId(host)));
        let of_host = |host: &Host| {
            let mut received = ReceivedPackets::default();
            for counts in (0..jobs).filter_map(|job| host.collection().counts(job)) {
                received.add(&counts.latency, &counts.hops);
            }
            received
        };
        hosts.map(of_host).collect()
    }

    /// Packets that ended without a delivery less those that were added, and lost packets by reason.
    fn ended_otherwise(&self) -> (i64, Vec<DroppedSummary>) {
        let ledger = &self.ledger;
        let ended = (ledger.consumed + ledger.all_dropped()) as i64;
        let dropped = DropReason::ALL.into_iter().zip(ledger.dropped);
        let dropped = dropped.filter(|(_, dropped)| dropped.packets > 0);
        let dropped = dropped.map(|(reason, dropped)| DroppedSummary {
            reason: reason.name().into(),
            packets: dropped.packets,
            bytes: dropped.bytes,
        });
        (
            ended - (ledger.control + ledger.multiplied) as i64,
            dropped.collect(),
        )
    }

    /// Lost packets by router or host, and reason.
    fn drops(&self) -> Vec<DropRow> {
        let mut rows = Vec::new();
        for (lp, state) in (0..).zip(self.lps.iter()) {
            let (kind, id) = match self.simulation.numbering.identity(LpId(lp)) {
                LpIdentity::Router(router) => ("router", router.0),
                LpIdentity::Host(host) => ("host", host.0),
                LpIdentity::TerminationDetector => continue,
            };
            let Some(ledger) = state.ledger() else { continue };
            for (reason, dropped) in DropReason::ALL.into_iter().zip(ledger.dropped) {
                if dropped.packets > 0 {
                    rows.push(DropRow {
                        kind: kind.into(),
                        id,
                        reason: reason.name().into(),
                        packets: dropped.packets,
                        bytes: dropped.bytes,
                    });
                }
            }
        }
        rows
    }

    /// Packets on links whose transmission had not begun by the end.
    pub fn not_begun(&self) -> NotBegun {
        let Simulation {
            network, numbering, ..
        } = self.simulation;
        not_begun(network, numbering, self.pending, self.end)
    }

    /// Use of a router's link up to the end.
    fn used(&self, router: &Router, port: Port, not_begun: &NotBegun) -> LinkUse {
        let mut used = router.used(port.0, self.end);
        if let Some((packets, bytes)) = not_begun.get(&(router.id(), port)) {
            used.total.packets -= packets;
            used.total.bytes -= bytes;
            // They begin after the measured part, if that ends with the drain phase.
            if self.simulation.measured.contains(self.end) {
                used.packets -= packets;
                used.bytes -= bytes;
            }
        }
        used
    }

    fn host(&self, host: HostId) -> &Host {
        match &self.lps[self.simulation.numbering.host(host)] {
            NetworkLp::Host(state) => state,
            _ => unreachable!("hosts are hosts"),
        }
    }

    fn router(&self, router: RouterId) -> &Router {
        match &self.lps[self.simulation.numbering.router(router)] {
            NetworkLp::Router(state) => &state.router,
            _ => unreachable!("routers are routers"),
        }
    }

    fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.lps.iter().filter_map(|lp| match lp {
            NetworkLp::Host(host) => Some(host),
            _ => None,
        })
    }

    /// The time span over which loads and links are measured.
    fn measured(&self) -> Time {
        let measured = self.simulation.measured;
        self.end.min(measured.until).saturating_sub(measured.from)
    }

    fn network(&self, not_begun: &NotBegun) -> NetworkTotals {
        let topology = self.simulation.network.topology.as_ref();
        let (hosts, rails) = (self.simulation.network.hosts(), &self.simulation.network.rails);
        let mut totals = NetworkTotals {
            topology: topology.describe(),
            hosts: u64::from(hosts),
            rails: u64::from(rails.count()),
            planes: u64::from(rails.planes()),
            routers: u64::from(topology.routers()),
            detour_load_bytes: self.simulation.network.routing.detour_load(),
            vc_buffer_bytes: u64::from(self.simulation.network.smallest_buffer_between_routers()),
            measured_ps: self.measured().ps(),
            capacity_bytes: self.capacity_bytes(u64::from(hosts)),
            ..NetworkTotals::default()
        };
        for host in self.hosts() {
            for rail in 0..rails.count() {
                totals.packet_hops += host.injection_use(rail, self.end).total.packets;
            }
        }
        for lp in self.lps.iter() {
            for counts in (0..self.simulation.jobs.len()).filter_map(|job| lp.counts(job)) {
                totals.packets_injected += counts.packets_injected;
                totals.packets_delivered += counts.packets_delivered;
                totals.bytes_delivered += counts.bytes_delivered;
                totals.offered_bytes += counts.offered_bytes;
                totals.accepted_bytes += counts.accepted_bytes;
            }
            let NetworkLp::Router(router_lp) = lp else {
                continue;
            };
            for port in (0..topology.ports(router_lp.router.id())).map(Port) {
                totals.packet_hops += self.used(&router_lp.router, port, not_begun).total.packets;
            }
        }
        totals
    }

    /// The table of links, with one row per direction of each cable, then units and the links between them.
    fn links(&self, not_begun: &NotBegun) -> [Table; 3] {
        let network = &self.simulation.network;
        let (topology, rails) = (network.topology.as_ref(), network.rails.count());
        let routers = (0..topology.routers()).map(RouterId);
        let routers: Vec<String> = routers
            .map(|router| format!("router {} ({}) port ", router.0, topology.coordinates(router)))
            .collect();
        let name = |end: LinkTerminal| match end {
            LinkTerminal::Host(host, _) if rails == 1 => format!("host {}", host.0),
            LinkTerminal::Host(host, rail) => format!("host {} rail {rail}", host.0),
            LinkTerminal::Router(router, port) => format!("{}{}", routers[router.0 as usize], port.0),
        };
        let measured = self.measured().ps();
        let mut pairs = Pairs::new(network, self.measured());
        // Rows are created one at a time: a million hosts have many millions of links.
        let rows = inventory::links(network).enumerate().map(|(number, link)| {
            let used = match link.from {
                LinkTerminal::Host(host, rail) => self.host(host).injection_use(rail, self.end),
                LinkTerminal::Router(router, port) => self.used(self.router(router), port, not_begun),
            };
            pairs.add(&link, &used);
            LinkRow {
                from: name(link.from),
                to: name(link.to),
                bytes: used.bytes,
                packets: used.packets,
                busy_ps: used.busy.ps(),
                busy_fraction: if measured == 0 {
                    0.0
                } else {
                    used.busy.ps() as f64 / measured as f64
                },
                buffer_full_ps: used.buffer_full.ps(),
                ..link.row(number, network)
            }
        });
        let links = results::rows::links(rows);
        let [units, pairs] = pairs.tables();
        [links, units, pairs]
    }

    /// Totals of a job, without those of its ranks.
    fn job(&self, index: usize) -> JobTotals {
        let job = &self.simulation.jobs[index];
        let mut totals = JobTotals {
            name: job.name.clone(),
            kind: match &job.kind {
                JobKind::Ranks(ranks) => ranks.kind.into(),
                JobKind::Traffic(_) => "traffic".into(),
            },
            hosts: u64::from(job.host_count()),
            repetitions: match &job.kind {
                JobKind::Ranks(ranks) => ranks.repetitions,
                JobKind::Traffic(_) => 1,
            },
            repetition_times: self.repetitions[index],
            finished: true,
            time_ps: self.end.saturating_sub(job.start).ps(),
            parts: (self.simulation.network_latency && job.is_traffic()).then(LatencyParts::default),
            ..JobTotals::default()
        };
        let mut latency = Histogram::default();
        let mut hops = Histogram::default();
        for counts in self.lps.iter().filter_map(|lp| lp.counts(index)) {
            totals.messages += counts.messages;
            totals.bytes += counts.bytes;
            latency.merge(&counts.latency);
            hops.merge(&counts.hops);
            if self.simulation.drains {
                let wait = totals.source_wait_ps.get_or_insert_default();
                wait.merge(&counts.source_wait);
            }
            if let (Some(parts), Some(counted)) = (&mut totals.parts, &counts.parts) {
                parts.network_latency_ps.merge(&counted.network_latency);
                parts.source_wait_ps.merge(&counted.source_wait);
            }
        }
        totals.latency_ps = latency;
        totals.hops = hops;
        if let JobKind::Traffic(_) = &job.kind {
            totals.traffic = Some(self.traffic(index, totals.hosts));
        }
        totals
    }

    /// Offered and accepted traffic of a job of this number of hosts.
    fn traffic(&self, index: usize, hosts: u64) -> TrafficTotals {
        let mut totals = TrafficTotals {
            capacity_bytes: self.capacity_bytes(hosts),
            ..TrafficTotals::default()
        };
        let mut growth = [0; OCTAVES];
        let mut arrived = 0;
        for counts in self.lps.iter().filter_map(|lp| lp.counts(index)) {
            totals.offered_bytes += counts.offered_bytes;
            totals.accepted_bytes += counts.accepted_bytes;
            arrived += counts.measured_bytes;
            // One host counts what is sent, another what arrives, so that a partial sum may be below 0.
            totals.backlog_bytes = totals
                .backlog_bytes
                .wrapping_add(counts.bytes)
                .wrapping_sub(counts.bytes_delivered);
            for (sum, bytes) in growth.iter_mut().zip(counts.growth) {
                *sum += bytes;
            }
        }
        totals.missing_bytes = self.simulation.drains.then(|| totals.offered_bytes - arrived);
        totals.growth = last_octaves(self.measured(), growth);
        totals.fairness = self.fairness(index);
        totals
    }

    /// Fairness between the hosts that a job of traffic has alone. Other jobs would share the injection link.
    fn fairness(&self, index: usize) -> Option<Fairness> {
        let rails = self.simulation.network.rails.count();
        let hosts = self.hosts().filter_map(|host| {
            let offered_bytes = host.collection().counts(index)?.offered_bytes;
            let others = (0..self.simulation.jobs.len()).filter(|job| *job != index);
            let shared = others
                .filter_map(|job| host.collection().counts(job))
                .any(|counts| counts.bytes > 0);
            let injected = (0..rails).map(|rail| {
                let used = host.injection_use(rail, self.end);
                used.bytes - used.packets * u64::from(self.simulation.packet_header)
            });
            (!shared).then(|| HostTraffic {
                offered_bytes,
                injected_bytes: injected.sum(),
            })
        });
        Fairness::of(hosts, self.capacity_bytes(1))
    }

    /// Bytes that these hosts can inject in the measured span.
    fn capacity_bytes(&self, hosts: u64) -> u64 {
        let injection = self.simulation.network.injection_bits_per_s();
        let per_host = u128::from(injection) * u128::from(self.measured().ps()) / 8_000_000_000_000;
        u64::try_from(per_host * u128::from(hosts)).unwrap_or(u64::MAX)
    }

    /// Rows of all ranks by job. Adds the totals of ranks to their jobs.
    fn ranks(&self, jobs: &mut [JobTotals]) -> (Vec<RankRow>, Vec<CallRow>) {
        let (mut rank_rows, mut call_rows) = (Vec::new(), Vec::new());
        for (index, job) in self.simulation.jobs.iter().enumerate() {
            let JobKind::Ranks(ranks) = &job.kind else {
                continue;
            };
            let totals = &mut jobs[index];
            let name: Arc<str> = job.name.as_str().into();
            *totals = JobTotals {
                ranks: ranks.hosts.len() as u64,
                messages: 0,
                bytes: 0,
                time_ps: 0,
                ..std::mem::take(totals)
            };
            let others = ranks.workload.other_locations();
            totals.recording = RecordingTotals::new(others.locations, others.events);
            let mut unreceived = UnreceivedTotals::default();
            let mut path = PathCounter::default();
            for (rank, host) in ranks.hosts.iter().enumerate() {
                let slot = &self.host(*host).ranks()
                    [usize::from(self.simulation.occupants.slot(index as u16, rank as u32))];
                let row = self.rank_row(&name, slot, *host, job.start);
                totals.finished &= row.finished;
                totals.stopped |= stopped_at(slot).is_some();
                totals.time_ps = totals.time_ps.max(row.time_ps);
                totals.compute_sum_ps += u128::from(row.compute_ps);
                totals.mpi_sum_ps += u128::from(row.mpi_ps);
                totals.mpi_parts.add(&row);
                add_recording(totals, slot);
                unreceived.add(&row, slot);
                if let Some(state) = &slot.state {
                    path.add(state);
                }
                totals.messages += row.messages_sent + row.collective_messages_sent;
                totals.bytes += row.bytes_sent + row.collective_bytes_sent;
                rank_rows.push(row);
                let stats = slot.state.as_ref().map(|state| state.stats_at(self.end));
                let calls = stats.iter().flat_map(RankStats::calls);
                call_rows.extend(calls.map(|call| CallRow {
                    job: name.clone(),
                    rank: rank as u32,
                    call: call.call.name().into(),
                    count: call.calls,
                    time_ps: call.time.ps(),
                }));
            }
            totals.unreceived = unreceived.unreceived();
            if totals.finished {
                totals.path = self.path(index, path);
            }
        }
        (rank_rows, call_rows)
    }

    /// The critical path of a job whose ranks have all finished.
    fn path(&self, job: usize, counter: PathCounter) -> Option<PathTotals> {
        let network = &self.simulation.network;
        let names = network.topology.link_classes();
        let routers = self.lps.iter().filter_map(|lp| match lp {
            NetworkLp::Router(router) => Some(router),
            _ => None,
        });
        let sizes = (network.rails.count(), names.len());
        let waits = JobWaits::new(job, sizes, self.end, self.hosts(), routers);
        counter.totals(&waits, &names)
    }

    fn rank_row(&self, job: &Arc<str>, slot: &RankSlot, host: HostId, start: Time) -> RankRow {
        let stats = slot
            .state
            .as_ref()
            .map(|state| state.stats_at(self.end))
            .unwrap_or_default();
        RankRow {
            job: job.clone(),
            rank: slot.rank,
            host: host.0,
            finished: stats.finished_at.is_some(),
            time_ps: stats
                .finished_at
                .or(stopped_at(slot))
                .unwrap_or(self.end)
                .saturating_sub(start)
                .ps(),
            compute_ps: stats.compute.ps(),
            mpi_ps: stats.communication().ps(),
            overhead_ps: stats.overhead().ps(),
            partner_ps: stats.idle.partner.ps(),
            transfer_ps: stats.idle.transfer.ps(),
            link_wait_ps: stats.idle.links.ps(),
            collective_partner_ps: stats.collective_idle.partner.ps(),
            collective_transfer_ps: stats.collective_idle.transfer.ps(),
            collective_link_wait_ps: stats.collective_idle.links.ps(),
            messages_sent: stats.messages_sent,
            bytes_sent: stats.bytes_sent,
            messages_received: stats.messages_received,
            bytes_received: stats.bytes_received,
            collective_messages_sent: stats.collective_messages_sent,
            collective_bytes_sent: stats.collective_bytes_sent,
            collective_messages_received: stats.collective_messages_received,
            collective_bytes_received: stats.collective_bytes_received,
        }
    }
}

/// When a rank was stopped by the end of its job.
fn stopped_at(slot: &RankSlot) -> Option<Time> {
    slot.state.as_ref()?.stopped_at()
}

/// Adds what the recording of a finished rank tells.
fn add_recording(totals: &mut JobTotals, slot: &RankSlot) {
    let Some(recording) = slot.state.as_ref().and_then(Rank::recording) else {
        return;
    };
    let gap = recording.longest_gap;
    let rank = u64::from(slot.rank);
    totals
        .recording
        .add_rank(rank, recording.span_ps, (gap.at_ps, gap.ps));
    let cut = recording.cut.map(|cut| CutSummary {
        sends: cut.sends,
        receives: cut.receives,
        collectives: cut.collectives,
        transfers: cut.transfers,
        requests: cut.requests,
    });
    totals.recording.add_window(recording.outside_ps(), cut);
    for (call, left_out) in &recording.not_replayed {
        totals.recording.add_calls(call, left_out.count, left_out.ps);
    }
}

/// Messages of the program of a job that were sent and received.
#[derive(Default)]
struct UnreceivedTotals {
    sent: u64,
    received: u64,
    example: Option<UnreceivedMessage>,
}

impl UnreceivedTotals {
    fn add(&mut self, row: &RankRow, slot: &RankSlot) {
        self.sent += row.messages_sent;
        self.received += row.messages_received;
        if self.example.is_none()
            && let Some((from, tag)) = slot.state.as_ref().and_then(Rank::first_unreceived)
        {
            self.example = Some(UnreceivedMessage {
                from: from.into(),
                to: row.rank.into(),
                tag: tag.into(),
            });
        }
    }

    /// The messages that no rank has received; `None` if there are none.
    fn unreceived(self) -> Option<Unreceived> {
        let messages = self.sent.saturating_sub(self.received);
        (messages > 0).then_some(Unreceived {
            messages,
            sent: self.sent,
            example: self.example,
        })
    }
}

/// Growth of the backlog in the last three octaves of a measured span, the last one first. The counter of the fourth
/// octave also has those before it.
fn last_octaves(measured: Time, growth: [i64; OCTAVES]) -> Vec<BacklogGrowth> {
    let Some(last) = measured.ps().checked_ilog2() else {
        return Vec::new();
    };
    let interval = |back: u32| {
        let from_ps = 1u64 << last.checked_sub(back)?;
        Some(BacklogGrowth {
            from_ps,
            until_ps: (2 * from_ps).min(measured.ps()),
            bytes: growth[octave(Time::from_ps(from_ps))],
        })
    };
    (0..OCTAVES as u32 - 1).filter_map(interval).collect()
}
