//! Up to when what is certain to happen may be noted ahead of its time.
//!
//! Some events only bring to a host what was certain long before: a packet that no message waits for has come, and is
//! counted; a source's next message is due, and meets an idle NIC. Where the end of a run is known, and nobody looks
//! at a host before, the router that gives such a packet its turn on the last wire counts it at once, and a host makes
//! its messages ahead of their time, as long as their turns on the wire are certain. Packets, their times and all
//! that is counted are the same; a packet-hop costs fewer events.

use des::{Executor, Time};

use crate::collect::Series;
use crate::lp::credits::Credits;
use crate::run::RunContext;
use crate::setup::experiment::{Experiment, Network};
use crate::setup::job::Job;

/// Hosts make messages so many times the shortest cable ahead: enough for several, few enough to be near in memory
/// when they are due.
const FORESIGHT: u64 = 16;

/// What happens before this time may be noted ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyCommit(Time);

impl EarlyCommit {
    /// Nothing is noted ahead of its time.
    pub const NONE: EarlyCommit = EarlyCommit(Time::ZERO);

    /// The end of the run, if it is known and nobody looks at hosts before: no series, no timelines, no diaries, no
    /// checkpoints, and no ranks, which act upon what comes. Executors that take events back do without.
    pub fn choose(experiment: &Experiment, context: &RunContext<'_>) -> EarlyCommit {
        let collect = &experiment.collect;
        let unseen = collect.series == Series::Off
            && !collect.timeline
            && !collect.waits
            && context.checkpoints.is_none()
            && context.from.is_none();
        let keeps_steps = matches!(
            experiment.run.executor,
            Executor::Optimistic | Executor::ReverseCheck
        );
        match experiment.run.until {
            Some(until) if unseen && !keeps_steps && experiment.jobs.iter().all(Job::is_traffic) => {
                EarlyCommit(until)
            }
            _ => EarlyCommit::NONE,
        }
    }

    /// Least delay of any event between two processes before the end of the run. Packets for hosts are counted
    /// without one, and credits in batches may come late: what is left are packets for routers.
    pub fn lookahead(self, network: &Network, credits: Credits) -> Time {
        match credits {
            Credits::EACH => network.lookahead(),
            _ if self == EarlyCommit::NONE => network.lookahead(),
            _ => network.lookahead_of_packets(),
        }
    }

    /// How far ahead of their time hosts make messages; zero: they do not. With several rails, packets of one host
    /// can reach a router at one time, in the order in which they were sent, which is not to change.
    pub fn send_ahead_window(self, network: &Network) -> Time {
        match network.rails.count() {
            1 if self != EarlyCommit::NONE => Time(network.lookahead().ps().saturating_mul(FORESIGHT)),
            _ => Time::ZERO,
        }
    }

    /// Whether what happens at `time` may be noted before.
    #[inline(always)]
    pub fn covers(self, time: Time) -> bool {
        time < self.0
    }
}
