//! The file of a preset, read as an experiment is: unknown keys are errors with their line.

use config::{Error, Location, Section};
use serde::Serialize;

use super::machine_parts::{Machine, MachineParts};

/// Where a number comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A public source that states it, or from whose numbers it is derived, as the text says.
    Source(String),
    /// No source that can be relied on states it; the text says why this number was taken.
    Assumed(String),
}

/// The value of one key in a preset.
#[derive(Clone, Debug, Serialize)]
pub struct PresetValue {
    /// Path of the key in an experiment, such as `network.link.latency`; `hosts` and `part` for the size of a machine
    /// and of its parts.
    pub key: String,
    /// The value as `--set` reads it. `{parts}`, `{3 * parts}` and `{sizes}` stand for numbers that depend on the
    /// part of the machine.
    pub value: String,
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// Whether the value is a number of links between two parts of the whole machine, and fewer parts share the links
    /// of those that are missing.
    #[serde(skip)]
    pub is_shared_by_parts: bool,
    /// Path of a key that excludes this one: if an experiment gives it, this value is left out.
    #[serde(skip)]
    pub instead: Option<String>,
    /// Its place in the file of the preset.
    #[serde(skip)]
    pub location: Location,
}

/// The contents of a preset.
#[derive(Clone, Debug)]
pub struct PresetFile {
    /// One line about it.
    pub summary: String,
    /// Name of the hardware family of a machine.
    pub hardware: Option<String>,
    /// What a machine has and the preset does not model.
    pub left_out: Option<String>,
    /// Study, number of measured times, and median error in percent of their predictions.
    pub study: Option<(String, u32, u32)>,
    /// Size and parts; only machines have them.
    pub machine: Option<Machine>,
    /// The values, in the order of the file.
    pub values: Vec<PresetValue>,
    location: Location,
}

impl PresetFile {
    /// Reads the text of a preset; `name` is its name in messages.
    ///
    /// # Errors
    /// A syntax error, an unknown or a missing key, a key with two values, a value with neither or both of source and
    /// assumption.
    pub fn read(text: &str, name: &str) -> Result<PresetFile, Error> {
        let file = Section::from_toml(text, name)?;
        let mut values: Vec<PresetValue> = Vec::new();
        for table in file.sections("value")? {
            let value = PresetValue {
                key: table.required("key")?,
                value: table.required("value")?,
                origin: origin(table)?,
                is_shared_by_parts: table.or("shared_by_parts", false)?,
                instead: table.optional("unless")?,
                location: table.location("value"),
            };
            if values.iter().any(|other| other.key == value.key) {
                return Err(table.error("key", format!("{} has a value already", value.key)));
            }
            values.push(value);
        }
        let machine = match file.has("hosts") {
            true => Some(Machine::read(file.section("hosts")?, file.section("part")?)?),
            false => None,
        };
        let study = match file.has("study") {
            true => {
                let table = file.section("study")?;
                Some((
                    table.required("name")?,
                    table.required("points")?,
                    table.required("median_percent")?,
                ))
            }
            false => None,
        };
        let preset = PresetFile {
            study,
            summary: file.required("summary")?,
            hardware: file.optional("hardware")?,
            left_out: file.optional("left_out")?,
            machine,
            values,
            location: file.location("summary"),
        };
        file.finish()?;
        Ok(preset)
    }

    /// A value that follows from the file as a whole.
    pub fn own_value(&self, key: &str, value: &str) -> PresetValue {
        PresetValue {
            key: key.into(),
            value: value.into(),
            origin: Origin::Source(self.summary.clone()),
            is_shared_by_parts: false,
            instead: None,
            location: self.location.clone(),
        }
    }
}

/// The key `source` or `assumed` of a table.
pub(super) fn origin(table: &Section) -> Result<Origin, Error> {
    let source: Option<String> = table.optional("source")?;
    let assumed: Option<String> = table.optional("assumed")?;
    let origin = match (source, assumed) {
        (Some(source), None) => Origin::Source(source),
        (None, Some(reason)) => Origin::Assumed(reason),
        _ => {
            let message = "each number has one of source and assumed; expected exactly one of these keys";
            return Err(table.error("", message));
        }
    };
    let (Origin::Source(text) | Origin::Assumed(text)) = &origin;
    if text.trim().is_empty() || (matches!(origin, Origin::Source(_)) && text.contains("unverified")) {
        return Err(table.error(
            "source",
            "an empty or unverified source; expected the key assumed, with the reason",
        ));
    }
    Ok(origin)
}

impl Machine {
    /// Size of the machine and its parts, as `fabricsim list` shows them beside the values.
    pub(super) fn listed(&self) -> [PresetValue; 2] {
        let value = |key: &str, value: String, origin: &Origin| PresetValue {
            key: key.into(),
            value,
            origin: origin.clone(),
            is_shared_by_parts: false,
            instead: None,
            location: self.location.clone(),
        };
        let part = match &self.parts {
            MachineParts::Equal { hosts } => format!("{} of {hosts} hosts", self.part_name),
            MachineParts::Boxes { sizes, .. } => {
                let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
                format!("{} of {} hosts", self.part_name, sizes.join(" x "))
            }
        };
        [
            value("hosts", self.hosts.to_string(), &self.hosts_origin),
            value("part", part, &self.part_origin),
        ]
    }
}
