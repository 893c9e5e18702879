//! A traffic matrix from a file: the destinations of each host's messages.
//!
//! CSV with one row `source,destination,weight` for each communicating pair of hosts: host numbers of the job
//! and a whole number such as bytes, in any order. Repeated pairs add up. A first line with these three words,
//! empty lines and lines that begin with `#` are skipped. Memory is proportional to the rows.
//!
//! Weights divide the messages of one source: each source with a row sends at the job's load, the others are
//! silent. Rows from a host to itself are skipped, as they do not enter the network.

use config::{Type, parameters};
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::{Pattern, PatternKind, TrafficRandom};

pub(super) const KIND: PatternKind = PatternKind {
    name: "matrix",
    summary: "shares of each source's messages by destination, from a CSV file",
    parameters: parameters! {
        required("file", Type::Path, "rows source,destination,weight; relative to the experiment's file");
    },
    example: "file = \"matrix.csv\"\n",
    build: |section, place| {
        let file: String = section.required("file")?;
        let matrix = Matrix::read(&place.folder.join(&file), place.hosts)
            .map_err(|message| section.error("file", format!("{file}{message}")))?;
        Ok(Box::new(matrix) as Box<dyn Pattern>)
    },
};

/// One row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MatrixRow {
    source: u32,
    destination: u32,
    weight: u64,
}

struct Matrix {
    /// Start of each source's destinations, and the number of all destinations.
    first: Box<[usize]>,
    destinations: Box<[u32]>,
    /// Cumulative weights of a source's destinations.
    cumulative: Box<[u64]>,
}

impl Matrix {
    /// The error follows the file name.
    fn read(path: &Path, hosts: u32) -> Result<Matrix, String> {
        let file = config::open_input(path, config::TEXT_BYTES).map_err(|error| format!(": {error}"))?;
        let mut rows = Vec::new();
        for (index, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(|error| format!(":{}: {error}", index + 1))?;
            let row = row(&line, index == 0, hosts);
            rows.extend(row.map_err(|message| format!(":{}: {message}", index + 1))?);
        }
        if rows.is_empty() {
            return Err(": no row has a weight between two hosts; expected source,destination,weight".into());
        }
        Matrix::new(rows, hosts)
    }

    fn new(mut rows: Vec<MatrixRow>, hosts: u32) -> Result<Matrix, String> {
        rows.sort_unstable();
        let mut cumulative = Vec::with_capacity(rows.len());
        let (mut source, mut sum) = (u32::MAX, 0u64);
        for row in &rows {
            if row.source != source {
                (source, sum) = (row.source, 0);
            }
            let too_large = || format!(": the weights of source {source} add up to 2^64 or more");
            sum = sum.checked_add(row.weight).ok_or_else(too_large)?;
            cumulative.push(sum);
        }
        let first = (0..=hosts).map(|host| rows.partition_point(|row| row.source < host));
        Ok(Matrix {
            first: first.collect(),
            destinations: rows.iter().map(|row| row.destination).collect(),
            cumulative: cumulative.into(),
        })
    }

    fn row(&self, source: u32) -> (&[u32], &[u64]) {
        let row = self.first[source as usize]..self.first[source as usize + 1];
        (&self.destinations[row.clone()], &self.cumulative[row])
    }
}

/// The row of a line; `None` if it is skipped.
fn row(line: &str, is_first: bool, hosts: u32) -> Result<Option<MatrixRow>, String> {
    let line = line.trim_start_matches('\u{feff}').trim();
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let is_header = is_first && fields == ["source", "destination", "weight"];
    if line.is_empty() || line.starts_with('#') || is_header {
        return Ok(None);
    }
    let [source, destination, weight] = fields[..] else {
        return Err(format!(
            "{} values; expected three: source,destination,weight",
            fields.len()
        ));
    };
    let host = |text: &str| match text.parse::<u32>() {
        Ok(host) if host < hosts => Ok(host),
        _ => Err(format!(
            "'{text}' is no host of the job; expected 0 to {}",
            hosts - 1
        )),
    };
    let (source, destination) = (host(source)?, host(destination)?);
    let weight = weight
        .parse::<u64>()
        .map_err(|_| format!("weight '{weight}' is not a whole number below 2^64"))?;
    let row = MatrixRow {
        source,
        destination,
        weight,
    };
    Ok((weight > 0 && source != destination).then_some(row))
}

impl Pattern for Matrix {
    fn destination(&self, source: u32, _: u32, _: u64, random: &mut dyn TrafficRandom) -> Option<u32> {
        let (destinations, cumulative) = self.row(source);
        let drawn = random.below(*cumulative.last()?);
        Some(destinations[cumulative.partition_point(|sum| *sum <= drawn)])
    }

    fn shares(&self, source: u32, _: u32, each: &mut dyn FnMut(u32, f64)) {
        let (destinations, cumulative) = self.row(source);
        let mut before = 0;
        for (destination, sum) in destinations.iter().zip(cumulative) {
            each(
                *destination,
                (sum - before) as f64 / cumulative[cumulative.len() - 1] as f64,
            );
            before = *sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{check_shares, shares};
    use super::*;

    fn read(text: &str) -> Result<Matrix, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("matrix.csv");
        std::fs::write(&path, text).unwrap();
        Matrix::read(&path, 6)
    }

    #[test]
    fn weights_are_shares() {
        let text =
            "source,destination,weight\n# a comment\n5,0,3\n\n 0 , 1 , 2 \n0,2,5\n0,1,1\n3,3,9\n4,1,0\n";
        let matrix = read(text).unwrap();
        let sum = |source| {
            let mut sums = std::collections::BTreeMap::new();
            shares(&matrix, source, 6).iter().for_each(|(host, share)| {
                *sums.entry(*host).or_insert(0.0) += share;
            });
            sums.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(sum(0), [(1, 0.375), (2, 0.625)]);
        assert_eq!(sum(5), [(0, 1.0)]);
        for silent in [1, 2, 3, 4] {
            assert_eq!(sum(silent), []);
        }
        check_shares(&matrix, 6);
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| read(text).map(|_| ()).unwrap_err();
        assert_eq!(
            error("0,1,2\n0,6,1\n"),
            ":2: '6' is no host of the job; expected 0 to 5"
        );
        assert!(error("0,1\n").starts_with(":1: 2 values; expected three"));
        assert!(error("0,1,2\n0,1,1.5\n").starts_with(":2: weight '1.5' is not a whole number"));
        assert!(error("0,1,2\n\n0,1,-1\n").starts_with(":3: weight '-1'"));
        assert!(error("0,1,2\nsource,destination,weight\n").starts_with(":2: 'source' is no host"));
        assert!(error("0,1,0\n2,2,7\n").contains("no row has a weight"));
        let half = u64::MAX / 2 + 1;
        assert!(error(&format!("1,0,{half}\n1,2,{half}\n")).contains("source 1 add up to 2^64"));
        let none = Matrix::read(Path::new("no/such/file.csv"), 6)
            .map(|_| ())
            .unwrap_err();
        assert!(none.starts_with(": "), "{none}");
    }

    #[test]
    fn weights_as_large_as_can_be() {
        let matrix = read(&format!("1,0,{}\n1,2,1\n", u64::MAX - 1)).unwrap();
        check_shares(&matrix, 6);
    }
}
