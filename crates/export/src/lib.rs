//! Exports results in the formats of other tools: trace viewers, spreadsheets and graph programs.
//!
//! This crate knows the tables of a result and the formats. It simulates nothing and derives nothing that the tables
//! do not contain. It reads and writes tables batch by batch, so that memory is independent of the length of a run.
//! `docs/exports.md` describes the content of each export.

mod csv;
mod error;
mod folder;
mod format;
mod graphml;
mod otf2;
mod perfetto;
mod place;

pub use error::Error;
pub use format::{ExportFormat, Exported, FORMATS, Options, export};
