//! Values of an experiment that are not measured: defaults without a source.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an experiment assumes, and how far that is known to be from measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Assumptions {
    /// Assumed values.
    pub values: Vec<AssumedValue>,
    /// Errors of predictions with the machine's preset. `None` without a preset, or without a study of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredError>,
}

impl Assumptions {
    /// Whether nothing is assumed.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The assumed value of a key.
    pub fn get(&self, key: &str) -> Option<&AssumedValue> {
        self.values.iter().find(|value| value.key == key)
    }
}

/// A value that an experiment uses without giving it, and that no public source states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssumedValue {
    /// Its key, such as `network.links.global.latency`.
    pub key: String,
    /// The value, as `--set` reads it.
    pub value: String,
    /// The preset that has it. `None` for a default of FabricSim.
    pub preset: Option<String>,
    /// Why it is this value.
    pub reason: String,
}

impl fmt::Display for AssumedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.key, self.value)
    }
}

/// How far predictions with the preset of a machine are from measurements, by a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredError {
    /// The preset.
    pub preset: String,
    /// Name of the study, a folder of `studies`.
    pub study: String,
    /// Measured times that were predicted.
    pub points: u32,
    /// Median of the relative errors without sign, in percent.
    pub median_percent: u32,
}
