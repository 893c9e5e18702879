//! Sizes as read from an experiment, and checks that they fit their ids: 32 bits for hosts and routers, 16 for ports.

use config::{Error, OneOrEach, Section};

/// Why a required parameter may be left out.
pub(crate) const SIZED: &str = "network.hosts";

/// Reads a number that must not be zero.
///
/// # Errors
/// The value is missing (without a default), not a whole number, or zero.
pub(crate) fn positive(section: &Section, key: &str) -> Result<u32, Error> {
    nonzero(section, key, section.get(key)?)
}

/// Reads a number that must not be zero, with a computed default.
///
/// # Errors
/// The value is not a whole number, or zero.
pub(crate) fn positive_or(section: &Section, key: &str, default: u32) -> Result<u32, Error> {
    nonzero(section, key, section.or(key, default)?)
}

/// Refuses zero.
pub(crate) fn nonzero(section: &Section, key: &str, value: u32) -> Result<u32, Error> {
    match value {
        0 => Err(section.error(key, "0 is not possible; expected at least 1")),
        value => Ok(value),
    }
}

/// The largest number of dimensions of a torus or mesh.
pub(crate) const MOST_DIMENSIONS: usize = 12;

/// The largest number of dimensions of other topologies: one bit of routing state per dimension has to fit into a
/// byte.
pub(crate) const FEW_DIMENSIONS: usize = 8;

/// Reads the size of each dimension.
///
/// # Errors
/// The value is missing, not a list of whole numbers, of a wrong length, or contains a zero.
pub(crate) fn sizes(section: &Section, key: &str, most: usize) -> Result<Vec<u32>, Error> {
    let sizes: Vec<u32> = section.required(key)?;
    if sizes.is_empty() || sizes.len() > most {
        let text = format!("{} dimensions; expected 1 to {most}", sizes.len());
        return Err(section.error(key, text));
    }
    for size in &sizes {
        nonzero(section, key, *size)?;
    }
    Ok(sizes)
}

/// Reads a number for each dimension, or one for all of them.
///
/// # Errors
/// The value is missing, not a number or a list of them, of a wrong length, or contains a zero.
pub(crate) fn each(section: &Section, key: &str, dimensions: usize) -> Result<Vec<u32>, Error> {
    let numbers = match section.get(key)? {
        OneOrEach::One(number) => vec![number; dimensions],
        OneOrEach::Each(numbers) => numbers,
    };
    if numbers.len() != dimensions {
        return Err(section.error(
            key,
            format!(
                "{} for {}; expected one number, or a list of {dimensions}",
                counted(numbers.len() as u32, "number"),
                counted(dimensions as u32, "dimension"),
            ),
        ));
    }
    for number in &numbers {
        nonzero(section, key, *number)?;
    }
    Ok(numbers)
}

/// The product as a number of hosts or routers (`what`). An error names `key` if the product does not fit 32 bits.
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

/// The sum as a number of ports of one router. An error names `key` if the sum does not fit 16 bits.
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
