//! Hosts from a list of names in Slurm's notation: `nid[0001-0016,0020]`.
//!
//! Names are separated by commas. A bracket expands to each of its numbers and ranges, with as many digits as the first
//! number of the range. A name may have several brackets, of which the last one varies fastest. Source: the man pages
//! `scontrol(1)`, "show hostnames", and `slurm.conf(5)`, "NodeName".
//!
//! The host of a name is its number (the last digits) minus `first`. The number of `nid0004-hsn2` is 2.

use super::Placement;
use config::{Type, parameters};

pub(super) const KIND: Placement = Placement {
    name: "hostlist",
    summary: "the hosts that a Slurm hostlist names by their numbers, such as nid[0001-0016,0020]",
    parameters: parameters! {
        required("hostlist", Type::Text, "names, with ranges in brackets");
        integer("first", 0, "number in the name of host 0");
    },
    names_hosts: true,
    order: |section, site| {
        let text: String = section.required("hostlist")?;
        let first: u64 = section.get("first")?;
        let wrong = |message: String| section.error("hostlist", message);
        let mut named = Vec::new();
        for name in names(&text, site.hosts as usize).map_err(wrong)? {
            let number = number(&name).map_err(wrong)?;
            let Some(host) = number.checked_sub(first) else {
                return Err(wrong(format!(
                    "{name}: its number is below that of host 0, first = {first}"
                )));
            };
            named.push((name, host));
        }
        site.named(section, "hostlist", named)
    },
};

/// Expands a list to at most `most` names.
fn names(text: &str, most: usize) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for part in parts(text)? {
        let more = expanded(part.trim(), most)?;
        if all.len() + more.len() > most {
            return Err(too_many(most));
        }
        all.extend(more);
    }
    Ok(all)
}

fn too_many(most: usize) -> String {
    format!("names more than the {most} hosts of the network")
}

/// The parts between commas outside of brackets.
fn parts(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '[' if inside => return Err(format!("'{text}' has a bracket within a bracket")),
            ']' if !inside => return Err(format!("'{text}' has a ] without a [")),
            '[' | ']' => inside = !inside,
            ',' if !inside => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(format!("'{text}' has a [ without a ]"));
    }
    parts.push(&text[start..]);
    Ok(parts)
}

/// Expands one part with any number of brackets.
fn expanded(part: &str, most: usize) -> Result<Vec<String>, String> {
    if part.is_empty() {
        return Err("has an empty name; expected names separated by single commas".into());
    }
    let mut names = vec![String::new()];
    let mut rest = part;
    while let Some((before, bracket)) = rest.split_once('[') {
        let (ranges, behind) = bracket.split_once(']').unwrap_or((bracket, ""));
        let numbers = numbers(ranges, most)?;
        if names.len() * numbers.len() > most {
            return Err(too_many(most));
        }
        let with = |name: &String| -> Vec<String> {
            numbers
                .iter()
                .map(|number| format!("{name}{before}{number}"))
                .collect()
        };
        names = names.iter().flat_map(with).collect();
        rest = behind;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// The numbers of a bracket, with their leading zeros.
fn numbers(ranges: &str, most: usize) -> Result<Vec<String>, String> {
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let wrong =
            || format!("'[{ranges}]': '{range}' is not a range; expected numbers such as 3 or 001-016");
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(low) || !is_number(high) {
            return Err(wrong());
        }
        let (from, to): (u64, u64) = match (low.parse(), high.parse()) {
            (Ok(from), Ok(to)) => (from, to),
            _ => return Err(wrong()),
        };
        if to < from {
            return Err(format!(
                "'[{ranges}]': '{range}' is descending; expected the lower number first"
            ));
        }
        if to - from >= (most - numbers.len().min(most)) as u64 {
            return Err(too_many(most));
        }
        let width = low.len();
        numbers.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(numbers)
}

/// The number of a name: its last digits.
fn number(name: &str) -> Result<u64, String> {
    let end = name.rfind(|c: char| c.is_ascii_digit()).map(|at| at + 1);
    let end = end.ok_or_else(|| format!("{name} has no number; expected names such as nid0012"))?;
    let start = name[..end].rfind(|c: char| !c.is_ascii_digit());
    let start = start.map_or(0, |at| at + name[at..].chars().next().map_or(1, char::len_utf8));
    let digits = &name[start..end];
    digits
        .parse()
        .map_err(|_| format!("{name}: its number {digits} is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str) -> String {
        names(text, 40).unwrap_or_else(|e| panic!("{e}")).join(" ")
    }

    #[test]
    fn lists_are_expanded_as_slurm_does() {
        assert_eq!(expand("nid[0008-0010,0020]"), "nid0008 nid0009 nid0010 nid0020");
        assert_eq!(expand("a[8-11]"), "a8 a9 a10 a11");
        assert_eq!(expand("a[098-101]"), "a098 a099 a100 a101");
        assert_eq!(expand("login, c3,d[1,5-6]-ib"), "login c3 d1-ib d5-ib d6-ib");
        assert_eq!(expand("r[0-1]n[00-02]"), "r0n00 r0n01 r0n02 r1n00 r1n01 r1n02");
        assert_eq!(expand("n[0-1][8-9]"), "n08 n09 n18 n19");
        assert_eq!(expand("n[0-39]").split(' ').count(), 40);
    }

    #[test]
    fn a_name_stands_for_its_last_number() {
        for (name, host) in [("nid0012", 12), ("7", 7), ("r3n5-ib", 5), ("c0-2é", 2), ("é4", 4)] {
            assert_eq!(number(name), Ok(host), "{name}");
        }
        assert!(number("login").unwrap_err().contains("has no number"));
        assert!(number("n99999999999999999999").unwrap_err().contains("too large"));
    }

    #[test]
    fn broken_lists_are_refused() {
        for (text, needle) in [
            ("", "empty name"),
            ("a1,,a2", "empty name"),
            ("a[1-3", "a [ without a ]"),
            ("a1-3]", "a ] without a ["),
            ("a[[1]]", "a bracket within a bracket"),
            ("a[]", "'' is not a range"),
            ("a[1-]", "'1-' is not a range"),
            ("a[1-2-3]", "'1-2-3' is not a range"),
            ("a[x]", "'x' is not a range"),
            ("a[99999999999999999999]", "is not a range"),
            ("a[5-3]", "'5-3' is descending"),
            ("a[0-18446744073709551615]", "more than the 40 hosts"),
            ("a[0-9][0-9]", "more than the 40 hosts"),
            ("a[0-39],b", "more than the 40 hosts"),
        ] {
            let message = names(text, 40).unwrap_err();
            assert!(message.contains(needle), "{text}: {message}");
        }
    }
}
