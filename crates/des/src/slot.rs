//! What the kernel keeps of each LP.

use std::ops::Range;

use crate::{LpId, Model};

/// An LP with its place in its random stream and in the numbering of its sends.
pub(crate) struct Slot<L> {
    pub(crate) lp: L,
    /// Random numbers drawn so far.
    pub(crate) draws: u64,
    /// Events sent so far, modulo 2^32.
    pub(crate) sequence: u32,
}

impl<L> Slot<L> {
    /// LPs in their first state.
    pub(crate) fn create<M: Model<Lp = L>>(model: &M, lps: Range<u32>) -> Vec<Slot<L>> {
        lps.map(|lp| Slot {
            lp: model.create(LpId(lp)),
            draws: 0,
            sequence: 0,
        })
        .collect()
    }
}
