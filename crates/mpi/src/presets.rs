//! Thresholds of MPI libraries, and of other simulators' models, by name.
//!
//! A preset gives the defaults of some keys of `[mpi]`; given keys override it. Values come from public sources
//! only. Presets have no overheads, which depend on the machine.

use config::{Error, Section};

use crate::MpiSettings;

/// One named set of thresholds.
#[derive(Debug)]
pub struct Preset {
    /// Name in experiments.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Source of the numbers.
    pub source: &'static str,
    /// [`MpiSettings::eager_threshold`] in bytes.
    pub eager_threshold: u64,
    /// [`MpiSettings::copy_threshold`] in bytes.
    pub copy_threshold: u64,
}

/// All presets. The first one is the default.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "none",
        summary: "the defaults of each key",
        source: "docs/methods/mpi.md",
        eager_threshold: 8 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "psm2",
        summary: "Omni-Path's PSM2 on Xeon: eager up to 64,000 B",
        source: "cornelisnetworks/opa-psm2, psm_config.h: MQ_HFI_THRESH_RNDV_XEON; the same in sstsimulator/sst-elements, \
                 src/sst/elements/ember/test/chamaPSMParams.py: shortMsgLength",
        eager_threshold: 64_000,
        copy_threshold: 0,
    },
    Preset {
        name: "openmpi-tcp",
        summary: "Open MPI over TCP: eager up to 64 KiB",
        source: "open-mpi/ompi, opal/mca/btl/tcp/btl_tcp_component.c: btl_eager_limit",
        eager_threshold: 64 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "mpich-ch3",
        summary: "MPICH's device ch3: eager up to 128 KiB",
        source: "pmodels/mpich, src/mpid/ch3/src/mpid_vc.c: MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE",
        eager_threshold: 128 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "sst-macro",
        summary: "SST/macro's defaults: eager up to 512 B, copied and fetched up to 8 KiB, then rendezvous",
        source: "sstsimulator/sst-macro, sumi-mpi/mpi_queue/mpi_queue.cc: max_vshort_msg_size, max_eager_msg_size",
        eager_threshold: 512,
        copy_threshold: 8 << 10,
    },
    Preset {
        name: "sst-macro-opa",
        summary: "SST/macro's cluster of Omni-Path: eager up to 16,000 B, copied and fetched up to 64,000 B",
        source: "sstsimulator/sst-macro, configurations/opa24_amm3.ini: max_vshort_msg_size, max_eager_msg_size",
        eager_threshold: 16_000,
        copy_threshold: 64_000,
    },
    Preset {
        name: "sst-firefly",
        summary: "SST's Firefly as Ember sets it: eager up to 12,000 B",
        source: "sstsimulator/sst-elements, src/sst/elements/firefly/pyfirefly.py: shortMsgLength",
        eager_threshold: 12_000,
        copy_threshold: 0,
    },
    Preset {
        name: "codes",
        summary: "CODES' MPI replay: eager below 8 KiB",
        source: "codes-org/codes, src/network-workloads/model-net-mpi-replay.c: EAGER_THRESHOLD",
        eager_threshold: (8 << 10) - 1,
        copy_threshold: 0,
    },
    Preset {
        name: "tracer",
        summary: "TraceR: eager up to 8 KiB",
        source: "hpcgroup/TraceR, tracer/tracer-driver.C: eager_limit",
        eager_threshold: 8 << 10,
        copy_threshold: 0,
    },
];

impl Preset {
    /// The settings of the preset.
    pub fn settings(&self) -> MpiSettings {
        MpiSettings {
            eager_threshold: self.eager_threshold,
            copy_threshold: self.copy_threshold,
            ..MpiSettings::default()
        }
    }
}

/// Reads the key `preset`.
///
/// # Errors
/// The name is unknown.
pub(crate) fn read(section: &Section) -> Result<&'static Preset, Error> {
    let name: String = section.get("preset")?;
    let found = PRESETS.iter().find(|preset| preset.name == name);
    found.ok_or_else(|| section.unknown_name("preset", &name, PRESETS.iter().map(|preset| preset.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> MpiSettings {
        MpiSettings::read(&Section::from_toml(text, "x.toml").unwrap()).unwrap()
    }

    #[test]
    fn each_preset_gives_defaults_that_keys_override() {
        for preset in PRESETS {
            let named = settings(&format!("preset = \"{}\"", preset.name));
            assert_eq!(named, preset.settings(), "{}", preset.name);
            let text = format!("preset = \"{}\"\neager_threshold = \"3 B\"", preset.name);
            let overridden = settings(&text);
            assert_eq!(overridden.eager_threshold, 3);
            assert_eq!(overridden.copy_threshold, preset.copy_threshold);
            assert!(!preset.summary.is_empty() && !preset.source.is_empty());
        }
        assert_eq!(settings("preset = \"psm2\"").eager_threshold, 64_000);
        assert_eq!(settings("preset = \"mpich-ch3\"").eager_threshold, 131_072);
    }

    #[test]
    fn without_a_name_nothing_changes() {
        assert_eq!(settings(""), MpiSettings::default());
        assert_eq!(PRESETS[0].settings(), MpiSettings::default());
    }
}
