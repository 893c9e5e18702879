//! The arbiters of an allocator: round robin, from a pointer on the first one in cyclic order.

/// A requester and a resource that it asks for.
pub(crate) type Request = (u32, u32);

/// The pointers of the arbiters of one allocator, and memory that lasts for a step only.
pub(crate) struct Arbiters<'a> {
    /// By requester, then by resource: the one that is preferred.
    pub(crate) pointers: &'a mut [u32],
    /// Number of requesters.
    pub(crate) requesters: u32,
    /// Values of pointers before they changed, by place.
    pub(crate) changed: &'a mut Vec<(u32, u32)>,
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
    pub(super) fn resources(&self) -> u32 {
        self.pointers.len() as u32 - self.requesters
    }

    /// How far a resource is from the one that a requester prefers.
    pub(super) fn of_requester(&self, (requester, resource): Request) -> u32 {
        let (preferred, all) = (self.pointers[requester as usize], self.resources());
        if resource >= preferred {
            resource - preferred
        } else {
            resource + all - preferred
        }
    }

    /// How far a requester is from the one that a resource prefers.
    pub(super) fn of_resource(&self, (requester, resource): Request) -> u32 {
        let preferred = self.pointers[(self.requesters + resource) as usize];
        match requester >= preferred {
            true => requester - preferred,
            false => requester + self.requesters - preferred,
        }
    }

    fn set(&mut self, place: u32, value: u32) {
        let before = std::mem::replace(&mut self.pointers[place as usize], value);
        if before != value {
            self.changed.push((place, before));
        }
    }

    /// Both prefer the one after their partner from now on.
    pub(super) fn pass(&mut self, (requester, resource): Request) {
        self.set(requester, (resource + 1) % self.resources());
        self.set(self.requesters + resource, (requester + 1) % self.requesters);
    }
}

/// Of several requests, keeps the index of the one with the least distance for each place.
pub(super) fn keep_best(
    (best, used): (&mut Vec<u32>, &mut Vec<u32>),
    places: u32,
    candidates: impl Iterator<Item = (u32, u32)>,
    distance: impl Fn(u32) -> u32,
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
