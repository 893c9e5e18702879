//! The messages that an operation of a rank causes, without executing it: for estimates of work before a run.
//!
//! Each message of a job belongs to one operation of one rank. The messages of all operations of all ranks are
//! therefore those of the job, and a sample of the ranks has its share of them. Times and the order of messages are not
//! known here.

use des::Time;
use workload::{Call, Collective, Operation};

use crate::agreement::RankCall;
use crate::blocking_collective::{CollectiveSchedule, check_counts};
use crate::cpu::{OutgoingSend, SendOrigin};
use crate::message::{COLLECTIVE_CONTEXT, MessageKind, RMA_CONTEXT};
use crate::{CollectiveCall, MpiJob, ReplayError, Round};

/// A message that an operation causes: payload, or a control message of its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedMessage {
    /// Sending rank, counted in the job.
    pub from: u32,
    /// Receiving rank, counted in the job.
    pub to: u32,
    /// Bytes on the wire, headers of packets excluded.
    pub wire_bytes: u64,
}

impl MpiJob {
    /// Calls `each` with the messages that an operation of `rank` causes, in both directions. Collectives use the
    /// algorithm that the ranks would select. Returns the number of rounds and messages. It stops once there are more
    /// than `most`.
    ///
    /// The sender has the messages of a send, and the origin those of a put or get. A rank has what it sends in a
    /// collective; in a bcast and a scatter, what it receives, because few ranks send most of the messages.
    ///
    /// # Errors
    /// The operation is invalid, with the error of a run.
    pub fn expected_messages(
        &self,
        rank: u32,
        operation: &Operation,
        most: u64,
        each: &mut dyn FnMut(ExpectedMessage),
    ) -> Result<u64, ReplayError> {
        let mut expectation = Expectation {
            job: self,
            rank,
            most,
            steps: 0,
            each,
        };
        expectation.add(operation)?;
        Ok(expectation.steps)
    }

    /// The time that an operation of `rank` computes; 0 for an operation that does not.
    pub fn expected_computation(&self, rank: u32, operation: &Operation) -> Time {
        match *operation {
            Operation::Compute { ps, region } => self.settings.compute.apply(Time::from_ps(ps), region, rank),
            _ => Time::ZERO,
        }
    }
}

/// Gathers the messages of one operation.
struct Expectation<'a> {
    job: &'a MpiJob,
    rank: u32,
    /// Largest number of steps.
    most: u64,
    /// Rounds and messages so far.
    steps: u64,
    each: &'a mut dyn FnMut(ExpectedMessage),
}

impl Expectation<'_> {
    fn add(&mut self, operation: &Operation) -> Result<(), ReplayError> {
        match *operation {
            Operation::Send {
                to,
                communicator,
                bytes,
                call,
                ..
            } => {
                let to = self.peer(call, communicator, to)?;
                self.add_two_sided(self.rank, to, bytes, call);
            }
            Operation::Put {
                to: target,
                communicator,
                bytes,
                call,
            } => {
                let target = self.peer(call, communicator, target)?;
                self.add_message(MessageKind::Put, self.rank, target, bytes);
                self.add_message(MessageKind::PutDone, target, self.rank, bytes);
            }
            Operation::Get {
                from: target,
                communicator,
                bytes,
                call,
            } => {
                let target = self.peer(call, communicator, target)?;
                self.add_message(MessageKind::Get, self.rank, target, bytes);
                self.add_message(MessageKind::GetData, target, self.rank, bytes);
            }
            Operation::Fence { communicator, call } => {
                let own = self.own_call(call, communicator, 0, 0)?;
                self.add_collective(communicator | RMA_CONTEXT, RankCall::fence(call, own))?;
            }
            Operation::Collective {
                collective,
                communicator,
                root,
                bytes,
                ref counts,
                request,
                reduction,
                call,
            } => {
                self.peer(call, communicator, root)?;
                let rank_call = RankCall {
                    collective,
                    call,
                    own: self.own_call(call, communicator, root, bytes)?,
                    counts: counts.clone(),
                    reduction,
                    blocks: request.is_none(),
                };
                self.add_collective(communicator, rank_call)?;
            }
            Operation::Compute { .. }
            | Operation::Receive { .. }
            | Operation::Wait { .. }
            | Operation::Select { .. }
            | Operation::Probe { .. }
            | Operation::Iprobe { .. }
            | Operation::MatchedProbe { .. }
            | Operation::ReceiveMatched { .. }
            | Operation::Cancel { .. }
            | Operation::NewCommunicator { .. }
            | Operation::RepetitionEnd { .. } => {}
        }
        Ok(())
    }

    fn own_call(
        &self,
        call: Call,
        communicator: u32,
        root: u32,
        bytes: u64,
    ) -> Result<CollectiveCall, ReplayError> {
        let group = self.job.known(self.rank, call, communicator)?;
        let rank = group.member(self.rank, call, communicator)?;
        Ok(CollectiveCall::new(rank, group.size(), root, bytes))
    }

    /// The rank of the job that is `peer` in the communicator.
    fn peer(&self, call: Call, communicator: u32, peer: u32) -> Result<u32, ReplayError> {
        let group = self.job.known(self.rank, call, communicator)?;
        group.peer(self.rank, call, communicator, peer)
    }

    /// The rounds of a collective. `context`: without the bit of collectives.
    fn add_collective(&mut self, context: u32, rank_call: RankCall) -> Result<(), ReplayError> {
        let (collective, call) = (rank_call.collective, rank_call.call);
        let communicator = context & !RMA_CONTEXT;
        let context = context | COLLECTIVE_CONTEXT;
        check_counts(self.rank, context, &rank_call)?;
        let group = self.job.known(self.rank, call, communicator)?;
        let schedule = CollectiveSchedule::new(self.job, group, (context, 0), rank_call);
        let mut round = Round::default();
        for k in 0.. {
            round.clear();
            if self.steps > self.most || !schedule.round(k, &mut round) {
                break;
            }
            self.steps += 1;
            if is_counted_at_receivers(collective) {
                for receive in &round.receives {
                    let from = self.peer(call, communicator, receive.from)?;
                    self.add_two_sided(from, self.rank, receive.bytes, call);
                }
            } else {
                for (to, bytes) in &round.sends {
                    let to = self.peer(call, communicator, *to)?;
                    self.add_two_sided(self.rank, to, *bytes, call);
                }
            }
        }
        Ok(())
    }

    /// The messages of a send that a receive matches.
    fn add_two_sided(&mut self, from: u32, to: u32, bytes: u64, call: Call) {
        let send = OutgoingSend {
            to,
            context: 0,
            tag: 0,
            bytes,
            call,
            origin: SendOrigin::Blocking,
        };
        if send.is_rendezvous(&self.job.settings) {
            self.add_message(MessageKind::RequestToSend, from, to, bytes);
            self.add_message(MessageKind::ClearToSend, to, from, bytes);
            self.add_message(MessageKind::Data, from, to, bytes);
        } else {
            self.add_message(MessageKind::Eager, from, to, bytes);
        }
    }

    fn add_message(&mut self, kind: MessageKind, from: u32, to: u32, payload: u64) {
        if self.steps > self.most {
            return;
        }
        self.steps += 1;
        (self.each)(ExpectedMessage {
            from,
            to,
            wire_bytes: kind.wire_bytes(payload, &self.job.settings),
        });
    }
}

/// Whether a rank has the messages of a collective that it receives, not those that it sends.
fn is_counted_at_receivers(collective: Collective) -> bool {
    matches!(collective, Collective::Bcast | Collective::Scatter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ALGORITHMS, MpiSettings};

    const RANKS: u32 = 6;

    fn job(settings: MpiSettings) -> MpiJob {
        MpiJob::new(RANKS, vec![(0..RANKS).collect(), vec![4, 2]].into(), settings).unwrap()
    }

    /// The messages of an operation: sender, receiver, bytes on the wire.
    fn messages(job: &MpiJob, rank: u32, operation: &Operation) -> Vec<(u32, u32, u64)> {
        let mut found = Vec::new();
        let mut each = |message: ExpectedMessage| found.push((message.from, message.to, message.wire_bytes));
        job.expected_messages(rank, operation, u64::MAX, &mut each)
            .unwrap();
        found
    }

    fn send(bytes: u64, call: Call) -> Operation {
        Operation::Send {
            to: 0,
            tag: 0,
            communicator: 1,
            bytes,
            request: None,
            call,
        }
    }

    fn collective(collective: Collective, bytes: u64) -> Operation {
        Operation::Collective {
            collective,
            communicator: 0,
            root: 0,
            bytes,
            counts: None,
            request: None,
            reduction: None,
            call: Call::Other,
        }
    }

    #[test]
    fn protocols_have_their_messages() {
        let job = job(MpiSettings::default());
        let sent = |bytes, call| messages(&job, 2, &send(bytes, call));
        assert_eq!(sent(100, Call::Send), [(2, 4, 132)]);
        assert_eq!(sent(8192, Call::Send), [(2, 4, 8224)]);
        let rendezvous = |bytes: u64| [(2, 4, 64), (4, 2, 64), (2, 4, bytes + 32)];
        assert_eq!(sent(8193, Call::Send), rendezvous(8193));
        assert_eq!(sent(5, Call::Ssend), rendezvous(5));
        let (communicator, bytes, call) = (1, 1000, Call::Put);
        let put = Operation::Put {
            to: 0,
            communicator,
            bytes,
            call,
        };
        assert_eq!(messages(&job, 2, &put), [(2, 4, 1032), (4, 2, 64)]);
        let get = Operation::Get {
            from: 0,
            communicator,
            bytes,
            call,
        };
        assert_eq!(messages(&job, 2, &get), [(2, 4, 64), (4, 2, 1032)]);
        let fence = Operation::Fence { communicator, call };
        assert_eq!(messages(&job, 2, &fence), [(2, 4, 32)]);
    }

    #[test]
    fn computation_is_scaled_as_in_a_run() {
        let mut job = job(MpiSettings::default());
        let compute = Operation::Compute {
            ps: 700,
            region: None,
        };
        assert_eq!(job.expected_computation(3, &compute), Time(700));
        assert_eq!(job.expected_computation(3, &send(7000, Call::Send)), Time::ZERO);
        let half = config::Section::from_toml("compute = { scale = 0.5 }", "x.toml").unwrap();
        job.settings.compute = crate::ComputeRule::read(&half, &[]).unwrap();
        assert_eq!(job.expected_computation(3, &compute), Time(350));
    }

    /// For each algorithm, what all ranks are expected to cause is what they send in its rounds.
    #[test]
    fn ranks_share_the_messages_of_every_algorithm() {
        for algorithm in ALGORITHMS {
            let mut settings = MpiSettings::default();
            if settings
                .collectives
                .choose(algorithm.collective, algorithm.name)
                .is_none()
            {
                panic!("{} is not registered", algorithm.name);
            }
            let job = job(settings).on_hosts(|rank| rank / 2);
            let operation = collective(algorithm.collective, 600);
            let mut expected: Vec<(u32, u32)> = (0..RANKS)
                .flat_map(|rank| messages(&job, rank, &operation))
                .map(|(from, to, _)| (from, to))
                .collect();
            let mut sent = Vec::new();
            for rank in 0..RANKS {
                let own = CollectiveCall::new(rank, RANKS, 0, 600);
                let rank_call = RankCall {
                    collective: algorithm.collective,
                    ..RankCall::fence(Call::Other, own)
                };
                let group = job.group(0).unwrap();
                let schedule = CollectiveSchedule::new(&job, group, (COLLECTIVE_CONTEXT, 0), rank_call);
                let mut round = Round::default();
                for k in 0.. {
                    round.clear();
                    if !schedule.round(k, &mut round) {
                        break;
                    }
                    sent.extend(round.sends.iter().map(|(to, _)| (rank, *to)));
                }
            }
            expected.sort_unstable();
            sent.sort_unstable();
            assert_eq!(
                expected,
                sent,
                "{} {}",
                algorithm.collective.name(),
                algorithm.name
            );
            assert!(!sent.is_empty(), "{}", algorithm.name);
        }
    }

    #[test]
    fn it_stops_after_the_given_number_of_steps() {
        let job = job(MpiSettings::default());
        let mut found = 0;
        let operation = collective(Collective::Alltoall, 100);
        let steps = job
            .expected_messages(0, &operation, 3, &mut |_| found += 1)
            .unwrap();
        assert!(steps > 3 && found <= 4, "{steps} {found}");
    }

    #[test]
    fn invalid_operations_have_the_errors_of_a_run() {
        let job = job(MpiSettings::default());
        let error = |rank, operation: &Operation| {
            let found = job.expected_messages(rank, operation, 10, &mut |_| {});
            found.unwrap_err().to_string()
        };
        let no_member = error(0, &send(1, Call::Send));
        assert_eq!(
            no_member,
            "rank 0: MPI_Send: the rank is not a member of communicator 1"
        );
        let root = Operation::Collective {
            collective: Collective::Bcast,
            communicator: 1,
            root: 2,
            bytes: 1,
            counts: None,
            request: None,
            reduction: None,
            call: Call::Bcast,
        };
        assert!(error(4, &root).contains("no rank 2 in communicator 1 of 2 ranks"));
    }
}
