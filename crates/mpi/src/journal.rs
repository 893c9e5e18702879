//! Values and maps that note the inverse of each change.
//!
//! A part of a rank changes only by methods that also note the inverse change, of a type of its own. The `undo` of the
//! part applies the inverse. A note owns all that it needs.

use std::collections::VecDeque;
use std::mem;
use std::ops::Deref;

use des::Journal;
use serde::{Deserialize, Serialize};

/// A value that is replaced as a whole.
#[derive(Debug)]
pub(crate) struct Journaled<T>(T);

impl<T> Journaled<T> {
    pub fn new(value: T) -> Journaled<T> {
        Journaled(value)
    }
}

impl<T> Journaled<T> {
    pub fn set(&mut self, value: T, journal: &mut impl Journal<T>) {
        let old = mem::replace(&mut self.0, value);
        journal.note(|| old);
    }

    /// Changes a part of the value.
    #[inline]
    pub fn update(&mut self, change: impl FnOnce(&mut T), journal: &mut impl Journal<T>)
    where
        T: Copy,
    {
        // Noted first, so that nothing is copied where changes are not kept.
        journal.note(|| self.0);
        change(&mut self.0);
    }

    pub fn undo(&mut self, old: T) {
        self.0 = old;
    }
}

impl<T> Deref for Journaled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A journaled map from a key to a request handle or another number: entries in the order of their keys. Keys mostly
/// rise, and the oldest entry mostly leaves first, so that both ends change and a tree would cost more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HandleMap<K: Ord>(VecDeque<(K, u32)>);

/// The previous value of a key.
#[derive(Debug)]
pub(crate) struct HandleChange<K> {
    key: K,
    old: Option<u32>,
}

impl<K: Ord> Default for HandleMap<K> {
    fn default() -> HandleMap<K> {
        HandleMap(VecDeque::new())
    }
}

impl<K: Ord + Copy> HandleMap<K> {
    /// The place of a key, or the place where it would be.
    fn place(&self, key: K) -> Result<usize, usize> {
        match (self.0.front(), self.0.back()) {
            (_, Some((last, _))) if *last < key => Err(self.0.len()),
            (Some((first, _)), _) if *first == key => Ok(0),
            _ => self.0.binary_search_by(|(other, _)| other.cmp(&key)),
        }
    }

    fn set(&mut self, key: K, handle: u32) -> Option<u32> {
        match self.place(key) {
            Ok(place) => Some(mem::replace(&mut self.0[place].1, handle)),
            Err(place) => {
                self.0.insert(place, (key, handle));
                None
            }
        }
    }

    fn take(&mut self, key: K) -> Option<u32> {
        let place = self.place(key).ok()?;
        self.0.remove(place).map(|(_, handle)| handle)
    }

    pub fn get(&self, key: K) -> Option<u32> {
        let place = self.place(key).ok()?;
        self.0.get(place).map(|(_, handle)| *handle)
    }

    pub fn contains(&self, key: K) -> bool {
        self.place(key).is_ok()
    }

    pub fn insert(&mut self, key: K, handle: u32, journal: &mut impl Journal<HandleChange<K>>) {
        let old = self.set(key, handle);
        journal.note(|| HandleChange { key, old });
    }

    pub fn remove(&mut self, key: K, journal: &mut impl Journal<HandleChange<K>>) -> Option<u32> {
        let old = self.take(key)?;
        journal.note(|| HandleChange { key, old: Some(old) });
        Some(old)
    }

    pub fn undo(&mut self, HandleChange { key, old }: HandleChange<K>) {
        match old {
            Some(handle) => self.set(key, handle),
            None => self.take(key),
        };
    }
}
