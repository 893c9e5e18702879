//! The arbiters of an allocator, and the memory of a step.

/// A requester and a resource that it asks for.
pub(crate) type Request = (u32, u32);

/// How an arbiter chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlitArbiter {
    /// From a pointer on, the first one in cyclic order; the pointer moves past the winner.
    RoundRobin,
    /// The one that has won least recently; at first the one with the highest number.
    Matrix,
}

impl FlitArbiter {
    /// Entries of an arbiter among so many.
    fn entries(self, among: u32) -> u32 {
        match self {
            FlitArbiter::RoundRobin => 1,
            // The number of the last win of each, and the number of wins.
            FlitArbiter::Matrix => among + 1,
        }
    }

    /// What the arbiters of requesters and resources know at first.
    pub(super) fn memory(self, requesters: u32, resources: u32) -> Vec<u32> {
        let one = |among: u32| match self {
            FlitArbiter::RoundRobin => vec![0],
            FlitArbiter::Matrix => (0..among).rev().chain([among]).collect(),
        };
        let of_requesters = (0..requesters).flat_map(|_| one(resources));
        let of_resources = (0..resources).flat_map(|_| one(requesters));
        of_requesters.chain(of_resources).collect()
    }
}

/// The arbiters of one allocator, and memory that lasts for a step only.
pub(crate) struct Arbiters<'a> {
    pub(crate) arbiter: FlitArbiter,
    /// By requester, then by resource: what its arbiter knows.
    pub(crate) memory: &'a mut [u32],
    pub(crate) requesters: u32,
    pub(crate) resources: u32,
    /// Values before they changed, by place.
    pub(crate) changed: &'a mut Vec<(u32, u32)>,
    /// By request, what goes before the arbiters of requester and resource, the least first; empty: nothing.
    pub(crate) ranks: &'a [[u64; 2]],
    pub(crate) scratch: &'a mut Scratch,
}

/// Memory of an allocator, empty between steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// By requester or resource, the request that is best so far.
    pub(super) best: Vec<u32>,
    /// Places of `best` that are in use.
    pub(super) used: Vec<u32>,
    /// The same for a second round.
    pub(super) other: Vec<u32>,
    pub(super) other_used: Vec<u32>,
    pub(super) taken: Vec<bool>,
}

/// No request.
pub(super) const NONE: u32 = u32::MAX;

impl Arbiters<'_> {
    /// The first entries of the arbiters of a requester and of a resource.
    fn places(&self, (requester, resource): Request) -> (u32, u32) {
        let (of_requester, of_resource) = (
            self.arbiter.entries(self.resources),
            self.arbiter.entries(self.requesters),
        );
        let first = self.requesters * of_requester;
        (requester * of_requester, first + resource * of_resource)
    }

    /// The rank of `one` of so many for the arbiter at a place: the least one wins.
    fn rank(&self, place: u32, one: u32, among: u32) -> u32 {
        match self.arbiter {
            FlitArbiter::RoundRobin => {
                let preferred = self.memory[place as usize];
                if one >= preferred {
                    one - preferred
                } else {
                    one + among - preferred
                }
            }
            FlitArbiter::Matrix => self.memory[(place + one) as usize],
        }
    }

    /// The rank of a resource for a requester.
    pub(super) fn of_requester(&self, request: Request) -> u32 {
        self.rank(self.places(request).0, request.1, self.resources)
    }

    /// The rank of a requester for a resource.
    pub(super) fn of_resource(&self, request: Request) -> u32 {
        self.rank(self.places(request).1, request.0, self.requesters)
    }

    /// What goes before the arbiters of requester and resource for a request.
    pub(super) fn ranks_of(&self, request: usize) -> [u64; 2] {
        self.ranks.get(request).copied().unwrap_or_default()
    }

    pub(super) fn set(&mut self, place: u32, value: u32) {
        let before = std::mem::replace(&mut self.memory[place as usize], value);
        if before != value {
            self.changed.push((place, before));
        }
    }

    /// `one` of so many has won.
    fn won(&mut self, place: u32, one: u32, among: u32) {
        match self.arbiter {
            FlitArbiter::RoundRobin => self.set(place, if one + 1 == among { 0 } else { one + 1 }),
            FlitArbiter::Matrix => {
                let wins = self.memory[(place + among) as usize];
                self.set(place + one, wins);
                self.set(place + among, wins.wrapping_add(1));
            }
        }
    }

    /// A requester and a resource have chosen each other.
    pub(super) fn pass(&mut self, request: Request) {
        let (of_requester, of_resource) = self.places(request);
        self.won(of_requester, request.1, self.resources);
        self.won(of_resource, request.0, self.requesters);
    }
}

/// Of several requests, keeps the index of the one with the least distance for each place.
pub(super) fn keep_best<D: PartialOrd>(
    (best, used): (&mut Vec<u32>, &mut Vec<u32>),
    places: u32,
    candidates: impl Iterator<Item = (u32, u32)>,
    distance: impl Fn(u32) -> D,
) {
    best.resize(places as usize, NONE);
    for (place, request) in candidates {
        let kept = &mut best[place as usize];
        if *kept == NONE {
            used.push(place);
            *kept = request;
        } else if distance(request) < distance(*kept) {
            *kept = request;
        }
    }
}
