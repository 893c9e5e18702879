//! Results in the formats of other tools: what a run has written, once more, in the words of trace viewers,
//! spreadsheets and graph programs.
//!
//! This crate knows the tables of a result and the formats; it simulates nothing and adds nothing up that the tables
//! do not say. Tables are read batch by batch and written as they come, so that what an export needs in memory does
//! not grow with the length of a run. What each export holds is in `docs/exports.md`.

mod csv;
mod error;
mod folder;
mod format;
mod graphml;
mod otf2;
mod perfetto;
mod place;

pub use error::Error;
pub use format::{Exported, FORMATS, Format, Options, export};
