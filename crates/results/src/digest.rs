//! One hash over everything on which two runs of an experiment must agree.
//!
//! This file alone defines the hashed bytes: labels and lengths before contents, integers and IEEE 754 doubles in
//! little-endian order. So the digest is independent of the machine, the executor, the number of threads, and the
//! libraries that write files.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

use crate::{Histogram, Table};

/// A digest under construction. Content and order of the additions determine it.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    hasher: blake3::Hasher,
}

impl Digest {
    /// An empty digest.
    pub fn new() -> Digest {
        Digest::default()
    }

    /// Adds bytes under a label.
    pub fn bytes(&mut self, label: &str, bytes: &[u8]) -> &mut Digest {
        for part in [label.as_bytes(), bytes] {
            self.length(part.len());
            self.hasher.update(part);
        }
        self
    }

    /// Adds integers under a label.
    pub fn integers(&mut self, label: &str, values: &[u64]) -> &mut Digest {
        self.bytes(label, &[]);
        self.words(values);
        self
    }

    /// Adds the content of a histogram under a label.
    pub fn histogram(&mut self, label: &str, histogram: &Histogram) -> &mut Digest {
        self.bytes(label, &histogram.sum().to_le_bytes());
        let buckets: Vec<u64> = histogram.buckets().flat_map(|b| [b.low, b.count]).collect();
        self.words(&[histogram.count(), histogram.max()]);
        self.words(&buckets);
        self
    }

    /// Adds a table: its name, the names and types of its columns, all its cells.
    pub fn table(&mut self, table: &Table) -> &mut Digest {
        self.bytes("table", table.name().as_bytes());
        let batch = table.batch();
        self.words(&[batch.num_rows() as u64, batch.num_columns() as u64]);
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            self.bytes("column", field.name().as_bytes());
            if field.is_nullable() && !matches!(column.data_type(), DataType::Utf8) {
                self.bytes("filled", &[]).filled(column);
            }
            self.column(column);
        }
        self
    }

    /// The digest as 64 hexadecimal digits.
    pub fn finish(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    fn length(&mut self, length: usize) {
        self.hasher.update(&(length as u64).to_le_bytes());
    }

    fn words(&mut self, values: &[u64]) {
        self.length(values.len());
        self.cells(values, u64::to_le_bytes);
    }

    /// Hashes many small values through a buffer, because the hasher is faster with some thousands of bytes at a
    /// time.
    fn cells<T: Copy, const N: usize>(&mut self, values: &[T], bytes: impl Fn(T) -> [u8; N]) {
        let mut buffer = [0; 8192];
        for values in values.chunks(buffer.len() / N) {
            for (cell, value) in buffer.chunks_exact_mut(N).zip(values) {
                cell.copy_from_slice(&bytes(*value));
            }
            self.hasher.update(&buffer[..values.len() * N]);
        }
    }

    /// Which cells of a nullable column have values.
    fn filled(&mut self, column: &ArrayRef) {
        let filled: Vec<u8> = (0..column.len())
            .map(|row| u8::from(column.is_valid(row)))
            .collect();
        self.hasher.update(&filled);
    }

    fn column(&mut self, column: &ArrayRef) {
        match column.data_type() {
            DataType::UInt64 => {
                self.bytes("u64", &[]);
                self.words(column.as_primitive::<UInt64Type>().values());
            }
            DataType::UInt32 => {
                self.bytes("u32", &[]);
                self.cells(column.as_primitive::<UInt32Type>().values(), u32::to_le_bytes);
            }
            DataType::UInt8 => {
                self.bytes("u8", &[]);
                self.cells(column.as_primitive::<UInt8Type>().values(), u8::to_le_bytes);
            }
            DataType::Int32 => {
                self.bytes("i32", &[]);
                self.cells(column.as_primitive::<Int32Type>().values(), i32::to_le_bytes);
            }
            DataType::Float64 => {
                self.bytes("f64", &[]);
                for value in column.as_primitive::<Float64Type>().values() {
                    self.hasher.update(&value.to_bits().to_le_bytes());
                }
            }
            DataType::Boolean => {
                self.bytes("bool", &[]);
                for value in column.as_boolean() {
                    self.hasher.update(&[u8::from(value == Some(true))]);
                }
            }
            DataType::Utf8 => {
                self.bytes("text", &[]);
                for value in column.as_string::<i32>() {
                    // An empty cell differs from an empty text.
                    self.hasher.update(&[u8::from(value.is_some())]);
                    self.length(value.map_or(0, str::len));
                    self.hasher.update(value.unwrap_or("").as_bytes());
                }
            }
            other => unreachable!("no table has a column of type {other}"),
        }
    }
}

/// BLAKE3 of bytes in several pieces, as 64 hexadecimal digits.
pub fn hash(pieces: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for piece in pieces {
        hasher.update(piece);
    }
    hasher.finalize().to_hex().to_string()
}

/// A digest of integers as a plain value, which can be saved and continued elsewhere.
///
/// Each addition hashes the previous digest together with the addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    hash: [u8; 32],
}

impl Chain {
    /// An empty digest.
    pub fn new() -> Chain {
        Chain::default()
    }

    /// Adds integers under a label.
    pub fn integers(&mut self, label: &str, values: &[u64]) {
        let mut link = Digest::new();
        link.bytes("chain", &self.hash).integers(label, values);
        self.hash = link.hasher.finalize().into();
    }

    /// Adds a table.
    pub(crate) fn table(&mut self, table: &Table) {
        let mut link = Digest::new();
        link.bytes("chain", &self.hash).table(table);
        self.hash = link.hasher.finalize().into();
    }

    /// The digest as 64 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        blake3::Hash::from(self.hash).to_hex().to_string()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{HopsRow, hops_histogram};
    use std::sync::Arc;

    fn of(table: &Table) -> String {
        Digest::new().table(table).finish()
    }

    fn row() -> HopsRow {
        HopsRow {
            job: None,
            low_hops: 3,
            high_hops: 3,
            packets: 10,
        }
    }

    #[test]
    fn any_change_of_a_cell_changes_the_digest() {
        let changed = [
            hops_histogram([row()]),
            hops_histogram([]),
            hops_histogram([row(), row()]),
            hops_histogram([HopsRow {
                job: Some(Arc::from("")),
                ..row()
            }]),
            hops_histogram([HopsRow {
                job: Some(Arc::from("a")),
                ..row()
            }]),
            hops_histogram([HopsRow { low_hops: 2, ..row() }]),
            hops_histogram([HopsRow {
                high_hops: 4,
                ..row()
            }]),
            hops_histogram([HopsRow { packets: 11, ..row() }]),
        ];
        let digests: std::collections::BTreeSet<String> = changed.iter().map(of).collect();
        assert_eq!(digests.len(), changed.len());
    }

    #[test]
    fn what_goes_in_is_kept_apart() {
        let one = Digest::new().bytes("a", b"bc").finish();
        assert_ne!(one, Digest::new().bytes("ab", b"c").finish());
        assert_ne!(one, Digest::new().bytes("a", b"b").bytes("", b"c").finish());
        let pair = Digest::new().integers("x", &[1]).integers("x", &[2]).finish();
        assert_ne!(pair, Digest::new().integers("x", &[1, 2]).finish());
    }

    #[test]
    fn a_chain_depends_on_all_links_and_their_order() {
        let chain = |links: &[&[u64]]| {
            let mut chain = Chain::new();
            links.iter().for_each(|link| chain.integers("x", link));
            chain
        };
        assert_eq!(chain(&[&[1], &[2]]), chain(&[&[1], &[2]]));
        for other in [
            chain(&[]),
            chain(&[&[2], &[1]]),
            chain(&[&[1, 2]]),
            chain(&[&[2]]),
        ] {
            assert_ne!(chain(&[&[1], &[2]]), other);
        }
    }

    #[test]
    fn a_digest_is_the_same_on_every_machine() {
        let mut histogram = Histogram::new();
        histogram.record(1 << 40);
        let mut digest = Digest::new();
        digest
            .integers("network", &[1, 2, 3])
            .histogram("latency", &histogram)
            .table(&hops_histogram([row()]));
        // Recorded when the format was fixed. A change breaks comparison with older results.
        assert_eq!(
            digest.finish(),
            "6c4ad5dc58ffac2c9146be65fcdedec593884a719ec1ba72cf41dc8ccd355d29"
        );
    }
}
