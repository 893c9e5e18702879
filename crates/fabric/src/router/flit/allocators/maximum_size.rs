//! A matching of maximum size, by shortest augmenting paths. Free requesters are taken from a pointer on, which moves
//! by one in each step in which some requester waits, and resources in their order.
//!
//! Source: J. E. Hopcroft, R. M. Karp, "An n^(5/2) algorithm for maximum matchings in bipartite graphs", SIAM J.
//! Computing 2(4), 1973, for augmenting paths; there is one path at a time here.

use super::arbiters::{Arbiters, NONE, Request};

/// The pointer moves.
pub(super) fn turn(arbiters: &mut Arbiters<'_>) {
    let next = arbiters.memory[0] + 1;
    arbiters.set(0, if next >= arbiters.requesters { 0 } else { next });
}

pub(super) fn allocate(requests: &[Request], arbiters: &mut Arbiters<'_>, granted: &mut Vec<usize>) {
    let (requesters, first) = (arbiters.requesters, arbiters.memory[0]);
    let mut order: Vec<u32> = (0..requests.len() as u32).collect();
    order.sort_unstable_by_key(|request| {
        let (requester, resource) = requests[*request as usize];
        ((requester + requesters - first) % requesters, resource)
    });
    let of_requesters: Vec<&[u32]> = order
        .chunk_by(|one, other| requests[*one as usize].0 == requests[*other as usize].0)
        .collect();
    let mut places = vec![NONE; requesters as usize];
    for (place, of_one) in (0..).zip(&of_requesters) {
        places[requests[of_one[0] as usize].0 as usize] = place;
    }
    // By place of a requester, and by resource: the request that is matched.
    let mut of_place = vec![NONE; of_requesters.len()];
    let mut of_resource = vec![NONE; arbiters.resources as usize];
    // By resource: the request by which the search has come there.
    let mut from = vec![NONE; arbiters.resources as usize];
    while let Some(free) = free_resource(
        requests,
        (&of_requesters, &places),
        (&of_place, &of_resource),
        &mut from,
    ) {
        let mut resource = free;
        loop {
            let request = from[resource as usize];
            let place = places[requests[request as usize].0 as usize] as usize;
            let before = std::mem::replace(&mut of_place[place], request);
            of_resource[resource as usize] = request;
            if before == NONE {
                break;
            }
            resource = requests[before as usize].1;
        }
        from.fill(NONE);
    }
    let matched = of_place.into_iter().filter(|request| *request != NONE);
    granted.extend(matched.map(|request| request as usize));
    turn(arbiters);
}

/// The free resource at the end of a shortest augmenting path. `from` then leads back.
fn free_resource(
    requests: &[Request],
    (of_requesters, places): (&[&[u32]], &[u32]),
    (of_place, of_resource): (&[u32], &[u32]),
    from: &mut [u32],
) -> Option<u32> {
    let is_free = |place: &usize| of_place[*place] == NONE;
    let mut level: Vec<usize> = (0..of_requesters.len()).filter(is_free).collect();
    while !level.is_empty() {
        let mut next = Vec::new();
        for place in level {
            for request in of_requesters[place] {
                let resource = requests[*request as usize].1 as usize;
                if of_place[place] == *request || from[resource] != NONE {
                    continue;
                }
                from[resource] = *request;
                match of_resource[resource] {
                    NONE => return Some(resource as u32),
                    matched => next.push(places[requests[matched as usize].0 as usize] as usize),
                }
            }
        }
        level = next;
    }
    None
}
