//! What the kernel keeps of each LP.

use std::ops::Range;

use crate::run::Run;
use crate::{LpId, Model, Purpose};

/// An LP with its place in its random stream and in the numbering of its sends. Begins with a cache line, so that
/// models can lay out their LPs by lines.
#[repr(C, align(64))]
pub(crate) struct Slot<L> {
    /// Random numbers drawn so far.
    pub(crate) draws: u64,
    /// Events sent so far, modulo 2^32.
    pub(crate) sequence: u32,
    pub(crate) lp: L,
}

impl<L> Slot<L> {
    /// LPs in the state in which the run begins.
    ///
    /// # Errors
    /// The snapshot that it begins with is not one of the model.
    pub(crate) fn create<M: Model<Lp = L>>(
        run: &Run<'_, M>,
        lps: Range<u32>,
    ) -> Result<Vec<Slot<L>>, String> {
        let first = |lp| Slot {
            lp: run.model.create(lp),
            draws: 0,
            sequence: 0,
        };
        match run.from {
            None => Ok(lps.map(|lp| first(LpId(lp))).collect()),
            Some(snapshot) => lps
                .map(|lp| {
                    let restored = snapshot.lps[lp as usize].restore(run.model, LpId(lp), Purpose::GoOn);
                    restored.map_err(|why| format!("logical process {lp}: {why}"))
                })
                .collect(),
        }
    }
}
