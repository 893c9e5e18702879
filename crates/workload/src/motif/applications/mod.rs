//! Applications: presets of the motif `phases` with a few parameters, for any number of ranks.
//!
//! A preset has a file `NAME.rs` with its parameters, and a file `NAME.toml` with its phases, in which `$name` is the
//! value of a parameter: a size in bytes, a time in picoseconds. The phases of a job are that text with its values,
//! read by `phases`.
//!
//! Source of the applications: Jain et al., *Predicting the Performance Impact of Different Fat-Tree Configurations*,
//! SC 2017, called P4 in the summaries of parameters. Their recordings are not public. Each parameter states its
//! source or that it is assumed. `docs/methods/applications.md` has the tables.

pub(super) mod atratus;
pub(super) mod hypre;
pub(super) mod mercury;
pub(super) mod milc;
pub(super) mod paradis;
pub(super) mod pf3d;
pub(super) mod qbox;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use config::{Bytes, Duration, Error, Parameter, Section, Type};

use super::parameters::{iterations, ranks};
use super::{Motif, phases};
use crate::Workload;

/// Source of all presets.
const SOURCE: &str = "Jain et al., SC 2017 (P4); see docs/methods/applications.md";

/// All presets, in the order of the source. Each is a motif too.
pub static PRESETS: &[Motif] = &[
    hypre::MOTIF,
    atratus::MOTIF,
    mercury::MOTIF,
    milc::MOTIF,
    paradis::MOTIF,
    pf3d::MOTIF,
    qbox::MOTIF,
];

/// The parameter `ranks` of every preset.
const RANKS: Parameter = Parameter::required("ranks", Type::Integer, "number of ranks");

/// The parameter `iterations` of every preset.
const ITERATIONS: Parameter = Parameter::integer("iterations", 1, "how many times all phases");

/// Default of the parameter `plane`.
const PLANE_DEFAULT: &str =
    "all ranks if these are less than 64, else their divisor from 64 to 256 that is nearest to 128";

/// Numbers that follow from parameters, by their names in the phases.
type Derived = Vec<(&'static str, u64)>;

/// The phases of a preset.
struct Application {
    parameters: &'static [Parameter],
    /// Name of the file with the phases, for errors.
    file: &'static str,
    /// The list `phases`, in TOML.
    phases: &'static str,
    /// Numbers in the phases that are no parameters with a constant default.
    derived: fn(&Section, u32) -> Result<Derived, Error>,
}

impl Application {
    fn build(&self, section: &Section) -> Result<Arc<dyn Workload>, Error> {
        let text = self.expand(section)?;
        let refused = |error: Error| {
            let message = format!("these parameters make phases that are refused: {error}");
            section.error("", message)
        };
        let phases = Section::from_toml(&text, self.file).map_err(refused)?;
        let motif = &phases::MOTIF;
        (motif.build)(phases.declare(motif.parameters)).map_err(refused)
    }

    /// The parameters of the motif `phases`, in TOML.
    fn expand(&self, section: &Section) -> Result<String, Error> {
        let ranks = ranks(section)?;
        let iterations = iterations(section)?;
        let mut values: Vec<(&str, String)> = (self.derived)(section, ranks)?
            .into_iter()
            .map(|(name, value)| (name, value.to_string()))
            .collect();
        for parameter in self.parameters {
            let name = parameter.name;
            if matches!(name, "ranks" | "iterations") || values.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let value = match parameter.kind {
                Type::Number => format!("{:?}", section.get::<f64>(name)?),
                Type::Time => section.get::<Duration>(name)?.ps.to_string(),
                Type::Size => section.get::<Bytes>(name)?.bytes.to_string(),
                _ => section.get::<u32>(name)?.to_string(),
            };
            values.push((name, value));
        }
        let phases = substituted(self.phases, &values);
        Ok(format!("ranks = {ranks}\niterations = {iterations}\n{phases}"))
    }
}

/// The text with the value of each `$name`. An unknown name remains, which is no valid TOML.
fn substituted(text: &str, values: &[(&str, String)]) -> String {
    let mut parts = text.split('$');
    let mut whole = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        match values.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => whole += value,
            None => whole += &format!("${name}"),
        }
        whole += rest;
    }
    whole
}

/// No derived numbers.
fn none(_: &Section, _: u32) -> Result<Derived, Error> {
    Ok(Vec::new())
}

/// Ranks of a default plane: at least, at most, and the preferred number.
const PLANE: (u32, u32, u32) = (64, 256, 128);

/// Ranks of a plane: the parameter `plane` and its default.
fn plane_of(section: &Section, ranks: u32) -> Result<u32, Error> {
    if section.has("plane") {
        let plane = section.required::<u32>("plane")?;
        if plane == 0 || !ranks.is_multiple_of(plane) {
            let message = format!("{plane} does not divide ranks = {ranks}; expected a divisor");
            return Err(section.error("plane", message));
        }
        return Ok(plane);
    }
    let Some(plane) = default_plane(ranks) else {
        let usable = |other: &u32| default_plane(*other).is_some();
        let below = (1..ranks).rev().find(usable).unwrap_or(1);
        let above = (ranks..=u32::MAX).find(usable).unwrap_or(below);
        let nearest = if ranks - below <= above - ranks {
            below
        } else {
            above
        };
        let message = format!(
            "{ranks} has no divisor from {} to {}, the ranks of a plane; expected another number, of which {nearest} is \
             the nearest, or plane, a divisor",
            PLANE.0, PLANE.1
        );
        return Err(section.error("ranks", message));
    };
    // Records the chosen number in the settings.
    section.or("plane", plane)
}

fn default_plane(ranks: u32) -> Option<u32> {
    let (least, most, preferred) = PLANE;
    if ranks < least {
        return Some(ranks);
    }
    (least..=most)
        .filter(|plane| ranks.is_multiple_of(*plane))
        .min_by_key(|plane| plane.abs_diff(preferred))
}
