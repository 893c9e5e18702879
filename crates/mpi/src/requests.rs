//! Communication that has begun and is not yet over, one entry per send or receive.

/// What a send or receive is about, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub direction: Direction,
    /// Rank of the job; none: any source.
    pub peer: Option<u32>,
    /// None: any tag.
    pub tag: Option<u32>,
    /// Communicator with its context bit.
    pub context: u32,
    /// Call that opened it.
    pub call: workload::Call,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Send,
    Receive,
}

/// Who wants to know of the completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The program will ask later.
    Program,
    /// The rank is blocked until then.
    Blocked,
    /// Nobody: a buffered send.
    Nobody,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub subject: Subject,
    pub owner: Owner,
    pub complete: bool,
    /// A receive that has its message and waits for its data.
    pub matched: bool,
}

/// All requests of a rank under dense handles, which are used again.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    slots: Vec<Option<Request>>,
    free: Vec<u32>,
}

impl Requests {
    pub fn open(&mut self, subject: Subject, owner: Owner, complete: bool) -> u32 {
        let request = Some(Request {
            subject,
            owner,
            complete,
            matched: false,
        });
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = request;
            return handle;
        }
        self.slots.push(request);
        self.slots.len() as u32 - 1
    }

    pub fn get(&self, handle: u32) -> Option<&Request> {
        self.slots.get(handle as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, handle: u32) -> Option<&mut Request> {
        self.slots.get_mut(handle as usize)?.as_mut()
    }

    pub fn close(&mut self, handle: u32) {
        self.slots[handle as usize] = None;
        self.free.push(handle);
    }

    /// Requests that the rank is blocked on.
    pub fn blocking(&self) -> impl Iterator<Item = &Request> {
        self.slots
            .iter()
            .flatten()
            .filter(|request| request.owner == Owner::Blocked)
    }

    /// Number of requests that are open.
    pub fn open_count(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
