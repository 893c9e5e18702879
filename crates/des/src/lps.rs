//! The kernel's data of each LP.

use std::ops::Index;

use crate::{LpId, Partition};

/// An LP with its random-stream position and its send counter. It begins with a cache line, so that models can lay
/// out their LPs by lines.
#[repr(C, align(64))]
pub(crate) struct LpEntry<L> {
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
    parts: Vec<Vec<LpEntry<L>>>,
    /// Number of the first LP of each part, then the number of LPs.
    first: Vec<usize>,
}

impl<L> Lps<L> {
    /// The LPs of one thread.
    pub(crate) fn new(entries: Vec<LpEntry<L>>) -> Lps<L> {
        Lps {
            first: vec![0, entries.len()],
            parts: vec![entries],
        }
    }

    /// Appends others.
    pub(crate) fn append(&mut self, other: Lps<L>) {
        for part in other.parts {
            self.first.push(self.len() + part.len());
            self.parts.push(part);
        }
    }

    /// The LPs of each part of a partition. They do not move if they come from threads with these parts.
    pub(crate) fn into_parts(self, partition: &Partition) -> Vec<Vec<LpEntry<L>>> {
        let ends = (0..partition.parts()).map(|part| partition.range(part).end as usize);
        if ends.eq(self.first[1..].iter().copied()) {
            return self.parts;
        }
        let mut parts = self.parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        parts.for_each(|mut part| all.append(&mut part));
        let mut parts = Vec::new();
        for part in (0..partition.parts()).rev() {
            parts.push(match partition.range(part).start {
                0 => std::mem::take(&mut all),
                start => all.split_off(start as usize),
            });
        }
        parts.reverse();
        parts
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &LpEntry<L>> {
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
        self.entries().map(|entry| &entry.lp)
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
        let entry = |lp| LpEntry {
            draws: 0,
            sequence: 0,
            lp,
        };
        Lps::new(of.map(entry).collect())
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

    #[test]
    fn lps_are_divided_again() {
        for borders in [
            vec![0, 9],
            vec![0, 3, 9],
            vec![0, 0, 2, 9],
            vec![0, 4, 4, 9],
            vec![0, 1, 2, 3, 9],
        ] {
            let partition = Partition::new(borders);
            let mut all = lps(0..3);
            all.append(lps(3..9));
            let place = all.parts[1].as_ptr();
            let parts = all.into_parts(&partition);
            assert_eq!(parts.len(), partition.parts());
            for (part, entries) in parts.iter().enumerate() {
                assert!(entries.iter().map(|entry| entry.lp).eq(partition.range(part)));
            }
            if partition.parts() == 2 {
                assert_eq!(parts[1].as_ptr(), place, "the same parts stay where they are");
            }
        }
    }
}
