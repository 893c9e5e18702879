//! The lonely output allocator: each requester picks its resource with the fewest requests, as that is least likely to
//! get another one. Each resource grants the first of them from its pointer on. Both pointers of a pair move by one.
//!
//! Source: W. J. Dally, B. Towles, "Principles and Practices of Interconnection Networks", 2004, section 19.3.

use super::arbiters::{Arbiters, NONE, Request, keep_best};

pub(super) fn allocate(requests: &[Request], arbiters: &mut Arbiters<'_>, granted: &mut Vec<usize>) {
    let mut scratch = std::mem::take(arbiters.scratch);
    let (requesters, resources) = (arbiters.requesters, arbiters.resources);
    let asked = requests.iter().map(|request| request.1);
    scratch.counts.resize(resources as usize, 0);
    asked
        .clone()
        .for_each(|resource| scratch.counts[resource as usize] += 1);
    keep_best(
        (&mut scratch.best, &mut scratch.used),
        requesters,
        (0..requests.len() as u32).map(|request| (requests[request as usize].0, request)),
        |request| {
            let request = requests[request as usize];
            (scratch.counts[request.1 as usize], arbiters.of_requester(request))
        },
    );
    asked.for_each(|resource| scratch.counts[resource as usize] = 0);
    let picked = scratch.used.iter().map(|place| scratch.best[*place as usize]);
    keep_best(
        (&mut scratch.other, &mut scratch.other_used),
        resources,
        picked.map(|request| (requests[request as usize].1, request)),
        |request| arbiters.of_resource(requests[request as usize]),
    );
    for place in scratch.other_used.drain(..) {
        let request = std::mem::replace(&mut scratch.other[place as usize], NONE) as usize;
        granted.push(request);
        let (requester, resource) = requests[request];
        let pointers = [(requester, resources), (requesters + resource, requesters)];
        for (pointer, among) in pointers {
            let next = arbiters.memory[pointer as usize] + 1;
            arbiters.set(pointer, if next >= among { 0 } else { next });
        }
    }
    for place in scratch.used.drain(..) {
        scratch.best[place as usize] = NONE;
    }
    *arbiters.scratch = scratch;
}
