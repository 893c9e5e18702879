//! Exact shortcuts: they save a run events and change no result.
//!
//! This module decides once per run which shortcuts apply, from what the experiment requests and what its parts
//! declare. Each shortcut is one file with its theorem, preconditions, proof and test. All other code asks the
//! [`Shortcuts`] of its run.

pub mod credit_batching;
pub mod early_commit;
mod long_windows;
pub mod send_ahead;
pub mod tallies;

use des::Time;
use experiment::{CreditSetting, Experiment, Job, NetworkModel, Series};
use fabric::{LINKS, LinkCapabilities, NicCapabilities, RouterCapabilities};

use crate::lp::shortcuts::credit_batching::CreditBatching;
use crate::lp::shortcuts::early_commit::EarlyCommit;
use crate::lp::shortcuts::send_ahead::SendAhead;
use crate::lp::shortcuts::tallies::Tallies;

/// What an experiment requests of a run: what it collects, and its settings.
#[derive(Clone, Copy, Debug)]
pub struct Requested {
    /// The latest end of the run, if known.
    pub until: Option<Time>,
    /// Whether hosts are asked in a drain phase what has arrived.
    pub drains: bool,
    /// Time series.
    pub series: Series,
    /// Greatest number of time bins, if it has a bound.
    pub bins: Option<u64>,
    /// Timelines of ranks and messages.
    pub timeline: bool,
    /// Where packets wait.
    pub waits: bool,
    /// Latencies of the packets that each host received.
    pub host_latency: bool,
    /// Whether the run neither writes a checkpoint nor resumes from one.
    pub whole: bool,
    /// Whether a job has ranks, which react to arrivals.
    pub ranks: bool,
    /// The setting of credit batching.
    pub credits: CreditSetting,
}

/// What the parts of a network declare.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// Whether routing decides without credits and loads.
    pub oblivious: bool,
    /// The router model.
    pub router: RouterCapabilities,
    /// The NIC model.
    pub nic: NicCapabilities,
    /// The links.
    pub links: LinkCapabilities,
    /// Whether buffers are divided into slots of the largest packet.
    pub packet_slots: bool,
    /// Smallest buffer of a VC, in bytes.
    pub vc_buffer: u32,
    /// Largest packet with its header, in bytes.
    pub packet: u32,
    /// Number of NIC ports of a host.
    pub rails: u32,
    /// Latency of the shortest link.
    pub shortest_link: Time,
    /// Shortest time from the start of a packet until a router handles it: a link, and the pipeline of the router.
    pub nearest_router: Time,
}

/// The shortcuts of one run.
#[derive(Clone, Copy, Debug)]
pub struct Shortcuts {
    /// Credits return in batches.
    pub credit_batching: CreditBatching,
    /// Deliveries are counted before their time.
    pub early_commit: EarlyCommit,
    /// Hosts send before a message is due.
    pub send_ahead: SendAhead,
    /// Series of hosts are added up when they are decided.
    pub tallies: Tallies,
    /// Least delay of any event between two LPs before the end of the run.
    pub lookahead: Time,
}

impl Requested {
    /// What an experiment requests. `whole`: it writes no checkpoint and resumes from none.
    pub fn new(experiment: &Experiment, whole: bool) -> Requested {
        let (run, collect) = (&experiment.run, &experiment.collect);
        Requested {
            until: run.latest_end(),
            drains: run.drains(),
            series: collect.series,
            bins: collect.bins.at_most(run.latest_end()),
            timeline: collect.timeline,
            waits: collect.waits,
            host_latency: collect.host_latency,
            whole,
            ranks: !experiment.jobs.iter().all(Job::is_traffic),
            credits: run.credits,
        }
    }
}

impl Declared {
    /// What the parts of a network declare.
    pub fn new(network: &NetworkModel) -> Declared {
        Declared {
            oblivious: network.routing.oblivious().is_some(),
            router: network.router_models.capabilities(),
            nic: network.router_models.nic_capabilities(),
            links: LINKS,
            packet_slots: network.packet_slot() > 0,
            vc_buffer: network.smallest_buffer_of_vc(),
            packet: network.packet.largest(),
            rails: network.rails.count(),
            shortest_link: network.lookahead(),
            nearest_router: network.nearest_router(),
        }
    }
}

impl Shortcuts {
    /// All shortcuts whose preconditions hold.
    pub fn choose(requested: &Requested, declared: &Declared) -> Shortcuts {
        Shortcuts {
            credit_batching: credit_batching::applies(requested, declared).unwrap_or(CreditBatching::OFF),
            early_commit: early_commit::applies(requested, declared).unwrap_or(EarlyCommit::OFF),
            send_ahead: send_ahead::applies(requested, declared).unwrap_or(SendAhead::OFF),
            tallies: tallies::applies(requested, declared).unwrap_or(Tallies::OFF),
            lookahead: long_windows::applies(requested, declared).unwrap_or(declared.shortest_link),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change, and the remaining shortcuts.
    type Case<T> = (fn(&mut T), &'static str);

    /// Names of the shortcuts that apply.
    fn taken(requested: &Requested, declared: &Declared) -> String {
        let shortcuts = Shortcuts::choose(requested, declared);
        let taken = [
            ("batches", shortcuts.credit_batching.is_on()),
            ("early", shortcuts.early_commit.covers(Time(99))),
            ("ahead", shortcuts.send_ahead.reaches(Time(0), Time(99))),
            ("windows", shortcuts.lookahead == Time(30)),
            ("tallies", shortcuts.tallies.is_on()),
        ];
        let names: Vec<&str> = taken
            .iter()
            .filter(|(_, is)| *is)
            .map(|(name, _)| *name)
            .collect();
        names.join(" ")
    }

    #[test]
    fn each_precondition_is_needed() {
        let requested = Requested {
            until: Some(Time(100)),
            drains: false,
            series: Series::Off,
            bins: Some(128),
            timeline: false,
            waits: false,
            host_latency: false,
            whole: true,
            ranks: false,
            credits: CreditSetting::Auto,
        };
        let declared = Declared {
            oblivious: true,
            router: RouterCapabilities {
                reports_credit_waits: true,
                final_reservations: true,
                sends_signals: false,
                ..RouterCapabilities::NONE
            },
            nic: NicCapabilities {
                accepts_every_arrival: true,
                needs_arrivals: false,
                sends_only_messages: true,
                final_reservations: true,
                reports_credit_waits: true,
                ..NicCapabilities::NONE
            },
            links: LINKS,
            packet_slots: false,
            vc_buffer: 160,
            packet: 10,
            rails: 1,
            shortest_link: Time(10),
            nearest_router: Time(30),
        };
        assert_eq!(taken(&requested, &declared), "batches early ahead windows");
        let seen: [Case<Requested>; 13] = [
            (|o| o.until = None, ""),
            (|o| o.drains = true, "batches"),
            (
                |o| o.series = Series::Classes,
                "batches early ahead windows tallies",
            ),
            (|o| (o.series, o.whole) = (Series::Classes, false), ""),
            (
                |o| (o.series, o.bins) = (Series::Classes, Some(1 << 21)),
                "batches",
            ),
            (|o| (o.series, o.bins) = (Series::Classes, None), "batches"),
            (|o| o.series = Series::Links, ""),
            (|o| o.timeline = true, "batches"),
            (|o| o.waits = true, "batches"),
            (|o| o.host_latency = true, "batches"),
            (|o| o.whole = false, ""),
            (|o| o.ranks = true, ""),
            (|o| o.credits = CreditSetting::Each, "early ahead"),
        ];
        for (index, (change, left)) in seen.into_iter().enumerate() {
            let mut requested = requested;
            change(&mut requested);
            assert_eq!(taken(&requested, &declared), left, "requested, {index}");
        }
        let parts: [Case<Declared>; 16] = [
            (|d| d.oblivious = false, "early ahead"),
            (|d| d.router.reports_credit_waits = false, "early ahead"),
            (|d| d.router.final_reservations = false, "batches"),
            (|d| d.router.sends_signals = true, "batches early ahead"),
            (|d| d.nic.reports_credit_waits = false, "early ahead"),
            (|d| d.nic.signals_of = Some("flit"), "batches early ahead"),
            (|d| d.nic.accepts_every_arrival = false, "batches"),
            (|d| d.nic.needs_arrivals = true, "batches"),
            (|d| d.nic.sends_only_messages = false, "batches early windows"),
            (|d| d.nic.final_reservations = false, "batches early windows"),
            (|d| d.links.loses_packets = true, "batches"),
            (|d| d.router = RouterCapabilities::NONE, ""),
            (|d| d.nic = NicCapabilities::NONE, ""),
            (|d| d.packet_slots = true, "early ahead"),
            (|d| d.vc_buffer = 159, "early ahead"),
            (|d| d.rails = 2, "batches early windows"),
        ];
        for (index, (change, left)) in parts.into_iter().enumerate() {
            let mut declared = declared;
            change(&mut declared);
            assert_eq!(taken(&requested, &declared), left, "declared, {index}");
        }
        // With series, early commit needs tallies, and these need final reservations of NICs.
        let tallied = Requested {
            series: Series::Classes,
            ..requested
        };
        let (mut declared, all) = (declared, "batches early ahead windows tallies");
        assert_eq!(taken(&tallied, &declared), all);
        declared.nic.final_reservations = false;
        assert_eq!(taken(&tallied, &declared), "batches");
    }
}
