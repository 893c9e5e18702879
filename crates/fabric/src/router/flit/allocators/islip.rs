//! iSLIP: each free resource grants the first free requester from its pointer on, each requester accepts the first
//! grant. Pointers move for pairs of the first iteration only.

use super::arbiters::{Arbiters, NONE, Request, keep_best};

pub(super) fn allocate(
    iterations: u8,
    requests: &[Request],
    arbiters: &mut Arbiters<'_>,
    granted: &mut Vec<usize>,
) {
    let mut scratch = std::mem::take(arbiters.scratch);
    let (requesters, resources) = (arbiters.requesters, arbiters.resources);
    // First the requesters, then the resources.
    scratch.taken.resize((requesters + resources) as usize, false);
    let first = granted.len();
    for iteration in 0..iterations {
        let taken = &scratch.taken;
        let is_free = |(requester, resource): Request| {
            !taken[requester as usize] && !taken[(requesters + resource) as usize]
        };
        let open = (0..requests.len() as u32).filter(|request| is_free(requests[*request as usize]));
        keep_best(
            (&mut scratch.best, &mut scratch.used),
            resources,
            open.map(|request| (requests[request as usize].1, request)),
            |request| arbiters.of_resource(requests[request as usize]),
        );
        let offers = scratch.used.iter().map(|place| scratch.best[*place as usize]);
        keep_best(
            (&mut scratch.other, &mut scratch.other_used),
            requesters,
            offers.map(|request| (requests[request as usize].0, request)),
            |request| arbiters.of_requester(requests[request as usize]),
        );
        let before = granted.len();
        for place in scratch.other_used.drain(..) {
            let request = std::mem::replace(&mut scratch.other[place as usize], NONE) as usize;
            granted.push(request);
            let (requester, resource) = requests[request];
            scratch.taken[requester as usize] = true;
            scratch.taken[(requesters + resource) as usize] = true;
            if iteration == 0 {
                arbiters.pass(requests[request]);
            }
        }
        for place in scratch.used.drain(..) {
            scratch.best[place as usize] = NONE;
        }
        if granted.len() == before {
            break;
        }
    }
    for request in &granted[first..] {
        let (requester, resource) = requests[*request];
        scratch.taken[requester as usize] = false;
        scratch.taken[(requesters + resource) as usize] = false;
    }
    *arbiters.scratch = scratch;
}
