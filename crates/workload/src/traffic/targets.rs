//! Target hosts of a pattern.

use config::{Error, OneOrEach, Section};

/// The hosts of the key `targets` in ascending order: a list of host numbers, or a number of hosts, spread
/// evenly over the job. The default is one.
///
/// # Errors
/// There are none or too many, or a number occurs twice.
pub(super) fn targets(section: &Section, hosts: u32) -> Result<Box<[u32]>, Error> {
    match section.or("targets", OneOrEach::One(1))? {
        OneOrEach::One(count) if (1..=hosts).contains(&count) => {
            let spread = |i: u32| (u64::from(i) * u64::from(hosts) / u64::from(count)) as u32;
            Ok((0..count).map(spread).collect())
        }
        OneOrEach::One(count) => Err(section.error(
            "targets",
            format!("{count} is out of range; expected 1 to {hosts} hosts, or a list of host numbers"),
        )),
        OneOrEach::Each(mut list) => {
            list.sort_unstable();
            if list.is_empty() {
                return Err(section.error("targets", "the list is empty; expected at least one host number"));
            }
            if let Some(far) = list.iter().find(|host| **host >= hosts) {
                let message = format!("there is no host {far}; expected 0 to {}", hosts - 1);
                return Err(section.error("targets", message));
            }
            if let Some(twice) = list.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(section.error("targets", format!("host {} is named twice", twice[0])));
            }
            Ok(list.into())
        }
    }
}
