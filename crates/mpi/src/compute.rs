//! Scaling of recorded computation.

use config::{Duration, Error, Parameter, Section, Type, parameters};
use des::Time;
use workload::{Imbalance, Region};

/// How long computations take: one rule for each region of the code, and one for the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComputeRule {
    otherwise: RegionTime,
    /// Rules by region. Regions beyond the last follow `otherwise`.
    regions: Vec<RegionTime>,
    /// Deviation of ranks from these times; `None` without.
    imbalance: Option<Imbalance>,
}

/// How long one computation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegionTime {
    /// The recorded time times a factor.
    Scaled(ComputeScale),
    /// A fixed time.
    Each(Time),
}

impl Default for RegionTime {
    fn default() -> RegionTime {
        RegionTime::Scaled(ComputeScale::default())
    }
}

impl ComputeRule {
    /// Keys of the table `compute` of a job, beside the table `regions`.
    pub const PARAMETERS: &'static [Parameter] = parameters! {
        number("scale", 1.0, "factor on every computation");
        computed("each", Type::Time, "none", "time of every computation, instead of scale");
        number("imbalance", 0.0, "greatest deviation of a rank's computations from this time, as a fraction");
        integer("imbalance_seed", 1331, "seed of the deviations of ranks");
    };

    /// Rule by which computations take no time.
    pub fn off() -> ComputeRule {
        ComputeRule::uniform(RegionTime::Each(Time::ZERO))
    }

    /// Rule by which computations take their recorded time times a factor; see [`ComputeScale::new`].
    ///
    /// # Errors
    /// As [`ComputeScale::new`].
    pub fn scaled(factor: f64) -> Result<ComputeRule, String> {
        Ok(ComputeRule::uniform(RegionTime::Scaled(ComputeScale::new(
            factor,
        )?)))
    }

    /// Rule by which every computation takes this time.
    pub fn each(time: Time) -> ComputeRule {
        ComputeRule::uniform(RegionTime::Each(time))
    }

    fn uniform(otherwise: RegionTime) -> ComputeRule {
        ComputeRule {
            otherwise,
            regions: Vec::new(),
            imbalance: None,
        }
    }

    /// Reads `compute` of a job: `"off"`, or a table. `regions` are the regions of its workload.
    ///
    /// # Errors
    /// Another text, both `scale` and `each`, a factor out of range, or a region that the workload does not have.
    pub fn read(job: &Section, regions: &[String]) -> Result<ComputeRule, Error> {
        if job.has("compute") && job.section("compute").is_err() {
            let expected = "; expected \"off\", or a table such as { scale = 0.5 }";
            let text: String = job
                .required("compute")
                .map_err(|e| job.error("compute", e.message + expected))?;
            return match text.as_str() {
                "off" => Ok(ComputeRule::off()),
                _ => Err(job.error("compute", format!("unknown name '{text}'{expected}"))),
            };
        }
        let table = job.section("compute")?.declare(ComputeRule::PARAMETERS);
        let each: Option<Duration> = table.optional("each")?;
        let mut rule = match each {
            Some(_) if table.has("scale") => {
                return Err(table.error("each", "conflicts with scale; expected one of the two"));
            }
            Some(each) => ComputeRule::each(Time(each.ps)),
            None => {
                let factor = table.get("scale")?;
                ComputeRule::scaled(factor).map_err(|message| table.error("scale", message))?
            }
        };
        let fraction: f64 = table.get("imbalance")?;
        let Some(imbalance) = Imbalance::new(fraction, table.get("imbalance_seed")?) else {
            let message = format!("{fraction} is out of range; expected a fraction from 0 to 1");
            return Err(table.error("imbalance", message));
        };
        rule.imbalance = (!imbalance.is_none()).then_some(imbalance);
        let by_region = table.section("regions")?;
        for name in by_region.keys() {
            if regions.is_empty() {
                let message = "this workload distinguishes no regions of its code; expected no regions";
                return Err(by_region.error(&name, message));
            }
            // A region name may have several numbers.
            let numbers: Vec<usize> = (0..regions.len()).filter(|at| regions[*at] == name).collect();
            let Some(last) = numbers.last() else {
                return Err(by_region.unknown_name(&name, &name, regions.iter().map(String::as_str)));
            };
            let span = read_span(by_region, &name)?;
            if rule.regions.len() <= *last {
                rule.regions.resize(last + 1, rule.otherwise);
            }
            numbers.iter().for_each(|at| rule.regions[*at] = span);
        }
        Ok(rule)
    }

    /// The time of a computation of a rank with this recorded time in this region.
    pub fn apply(&self, recorded: Time, region: Option<Region>, rank: u32) -> Time {
        let of = region.and_then(|region| self.regions.get(region as usize));
        let time = match of.unwrap_or(&self.otherwise) {
            RegionTime::Scaled(scale) => scale.apply(recorded),
            RegionTime::Each(time) => *time,
        };
        match &self.imbalance {
            None => time,
            Some(imbalance) => Time(imbalance.apply(time.ps(), rank)),
        }
    }
}

/// A factor, or a time.
fn read_span(section: &Section, name: &str) -> Result<RegionTime, Error> {
    if let Ok(factor) = section.required(name) {
        let scale = ComputeScale::new(factor).map_err(|message| section.error(name, message))?;
        return Ok(RegionTime::Scaled(scale));
    }
    let each: Duration = section
        .required(name)
        .map_err(|e| section.error(name, e.message + "; or a factor such as 0.25"))?;
    Ok(RegionTime::Each(Time(each.ps)))
}

/// A factor on computation in fixed point with 40 fractional bits, so that scaled times are the same on every
/// machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComputeScale {
    fixed: u64,
}

const FRACTION_BITS: u32 = 40;

impl Default for ComputeScale {
    fn default() -> ComputeScale {
        ComputeScale {
            fixed: 1 << FRACTION_BITS,
        }
    }
}

impl ComputeScale {
    /// Largest factor.
    pub const MAX: f64 = 16_777_215.0;

    /// The factor, rounded to a multiple of 2^-40. Zero makes computation free.
    ///
    /// # Errors
    /// The factor is not a number from 0 to [`ComputeScale::MAX`], or it rounds to zero without being zero.
    pub fn new(factor: f64) -> Result<ComputeScale, String> {
        let range = format!(
            "expected 0 (computation is free) or 1e-12 to {}",
            ComputeScale::MAX
        );
        if !(0.0..=ComputeScale::MAX).contains(&factor) {
            return Err(format!("{factor} is out of range; {range}"));
        }
        // A product with a power of two is exact, and the cast truncates, so every machine gets the same
        // result.
        let fixed = (factor * (1u64 << FRACTION_BITS) as f64 + 0.5) as u64;
        if fixed == 0 && factor > 0.0 {
            return Err(format!("{factor} is finer than this simulator resolves; {range}"));
        }
        Ok(ComputeScale { fixed })
    }

    /// The scaled time, rounded to the nearest picosecond and saturated.
    pub fn apply(self, time: Time) -> Time {
        let product = u128::from(time.ps()) * u128::from(self.fixed);
        let rounded = (product + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS;
        Time(u64::try_from(rounded).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, regions: &[&str]) -> Result<ComputeRule, Error> {
        let section = Section::from_toml(text, "x.toml").unwrap();
        let regions: Vec<String> = regions.iter().map(|name| name.to_string()).collect();
        let rule = ComputeRule::read(&section, &regions)?;
        section.finish().map(|_| rule)
    }

    #[test]
    fn scales_are_exact_and_bounded() {
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e-30, 2e7] {
            assert!(ComputeScale::new(wrong).unwrap_err().contains("expected 0"));
        }
        let scaled = |factor: f64, ps: u64| ComputeScale::new(factor).unwrap().apply(Time(ps)).ps();
        assert_eq!(scaled(1.0, u64::MAX), u64::MAX);
        assert_eq!(scaled(2.0, u64::MAX), u64::MAX);
        assert_eq!(scaled(0.5, 3), 2);
        assert_eq!(scaled(0.0, 3_000), 0);
        assert_eq!(scaled(0.1, 10_000_000_000), 1_000_000_000);
        assert_eq!(scaled(1.5, 1 << 50), 3 << 49);
    }

    #[test]
    fn rules_are_read_and_applied() {
        let ps = |rule: &ComputeRule, region| rule.apply(Time(1000), region, 0).ps();
        let as_recorded = read("", &[]).unwrap();
        assert_eq!(as_recorded, ComputeRule::default());
        assert_eq!(ps(&as_recorded, Some(7)), 1000);
        let off = read("compute = \"off\"", &["main"]).unwrap();
        assert_eq!((ps(&off, None), ps(&off, Some(0))), (0, 0));
        let each = read("compute = { each = \"10 us\" }", &[]).unwrap();
        assert_eq!(
            (ps(&each, None), each.apply(Time(0), None, 0)),
            (10_000_000, Time::from_ns(10_000))
        );
        // The factor of a region stands in the place of that of the rest, and two regions may have one name.
        let text = "compute = { scale = 0.5, regions = { \"Pair::compute\" = 0.25, fix = \"7 ps\" } }";
        let rule = read(text, &["main", "Pair::compute", "fix", "Pair::compute", "last"]).unwrap();
        let of: Vec<u64> = (0..6).map(|region| ps(&rule, Some(region))).collect();
        assert_eq!(of, [500, 250, 7, 250, 500, 500]);
        assert_eq!(ps(&rule, None), 500);
    }

    /// Ranks deviate as those of a phase with this imbalance and seed.
    #[test]
    fn ranks_deviate_from_any_rule() {
        let rule = read(
            "compute = { scale = 0.5, imbalance = 0.25, imbalance_seed = 3 }",
            &[],
        )
        .unwrap();
        let expected = Imbalance::new(0.25, 3).unwrap();
        for rank in 0..20 {
            let found = rule.apply(Time(2_000_000), None, rank).ps();
            assert_eq!(found, expected.apply(1_000_000, rank));
            assert!((750_000..=1_250_000).contains(&found), "{found}");
        }
        assert_ne!(
            rule.apply(Time(2_000_000), None, 0),
            rule.apply(Time(2_000_000), None, 1)
        );
        assert_eq!(
            read("compute = { imbalance = 0.0 }", &[]).unwrap(),
            ComputeRule::default()
        );
        let error = read("compute = { imbalance = 1.5 }", &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains("imbalance: 1.5 is out of range"), "{error}");
    }

    #[test]
    fn wrong_rules_are_refused_by_key() {
        for (text, needle) in [
            (
                "compute = \"of\"",
                "x.toml:1: compute: unknown name 'of'; expected \"off\", or a table",
            ),
            (
                "compute = 0.5",
                "compute: 0.5 is not a string in quotes; expected \"off\", or a table",
            ),
            (
                "\ncompute = { scale = -1 }",
                "x.toml:2: compute.scale: -1 is out of range",
            ),
            (
                "compute = { scale = 2.0, each = \"1 us\" }",
                "compute.each: conflicts with scale",
            ),
            ("compute = { each = 10 }", "compute.each: 10 has no unit"),
            ("compute = { factor = 2.0 }", "unknown key 'factor'"),
            (
                "compute = { regions = { \"Pair::compte\" = 0.5 } }",
                "compute.regions.Pair::compte: unknown name 'Pair::compte'; did you mean 'Pair::compute'?",
            ),
            (
                "compute = { regions = { main = -2.0 } }",
                "compute.regions.main: -2 is out of range",
            ),
            (
                "compute = { regions = { main = \"2\" } }",
                "compute.regions.main: ",
            ),
        ] {
            let message = read(text, &["main", "Pair::compute"]).unwrap_err().to_string();
            assert!(message.contains(needle), "{message}");
        }
        let message = read("compute = { regions = { main = 0.5 } }", &[])
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("distinguishes no regions of its code"),
            "{message}"
        );
    }
}
