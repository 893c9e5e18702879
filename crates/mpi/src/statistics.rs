//! What one rank did: time by call, messages, bytes.

use des::Time;
use workload::Call;

/// Calls and time of one MPI call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTime {
    /// Which call.
    pub call: Call,
    /// How many. The parts that a recording makes of one MPI_Sendrecv count once, at the send.
    pub calls: u64,
    /// Time in the call: overheads and blocking.
    pub time: Time,
}

/// Statistics of one rank. Between start and finish, every picosecond is in `compute` or in exactly
/// one call; an operation adds its time when it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankStats {
    /// Time in computation, after scaling.
    pub compute: Time,
    /// Point-to-point messages of the program that left.
    pub messages_sent: u64,
    /// Their payload in bytes, without headers and control messages.
    pub bytes_sent: u64,
    /// Point-to-point messages of the program that a receive took completely.
    pub messages_received: u64,
    /// Their payload in bytes.
    pub bytes_received: u64,
    /// Messages of collectives that left.
    pub collective_messages_sent: u64,
    /// Their payload in bytes.
    pub collective_bytes_sent: u64,
    /// Messages of collectives that were taken completely.
    pub collective_messages_received: u64,
    /// Their payload in bytes.
    pub collective_bytes_received: u64,
    /// Start of the program.
    pub started_at: Option<Time>,
    /// End of the program.
    pub finished_at: Option<Time>,
    /// Sorted by call; sparse, since a program uses few of them and there may be a million ranks.
    calls: Vec<CallTime>,
}

impl RankStats {
    /// The calls that the rank has made, in the order of [`Call`].
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

    /// Time in all MPI calls.
    pub fn communication(&self) -> Time {
        self.calls.iter().fold(Time::ZERO, |sum, c| sum + c.time)
    }

    fn position(&self, call: Call) -> Result<usize, usize> {
        self.calls.binary_search_by_key(&call, |c| c.call)
    }

    pub(crate) fn count_call(&mut self, call: Call, calls: u64, time: Time) {
        let index = self.position(call).unwrap_or_else(|index| {
            self.calls.insert(
                index,
                CallTime {
                    call,
                    calls: 0,
                    time: Time::ZERO,
                },
            );
            index
        });
        self.calls[index].calls += calls;
        self.calls[index].time += time;
    }

    pub(crate) fn count_sent(&mut self, of_collective: bool, bytes: u64) {
        if of_collective {
            self.collective_messages_sent += 1;
            self.collective_bytes_sent += bytes;
        } else {
            self.messages_sent += 1;
            self.bytes_sent += bytes;
        }
    }

    pub(crate) fn count_received(&mut self, of_collective: bool, bytes: u64) {
        if of_collective {
            self.collective_messages_received += 1;
            self.collective_bytes_received += bytes;
        } else {
            self.messages_received += 1;
            self.bytes_received += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_add_up_sorted() {
        let mut stats = RankStats::default();
        stats.count_call(Call::Wait, 1, Time(5));
        stats.count_call(Call::Send, 1, Time(2));
        stats.count_call(Call::Wait, 1, Time(1));
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
