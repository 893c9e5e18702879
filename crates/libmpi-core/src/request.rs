//! Requests of this rank, and what their completion does.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use operation::ReceivedMessage;

use crate::abi::{self, MpiStatus, class};
use crate::callbacks::{CancelFunction, FreeFunction, QueryFunction};
use crate::datatype::Datatype;
use crate::failure::{Failure, Outcome};
use crate::message::{Elements, MessageEnvelope};

/// Where a message is received.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// In the program.
    pub buffer: *mut c_void,
    count: usize,
    pub datatype: Rc<Datatype>,
    pub communicator: c_int,
    /// What the program calls the sender, less than the simulator does: on an intercommunicator the ranks of the
    /// other group begin at 0.
    pub source_offset: u32,
}

impl Target {
    pub fn new(buffer: *mut c_void, count: usize, datatype: Rc<Datatype>, communicator: c_int) -> Target {
        Target {
            buffer,
            count,
            datatype,
            communicator,
            source_offset: 0,
        }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.datatype.bytes(self.count)
    }
}

/// What a member of a collective reads of each contribution that it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ContributionPart {
    Whole,
    /// The part of one member, of a contribution that begins with the ends of all parts ([`parted`]).
    Of {
        /// The member.
        member: usize,
        /// Number of members.
        members: usize,
    },
}

/// A contribution of one part for each member: the ends of the parts, 8 bytes each, and then the parts.
pub(crate) fn parted(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut end = 0_u64;
    let mut all = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        end += part.len() as u64;
        all.extend_from_slice(&end.to_ne_bytes());
    }
    parts.iter().for_each(|part| all.extend_from_slice(part));
    all
}

/// Does something with the contributions once a collective is complete. Called while nothing is locked, as it may call
/// functions of the program.
pub(crate) type Delivery = Box<dyn FnOnce(Vec<Vec<u8>>) -> Outcome<()>>;

/// What remains to be done after a call has been answered; it may know the status only then.
pub(crate) type Rest = Box<dyn FnOnce() -> Outcome<Option<MpiStatus>>>;

/// Messages to and from some peers that are one request for the program.
pub(crate) struct GroupedMessages {
    /// Numbers of those that are not complete, and which of the receives each is.
    pub open: Vec<(u64, Option<usize>)>,
    /// What was received.
    pub received: Vec<Vec<u8>>,
    /// The receive of the program among them.
    pub target: Option<(u64, Target)>,
    pub delivery: Delivery,
    pub status: Outcome<MpiStatus>,
}

/// A request that the program itself completes (MPI 4.1, section 13.2).
#[derive(Clone, Copy)]
pub(crate) struct GeneralizedRequest {
    pub query: Option<QueryFunction>,
    pub free: Option<FreeFunction>,
    pub cancel: Option<CancelFunction>,
    pub extra: *mut c_void,
    pub is_complete: bool,
}

/// A partitioned send of which not all parts are ready.
pub(crate) struct PartitionedSend {
    /// By part.
    pub is_ready: Vec<bool>,
    pub envelope: MessageEnvelope,
    pub elements: Elements,
}

/// What a request waits for.
pub(crate) enum ActiveRequest {
    Send,
    Receive(Target),
    Collective(ContributionPart, Delivery),
    Messages(GroupedMessages),
    Generalized(GeneralizedRequest),
    Partitioned(PartitionedSend),
    /// Nothing, but for what remains to be done.
    Complete(Outcome<MpiStatus>, Option<Rest>),
}

impl ActiveRequest {
    /// Complete from the start, as what `MPI_PROC_NULL` takes part in.
    pub fn of_proc_null() -> ActiveRequest {
        ActiveRequest::Complete(Ok(MpiStatus::of_proc_null()), None)
    }
}

/// A request.
pub(crate) struct Request {
    /// `None` of an inactive persistent request.
    pub pending: Option<ActiveRequest>,
    pub is_persistent: bool,
}

/// All requests of a process. The simulator knows a request by its index.
#[derive(Default)]
pub(crate) struct RequestTable {
    all: Vec<Option<Request>>,
    free: Vec<usize>,
    /// Messages that matched probes have taken, by handle, and the offset of their source.
    pub taken: Vec<Option<(ReceivedMessage, c_int, u32)>>,
    /// Generalised requests that are not complete, and partitioned sends that are not ready: they wait for the program.
    pub awaited: usize,
    /// Generalised requests that go once they are complete.
    pub abandoned: Vec<c_int>,
}

impl RequestTable {
    /// Takes an index.
    pub fn take_number(&mut self) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.all.len() - 1
        });
        index as u64
    }

    /// Gives an index back that is no request of the program.
    pub fn give_back(&mut self, number: u64) {
        self.free.push(number as usize);
    }

    /// A new request, with an index of [`RequestTable::take_number`].
    pub fn add_numbered(
        &mut self,
        number: u64,
        pending: Option<ActiveRequest>,
        is_persistent: bool,
    ) -> c_int {
        self.all[number as usize] = Some(Request {
            pending,
            is_persistent,
        });
        abi::REQUEST | number as c_int
    }

    /// A new request.
    pub fn add(&mut self, pending: Option<ActiveRequest>, is_persistent: bool) -> c_int {
        let number = self.take_number();
        self.add_numbered(number, pending, is_persistent)
    }

    /// The index of a request.
    ///
    /// # Errors
    /// There is none, or it is `MPI_REQUEST_NULL`.
    pub fn index(&self, handle: c_int) -> Outcome<usize> {
        let index = (handle & abi::INDEX_BITS) as usize;
        let is_there = matches!(self.all.get(index), Some(Some(_)));
        match handle & !abi::INDEX_BITS == abi::REQUEST && is_there {
            true => Ok(index),
            false if handle == abi::REQUEST_NULL => Err(Failure::new(class::REQUEST, "MPI_REQUEST_NULL")),
            false => Err(Failure::new(
                class::REQUEST,
                format!("there is no request {handle:#x}"),
            )),
        }
    }

    /// The request of a handle; `None` for `MPI_REQUEST_NULL`.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&mut self, handle: c_int) -> Outcome<Option<&mut Request>> {
        if handle == abi::REQUEST_NULL {
            return Ok(None);
        }
        let index = self.index(handle)?;
        Ok(self.all[index].as_mut())
    }

    /// Ends an active request: a persistent one becomes inactive, another one goes.
    pub fn end(&mut self, handle: &mut c_int) -> Outcome<Option<ActiveRequest>> {
        let index = self.index(*handle)?;
        let Some(request) = &mut self.all[index] else {
            return Ok(None);
        };
        let pending = request.pending.take();
        if !request.is_persistent {
            self.forget(handle)?;
        }
        Ok(pending)
    }

    /// A request that a test has ended is there again, complete.
    pub fn restore(&mut self, handle: c_int, pending: ActiveRequest, is_persistent: bool) {
        let index = (handle & abi::INDEX_BITS) as usize;
        self.free.retain(|free| *free != index);
        self.add_numbered(index as u64, Some(pending), is_persistent);
    }

    /// Whether a request is active.
    pub fn is_active(&mut self, handle: c_int) -> Outcome<bool> {
        Ok(self.get(handle)?.is_some_and(|request| request.pending.is_some()))
    }

    /// A request that is not active goes.
    pub fn forget(&mut self, handle: &mut c_int) -> Outcome<()> {
        let index = self.index(*handle)?;
        self.all[index] = None;
        self.free.push(index);
        *handle = abi::REQUEST_NULL;
        Ok(())
    }

    /// The program has no use for a generalised request that is not complete: its handle goes.
    pub fn abandon(&mut self, handle: &mut c_int) -> Outcome<()> {
        self.index(*handle)?;
        self.abandoned.push(*handle);
        *handle = abi::REQUEST_NULL;
        Ok(())
    }

    /// A persistent request waits for something now.
    ///
    /// # Errors
    /// There is none.
    pub fn start(&mut self, handle: c_int, pending: ActiveRequest) -> Outcome<()> {
        if let Some(request) = self.get(handle)? {
            request.pending = Some(pending);
        }
        Ok(())
    }
}

/// What a wait or test has found.
#[derive(Default)]
pub(crate) struct Found {
    /// Complete requests by their position in the list: status, or the failure of that request.
    pub complete: Vec<(usize, Outcome<MpiStatus>)>,
    /// What remains to be done while nothing is locked, by position.
    pub rest: Vec<(usize, Rest)>,
}

impl Found {
    /// Does what remains: the statuses.
    pub fn finish(self) -> Vec<(usize, Outcome<MpiStatus>)> {
        let Found { mut complete, rest } = self;
        for (position, rest) in rest {
            let outcome = rest();
            if let Some((_, status)) = complete.iter_mut().find(|(own, _)| *own == position)
                && status.is_ok()
            {
                match outcome {
                    Ok(None) => {}
                    Ok(Some(later)) => *status = Ok(later),
                    Err(failure) => *status = Err(failure),
                }
            }
        }
        complete
    }
}
