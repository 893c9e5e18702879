//! Allocators: which requesters of one step get which resources. One file each.
//!
//! An allocator matches requesters (input virtual channels, input ports) with resources (output virtual channels,
//! output ports), each with at most one. Separable allocators and iSLIP have an [`Arbiter`](FlitArbiter) for each
//! requester and for each resource.
//!
//! Sources: W. J. Dally, B. Towles, "Principles and Practices of Interconnection Networks", 2004, chapter 19; N.
//! McKeown, "The iSLIP scheduling algorithm for input-queued switches", IEEE/ACM Transactions on Networking 7(2), 1999.

mod arbiters;
mod islip;
mod separable;
mod wavefront;

pub use arbiters::FlitArbiter;
pub(super) use arbiters::{Arbiters, Request, Scratch};
pub use wavefront::WavefrontPointer;

/// A kind of allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// Each requester picks one of its resources, then each resource one of the requesters that have picked it.
    SeparableInputFirst,
    /// Each resource picks one of its requesters, then each requester one of the resources that have picked it.
    SeparableOutputFirst,
    /// Grants and accepts in so many iterations.
    Islip(u8),
    /// Diagonals of the matrix of requests, from a pointer on.
    Wavefront(WavefrontPointer),
}

impl Allocator {
    /// Whether requesters and resources have arbiters.
    fn has_arbiters(self) -> bool {
        !matches!(self, Allocator::Wavefront(_))
    }

    /// Whether requests of some packets can go before those of others.
    pub(super) fn has_priorities(self) -> bool {
        !matches!(self, Allocator::Islip(_))
    }

    /// Whether a requester can prefer some of its resources.
    pub(super) fn has_preferences(self) -> bool {
        matches!(
            self,
            Allocator::SeparableInputFirst | Allocator::SeparableOutputFirst
        )
    }

    /// What the arbiters of an allocator know at first.
    pub(super) fn memory(self, arbiter: FlitArbiter, requesters: u32, resources: u32) -> Vec<u32> {
        match self.has_arbiters() {
            true => arbiter.memory(requesters, resources),
            false => vec![0],
        }
    }

    /// Appends the indices of the granted requests. Requests of one requester follow each other.
    pub(super) fn allocate(
        self,
        requests: &[Request],
        arbiters: &mut Arbiters<'_>,
        granted: &mut Vec<usize>,
    ) {
        if let ([one], true) = (requests, self.has_arbiters()) {
            arbiters.pass(*one);
            granted.push(0);
            return;
        }
        match self {
            Allocator::SeparableInputFirst => separable::input_first(requests, arbiters, granted),
            Allocator::SeparableOutputFirst => separable::output_first(requests, arbiters, granted),
            Allocator::Islip(iterations) => islip::allocate(iterations, requests, arbiters, granted),
            Allocator::Wavefront(pointer) => wavefront::allocate(pointer, requests, arbiters, granted),
        }
    }
}

#[cfg(test)]
mod tests;
