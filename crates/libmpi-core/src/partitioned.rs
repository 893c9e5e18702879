//! Partitioned communication (MPI 4.1, chapter 4): a persistent message of which the program says part by part that it
//! is ready. It leaves once all parts are, and arrives as a whole. Messages of one envelope match in the order in which
//! they start.

use std::ffi::c_int;

use operation::{Call, Operation};

use crate::abi::class;
use crate::communicator::MessageSpace;
use crate::failure::{Failure, Outcome};
use crate::message::{Elements, MessageEnvelope};
use crate::point_to_point::ANY_LENGTH;
use crate::process::Process;
use crate::request::{ActiveRequest, PartitionedSend};

/// Tags of partitioned messages among those of the library.
const PARTITION_TAGS: u32 = 1 << 31;

impl Process {
    /// A persistent send of some parts of equal length, which the elements have one after the other.
    pub fn partitioned_send_init(
        &mut self,
        envelope: MessageEnvelope,
        elements: Elements,
        parts: usize,
    ) -> Outcome<c_int> {
        envelope.destination(self)?;
        self.datatypes.get(elements.datatype)?;
        Ok(self.add_persistent(Box::new(move |process, _| {
            if envelope.destination(process)?.is_none() {
                return Ok(ActiveRequest::of_proc_null());
            }
            process.requests.awaited += 1;
            Ok(ActiveRequest::Partitioned(PartitionedSend {
                is_ready: vec![false; parts],
                envelope,
                elements,
            }))
        })))
    }

    /// A persistent receive of what such a send brings.
    pub fn partitioned_receive_init(
        &mut self,
        envelope: MessageEnvelope,
        elements: Elements,
    ) -> Outcome<c_int> {
        envelope.source(self)?;
        self.datatypes.get(elements.datatype)?;
        Ok(self.add_persistent(Box::new(move |process, number| {
            let Some((from, Some(tag))) = envelope.source(process)? else {
                return Ok(ActiveRequest::of_proc_null());
            };
            let target = elements.target(process, envelope.communicator)?;
            let receive = Operation::Receive {
                from,
                tag: Some(PARTITION_TAGS | tag),
                communicator: process.simulated_in(envelope.communicator, MessageSpace::Library)?,
                bytes: ANY_LENGTH,
                request: Some(number),
                call: Call::Irecv,
            };
            process.post(receive, None);
            Ok(ActiveRequest::Receive(target))
        })))
    }

    /// Parts of a partitioned send are ready. With the last one the message leaves.
    pub fn parts_ready(&mut self, handle: c_int, parts: impl IntoIterator<Item = c_int>) -> Outcome<()> {
        let number = self.requests.index(handle)? as u64;
        let pending = self
            .requests
            .get(handle)?
            .and_then(|request| request.pending.as_mut());
        let send = match pending {
            Some(ActiveRequest::Partitioned(send)) => send,
            // To no process.
            Some(ActiveRequest::Complete(..)) => return Ok(()),
            _ => {
                return Err(Failure::new(
                    class::REQUEST,
                    "the request is no active partitioned send",
                ));
            }
        };
        for part in parts {
            let place = usize::try_from(part)
                .ok()
                .and_then(|part| send.is_ready.get_mut(part));
            match place {
                Some(place) if !*place => *place = true,
                Some(_) => {
                    return Err(Failure::new(
                        class::ARG,
                        format!("partition {part} is ready already"),
                    ));
                }
                None => return Err(Failure::new(class::ARG, format!("there is no partition {part}"))),
            }
        }
        if !send.is_ready.iter().all(|ready| *ready) {
            return Ok(());
        }
        let (envelope, elements) = (send.envelope, send.elements);
        self.requests.awaited -= 1;
        let Some((to, tag)) = envelope.destination(self)? else {
            return Ok(());
        };
        let bytes = elements.pack(self)?;
        let payload = self.store(&[&bytes])?;
        let operation = Operation::Send {
            to,
            tag: PARTITION_TAGS | tag,
            communicator: self.simulated_in(envelope.communicator, MessageSpace::Library)?,
            bytes: bytes.len() as u64,
            request: Some(number),
            call: Call::Isend,
        };
        self.post(operation, payload);
        self.requests.start(handle, ActiveRequest::Send)
    }
}
