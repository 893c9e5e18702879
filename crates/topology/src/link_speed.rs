//! Bandwidth and latency of links, as far as a topology itself gives them, and their limits.

use config::{Bandwidth, Duration};

/// Bandwidth and latency of a link class, as far as the topology gives them. Only a `graph` from a file does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkSpeed {
    /// Bandwidth of each direction.
    pub bandwidth: Option<Bandwidth>,
    /// Propagation delay of a cable.
    pub latency: Option<Duration>,
}

/// Slowest link, in bits per second.
pub const SLOWEST_BITS_PER_S: u64 = 1_000_000;

/// Fastest link, in bits per second. On a faster one, a packet of some hundred bytes would take less than the
/// resolution of time.
const FASTEST_BITS_PER_S: u64 = 1_000_000_000_000_000;

/// Longest delay of a cable. With it, no event exceeds the largest simulated time (213 days).
pub const LONGEST_LATENCY: Duration = Duration {
    ps: 1_000_000_000_000,
};

/// Checks the bandwidth of a link.
///
/// # Errors
/// A bandwidth below 1 Mbps or above 1000 Tbps.
pub fn check_bandwidth(bandwidth: Bandwidth) -> Result<(), String> {
    match bandwidth.bits_per_s {
        0..SLOWEST_BITS_PER_S => Err(format!("{bandwidth} is too slow; expected at least 1 Mbps")),
        SLOWEST_BITS_PER_S..=FASTEST_BITS_PER_S => Ok(()),
        _ => Err(format!("{bandwidth} is too fast; expected at most 1000 Tbps")),
    }
}

/// Checks the latency of a link.
///
/// # Errors
/// A latency of 0 or above 1 s.
pub fn check_latency(latency: Duration) -> Result<(), String> {
    if latency > LONGEST_LATENCY {
        return Err(format!(
            "{latency} is out of range; expected at most {LONGEST_LATENCY}"
        ));
    }
    if latency.ps == 0 {
        return Err("0 is out of range; expected at least \"1 ps\"".into());
    }
    Ok(())
}
