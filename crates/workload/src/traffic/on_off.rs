//! On-off: bursts of messages at a higher load, separated by silence.
//!
//! A Markov-modulated process of two states (Dally and Towles 2004, section 24.2; BookSim: `on_off`). In a
//! burst, messages follow each other at the load `peak`. After each message, the burst ends with the
//! probability 1/b, so that it has b messages on average. The silence after a burst is exponentially
//! distributed with the mean b (m - g), where m is the mean gap of the load and g the gap within a burst: the
//! mean over all gaps is then g + b (m - g) / b = m. Both states are memoryless.

use config::{DefaultValue, Duration, Error, Section, Type, parameters};

use super::gap::{LOAD_STEPS, load_steps};
use super::logarithm::minus_ln;
use super::{ArrivalKind, ArrivalProcess, MeanGap, OfferedLoad, TrafficRandom};

pub(super) const KIND: ArrivalKind = ArrivalKind {
    name: "on-off",
    summary: "bursts at a higher load, silence between them: a Markov-modulated process of two states",
    parameters: parameters! {
        new("burst", Type::Either(&[Type::Integer, Type::Time]), DefaultValue::Integer(10),
            "mean length of a burst, in messages or as a time such as \"2 us\"");
        number("peak", 1.0, "load within a burst, at least the load, at most 1");
    },
    example: "",
    build: |section, pace| Ok(Box::new(OnOff::read(section, pace)?)),
};

struct OnOff {
    /// Gap within a burst.
    within: MeanGap,
    /// Mean of the additional gap after a burst.
    silence: MeanGap,
    /// Probability that a burst ends after a message, in units of 2^-64; `None` for 1.
    end: Option<u64>,
    /// Share of time within bursts, in the same units; `None` for all.
    on: Option<u64>,
}

/// Largest mean length of a burst, so that the silence after it fits the arithmetic.
const LONGEST_BURST: u32 = 1_000_000;

/// `part` / `whole` in units of 2^-64; `None` if it is 1 or more.
fn probability(part: u128, whole: u128) -> Option<u64> {
    // Beyond 64 bits, both lose invisible digits.
    let excess = (128 - part.leading_zeros()).saturating_sub(64);
    let quotient = ((part >> excess) << 64).checked_div(whole >> excess)?;
    u64::try_from(quotient).ok()
}

fn happens(probability: Option<u64>, random: &mut dyn TrafficRandom) -> bool {
    probability.is_none_or(|threshold| random.next_u64() < threshold)
}

impl OnOff {
    fn read(section: &Section, pace: &OfferedLoad) -> Result<OnOff, Error> {
        // Accepts a number or a time. The error is that of the number.
        let time = match section.given::<Duration>("burst") {
            Ok(Some(time)) => Some(time),
            _ => None,
        };
        let messages: u32 = if time.is_some() { 1 } else { section.get("burst")? };
        let peak: f64 = section.get("peak")?;
        if peak > 1.0 || load_steps(peak).map_err(|e| section.error("peak", e.message))? < pace.load {
            let message = format!("{peak} is out of range; expected at least the load, at most 1");
            return Err(section.error("peak", message));
        }
        let steps = load_steps(peak)?;
        let within = if steps == pace.load {
            pace.mean
        } else {
            MeanGap::from_ratio(
                pace.time_slot.parts() * u128::from(LOAD_STEPS),
                u128::from(steps) << 32,
            )?
        };
        let within_parts = within.parts().max(1);
        if !(1..=LONGEST_BURST).contains(&messages) {
            let message = format!("{messages} is out of range; expected 1 to {LONGEST_BURST} messages");
            return Err(section.error("burst", message));
        }
        let burst = match time {
            None => within_parts * u128::from(messages),
            Some(time) => u128::from(time.ps) << 32,
        };
        if burst < within_parts || burst / within_parts > LONGEST_BURST.into() {
            let message = format!(
                "is {} messages at the load of a burst; expected 1 to {LONGEST_BURST}",
                burst / within_parts
            );
            return Err(section.error("burst", message));
        }
        let end = probability(within_parts, burst);
        // The mean silence compensates the rounding of the probability.
        let excess = pace.mean.minus(within).parts();
        let silence = match end {
            None => MeanGap::from_ratio(excess, 1 << 32)?,
            // (excess 2^-32) / (end 2^-64).
            Some(end) => MeanGap::from_ratio(excess << 32, end.into()).map_err(|_| {
                section.error(
                    "burst",
                    "leads to silences longer than 20 hours; expected shorter bursts",
                )
            })?,
        };
        Ok(OnOff {
            within,
            silence,
            end,
            on: probability(within_parts, pace.mean.parts().max(1)),
        })
    }

    fn silence(&self, random: &mut dyn TrafficRandom) -> u64 {
        self.silence.scaled(minus_ln(random.next_u64()))
    }
}

impl ArrivalProcess for OnOff {
    fn gap_ps(&self, index: u64, random: &mut dyn TrafficRandom) -> u64 {
        if index == 0 {
            // The state of a host that has sent for a long time: within a burst or a silence.
            return match happens(self.on, random) {
                true => random.below(self.within.ps().max(1)),
                false => self.silence(random),
            };
        }
        let within = self.within.step(index);
        match happens(self.end, random) {
            true => within + self.silence(random),
            false => within,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::MeanBytes;
    use super::super::random::SplitMix;
    use super::*;

    fn process(parameters: &str, load: f64) -> Result<OnOff, Error> {
        let section = Section::from_toml(parameters, "x.toml").unwrap();
        let pace = OfferedLoad::new(MeanBytes::whole(250), 100_000_000_000, load).unwrap();
        OnOff::read(section.declare(KIND.parameters), &pace)
    }

    /// Gaps in units of the time slot of 20 ns.
    fn gaps(process: &OnOff, n: u64) -> Vec<f64> {
        let mut random = SplitMix(5);
        (1..=n)
            .map(|i| process.gap_ps(i, &mut random) as f64 / 20_000.0)
            .collect()
    }

    /// Lengths of bursts in messages: a burst ends where a gap is longer than that within it.
    fn bursts(gaps: &[f64], within: f64) -> Vec<f64> {
        let mut bursts = vec![0.0];
        for gap in gaps {
            *bursts.last_mut().unwrap() += 1.0;
            if *gap > within {
                bursts.push(0.0);
            }
        }
        bursts.pop();
        bursts
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn loads_and_bursts_are_what_was_asked_for() {
        let cases = [
            ("", 0.3, 10.0, 1.0),
            ("burst = 4\npeak = 0.5", 0.2, 4.0, 2.0),
            ("burst = \"1 us\"", 0.25, 50.0, 1.0),
            ("burst = 1", 0.5, 1.0, 1.0),
            ("burst = \"250 ns\"\npeak = 0.8", 0.6, 10.0, 1.25),
        ];
        for (parameters, load, burst, within) in cases {
            let process = process(parameters, load).unwrap();
            let gaps = gaps(&process, 1_000_000);
            let found = bursts(&gaps, within);
            let error = 4.0 * burst / (found.len() as f64).sqrt();
            assert!(
                (mean(&found) - burst).abs() <= error,
                "{parameters}: {}",
                mean(&found)
            );
            // The gap's variance is below that of silences of twice the mean square, every burst-th time.
            let silence: f64 = burst * (1.0 / load - within);
            let error = 4.0 * (2.0 / burst).sqrt() * silence / 1000.0;
            assert!(
                (mean(&gaps) - 1.0 / load).abs() < error,
                "{parameters}: {}",
                mean(&gaps)
            );
            assert!(gaps.iter().all(|gap| *gap >= within));
        }
    }

    /// The rounded probability and silence give the same load.
    #[test]
    fn the_mean_is_exact() {
        for (parameters, load) in [("", 0.3), ("burst = 7", 0.123), ("burst = \"777 ns\"", 0.01)] {
            let process = process(parameters, load).unwrap();
            let end = process.end.unwrap() as f64 / 2f64.powi(64);
            let parts = |gap: MeanGap| gap.parts() as f64 / 2f64.powi(32);
            let mean = parts(process.within) + end * parts(process.silence);
            assert!(
                (mean / (20_000.0 / load) - 1.0).abs() < 1e-12,
                "{parameters}: {mean}"
            );
        }
    }

    /// At its peak load there is no silence and bursts do not end.
    #[test]
    fn at_its_peak_it_is_fixed() {
        let process = process("peak = 0.5", 0.5).unwrap();
        assert!(gaps(&process, 1000).iter().all(|gap| *gap == 2.0));
        assert_eq!(process.on, None);
    }

    /// The first message is within a burst with the probability load / peak.
    #[test]
    fn it_begins_in_the_middle() {
        let process = process("burst = 1000", 0.25).unwrap();
        let first = |seed| process.gap_ps(0, &mut SplitMix(seed));
        let soon = (0..4000).filter(|seed| first(*seed) < 20_000).count();
        // Four standard deviations, increased by the variance of the silences.
        assert!((890..1120).contains(&soon), "{soon}");
    }

    #[test]
    fn what_cannot_be() {
        let error = |parameters: &str, load| match process(parameters, load) {
            Ok(_) => panic!("it was built"),
            Err(error) => error.to_string(),
        };
        assert!(error("peak = 0.4", 0.5).contains("0.4 is out of range; expected at least the load"));
        assert!(error("peak = 1.5", 0.5).contains("at most 1"));
        assert!(error("peak = -1", 0.5).contains("not a number above 0"));
        assert!(error("burst = 0", 0.5).contains("expected 1 to 1000000"));
        assert!(error("burst = \"1 ns\"", 0.5).contains("is 0 messages"));
        assert!(error("burst = \"1 s\"", 0.5).contains("is 50000000 messages"));
        assert!(error("burst = \"5\"", 0.5).contains("burst"));
        assert!(error("burst = 1000000", 1e-9).contains("longer than 20 hours"));
    }
}
