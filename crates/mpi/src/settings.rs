//! Parameters of the MPI layer.

use config::{Bytes, Duration, Error, Section};
use des::Time;

use crate::{Algorithms, ComputeRule};

/// Parameters of the MPI layer, the table `[mpi]` of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Largest payload in bytes that is sent eagerly; a longer one asks first (rendezvous).
    pub eager_threshold: u64,
    /// CPU time of the sender per message: LogGP's `o` on the sending side.
    pub send_overhead: Time,
    /// CPU time of the receiver per message: LogGP's `o` on the receiving side.
    pub receive_overhead: Time,
    /// Bytes on the wire of a request to send and of a clear to send.
    pub control_bytes: u64,
    /// Bytes on the wire that an eager message or rendezvous data has on top of its payload.
    pub header_bytes: u64,
    /// How long computations of the program take.
    pub compute: ComputeRule,
    /// Algorithm of each collective.
    pub collectives: Algorithms,
}

impl Default for Settings {
    /// 8 KiB eager threshold; 300 ns of overhead on each side, the order of magnitude of present
    /// host fabrics, to be replaced by a measurement of the machine in question; 64 B control
    /// messages; 32 B headers; computation as recorded.
    fn default() -> Settings {
        Settings {
            eager_threshold: 8 << 10,
            send_overhead: Time::from_ns(300),
            receive_overhead: Time::from_ns(300),
            control_bytes: 64,
            header_bytes: 32,
            compute: ComputeRule::default(),
            collectives: Algorithms::default(),
        }
    }
}

impl Settings {
    /// Names and meaning of the keys that [`Settings::read`] knows, for help and documentation.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        (
            "eager_threshold",
            "largest message that is sent without asking first; default 8 KiB",
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
            "control_size",
            "size on the wire of a request to send or clear to send; default 64 B",
        ),
        (
            "header_size",
            "bytes on the wire on top of each payload; default 32 B",
        ),
        (
            "collectives",
            "table: algorithm of each collective, for example allreduce = \"recursive-doubling\"",
        ),
    ];

    /// Reads the keys of `[mpi]` and `[mpi.collectives]`; `compute` stands with the job, see [`ComputeRule::read`].
    ///
    /// # Errors
    /// A value without unit, of the wrong type, or an unknown algorithm.
    pub fn read(section: &Section) -> Result<Settings, Error> {
        let default = Settings::default();
        let size = |key: &str, bytes: u64| section.or(key, Bytes { bytes }).map(|size| size.bytes);
        let time = |key: &str, time: Time| {
            section
                .or(key, Duration { ps: time.ps() })
                .map(|duration| Time::from_ps(duration.ps))
        };
        Ok(Settings {
            eager_threshold: size("eager_threshold", default.eager_threshold)?,
            send_overhead: time("send_overhead", default.send_overhead)?,
            receive_overhead: time("receive_overhead", default.receive_overhead)?,
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
    use workload::Collective;

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
        assert_eq!(shown["mpi"]["collectives"]["allreduce"], "recursive-doubling");
        for (key, _) in Settings::PARAMETERS {
            assert!(!shown["mpi"][key].is_null(), "{key}");
        }
        assert_eq!(settings.collectives.of(Collective::Bcast).name, "binomial");
    }
}
