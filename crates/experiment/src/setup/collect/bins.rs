//! Bins of simulated time: of constant width, or of growing width, so that a run of any length has few bins.

use des::Time;

/// Number of bins after which a growing width doubles.
pub const PER_WIDTH: u64 = 128;

/// The last bin. It has no end, so that bin numbers fit 32 bits.
const LAST: u64 = u32::MAX as u64;

/// The division of time into bins. Bin 0 begins with the run. Each bin begins at the end of the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins {
    /// Width of the first bin, at least 1 ps.
    first: Time,
    /// Whether the width doubles after every [`PER_WIDTH`] bins.
    grow: bool,
}

impl Bins {
    /// Bins of the same width.
    pub fn constant(width: Time) -> Bins {
        Bins {
            first: width.max(Time(1)),
            grow: false,
        }
    }

    /// Bins of growing width.
    pub fn growing(first: Time) -> Bins {
        Bins {
            first: first.max(Time(1)),
            grow: true,
        }
    }

    /// Width of the first bin.
    #[inline]
    pub fn first(self) -> Time {
        self.first
    }

    /// Whether the width grows.
    #[inline]
    pub fn grow(self) -> bool {
        self.grow
    }

    /// Greatest number of bins of a run that ends by this time; `None`: the run and its number of bins have no bound.
    pub fn at_most(self, latest_end: Option<Time>) -> Option<u64> {
        match latest_end {
            Some(end) => Some(self.of(end) + 1),
            None if self.grow => Some(self.of(Time(u64::MAX - 1)) + 1),
            None => None,
        }
    }

    /// The bin that contains a time. The end of a bin belongs to the next bin.
    #[inline]
    pub fn of(self, time: Time) -> u64 {
        let (time, first) = (time.ps(), self.first.ps());
        if !self.grow {
            return (time / first).min(LAST);
        }
        // Bins of the smaller widths take (2^doublings - 1) * PER_WIDTH * first.
        let doublings = (time / first / PER_WIDTH + 1).ilog2();
        let before = ((1u64 << doublings) - 1) * PER_WIDTH * first;
        PER_WIDTH * u64::from(doublings) + (((time - before) / first) >> doublings)
    }

    /// Start of a bin.
    #[inline]
    pub fn start(self, bin: u64) -> Time {
        let first = self.first.ps();
        if !self.grow {
            return Time(bin.saturating_mul(first));
        }
        let (doublings, bin) = (bin / PER_WIDTH, bin % PER_WIDTH);
        let firsts = |count: u128| u64::try_from(count * u128::from(first)).unwrap_or(u64::MAX);
        if doublings >= 64 {
            return Time::MAX;
        }
        let power = 1u128 << doublings;
        Time(firsts(
            (power - 1) * u128::from(PER_WIDTH) + u128::from(bin) * power,
        ))
    }

    /// End of a bin.
    #[inline]
    pub fn end(self, bin: u64) -> Time {
        if bin == LAST {
            return Time(u64::MAX - 1);
        }
        self.start(bin + 1)
    }

    /// End of the bin that contains a time.
    #[inline]
    pub fn end_of_bin(self, time: Time) -> Time {
        self.end(self.of(time))
    }

    /// Width of a bin, and how many bins in a row, from this one on, have it: at least one, and none that is the last.
    #[inline]
    pub fn in_a_row(self, bin: u64) -> (Time, u64) {
        let count = match self.grow {
            true => (PER_WIDTH - bin % PER_WIDTH).min(LAST.saturating_sub(bin)),
            false => LAST.saturating_sub(bin),
        };
        (self.end(bin).saturating_sub(self.start(bin)), count.max(1))
    }
}

/// Periods of a power of two of bins each. Sums over single links have a row for each period.
///
/// Where the width of bins grows, a period has half as many bins each time, down to two: periods keep their length as
/// long as bins allow, and a run of any length has few of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periods {
    bins: Bins,
    /// Bins of the first periods, as a power of two. [`PER_WIDTH`] is a multiple of them if the width of bins grows, so
    /// that all bins of a period have one width.
    bits: u32,
}

impl Periods {
    /// Periods of at least this time, and at most this number of bins, or the largest power of two below.
    pub fn new(bins: Bins, least: Time, most_bins: u64) -> Periods {
        let wanted = least
            .ps()
            .div_ceil(bins.first().ps())
            .clamp(1, 1 << 20)
            .next_power_of_two();
        let most = if bins.grow() {
            most_bins.min(PER_WIDTH)
        } else {
            most_bins
        };
        let most = 1 << most.max(1).ilog2();
        Periods {
            bins,
            bits: wanted.min(most).ilog2(),
        }
    }

    /// The bins.
    #[inline]
    pub fn bins(self) -> Bins {
        self.bins
    }

    /// Bins of the first period.
    #[inline]
    pub fn first_length(self) -> u64 {
        1 << self.bits
    }

    /// The period of a bin.
    #[inline]
    pub fn of_bin(self, bin: u64) -> u64 {
        if !self.bins.grow() {
            return bin >> self.bits;
        }
        let (doublings, bin) = (bin / PER_WIDTH, bin % PER_WIDTH);
        self.before(doublings) + (bin >> self.bits_after(doublings))
    }

    /// Start of a period.
    #[inline]
    pub fn start(self, period: u64) -> Time {
        self.bins.start(self.first_bin(period))
    }

    /// End of a period.
    #[inline]
    pub fn end(self, period: u64) -> Time {
        self.bins.end((self.first_bin(period + 1) - 1).min(LAST))
    }

    /// Bins of a period, as a power of two, after this many doublings of the width.
    fn bits_after(self, doublings: u64) -> u32 {
        let least = self.bits.min(1);
        self.bits.saturating_sub(doublings.min(64) as u32).max(least)
    }

    /// Doublings until a period has the fewest bins.
    fn shrinking(self) -> u64 {
        u64::from(self.bits - self.bits.min(1))
    }

    /// Periods before the bins of a width: they double with each width, and then each width has as many.
    fn before(self, doublings: u64) -> u64 {
        let first = PER_WIDTH >> self.bits;
        let shrinking = doublings.min(self.shrinking());
        let later = (doublings - shrinking) * (PER_WIDTH >> self.bits.min(1));
        first * ((1 << shrinking) - 1) + later
    }

    /// The first bin of a period.
    fn first_bin(self, period: u64) -> u64 {
        if !self.bins.grow() {
            return period << self.bits;
        }
        let first = PER_WIDTH >> self.bits;
        let later = period.checked_sub(self.before(self.shrinking()));
        let doublings = match later {
            Some(later) => self.shrinking() + later / (PER_WIDTH >> self.bits.min(1)),
            None => u64::from((period / first + 1).ilog2()),
        };
        PER_WIDTH * doublings + ((period - self.before(doublings)) << self.bits_after(doublings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn widths_double_after_as_many_bins() {
        let bins = Bins::growing(Time(10));
        assert_eq!(bins.end(127), Time(1280));
        assert_eq!((bins.start(128), bins.end(128)), (Time(1280), Time(1300)));
        assert_eq!(bins.end(255), Time(3840));
        assert_eq!(bins.end(256), Time(3880));
        assert_eq!((bins.of(Time(1279)), bins.of(Time(1280))), (127, 128));
        // A hundred days of bins that begin with 1 us.
        let bins = Bins::growing(Time(1_000_000));
        assert!(bins.of(Time(8_640_000_000_000_000_000)) < 5000);
    }

    #[test]
    fn bins_of_one_width_have_a_bound_only_if_the_run_has() {
        let (constant, growing) = (Bins::constant(Time(10)), Bins::growing(Time(10)));
        assert_eq!(constant.at_most(Some(Time(95))), Some(10));
        assert_eq!(constant.at_most(None), None);
        assert_eq!(growing.at_most(Some(Time(95))), Some(10));
        assert!(growing.at_most(None).is_some_and(|bins| bins <= 64 * PER_WIDTH));
    }

    #[test]
    fn periods_are_powers_of_two_of_bins() {
        let bins = Bins::constant(Time(10));
        let length = |least, most| Periods::new(bins, Time(least), most).first_length();
        assert_eq!(
            [length(0, 99), length(10, 99), length(11, 99), length(45, 99)],
            [1, 1, 2, 8]
        );
        assert_eq!(
            [
                length(1000, 0),
                length(1000, 3),
                length(1000, 99),
                length(1000, 200)
            ],
            [1, 2, 64, 128]
        );
        let periods = Periods::new(bins, Time(35), 99);
        assert_eq!((periods.start(2), periods.end(2)), (Time(80), Time(120)));
        assert_eq!([7, 8, 11, 12].map(|bin| periods.of_bin(bin)), [1, 2, 2, 3]);
        let growing = Periods::new(Bins::growing(Time(10)), Time(10_000), 1 << 20);
        assert_eq!(growing.first_length(), PER_WIDTH);
        assert_eq!((growing.start(1), growing.end(1)), (Time(1280), Time(2560)));
    }

    #[test]
    fn periods_of_growing_bins_keep_their_length_as_long_as_bins_allow() {
        // Bins that begin with 1 us, and periods of 128 us: a run of 6.8 ms had six of them.
        let periods = Periods::new(Bins::growing(Time(1)), Time(128), u64::MAX);
        let lengths: Vec<u64> = (0..200)
            .map(|n| periods.end(n).ps() - periods.start(n).ps())
            .collect();
        assert!(lengths[..127].iter().all(|length| *length == 128), "{lengths:?}");
        assert_eq!(lengths[127], 256);
        assert_eq!(periods.of_bin(periods.bins().of(Time(6800))), 53);
        // Runs of any length have few: 64 for each doubling.
        assert!(periods.of_bin(periods.bins().of(Time(6_800_000))) < 127 + 64 * 10);
        // Periods of one bin stay so.
        let short = Periods::new(Bins::growing(Time(10)), Time(1), u64::MAX);
        assert_eq!([127, 128, 1000].map(|bin| short.of_bin(bin)), [127, 128, 1000]);
    }

    proptest! {
        #[test]
        fn every_time_is_in_its_bin(first in 1u64..1 << 40, time in 0u64..1 << 62, grow: bool) {
            let bins = Bins { first: Time(first), grow };
            let bin = bins.of(Time(time));
            prop_assert!(u32::try_from(bin).is_ok());
            prop_assert!(bins.start(bin) <= Time(time) && Time(time) < bins.end(bin));
        }

        #[test]
        fn every_bin_is_in_its_period(least in 1u64..1 << 20, bin in 0u64..20_000, grow: bool) {
            let bins = Bins { first: Time(1000), grow };
            let periods = Periods::new(bins, Time(least), u64::MAX);
            let period = periods.of_bin(bin);
            prop_assert!(bin == 0 || periods.of_bin(bin - 1) == period || periods.of_bin(bin - 1) + 1 == period);
            prop_assert!(periods.start(period) <= bins.start(bin) && bins.end(bin) <= periods.end(period));
            prop_assert_eq!(periods.end(period), periods.start(period + 1));
        }

        #[test]
        fn bins_in_a_row_have_one_width(first in 1u64..1 << 30, bin in 0u64..3_000, grow: bool) {
            let bins = Bins { first: Time(first), grow };
            let (width, count) = bins.in_a_row(bin);
            for bin in bin..bin + count.min(200) {
                prop_assert_eq!(bins.end(bin) - bins.start(bin), width);
            }
            let next = bin + count;
            prop_assert!(!grow || bins.end(next) - bins.start(next) == width + width);
        }
    }
}
