//! Statistics of one rank: time by call, messages, bytes.

use des::{Journal, Time};
use serde::{Deserialize, Serialize};
use workload::Call;

use crate::cpu::CpuActivity;
use crate::idle::IdleTime;

/// Calls and time of one MPI call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTime {
    /// The call.
    pub call: Call,
    /// Number of calls. A recorded MPI_Sendrecv counts once, at its send.
    pub calls: u64,
    /// Time in the call: overheads and blocking.
    pub time: Time,
}

/// Statistics of one rank. Between start and finish, every picosecond belongs to `compute` or to exactly one
/// call. An operation adds its time when it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankStats {
    /// Time in computation, after scaling.
    pub compute: Time,
    /// Point-to-point messages of the program that were sent.
    pub messages_sent: u64,
    /// Their payload in bytes, without headers and control messages.
    pub bytes_sent: u64,
    /// Point-to-point messages of the program that were received.
    pub messages_received: u64,
    /// Their payload in bytes.
    pub bytes_received: u64,
    /// Messages of collectives that were sent.
    pub collective_messages_sent: u64,
    /// Their payload in bytes.
    pub collective_bytes_sent: u64,
    /// Messages of collectives that were received.
    pub collective_messages_received: u64,
    /// Their payload in bytes.
    pub collective_bytes_received: u64,
    /// Idle time in calls, waiting for point-to-point messages.
    pub idle: IdleTime,
    /// Idle time in calls, waiting for messages of collectives.
    pub collective_idle: IdleTime,
    /// Start of the program.
    pub started_at: Option<Time>,
    /// End of the program.
    pub finished_at: Option<Time>,
    /// Sorted by call; sparse, since a program uses few calls and there may be a million ranks.
    calls: Vec<CallTime>,
}

impl RankStats {
    /// The calls of the rank, in the order of [`Call`].
    pub fn calls(&self) -> &[CallTime] {
        &self.calls
    }

    /// One call; zeros if the rank has not made it.
    pub fn call(&self, call: Call) -> CallTime {
        let none = CallTime {
            call,
            calls: 0,
            time: Time::ZERO,
        };
        self.position(call).map_or(none, |i| self.calls[i])
    }

    /// Adds calls and their time.
    #[inline(always)]
    fn add_call(&mut self, call: Call, calls: u64, time: Time) -> (usize, Option<CallTime>) {
        let (index, old) = match self.position(call) {
            Ok(index) => (index, Some(self.calls[index])),
            Err(index) => {
                let (calls, time) = (0, Time::ZERO);
                self.calls.insert(index, CallTime { call, calls, time });
                (index, None)
            }
        };
        let entry = &mut self.calls[index];
        entry.calls = entry.calls.wrapping_add(calls);
        entry.time = Time(entry.time.ps().wrapping_add(time.ps()));
        (index, old)
    }

    /// The statistics with an activity that the end of the run interrupts after this span, and its idle time.
    pub(crate) fn with_interrupted(
        &self,
        activity: CpuActivity,
        span: Time,
        (of_collective, idle): (bool, IdleTime),
    ) -> RankStats {
        let mut stats = self.clone();
        stats.idle_of(of_collective).count(true, &idle);
        match activity {
            CpuActivity::None => {}
            CpuActivity::Compute(_) => stats.compute = Time(stats.compute.ps().wrapping_add(span.ps())),
            CpuActivity::Call { call, calls } => {
                stats.add_call(call, calls, span);
            }
        }
        stats
    }

    /// Idle time of collectives, or of point-to-point messages.
    fn idle_of(&mut self, collectives: bool) -> &mut IdleTime {
        match collectives {
            true => &mut self.collective_idle,
            false => &mut self.idle,
        }
    }

    /// CPU time in MPI calls: overheads, copies, searches of queues.
    pub fn overhead(&self) -> Time {
        let idle = [self.idle, self.collective_idle].map(|idle| idle.total());
        self.communication()
            .saturating_sub(idle[0])
            .saturating_sub(idle[1])
    }

    /// Time in all MPI calls.
    pub fn communication(&self) -> Time {
        self.calls.iter().fold(Time::ZERO, |sum, c| sum + c.time)
    }

    fn position(&self, call: Call) -> Result<usize, usize> {
        self.calls.binary_search_by_key(&call, |c| c.call)
    }
}

/// Statistics that can be undone.
#[derive(Debug)]
pub(crate) struct Statistics(RankStats);

/// A change of the statistics.
#[derive(Debug)]
pub(crate) enum StatisticsChange {
    Started,
    Finished,
    Computed(Time),
    /// Index of the call, and its previous entry.
    Called(usize, Option<CallTime>),
    Sent(CountedMessage),
    Received(CountedMessage),
    /// Idle time, and whether it was for a collective.
    Idle(bool, IdleTime),
}

/// A message as counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedMessage {
    pub of_collective: bool,
    pub bytes: u64,
}

/// Adds or removes one message. Sums wrap, so that speculation cannot overflow them and undo is exact. No
/// committed run lasts 2^64 ps or moves 2^64 bytes.
fn count(up: bool, (messages, bytes): (&mut u64, &mut u64), by: u64) {
    if up {
        (*messages, *bytes) = (messages.wrapping_add(1), bytes.wrapping_add(by));
    } else {
        (*messages, *bytes) = (messages.wrapping_sub(1), bytes.wrapping_sub(by));
    }
}

impl Statistics {
    pub fn new(stats: RankStats) -> Statistics {
        Statistics(stats)
    }

    pub fn get(&self) -> &RankStats {
        &self.0
    }

    pub fn start(&mut self, now: Time, journal: &mut impl Journal<StatisticsChange>) {
        self.0.started_at = Some(now);
        journal.note(|| StatisticsChange::Started);
    }

    pub fn finish(&mut self, now: Time, journal: &mut impl Journal<StatisticsChange>) {
        self.0.finished_at = Some(now);
        journal.note(|| StatisticsChange::Finished);
    }

    pub fn count_compute(&mut self, span: Time, journal: &mut impl Journal<StatisticsChange>) {
        self.0.compute = Time(self.0.compute.ps().wrapping_add(span.ps()));
        journal.note(|| StatisticsChange::Computed(span));
    }

    pub fn count_call(
        &mut self,
        call: Call,
        calls: u64,
        time: Time,
        journal: &mut impl Journal<StatisticsChange>,
    ) {
        let (index, old) = self.0.add_call(call, calls, time);
        journal.note(|| StatisticsChange::Called(index, old));
    }

    pub fn count_sent(&mut self, sent: CountedMessage, journal: &mut impl Journal<StatisticsChange>) {
        count(true, self.sent(sent.of_collective), sent.bytes);
        journal.note(|| StatisticsChange::Sent(sent));
    }

    pub fn count_received(&mut self, received: CountedMessage, journal: &mut impl Journal<StatisticsChange>) {
        count(true, self.received(received.of_collective), received.bytes);
        journal.note(|| StatisticsChange::Received(received));
    }

    pub fn count_idle(
        &mut self,
        of_collective: bool,
        idle: IdleTime,
        journal: &mut impl Journal<StatisticsChange>,
    ) {
        self.0.idle_of(of_collective).count(true, &idle);
        journal.note(|| StatisticsChange::Idle(of_collective, idle));
    }

    pub fn undo(&mut self, change: StatisticsChange) {
        match change {
            StatisticsChange::Idle(of_collective, idle) => {
                self.0.idle_of(of_collective).count(false, &idle);
            }
            StatisticsChange::Started => self.0.started_at = None,
            StatisticsChange::Finished => self.0.finished_at = None,
            StatisticsChange::Computed(span) => {
                self.0.compute = Time(self.0.compute.ps().wrapping_sub(span.ps()))
            }
            StatisticsChange::Called(index, Some(old)) => self.0.calls[index] = old,
            StatisticsChange::Called(index, None) => {
                self.0.calls.remove(index);
            }
            StatisticsChange::Sent(sent) => count(false, self.sent(sent.of_collective), sent.bytes),
            StatisticsChange::Received(received) => {
                count(false, self.received(received.of_collective), received.bytes);
            }
        }
    }

    /// Messages and bytes sent.
    fn sent(&mut self, of_collective: bool) -> (&mut u64, &mut u64) {
        let stats = &mut self.0;
        if of_collective {
            (
                &mut stats.collective_messages_sent,
                &mut stats.collective_bytes_sent,
            )
        } else {
            (&mut stats.messages_sent, &mut stats.bytes_sent)
        }
    }

    /// Messages and bytes received.
    fn received(&mut self, of_collective: bool) -> (&mut u64, &mut u64) {
        let stats = &mut self.0;
        if of_collective {
            (
                &mut stats.collective_messages_received,
                &mut stats.collective_bytes_received,
            )
        } else {
            (&mut stats.messages_received, &mut stats.bytes_received)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::RankJournal;

    #[test]
    fn calls_add_up_sorted() {
        let mut counted = Statistics::new(RankStats::default());
        for (call, time) in [(Call::Wait, 5), (Call::Send, 2), (Call::Wait, 1)] {
            counted.count_call(call, 1, Time(time), &mut RankJournal::default());
        }
        let stats = counted.get();
        assert_eq!(
            stats.calls().iter().map(|c| c.call).collect::<Vec<_>>(),
            [Call::Send, Call::Wait]
        );
        assert_eq!(
            stats.call(Call::Wait),
            CallTime {
                call: Call::Wait,
                calls: 2,
                time: Time(6)
            }
        );
        assert_eq!(stats.call(Call::Recv).calls, 0);
        assert_eq!(stats.communication(), Time(8));
    }
}
