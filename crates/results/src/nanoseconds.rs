//! The unit of times in results, from the integer picoseconds of measurements.

/// Picoseconds as nanoseconds.
pub(crate) fn nanoseconds(ps: u64) -> f64 {
    ps as f64 / 1000.0
}
