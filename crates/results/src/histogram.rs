//! A log-linear histogram of integers: 64 buckets per power of two. Every quantile is within 1/64 of the exact one,
//! and memory covers only the used range.
//!
//! The bucket layout is that of HdrHistogram (Tene, <https://hdrhistogram.org>) with six bits of precision. Three
//! additions serve a simulator: a record can be undone exactly (rollback), a histogram of few buckets owns no heap
//! memory, and counts are 16 bits wide until one overflows, because a network of a million hosts has a million
//! histograms.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// Bits of precision: 2^6 = 64 buckets per octave.
const PRECISION: u32 = 6;
const PER_OCTAVE: u64 = 1 << PRECISION;
/// The counted range grows in steps of this many buckets, which saves reallocations.
const STEP: usize = 16;

/// Values from `low` to `high`, both included, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest value of this bucket.
    pub low: u64,
    /// Largest value of this bucket.
    pub high: u64,
    /// Number of recorded values.
    pub count: u64,
}

/// A histogram of `u64` values of any unit. Count, sum and largest value are exact.
///
/// Two histograms are equal if they have the same buckets, sum and maximum, whatever the order of records and undone
/// records.
#[derive(Clone, Default)]
pub struct Histogram {
    sum: u128,
    count: u64,
    max: u64,
    counts: BinCounts,
    /// Index of the first bucket in `counts`.
    first: u16,
}

#[derive(Clone)]
enum BinCounts {
    /// A few counts, such as those of hops, lie in the histogram itself, which saves a memory access per record.
    Narrow(SmallVec<[u16; STEP]>),
    Wide(Vec<u64>),
}

impl Default for BinCounts {
    fn default() -> Self {
        BinCounts::Narrow(SmallVec::new())
    }
}

impl BinCounts {
    fn len(&self) -> usize {
        match self {
            BinCounts::Narrow(counts) => counts.len(),
            BinCounts::Wide(counts) => counts.len(),
        }
    }

    fn get(&self, position: usize) -> u64 {
        match self {
            BinCounts::Narrow(counts) => counts[position].into(),
            BinCounts::Wide(counts) => counts[position],
        }
    }

    fn add(&mut self, position: usize, amount: u64) {
        if let BinCounts::Narrow(counts) = self {
            match u16::try_from(u64::from(counts[position]) + amount) {
                Ok(sum) => {
                    counts[position] = sum;
                    return;
                }
                Err(_) => *self = BinCounts::Wide(counts.iter().map(|c| u64::from(*c)).collect()),
            }
        }
        if let BinCounts::Wide(counts) = self {
            counts[position] += amount;
        }
    }

    fn take_one(&mut self, position: usize) {
        match self {
            BinCounts::Narrow(counts) => counts[position] -= 1,
            BinCounts::Wide(counts) => counts[position] -= 1,
        }
    }

    fn grow(&mut self, front: usize, back: usize) {
        match self {
            BinCounts::Narrow(counts) => {
                let len = counts.len();
                counts.reserve_exact(front + back);
                counts.resize(len + front + back, 0);
                counts.copy_within(..len, front);
                counts[..front].fill(0);
            }
            BinCounts::Wide(counts) => {
                counts.splice(..0, std::iter::repeat_n(0, front));
                counts.resize(counts.len() + back, 0);
            }
        }
    }
}

/// Bucket of a value. Values below 64 have one each; then follow 64 per octave.
fn index(value: u64) -> usize {
    if value < PER_OCTAVE {
        return value as usize;
    }
    let shift = value.ilog2() - PRECISION;
    // The leading bit stays in, which numbers the octaves.
    (u64::from(shift) * PER_OCTAVE + (value >> shift)) as usize
}

/// Lowest and highest value of a bucket.
fn bounds(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < PER_OCTAVE {
        return (index, index);
    }
    let shift = index / PER_OCTAVE - 1;
    let low = (index - shift * PER_OCTAVE) << shift;
    (low, low + ((1 << shift) - 1))
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records one value. Returns the previous maximum, which [`Histogram::forget`] needs.
    #[inline]
    pub fn record(&mut self, value: u64) -> u64 {
        let previous_max = self.max;
        let index = index(value);
        match self.counter(index) {
            Some(count) => *count += 1,
            None => self.record_otherwise(index),
        }
        self.count += 1;
        self.sum += u128::from(value);
        self.max = previous_max.max(value);
        previous_max
    }

    /// The count of a bucket, if it can be incremented in its present width and range, as for nearly all values.
    #[inline]
    fn counter(&mut self, index: usize) -> Option<&mut u16> {
        let BinCounts::Narrow(counts) = &mut self.counts else {
            return None;
        };
        let count = counts.get_mut(index.wrapping_sub(usize::from(self.first)))?;
        (*count < u16::MAX).then_some(count)
    }

    /// The count that [`Histogram::record`] of a value is likely to access, for prefetching.
    #[inline]
    pub fn bucket(&self, value: u64) -> Option<&u16> {
        match &self.counts {
            BinCounts::Narrow(counts) => counts.get(index(value).wrapping_sub(usize::from(self.first))),
            BinCounts::Wide(_) => None,
        }
    }

    #[inline(never)]
    fn record_otherwise(&mut self, index: usize) {
        let position = self.position(index);
        self.counts.add(position, 1);
    }

    /// Undoes the latest [`Histogram::record`] of `value`, which returned `previous_max`.
    ///
    /// # Panics
    /// If `value` was never recorded.
    pub fn forget(&mut self, value: u64, previous_max: u64) {
        let position = index(value).checked_sub(usize::from(self.first));
        let position = position.filter(|s| *s < self.counts.len() && self.counts.get(*s) > 0);
        self.counts
            .take_one(position.expect("only a recorded value is taken back"));
        self.count -= 1;
        self.sum -= u128::from(value);
        self.max = previous_max;
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (position, count) in other.used() {
            let position = self.position(position);
            self.counts.add(position, count);
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Number of recorded values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact sum of the recorded values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Largest recorded value; 0 without values.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Mean of the recorded values, from the exact sum; 0 without values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.sum as f64 / self.count as f64
    }

    /// An upper estimate of the quantile `q`: the smallest bucket bound that at least the fraction `q` of the values
    /// does not exceed, and at most [`Histogram::max`]. It lies between the exact quantile and 1/64 above it. 0
    /// without values. `q` is clamped to 0 to 1.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for bucket in self.buckets() {
            seen += bucket.count;
            if seen >= rank {
                return bucket.high.min(self.max);
            }
        }
        self.max
    }

    /// Buckets with values, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.used().map(|(index, count)| {
            let (low, high) = bounds(index);
            Bucket { low, high, count }
        })
    }

    fn used(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let first = usize::from(self.first);
        (0..self.counts.len())
            .map(move |position| (first + position, self.counts.get(position)))
            .filter(|(_, count)| *count > 0)
    }

    /// Position of a bucket in `counts`, which grow to include it.
    fn position(&mut self, index: usize) -> usize {
        let start = usize::from(self.first);
        let end = start + self.counts.len();
        if (start..end).contains(&index) {
            return index - start;
        }
        let floor = index / STEP * STEP;
        if start == end {
            self.first = floor as u16;
            self.counts.grow(0, STEP);
        } else if index < start {
            self.first = floor as u16;
            self.counts.grow(start - floor, 0);
        } else {
            self.counts.grow(0, floor + STEP - end);
        }
        index - usize::from(self.first)
    }
}

/// The serialised form. Equal histograms have the same form, whatever memory they own. The total count is the sum of
/// the bucket counts and is not written.
#[derive(Serialize, Deserialize)]
struct Saved {
    sum: u128,
    max: u64,
    /// Index and count of buckets with values, in ascending order.
    buckets: Vec<(u16, u64)>,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let saved = Saved {
            sum: self.sum,
            max: self.max,
            buckets: self.used().map(|(index, count)| (index as u16, count)).collect(),
        };
        saved.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Saved::deserialize(deserializer)?
            .histogram()
            .map_err(serde::de::Error::custom)
    }
}

impl Saved {
    fn histogram(self) -> Result<Histogram, String> {
        let mut histogram = Histogram::new();
        let (mut next, last) = (0, index(u64::MAX));
        // Bounds of the sum. No overflow: the count fits 64 bits, and so do all bucket bounds.
        let (mut least, mut most) = (0, 0);
        for (index, count) in self.buckets {
            let index = usize::from(index);
            if index > last {
                return Err(format!(
                    "histogram: there is no bucket {index}, the last is {last}"
                ));
            }
            if index < next {
                return Err(format!("histogram: bucket {index} is out of order"));
            }
            if count == 0 {
                return Err(format!("histogram: bucket {index} is empty"));
            }
            let Some(total) = histogram.count.checked_add(count) else {
                return Err("histogram: more values than 64 bits can count".to_owned());
            };
            let (low, high) = bounds(index);
            least += u128::from(low) * u128::from(count);
            most += u128::from(high) * u128::from(count);
            let position = histogram.position(index);
            histogram.counts.add(position, count);
            histogram.count = total;
            next = index + 1;
        }
        let max_fits = match histogram.count {
            0 => self.max == 0,
            _ => index(self.max) + 1 == next,
        };
        if !max_fits {
            return Err(format!("histogram: {} is not in the last bucket", self.max));
        }
        if !(least..=most).contains(&self.sum) {
            return Err(format!("histogram: these buckets do not add up to {}", self.sum));
        }
        histogram.sum = self.sum;
        histogram.max = self.max;
        Ok(histogram)
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.count, self.sum, self.max) == (other.count, other.sum, other.max)
            && self.used().eq(other.used())
    }
}

impl Eq for Histogram {}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Histogram {{ count: {}, sum: {}, max: {}, buckets: ",
            self.count, self.sum, self.max
        )?;
        let buckets = self.buckets().map(|b| (b.low..=b.high, b.count));
        f.debug_map().entries(buckets).finish()?;
        f.write_str(" }")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for value in values {
            histogram.record(*value);
        }
        histogram
    }

    /// Values of all magnitudes, instead of nearly all near 2^64.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((any::<u64>(), 0u32..64).prop_map(|(v, shift)| v >> shift), 0..300)
    }

    #[test]
    #[should_panic(expected = "only a recorded value")]
    fn a_value_that_was_never_recorded_cannot_be_taken_back() {
        of(&[5]).forget(6, 5);
    }

    #[test]
    fn an_empty_histogram_is_all_zero_and_owns_nothing() {
        let empty = Histogram::new();
        assert_eq!(
            (empty.count(), empty.max(), empty.quantile(0.5), empty.mean()),
            (0, 0, 0, 0.0)
        );
        assert_eq!(empty.buckets().count(), 0);
        assert_eq!(empty.counts.len(), 0);
        assert!(std::mem::size_of::<Histogram>() <= 96);
    }

    #[test]
    fn buckets_cover_all_integers_without_gap() {
        let mut next = 0u64;
        for i in 0..=index(u64::MAX) {
            let (low, high) = bounds(i);
            assert_eq!((low, index(low), index(high)), (next, i, i));
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends with the last integer");
    }

    #[test]
    fn counts_outgrow_sixteen_bits() {
        let mut histogram = Histogram::new();
        for _ in 0..70_000 {
            histogram.record(1000);
        }
        histogram.record(1);
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!(twice.buckets().map(|b| b.count).collect::<Vec<_>>(), [2, 140_000]);
        for _ in 0..70_000 {
            twice.forget(1000, 1000);
        }
        assert_eq!(twice.buckets().map(|b| b.count).collect::<Vec<_>>(), [2, 70_000]);
    }

    #[test]
    fn memory_follows_the_range_in_use() {
        let narrow = of(&[100_000, 100_500, 120_000]);
        assert!(narrow.counts.len() <= 2 * STEP, "{}", narrow.counts.len());
    }

    fn bytes(histogram: &Histogram) -> Vec<u8> {
        postcard::to_stdvec(histogram).unwrap()
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        let refused = |json: &str, why: &str| {
            let error = serde_json::from_str::<Histogram>(json).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        refused(
            r#"{"sum": 0, "max": 0, "buckets": [[3776, 1]]}"#,
            "no bucket 3776, the last is 3775",
        );
        refused(
            r#"{"sum": 7, "max": 5, "buckets": [[5, 1], [2, 1]]}"#,
            "bucket 2 is out of order",
        );
        refused(
            r#"{"sum": 10, "max": 5, "buckets": [[5, 1], [5, 1]]}"#,
            "bucket 5 is out of order",
        );
        refused(
            r#"{"sum": 5, "max": 5, "buckets": [[2, 0], [5, 1]]}"#,
            "bucket 2 is empty",
        );
        refused(
            r#"{"sum": 5, "max": 2, "buckets": [[1, 18446744073709551615], [2, 1]]}"#,
            "more values than 64 bits",
        );
        refused(
            r#"{"sum": 5, "max": 6, "buckets": [[5, 1]]}"#,
            "6 is not in the last bucket",
        );
        refused(
            r#"{"sum": 5, "max": 0, "buckets": [[5, 1]]}"#,
            "0 is not in the last bucket",
        );
        refused(
            r#"{"sum": 0, "max": 5, "buckets": []}"#,
            "5 is not in the last bucket",
        );
        refused(
            r#"{"sum": 6, "max": 5, "buckets": [[5, 1]]}"#,
            "do not add up to 6",
        );
        refused(r#"{"sum": 1, "max": 0, "buckets": []}"#, "do not add up to 1");
    }

    proptest! {
        #[test]
        fn equal_histograms_are_written_alike_and_read_back(kept in values(), rolled_back in values()) {
            let plain = of(&kept);
            let mut roomy = of(&rolled_back);
            roomy.merge(&plain);
            for (at, value) in rolled_back.iter().enumerate() {
                let left = kept.iter().chain(&rolled_back[at + 1..]).copied().max();
                roomy.forget(*value, left.unwrap_or(0));
            }
            prop_assert_eq!(bytes(&roomy), bytes(&plain));
            let read: Histogram = postcard::from_bytes(&bytes(&plain)).unwrap();
            prop_assert_eq!(&read, &plain);
            let text = serde_json::to_string(&plain).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), plain);
        }

        #[test]
        fn no_bytes_make_it_panic(
            sum in any::<u128>(),
            max in any::<u64>(),
            buckets in prop::collection::vec((0u16..4000, any::<u64>()), 0..5),
        ) {
            let made = Saved { sum, max, buckets }.histogram();
            prop_assert!(made.is_err() || bytes(&made.unwrap()).len() > 1);
        }

        #[test]
        fn a_quantile_is_within_a_64th_of_the_exact_one(values in values(), q in 0.0f64..=1.0) {
            let histogram = of(&values);
            let mut sorted = values;
            sorted.sort_unstable();
            if let Some(max) = sorted.last() {
                let rank = ((q * sorted.len() as f64).ceil() as usize).max(1);
                let exact = sorted[rank - 1];
                let got = histogram.quantile(q);
                prop_assert!(got >= exact && got - exact <= exact / 64 && got <= *max, "{got} for {exact}");
            }
        }

        #[test]
        fn count_sum_and_max_are_exact(values in values()) {
            let histogram = of(&values);
            prop_assert_eq!(histogram.count(), values.len() as u64);
            prop_assert_eq!(histogram.sum(), values.iter().map(|v| u128::from(*v)).sum::<u128>());
            prop_assert_eq!(histogram.max(), values.iter().copied().max().unwrap_or(0));
            prop_assert_eq!(histogram.buckets().map(|b| b.count).sum::<u64>(), histogram.count());
        }

        #[test]
        fn merging_is_recording_all(a in values(), b in values()) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }

        #[test]
        fn forgetting_undoes_recording(kept in values(), rolled_back in values()) {
            let before = of(&kept);
            let mut histogram = before.clone();
            let undo: Vec<_> = rolled_back.iter().map(|v| (*v, histogram.record(*v))).collect();
            for (value, previous_max) in undo.into_iter().rev() {
                histogram.forget(value, previous_max);
            }
            prop_assert_eq!(histogram, before);
        }
    }
}
