//! The kernel's data of each LP.

use std::ops::Index;

use crate::LpId;

/// An LP with its random-stream position and its send counter. It begins with a cache line, so that models can lay
/// out their LPs by lines.
#[repr(C, align(64))]
pub(crate) struct Slot<L> {
    /// Random numbers drawn so far.
    pub(crate) draws: u64,
    /// Events sent so far, modulo 2^32.
    pub(crate) sequence: u32,
    pub(crate) lp: L,
}

/// The LPs at the end of a run, by id. They stay in the memory of their threads, since a copy could exceed the
/// memory.
pub struct Lps<L> {
    /// LPs of each thread.
    parts: Vec<Vec<Slot<L>>>,
    /// Number of the first LP of each part, then the number of LPs.
    first: Vec<usize>,
}

impl<L> Lps<L> {
    /// The LPs of one thread.
    pub(crate) fn new(slots: Vec<Slot<L>>) -> Lps<L> {
        Lps {
            first: vec![0, slots.len()],
            parts: vec![slots],
        }
    }

    /// Appends others.
    pub(crate) fn append(&mut self, other: Lps<L>) {
        for part in other.parts {
            self.first.push(self.len() + part.len());
            self.parts.push(part);
        }
    }

    /// All in one list.
    pub(crate) fn into_slots(self) -> Vec<Slot<L>> {
        let mut parts = self.parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        parts.for_each(|mut part| all.append(&mut part));
        all
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot<L>> {
        self.parts.iter().flatten()
    }

    /// Number of LPs.
    pub fn len(&self) -> usize {
        *self.first.last().expect("the number of all")
    }

    /// Whether it is empty, as in all processes except the first.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All LPs in order.
    pub fn iter(&self) -> impl Iterator<Item = &L> {
        self.slots().map(|slot| &slot.lp)
    }
}

impl<L> Index<LpId> for Lps<L> {
    type Output = L;

    fn index(&self, LpId(lp): LpId) -> &L {
        let lp = lp as usize;
        // There are few threads, and the first ones may have no LP.
        let part = self.first.partition_point(|first| *first <= lp) - 1;
        &self.parts[part][lp - self.first[part]].lp
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn lps(of: Range<u32>) -> Lps<u32> {
        let slot = |lp| Slot {
            draws: 0,
            sequence: 0,
            lp,
        };
        Lps::new(of.map(slot).collect())
    }

    #[test]
    fn lps_of_several_threads_are_found_by_id() {
        let mut all = lps(0..0);
        assert!(all.is_empty());
        for part in [0..3, 3..3, 3..4, 4..9] {
            all.append(lps(part));
        }
        assert_eq!(all.len(), 9);
        assert!((0..9).all(|lp| all[LpId(lp)] == lp));
        assert!(all.iter().copied().eq(0..9));
    }
}
