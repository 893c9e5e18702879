//! Several messages that are one call or one request: collectives on intercommunicators and among neighbours, whose
//! algorithms the simulator does not have, and a send and a receive at once.

use std::ffi::c_int;

use operation::{Call, Operation};

use crate::abi::{MpiStatus, class};
use crate::communicator::MessageSpace;
use crate::failure::{Failure, Outcome};
use crate::message::{Elements, MessageEnvelope};
use crate::point_to_point::ANY_LENGTH;
use crate::process::Process;
use crate::request::{ActiveRequest, Delivery, GroupedMessages, Rest, Target};

/// Source and tag of a receive; `None` for any.
type ReceivePattern = (Option<u32>, Option<u32>);

/// Messages to send and to receive. Peers are as the simulator counts them.
pub(crate) struct MessagePlan {
    pub space: MessageSpace,
    /// Peer, tag, bytes.
    pub sends: Vec<(u32, u32, Vec<u8>)>,
    /// Peer, tag.
    pub receives: Vec<(u32, u32)>,
    /// Gets what was received, in the order of `receives`.
    pub delivery: Delivery,
    /// A receive of the program, whose status is that of the request.
    pub program_receive: Option<(ReceivePattern, Target)>,
    /// The status of the request where the program receives nothing.
    pub status: MpiStatus,
}

impl MessagePlan {
    /// No messages yet.
    pub fn new(delivery: Delivery) -> MessagePlan {
        MessagePlan {
            space: MessageSpace::Library,
            sends: Vec::new(),
            receives: Vec::new(),
            delivery,
            program_receive: None,
            status: MpiStatus::empty(),
        }
    }
}

impl Process {
    /// Starts the messages of a plan.
    pub fn start_messages(&mut self, communicator: c_int, plan: MessagePlan) -> Outcome<ActiveRequest> {
        let number = self.simulated_in(communicator, plan.space)?;
        let mut open = Vec::new();
        let call = Call::Other;
        let post_receive = |process: &mut Process, from, tag| {
            let request = process.requests.take_number();
            let receive = Operation::Receive {
                from,
                tag,
                communicator: number,
                bytes: ANY_LENGTH,
                request: Some(request),
                call,
            };
            process.post(receive, None);
            request
        };
        for (index, (from, tag)) in plan.receives.iter().enumerate() {
            open.push((post_receive(self, Some(*from), Some(*tag)), Some(index)));
        }
        let mut target = None;
        if let Some(((from, tag), into)) = plan.program_receive {
            open.push((post_receive(self, from, tag), None));
            target = open.last().map(|(request, _)| (*request, into));
        }
        for (to, tag, bytes) in plan.sends {
            let payload = self.store(&[&bytes])?;
            let request = self.requests.take_number();
            let send = Operation::Send {
                to,
                tag,
                communicator: number,
                bytes: bytes.len() as u64,
                request: Some(request),
                call,
            };
            self.post(send, payload);
            open.push((request, None));
        }
        Ok(ActiveRequest::Messages(GroupedMessages {
            received: vec![Vec::new(); plan.receives.len()],
            open,
            target,
            delivery: plan.delivery,
            status: Ok(plan.status),
        }))
    }

    /// Sends and receives the messages of a plan, and waits for them: what remains to be done.
    pub fn exchange_messages(&mut self, communicator: c_int, plan: MessagePlan) -> Outcome<Rest> {
        let handle = self.numbered(|process, _| process.start_messages(communicator, plan))?;
        let found = self.wait_all(&mut [handle], Call::Other)?;
        let rest = found.rest.into_iter().next();
        rest.map(|(_, rest)| rest)
            .ok_or_else(|| Failure::new(class::INTERN, "messages without an end"))
    }

    /// A send and a receive that are one request.
    pub fn iexchange(
        &mut self,
        (to, sent): (MessageEnvelope, Elements),
        (from, received): (MessageEnvelope, Elements),
    ) -> Outcome<c_int> {
        let (destination, source) = (to.destination(self)?, from.source(self)?);
        let target = received.target(self, from.communicator)?;
        let mut plan = MessagePlan::new(Box::new(|_| Ok(())));
        plan.space = MessageSpace::Program;
        if let Some((peer, tag)) = destination {
            plan.sends.push((peer, tag, sent.pack(self)?));
        }
        match source {
            Some(source) => plan.program_receive = Some((source, target)),
            None => plan.status = MpiStatus::of_proc_null(),
        }
        self.numbered(|process, _| process.start_messages(to.communicator, plan))
    }
}
