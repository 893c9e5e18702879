//! Presets of real machines and of hardware families: `network.preset`, `network.hardware` and, as a part of a
//! machine, `network.hosts`.
//!
//! A preset is a file of `crates/experiment/presets`. It gives defaults of keys, each with its source or the reason why
//! it is assumed. [`apply`] writes them into the tables of an experiment before the parts read these, where the
//! experiment does not give the key. So the parts know no presets, and the result prints the values as any others.
//! `docs/machines.md` has the rules for users.

mod file;
mod machine_parts;

use config::{Error, Parameter, Section, Type, parameters};
use results::{AssumedValue, Assumptions, MeasuredError};

use file::PresetFile;
pub use file::{Origin, PresetValue};

/// Keys of `[network]` about presets.
pub const PARAMETERS: &[Parameter] = parameters! {
    computed("preset", Type::Text, "none", "machine whose values are defaults (fabricsim list machines)");
    computed("hardware", Type::Text, "that of the preset, or none",
        "hardware family whose values are defaults (fabricsim list hardware)");
    computed("hosts", Type::Integer, "all of the machine",
        "at least this many hosts: with a preset a part of the machine, as few whole groups, leaves or midplanes as have \
         them; with network.radix the smallest network that has them");
};

/// A preset as it is stored in the program.
#[derive(Debug)]
pub struct NetworkPreset {
    /// Name in experiments.
    pub name: &'static str,
    /// The file, in TOML.
    text: &'static str,
}

macro_rules! presets {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(NetworkPreset {
            name: $name,
            text: include_str!(concat!("../../../presets/", $folder, "/", $name, ".toml")),
        }),*]
    };
}

/// The machines, values of `network.preset`.
pub static MACHINES: &[NetworkPreset] = presets!("machines":
    "archer", "archer2", "aurora", "frontera", "frontier", "leonardo", "lumi", "lumi-c", "mira", "sequoia",
    "theta",
);

/// The hardware families, values of `network.hardware`.
pub static HARDWARE: &[NetworkPreset] = presets!("hardware":
    "aries", "blue-gene-q", "ethernet-12.8t", "ethernet-25.6t", "ethernet-51.2t", "infiniband-edr",
    "infiniband-hdr", "infiniband-hdr100", "infiniband-ndr", "omni-path-100", "slingshot-10", "slingshot-11",
    "tomahawk-ultra",
);

impl NetworkPreset {
    fn read(&self) -> Result<PresetFile, Error> {
        PresetFile::read(self.text, &format!("the preset {}", self.name))
    }

    /// What the preset is, in one line, and its values with their sources. A machine names its hardware, whose values
    /// are listed there.
    ///
    /// # Panics
    /// Its file is wrong, which tests exclude.
    pub fn listed(&self) -> (String, Vec<PresetValue>) {
        let file = self.read().unwrap_or_else(|error| panic!("{error}"));
        let hardware = file.hardware.map(|name| format!("; hardware: {name}"));
        let left_out = file.left_out.map(|what| format!("; left out: {what}"));
        let summary = file.summary + &hardware.unwrap_or_default() + &left_out.unwrap_or_default();
        let mut values: Vec<PresetValue> = file.machine.iter().flat_map(|machine| machine.listed()).collect();
        values.extend(file.values);
        (summary, values)
    }
}

/// The preset that `network.KEY` names; `None` if the key is not given.
fn named(
    network: &Section,
    key: &str,
    presets: &'static [NetworkPreset],
) -> Result<Option<PresetFile>, Error> {
    let Some(name) = network.optional::<String>(key)? else {
        return Ok(None);
    };
    match presets.iter().find(|preset| preset.name == name) {
        Some(preset) => preset.read().map(Some),
        None => {
            let known: Vec<&str> = presets.iter().map(|preset| preset.name).collect();
            let message = format!("unknown name '{name}'; expected one of: {}", known.join(", "));
            Err(network.error(key, message))
        }
    }
}

/// Refuses a network with fewer hosts than `network.hosts` asks for, which keys of the experiment can make.
///
/// # Errors
/// There are fewer.
pub fn check_hosts(network: &Section, hosts: u32) -> Result<(), Error> {
    match network.has("hosts") {
        true if network.required::<u32>("hosts")? > hosts => {
            let message = format!(
                "keys of this experiment override those that the number of hosts determines, and leave {hosts} hosts; \
                 expected at most that many, or no such key"
            );
            Err(network.error("hosts", message))
        }
        _ => Ok(()),
    }
}

/// Writes the values of the presets that an experiment names into its tables, where it does not give them itself. The
/// machine comes before its hardware. Without a preset nothing changes. Gives the written values that are assumed.
///
/// # Errors
/// Unknown names; `hosts` without a machine, or not in its range; a broken preset.
pub fn apply(root: &mut Section) -> Result<Assumptions, Error> {
    let mut assumptions = Assumptions::default();
    let given = |key: &str| root.gives(&format!("network.{key}"));
    if PARAMETERS.iter().all(|parameter| !given(parameter.name)) {
        return Ok(assumptions);
    }
    let network = root.section("network")?;
    let machine = named(network, "preset", MACHINES)?;
    if network.has("hosts") && machine.is_none() && !network.has("radix") {
        let message = "takes a part of a machine or sizes a topology; expected network.preset or network.radix beside it";
        return Err(network.error("hosts", message));
    }
    if let Some(machine) = machine {
        let name: String = network.required("preset")?;
        assumptions.measured = machine
            .study
            .clone()
            .map(|(study, points, median_percent)| MeasuredError {
                preset: name.clone(),
                study,
                points,
                median_percent,
            });
        assumptions.values = apply_machine(root, machine, &name)?;
    }
    let network = root.section("network")?;
    if let Some(hardware) = named(network, "hardware", HARDWARE)? {
        let name: String = network.required("hardware")?;
        let values = write(root, &hardware.values, &name, |_| true);
        assumptions.values.extend(values);
    }
    Ok(assumptions)
}

/// Writes the values of the machine `name`. Gives those that are assumed.
fn apply_machine(root: &mut Section, file: PresetFile, name: &str) -> Result<Vec<AssumedValue>, Error> {
    let network = root.section("network")?;
    // A topology or a routing of the user's own has parameters of its own.
    let own = |table: &str, key: &str| -> Result<bool, Error> {
        let path = format!("network.{table}.{key}");
        let of_preset = file.values.iter().find(|value| value.key == path);
        Ok(match (root.gives(&path), of_preset) {
            (true, Some(value)) => {
                network.section(table)?.optional::<String>(key)? != Some(value.value.clone())
            }
            (given, _) => given,
        })
    };
    let own_topology = own("topology", "kind")?;
    let own_routing = own("routing", "algorithm")?;
    let is_wanted = |key: &str| {
        let of_topology = key.starts_with("network.topology.")
            || (key.starts_with("network.links.") && !key.starts_with("network.links.host."));
        let is_replaced = own_topology && of_topology || own_routing && key.starts_with("network.routing.");
        !is_replaced
    };
    // With a radix, `sizing` reads the number of hosts.
    let hosts = match network.has("radix") {
        true if own_topology => None,
        true => {
            let message = "the preset has its own routers; expected no radix, or network.topology.kind of another topology";
            return Err(network.error("radix", message));
        }
        false => network.optional::<u32>("hosts")?,
    };
    let machine = file.machine.as_ref().expect("machines have hosts and parts");
    if own_topology && hosts.is_some() {
        let message = "takes a part of the preset's topology, and network.topology.kind names another; expected \
                       the keys of that topology instead, or network.radix beside it";
        return Err(network.error("hosts", message));
    }
    let part = machine
        .part(hosts.unwrap_or(machine.hosts))
        .map_err(|message| network.error("hosts", message))?;
    let mut values = file.values.clone();
    for value in &mut values {
        value.value = part.fill(value);
    }
    if let Some(hardware) = &file.hardware {
        values.push(file.own_value("network.hardware", hardware));
    }
    Ok(write(root, &values, name, is_wanted))
}

/// Writes the values of a preset that are wanted and not given. Gives those that are assumed.
fn write(
    root: &mut Section,
    values: &[PresetValue],
    preset: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<AssumedValue> {
    let mut assumed = Vec::new();
    for value in values {
        let is_replaced = value.instead.as_ref().is_some_and(|key| root.gives(key));
        if is_wanted(&value.key) && !is_replaced && !root.gives(&value.key) {
            // This fails only where the experiment has no table on the way. The part that reads the table says so, with
            // the line of the experiment.
            let _ = root.set_from(&value.key, &value.value, value.location.clone());
            if let Origin::Assumed(reason) = &value.origin {
                assumed.push(AssumedValue {
                    key: value.key.clone(),
                    value: value.value.clone(),
                    preset: Some(preset.into()),
                    reason: reason.clone(),
                });
            }
        }
    }
    assumed
}

#[cfg(test)]
mod tests;
