//! One-sided communication: put, get, and the fence that ends them.
//!
//! Source: MPI 4.1, chapter 12 "One-Sided Communications", synchronisation by `MPI_Win_fence`. The protocol is
//! that of NICs that read and write the memory of other hosts: the CPU of the target has no part in it.

use des::Time;
use workload::{Call, Collective};

use crate::message::{COLLECTIVE_CONTEXT, Kind, Message, NO_REQUEST, WINDOW_CONTEXT};
use crate::operations::Step;
use crate::rank::{Action, Departure, Origin, Rank};
use crate::requests::{Direction, Owner};
use crate::statistics::Traffic;
use crate::{CollectiveCall, ReplayError};

impl Rank {
    /// Pays the overhead of a put or get ([`Origin::Put`], [`Origin::Get`]) and then lets it go.
    pub(crate) fn begin_one_sided(
        &mut self,
        origin: Origin,
        (peer, communicator, bytes): (u32, u32, u64),
        call: Call,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<Step, ReplayError> {
        self.enter(call, 1);
        let departure = Departure {
            to: self.peer(call, communicator, peer)?,
            context: communicator | WINDOW_CONTEXT,
            tag: 0,
            bytes,
            call,
            origin,
        };
        self.begin_send(departure, now, out)
    }

    /// Lets a put or get go. Nobody waits for it until the fence.
    pub(crate) fn reach_out(&mut self, leaving: &Departure, out: &mut Vec<Action>) {
        let subject = leaving.subject();
        let request = self.requests.open(subject, Owner::Nobody, &mut self.journal);
        let kind = match subject.direction {
            Direction::Get => Kind::Get,
            _ => Kind::Put,
        };
        out.push(Action::Send(Message {
            from: self.rank,
            to: leaving.to,
            communicator: leaving.context,
            tag: leaving.tag,
            bytes: leaving.bytes,
            sequence: 0,
            request,
            kind,
        }));
        if kind == Kind::Put {
            self.stats.count_sent(payload(leaving.bytes), &mut self.journal);
        }
    }

    /// The memory of this rank is written or read.
    pub(crate) fn serve(&mut self, message: Message, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        if message.request == NO_REQUEST {
            return Err(self.broken(format!("nobody asked for {message:?}")));
        }
        let (moved, answer) = (payload(message.bytes), message.kind == Kind::Put);
        if answer {
            self.stats.count_received(moved, &mut self.journal);
            out.push(Action::Send(message.reply(Kind::PutDone)));
        } else {
            self.stats.count_sent(moved, &mut self.journal);
            out.push(Action::Send(message.reply(Kind::GetData)));
        }
        Ok(())
    }

    /// The answer to a put or get is here.
    pub(crate) fn take_answer(
        &mut self,
        answer: Message,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        let direction = match answer.kind {
            Kind::GetData => Direction::Get,
            _ => Direction::Put,
        };
        let asked = self.requests.get(answer.request).is_some_and(|request| {
            request.subject.direction == direction && request.subject.peer == Some(answer.from)
        });
        if !asked {
            return Err(self.broken(format!("it did not ask for {answer:?}")));
        }
        if direction == Direction::Get {
            self.stats
                .count_received(payload(answer.bytes), &mut self.journal);
        }
        self.complete(answer.request, now, out)
    }

    /// Waits for the rank's own puts and gets, then for all other ranks in a barrier.
    pub(crate) fn begin_fence(
        &mut self,
        communicator: u32,
        call: Call,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<Step, ReplayError> {
        self.enter(call, 1);
        let rank = self.member(call, communicator)?;
        let share = CollectiveCall {
            rank,
            ranks: self.size_of(communicator),
            root: 0,
            bytes: 0,
        };
        let window = communicator | WINDOW_CONTEXT;
        let part = self.next_part(
            Collective::Barrier,
            window | COLLECTIVE_CONTEXT,
            share,
            None,
            call,
        )?;
        // The barrier's first receives are posted now, which costs nothing; its first send follows the wait.
        self.begin_collective(part, now, out)?;
        let own: Vec<u32> = self
            .requests
            .iter()
            .filter(|(_, request)| {
                let subject = &request.subject;
                matches!(subject.direction, Direction::Put | Direction::Get) && subject.context == window
            })
            .map(|(handle, _)| handle)
            .collect();
        self.begin_waiting(now);
        for handle in own {
            self.wait_for(handle)?;
        }
        self.settle(now, out)
    }
}

/// One-sided data count as point-to-point messages, in the direction in which they move.
fn payload(bytes: u64) -> Traffic {
    Traffic {
        of_collective: false,
        bytes,
    }
}
