//! Reads a table from its end to its beginning, ordered by the time of its rows.
//!
//! Row groups are read one by one, latest first. Rows wait in a heap until their time is reached. So rows come in
//! order, whatever their order in the file. If the file is nearly in order, as the tables of a run are, little more
//! than one row group is in memory. Memory is then independent of the length of the table.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A row with a time.
pub(crate) trait Timed {
    /// Time in picoseconds.
    fn time(&self) -> u64;
}

/// Row groups of a table, each with its latest time.
pub(crate) trait TimedGroups {
    /// Rows of the table.
    type Row: Timed;
    /// The error of a group that cannot be read.
    type Error;

    /// For each group an upper bound of the times in it.
    fn latest(&self) -> Vec<u64>;
    /// Appends the rows of a group in file order.
    fn read(&mut self, group: usize, rows: &mut Vec<Self::Row>) -> Result<(), Self::Error>;
}

/// Rows from the latest to the earliest. Of rows at the same time, the last in the file comes first.
pub(crate) struct Backwards<G: TimedGroups> {
    groups: G,
    /// Groups not yet read, in ascending order of their latest time.
    unread: Vec<(u64, usize)>,
    pending: BinaryHeap<PendingRows<G::Row>>,
    rows: Vec<G::Row>,
}

struct PendingRows<R> {
    time: u64,
    group: usize,
    index: usize,
    row: R,
}

impl<R> PendingRows<R> {
    fn key(&self) -> (u64, usize, usize) {
        (self.time, self.group, self.index)
    }
}

impl<R> PartialEq for PendingRows<R> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<R> Eq for PendingRows<R> {}

impl<R> PartialOrd for PendingRows<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R> Ord for PendingRows<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<G: TimedGroups> Backwards<G> {
    pub fn new(groups: G) -> Backwards<G> {
        let mut unread: Vec<(u64, usize)> = groups.latest().into_iter().zip(0..).collect();
        unread.sort_unstable();
        Backwards {
            groups,
            unread,
            pending: BinaryHeap::new(),
            rows: Vec::new(),
        }
    }

    /// Passes on all remaining rows at `time` or later.
    pub fn down_to(&mut self, time: u64, mut take: impl FnMut(G::Row)) -> Result<(), G::Error> {
        while self.unread.last().is_some_and(|(latest, _)| *latest >= time) {
            self.load()?;
        }
        while self.pending.peek().is_some_and(|pending| pending.time >= time) {
            take(self.pending.pop().expect("just seen").row);
        }
        Ok(())
    }

    /// The latest remaining row.
    pub fn next(&mut self) -> Result<Option<G::Row>, G::Error> {
        while let Some((latest, _)) = self.unread.last()
            && self.pending.peek().is_none_or(|pending| pending.time <= *latest)
        {
            self.load()?;
        }
        Ok(self.pending.pop().map(|pending| pending.row))
    }

    /// Reads the row group with the latest rows.
    fn load(&mut self) -> Result<(), G::Error> {
        let Some((_, group)) = self.unread.pop() else {
            return Ok(());
        };
        self.groups.read(group, &mut self.rows)?;
        let rows = self.rows.drain(..).enumerate();
        self.pending.extend(rows.map(|(index, row)| PendingRows {
            time: row.time(),
            group,
            index,
            row,
        }));
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod in_memory {
    use std::convert::Infallible;

    use super::{Timed, TimedGroups};

    /// A table whose row groups are lists.
    pub(crate) struct Listed<R>(pub Vec<Vec<R>>);

    impl<R: Timed + Clone> TimedGroups for Listed<R> {
        type Row = R;
        type Error = Infallible;

        fn latest(&self) -> Vec<u64> {
            let latest = |group: &Vec<R>| group.iter().map(Timed::time).max().unwrap_or(0);
            self.0.iter().map(latest).collect()
        }

        fn read(&mut self, group: usize, rows: &mut Vec<R>) -> Result<(), Infallible> {
            rows.extend(self.0[group].iter().cloned());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::in_memory::Listed;
    use super::*;

    /// A time, and a number that distinguishes rows at the same time.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Row(u64, usize);

    impl Timed for Row {
        fn time(&self) -> u64 {
            self.0
        }
    }

    proptest! {
        #[test]
        fn rows_come_backwards_however_they_lie(
            groups in prop::collection::vec(prop::collection::vec(0..50_u64, 0..6), 0..6),
            stops in prop::collection::vec(0..50_u64, 0..6),
        ) {
            let mut number = 0..;
            let mut row = |time: &u64| Row(*time, number.next().unwrap());
            let groups: Vec<Vec<Row>> = groups.iter().map(|g| g.iter().map(&mut row).collect()).collect();
            let mut expected: Vec<Row> = groups.concat();
            expected.sort_by_key(|row| std::cmp::Reverse((row.0, row.1)));
            let mut backwards = Backwards::new(Listed(groups));
            let mut given = Vec::new();
            for stop in stops {
                backwards.down_to(stop, |row| given.push(row)).unwrap();
                if let Some(row) = backwards.next().unwrap() {
                    given.push(row);
                }
            }
            backwards.down_to(0, |row| given.push(row)).unwrap();
            prop_assert_eq!(backwards.next().unwrap(), None);
            prop_assert_eq!(given, expected);
        }
    }

    #[test]
    fn no_more_groups_are_in_memory_than_needed() {
        let groups = (0..100).map(|g| (0..10).map(|i| Row(10 * g + i, 0)).collect());
        let mut backwards = Backwards::new(Listed(groups.collect()));
        for time in (0..1000).rev() {
            backwards.down_to(time, |_| {}).unwrap();
            assert!(backwards.pending.len() < 10);
        }
    }
}
