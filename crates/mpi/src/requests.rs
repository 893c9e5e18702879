//! Communication that has begun and is not yet over, one entry per send, receive, put, get or
//! non-blocking collective.

use des::Time;
use serde::{Deserialize, Serialize};

use crate::journal::RankJournal;

/// What a request is about, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestInfo {
    pub kind: RequestKind,
    /// Rank of the job; none: any source, or all of a collective.
    pub peer: Option<u32>,
    /// None: any tag.
    pub tag: Option<u32>,
    /// Communicator with its context bit.
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

/// Who wants to know of the completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Owner {
    /// The program will ask later.
    Program,
    /// The rank is blocked until then.
    Blocked,
    /// Nobody: a buffered send, or one-sided communication before its fence.
    Nobody,
    /// The non-blocking collective of this handle.
    Collective(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    pub info: RequestInfo,
    pub owner: Owner,
    pub complete: bool,
    /// A receive that has its message and waits for its data.
    pub matched: bool,
    /// CPU time that its completion costs, in the wait for it.
    pub cost: Time,
}

impl Request {
    /// One that is not complete and costs nothing.
    pub fn new(info: RequestInfo, owner: Owner) -> Request {
        Request {
            info,
            owner,
            complete: false,
            matched: false,
            cost: Time::ZERO,
        }
    }
}

/// All requests of a rank under dense handles, which are used again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Requests {
    slots: Vec<Option<Request>>,
    /// Handles to be used again, the next one last. It decides on handles, so it is state.
    free: Vec<u32>,
}

/// What happened to the request of a handle.
#[derive(Debug)]
pub(crate) enum RequestChange {
    /// Under the next handle that never was in use.
    OpenedFresh,
    /// Under the last free handle.
    OpenedAgain(u32),
    Closed(u32, Request),
    /// What it was before.
    Altered(u32, Request),
}

impl Requests {
    /// Opens a request that is not complete and costs nothing.
    pub fn open(&mut self, info: RequestInfo, owner: Owner, journal: &mut RankJournal) -> u32 {
        self.add(Request::new(info, owner), journal)
    }

    pub fn add(&mut self, request: Request, journal: &mut RankJournal) -> u32 {
        let request = Some(request);
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = request;
            journal.note(|| RequestChange::OpenedAgain(handle));
            return handle;
        }
        self.slots.push(request);
        journal.note(|| RequestChange::OpenedFresh);
        self.slots.len() as u32 - 1
    }

    pub fn get(&self, handle: u32) -> Option<&Request> {
        self.slots.get(handle as usize)?.as_ref()
    }

    pub fn alter(&mut self, handle: u32, alter: impl FnOnce(&mut Request), journal: &mut RankJournal) {
        if let Some(Some(request)) = self.slots.get_mut(handle as usize) {
            let old = *request;
            alter(request);
            journal.note(|| RequestChange::Altered(handle, old));
        }
    }

    pub fn close(&mut self, handle: u32, journal: &mut RankJournal) {
        if let Some(request) = self.slots.get_mut(handle as usize).and_then(Option::take) {
            self.free.push(handle);
            journal.note(|| RequestChange::Closed(handle, request));
        }
    }

    pub fn undo(&mut self, change: RequestChange) {
        match change {
            RequestChange::OpenedFresh => {
                self.slots.pop();
            }
            RequestChange::OpenedAgain(handle) => {
                self.slots[handle as usize] = None;
                self.free.push(handle);
            }
            RequestChange::Closed(handle, request) => {
                self.free.pop();
                self.slots[handle as usize] = Some(request);
            }
            RequestChange::Altered(handle, old) => self.slots[handle as usize] = Some(old),
        }
    }

    /// Whether the free handles are those that are not in use, each once: a state that was read may be
    /// damaged.
    pub fn is_consistent(&self) -> bool {
        let mut free = self.free.clone();
        free.sort_unstable();
        let unused = (0..).zip(&self.slots).filter(|(_, slot)| slot.is_none());
        unused.map(|(handle, _)| handle).eq(free)
    }

    /// All open requests, with their handles.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Request)> {
        let slots = (0..).zip(&self.slots);
        slots.filter_map(|(handle, slot)| Some((handle, slot.as_ref()?)))
    }

    /// Requests that the rank is blocked on.
    pub fn blocking(&self) -> impl Iterator<Item = (u32, &Request)> {
        self.iter().filter(|(_, request)| request.owner == Owner::Blocked)
    }

    /// Messages that a non-blocking collective waits for.
    pub fn of_collective(&self, collective: u32) -> impl Iterator<Item = &Request> {
        self.iter()
            .map(|(_, request)| request)
            .filter(move |request| request.owner == Owner::Collective(collective))
    }

    /// Number of requests that are open.
    pub fn open_count(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
