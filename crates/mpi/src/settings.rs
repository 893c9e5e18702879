//! Parameters of the MPI layer.

use config::{Bytes, Duration, Error, Parameter, Section};
use des::Time;

use crate::{Algorithms, ComputeRule, presets};

/// Parameters of the MPI layer, the table `[mpi]` of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Largest payload in bytes that is sent eagerly; a longer one asks first (rendezvous).
    pub eager_threshold: u64,
    /// Largest payload of a rendezvous that the sender copies before it leaves, so that its send is complete
    /// with that; 0: none.
    pub copy_threshold: u64,
    /// CPU time of the sender per message: LogGP's `o` on the sending side.
    pub send_overhead: Time,
    /// CPU time of the receiver per message: LogGP's `o` on the receiving side.
    pub receive_overhead: Time,
    /// CPU time of the receiver per entry of a matching queue that is looked at.
    pub matching_overhead: Time,
    /// Least time between two messages that a host's ranks hand to its NIC: LogP's `g`.
    pub nic_gap: Time,
    /// Bytes on the wire of a request to send, a clear to send, an acknowledgement, and of what asks for a get.
    pub control_bytes: u64,
    /// Bytes on the wire that an eager message or rendezvous data has on top of its payload.
    pub header_bytes: u64,
    /// How long computations of the program take.
    pub compute: ComputeRule,
    /// Which algorithm carries out each collective.
    pub collectives: Algorithms,
}

impl Default for Settings {
    /// 8 KiB eager threshold; 300 ns of overhead on each side, the order of magnitude of present
    /// host fabrics, to be replaced by a measurement of the machine in question; 64 B control
    /// messages; 32 B headers; computation as recorded.
    fn default() -> Settings {
        Settings {
            eager_threshold: 8 << 10,
            copy_threshold: 0,
            send_overhead: Time::from_ns(300),
            receive_overhead: Time::from_ns(300),
            matching_overhead: Time::ZERO,
            nic_gap: Time::ZERO,
            control_bytes: 64,
            header_bytes: 32,
            compute: ComputeRule::default(),
            collectives: Algorithms::default(),
        }
    }
}

impl Settings {
    /// Keys of `[mpi]`, beside the table `collectives`, with the defaults of the preset `none`.
    pub const PARAMETERS: &'static [Parameter] = &[
        Parameter::text(
            "preset",
            "none",
            "name of the defaults (fabricsim list mpi-presets)",
        ),
        Parameter::size(
            "eager_threshold",
            "8 KiB",
            "largest message that is sent without asking first",
        ),
        Parameter::size(
            "copy_threshold",
            "0 B",
            "largest message beyond the eager threshold whose sender copies it and goes on",
        ),
        Parameter::time("send_overhead", "300 ns", "CPU time of the sender per message"),
        Parameter::time(
            "receive_overhead",
            "300 ns",
            "CPU time of the receiver per message",
        ),
        Parameter::time(
            "matching_overhead",
            "0 ps",
            "CPU time per entry of a matching queue that is looked at",
        ),
        Parameter::time(
            "nic_gap",
            "0 ps",
            "least time between two messages that a host hands to its NIC (LogP's g)",
        ),
        Parameter::size(
            "control_size",
            "64 B",
            "size on the wire of a request to send, clear to send, acknowledgement or request of a get",
        ),
        Parameter::size("header_size", "32 B", "bytes on the wire on top of each payload"),
    ];

    /// Reads the keys of `[mpi]` and `[mpi.collectives]`; `compute` stands with the job, see [`ComputeRule::read`].
    ///
    /// # Errors
    /// A value without unit, of the wrong type, or an unknown algorithm.
    pub fn read(section: &Section) -> Result<Settings, Error> {
        let default = presets::read(section)?.settings();
        let size = |key: &str, bytes: u64| section.or(key, Bytes { bytes }).map(|size| size.bytes);
        let time = |key: &str, time: Time| {
            section
                .or(key, Duration { ps: time.ps() })
                .map(|duration| Time::from_ps(duration.ps))
        };
        Ok(Settings {
            eager_threshold: size("eager_threshold", default.eager_threshold)?,
            copy_threshold: size("copy_threshold", default.copy_threshold)?,
            send_overhead: time("send_overhead", default.send_overhead)?,
            receive_overhead: time("receive_overhead", default.receive_overhead)?,
            matching_overhead: time("matching_overhead", default.matching_overhead)?,
            nic_gap: time("nic_gap", default.nic_gap)?,
            control_bytes: size("control_size", default.control_bytes)?,
            header_bytes: size("header_size", default.header_bytes)?,
            compute: default.compute,
            collectives: Algorithms::read(section.section("collectives")?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, Error> {
        Settings::read(&Section::from_toml(text, "x.toml").unwrap())
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
        let settings = Settings::read(section.section("mpi").unwrap()).unwrap();
        assert_eq!(
            settings,
            Settings {
                send_overhead: Time::from_ns(1000),
                ..Settings::default()
            }
        );
        let shown = section.finish().unwrap();
        assert_eq!(shown["mpi"]["eager_threshold"], "8 KiB");
        assert_eq!(shown["mpi"]["collectives"]["barrier"], "dissemination");
        let none = Section::empty("mpi");
        Settings::read(&none).unwrap();
        let shown = none.finish().unwrap();
        for key in Settings::PARAMETERS {
            assert_eq!(shown[key.name], key.default.to_json(), "{}", key.name);
        }
    }
}
