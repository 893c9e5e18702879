//! The speedup of a crossbar over its links, a decimal number without floating point.

use config::Section;

use crate::Rate;

/// How many times as fast as its links a crossbar is, at least 1, in units of [`Speedup::UNIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speedup(u32);

impl Default for Speedup {
    fn default() -> Speedup {
        Speedup::ONE
    }
}

impl Speedup {
    /// No speedup.
    pub const ONE: Speedup = Speedup(Speedup::UNIT);
    /// Units of a speedup of 1: values have six decimals.
    pub const UNIT: u32 = 1_000_000;
    /// The largest speedup.
    const MOST: u32 = 1000;

    /// The speedup of a number with at most six decimals, from 1 to 1000.
    ///
    /// # Errors
    /// What was expected.
    pub fn new(number: f64) -> Result<Speedup, String> {
        if !(1.0..=f64::from(Speedup::MOST)).contains(&number) {
            return Err(format!(
                "{number} is out of range; expected a number from 1 to {}",
                Speedup::MOST
            ));
        }
        let units = (number * f64::from(Speedup::UNIT)).round() as u32;
        if f64::from(units) / f64::from(Speedup::UNIT) != number {
            return Err(format!(
                "{number} has more than six decimals; expected at most six, such as 1.5"
            ));
        }
        Ok(Speedup(units))
    }

    /// Reads the key `speedup`.
    pub(super) fn read(section: &Section) -> Result<Speedup, config::Error> {
        Speedup::new(section.get("speedup")?).map_err(|message| section.error("speedup", message))
    }

    /// In units of [`Speedup::UNIT`].
    pub(super) fn units(self) -> u32 {
        self.0
    }

    /// The rate of a crossbar whose link has this rate.
    pub(super) fn of(self, link: Rate) -> Rate {
        link.faster(self.0, Speedup::UNIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use des::Time;

    #[test]
    fn a_speedup_is_exact_to_six_decimals() {
        let link = Rate::bits_per_s(8_000_000_000);
        let of = |number: f64| Speedup::new(number).map(|speedup| speedup.of(link).serialization(300));
        assert_eq!(of(1.0), Ok(Time(300_000)));
        assert_eq!(of(1.25), Ok(Time(240_000)));
        // 666.7 ps per byte are rounded up.
        assert_eq!(of(1.5), Ok(Time(200_001)));
        assert_eq!(of(2.0), Ok(Time(150_000)));
        assert_eq!(of(1000.0), Ok(Time(300)));
        // 300,000 / 1.000001 = 299,999.7...: rounded up.
        assert_eq!(of(1.000_001), Ok(Time(300_000)));
        assert_eq!(Speedup::new(1.0), Ok(Speedup::default()));
        for wrong in [0.999_999, 0.0, -2.0, 1000.1, f64::INFINITY, f64::NAN] {
            assert!(
                of(wrong)
                    .unwrap_err()
                    .contains("expected a number from 1 to 1000")
            );
        }
        assert!(of(1.000_000_1).unwrap_err().contains("at most six"));
    }

    #[test]
    fn a_speedup_of_one_changes_no_rate() {
        for bits in [1_000_000, 70_000_000_001, 1_000_000_000_000_000] {
            let link = Rate::bits_per_s(bits);
            assert_eq!(Speedup::ONE.of(link), link);
            // At the highest rates a byte takes less than a picosecond.
            let fastest = Speedup::new(1000.0).unwrap().of(link);
            assert!(fastest.serialization(1) >= Time(1));
        }
    }
}
