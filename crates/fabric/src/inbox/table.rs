//! The incomplete messages of an inbox by sender and number: the lookup of every packet.
//!
//! Open addressing with linear probing; a removal moves later entries up (D. E. Knuth, "The Art of Computer
//! Programming", vol. 3, 2nd edition, section 6.4, algorithm R). A packet touches one key and one number of its
//! message, 16 bytes, whose address follows from the key and can be prefetched. The contents of announcements are
//! stored apart. A general hash map offers neither.

use topology::HostId;

/// The key of a free entry. Hosts and routers are numbered together, so no host has so large a number.
const EMPTY: u64 = u64::MAX;

/// Number of entries of the smallest table.
const SMALLEST: usize = 4;

/// Messages by sender and number.
#[derive(Clone, Debug)]
pub(super) struct OpenMessages<T> {
    /// A power of two of entries, at most three quarters of them in use; or none.
    entries: Vec<TableEntry>,
    /// Announcements of the same entries: bytes and content.
    announced: Vec<Option<(u64, T)>>,
    used: usize,
}

#[derive(Clone, Copy, Debug)]
struct TableEntry {
    key: u64,
    /// Announced bytes less received bytes, modulo 2^64.
    missing: u64,
}

/// Index of a message, valid until a message is opened or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TablePlace(usize);

impl<T> Default for OpenMessages<T> {
    fn default() -> Self {
        OpenMessages {
            entries: Vec::new(),
            announced: Vec::new(),
            used: 0,
        }
    }
}

impl<T: Copy> OpenMessages<T> {
    /// Number of messages.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Prefetches the memory of the lookup of a message.
    #[inline]
    pub(super) fn prefetch(&self, source: HostId, message: u32) {
        if !self.entries.is_empty() {
            des::prefetch(&self.entries[self.home(key(source, message))]);
        }
    }

    /// The index of a message, and whether it was added.
    #[inline]
    pub(super) fn open(&mut self, source: HostId, message: u32) -> (TablePlace, bool) {
        if self.used >= self.entries.len() / 4 * 3 {
            self.grow();
        }
        let key = key(source, message);
        let mut at = self.home(key);
        loop {
            match self.entries[at].key {
                found if found == key => return (TablePlace(at), false),
                EMPTY => {
                    self.entries[at] = TableEntry { key, missing: 0 };
                    self.used += 1;
                    return (TablePlace(at), true);
                }
                _ => at = self.after(at),
            }
        }
    }

    /// Bytes received, modulo 2^64.
    pub(super) fn received(&self, place: TablePlace) -> u64 {
        self.total(place).wrapping_sub(self.entries[place.0].missing)
    }

    /// Adds received bytes. Returns whether the message may be complete.
    #[inline]
    pub(super) fn receive(&mut self, place: TablePlace, bytes: u64) -> bool {
        let missing = &mut self.entries[place.0].missing;
        *missing = missing.wrapping_sub(bytes);
        *missing as i64 <= 0
    }

    /// The announcement: bytes and content.
    pub(super) fn announced(&self, place: TablePlace) -> Option<(u64, T)> {
        self.announced[place.0]
    }

    /// Sets the announcement and returns the previous one. Received bytes are unchanged.
    pub(super) fn announce(&mut self, place: TablePlace, what: Option<(u64, T)>) -> Option<(u64, T)> {
        let received = self.received(place);
        let before = std::mem::replace(&mut self.announced[place.0], what);
        self.entries[place.0].missing = self.total(place).wrapping_sub(received);
        before
    }

    /// Removes a message.
    pub(super) fn remove(&mut self, place: TablePlace) {
        let mut hole = place.0;
        let mut at = self.after(hole);
        // Entries that earlier ones displaced from their home move up.
        while self.entries[at].key != EMPTY {
            let home = self.home(self.entries[at].key);
            let mask = self.entries.len() - 1;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.entries[hole] = self.entries[at];
                self.announced[hole] = self.announced[at];
                hole = at;
            }
            at = self.after(at);
        }
        self.entries[hole].key = EMPTY;
        self.announced[hole] = None;
        self.used -= 1;
    }

    /// All messages, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (HostId, u32, TablePlace)> + '_ {
        let used = self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.key != EMPTY);
        used.map(|(at, entry)| (HostId((entry.key >> 32) as u32), entry.key as u32, TablePlace(at)))
    }

    fn total(&self, place: TablePlace) -> u64 {
        self.announced[place.0].map_or(0, |(bytes, _)| bytes)
    }

    /// Home index of a key: Fibonacci hashing (Knuth, as above).
    #[inline]
    fn home(&self, key: u64) -> usize {
        let bits = self.entries.len().trailing_zeros();
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.entries.len() - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.entries.len() * 2).max(SMALLEST);
        let empty = TableEntry {
            key: EMPTY,
            missing: 0,
        };
        let entries = std::mem::replace(&mut self.entries, vec![empty; size]);
        let announced = std::mem::replace(&mut self.announced, vec![None; size]);
        for (entry, announced) in entries.into_iter().zip(announced) {
            if entry.key == EMPTY {
                continue;
            }
            let mut at = self.home(entry.key);
            while self.entries[at].key != EMPTY {
                at = self.after(at);
            }
            self.entries[at] = entry;
            self.announced[at] = announced;
        }
    }
}

#[inline]
fn key(source: HostId, message: u32) -> u64 {
    u64::from(source.0) << 32 | u64::from(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug)]
    enum Op {
        Open(u32, u32),
        Remove(u32, u32),
        Receive(u32, u32, u64),
        Announce(u32, u32, Option<(u64, char)>),
    }

    fn op() -> impl Strategy<Value = Op> {
        let key = || (0u32..6, 0u32..12);
        prop_oneof![
            key().prop_map(|(s, m)| Op::Open(s, m)),
            key().prop_map(|(s, m)| Op::Remove(s, m)),
            (key(), 0u64..300).prop_map(|((s, m), bytes)| Op::Receive(s, m, bytes)),
            (key(), proptest::option::of((0u64..300, any::<char>())))
                .prop_map(|((s, m), what)| Op::Announce(s, m, what)),
        ]
    }

    proptest! {
        #[test]
        fn it_knows_what_a_map_would_know(ops in prop::collection::vec(op(), 0..400)) {
            let mut table = OpenMessages::default();
            let mut map = BTreeMap::new();
            for op in ops {
                let (Op::Open(s, m) | Op::Remove(s, m) | Op::Receive(s, m, _) | Op::Announce(s, m, _)) = op;
                let (place, new) = table.open(HostId(s), m);
                prop_assert_eq!(new, !map.contains_key(&(s, m)));
                let known: &mut (u64, Option<(u64, char)>) = map.entry((s, m)).or_default();
                match op {
                    Op::Open(..) => {}
                    Op::Remove(..) => {
                        table.remove(place);
                        map.remove(&(s, m));
                    }
                    Op::Receive(.., bytes) => {
                        known.0 += bytes;
                        let all = known.0 >= known.1.map_or(0, |(total, _)| total);
                        prop_assert_eq!(table.receive(place, bytes), all);
                    }
                    Op::Announce(.., what) => {
                        prop_assert_eq!(table.announce(place, what), known.1);
                        known.1 = what;
                    }
                }
                prop_assert_eq!(table.len(), map.len());
                let mut seen: Vec<_> = table
                    .iter()
                    .map(|(s, m, place)| ((s.0, m), (table.received(place), table.announced(place))))
                    .collect();
                seen.sort_unstable();
                prop_assert!(seen.into_iter().eq(map.iter().map(|(key, known)| (*key, *known))));
            }
        }
    }
}
