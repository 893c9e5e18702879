//! Times of a job trace: whole nanoseconds, up to 584 years. Picoseconds in 64 bits would end after 213 days.

use std::fmt;

use config::{Setting, Value};
use serde_json::Value as Json;

/// A time or a span of time of a job trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceTime {
    /// Nanoseconds.
    pub ns: u64,
}

/// Units with their nanoseconds. A number without a unit counts seconds.
const UNITS: [(&str, u128); 5] = [
    ("", 1_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl TraceTime {
    /// A number of seconds.
    pub fn from_s(seconds: u64) -> Option<TraceTime> {
        seconds.checked_mul(1_000_000_000).map(|ns| TraceTime { ns })
    }

    /// Parses `3600`, `0.5` or `"500 ms"`; the error says what was expected.
    ///
    /// # Errors
    /// No decimal number, a negative one, another unit, parts of nanoseconds, or more than 64 bits of nanoseconds.
    pub fn parse(text: &str) -> Result<TraceTime, String> {
        let wrong = |why: &str| format!("'{text}' {why}; expected {}", TraceTime::EXPECTED);
        let trimmed = text.trim();
        let digits = trimmed.trim_end_matches(|c: char| !c.is_ascii_digit() && c != '.');
        let unit = trimmed[digits.len()..].trim();
        let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(wrong("is no time"));
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() && fraction.is_empty() || !all_digits(whole) || !all_digits(fraction) {
            return Err(wrong("is no time"));
        }
        let fraction = fraction.trim_end_matches('0');
        let too_fine = || wrong("is finer than nanoseconds");
        let places = u32::try_from(fraction.len()).ok().filter(|places| *places <= 9);
        let scale = 10u128.pow(places.ok_or_else(too_fine)?);
        let parsed = |text: &str| match text {
            "" => Some(0u128),
            text => text.parse().ok(),
        };
        let number = parsed(whole)
            .and_then(|whole| whole.checked_mul(scale))
            .and_then(|whole| whole.checked_add(parsed(fraction)?))
            .and_then(|number| number.checked_mul(*factor))
            .ok_or_else(|| wrong("is more than 584 years"))?;
        if number % scale != 0 {
            return Err(too_fine());
        }
        match u64::try_from(number / scale) {
            Ok(ns) => Ok(TraceTime { ns }),
            Err(_) => Err(wrong("is more than 584 years")),
        }
    }
}

impl fmt::Display for TraceTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.ns / 1_000_000_000, self.ns % 1_000_000_000);
        match rest {
            0 => write!(f, "{whole} s"),
            _ => write!(f, "{whole}.{} s", format!("{rest:09}").trim_end_matches('0')),
        }
    }
}

impl Setting for TraceTime {
    const EXPECTED: &'static str = "a time of the trace: a number of seconds such as 3600, or with a unit such as \
                                    \"500 ms\" (s, ms, us, ns)";

    fn read(value: &Value) -> Result<TraceTime, String> {
        match value {
            Value::Integer(number) => TraceTime::parse(&number.to_string()),
            Value::Float(number) => TraceTime::parse(&number.to_string()),
            Value::String(text) => TraceTime::parse(text),
            _ => Err(format!(
                "is neither a number nor a text; expected {}",
                Self::EXPECTED
            )),
        }
    }

    fn show(&self) -> Json {
        Json::from(self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, ns, shown) in [
            ("0", 0, "0 s"),
            ("3600", 3_600_000_000_000, "3600 s"),
            ("0.5", 500_000_000, "0.5 s"),
            (".25 s", 250_000_000, "0.25 s"),
            ("1.", 1_000_000_000, "1 s"),
            ("1.5000000000000 us", 1_500, "0.0000015 s"),
            ("7ns", 7, "0.000000007 s"),
            ("18446744073.709551615", u64::MAX, "18446744073.709551615 s"),
            (
                "000000000000000000000000000000000000000000001",
                1_000_000_000,
                "1 s",
            ),
        ] {
            let time = TraceTime::parse(text).unwrap();
            assert_eq!((time.ns, time.to_string().as_str()), (ns, shown), "{text}");
            assert_eq!(TraceTime::parse(shown), Ok(time));
        }
    }

    #[test]
    fn wrong_times_are_refused() {
        for (text, needle) in [
            ("", "is no time; expected a time of the trace"),
            ("-1", "is no time"),
            ("1e3", "is no time"),
            ("1.2.3", "is no time"),
            ("3 hours", "is no time"),
            ("é", "is no time"),
            (".", "is no time"),
            ("0.5 ns", "finer than nanoseconds"),
            ("1.0000000001", "finer than nanoseconds"),
            ("18446744073.709551616", "more than 584 years"),
            (
                "99999999999999999999999999999999999999999999999",
                "more than 584 years",
            ),
        ] {
            let message = TraceTime::parse(text).unwrap_err();
            assert!(message.contains(needle), "{text}: {message}");
        }
    }
}
