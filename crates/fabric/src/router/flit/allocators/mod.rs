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
mod lonely_output;
mod maximum_size;
mod select;
mod separable;
mod wavefront;

pub use arbiters::{ArbiterTree, FlitArbiter};
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
    /// Grants and accepts in so many iterations; grants of one stay for the next.
    Select(u8),
    /// Each requester picks the resource with the fewest requests, then each resource one of those.
    LonelyOutput,
    /// As many pairs as there can be.
    MaximumSize,
    /// Diagonals of the matrix of requests, from a pointer on.
    Wavefront(WavefrontPointer),
}

impl Allocator {
    /// Whether requesters and resources have arbiters of any kind.
    pub(super) fn has_arbiters(self) -> bool {
        match self {
            Allocator::SeparableInputFirst | Allocator::SeparableOutputFirst => true,
            Allocator::Islip(_) | Allocator::Select(_) => true,
            Allocator::LonelyOutput | Allocator::MaximumSize | Allocator::Wavefront(_) => false,
        }
    }

    /// Whether it changes in steps in which VCs wait and nothing is requested.
    pub(super) fn turns_without_requests(self) -> bool {
        self == Allocator::MaximumSize
    }

    /// Whether requests of some packets can go before those of others.
    pub(super) fn has_priorities(self) -> bool {
        match self {
            Allocator::SeparableInputFirst | Allocator::SeparableOutputFirst => true,
            Allocator::Select(_) | Allocator::Wavefront(_) => true,
            Allocator::Islip(_) | Allocator::LonelyOutput | Allocator::MaximumSize => false,
        }
    }

    /// Whether a requester can prefer some of its resources.
    pub(super) fn has_preferences(self) -> bool {
        matches!(
            self,
            Allocator::SeparableInputFirst | Allocator::SeparableOutputFirst
        )
    }

    /// What the arbiters of an allocator know at first.
    pub(super) fn memory(self, arbiter: ArbiterTree, requesters: u32, resources: u32) -> Vec<u32> {
        match self {
            Allocator::MaximumSize | Allocator::Wavefront(_) => vec![0],
            _ => arbiter.memory(requesters, resources),
        }
    }

    /// Appends the indices of the granted requests. Without requests only allocators are called that change then
    /// ([`Allocator::turns_without_requests`]).
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
        if requests.is_empty() {
            maximum_size::turn(arbiters);
            return;
        }
        match self {
            Allocator::LonelyOutput => lonely_output::allocate(requests, arbiters, granted),
            Allocator::MaximumSize => maximum_size::allocate(requests, arbiters, granted),
            Allocator::Select(iterations) => select::allocate(iterations, requests, arbiters, granted),
            Allocator::SeparableInputFirst => separable::input_first(requests, arbiters, granted),
            Allocator::SeparableOutputFirst => separable::output_first(requests, arbiters, granted),
            Allocator::Islip(iterations) => islip::allocate(iterations, requests, arbiters, granted),
            Allocator::Wavefront(pointer) => wavefront::allocate(pointer, requests, arbiters, granted),
        }
    }
}

#[cfg(test)]
mod tests;
