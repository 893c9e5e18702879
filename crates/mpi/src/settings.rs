//! Parameters of the MPI layer.

use config::{Bytes, Duration, Error, Section};
use des::Time;

use crate::{Algorithms, presets};

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
    /// Factor on every computation of the program.
    pub compute_scale: ComputeScale,
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
            compute_scale: ComputeScale::default(),
            collectives: Algorithms::default(),
        }
    }
}

impl Settings {
    /// Names and meaning of the keys that [`Settings::read`] knows, for help and documentation.
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

    /// Reads the keys of `[mpi]` and `[mpi.collectives]`; `compute_scale` stands with the job.
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
            compute_scale: default.compute_scale,
            collectives: Algorithms::read(section.section("collectives")?)?,
        })
    }

    /// Sets the factor on every computation; see [`ComputeScale::new`].
    ///
    /// # Errors
    /// As [`ComputeScale::new`].
    pub fn set_compute_scale(&mut self, factor: f64) -> Result<(), String> {
        self.compute_scale = ComputeScale::new(factor)?;
        Ok(())
    }
}

/// A factor on computation, in fixed point with 40 fractional bits, so that scaled times are the
/// same on every machine.
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
    /// Not a number from 0 to [`ComputeScale::MAX`], or so small that nothing but zero is left.
    pub fn new(factor: f64) -> Result<ComputeScale, String> {
        let range = format!(
            "expected 0 (computation is free) or 1e-12 to {}",
            ComputeScale::MAX
        );
        if !(0.0..=ComputeScale::MAX).contains(&factor) {
            return Err(format!("{factor} is out of range; {range}"));
        }
        // A product with a power of two is exact, and the cast truncates: no library, one answer.
        let fixed = (factor * (1u64 << FRACTION_BITS) as f64 + 0.5) as u64;
        if fixed == 0 && factor > 0.0 {
            return Err(format!("{factor} is finer than this simulator resolves; {range}"));
        }
        Ok(ComputeScale { fixed })
    }

    /// The scaled time, rounded to the nearest picosecond; the end of time if it does not fit.
    pub fn apply(self, time: Time) -> Time {
        let product = u128::from(time.ps()) * u128::from(self.fixed);
        let rounded = (product + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS;
        Time(u64::try_from(rounded).unwrap_or(u64::MAX))
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
        for (key, _) in Settings::PARAMETERS {
            assert!(!shown["mpi"][key].is_null(), "{key}");
        }
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
        let mut settings = Settings::default();
        assert!(settings.set_compute_scale(-2.0).is_err());
        settings.set_compute_scale(0.25).unwrap();
        assert_eq!(settings.compute_scale.apply(Time(8)), Time(2));
    }
}
