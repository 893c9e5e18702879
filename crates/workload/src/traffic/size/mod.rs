//! Sizes of messages: constant, or drawn from a distribution.
//!
//! Loads refer to mean sizes, which are therefore exact to 2^-16 byte.

mod bimodal;
mod file;
mod geometric;
mod uniform;

use std::path::Path;

use config::{Bytes, Error, Section};

use super::{MeanBytes, TrafficKind, TrafficRandom, named};

/// Largest message.
const LARGEST: Bytes = Bytes { bytes: 1 << 40 };

/// Chooses sizes.
pub trait SizeDistribution: Send + Sync {
    /// Bytes of the next message, at least 1.
    fn bytes(&self, random: &mut dyn TrafficRandom) -> u64;

    /// The mean.
    fn mean(&self) -> MeanBytes;

    /// The largest size, in bytes. For a distribution without one, the size that one message in a thousand exceeds.
    fn largest(&self) -> u64;

    /// Mean number of packets of a message, if each packet has `payload` bytes of it, the last one the rest.
    fn mean_packets(&self, payload: u64) -> f64;
}

/// Sum over the numbers of packets of messages of 1 to `bytes` bytes.
fn packets_up_to(bytes: u64, payload: u64) -> f64 {
    let (whole, rest) = ((bytes / payload) as f64, (bytes % payload) as f64);
    payload as f64 * whole * (whole + 1.0) / 2.0 + rest * (whole + 1.0)
}

/// A kind of distribution.
pub type SizeKind = TrafficKind<fn(&Section, &Path) -> Result<Box<dyn SizeDistribution>, Error>>;

/// All distributions, in alphabetical order.
pub static SIZES: &[SizeKind] = &[bimodal::KIND, file::KIND, geometric::KIND, uniform::KIND];

/// The size of messages in `message` of `traffic` (`job.traffic`): a size, by default `default` bytes, or a
/// table that names a `distribution`. Paths are relative to `folder`.
///
/// # Errors
/// It is neither, the distribution is unknown, or its parameters are invalid.
pub fn size(traffic: &Section, default: u64, folder: &Path) -> Result<Box<dyn SizeDistribution>, Error> {
    if traffic.has("message")
        && let Ok(section) = traffic.section("message")
    {
        let kind = named(section, "distribution", section.required("distribution")?, SIZES)?;
        return (kind.build)(section.declare(kind.parameters), folder);
    }
    let bytes = in_range(
        traffic,
        "message",
        traffic.or("message", Bytes { bytes: default })?,
    )?;
    Ok(Box::new(Constant { bytes }))
}

/// The bytes of a valid message size.
fn in_range(section: &Section, key: &str, size: Bytes) -> Result<u64, Error> {
    if size.bytes == 0 || size > LARGEST {
        let message = format!("{size} is out of range; expected 1 B to {LARGEST}");
        return Err(section.error(key, message));
    }
    Ok(size.bytes)
}

struct Constant {
    bytes: u64,
}

impl SizeDistribution for Constant {
    fn bytes(&self, _: &mut dyn TrafficRandom) -> u64 {
        self.bytes
    }

    fn mean(&self) -> MeanBytes {
        MeanBytes::whole(self.bytes)
    }

    fn largest(&self) -> u64 {
        self.bytes
    }

    fn mean_packets(&self, payload: u64) -> f64 {
        self.bytes.div_ceil(payload) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{SplitMix, tests::ScriptedRandom};
    use super::*;

    /// The sizes of `message = VALUE`.
    pub(super) fn read(value: &str, folder: &Path) -> Result<Box<dyn SizeDistribution>, Error> {
        let section = Section::from_toml(&format!("message = {value}"), "x.toml")?;
        let size = size(&section, 256, folder)?;
        section.finish()?;
        Ok(size)
    }

    pub(super) fn error(value: &str) -> String {
        match read(value, Path::new(".")) {
            Ok(_) => panic!("it was built"),
            Err(error) => error.to_string(),
        }
    }

    /// Draws sizes and checks their mean.
    pub(super) fn draw(size: &dyn SizeDistribution, n: usize) -> Vec<u64> {
        let mut random = SplitMix(8);
        let drawn: Vec<u64> = (0..n).map(|_| size.bytes(&mut random)).collect();
        let mean = drawn.iter().sum::<u64>() as f64 / n as f64;
        let square = |bytes: &u64| (*bytes as f64 - mean).powi(2);
        let variance = drawn.iter().map(square).sum::<f64>() / n as f64;
        let larger = drawn.iter().filter(|bytes| **bytes > size.largest()).count();
        assert!(
            larger <= n / 500,
            "{larger} of {n} are larger than {}",
            size.largest()
        );
        let difference = (mean - size.mean().as_f64()).abs();
        let error = (variance / n as f64).sqrt();
        assert!(
            difference <= 4.5 * error + 1e-4,
            "{mean} is not {}",
            size.mean().as_f64()
        );
        assert!(drawn.iter().all(|bytes| (1..=LARGEST.bytes).contains(bytes)));
        for payload in [1, 7, 256, 1 << 24] {
            let packets = || drawn.iter().map(|bytes| bytes.div_ceil(payload) as f64);
            let mean = packets().sum::<f64>() / n as f64;
            let variance = packets().map(|packets| (packets - mean).powi(2)).sum::<f64>() / n as f64;
            let expected = size.mean_packets(payload);
            assert!(
                (mean - expected).abs() <= 4.5 * (variance / n as f64).sqrt() + 1e-4 * expected,
                "{mean} packets of {payload} B, not {expected}"
            );
        }
        drawn
    }

    #[test]
    fn one_size_draws_nothing() {
        let size = read("\"2 KiB\"", Path::new(".")).unwrap();
        assert_eq!(size.bytes(&mut ScriptedRandom(vec![])), 2048);
        assert_eq!(size.mean(), MeanBytes::whole(2048));
        let section = Section::from_toml("", "x.toml").unwrap();
        let default = super::size(&section, 77, Path::new(".")).unwrap();
        assert_eq!(default.bytes(&mut ScriptedRandom(vec![])), 77);
        assert_eq!(section.finish().unwrap().to_string(), r#"{"message":"77 B"}"#);
    }

    #[test]
    fn what_cannot_be() {
        assert!(error("\"0 B\"").contains("expected 1 B to 1 TiB"));
        assert!(error("\"2 TiB\"").contains("expected 1 B to 1 TiB"));
        assert!(error("12").contains("12 has no unit"));
        assert!(
            error("{ distribution = \"normal\" }").contains("expected one of: bimodal, file, geometric, ")
        );
        assert!(error("{ }").contains("message.distribution: missing"));
    }

    #[test]
    fn the_registry_is_sorted_and_every_entry_builds() {
        assert!(SIZES.is_sorted_by_key(|k| k.name));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sizes.csv"), "100,0\n2000,1\n").unwrap();
        for kind in SIZES {
            let text = format!("[message]\ndistribution = \"{}\"\n{}", kind.name, kind.example);
            let section = Section::from_toml(&text, "x.toml").unwrap();
            draw(size(&section, 1, folder.path()).unwrap().as_ref(), 10_000);
            let asked = section.section("message").unwrap().asked();
            assert!(
                kind.parameters
                    .iter()
                    .all(|parameter| asked.iter().any(|key| key == parameter.name))
            );
            section.finish().unwrap();
        }
    }
}
