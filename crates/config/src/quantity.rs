//! Exact quantities with units: a decimal number times a unit, stored as an integer.
//!
//! No unit library keeps picoseconds exactly and distinguishes bits from bytes and powers of ten from powers of two.

use std::fmt;

/// A span of time in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    /// Picoseconds.
    pub ps: u64,
}

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth {
    /// Bits per second.
    pub bits_per_s: u64,
}

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes {
    /// Bytes.
    pub bytes: u64,
}

/// Unit names with their factors, largest factor first within a family. Printing uses the first factor that divides.
type Units = &'static [(&'static str, u128)];

const TIME: Units = &[
    ("s", 1_000_000_000_000),
    ("ms", 1_000_000_000),
    ("us", 1_000_000),
    ("ns", 1_000),
    ("ps", 1),
];

/// Units in bits per second. Byte units come last, so that printing prefers bits.
const RATE: Units = &[
    ("Tbps", 1_000_000_000_000),
    ("Gbps", 1_000_000_000),
    ("Mbps", 1_000_000),
    ("kbps", 1_000),
    ("bps", 1),
    ("TB/s", 8_000_000_000_000),
    ("GB/s", 8_000_000_000),
    ("MB/s", 8_000_000),
    ("kB/s", 8_000),
    ("B/s", 8),
    ("TiB/s", 8 << 40),
    ("GiB/s", 8 << 30),
    ("MiB/s", 8 << 20),
    ("KiB/s", 8 << 10),
];

const SIZE: Units = &[
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("kB", 1_000),
    ("B", 1),
];

impl Duration {
    pub(crate) const EXPECTED: &'static str = "a time such as \"50 ns\" (s, ms, us, ns, ps)";

    /// Parses `"50 ns"`; the error says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse(text, TIME, Self::EXPECTED).map(|ps| Duration { ps })
    }
}

impl Bandwidth {
    pub(crate) const EXPECTED: &'static str = "a data rate such as \"100 Gbps\" (bits: Tbps, Gbps, Mbps, kbps, bps) or \"25 GB/s\" \
         (bytes: TB/s, GB/s, MB/s, kB/s, B/s, TiB/s, GiB/s, MiB/s, KiB/s)";

    /// Parses `"100 Gbps"` or `"25 GB/s"`; the error says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse(text, RATE, Self::EXPECTED).map(|bits_per_s| Bandwidth { bits_per_s })
    }
}

impl Bytes {
    pub(crate) const EXPECTED: &'static str = "a size such as \"256 B\", \"100 KB\" (powers of ten: KB, MB, GB, TB) or \"64 KiB\" (powers of two: KiB, MiB, GiB, TiB)";

    /// Parses `"64 KiB"`; the error says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse(text, SIZE, Self::EXPECTED).map(|bytes| Bytes { bytes })
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.ps, TIME, f)
    }
}
impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.bits_per_s, RATE, f)
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.bytes, SIZE, f)
    }
}

fn show(amount: u64, units: Units, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let smallest = units
        .iter()
        .find(|u| u.1 == 1)
        .expect("every family has a unit of 1");
    let (unit, factor) = units
        .iter()
        .find(|u| amount > 0 && u128::from(amount) % u.1 == 0)
        .unwrap_or(smallest);
    write!(f, "{} {unit}", u128::from(amount) / factor)
}

fn parse(text: &str, units: Units, expected: &str) -> Result<u64, String> {
    let fail = |why: &str| format!("\"{text}\" {why}; expected {expected}");
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
    if number.is_empty() {
        return Err(fail("does not start with a number"));
    }
    if unit.is_empty() {
        return Err(fail("has no unit"));
    }
    let Some((_, factor)) = units.iter().find(|u| u.0 == unit) else {
        return Err(fail(&format!("has the unknown unit '{unit}'")));
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let digits = format!("{whole}{fraction}");
    let too_large = || fail("is too large");
    if fraction.contains('.') {
        return Err(fail("is not a number"));
    }
    // Seventeen decimals of the largest factor still fit 128 bits.
    if fraction.len() > 17 || whole.len() > 20 {
        return Err(too_large());
    }
    let mantissa: u128 = digits.parse().map_err(|_| fail("is not a number"))?;
    let scale = 10u128.pow(fraction.len() as u32);
    let amount = mantissa.checked_mul(*factor).ok_or_else(too_large)?;
    if amount % scale != 0 {
        return Err(fail("is finer than this simulator resolves"));
    }
    u64::try_from(amount / scale).map_err(|_| too_large())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wrong_input_says_what_was_expected() {
        for (text, needle) in [
            ("100", "has no unit"),
            ("ns", "does not start with a number"),
            ("1 parsec", "unknown unit 'parsec'"),
            ("-1 ns", "does not start with a number"),
            ("1.5.2 ns", "is not a number"),
            ("0.1 ps", "finer than"),
            ("99999999999 s", "too large"),
            ("", "does not start with a number"),
            ("1e9 ns", "unknown unit"),
        ] {
            let message = Duration::parse(text).unwrap_err();
            assert!(message.contains(needle), "{text}: {message}");
            assert!(message.contains("50 ns"), "{message}");
        }
        assert!(Bandwidth::parse("100 GBps").unwrap_err().contains("GB/s"));
    }

    #[test]
    fn bits_and_bytes_and_powers_are_kept_apart() {
        assert_eq!(Bandwidth::parse("25 GB/s").unwrap().bits_per_s, 200_000_000_000);
        assert_eq!(
            Bandwidth::parse("5.25 GiB/s").unwrap().bits_per_s,
            21 * (8 << 30) / 4
        );
        assert_eq!(Bytes::parse("64KiB").unwrap().bytes, 65_536);
        assert_eq!(Bytes::parse("100 KB").unwrap().bytes, 100_000);
        assert_eq!(Duration::parse("2.5 ns").unwrap().ps, 2_500);
        assert_eq!(Duration::parse("0 s").unwrap().to_string(), "0 ps");
    }

    proptest! {
        #[test]
        fn shown_quantities_parse_back(amount: u64) {
            prop_assert_eq!(Duration::parse(&Duration { ps: amount }.to_string()).unwrap().ps, amount);
            prop_assert_eq!(Bandwidth::parse(&Bandwidth { bits_per_s: amount }.to_string()).unwrap().bits_per_s, amount);
            prop_assert_eq!(Bytes::parse(&Bytes { bytes: amount }.to_string()).unwrap().bytes, amount);
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in ".{0,40}") {
            let _ = Duration::parse(&text);
            let _ = Bandwidth::parse(&text);
            let _ = Bytes::parse(&text);
        }
    }
}
