//! Parameters of the MPI layer.

use config::{Bytes, Duration, Error, Section};
use des::Time;

use crate::{AlgorithmSelection, ComputeRule, presets};

/// Parameters of the MPI layer, the table `[mpi]` of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiSettings {
    /// Largest eager payload in bytes. Longer messages use rendezvous.
    pub eager_threshold: u64,
    /// Largest payload of a rendezvous that the sender copies, which completes its send; 0 disables the copy.
    pub copy_threshold: u64,
    /// CPU time of the sender per message: LogGP's `o` on the sending side.
    pub send_overhead: Time,
    /// CPU time of the receiver per message: LogGP's `o` on the receiving side.
    pub receive_overhead: Time,
    /// CPU time of the receiver per compared entry of a matching queue.
    pub matching_overhead: Time,
    /// Minimum time between two messages from a host's ranks to its NIC: LogP's `g`.
    pub nic_gap: Time,
    /// Bytes on the wire of a request to send, clear to send, acknowledgement or get request.
    pub control_bytes: u64,
    /// Bytes on the wire of an eager message or rendezvous data beyond its payload.
    pub header_bytes: u64,
    /// Scaling of computation.
    pub compute: ComputeRule,
    /// Selection of collective algorithms.
    pub collectives: AlgorithmSelection,
}

impl Default for MpiSettings {
    /// 8 KiB eager threshold; 300 ns of overhead on each side, the order of magnitude of present host fabrics,
    /// to be replaced by a measurement; 64 B control messages; 32 B headers; recorded computation.
    fn default() -> MpiSettings {
        MpiSettings {
            eager_threshold: 8 << 10,
            copy_threshold: 0,
            send_overhead: Time::from_ns(300),
            receive_overhead: Time::from_ns(300),
            matching_overhead: Time::ZERO,
            nic_gap: Time::ZERO,
            control_bytes: 64,
            header_bytes: 32,
            compute: ComputeRule::default(),
            collectives: AlgorithmSelection::default(),
        }
    }
}

impl MpiSettings {
    /// Names and meaning of the keys that [`MpiSettings::read`] knows, for help and documentation.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        (
            "preset",
            "default of the keys that are not given, by name (fabricsim list mpi-presets); default none",
        ),
        (
            "eager_threshold",
            "largest message that is sent without asking first; default 8 KiB",
        ),
        (
            "copy_threshold",
            "largest message beyond the eager threshold whose sender copies it and goes on; default 0 B: none",
        ),
        (
            "send_overhead",
            "CPU time of the sender per message; default 300 ns",
        ),
        (
            "receive_overhead",
            "CPU time of the receiver per message; default 300 ns",
        ),
        (
            "matching_overhead",
            "CPU time per entry of a matching queue that is looked at; default 0 ps",
        ),
        (
            "nic_gap",
            "least time between two messages that a host hands to its NIC (LogP's g); default 0 ps",
        ),
        (
            "control_size",
            "size on the wire of a request to send, clear to send, acknowledgement or request of a get; default 64 B",
        ),
        (
            "header_size",
            "bytes on the wire on top of each payload; default 32 B",
        ),
        (
            "collectives",
            "table: algorithm of each collective, for example allreduce = \"ring\", or rules by size; default: table = \"thakur-2005\"",
        ),
    ];

    /// Reads the keys of `[mpi]` and `[mpi.collectives]`. `compute` belongs to the job, see
    /// [`ComputeRule::read`].
    ///
    /// # Errors
    /// A value has no unit or the wrong type, or an algorithm is unknown.
    pub fn read(section: &Section) -> Result<MpiSettings, Error> {
        let default = presets::read(section)?.settings();
        let size = |key: &str, bytes: u64| section.or(key, Bytes { bytes }).map(|size| size.bytes);
        let time = |key: &str, time: Time| {
            section
                .or(key, Duration { ps: time.ps() })
                .map(|duration| Time::from_ps(duration.ps))
        };
        Ok(MpiSettings {
            eager_threshold: size("eager_threshold", default.eager_threshold)?,
            copy_threshold: size("copy_threshold", default.copy_threshold)?,
            send_overhead: time("send_overhead", default.send_overhead)?,
            receive_overhead: time("receive_overhead", default.receive_overhead)?,
            matching_overhead: time("matching_overhead", default.matching_overhead)?,
            nic_gap: time("nic_gap", default.nic_gap)?,
            control_bytes: size("control_size", default.control_bytes)?,
            header_bytes: size("header_size", default.header_bytes)?,
            compute: default.compute,
            collectives: AlgorithmSelection::read(section.section("collectives")?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<MpiSettings, Error> {
        MpiSettings::read(&Section::from_toml(text, "x.toml").unwrap())
    }

    #[test]
    fn wrong_settings_are_refused() {
        for (text, needle) in [
            ("eager_threshold = 8192", "has no unit"),
            ("send_overhead = \"3 B\"", "unknown unit"),
            ("header_size = 3", "x.toml:1: header_size: 3 has no unit"),
            ("collectives = 3", "not a table"),
            (
                "preset = \"psm3\"",
                "x.toml:1: preset: unknown name 'psm3'; did you mean 'psm2'",
            ),
            (
                "\n[collectives]\nallreduce = \"recursive-dubling\"",
                "did you mean 'recursive-doubling'",
            ),
            (
                "[collectives]\nbarrier = \"pairwise\"",
                "collectives.barrier: unknown name 'pairwise'",
            ),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(needle), "{message}");
        }
    }

    #[test]
    fn defaults_are_printed_back() {
        let section = Section::from_toml("[mpi]\nsend_overhead = \"1 us\"", "x.toml").unwrap();
        let settings = MpiSettings::read(section.section("mpi").unwrap()).unwrap();
        assert_eq!(
            settings,
            MpiSettings {
                send_overhead: Time::from_ns(1000),
                ..MpiSettings::default()
            }
        );
        let shown = section.finish().unwrap();
        assert_eq!(shown["mpi"]["eager_threshold"], "8 KiB");
        assert_eq!(shown["mpi"]["collectives"]["barrier"], "dissemination");
        for (key, _) in MpiSettings::PARAMETERS {
            assert!(!shown["mpi"][key].is_null(), "{key}");
        }
    }
}
