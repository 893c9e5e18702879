//! Locations of links: their names from the table `links`, and names for groups of links.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use results::{BatchColumns, WrongColumn, read_batches};

use crate::Error;
use crate::tables::unreadable;

/// Bandwidths of all links, 8 bytes each.
pub(crate) struct Bandwidths(Vec<u64>);

/// Class and ends of a link in words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Link {
    pub class: String,
    pub from: String,
    pub to: String,
}

/// The unit to which a link is attributed: a host, a router, or a group of routers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkPlace {
    /// `host`, `router`, `group`, `pod`.
    pub unit: &'static str,
    pub number: u64,
}

impl Bandwidths {
    pub fn read(folder: &Path) -> Result<Bandwidths, Error> {
        let mut all = Vec::new();
        scan(folder, &["link", "bandwidth_bits_per_s"], |columns| {
            let (links, bandwidths) = (
                columns.short_integers("link")?,
                columns.integers("bandwidth_bits_per_s")?,
            );
            for (link, bandwidth) in links.iter().zip(bandwidths) {
                if *link as usize != all.len() {
                    return Err(WrongColumn(format!(
                        "it has link {link} where {} is expected",
                        all.len()
                    )));
                }
                all.push(bandwidth);
            }
            Ok(())
        })?;
        Ok(Bandwidths(all))
    }

    /// Serialisation time of `bytes` on the link in picoseconds, rounded up; 0 for an unknown link.
    pub fn serialization(&self, link: u32, bytes: u32) -> u64 {
        let bandwidth = self.0.get(link as usize).copied().unwrap_or(0);
        let bit_picoseconds = u128::from(bytes) * 8 * 1_000_000_000_000;
        if bandwidth == 0 {
            return 0;
        }
        u64::try_from(bit_picoseconds.div_ceil(u128::from(bandwidth))).unwrap_or(u64::MAX)
    }
}

/// The links of these numbers.
pub(crate) fn links(folder: &Path, wanted: &BTreeSet<u32>) -> Result<BTreeMap<u32, Link>, Error> {
    let mut found = BTreeMap::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    scan(folder, &["link", "class", "from", "to"], |columns| {
        let (links, classes) = (columns.short_integers("link")?, columns.texts("class")?);
        let (from, to) = (columns.texts("from")?, columns.texts("to")?);
        for (row, link) in links.iter().enumerate().filter(|(_, link)| wanted.contains(link)) {
            let text = |text: Option<&str>| text.unwrap_or_default().to_string();
            let class = text(classes.get(row));
            let (from, to) = (text(from.get(row)), text(to.get(row)));
            found.insert(*link, Link { class, from, to });
        }
        Ok(())
    })?;
    Ok(found)
}

/// Reads the table `links` in batches.
fn scan(
    folder: &Path,
    columns: &[&str],
    mut see: impl FnMut(&BatchColumns<'_>) -> Result<(), WrongColumn>,
) -> Result<(), Error> {
    let path = folder.join("links.parquet");
    let failed = |source| unreadable(&path, source);
    for batch in read_batches(&path, Some(columns)).map_err(failed)?.1 {
        let batch = batch.map_err(failed)?;
        see(&BatchColumns::new(&batch)).map_err(|WrongColumn(why)| Error::Foreign {
            path: path.clone(),
            why,
        })?;
    }
    Ok(())
}

impl Link {
    /// The unit of the link. Injection and ejection links belong to their host. Other links belong to the group or
    /// pod of the router at which they begin if its coordinates name one, otherwise to that router.
    pub fn site(&self) -> Option<LinkPlace> {
        let at = match self.class.as_str() {
            "ejection" => &self.to,
            _ => &self.from,
        };
        ["group", "pod", "router", "host"].into_iter().find_map(|unit| {
            let number = number_after(at, unit)?;
            Some(LinkPlace { unit, number })
        })
    }
}

/// The number after the first occurrence of a word: 3 of `router 12 (group 3, router 0) port 5` for `group`, and 12
/// for `router`.
fn number_after(text: &str, word: &str) -> Option<u64> {
    let mut words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.find(|it| *it == word)?;
    words.next()?.parse().ok()
}

/// `global links of groups 3 to 7`. `most` says that further groups exist.
pub(crate) fn name(class: &str, unit: &str, numbers: &[u64], most: bool) -> String {
    let of = if most { ", most of them of" } else { " of" };
    let several = if numbers.len() == 1 { "" } else { "s" };
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    if ranges.len() > MOST_RANGES {
        return format!("{class} links of {} {unit}s", numbers.len());
    }
    let shown: Vec<String> = ranges
        .iter()
        .flat_map(|(first, last)| match last - first {
            0 => vec![first.to_string()],
            1 => vec![first.to_string(), last.to_string()],
            _ => vec![format!("{first} to {last}")],
        })
        .collect();
    let list = match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    };
    format!("{class} links{of} {unit}{several} {list}")
}

/// Maximum number of listed ranges.
const MOST_RANGES: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn site(class: &str, from: &str, to: &str) -> Option<(&'static str, u64)> {
        let (class, from, to) = (class.into(), from.into(), to.into());
        Link { class, from, to }
            .site()
            .map(|site| (site.unit, site.number))
    }

    #[test]
    fn links_are_counted_by_the_largest_thing_that_their_router_is_part_of() {
        let router = "router 12 (group 3, router 0) port 5";
        assert_eq!(
            site("global", router, "router 99 (group 9, router 1) port 4"),
            Some(("group", 3))
        );
        assert_eq!(site("injection", "host 7", router), Some(("host", 7)));
        assert_eq!(site("injection", "host 7 rail 1", router), Some(("host", 7)));
        assert_eq!(site("ejection", router, "host 8"), Some(("host", 8)));
        assert_eq!(
            site("up", "router 5 (pod 1, leaf 2) port 0", ""),
            Some(("pod", 1))
        );
        assert_eq!(site("link", "router 5 (1, 2) port 0", ""), Some(("router", 5)));
        assert_eq!(site("link", "", ""), None);
    }

    #[test]
    fn many_numbers_are_named_together() {
        assert_eq!(
            name("global", "group", &[3, 4, 5, 6, 7], false),
            "global links of groups 3 to 7"
        );
        assert_eq!(name("global", "group", &[3], false), "global links of group 3");
        assert_eq!(
            name("up", "pod", &[1, 2, 9], true),
            "up links, most of them of pods 1, 2 and 9"
        );
        assert_eq!(
            name("up", "pod", &[1, 3, 5, 7, 9, 11, 13], false),
            "up links of 7 pods"
        );
    }

    #[test]
    fn serialisation_is_rounded_up() {
        let links = Bandwidths(vec![100_000_000_000, 3_000_000_000]);
        assert_eq!(links.serialization(0, 256), 20_480);
        assert_eq!(links.serialization(1, 1), 2_667);
        assert_eq!(links.serialization(2, 1), 0);
    }
}
