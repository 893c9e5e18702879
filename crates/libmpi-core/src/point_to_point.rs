//! Point-to-point communication (MPI 4.1, chapter 3).

use std::ffi::c_int;

use operation::{Call, Operation, ReceivedMessage};
use rank_channel::{Payload, PostedData, Reply};

use crate::abi::{self, MpiStatus, class};
use crate::failure::{Failure, Outcome};
use crate::message::{Elements, MessageEnvelope};
use crate::process::{Process, Starter};
use crate::request::{ActiveRequest, GeneralizedRequest, Target};

/// A mode of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Standard,
    Synchronous,
    Buffered,
    Ready,
}

impl Mode {
    fn call(self, blocks: bool) -> Call {
        match (self, blocks) {
            (Mode::Standard, true) => Call::Send,
            (Mode::Standard, false) => Call::Isend,
            (Mode::Synchronous, true) => Call::Ssend,
            (Mode::Synchronous, false) => Call::Issend,
            (Mode::Buffered, true) => Call::Bsend,
            (Mode::Buffered, false) => Call::Ibsend,
            (Mode::Ready, true) => Call::Rsend,
            (Mode::Ready, false) => Call::Irsend,
        }
    }
}

impl Elements {
    /// As where something is received.
    ///
    /// # Errors
    /// There is no such datatype.
    pub fn target(self, process: &Process, communicator: c_int) -> Outcome<Target> {
        let datatype = process.datatypes.get(self.datatype)?.clone();
        let mut target = Target::new(self.buffer, self.count, datatype, communicator);
        target.source_offset = process.communicators.get(communicator)?.peer_offset();
        Ok(target)
    }

    /// Their bytes without gaps.
    ///
    /// # Errors
    /// There is no such datatype.
    pub fn pack(self, process: &Process) -> Outcome<Vec<u8>> {
        let datatype = process.datatypes.get(self.datatype)?;
        // Safety: the program gave the buffer with this count.
        Ok(unsafe { datatype.pack(self.buffer, self.count) })
    }

    /// Number of their bytes.
    ///
    /// # Errors
    /// There is no such datatype.
    pub fn bytes(self, process: &Process) -> Outcome<u64> {
        Ok(process.datatypes.get(self.datatype)?.bytes(self.count) as u64)
    }
}

impl MessageEnvelope {
    /// Destination and tag; `None` for `MPI_PROC_NULL`.
    pub fn destination(self, process: &Process) -> Outcome<Option<(u32, u32)>> {
        let check = || {
            let to = process.communicators.get(self.communicator)?.peer(self.peer)?;
            match self.tag {
                0..=abi::GREATEST_TAG => Ok(to.map(|to| (to, self.tag as u32))),
                tag => Err(Failure::new(class::TAG, tag.to_string())),
            }
        };
        check().map_err(|failure| failure.on(self.communicator))
    }

    /// Source and tag, without those that the receiver leaves open; `None` for `MPI_PROC_NULL`.
    pub fn source(self, process: &Process) -> Outcome<Option<(Option<u32>, Option<u32>)>> {
        let check = || {
            let communicator = process.communicators.get(self.communicator)?;
            let tag = match self.tag {
                abi::ANY_TAG => None,
                0..=abi::GREATEST_TAG => Some(self.tag as u32),
                tag => return Err(Failure::new(class::TAG, tag.to_string())),
            };
            if self.peer == abi::ANY_SOURCE {
                return Ok(Some((None, tag)));
            }
            Ok(communicator.peer(self.peer)?.map(|from| (Some(from), tag)))
        };
        check().map_err(|failure| failure.on(self.communicator))
    }
}

/// What a probe has found.
pub(crate) enum Probed {
    Nothing,
    /// `MPI_PROC_NULL` was asked.
    NoProcess,
    Message(MpiStatus),
}

/// What a receive says about its buffer. The library compares the message with the buffer itself, so that a message
/// that is too long is an error of the call and not the end of the run.
pub(crate) const ANY_LENGTH: u64 = u64::MAX >> 1;

fn first_message(reply: &Reply) -> (Option<ReceivedMessage>, Option<Payload>) {
    let message = reply
        .answer
        .completed
        .iter()
        .find_map(|completed| completed.message);
    (message, reply.messages.first().map(|(_, payload)| *payload))
}

impl Process {
    fn send_operation(
        &mut self,
        envelope: MessageEnvelope,
        elements: Elements,
        request: Option<u64>,
        call: Call,
    ) -> Outcome<Option<(Operation, Option<Payload>)>> {
        let Some((to, tag)) = envelope.destination(self)? else {
            return Ok(None);
        };
        let bytes = elements.pack(self)?;
        let payload = self.store(&[&bytes])?;
        let operation = Operation::Send {
            to,
            tag,
            communicator: self.simulated(envelope.communicator)?,
            bytes: bytes.len() as u64,
            request,
            call,
        };
        Ok(Some((operation, payload)))
    }

    /// A blocking send.
    pub fn send(&mut self, envelope: MessageEnvelope, elements: Elements, mode: Mode) -> Outcome<()> {
        let prepared = self.send_operation(envelope, elements, None, mode.call(true))?;
        match prepared {
            None => {}
            // The receiver has come, so the program may rely on what it did before.
            Some((operation, payload)) if mode == Mode::Synchronous => {
                let contribution = PostedData {
                    payload,
                    ..PostedData::default()
                };
                self.ask(operation, contribution);
            }
            Some((operation, payload)) => self.post(operation, payload),
        }
        Ok(())
    }

    /// Starts a send under a number.
    fn start_send(
        &mut self,
        envelope: MessageEnvelope,
        elements: Elements,
        mode: Mode,
        number: u64,
    ) -> Outcome<ActiveRequest> {
        let prepared = self.send_operation(envelope, elements, Some(number), mode.call(false))?;
        let Some((operation, payload)) = prepared else {
            return Ok(ActiveRequest::of_proc_null());
        };
        self.post(operation, payload);
        Ok(ActiveRequest::Send)
    }

    /// A non-blocking send.
    pub fn isend(&mut self, envelope: MessageEnvelope, elements: Elements, mode: Mode) -> Outcome<c_int> {
        self.numbered(|process, number| process.start_send(envelope, elements, mode, number))
    }

    /// A persistent send.
    pub fn send_init(&mut self, envelope: MessageEnvelope, elements: Elements, mode: Mode) -> Outcome<c_int> {
        envelope.destination(self)?;
        self.datatypes.get(elements.datatype)?;
        let starter: Starter =
            Box::new(move |process, number| process.start_send(envelope, elements, mode, number));
        Ok(self.add_persistent(starter))
    }

    fn receive_operation(
        &mut self,
        envelope: MessageEnvelope,
        request: Option<u64>,
        call: Call,
    ) -> Outcome<Option<Operation>> {
        let Some((from, tag)) = envelope.source(self)? else {
            return Ok(None);
        };
        Ok(Some(Operation::Receive {
            from,
            tag,
            communicator: self.simulated(envelope.communicator)?,
            bytes: ANY_LENGTH,
            request,
            call,
        }))
    }

    /// A blocking receive.
    pub fn receive(&mut self, envelope: MessageEnvelope, elements: Elements) -> Outcome<MpiStatus> {
        // A receive of nothing may have no datatype.
        if envelope.source(self)?.is_none() {
            return Ok(MpiStatus::of_proc_null());
        }
        let target = elements.target(self, envelope.communicator)?;
        let Some(operation) = self.receive_operation(envelope, None, Call::Recv)? else {
            return Ok(MpiStatus::of_proc_null());
        };
        let reply = self.ask(operation, PostedData::default());
        let (message, payload) = first_message(&reply);
        let message = message.ok_or_else(|| Failure::new(class::INTERN, "a receive without a message"))?;
        target
            .fill(self, message, payload)
            .map_err(|failure| failure.on(envelope.communicator))
    }

    /// Starts a receive under a number.
    fn start_receive(
        &mut self,
        envelope: MessageEnvelope,
        elements: Elements,
        number: u64,
        call: Call,
    ) -> Outcome<ActiveRequest> {
        if envelope.source(self)?.is_none() {
            return Ok(ActiveRequest::of_proc_null());
        }
        let target = elements.target(self, envelope.communicator)?;
        let Some(operation) = self.receive_operation(envelope, Some(number), call)? else {
            return Ok(ActiveRequest::of_proc_null());
        };
        self.post(operation, None);
        Ok(ActiveRequest::Receive(target))
    }

    /// A non-blocking receive.
    pub fn ireceive(&mut self, envelope: MessageEnvelope, elements: Elements) -> Outcome<c_int> {
        self.numbered(|process, number| process.start_receive(envelope, elements, number, Call::Irecv))
    }

    /// A persistent receive.
    pub fn receive_init(&mut self, envelope: MessageEnvelope, elements: Elements) -> Outcome<c_int> {
        envelope.source(self)?;
        self.datatypes.get(elements.datatype)?;
        let starter: Starter =
            Box::new(move |process, number| process.start_receive(envelope, elements, number, Call::Irecv));
        Ok(self.add_persistent(starter))
    }

    /// A send and a receive at once. The operations are those that recordings of it give.
    pub fn exchange(
        &mut self,
        (to, sent): (MessageEnvelope, Elements),
        (from, received): (MessageEnvelope, Elements),
    ) -> Outcome<MpiStatus> {
        let call = Call::Sendrecv;
        to.destination(self)?;
        self.datatypes.get(sent.datatype)?;
        let receives = self.numbered(|p, number| p.start_receive(from, received, number, call))?;
        let sends = self.numbered(|p, number| {
            let prepared = p.send_operation(to, sent, Some(number), call)?;
            let Some((operation, payload)) = prepared else {
                return Ok(ActiveRequest::of_proc_null());
            };
            p.post(operation, payload);
            Ok(ActiveRequest::Send)
        })?;
        let found = self.wait_all(&mut [receives, sends], call)?;
        let (_, status) = found
            .complete
            .into_iter()
            .next()
            .ok_or_else(|| Failure::new(class::INTERN, "an exchange without an end"))?;
        status.map_err(|failure| failure.on(from.communicator))
    }

    /// Looks for a message, or waits for one.
    pub fn probe(&mut self, envelope: MessageEnvelope, blocks: bool) -> Outcome<Probed> {
        let Some((from, tag)) = envelope.source(self)? else {
            return Ok(Probed::NoProcess);
        };
        let communicator = self.simulated(envelope.communicator)?;
        let operation = match blocks {
            true => Operation::Probe {
                from,
                tag,
                communicator,
                call: Call::Probe,
            },
            false => Operation::Iprobe {
                from,
                tag,
                communicator,
                call: Call::Iprobe,
            },
        };
        let reply = self.ask(operation, PostedData::default());
        let offset = self.communicators.get(envelope.communicator)?.peer_offset();
        let message = first_message(&reply).0;
        Ok(message.map_or(Probed::Nothing, |message| {
            Probed::Message(status_of(&message, offset))
        }))
    }

    /// Looks for a message, or waits for one, and takes it: its handle.
    pub fn matched_probe(&mut self, envelope: MessageEnvelope, blocks: bool) -> Outcome<(Probed, c_int)> {
        let Some((from, tag)) = envelope.source(self)? else {
            return Ok((Probed::NoProcess, abi::MESSAGE_NO_PROC));
        };
        let free = self.requests.taken.iter().position(Option::is_none);
        let index = free.unwrap_or(self.requests.taken.len());
        let operation = Operation::MatchedProbe {
            from,
            tag,
            communicator: self.simulated(envelope.communicator)?,
            message: index as u64,
            blocks,
            call: if blocks { Call::Mprobe } else { Call::Improbe },
        };
        let reply = self.ask(operation, PostedData::default());
        let Some(message) = first_message(&reply).0 else {
            return Ok((Probed::Nothing, abi::MESSAGE_NULL));
        };
        let offset = self.communicators.get(envelope.communicator)?.peer_offset();
        let taken = Some((message, envelope.communicator, offset));
        match self.requests.taken.get_mut(index) {
            Some(place) => *place = taken,
            None => self.requests.taken.push(taken),
        }
        let probed = Probed::Message(status_of(&message, offset));
        Ok((probed, abi::MESSAGE | index as c_int))
    }

    /// The number of a message that a probe has taken, which goes, its communicator, and the offset of its source.
    fn take_message(&mut self, handle: &mut c_int) -> Outcome<(u64, c_int, u32)> {
        let index = (*handle & abi::INDEX_BITS) as usize;
        let taken = match *handle & !abi::INDEX_BITS == abi::MESSAGE {
            true => self.requests.taken.get_mut(index).and_then(Option::take),
            false => None,
        };
        let Some((_, communicator, offset)) = taken else {
            return Err(Failure::new(
                class::REQUEST,
                format!("there is no message {handle:#x}"),
            ));
        };
        *handle = abi::MESSAGE_NULL;
        Ok((index as u64, communicator, offset))
    }

    /// Receives a message that a probe has taken.
    pub fn receive_matched(&mut self, elements: Elements, handle: &mut c_int) -> Outcome<MpiStatus> {
        if *handle == abi::MESSAGE_NO_PROC {
            *handle = abi::MESSAGE_NULL;
            return Ok(MpiStatus::of_proc_null());
        }
        let (number, target) = self.matched_target(elements, handle)?;
        let operation = Operation::ReceiveMatched {
            message: number,
            bytes: ANY_LENGTH,
            request: None,
            call: Call::Mrecv,
        };
        let reply = self.ask(operation, PostedData::default());
        let (message, payload) = first_message(&reply);
        let message = message.ok_or_else(|| Failure::new(class::INTERN, "a receive without a message"))?;
        target.fill(self, message, payload)
    }

    /// Number and target of a message that a probe has taken.
    fn matched_target(&mut self, elements: Elements, handle: &mut c_int) -> Outcome<(u64, Target)> {
        let datatype = self.datatypes.get(elements.datatype)?.clone();
        let (number, communicator, offset) = self.take_message(handle)?;
        let mut target = Target::new(elements.buffer, elements.count, datatype, communicator);
        target.source_offset = offset;
        Ok((number, target))
    }

    /// Starts to receive a message that a probe has taken.
    pub fn ireceive_matched(&mut self, elements: Elements, handle: &mut c_int) -> Outcome<c_int> {
        if *handle == abi::MESSAGE_NO_PROC {
            *handle = abi::MESSAGE_NULL;
            return Ok(self.requests.add(Some(ActiveRequest::of_proc_null()), false));
        }
        let (message, target) = self.matched_target(elements, handle)?;
        self.numbered(|process, number| {
            let operation = Operation::ReceiveMatched {
                message,
                bytes: ANY_LENGTH,
                request: Some(number),
                call: Call::Imrecv,
            };
            process.post(operation, None);
            Ok(ActiveRequest::Receive(target))
        })
    }

    /// A persistent request that is not active.
    pub fn add_persistent(&mut self, starter: Starter) -> c_int {
        let handle = self.requests.add(None, true);
        self.starters.insert(handle, starter);
        handle
    }

    /// Starts a persistent request.
    pub fn start(&mut self, handle: c_int) -> Outcome<()> {
        let number = self.requests.index(handle)? as u64;
        if self.requests.is_active(handle)? {
            return Err(Failure::new(class::REQUEST, "the request is active already"));
        }
        let starter = self.starters.remove(&handle);
        let starter = starter.ok_or_else(|| Failure::new(class::REQUEST, "the request is not persistent"))?;
        let started = starter(self, number);
        self.starters.insert(handle, starter);
        self.requests.start(handle, started?)
    }

    /// Cancels a receive that has no message yet; sends go on. What remains to be called for a generalised request.
    pub fn cancel(&mut self, handle: c_int) -> Outcome<Option<GeneralizedRequest>> {
        let number = self.requests.index(handle)? as u64;
        let pending = self
            .requests
            .get(handle)?
            .and_then(|request| request.pending.as_ref());
        match pending {
            Some(ActiveRequest::Send | ActiveRequest::Receive(_)) => {
                let (request, call) = (number, Call::Cancel);
                self.post(Operation::Cancel { request, call }, None);
                Ok(None)
            }
            Some(ActiveRequest::Generalized(generalized)) => Ok(Some(*generalized)),
            _ => Ok(None),
        }
    }
}

/// The status of a message, whose sender the simulator counts from an offset on.
fn status_of(message: &ReceivedMessage, offset: u32) -> MpiStatus {
    MpiStatus::new(
        (message.source - offset) as c_int,
        message.tag as c_int,
        message.bytes,
    )
}
