//! Separable allocators: one round of arbiters at one side, then one at the other. Pointers move only for pairs that
//! match.

use super::arbiters::{Arbiters, NONE, Request, keep_best};

pub(super) fn input_first(requests: &[Request], arbiters: &mut Arbiters<'_>, granted: &mut Vec<usize>) {
    rounds(requests, arbiters, granted, true);
}

pub(super) fn output_first(requests: &[Request], arbiters: &mut Arbiters<'_>, granted: &mut Vec<usize>) {
    rounds(requests, arbiters, granted, false);
}

fn rounds(requests: &[Request], arbiters: &mut Arbiters<'_>, granted: &mut Vec<usize>, input_first: bool) {
    let mut scratch = std::mem::take(arbiters.scratch);
    let (requesters, resources) = (arbiters.requesters, arbiters.resources);
    let place = |of_requester: bool, request: u32| {
        let (requester, resource) = requests[request as usize];
        if of_requester { requester } else { resource }
    };
    let distance = |of_requester: bool, request: u32| {
        let [of_its_requester, of_its_resource] = arbiters.ranks_of(request as usize);
        let request = requests[request as usize];
        match of_requester {
            true => (of_its_requester, arbiters.of_requester(request)),
            false => (of_its_resource, arbiters.of_resource(request)),
        }
    };
    let sizes = |of_requester: bool| if of_requester { requesters } else { resources };
    keep_best(
        (&mut scratch.best, &mut scratch.used),
        sizes(input_first),
        (0..requests.len() as u32).map(|request| (place(input_first, request), request)),
        |request| distance(input_first, request),
    );
    let picked = scratch.used.iter().map(|place| scratch.best[*place as usize]);
    keep_best(
        (&mut scratch.other, &mut scratch.other_used),
        sizes(!input_first),
        picked.map(|request| (place(!input_first, request), request)),
        |request| distance(!input_first, request),
    );
    for place in scratch.other_used.drain(..) {
        let request = std::mem::replace(&mut scratch.other[place as usize], NONE) as usize;
        granted.push(request);
        arbiters.pass(requests[request]);
    }
    for place in scratch.used.drain(..) {
        scratch.best[place as usize] = NONE;
    }
    *arbiters.scratch = scratch;
}
