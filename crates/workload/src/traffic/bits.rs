//! Host numbers as bits, for patterns that rearrange them.

use config::{Error, Section};

use super::PatternContext;

/// Number of bits of a host number.
///
/// # Errors
/// The number of hosts is not a power of two.
pub(super) fn bits(section: &Section, place: &PatternContext<'_>) -> Result<u32, Error> {
    let hosts = place.hosts;
    if hosts.is_power_of_two() {
        return Ok(hosts.ilog2());
    }
    let below = 1u32 << hosts.ilog2();
    let message = format!(
        "rearranges the bits of host numbers; expected a power of two hosts, and the job has {hosts}; \
         hosts = {below} takes the first {below}"
    );
    Err(section.error("pattern", message))
}
