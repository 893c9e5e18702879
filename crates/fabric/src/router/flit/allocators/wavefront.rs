//! The wavefront allocator: the matrix of requesters and resources is passed diagonal by diagonal, from a pointer on.
//! The places of a diagonal are in different rows and columns, so that all of its requests with a free requester and a
//! free resource are granted. With priorities there is one pass for each, the highest first.
//!
//! Source: Y. Tamir and H.-C. Chi, "Symmetric crossbar arbiters for VLSI communication switches", IEEE Trans. Parallel
//! and Distributed Systems 4(1), 1993.

use super::arbiters::{Arbiters, Request};

/// Where the pointer goes after a step with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WavefrontPointer {
    /// To the next diagonal.
    Next,
    /// To the one after the first diagonal with a grant.
    AfterFirstGrant,
}

pub(super) fn allocate(
    pointer: WavefrontPointer,
    requests: &[Request],
    arbiters: &mut Arbiters<'_>,
    granted: &mut Vec<usize>,
) {
    let side = arbiters.requesters.max(arbiters.resources);
    let first = arbiters.memory[0];
    let diagonal = |(requester, resource): Request| (requester + resource + side - first) % side;
    let mut order = std::mem::take(&mut arbiters.scratch.used);
    order.extend(0..requests.len() as u32);
    order.sort_unstable_by_key(|request| {
        let [_, rank] = arbiters.ranks_of(*request as usize);
        (rank, diagonal(requests[*request as usize]), *request)
    });
    let before = granted.len();
    for request in order.drain(..) {
        let (requester, resource) = requests[request as usize];
        let is_taken = granted[before..].iter().any(|other| {
            let (taken_by, taken) = requests[*other];
            taken_by == requester || taken == resource
        });
        if !is_taken {
            granted.push(request as usize);
        }
    }
    arbiters.scratch.used = order;
    let from = match pointer {
        WavefrontPointer::Next => first,
        WavefrontPointer::AfterFirstGrant => {
            let of_first = granted.get(before).map(|request| requests[*request]);
            of_first.map_or(first, |(requester, resource)| (requester + resource) % side)
        }
    };
    arbiters.set(0, (from + 1) % side);
}
