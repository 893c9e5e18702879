//! Open communication: one request per send, receive, put, get or non-blocking collective.

use des::{Journal, Time};
use serde::{Deserialize, Serialize};

use crate::path::PackedPath;

/// Description of a request, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestInfo {
    pub kind: RequestKind,
    /// Rank of the job; `None` for `MPI_ANY_SOURCE` and collectives.
    pub peer: Option<u32>,
    /// `None` for `MPI_ANY_TAG`.
    pub tag: Option<u32>,
    /// Communicator with its context bits.
    pub context: u32,
    /// Call that opened it.
    pub call: workload::Call,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RequestKind {
    Send,
    Receive,
    Put,
    Get,
    /// A non-blocking collective; its messages have requests of their own.
    Collective,
}

/// What waits for the completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Owner {
    /// The program waits later.
    Program,
    /// The rank is blocked on it.
    Blocked,
    /// The rank is blocked until it or another one is complete.
    Contending,
    /// Nothing waits for a buffered send, or for one-sided communication before its fence.
    Unawaited,
    /// The non-blocking collective with this handle.
    Collective(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    pub info: RequestInfo,
    pub owner: Owner,
    pub complete: bool,
    /// Whether a receive has matched a message and waits for its data.
    pub matched: bool,
    /// Critical path up to the issue of its data, of a send that has been cleared.
    pub path: PackedPath,
    /// CPU time that the wait for it pays.
    pub cost: Time,
}

impl Request {
    /// A request that is not complete and costs nothing.
    pub fn new(info: RequestInfo, owner: Owner) -> Request {
        Request {
            info,
            owner,
            complete: false,
            matched: false,
            path: PackedPath::default(),
            cost: Time::ZERO,
        }
    }
}

/// All requests of a rank. Handles are dense and are reused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Requests {
    requests: Vec<Option<Request>>,
    /// Free handles, the next one last. It determines handles, so it is state.
    free: Vec<u32>,
}

/// A change of a request.
#[derive(Debug)]
pub(crate) enum RequestChange {
    /// Opened under a new handle.
    OpenedFresh,
    /// Opened under the last free handle.
    OpenedAgain(u32),
    Closed(u32, Request),
    /// The previous request.
    Altered(u32, Request),
}

impl Requests {
    /// Opens a request that is not complete and costs nothing.
    pub fn open(
        &mut self,
        info: RequestInfo,
        owner: Owner,
        journal: &mut impl Journal<RequestChange>,
    ) -> u32 {
        self.add(Request::new(info, owner), journal)
    }

    pub fn add(&mut self, request: Request, journal: &mut impl Journal<RequestChange>) -> u32 {
        let request = Some(request);
        if let Some(handle) = self.free.pop() {
            self.requests[handle as usize] = request;
            journal.note(|| RequestChange::OpenedAgain(handle));
            return handle;
        }
        self.requests.push(request);
        journal.note(|| RequestChange::OpenedFresh);
        self.requests.len() as u32 - 1
    }

    pub fn get(&self, handle: u32) -> Option<&Request> {
        self.requests.get(handle as usize)?.as_ref()
    }

    pub fn alter(
        &mut self,
        handle: u32,
        alter: impl FnOnce(&mut Request),
        journal: &mut impl Journal<RequestChange>,
    ) {
        if let Some(Some(request)) = self.requests.get_mut(handle as usize) {
            let old = *request;
            alter(request);
            journal.note(|| RequestChange::Altered(handle, old));
        }
    }

    pub fn close(&mut self, handle: u32, journal: &mut impl Journal<RequestChange>) {
        if let Some(request) = self.requests.get_mut(handle as usize).and_then(Option::take) {
            self.free.push(handle);
            journal.note(|| RequestChange::Closed(handle, request));
        }
    }

    pub fn undo(&mut self, change: RequestChange) {
        match change {
            RequestChange::OpenedFresh => {
                self.requests.pop();
            }
            RequestChange::OpenedAgain(handle) => {
                self.requests[handle as usize] = None;
                self.free.push(handle);
            }
            RequestChange::Closed(handle, request) => {
                self.free.pop();
                self.requests[handle as usize] = Some(request);
            }
            RequestChange::Altered(handle, old) => self.requests[handle as usize] = Some(old),
        }
    }

    /// Whether the free handles are the unused ones, each once. A saved state may be damaged.
    pub fn is_consistent(&self) -> bool {
        let mut free = self.free.clone();
        free.sort_unstable();
        let unused = (0..).zip(&self.requests).filter(|(_, request)| request.is_none());
        unused.map(|(handle, _)| handle).eq(free)
    }

    /// All open requests, with their handles.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Request)> {
        let requests = (0..).zip(&self.requests);
        requests.filter_map(|(handle, request)| Some((handle, request.as_ref()?)))
    }

    /// Requests on which the rank is blocked.
    pub fn blocking(&self) -> impl Iterator<Item = (u32, &Request)> {
        let blocks = |owner| matches!(owner, Owner::Blocked | Owner::Contending);
        self.iter().filter(move |(_, request)| blocks(request.owner))
    }

    /// Incomplete messages of a non-blocking collective.
    pub fn of_collective(&self, collective: u32) -> impl Iterator<Item = &Request> {
        self.iter()
            .map(|(_, request)| request)
            .filter(move |request| request.owner == Owner::Collective(collective))
    }

    /// Number of open requests.
    pub fn open_count(&self) -> usize {
        self.requests.len() - self.free.len()
    }
}
