//! Synthetic traffic: destinations (patterns), times (arrival processes) and sizes of messages.
//!
//! Random numbers come from the caller's [`TrafficRandom`] and are used in integer arithmetic only, so that a run is
//! the same on every machine. Patterns know the network through [`Geometry`] only. `docs/methods/traffic.md`
//! has the formulas.

mod adjacency;
mod adversarial;
mod all_to_all;
mod bernoulli;
mod bisection;
mod bit_complement;
mod bit_reverse;
mod bits;
mod block;
mod diagonal;
mod dimension_complement_reverse;
mod exponential;
mod fixed;
mod gap;
mod geometric;
mod hotspot;
mod incast;
mod logarithm;
mod matrix;
mod nearest_neighbour;
mod on_off;
mod pair;
mod permutation;
mod place;
mod random;
mod shift;
mod shuffle;
pub mod size;
mod stencil;
mod targets;
#[cfg(test)]
mod test_support;
mod tornado;
mod transpose;
mod uniform;

use config::{Error, Parameter, Section};

pub use gap::{MeanBytes, MeanGap};
pub(crate) use logarithm::minus_ln;
pub use place::{Geometry, GridKind, PatternContext, RouterGrid};
pub(crate) use random::SplitMix;
pub use random::TrafficRandom;
pub use size::SizeDistribution;

/// Chooses destinations.
///
/// `hosts` is the number of hosts of the job, as when the pattern was built. Hosts are numbered from 0.
pub trait Pattern: Send + Sync {
    /// The destination of message number `index` (from 0) of host `source`.
    ///
    /// `None` if the source is silent, which holds for all its messages: a fixed point of a permutation, a
    /// target of an incast. Other sources do not send more instead.
    fn destination(&self, source: u32, hosts: u32, index: u64, random: &mut dyn TrafficRandom)
    -> Option<u32>;

    /// The long-term distribution of a source's destinations: calls `each` with a destination and its share of
    /// the messages. A destination may occur several times. Shares add up to 1; a silent source has none. It
    /// may take as many calls as there are hosts.
    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64));

    /// Whether every host sends to all others with equal probability; if so, whether to itself, too. It
    /// replaces the shares of each host.
    fn is_uniform(&self) -> Option<bool> {
        None
    }
}

/// Chooses times.
pub trait ArrivalProcess: Send + Sync {
    /// Picoseconds from a host's message number `index` - 1 to its message number `index`, from 0; for message
    /// 0, from the start of the host's traffic. Gaps may be 0.
    fn gap_ps(&self, index: u64, random: &mut dyn TrafficRandom) -> u64;
}

/// The offered load of a host.
#[derive(Clone, Copy, Debug)]
pub struct OfferedLoad {
    /// Mean time between two messages.
    pub mean: MeanGap,
    /// The time that a message of mean size takes at full injection bandwidth.
    pub time_slot: MeanGap,
    /// Their ratio in units of 1e-9, as given.
    load: u64,
}

impl OfferedLoad {
    /// Messages of this mean size that offer the share `load` (at most 1) of an injection link.
    ///
    /// # Errors
    /// The load is not a number above 0, or there is less than one message in 20 hours.
    pub fn new(bytes: MeanBytes, bits_per_s: u64, load: f64) -> Result<OfferedLoad, Error> {
        Ok(OfferedLoad {
            mean: MeanGap::for_load(bytes, bits_per_s, load)?,
            time_slot: MeanGap::for_load(bytes, bits_per_s, 1.0)?,
            load: gap::load_steps(load)?,
        })
    }
}

/// A kind of pattern, arrival process or size distribution; `B` builds it.
pub struct TrafficKind<B: 'static> {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Parameters in TOML that can be built, for tests: those that have no default.
    pub example: &'static str,
    /// Reads the parameters and builds it.
    pub build: B,
}

/// A kind of pattern.
pub type PatternKind = TrafficKind<fn(&Section, &mut PatternContext<'_>) -> Result<Box<dyn Pattern>, Error>>;

/// A kind of arrival process.
pub type ArrivalKind = TrafficKind<fn(&Section, &OfferedLoad) -> Result<Box<dyn ArrivalProcess>, Error>>;

/// All patterns, in alphabetical order.
pub static PATTERNS: &[PatternKind] = &[
    adversarial::KIND,
    all_to_all::KIND,
    bisection::KIND,
    bit_complement::KIND,
    bit_reverse::KIND,
    diagonal::KIND,
    dimension_complement_reverse::KIND,
    hotspot::KIND,
    incast::KIND,
    matrix::KIND,
    nearest_neighbour::KIND,
    permutation::KIND,
    shift::KIND,
    shuffle::KIND,
    stencil::KIND,
    tornado::KIND,
    transpose::KIND,
    uniform::KIND,
];

/// All arrival processes, in alphabetical order.
pub static ARRIVALS: &[ArrivalKind] = &[bernoulli::KIND, exponential::KIND, fixed::KIND, on_off::KIND];

/// The arrival process of traffic that names none.
pub const DEFAULT_ARRIVAL: ArrivalKind = exponential::KIND;

/// Builds the pattern that `section` (`job.traffic`) describes in its key `pattern`.
///
/// # Errors
/// The pattern is missing, unknown, impossible in this context, or has invalid parameters.
pub fn pattern(section: &Section, place: &mut PatternContext<'_>) -> Result<Box<dyn Pattern>, Error> {
    let kind = named(section, "pattern", section.required("pattern")?, PATTERNS)?;
    (kind.build)(section.declare(kind.parameters), place)
}

/// The arrival process in the key `arrival` of `section` (`job.traffic`); the default is `exponential`.
///
/// # Errors
/// The name is unknown.
pub fn arrival(section: &Section) -> Result<&'static ArrivalKind, Error> {
    let name = section.or("arrival", DEFAULT_ARRIVAL.name.to_string())?;
    named(section, "arrival", name, ARRIVALS)
}

fn named<B>(
    section: &Section,
    key: &str,
    name: String,
    kinds: &'static [TrafficKind<B>],
) -> Result<&'static TrafficKind<B>, Error> {
    kinds
        .iter()
        .find(|k| k.name == name)
        .ok_or_else(|| section.unknown_name(key, &name, kinds.iter().map(|k| k.name)))
}

#[cfg(test)]
mod tests {
    use super::random::SplitMix;
    use super::test_support::{FakeNetwork, built_in, check_shares, error};
    use super::*;

    fn section(toml: &str) -> Section {
        Section::from_toml(toml, "x.toml").unwrap()
    }

    fn pace(load: f64) -> OfferedLoad {
        OfferedLoad::new(MeanBytes::whole(256), 100_000_000_000, load).unwrap()
    }

    #[test]
    fn wrong_names_are_answered_with_the_nearest() {
        assert_eq!(
            error("unifrom", "", 4),
            "x.toml:1: traffic.pattern: unknown name 'unifrom'; did you mean 'uniform'?"
        );
        let error = arrival(&section("arrival = \"poisson\"")).map(|_| ());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("did you mean 'exponential'?"), "{error}");
        let error = arrival(&section("arrival = \"weekly\"")).map(|_| ());
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("expected one of: bernoulli, exponential, fixed, on-off"),
            "{error}"
        );
    }

    #[test]
    fn defaults_are_written_back() {
        let s = section("pattern = \"uniform\"");
        let mut place = PatternContext {
            hosts: 4,
            network: None,
            folder: std::path::Path::new("."),
            random: &mut SplitMix(1),
        };
        pattern(&s, &mut place).unwrap();
        arrival(&s).unwrap();
        let all = s.finish().unwrap().to_string();
        assert_eq!(
            all,
            r#"{"pattern":"uniform","include_self":false,"arrival":"exponential"}"#
        );
    }

    /// Uses a network with groups and one with coordinates, whichever the pattern supports.
    #[test]
    fn patterns_are_sorted_and_every_entry_builds() {
        assert!(PATTERNS.is_sorted_by_key(|k| k.name));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("matrix.csv"), "0,1,3\n0,15,2\n7,0,1\n").unwrap();
        for kind in PATTERNS {
            let networks = [FakeNetwork::groups(4, 2, 2), FakeNetwork::torus(&[4, 4], 1)];
            let example = kind.example.replace("[2, 3, 4]", "[2, 2, 4]");
            let built = networks.map(|network| {
                let folder = folder.path();
                built_in(folder, kind.name, &example, 16, Some(&network), &mut SplitMix(1))
            });
            assert!(built.iter().any(Result::is_ok), "{}", kind.name);
            built
                .iter()
                .flatten()
                .for_each(|pattern| check_shares(pattern.as_ref(), 16));
        }
    }

    #[test]
    fn parameters_are_those_that_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("matrix.csv"), "0,1,3\n").unwrap();
        let network = FakeNetwork::groups(4, 3, 2);
        let grid = FakeNetwork::torus(&[4, 6], 1);
        for kind in PATTERNS {
            let hosts = 24;
            let mut asked = Vec::new();
            for network in [&network, &grid] {
                let s = section(&format!("pattern = \"{}\"\n{}", kind.name, kind.example));
                let mut place = PatternContext {
                    hosts,
                    network: Some(network),
                    folder: folder.path(),
                    random: &mut SplitMix(1),
                };
                let built = pattern(&s, &mut place).is_ok();
                asked.extend(s.asked());
                let settings = s.finish().unwrap_or_default();
                let given = |parameter: &&Parameter| s.has(parameter.name);
                for parameter in kind.parameters.iter().filter(|p| built && !given(p)) {
                    assert!(parameter.is_default_in(&settings), "{}: {parameter}", kind.name);
                }
            }
            let is_asked = |name: &str| asked.iter().any(|asked| asked == name);
            assert!(
                kind.parameters.iter().all(|parameter| is_asked(parameter.name)),
                "{}",
                kind.name
            );
        }
        assert!(ARRIVALS.is_sorted_by_key(|k| k.name));
        for kind in ARRIVALS {
            let s = section(kind.example);
            (kind.build)(s.declare(kind.parameters), &pace(0.5)).unwrap();
            let settings = s.finish().unwrap();
            assert!(kind.parameters.iter().all(|p| p.is_default_in(&settings)));
            let is_asked = |name: &str| s.asked().iter().any(|asked| asked == name);
            assert!(
                kind.parameters.iter().all(|parameter| is_asked(parameter.name)),
                "{}",
                kind.name
            );
        }
    }

    /// Over long runs every process offers the given load.
    #[test]
    fn arrivals_keep_the_mean() {
        for kind in ARRIVALS {
            let section = section(kind.example);
            let process = (kind.build)(section.declare(kind.parameters), &pace(0.7)).unwrap();
            let mut random = SplitMix(7);
            let n = 200_000u64;
            let total: u64 = (0..n).map(|i| process.gap_ps(i, &mut random)).sum();
            let measured = total as f64 / n as f64;
            let expected = 256.0 * 8.0 * 10.0 / 0.7;
            // Four standard errors of an exponential mean. On-off, with its long silences, varies twice as
            // much.
            let tolerance = 4.0 * expected / (n as f64).sqrt();
            let tolerance = if kind.name == "on-off" {
                2.0 * tolerance
            } else {
                tolerance
            };
            assert!(
                (measured - expected).abs() < tolerance,
                "{}: {measured}",
                kind.name
            );
        }
    }
}
