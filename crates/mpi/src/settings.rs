//! Parameters of the MPI layer.

use config::{Bandwidth, Bytes, DefaultValue, Duration, Error, OrNone, Parameter, Section, Type, parameters};
use des::Time;

use crate::{AlgorithmSelection, ComputeRule, Preset, presets};

/// Parameters of the MPI layer, the table `[mpi]` of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiSettings {
    /// Largest eager payload in bytes. Longer messages use rendezvous.
    pub eager_threshold: u64,
    /// Largest payload of a rendezvous that the sender copies, which completes its send; 0 disables the copy.
    pub copy_threshold: u64,
    /// Largest payload in bytes that no side copies, whatever the bandwidths of copies: it is in a packet that the CPU
    /// writes and reads anyway.
    pub short_threshold: u64,
    /// Bandwidth in bits per second at which the CPU of the sender copies payloads out of the buffer of the program;
    /// `None` for copies that take no time.
    pub send_copy_bandwidth: Option<u64>,
    /// Bandwidth in bits per second at which the CPU of the receiver copies eager payloads into the buffer of the
    /// program; `None` for copies that take no time.
    pub receive_copy_bandwidth: Option<u64>,
    /// Bandwidth in bits per second at which the CPU combines a received vector with its own in a reduction: 1/γ of
    /// Thakur, Rabenseifner and Gropp 2005, section 3. `None` for reductions that take no time.
    pub reduction_bandwidth: Option<u64>,
    /// CPU time of the sender per message: LogGP's `o` on the sending side.
    pub send_overhead: Time,
    /// CPU time of the receiver per message: LogGP's `o` on the receiving side.
    pub receive_overhead: Time,
    /// CPU time of the receiver per compared entry of a matching queue.
    pub matching_overhead: Time,
    /// CPU time of a test that completes nothing, and of an Iprobe; not zero.
    pub poll_overhead: Time,
    /// Minimum time between two messages from a host's ranks to its NIC: LogP's `g`.
    pub nic_gap: Time,
    /// Bytes on the wire of a request to send, clear to send, acknowledgement or get request.
    pub control_bytes: u64,
    /// Bytes on the wire of an eager message or rendezvous data beyond its payload.
    pub header_bytes: u64,
    /// Whether messages between two ranks are received in the order in which they were sent, as MPI requires. No key
    /// has it.
    pub keeps_order: bool,
    /// Scaling of computation.
    pub compute: ComputeRule,
    /// Selection of collective algorithms.
    pub collectives: AlgorithmSelection,
}

impl Default for MpiSettings {
    /// The defaults of [`MpiSettings::PARAMETERS`] and recorded computation.
    ///
    /// 300 ns of overhead on each side is the order of magnitude of present host fabrics; a measurement should
    /// replace it.
    fn default() -> MpiSettings {
        MpiSettings::read(&Section::empty("mpi")).expect("the defaults are valid")
    }
}

impl MpiSettings {
    /// Keys of `[mpi]`, beside the table `collectives`, with the defaults of the preset `none`.
    pub const PARAMETERS: &'static [Parameter] = parameters! {
        text("preset", "none", "name of the defaults (fabricsim list mpi-presets)");
        size("eager_threshold", "8 KiB", "largest message that is sent without asking first");
        size("copy_threshold", "0 B",
            "largest message beyond the eager threshold whose sender copies it and goes on");
        size("short_threshold", "0 B", "largest message that no side copies");
        computed("send_copy_bandwidth", Type::Rate, "copies take no time",
            "bandwidth at which the sender copies eager and buffered messages, in CPU time");
        computed("receive_copy_bandwidth", Type::Rate, "copies take no time",
            "bandwidth at which the receiver copies eager messages, in CPU time");
        new("reduction_bandwidth", Type::Either(&[Type::Rate, Type::Choice(&["none"])]),
            DefaultValue::Text("32 Gbps"),
            "bandwidth at which a rank combines a received vector with its own, in CPU time (the default is 4 GB/s); none: in no time");
        time("send_overhead", "300 ns", "CPU time of the sender per message");
        time("receive_overhead", "300 ns", "CPU time of the receiver per message");
        time("matching_overhead", "0 ps", "CPU time per entry of a matching queue that is looked at");
        time("poll_overhead", "100 ns", "CPU time of a test that completes nothing, and of an Iprobe");
        time("nic_gap", "0 ps", "least time between two messages that a host hands to its NIC (LogP's g)");
        size("control_size", "64 B",
            "size on the wire of a request to send, clear to send, acknowledgement or request of a get");
        size("header_size", "32 B", "bytes on the wire on top of each payload");
    };

    /// Keys whose defaults depend on the machine and come from no measurement of it, with the reason for the value.
    pub const ASSUMED: &'static [(&'static str, &'static str)] = &[
        ("send_overhead", "the order of magnitude of present host fabrics"),
        (
            "receive_overhead",
            "the order of magnitude of present host fabrics",
        ),
        (
            "reduction_bandwidth",
            "4 GB/s, as one core adds two vectors from memory at 3 to 5 GB/s",
        ),
    ];

    /// Reads the keys of `[mpi]` and `[mpi.collectives]`. `compute` belongs to the job, see
    /// [`ComputeRule::read`].
    ///
    /// # Errors
    /// A value has no unit or the wrong type, or an algorithm is unknown.
    pub fn read(section: &Section) -> Result<MpiSettings, Error> {
        section.declare(MpiSettings::PARAMETERS);
        let preset = presets::read(section)?;
        let threshold = |key: &str, bytes: u64| section.or(key, Bytes { bytes }).map(|size| size.bytes);
        let size = |key: &str| section.get(key).map(|size: Bytes| size.bytes);
        let time = |key: &str| section.get(key).map(|time: Duration| Time::from_ps(time.ps));
        Ok(MpiSettings {
            eager_threshold: threshold("eager_threshold", preset.eager_threshold)?,
            copy_threshold: threshold("copy_threshold", preset.copy_threshold)?,
            short_threshold: size("short_threshold")?,
            send_copy_bandwidth: bandwidth(section, "send_copy_bandwidth")?,
            receive_copy_bandwidth: bandwidth(section, "receive_copy_bandwidth")?,
            reduction_bandwidth: reduction_bandwidth(section)?,
            send_overhead: time("send_overhead")?,
            receive_overhead: time("receive_overhead")?,
            matching_overhead: time("matching_overhead")?,
            poll_overhead: poll_overhead(section)?,
            nic_gap: time("nic_gap")?,
            control_bytes: size("control_size")?,
            header_bytes: size("header_size")?,
            keeps_order: true,
            compute: ComputeRule::default(),
            collectives: AlgorithmSelection::read(section.section("collectives")?)?,
        })
    }
}

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

/// Without it, a program that tests until a message has come would stop the time.
fn poll_overhead(section: &Section) -> Result<Time, Error> {
    match section.get::<Duration>("poll_overhead")?.ps {
        0 => {
            let text = "a loop of tests would never end; expected a time such as \"100 ns\"";
            Err(section.error("poll_overhead", text))
        }
        ps => Ok(Time::from_ps(ps)),
    }
}

/// The bandwidth of work of the CPU, if it is given.
fn bandwidth(section: &Section, key: &str) -> Result<Option<u64>, Error> {
    not_zero(
        section,
        key,
        section.optional(key)?,
        "no key for work without time",
    )
}

/// The bandwidth of reductions, which have a default: one core adds two vectors from memory at 3 to 5 GB/s, and each
/// of these rates predicts the reductions of the study `real-machines` with the same error.
fn reduction_bandwidth(section: &Section) -> Result<Option<u64>, Error> {
    let key = "reduction_bandwidth";
    let OrNone(rate) = section.get(key)?;
    not_zero(section, key, rate, "\"none\" for reductions without time")
}

/// Refuses a bandwidth of 0.
fn not_zero(
    section: &Section,
    key: &str,
    rate: Option<Bandwidth>,
    otherwise: &str,
) -> Result<Option<u64>, Error> {
    match rate {
        Some(Bandwidth { bits_per_s: 0 }) => {
            let message = format!("work at 0 bps never ends; expected a bandwidth above 0, or {otherwise}");
            Err(section.error(key, message))
        }
        rate => Ok(rate.map(|bandwidth| bandwidth.bits_per_s)),
    }
}

/// Time in which the CPU works off this many bytes at a bandwidth in bits per second, rounded up to a picosecond.
pub(crate) fn time_at(bytes: u64, bandwidth: Option<u64>) -> Time {
    const PS_BITS_PER_BYTE: u128 = 8_000_000_000_000;
    let Some(bits_per_s) = bandwidth else {
        return Time::ZERO;
    };
    let ps = (u128::from(bytes) * PS_BITS_PER_BYTE).div_ceil(u128::from(bits_per_s.max(1)));
    Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
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
            ("send_copy_bandwidth = 3", "send_copy_bandwidth: 3 has no unit"),
            (
                "\nreceive_copy_bandwidth = \"0 bps\"",
                "x.toml:2: receive_copy_bandwidth: ",
            ),
            (
                "reduction_bandwidth = \"0 B/s\"",
                "x.toml:1: reduction_bandwidth: work at 0 bps never ends; expected a bandwidth above 0, or \"none\"",
            ),
            ("reduction_bandwidth = \"fast\"", "or \"none\""),
            ("collectives = 3", "not a table"),
            (
                "preset = \"openmpi-tpc\"",
                "x.toml:1: preset: unknown name 'openmpi-tpc'; did you mean 'openmpi-tcp'",
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
    fn copies_take_time_only_at_a_given_bandwidth() {
        let settings = read("send_copy_bandwidth = \"10 GB/s\"\nshort_threshold = \"8 B\"").unwrap();
        assert_eq!(settings.send_copy_bandwidth, Some(80_000_000_000));
        assert_eq!(
            (settings.receive_copy_bandwidth, settings.short_threshold),
            (None, 8)
        );
        assert_eq!(time_at(1 << 60, None), Time::ZERO);
        assert_eq!(time_at(5, settings.send_copy_bandwidth), Time(500));
        // A third of a picosecond per byte, and more than 2^64 ps.
        assert_eq!(
            [1, 3, 4].map(|bytes| time_at(bytes, Some(24_000_000_000_000))),
            [1, 1, 2].map(Time)
        );
        assert_eq!(time_at(u64::MAX, Some(1)), Time(u64::MAX));
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
        let none = Section::empty("mpi");
        MpiSettings::read(&none).unwrap();
        let shown = none.finish().unwrap();
        for key in MpiSettings::PARAMETERS {
            assert_eq!(shown[key.name], key.default.to_json(), "{}", key.name);
        }
    }
}
