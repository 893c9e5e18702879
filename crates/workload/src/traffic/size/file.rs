//! Sizes from a cumulative distribution in a file, as published for web search and data mining clusters.
//!
//! Each row is a point of the curve: a size in bytes and the share of messages up to it, `1460,0.35` or `1460
//! 35`. Sizes and shares do not decrease, and the last share is 1 (or 100, then all are percentages). Sizes
//! between two points have equal probability; all messages of the first point have its size. Two points with
//! the same size are a step. Empty lines and lines that begin with `#` are skipped. Shares have nine decimals.

use super::super::{MeanBytes, TrafficRandom};
use super::{LARGEST, SizeDistribution, SizeKind, packets_up_to};
use config::{Type, parameters};

pub(super) const KIND: SizeKind = SizeKind {
    name: "file",
    summary: "a cumulative distribution from a file: rows of size in bytes and share of messages up to it",
    parameters: parameters! {
        required("file", Type::Path, "rows size,share; relative to the experiment's file");
    },
    example: "file = \"sizes.csv\"\n",
    build: |section, folder| {
        let file: String = section.required("file")?;
        let cumulative = config::read_text(&folder.join(&file), config::TEXT_BYTES)
            .map_err(|error| format!(": {error}"))
            .and_then(|text| Cumulative::parse(&text));
        let cumulative = cumulative.map_err(|message| section.error("file", format!("{file}{message}")))?;
        Ok(Box::new(cumulative) as Box<dyn SizeDistribution>)
    },
};

/// A point of the curve: a size, and the share up to it in units of 1e-9.
#[derive(Clone, Copy)]
struct Point {
    bytes: u64,
    upto: u64,
}

struct Cumulative {
    points: Box<[Point]>,
    mean: MeanBytes,
}

impl Cumulative {
    /// The error follows the file name.
    fn parse(text: &str) -> Result<Cumulative, String> {
        let mut points: Vec<Point> = Vec::new();
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let point = point(line).and_then(|point| match points.last() {
                Some(last) if point.bytes < last.bytes => Err("the size falls; expected it to rise".into()),
                Some(last) if point.upto < last.upto => Err("the share falls; expected it to rise".into()),
                _ => Ok(point),
            });
            points.push(point.map_err(|message| format!(":{}: {message}", index + 1))?);
        }
        let Some(last) = points.last() else {
            return Err(": no points; expected rows of size in bytes and share of messages".into());
        };
        if ![1, 100].contains(&(last.upto / STEPS)) || last.upto % STEPS != 0 {
            return Err(": the last share is neither 1 nor 100 (percent)".into());
        }
        Cumulative::new(points)
    }

    fn new(points: Vec<Point>) -> Result<Cumulative, String> {
        let (mut sum, mut before) = (0u128, None);
        for point in &points {
            let (share, twice_mean) = segment(before, *point);
            if share > 0 && point.bytes == 0 {
                return Err(": messages of 0 bytes; expected at least 1".into());
            }
            sum += u128::from(share) * u128::from(twice_mean);
            before = Some(*point);
        }
        let total = before.map_or(1, |last| last.upto);
        Ok(Cumulative {
            mean: MeanBytes::from_ratio(sum, 2 * u128::from(total)).map_err(|error| error.message)?,
            points: points.into(),
        })
    }
}

/// Contribution of a point: its share, and twice its mean size.
fn segment(before: Option<Point>, point: Point) -> (u64, u64) {
    match before {
        None => (point.upto, 2 * point.bytes),
        Some(before) if before.bytes == point.bytes => (point.upto - before.upto, 2 * point.bytes),
        Some(before) => (point.upto - before.upto, before.bytes + 1 + point.bytes),
    }
}

/// Resolution of shares.
const STEPS: u64 = 1_000_000_000;

fn point(line: &str) -> Result<Point, String> {
    let fields = line.split(|letter: char| letter == ',' || letter.is_whitespace());
    let fields: Vec<&str> = fields.filter(|field| !field.is_empty()).collect();
    let [bytes, share] = fields[..] else {
        return Err(format!("{} values; expected two: size,share", fields.len()));
    };
    let bytes = match bytes.parse::<u64>() {
        Ok(bytes) if bytes <= LARGEST.bytes => bytes,
        _ => {
            return Err(format!(
                "'{bytes}' is no size; expected whole bytes up to {LARGEST}"
            ));
        }
    };
    let upto = decimal(share).ok_or_else(|| {
        format!("'{share}' is no share; expected a decimal number from 0 to 1, or to 100, with nine decimals at most")
    })?;
    Ok(Point { bytes, upto })
}

/// Parses a decimal number up to 100 in units of 1e-9 exactly.
fn decimal(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let are_digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let fraction = fraction.trim_end_matches('0');
    if text.len() == text.matches('.').count()
        || !are_digits(whole)
        || !are_digits(fraction)
        || fraction.len() > 9
    {
        return None;
    }
    let number = |text: &str| {
        if text.is_empty() {
            Some(0)
        } else {
            text.parse::<u64>().ok()
        }
    };
    let steps = number(whole)?.checked_mul(STEPS)? + number(&format!("{fraction:0<9}"))?;
    (steps <= 100 * STEPS).then_some(steps)
}

impl SizeDistribution for Cumulative {
    fn bytes(&self, random: &mut dyn TrafficRandom) -> u64 {
        let total = self.points[self.points.len() - 1].upto;
        let drawn = random.below(total);
        let index = self.points.partition_point(|point| point.upto <= drawn);
        let above = self.points[index];
        let below = index
            .checked_sub(1)
            .map_or(above.bytes, |below| self.points[below].bytes);
        if below == above.bytes {
            return above.bytes;
        }
        below + 1 + random.below(above.bytes - below)
    }

    fn mean(&self) -> MeanBytes {
        self.mean
    }

    fn largest(&self) -> u64 {
        self.points[self
            .points
            .partition_point(|point| point.upto < self.points[self.points.len() - 1].upto)]
        .bytes
    }

    fn mean_packets(&self, payload: u64) -> f64 {
        let (mut sum, mut before) = (0.0, None::<Point>);
        for point in &self.points {
            let packets = match before {
                Some(before) if before.bytes < point.bytes => {
                    let packets = packets_up_to(point.bytes, payload) - packets_up_to(before.bytes, payload);
                    packets / (point.bytes - before.bytes) as f64
                }
                _ => point.bytes.div_ceil(payload) as f64,
            };
            sum += packets * (point.upto - before.map_or(0, |before| before.upto)) as f64;
            before = Some(*point);
        }
        sum / before.map_or(1, |last| last.upto) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::draw;
    use super::*;

    fn error(text: &str) -> String {
        Cumulative::parse(text).map(|_| ()).unwrap_err()
    }

    #[test]
    fn points_segments_and_steps() {
        let sizes = Cumulative::parse("# bytes, share\n10,0.25\n20,0.5\n20,0.75\n\n120,1\n").unwrap();
        // 10; 11 to 20; 20; 21 to 120.
        assert_eq!(sizes.mean().as_f64(), (10.0 + 15.5 + 20.0 + 70.5) / 4.0);
        let drawn = draw(&sizes, 100_000);
        let share = |of: std::ops::RangeInclusive<u64>| {
            drawn.iter().filter(|bytes| of.contains(bytes)).count() as f64 / 100_000.0
        };
        // Four standard deviations are 0.0063 at most.
        for (of, expected) in [
            (10..=10, 0.25),
            (11..=19, 0.225),
            (20..=20, 0.275),
            (21..=70, 0.125),
        ] {
            assert!(
                (share(of.clone()) - expected).abs() < 0.0063,
                "{of:?}: {}",
                share(of.clone())
            );
        }
        assert_eq!(share(0..=9) + share(121..=1000), 0.0);
    }

    #[test]
    fn percent_and_blanks() {
        let parts = Cumulative::parse("0,0\n100,0.4\n1000,1.0\n").unwrap();
        let percent = Cumulative::parse("0 0\n100\t40\n 1000 100\n").unwrap();
        assert_eq!(parts.mean(), percent.mean());
        assert_eq!(parts.mean().as_f64(), 0.4 * 50.5 + 0.6 * 550.5);
        draw(&percent, 100_000);
    }

    #[test]
    fn errors_name_the_line() {
        assert!(error("").contains("no points"));
        assert!(error("10,0.5\n20\n").starts_with(":2: 1 values; expected two"));
        assert!(error("10,0.5\n5,1\n").starts_with(":2: the size falls"));
        assert!(error("10,0.5\n20,0.4\n").starts_with(":2: the share falls"));
        assert!(error("# a\n10.5,1\n").starts_with(":2: '10.5' is no size"));
        for share in ["x", ".", "-0.1", "1e-3", "101", "0.1234567891", "1.2.3"] {
            assert!(error(&format!("1,{share}")).contains("is no share"), "{share}");
        }
        assert!(error("10,0.5\n20,0.9\n").contains("neither 1 nor 100"));
        assert!(error("0,0.5\n20,1\n").contains("messages of 0 bytes"));
        assert!(error("0,0\n0,1\n").contains("messages of 0 bytes"));
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal("0.1"), Some(100_000_000));
        assert_eq!(decimal(".5"), Some(500_000_000));
        assert_eq!(decimal("100."), Some(100_000_000_000));
        assert_eq!(decimal("0.0000000010000"), Some(1));
    }
}
