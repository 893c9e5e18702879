//! Sizes that fit their ids: 32 bits for hosts and routers, 16 bits for ports.

use config::{Error, Section};

/// Reads a number that must not be zero.
///
/// # Errors
/// Missing (without a default), not a whole number, or zero.
pub(crate) fn positive(section: &Section, key: &str, default: Option<u32>) -> Result<u32, Error> {
    let value = match default {
        Some(default) => section.or(key, default)?,
        None => section.required(key)?,
    };
    nonzero(section, key, value)
}

/// Refuses zero.
pub(crate) fn nonzero(section: &Section, key: &str, value: u32) -> Result<u32, Error> {
    match value {
        0 => Err(section.error(key, "0 is not possible; expected at least 1")),
        value => Ok(value),
    }
}

/// The product as a number of hosts or routers (`what`); `key` is blamed if it does not fit 32 bits.
pub(crate) fn count(section: &Section, key: &str, what: &str, factors: &[u32]) -> Result<u32, Error> {
    let product = factors
        .iter()
        .try_fold(1u64, |product, factor| product.checked_mul(u64::from(*factor)));
    let fits = product.and_then(|product| u32::try_from(product).ok());
    fits.ok_or_else(|| {
        let written: Vec<String> = factors.iter().map(u32::to_string).collect();
        section.error(
            key,
            format!(
                "{} {what} are too many; expected at most {}",
                written.join(" x "),
                u32::MAX
            ),
        )
    })
}

/// The sum as a number of ports of one router; `key` is blamed if it does not fit 16 bits.
pub(crate) fn ports(section: &Section, key: &str, summands: &[u32]) -> Result<u16, Error> {
    let sum: u64 = summands.iter().map(|s| u64::from(*s)).sum();
    u16::try_from(sum).map_err(|_| {
        section.error(
            key,
            format!(
                "{sum} ports on a router are too many; expected at most {}",
                u16::MAX
            ),
        )
    })
}

/// A number with its noun: `1 host`, `4 hosts`.
pub(crate) fn counted(number: u32, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
