//! Requests of this rank, and what their completion does.

use std::ffi::{c_int, c_void};

use operation::ReceivedMessage;

use crate::abi::{self, MpiStatus, class};
use crate::datatype::Datatype;
use crate::failure::{Failure, Outcome};

/// Where a message is received.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// An address in the program.
    pub buffer: usize,
    count: usize,
    pub datatype: Datatype,
}

impl Target {
    pub fn new(buffer: *mut c_void, count: usize, datatype: Datatype) -> Target {
        Target {
            buffer: buffer as usize,
            count,
            datatype,
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
pub(crate) type Delivery = Box<dyn FnOnce(Vec<Vec<u8>>) -> Outcome<()> + Send>;

/// What remains to be done after a call has been answered.
pub(crate) type Rest = Box<dyn FnOnce() -> Outcome<()> + Send>;

/// What a request waits for.
pub(crate) enum ActiveRequest {
    Send,
    Receive(Target),
    Collective(ContributionPart, Delivery),
    /// Nothing.
    Complete(MpiStatus),
}

/// A request.
pub(crate) struct Request {
    /// `None` of an inactive persistent request.
    pending: Option<ActiveRequest>,
    is_persistent: bool,
}

/// All requests of a process. The simulator knows a request by its index.
#[derive(Default)]
pub(crate) struct RequestTable {
    all: Vec<Option<Request>>,
    free: Vec<usize>,
    /// Messages that matched probes have taken, by handle.
    pub taken: Vec<Option<ReceivedMessage>>,
    /// What remains of requests that were complete from the start.
    pub early: Vec<(c_int, Rest)>,
}

impl RequestTable {
    /// The index of the next request.
    pub fn next_number(&mut self) -> u64 {
        if self.free.is_empty() {
            self.free.push(self.all.len());
            self.all.push(None);
        }
        self.free.last().map_or(0, |index| *index as u64)
    }

    /// A new request, with the index that [`RequestTable::next_number`] has told.
    pub fn add(&mut self, pending: Option<ActiveRequest>, is_persistent: bool) -> c_int {
        self.next_number();
        let index = self.free.pop().unwrap_or_default();
        self.all[index] = Some(Request {
            pending,
            is_persistent,
        });
        abi::REQUEST | index as c_int
    }

    fn index(&self, handle: c_int) -> Outcome<usize> {
        let index = (handle & abi::INDEX_BITS) as usize;
        let is_there = matches!(self.all.get(index), Some(Some(_)));
        match handle & !abi::INDEX_BITS == abi::REQUEST && is_there {
            true => Ok(index),
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
    fn get(&mut self, handle: c_int) -> Outcome<Option<(usize, &mut Request)>> {
        if handle == abi::REQUEST_NULL {
            return Ok(None);
        }
        let index = self.index(handle)?;
        Ok(self.all[index].as_mut().map(|request| (index, request)))
    }

    /// Ends an active request: a persistent one becomes inactive, another one goes.
    pub fn end(&mut self, handle: &mut c_int) -> Outcome<Option<ActiveRequest>> {
        let index = self.index(*handle)?;
        let Some(request) = &mut self.all[index] else {
            return Ok(None);
        };
        let pending = request.pending.take();
        if !request.is_persistent {
            self.all[index] = None;
            self.free.push(index);
            *handle = abi::REQUEST_NULL;
        }
        Ok(pending)
    }

    /// Whether a request is persistent; `None` without one.
    pub fn is_persistent(&mut self, handle: c_int) -> Outcome<Option<bool>> {
        Ok(self.get(handle)?.map(|(_, request)| request.is_persistent))
    }

    /// Whether a request is active.
    pub fn is_active(&mut self, handle: c_int) -> Outcome<bool> {
        Ok(self
            .get(handle)?
            .is_some_and(|(_, request)| request.pending.is_some()))
    }

    /// The number of an active request that the simulator has; `None` of others.
    pub fn number(&mut self, handle: c_int) -> Outcome<Option<u64>> {
        let found = self.get(handle)?;
        Ok(found.and_then(|(index, request)| match &request.pending {
            None | Some(ActiveRequest::Complete(_)) => None,
            Some(_) => Some(index as u64),
        }))
    }

    /// A persistent request that is not active goes.
    pub fn forget(&mut self, handle: &mut c_int) -> Outcome<()> {
        let index = self.index(*handle)?;
        self.all[index] = None;
        self.free.push(index);
        *handle = abi::REQUEST_NULL;
        Ok(())
    }

    /// A persistent request waits for something now.
    ///
    /// # Errors
    /// There is none.
    pub fn start(&mut self, handle: c_int, pending: ActiveRequest) -> Outcome<()> {
        if let Some((_, request)) = self.get(handle)? {
            request.pending = Some(pending);
        }
        Ok(())
    }

    /// The index of a request for the simulator.
    pub fn index_of(&self, handle: c_int) -> Outcome<u64> {
        self.index(handle).map(|index| index as u64)
    }
}

/// What a wait or test has found.
#[derive(Default)]
pub(crate) struct Found {
    /// Complete requests by their position in the list: status, or the failure of that request.
    pub complete: Vec<(usize, Outcome<MpiStatus>)>,
    /// What remains to be done while nothing is locked.
    pub rest: Vec<Rest>,
}

impl Found {
    /// Does what remains.
    pub fn finish(rest: Vec<Rest>) -> Outcome<()> {
        rest.into_iter().try_for_each(|rest| rest())
    }
}
