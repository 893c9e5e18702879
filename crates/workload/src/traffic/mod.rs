//! Synthetic traffic: where packets go (patterns) and when they are made (arrival processes).
//!
//! Everything that is drawn comes from the [`Random`] that the caller gives, in integer arithmetic only, so
//! that a run is the same on every machine. `docs/methods/traffic.md` has the formulas.

mod exponential;
mod fixed;
mod gap;
mod logarithm;
mod random;
mod uniform;

use config::{Error, Section};

pub use gap::MeanGap;
pub use random::Random;

/// Chooses destinations.
pub trait Pattern: Send + Sync {
    /// The host that the next packet of host `source` goes to, of `hosts` numbered from 0.
    fn destination(&self, source: u32, hosts: u32, random: &mut dyn Random) -> u32;

    /// All hosts that packets of host `source` go to with their probabilities, each once or several times;
    /// none if it sends nothing.
    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64));

    /// Whether every host sends to all others with one probability; if so, whether to itself, too. What
    /// [`Pattern::shares`] says then need not be asked host by host.
    fn is_uniform(&self) -> Option<bool> {
        None
    }
}

/// Chooses times.
pub trait Arrival: Send + Sync {
    /// Picoseconds from a host's packet number `index` - 1 to its packet number `index`, counted from 0;
    /// to packet 0, from the time at which the host starts to send. Gaps of 0 may occur.
    fn gap_ps(&self, mean: MeanGap, index: u64, random: &mut dyn Random) -> u64;
}

/// One kind of pattern or arrival process.
pub struct Kind<T: ?Sized + 'static> {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Parameters: name and one line with its meaning and default.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Reads the parameters and builds it.
    pub build: fn(&Section) -> Result<Box<T>, Error>,
}

/// All patterns, in alphabetical order.
pub static PATTERNS: &[Kind<dyn Pattern>] = &[uniform::KIND];

/// All arrival processes, in alphabetical order.
pub static ARRIVALS: &[Kind<dyn Arrival>] = &[exponential::KIND, fixed::KIND];

/// Builds the pattern that `section` (`job.traffic`) describes; its `pattern` names it.
///
/// # Errors
/// None is named, an unknown one is, or its parameters make no sense.
pub fn pattern(section: &Section) -> Result<Box<dyn Pattern>, Error> {
    build(section, "pattern", section.required("pattern")?, PATTERNS)
}

/// Builds the arrival process that `section` (`job.traffic`) describes; its `arrival` names it, by default
/// `exponential`.
///
/// # Errors
/// An unknown one is named, or its parameters make no sense.
pub fn arrival(section: &Section) -> Result<Box<dyn Arrival>, Error> {
    let name = section.or("arrival", exponential::KIND.name.to_string())?;
    build(section, "arrival", name, ARRIVALS)
}

fn build<T: ?Sized>(section: &Section, key: &str, name: String, kinds: &[Kind<T>]) -> Result<Box<T>, Error> {
    let kind = kinds
        .iter()
        .find(|k| k.name == name)
        .ok_or_else(|| section.unknown_name(key, &name, kinds.iter().map(|k| k.name)))?;
    (kind.build)(section)
}

#[cfg(test)]
mod tests {
    use super::random::tests::SplitMix;
    use super::*;

    fn section(toml: &str) -> Section {
        Section::from_toml(toml, "x.toml").unwrap()
    }

    #[test]
    fn wrong_names_are_answered_with_the_nearest() {
        let error = pattern(&section("pattern = \"unifrom\""))
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "x.toml:1: pattern: unknown name 'unifrom'; did you mean 'uniform'?"
        );
        let error = arrival(&section("arrival = \"poisson\""))
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(error.contains("expected one of: exponential, fixed"), "{error}");
        assert!(pattern(&section("")).is_err());
    }

    #[test]
    fn defaults_are_written_back() {
        let s = section("pattern = \"uniform\"");
        pattern(&s).unwrap();
        arrival(&s).unwrap();
        let all = s.finish().unwrap().to_string();
        assert_eq!(
            all,
            r#"{"pattern":"uniform","include_self":false,"arrival":"exponential"}"#
        );
    }

    #[test]
    fn registries_are_sorted_and_every_entry_builds() {
        assert!(PATTERNS.is_sorted_by_key(|k| k.name) && ARRIVALS.is_sorted_by_key(|k| k.name));
        for kind in PATTERNS {
            let s = section(&format!("pattern = \"{}\"", kind.name));
            let built = pattern(&s).unwrap();
            for hosts in [2, 3, 64, 1000] {
                for seed in 0..50 {
                    let host = built.destination(seed as u32 % hosts, hosts, &mut SplitMix(seed));
                    assert!(host < hosts, "{}", kind.name);
                }
            }
            assert!(
                kind.parameters
                    .iter()
                    .all(|(name, _)| s.asked().iter().any(|asked| asked == name))
            );
        }
    }

    /// Over long runs every process offers the load that was asked for.
    #[test]
    fn arrivals_keep_the_mean() {
        let mean = MeanGap::for_load(256, 100_000_000_000, 0.7).unwrap();
        for kind in ARRIVALS {
            let process = arrival(&section(&format!("arrival = \"{}\"", kind.name))).unwrap();
            let mut random = SplitMix(7);
            let n = 200_000u64;
            let total: u64 = (0..n).map(|i| process.gap_ps(mean, i, &mut random)).sum();
            let measured = total as f64 / n as f64;
            let expected = 256.0 * 8.0 * 10.0 / 0.7;
            // Four standard errors of an exponential mean.
            let tolerance = 4.0 * expected / (n as f64).sqrt();
            assert!(
                (measured - expected).abs() < tolerance,
                "{}: {measured}",
                kind.name
            );
        }
    }
}
