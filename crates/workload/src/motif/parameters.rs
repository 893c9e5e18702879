//! Parameters that several motifs have, and their ranges.

use config::{Bytes, Duration, Error, Parameter, Section};

/// Largest number of ranks: sums of bytes over all ranks fit 64 bits.
pub(super) const MAX_RANKS: u32 = 1 << 22;

/// Largest number of iterations, cells along a side and so on.
pub(super) const MAX_COUNT: u32 = 1_000_000_000;

/// Bytes of a message at most: 1 TiB.
const MAX_BYTES: u64 = 1 << 40;

/// Longest computation: 100 days.
const MAX_PS: u128 = 100 * 86_400 * 1_000_000_000_000;

/// A whole number from 1 to `max`.
pub(super) fn count(section: &Section, key: &str, max: u32) -> Result<u32, Error> {
    in_count(section, key, section.get(key)?, max)
}

/// Refuses a number that is not from 1 to `max`.
pub(super) fn in_count(section: &Section, key: &str, value: u32, max: u32) -> Result<u32, Error> {
    if !(1..=max).contains(&value) {
        let message = format!("{value} is out of range; expected 1 to {max}");
        return Err(section.error(key, message));
    }
    Ok(value)
}

/// Iterations.
pub(super) fn iterations(section: &Section) -> Result<u32, Error> {
    count(section, "iterations", MAX_COUNT)
}

/// Number of ranks of a motif without a grid.
pub(super) fn ranks(section: &Section) -> Result<u32, Error> {
    let ranks = section.required("ranks")?;
    ranks_in_range(section, ranks)
}

pub(super) fn ranks_in_range(section: &Section, ranks: u32) -> Result<u32, Error> {
    if !(1..=MAX_RANKS).contains(&ranks) {
        let message = format!("{ranks} is out of range; expected 1 to {MAX_RANKS}");
        return Err(section.error("ranks", message));
    }
    Ok(ranks)
}

/// Size of a message that is given as such; 0 is allowed.
pub(super) fn bytes(section: &Section, key: &str) -> Result<u64, Error> {
    let size = section.get::<Bytes>(key)?.bytes;
    in_range(section, key, u128::from(size))
}

/// Size of a message that is a product of `factors`, one of which is that of `key`.
pub(super) fn product(section: &Section, key: &str, factors: &[u64]) -> Result<u64, Error> {
    let product = factors
        .iter()
        .try_fold(1u128, |product, factor| product.checked_mul(u128::from(*factor)));
    in_range(section, key, product.unwrap_or(u128::MAX))
}

pub(super) fn in_range(section: &Section, key: &str, size: u128) -> Result<u64, Error> {
    match u64::try_from(size) {
        Ok(size) if size <= MAX_BYTES => Ok(size),
        _ => Err(section.error(key, "makes a message of more than 1 TiB")),
    }
}

/// Picoseconds of one computation over `cells` cells: `compute`, and `compute_per_cell` for each.
pub(super) fn compute(section: &Section, cells: &[u64]) -> Result<u64, Error> {
    let whole = section.get::<Duration>("compute")?.ps;
    let each = section.get::<Duration>("compute_per_cell")?.ps;
    let all = cells
        .iter()
        .try_fold(u128::from(each), |all, cells| all.checked_mul(u128::from(*cells)))
        .and_then(|all| all.checked_add(u128::from(whole)));
    match all {
        Some(ps) if ps <= MAX_PS => Ok(ps as u64),
        _ => Err(section.error(
            if each > 0 { "compute_per_cell" } else { "compute" },
            "makes a computation of more than 100 days",
        )),
    }
}

/// Computation of a rank in a published run of `ms` milliseconds, of which `communication` ten-thousandths are
/// communication.
pub(super) const fn computation_ps(ms: u64, communication: u64) -> u64 {
    ms * 1_000_000_000 / 10_000 * (10_000 - communication)
}

/// The key that [`published_compute`] reads.
pub(super) const PUBLISHED_COMPUTE: Parameter = Parameter::flag(
    "published_compute",
    false,
    "whether a rank computes for as long as in the published run, over all iterations, instead of compute",
);

/// The computation of a rank in the published run, if it is asked for.
pub(super) fn published_compute(section: &Section, ps: u64) -> Result<Option<u64>, Error> {
    if !section.get::<bool>(PUBLISHED_COMPUTE.name)? {
        return Ok(None);
    }
    if let Some(key) = ["compute", "compute_per_cell"]
        .into_iter()
        .find(|key| section.has(key))
    {
        let message = format!("goes without {key}, which it replaces; remove one of both");
        return Err(section.error(PUBLISHED_COMPUTE.name, message));
    }
    Ok(Some(ps))
}

/// Picoseconds of one computation without cells.
pub(super) fn pause(section: &Section) -> Result<u64, Error> {
    let whole = section.get::<Duration>("compute")?;
    pause_of(section, whole)
}

/// Picoseconds of one computation of the time `compute`.
pub(super) fn pause_of(section: &Section, compute: Duration) -> Result<u64, Error> {
    if u128::from(compute.ps) > MAX_PS {
        return Err(section.error("compute", "makes a computation of more than 100 days"));
    }
    Ok(compute.ps)
}

/// Cells along the sides of each rank's part of the problem.
pub(super) fn cells<const N: usize>(section: &Section, keys: [&str; N]) -> Result<[u64; N], Error> {
    let mut cells = [1; N];
    for (cell, key) in cells.iter_mut().zip(keys) {
        *cell = u64::from(count(section, key, MAX_COUNT)?);
    }
    Ok(cells)
}

/// Bytes per cell: `vars` numbers of `item_bytes`.
pub(super) fn cell_bytes(section: &Section) -> Result<[u64; 2], Error> {
    let vars = count(section, "vars", MAX_COUNT)?;
    let item = count(section, "item_bytes", MAX_COUNT)?;
    Ok([u64::from(vars), u64::from(item)])
}
