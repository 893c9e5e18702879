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

/// How the arbiters of an allocator are built: of all at once, or as a tree of two levels, with one arbiter for each
/// group of neighbours and one for the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArbiterTree {
    /// How each chooses.
    pub arbiter: FlitArbiter,
    /// Groups; 1: all at once.
    pub groups: u32,
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

    /// What an arbiter among so many knows at first.
    fn memory(self, among: u32) -> Vec<u32> {
        match self {
            FlitArbiter::RoundRobin => vec![0],
            FlitArbiter::Matrix => (0..among).rev().chain([among]).collect(),
        }
    }
}

impl ArbiterTree {
    /// Groups among so many, the members of one, and the entries of an arbiter of a group.
    fn of(self, among: u32) -> (u32, u32, u32) {
        let groups = self.groups.min(among);
        let members = among.div_ceil(groups);
        (groups, members, self.arbiter.entries(members))
    }

    /// Entries among so many.
    fn entries(self, among: u32) -> u32 {
        match self.groups {
            1 => self.arbiter.entries(among),
            _ => {
                let (groups, _, entries) = self.of(among);
                self.arbiter.entries(groups) + groups * entries
            }
        }
    }

    /// What the arbiters of requesters and resources know at first.
    pub(super) fn memory(self, requesters: u32, resources: u32) -> Vec<u32> {
        let one = |among: u32| match self.groups {
            1 => self.arbiter.memory(among),
            _ => {
                let (groups, members, _) = self.of(among);
                let of_groups = (0..groups).flat_map(|_| self.arbiter.memory(members));
                self.arbiter.memory(groups).into_iter().chain(of_groups).collect()
            }
        };
        let of_requesters = (0..requesters).flat_map(|_| one(resources));
        let of_resources = (0..resources).flat_map(|_| one(requesters));
        of_requesters.chain(of_resources).collect()
    }
}

/// The arbiters of one allocator, and memory that lasts for a step only.
pub(crate) struct Arbiters<'a> {
    pub(crate) arbiter: ArbiterTree,
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
    /// By resource, how many ask for it.
    pub(super) counts: Vec<u32>,
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
    fn rank_in(&self, place: u32, one: u32, among: u32) -> u32 {
        match self.arbiter.arbiter {
            FlitArbiter::RoundRobin => {
                let preferred = self.memory[place as usize];
                if one >= preferred {
                    one - preferred
                } else {
                    (one + among).wrapping_sub(preferred)
                }
            }
            FlitArbiter::Matrix => self.memory[(place + one) as usize],
        }
    }

    /// The same, for the arbiters at a place that are one tree: the group counts first.
    fn rank(&self, place: u32, one: u32, among: u32) -> u64 {
        if self.arbiter.groups == 1 {
            return u64::from(self.rank_in(place, one, among));
        }
        let (groups, members, entries) = self.arbiter.of(among);
        let group = one / members;
        let of_group = place + self.arbiter.arbiter.entries(groups) + group * entries;
        let in_group = self.rank_in(of_group, one % members, members);
        u64::from(self.rank_in(place, group, groups)) << 32 | u64::from(in_group)
    }

    /// The rank of a resource for a requester.
    pub(super) fn of_requester(&self, request: Request) -> u64 {
        self.rank(self.places(request).0, request.1, self.resources)
    }

    /// The rank of a requester for a resource.
    pub(super) fn of_resource(&self, request: Request) -> u64 {
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
    fn won_in(&mut self, place: u32, one: u32, among: u32) {
        match self.arbiter.arbiter {
            FlitArbiter::RoundRobin => self.set(place, if one + 1 == among { 0 } else { one + 1 }),
            FlitArbiter::Matrix => {
                let wins = self.memory[(place + among) as usize];
                self.set(place + one, wins);
                self.set(place + among, wins.wrapping_add(1));
            }
        }
    }

    /// The same, for the arbiters at a place that are one tree.
    fn won(&mut self, place: u32, one: u32, among: u32) {
        if self.arbiter.groups == 1 {
            return self.won_in(place, one, among);
        }
        let (groups, members, entries) = self.arbiter.of(among);
        let group = one / members;
        self.won_in(place, group, groups);
        let of_group = place + self.arbiter.arbiter.entries(groups) + group * entries;
        self.won_in(of_group, one % members, members);
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
