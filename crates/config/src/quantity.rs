//! Exact quantities with units: a decimal number times a unit, stored as an integer.
//!
//! No unit library keeps picoseconds exactly and distinguishes bits from bytes and powers of ten from powers of two.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::alias;
use crate::error::shortened;

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

/// A data rate that was given finer than bits per second, and the rate that is used for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundedRate {
    /// Full key of the setting, for example `network.link.bandwidth`. The section that reads it sets it.
    pub key: String,
    /// The rate as it was given, for example `4.7 GiB/s`.
    pub written: String,
    /// The rate that is used, in bits per second.
    pub used_bits_per_s: u64,
    /// Difference of the two rates as a fraction of the given one; positive. For display only.
    pub relative_difference: f64,
}

/// A length in millimetres, the number of 53 bits next to what is given.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Length {
    /// Millimetres.
    pub mm: f64,
}

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes {
    /// Bytes.
    pub bytes: u64,
}

/// A power in microwatts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Power {
    /// Microwatts.
    pub uw: u64,
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

/// Units in bits per second. Printing takes none after `bps`, which divides every rate.
const RATE: Units = &[
    ("Tbps", 1_000_000_000_000),
    ("Gbps", 1_000_000_000),
    ("Mbps", 1_000_000),
    ("kbps", 1_000),
    ("bps", 1),
    ("Tbit/s", 1_000_000_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Mbit/s", 1_000_000),
    ("kbit/s", 1_000),
    ("bit/s", 1),
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

const LENGTH: Units = &[("km", 1_000_000), ("m", 1_000), ("cm", 10), ("mm", 1)];

const POWER: Units = &[
    ("MW", 1_000_000_000_000),
    ("kW", 1_000_000_000),
    ("W", 1_000_000),
    ("mW", 1_000),
    ("uW", 1),
];

impl Duration {
    pub(crate) const EXPECTED: &'static str = "a time such as \"50 ns\" (s, ms, us, ns, ps)";

    /// Parses `"50 ns"`; the error says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        exact(text, TIME, Self::EXPECTED).map(|ps| Duration { ps })
    }

    /// Picoseconds of a time that need not be whole, such as that of a metre of cable.
    ///
    /// # Errors
    /// No time; the error says what was expected.
    pub fn parse_fraction(text: &str) -> Result<f64, String> {
        Rational::parse(text, TIME, Self::EXPECTED).map(|time| time.to_number())
    }
}

impl Length {
    pub(crate) const EXPECTED: &'static str = "a length such as \"2 m\" (km, m, cm, mm)";

    /// Parses `"2.5 m"`.
    ///
    /// # Errors
    /// No length; the error says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let length = Rational::parse(text, LENGTH, Self::EXPECTED)?;
        Ok(Length {
            mm: length.to_number(),
        })
    }
}

impl Bandwidth {
    pub(crate) const EXPECTED: &'static str = "a data rate such as \"100 Gbps\" (bits: Tbps, Gbps, Mbps, kbps, bps, or Tbit/s, \
         Gbit/s, Mbit/s, kbit/s, bit/s) or \"25 GB/s\" \
         (bytes: TB/s, GB/s, MB/s, kB/s, B/s, TiB/s, GiB/s, MiB/s, KiB/s)";

    /// Parses `"100 Gbps"` or `"25 GB/s"`. A rate finer than bits per second becomes the nearest whole number of
    /// them, ties the greater one; [`Bandwidth::rounding`] tells. The error says what was expected.
    ///
    /// # Errors
    /// No rate, or one that rounds to 0 or does not fit 64 bits.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rational = Rational::parse(text, RATE, Self::EXPECTED)?;
        match rational.nearest(text, Self::EXPECTED)? {
            0 if rational.units > 0 => Err(rational.too_fine(text, Self::EXPECTED)),
            bits_per_s => Ok(Bandwidth { bits_per_s }),
        }
    }

    /// How [`Bandwidth::parse`] rounds this text, without the key that gives it. `None` if it does not, or refuses it.
    pub fn rounding(text: &str) -> Option<RoundedRate> {
        let used = Bandwidth::parse(text).ok()?;
        let given = Rational::parse(text, RATE, Self::EXPECTED).ok()?;
        let difference = given.units.abs_diff(u128::from(used.bits_per_s) * given.scale);
        (difference > 0).then(|| RoundedRate {
            key: String::new(),
            written: text.trim().into(),
            used_bits_per_s: used.bits_per_s,
            relative_difference: difference as f64 / given.units as f64,
        })
    }
}

impl Bytes {
    pub(crate) const EXPECTED: &'static str = "a size such as \"256 B\", \"100 KB\" (powers of ten: KB, MB, GB, TB) or \"64 KiB\" (powers of two: KiB, MiB, GiB, TiB)";

    /// Parses `"64 KiB"`; the error says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        exact(text, SIZE, Self::EXPECTED).map(|bytes| Bytes { bytes })
    }
}

impl Power {
    pub(crate) const EXPECTED: &'static str = "a power such as \"8.5 W\" (MW, kW, W, mW, uW)";

    /// Parses `"8.5 W"`; the error says what was expected.
    ///
    /// # Errors
    /// No power, one finer than a microwatt, or one that does not fit 64 bits.
    pub fn parse(text: &str) -> Result<Self, String> {
        exact(text, POWER, Self::EXPECTED).map(|uw| Power { uw })
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
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} m", self.mm / 1000.0)
    }
}
impl fmt::Display for RoundedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RoundedRate {
            key,
            written,
            used_bits_per_s,
            relative_difference,
        } = self;
        write!(
            f,
            "{key}: \"{written}\" is not a whole number of bits per second; {used_bits_per_s} bps is used (relative \
             difference {relative_difference:.1e})"
        )
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.bytes, SIZE, f)
    }
}
impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.uw, POWER, f)
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

/// A quantity before it becomes an integer: `units` / `scale` of the smallest unit of its family.
struct Rational {
    units: u128,
    /// A power of ten.
    scale: u128,
}

impl Rational {
    fn parse(text: &str, units: Units, expected: &str) -> Result<Rational, String> {
        let fail = |why: &str| refused(text, why, expected);
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(trimmed.len());
        let number = trimmed[..split].replace('_', "");
        // Micro sign and Greek letter, both of which programs print.
        let unit = trimmed[split..].trim().replace(['\u{b5}', '\u{3bc}'], "u");
        let unit = unit.as_str();
        if number.is_empty() {
            return Err(fail("does not start with a number"));
        }
        if unit.is_empty() {
            return Err(fail("has no unit"));
        }
        let Some((_, factor)) = units.iter().find(|u| u.0 == unit) else {
            let hint = hint(&number, unit, units).unwrap_or_default();
            return Err(fail(&format!("has the unknown unit '{unit}'{hint}")));
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
        let units = mantissa.checked_mul(*factor).ok_or_else(too_large)?;
        Ok(Rational { units, scale })
    }

    /// The nearest integer; ties give the greater one.
    fn nearest(&self, text: &str, expected: &str) -> Result<u64, String> {
        let rest = self.units % self.scale;
        let up = u128::from(rest > 0 && rest >= self.scale - rest);
        u64::try_from(self.units / self.scale + up).map_err(|_| refused(text, "is too large", expected))
    }

    /// The nearest number of 53 bits, where both parts have at most that many.
    fn to_number(&self) -> f64 {
        self.units as f64 / self.scale as f64
    }

    fn too_fine(&self, text: &str, expected: &str) -> String {
        refused(text, "is finer than this simulator resolves", expected)
    }
}

/// Whether a unit counts bits or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BitsOrBytes {
    Bits,
    Bytes,
    /// It may be read as either.
    Either,
    /// It names neither.
    Neither,
}

impl BitsOrBytes {
    /// What a unit counts, as it is written: `Gb/s`, `Kib` and `gbps` bits, `GBps` and `KB` bytes, `gb/s` and `GBPS`
    /// either.
    fn of(unit: &str) -> BitsOrBytes {
        let folded = unit.to_ascii_lowercase();
        let letter = unit.find(['b', 'B']).map(|at| &unit[at..=at]);
        let in_one_case = |is_upper: bool| {
            let mut letters = unit.chars().filter(char::is_ascii_alphabetic);
            letters.all(|letter| letter.is_ascii_uppercase() == is_upper)
        };
        match letter {
            None => BitsOrBytes::Neither,
            _ if folded.contains("bit") => BitsOrBytes::Bits,
            _ if folded.contains("byte") => BitsOrBytes::Bytes,
            Some("b") if folded.ends_with("bps") => BitsOrBytes::Bits,
            Some("b") if in_one_case(false) => BitsOrBytes::Either,
            Some("b") => BitsOrBytes::Bits,
            Some(_) if folded.len() > 3 && in_one_case(true) => BitsOrBytes::Either,
            Some(_) => BitsOrBytes::Bytes,
        }
    }
}

/// What an unknown unit may mean, with the value in a known one. Bits are never taken for bytes.
fn hint(number: &str, unit: &str, units: Units) -> Option<String> {
    let guess = alias::unit(unit, units.iter().map(|unit| unit.0))?;
    let eighth = || eighth(number);
    let in_bits = |unit: &str| {
        let prefix = unit.trim_end_matches("B/s").to_owned();
        let name = format!("{prefix}bps");
        units.iter().any(|known| known.0 == name).then_some(name)
    };
    Some(match (BitsOrBytes::of(unit), BitsOrBytes::of(guess)) {
        (BitsOrBytes::Bits, BitsOrBytes::Bytes) => {
            let bytes = eighth()?;
            format!(" (bits; did you mean \"{bytes} {guess}\"?)")
        }
        (BitsOrBytes::Either, BitsOrBytes::Bytes) => {
            let bits = match in_bits(guess) {
                Some(name) => format!("{number} {name}"),
                None => format!("{} {guess}", eighth()?),
            };
            format!(" (did you mean \"{bits}\" for bits or \"{number} {guess}\" for bytes?)")
        }
        (BitsOrBytes::Either, BitsOrBytes::Bits) => {
            let bytes = guess.replace("bps", "B/s");
            format!(" (did you mean \"{number} {guess}\" for bits or \"{number} {bytes}\" for bytes?)")
        }
        _ => format!(" (did you mean \"{number} {guess}\"?)"),
    })
}

/// An eighth of a decimal number, exactly. `None` for what is none, or has too many digits.
fn eighth(number: &str) -> Option<String> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let decimals = fraction.len() + 3;
    let mantissa: u128 = format!("{whole}{fraction}").parse().ok()?;
    let digits = format!("{:0>width$}", mantissa.checked_mul(125)?, width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let fraction = fraction.trim_end_matches('0');
    Some(match fraction {
        "" => whole.into(),
        _ => format!("{whole}.{fraction}"),
    })
}

fn refused(text: &str, why: &str, expected: &str) -> String {
    format!("\"{}\" {why}; expected {expected}", shortened(text))
}

/// A quantity that is a whole number of the smallest unit.
fn exact(text: &str, units: Units, expected: &str) -> Result<u64, String> {
    let rational = Rational::parse(text, units, expected)?;
    match rational.units % rational.scale {
        0 => rational.nearest(text, expected),
        _ => Err(rational.too_fine(text, expected)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn micro_has_three_spellings() {
        for text in ["5 us", "5 \u{b5}s", "5\u{3bc}s"] {
            assert_eq!(Duration::parse(text).unwrap().ps, 5_000_000, "{text}");
        }
    }

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
        for (text, meant) in [
            ("100 GBps", "100 GB/s"),
            ("100G", "100 Gbps"),
            ("1.5 gbps", "1.5 Gbps"),
        ] {
            let message = Bandwidth::parse(text).unwrap_err();
            assert!(
                message.contains(&format!("(did you mean \"{meant}\"?); expected")),
                "{message}"
            );
        }
    }

    #[test]
    fn hints_keep_bits_and_bytes_apart() {
        let both =
            |bits: &str, bytes: &str| format!("(did you mean \"{bits}\" for bits or \"{bytes}\" for bytes?)");
        let sizes = [
            ("4 kbit", "(bits; did you mean \"0.5 KB\"?)".to_owned()),
            ("4 Kib", "(bits; did you mean \"0.5 KiB\"?)".to_owned()),
            ("1 Mb", "(bits; did you mean \"0.125 MB\"?)".to_owned()),
            ("4 kb", both("0.5 KB", "4 KB")),
            ("4 gib", both("0.5 GiB", "4 GiB")),
            ("8 b", both("1 B", "8 B")),
            ("4 kiB", "(did you mean \"4 KiB\"?)".to_owned()),
            ("4 bytes", "(did you mean \"4 B\"?)".to_owned()),
        ];
        for (text, hint) in sizes {
            let message = Bytes::parse(text).unwrap_err();
            assert!(message.contains(&hint), "{message}");
        }
        let rates = [
            ("100 GBPS", both("100 Gbps", "100 GB/s")),
            ("100 gb/s", both("100 Gbps", "100 GB/s")),
            ("2 GIB/S", both("0.25 GiB/s", "2 GiB/s")),
            ("2 Gib/s", "(bits; did you mean \"0.25 GiB/s\"?)".to_owned()),
            ("100 gbps", "(did you mean \"100 Gbps\"?)".to_owned()),
            ("100 Gb/s", "(did you mean \"100 Gbps\"?)".to_owned()),
            ("100 gbit/s", "(did you mean \"100 Gbit/s\"?)".to_owned()),
            ("100 GBps", "(did you mean \"100 GB/s\"?)".to_owned()),
        ];
        for (text, hint) in rates {
            let message = Bandwidth::parse(text).unwrap_err();
            assert!(message.contains(&hint), "{message}");
        }
    }

    #[test]
    fn an_eighth_is_exact() {
        for (number, expected) in [
            ("4", "0.5"),
            ("1", "0.125"),
            ("8", "1"),
            ("1.5", "0.1875"),
            ("0", "0"),
            ("1600", "200"),
        ] {
            assert_eq!(eighth(number).as_deref(), Some(expected), "{number}");
        }
        assert_eq!(eighth(&"9".repeat(40)), None);
    }

    #[test]
    fn rates_are_rounded_to_the_nearest_bit_per_second() {
        for (text, used, difference) in [
            ("4.7 GiB/s", 40_372_692_582, 0.4 / 40_372_692_582.4),
            ("1.8 GiB/s", 15_461_882_266, 0.4 / 15_461_882_265.6),
            ("5.5 bps", 6, 0.5 / 5.5),
            ("0.5 bps", 1, 1.0),
            ("1.0000000015 Gbps", 1_000_000_002, 0.5 / 1_000_000_001.5),
            ("1000000.49 bit/s", 1_000_000, 0.49 / 1_000_000.49),
        ] {
            assert_eq!(Bandwidth::parse(text).unwrap().bits_per_s, used, "{text}");
            let rounding = Bandwidth::rounding(text).unwrap();
            assert_eq!(
                (rounding.used_bits_per_s, rounding.written.as_str()),
                (used, text)
            );
            let relative = rounding.relative_difference / difference;
            assert!((relative - 1.0).abs() < 1e-9, "{rounding:?}");
        }
        let mut rounding = Bandwidth::rounding(" 4.7 GiB/s").unwrap();
        rounding.key = "network.link.bandwidth".into();
        assert_eq!(
            rounding.to_string(),
            "network.link.bandwidth: \"4.7 GiB/s\" is not a whole number of bits per second; 40372692582 bps is used \
             (relative difference 9.9e-12)"
        );
        for exact in [
            "0 bps",
            "100 Gbps",
            "1.5 kB/s",
            "0.125 B/s",
            "5.25 GiB/s",
            "nothing",
            "0.4 bps",
        ] {
            assert_eq!(Bandwidth::rounding(exact), None, "{exact}");
        }
        let fine = Bandwidth::parse("0.49 bps").unwrap_err();
        assert!(
            fine.starts_with("\"0.49 bps\" is finer than this simulator resolves; expected a data rate"),
            "{fine}"
        );
        assert!(
            Bandwidth::parse("18446744073709551615.5 bps")
                .unwrap_err()
                .contains("too large")
        );
        assert!(Bytes::parse("0.7 B").unwrap_err().contains("finer than"));
    }

    #[test]
    fn bit_per_second_has_two_spellings() {
        for (bps, bit) in [
            ("T", "Tbit/s"),
            ("G", "Gbit/s"),
            ("M", "Mbit/s"),
            ("k", "kbit/s"),
            ("", "bit/s"),
        ] {
            let both =
                [format!("3 {bps}bps"), format!("3 {bit}")].map(|text| Bandwidth::parse(&text).unwrap());
            assert_eq!(both[0], both[1], "{bit}");
            assert_eq!(both[1].to_string(), format!("3 {bps}bps"));
        }
        assert!(Bandwidth::parse("3 Kbit/s").unwrap_err().contains("kbit/s"));
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

    #[test]
    fn lengths_and_times_of_a_metre_need_not_be_whole() {
        for (text, mm) in [
            ("2.3 m", 2300.0),
            ("230 cm", 2300.0),
            ("0.5mm", 0.5),
            ("1.2 km", 1.2e6),
        ] {
            assert_eq!(Length::parse(text).unwrap().mm, mm, "{text}");
        }
        assert_eq!(Length::parse("2.5 m").unwrap().to_string(), "2.5 m");
        assert_eq!(Duration::parse_fraction("3.33564 ns").unwrap(), 3335.64);
        for (text, needle) in [
            ("3 ns", "has the unknown unit 'ns'"),
            (
                "-1 m",
                "does not start with a number; expected a length such as \"2 m\"",
            ),
            (
                &*format!("{} m", "9".repeat(5000)),
                "m (5002 characters)\" is too large",
            ),
        ] {
            let message = Length::parse(text).unwrap_err();
            assert!(message.contains(needle) && message.len() < 300, "{message}");
        }
    }

    #[test]
    fn powers_are_whole_microwatts() {
        assert_eq!(Power::parse("8.5 W").unwrap().uw, 8_500_000);
        assert_eq!(Power::parse("1.72 kW").unwrap().to_string(), "1720 W");
        assert_eq!(Power::parse("300 mW").unwrap(), Power::parse("0.3W").unwrap());
        for (text, needle) in [
            ("17", "has no unit"),
            ("-17 W", "does not start with a number"),
            ("17 J", "unknown unit 'J'"),
            ("0.5 uW", "finer than"),
        ] {
            let message = Power::parse(text).unwrap_err();
            assert!(message.contains(needle), "{text}: {message}");
            assert!(
                message.contains("expected a power such as \"8.5 W\""),
                "{message}"
            );
        }
    }

    proptest! {
        #[test]
        fn shown_quantities_parse_back(amount: u64) {
            prop_assert_eq!(Duration::parse(&Duration { ps: amount }.to_string()).unwrap().ps, amount);
            let shown = Bandwidth { bits_per_s: amount }.to_string();
            prop_assert_eq!(Bandwidth::parse(&shown).unwrap().bits_per_s, amount);
            prop_assert_eq!(Bytes::parse(&Bytes { bytes: amount }.to_string()).unwrap().bytes, amount);
            prop_assert_eq!(Power::parse(&Power { uw: amount }.to_string()).unwrap().uw, amount);
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in ".{0,40}") {
            let _ = Duration::parse(&text);
            let _ = Bandwidth::parse(&text);
            let _ = Bytes::parse(&text);
            let _ = Power::parse(&text);
        }
    }
}
