//! The model that the kernel runs: routers, hosts and the termination detector as logical processes.

use des::{Context, Event, LpId, Model, Purpose, Time};
use fabric::router::RouterUndo;

use crate::lp::collection::{HostCollectionUndo, RouterCollectionUndo};
use crate::lp::counts::JobCounts;
use crate::lp::host::{Host, HostUndo};
use crate::lp::ledger::PacketLedger;
use crate::lp::load_reports::LoadReportsUndo;
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::router_lp::RouterLp;
use crate::lp::sampling::BinTally;
use crate::lp::saved::{read, write};
use crate::lp::shortcuts::credit_batching::CreditBatchesUndo;
use crate::lp::simulation::LpFailure;
use crate::lp::simulation::Simulation;
use crate::lp::termination_detector::TerminationDetector;
use crate::lp::wiring::LpIdentity;

/// The state of one logical process. It is not boxed, since each box would cost a cache miss per event. The tag is in
/// the first cache line.
#[allow(clippy::large_enum_variant)]
#[repr(u8)]
pub enum NetworkLp {
    /// A router.
    Router(RouterLp),
    /// A host.
    Host(Host),
    /// The termination detector.
    TerminationDetector(TerminationDetector),
}

/// One undo step of an LP.
pub enum LpUndo {
    /// Of a router model.
    Router(RouterUndo),
    /// Of the load reports of a router.
    LoadReports(LoadReportsUndo),
    /// Of the credit batches of a router.
    CreditBatches(CreditBatchesUndo),
    /// Of what is collected at a router.
    RouterCollection(RouterCollectionUndo),
    /// Of a host.
    Host(HostUndo),
    /// Of what is collected at a host.
    HostCollection(HostCollectionUndo),
    /// Of the termination detector: its state before.
    TerminationDetector(Box<TerminationDetector>),
}

// Each event keeps several of them.
const _: () = assert!(size_of::<LpUndo>() <= 40);

// Whole cache lines.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<NetworkLp>() == 896);

impl From<HostUndo> for LpUndo {
    #[inline]
    fn from(step: HostUndo) -> LpUndo {
        LpUndo::Host(step)
    }
}

impl From<HostCollectionUndo> for LpUndo {
    #[inline]
    fn from(step: HostCollectionUndo) -> LpUndo {
        LpUndo::HostCollection(step)
    }
}

impl From<RouterCollectionUndo> for LpUndo {
    #[inline]
    fn from(step: RouterCollectionUndo) -> LpUndo {
        LpUndo::RouterCollection(step)
    }
}

impl From<LoadReportsUndo> for LpUndo {
    fn from(step: LoadReportsUndo) -> LpUndo {
        LpUndo::LoadReports(step)
    }
}

impl From<Box<TerminationDetector>> for LpUndo {
    fn from(before: Box<TerminationDetector>) -> LpUndo {
        LpUndo::TerminationDetector(before)
    }
}

impl NetworkLp {
    /// Counts of a job at this LP.
    pub fn counts(&self, job: usize) -> Option<&JobCounts> {
        match self {
            NetworkLp::Router(router) => router.collection.delivered(job),
            NetworkLp::Host(host) => host.collection().counts(job),
            NetworkLp::TerminationDetector(_) => None,
        }
    }

    /// What became of packets here other than departures and deliveries; `None` where nothing did.
    pub fn ledger(&self) -> Option<&PacketLedger> {
        match self {
            NetworkLp::Router(router) => router.collection.ledger(),
            NetworkLp::Host(host) => host.collection().ledger(),
            NetworkLp::TerminationDetector(_) => None,
        }
    }
}

impl Model for Simulation {
    type Payload = NetEvent;
    type Lp = NetworkLp;
    type Record = Record;
    type Undo = LpUndo;
    type Error = LpFailure;
    type Tally = BinTally;

    fn lps(&self) -> u32 {
        self.numbering.lps()
    }

    fn lookahead(&self) -> Time {
        self.shortcuts.lookahead
    }

    fn tally(&self) -> BinTally {
        match self.plan.blocks() {
            Some(blocks) if self.plan.tallies() => {
                let sizes = (self.jobs.len(), self.packet_header);
                BinTally::new(self.plan.periods(), blocks.shape(), sizes)
            }
            _ => BinTally::off(),
        }
    }

    fn create(&self, lp: LpId) -> NetworkLp {
        match self.numbering.identity(lp) {
            LpIdentity::Router(router) => NetworkLp::Router(RouterLp::new(self, router)),
            LpIdentity::Host(host) => NetworkLp::Host(Host::new(self, host)),
            LpIdentity::TerminationDetector => {
                NetworkLp::TerminationDetector(TerminationDetector::new(self.ranks_of_jobs()))
            }
        }
    }

    fn start(&self, lp: &mut NetworkLp, context: &mut impl Context<Self>) {
        match lp {
            NetworkLp::Host(host) => host.start(self, context),
            NetworkLp::TerminationDetector(termination_detector) => termination_detector.start(self, context),
            NetworkLp::Router(router) => router.start(self, context),
        }
    }

    // One function that holds the path of a packet. The executors' loops get longer with it, and slower.
    #[inline(never)]
    fn handle(&self, lp: &mut NetworkLp, event: &Event<NetEvent>, context: &mut impl Context<Self>) {
        match lp {
            NetworkLp::Router(router) => router.handle(self, &event.payload, context),
            NetworkLp::Host(host) => host.handle(self, &event.payload, context),
            NetworkLp::TerminationDetector(termination_detector) => {
                termination_detector.handle(self, &event.payload, context)
            }
        }
    }

    #[inline]
    fn prefetch(&self, lp: &NetworkLp, until: Time) {
        match lp {
            NetworkLp::Router(router) => router.prefetch(until),
            NetworkLp::Host(host) => host.prefetch(),
            NetworkLp::TerminationDetector(..) => {}
        }
    }

    #[inline]
    fn prefetch_for(&self, lp: &NetworkLp, event: &Event<NetEvent>) {
        match lp {
            NetworkLp::Router(router) => router.prefetch_for(self, &event.payload),
            NetworkLp::Host(host) => host.prefetch_for(self, event.time, &event.payload),
            NetworkLp::TerminationDetector(..) => {}
        }
    }

    fn undo(&self, lp: &mut NetworkLp, step: LpUndo) {
        match (lp, step) {
            (NetworkLp::Router(router), step) => router.undo(self, step),
            (NetworkLp::Host(host), LpUndo::Host(step)) => host.undo(step),
            (NetworkLp::Host(host), LpUndo::HostCollection(step)) => host.undo_collection(self, step),
            (NetworkLp::TerminationDetector(termination_detector), LpUndo::TerminationDetector(before)) => {
                *termination_detector = *before
            }
            _ => unreachable!("an LP takes back its own steps"),
        }
    }

    fn save(&self, lp: &NetworkLp, bytes: &mut Vec<u8>) {
        match lp {
            NetworkLp::Router(router) => router.save(bytes),
            NetworkLp::Host(host) => write(&host.state(), bytes),
            NetworkLp::TerminationDetector(termination_detector) => write(termination_detector, bytes),
        }
    }

    fn restore(&self, lp: &mut NetworkLp, bytes: &[u8], purpose: Purpose) -> Result<(), String> {
        match lp {
            NetworkLp::Router(router) => router.restore(self, bytes),
            NetworkLp::Host(host) => host.restore(self, read(bytes)?, purpose),
            NetworkLp::TerminationDetector(termination_detector) => {
                *termination_detector = read(bytes)?;
                Ok(())
            }
        }
    }
}
