//! The allocator `select` of BookSim 2: iSLIP with priorities, in which the grants of an iteration stay for the next.
//! So a requester may move to a resource that has granted it before, and the one that it leaves stays unused.

use super::arbiters::{Arbiters, NONE, Request, keep_best};

pub(super) fn allocate(
    iterations: u8,
    requests: &[Request],
    arbiters: &mut Arbiters<'_>,
    granted: &mut Vec<usize>,
) {
    let (requesters, resources) = (arbiters.requesters as usize, arbiters.resources as usize);
    // By resource, the request that it grants, and whether a requester has accepted; by requester, what it has
    // accepted.
    let mut grants = vec![NONE; resources];
    let mut is_taken = vec![false; resources];
    let mut accepted = vec![NONE; requesters];
    let (mut best, mut used) = (Vec::new(), Vec::new());
    for iteration in 0..iterations {
        let is_open = |request: &u32| {
            let (requester, resource) = requests[*request as usize];
            accepted[requester as usize] == NONE && !is_taken[resource as usize]
        };
        keep_best(
            (&mut best, &mut used),
            arbiters.resources,
            (0..requests.len() as u32)
                .filter(is_open)
                .map(|request| (requests[request as usize].1, request)),
            |request| {
                let [_, rank] = arbiters.ranks_of(request as usize);
                (rank, arbiters.of_resource(requests[request as usize]))
            },
        );
        for place in used.drain(..) {
            grants[place as usize] = std::mem::replace(&mut best[place as usize], NONE);
        }
        best.clear();
        keep_best(
            (&mut best, &mut used),
            arbiters.requesters,
            grants
                .iter()
                .filter(|request| **request != NONE)
                .map(|request| (requests[*request as usize].0, *request)),
            |request| {
                let [rank, _] = arbiters.ranks_of(request as usize);
                (rank, arbiters.of_requester(requests[request as usize]))
            },
        );
        for place in used.drain(..) {
            let request = std::mem::replace(&mut best[place as usize], NONE);
            accepted[place as usize] = request;
            is_taken[requests[request as usize].1 as usize] = true;
            if iteration == 0 {
                arbiters.pass(requests[request as usize]);
            }
        }
        best.clear();
    }
    let all = accepted.into_iter().filter(|request| *request != NONE);
    granted.extend(all.map(|request| request as usize));
}
