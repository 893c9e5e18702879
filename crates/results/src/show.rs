//! Numbers for readers: times, amounts, counts, shares.

/// A unit of time and its length in nanoseconds.
pub(crate) struct TimeUnit {
    pub name: &'static str,
    pub ns: f64,
}

const TIME_UNITS: [TimeUnit; 4] = [
    TimeUnit { name: "s", ns: 1e9 },
    TimeUnit { name: "ms", ns: 1e6 },
    TimeUnit { name: "µs", ns: 1e3 },
    TimeUnit { name: "ns", ns: 1.0 },
];

/// The largest unit in which this time is at least 1; nanoseconds for shorter times.
pub(crate) fn time_unit(ns: f64) -> &'static TimeUnit {
    TIME_UNITS
        .iter()
        .find(|unit| ns >= unit.ns)
        .unwrap_or(&TIME_UNITS[3])
}

/// `12.35 ms`: four significant digits in the best unit.
pub(crate) fn time(ns: f64) -> String {
    let unit = time_unit(ns);
    format!("{} {}", four_digits(ns / unit.ns), unit.name)
}

/// A time, or a dash for none.
pub(crate) fn time_if_any(ns: Option<f64>) -> String {
    ns.map_or_else(|| "–".into(), time)
}

/// `1.5 MB`, in powers of ten.
pub(crate) fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, &["B", "kB", "MB", "GB", "TB", "PB", "EB"])
}

/// `1.5 kW`
pub(crate) fn power(watts: f64) -> String {
    with_prefix(watts, "W")
}

/// `1.5 mJ`
pub(crate) fn energy(joules: f64) -> String {
    with_prefix(joules, "J")
}

/// An amount with the prefix, from pico to exa, that makes it at least 1.
fn with_prefix(amount: f64, unit: &str) -> String {
    const PREFIXES: [&str; 11] = ["p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"];
    if amount <= 0.0 {
        return format!("0 {unit}");
    }
    let units = PREFIXES.map(|prefix| format!("{prefix}{unit}"));
    scaled(amount * 1e12, &units.each_ref().map(String::as_str))
}

/// `4.2 M/s`: a rate with its decimal prefix.
pub(crate) fn rate(per_s: f64) -> String {
    scaled(per_s, &["/s", "k/s", "M/s", "G/s", "T/s"])
}

/// `48.5 Gbps`.
pub(crate) fn gbps(gbps: f64) -> String {
    format!("{} Gbps", four_digits(gbps))
}

/// `1 234 567` with spaces that do not break.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push('\u{a0}');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1,234,567`: the nearest whole number, in groups of three.
pub(crate) fn commas(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut grouped = String::from(if number < 0.0 && digits != "0" { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `12.5`, `1e+30`: at most this many significant digits, as `%g` of C prints them.
pub(crate) fn general(number: f64, digits: usize) -> String {
    if !number.is_finite() {
        return number.to_string().to_lowercase();
    }
    let without_zeros = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    };
    let scientific = format!("{number:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_zeros(mantissa.into()), exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent) as usize;
    without_zeros(format!("{number:.decimals$}"))
}

/// `12.3 %`.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

/// `1.234x`: a ratio of times.
pub(crate) fn slow_down(factor: f64) -> String {
    format!("{factor:.3}x")
}

fn scaled(amount: f64, units: &[&str]) -> String {
    let mut scaled = amount;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for next in units {
        if scaled < 1000.0 {
            break;
        }
        scaled /= 1000.0;
        unit = next;
    }
    format!("{} {unit}", four_digits(scaled))
}

fn four_digits(x: f64) -> String {
    let decimals = match x.abs() {
        x if x >= 1000.0 || x == 0.0 => 0,
        x if x >= 100.0 => 1,
        x if x >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{x:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_numbers_are_those_of_c() {
        for (number, shown) in [
            (0.0, "0"),
            (100.0, "100"),
            (2.5, "2.5"),
            (40.372692582, "40.3727"),
            (999_999.5, "1e+06"),
            (123_456.0, "123456"),
            (-0.0001, "-0.0001"),
            (0.00001, "1e-05"),
            (1e300, "1e+300"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(general(number, 6), shown);
        }
        assert_eq!(general(99.987, 4), "99.99");
    }

    #[test]
    fn numbers_are_short_and_have_their_unit() {
        assert_eq!(time(0.0), "0 ns");
        assert_eq!(time(0.25), "0.25 ns");
        assert_eq!(time(12_345_678.0), "12.35 ms");
        assert_eq!(time(7_200e9), "7200 s");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_500_000), "1.5 MB");
        assert_eq!(power(1720.0), "1.72 kW");
        assert_eq!(energy(0.00125), "1.25 mJ");
        assert_eq!(energy(0.0), "0 J");
        assert_eq!(rate(4_200_000.0), "4.2 M/s");
        assert_eq!(count(1_234_567).replace('\u{a0}', " "), "1 234 567");
        assert_eq!(count(12), "12");
        assert_eq!(
            [0.4, -0.4, 999.5, -1_234_567.0].map(commas),
            ["0", "0", "1,000", "-1,234,567"]
        );
        assert_eq!(percent(0.5), "50.0 %");
        assert_eq!(slow_down(1.25), "1.250x");
    }
}
