//! The best and the worst of one value of several runs.

use serde::Serialize;

/// Which values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Lower values, such as times.
    Lower,
    /// Higher values, such as delivered traffic.
    Higher,
}

/// The best and the worst of several values, with the positions of their runs.
pub(crate) struct Extremes {
    pub best: (usize, f64),
    pub worst: (usize, f64),
    /// Positions of the best value and of those that tie with it.
    pub leaders: Vec<usize>,
    /// Whether all values tie.
    pub tie: bool,
}

impl Extremes {
    /// Values tie if they differ by at most this part of the greater one. `None` with less than two values.
    pub fn of(better: Better, values: &[Option<f64>], tie: f64) -> Option<Extremes> {
        let known = values.iter().enumerate();
        let known: Vec<(usize, f64)> = known.filter_map(|(run, value)| Some((run, (*value)?))).collect();
        let mut sorted = known.clone();
        sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (mut best, mut worst) = (*sorted.first()?, *sorted.last()?);
        if better == Better::Higher {
            (best, worst) = (worst, best);
        }
        let near = |value: f64| (value - best.1).abs() <= tie * best.1.abs().max(value.abs());
        let leaders: Vec<usize> = known
            .iter()
            .filter(|(_, value)| near(*value))
            .map(|(run, _)| *run)
            .collect();
        let tie = leaders.len() == known.len();
        (known.len() > 1).then_some(Extremes {
            best,
            worst,
            leaders,
            tie,
        })
    }

    /// The lowest and the highest value.
    pub fn range(&self) -> (f64, f64) {
        (self.best.1.min(self.worst.1), self.best.1.max(self.worst.1))
    }

    /// The highest value divided by the lowest one, infinite if only that is 0.
    pub fn ratio(&self) -> f64 {
        match self.range() {
            (low, high) if low == high => 1.0,
            (low, high) => high / low,
        }
    }
}
