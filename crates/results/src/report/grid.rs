//! Equal columns of simulated time for bins of any width.
//!
//! The amount of a bin is distributed over its columns in proportion to time. A level is valid until the next row
//! about the same item. So a plot has a bounded number of points, whatever the length of the run and the width of its
//! bins.

use crate::ReadError;

use super::source::TableSource;

/// Maximum number of columns of a plot over time.
const MOST_COLUMNS: u64 = 256;

/// The columns of one plot. The first begins at time 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeGrid {
    /// Width of a column.
    width_ps: u64,
    /// End of the last bin. The last column may be truncated there.
    end_ps: u64,
}

/// Begins and ends of the bins of a table.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub(super) struct Extent {
    first_begin_ps: u64,
    first_width_ps: u64,
    end_ps: u64,
}

impl Extent {
    pub fn take(&mut self, begin_ps: &[u64], end_ps: &[u64]) {
        for (begin, end) in begin_ps.iter().zip(end_ps) {
            if *end > *begin {
                if self.end_ps == 0 || *begin < self.first_begin_ps {
                    (self.first_begin_ps, self.first_width_ps) = (*begin, end - begin);
                }
                self.end_ps = self.end_ps.max(*end);
            }
        }
    }

    /// Column width: that of the first bin times the smallest power of two that makes the columns few enough. Bins
    /// double in width during a run, so they divide into columns without remainder.
    pub fn grid(self) -> Option<TimeGrid> {
        if self.end_ps == 0 {
            return None;
        }
        let mut width_ps = self.first_width_ps.max(1);
        while self.end_ps.div_ceil(width_ps) > MOST_COLUMNS {
            width_ps = width_ps.saturating_mul(2);
        }
        Some(TimeGrid {
            width_ps,
            end_ps: self.end_ps,
        })
    }
}

impl TimeGrid {
    /// The columns of a table with `begin_ps` and `end_ps`.
    pub fn of(source: &TableSource, table: &str) -> Result<Option<TimeGrid>, ReadError> {
        let mut extent = Extent::default();
        let read = source.each(table, &["begin_ps", "end_ps"], |rows| {
            extent.take(&rows.integers("begin_ps")?, &rows.integers("end_ps")?);
            Some(())
        })?;
        Ok(read.and_then(|()| extent.grid()))
    }

    pub fn columns(&self) -> usize {
        self.end_ps.div_ceil(self.width_ps) as usize
    }

    pub fn end_ps(&self) -> u64 {
        self.end_ps
    }

    /// The length of a column that the run covers.
    pub fn time_ps(&self, column: usize) -> f64 {
        let begin = column as u64 * self.width_ps;
        self.width_ps.min(self.end_ps.saturating_sub(begin)) as f64
    }

    /// Starts of all columns, and the end of the last.
    pub fn edges_ps(&self) -> Vec<u64> {
        let begins = (0..self.columns() as u64).map(|column| column * self.width_ps);
        begins.chain([self.end_ps]).collect()
    }

    /// Adds an amount, evenly over its bin.
    pub fn add(&self, sums: &mut [f64], begin_ps: u64, end_ps: u64, amount: f64) {
        let whole = end_ps.saturating_sub(begin_ps) as f64;
        self.hold(sums, begin_ps, end_ps, amount / whole.max(1.0));
    }

    /// Adds a level times its duration.
    pub fn hold(&self, sums: &mut [f64], begin_ps: u64, end_ps: u64, level: f64) {
        let end_ps = end_ps.min(self.end_ps);
        if begin_ps >= end_ps || level == 0.0 {
            return;
        }
        let (first, last) = (begin_ps / self.width_ps, (end_ps - 1) / self.width_ps);
        for column in first..=last {
            let from = begin_ps.max(column * self.width_ps);
            let to = end_ps.min((column + 1).saturating_mul(self.width_ps));
            if let Some(sum) = sums.get_mut(column as usize) {
                *sum += level * (to - from) as f64;
            }
        }
    }
}

/// A level that is known at some times and constant in between.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Held {
    since_ps: u64,
    level: f64,
}

impl Held {
    /// Sets the level from the start of a bin on. Returns the previous span with its level.
    pub fn set(&mut self, begin_ps: u64, level: f64) -> (u64, u64, f64) {
        let before = (self.since_ps, begin_ps.max(self.since_ps), self.level);
        *self = Held {
            since_ps: before.1,
            level,
        };
        before
    }

    /// The last span.
    pub fn until(self, end_ps: u64) -> (u64, u64, f64) {
        (self.since_ps, end_ps, self.level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(bins: &[(u64, u64)]) -> Option<TimeGrid> {
        let mut extent = Extent::default();
        let (begins, ends): (Vec<u64>, Vec<u64>) = bins.iter().copied().unzip();
        extent.take(&begins, &ends);
        extent.grid()
    }

    #[test]
    fn no_bins_or_empty_ones_have_no_columns() {
        assert_eq!(grid(&[]), None);
        assert_eq!(grid(&[(7, 7), (9, 3)]), None);
    }

    #[test]
    fn few_equal_bins_are_their_own_columns_and_the_last_may_be_shorter() {
        let grid = grid(&[(0, 10), (10, 20), (20, 25)]).unwrap();
        assert_eq!((grid.columns(), grid.edges_ps()), (3, vec![0, 10, 20, 25]));
        assert_eq!((grid.time_ps(1), grid.time_ps(2)), (10.0, 5.0));
    }

    #[test]
    fn bins_that_double_fit_columns_without_a_remainder() {
        // 128 bins of 1, 128 of 2, 128 of 4: 896 in all, in columns of 4.
        let mut bins = Vec::new();
        let mut begin = 0;
        for width in [1, 2, 4] {
            for _ in 0..128 {
                bins.push((begin, begin + width));
                begin += width;
            }
        }
        let grid = grid(&bins).unwrap();
        assert_eq!((grid.width_ps, grid.columns()), (4, 224));
        for (begin, end) in bins {
            assert_eq!(begin / 4, (end - 1) / 4, "a bin lies in one column");
        }
    }

    #[test]
    fn the_number_of_columns_is_bounded() {
        let grid = grid(&[(0, 1), (u64::MAX - 1, u64::MAX)]).unwrap();
        assert!(grid.columns() as u64 <= MOST_COLUMNS);
        let mut sums = vec![0.0; grid.columns()];
        grid.hold(&mut sums, 0, u64::MAX, 1.0);
        assert!((sums.iter().sum::<f64>() / u64::MAX as f64 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_amount_is_spread_by_time_and_nothing_of_it_is_lost() {
        let grid = grid(&[(0, 10), (10, 20), (20, 25)]).unwrap();
        let mut sums = vec![0.0; 3];
        grid.add(&mut sums, 5, 25, 20.0);
        assert_eq!(sums, [5.0, 10.0, 5.0]);
    }

    #[test]
    fn a_level_holds_until_the_next_one() {
        let grid = grid(&[(0, 10), (30, 40)]).unwrap();
        let (mut sums, mut held) = (vec![0.0; 4], Held::default());
        for (begin, level) in [(0, 2.0), (30, 0.0)] {
            let (from, to, level) = held.set(begin, level);
            grid.hold(&mut sums, from, to, level);
        }
        let (from, to, level) = held.until(40);
        grid.hold(&mut sums, from, to, level);
        assert_eq!(sums, [20.0, 20.0, 20.0, 0.0]);
    }
}
