//! A factor on loads, as a fixed-point number: no floating point decides a route.

use config::{Setting, Value};
use serde_json::Value as Json;

const FRACTION_BITS: u32 = 16;

/// A factor from 0 to [`u32::MAX`], in units of 1/65536. Whole numbers are exact; others are rounded to the nearest
/// unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight(u64);

impl Weight {
    /// A whole number.
    pub(crate) const fn whole(number: u32) -> Weight {
        Weight((number as u64) << FRACTION_BITS)
    }

    /// The product with a load in bytes, rounded down, or [`u64::MAX`] if it is greater. A load in whole bytes is at
    /// most the product if and only if it is at most the rounded product.
    #[inline]
    pub(crate) fn times(self, load: u64) -> u64 {
        let product = (u128::from(load) * u128::from(self.0)) >> FRACTION_BITS;
        u64::try_from(product).unwrap_or(u64::MAX)
    }
}

impl Setting for Weight {
    const EXPECTED: &'static str = "a number such as 2 or 0.5";

    fn read(value: &Value) -> Result<Weight, String> {
        let one = (1u64 << FRACTION_BITS) as f64;
        match value {
            Value::Integer(number) => u32::try_from(*number).map(Weight::whole).map_err(|_| {
                format!(
                    "{number} is out of range; expected a number from 0 to {}",
                    u32::MAX
                )
            }),
            Value::Float(number) if !(0.0..=f64::from(u32::MAX)).contains(number) => Err(format!(
                "{number} is out of range; expected a number from 0 to {}",
                u32::MAX
            )),
            // The product with a power of two is exact.
            Value::Float(number) => match (number * one).round() as u64 {
                0 if *number > 0.0 => Err(format!(
                    "{number} is too small; expected 0, or a number from 1/65536 on"
                )),
                units => Ok(Weight(units)),
            },
            _ => Err(match value {
                Value::String(text) => format!("\"{text}\" is not {}", Self::EXPECTED),
                _ => format!("this is not {}", Self::EXPECTED),
            }),
        }
    }

    /// The number that is used, which has at most 16 binary places.
    fn show(&self) -> Json {
        match self.0 % (1 << FRACTION_BITS) {
            0 => Json::from(self.0 >> FRACTION_BITS),
            _ => Json::from(self.0 as f64 / (1u64 << FRACTION_BITS) as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Section;

    fn read(text: &str) -> Result<Weight, String> {
        let section = Section::from_toml(&format!("weight = {text}"), "x.toml").unwrap();
        section.required("weight").map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_are_multiples_of_a_65536th() {
        assert_eq!(read("3").unwrap(), Weight::whole(3));
        assert_eq!(read("3.0").unwrap(), Weight::whole(3));
        assert_eq!(read("4294967295").unwrap(), Weight::whole(u32::MAX));
        assert_eq!(read("0.5").unwrap(), Weight(1 << 15));
        // 0.3 * 65536 = 19660.8.
        assert_eq!(read("0.3").unwrap(), Weight(19661));
        assert_eq!(read("0.0").unwrap(), Weight(0));
        assert_eq!(read("2").unwrap().show().to_string(), "2");
        assert_eq!(read("2.0").unwrap().show().to_string(), "2");
        assert_eq!(read("0.3").unwrap().show().to_string(), "0.3000030517578125");
    }

    #[test]
    fn other_values_are_refused() {
        for (text, expected) in [
            (
                "-1",
                "x.toml:1: weight: -1 is out of range; expected a number from 0 to 4294967295",
            ),
            ("-0.5", "x.toml:1: weight: -0.5 is out of range"),
            ("nan", "x.toml:1: weight: NaN is out of range"),
            ("inf", "x.toml:1: weight: inf is out of range"),
            ("4294967296", "x.toml:1: weight: 4294967296 is out of range"),
            ("4294967295.5", "x.toml:1: weight: 4294967295.5 is out of range"),
            (
                "0.000001",
                "x.toml:1: weight: 0.000001 is too small; expected 0, or a number from 1/65536 on",
            ),
            (
                "\"2\"",
                "x.toml:1: weight: \"2\" is not a number such as 2 or 0.5",
            ),
            ("[2]", "x.toml:1: weight: this is not a number such as 2 or 0.5"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{error}\nnot\n{expected}");
        }
    }

    #[test]
    fn products_are_rounded_down_and_bounded() {
        assert_eq!(Weight(1 << 15).times(5), 2);
        assert_eq!(Weight(3 << 15).times(5), 7);
        for number in [0, 1, 2, 7, u32::MAX] {
            for load in [0, 1, 7680, 1 << 40, u64::MAX] {
                let product = load.saturating_mul(u64::from(number));
                assert_eq!(Weight::whole(number).times(load), product, "{number} * {load}");
            }
        }
    }
}
