//! `fabricsim view`: result folders in the browser, as a page that requests their tables from this process.
//!
//! The server listens on the loopback interface only and accepts only its own host names. It serves the compiled-in
//! page and the tables that it found in the given folders at the start. Names in requests are looked up and never
//! become paths. It reads nothing else and changes nothing.
//!
//! This crate knows the tables of a result by name and column (`docs/formats/tables.md`). It selects rows and
//! columns. It does not know how the tables were computed, and derives no results from them; verdicts are those of
//! `results`.

mod answer;
mod catalogue;
mod communication;
mod connection;
mod folder;
mod page;
mod query;
mod server;
mod slice;
mod timeline;
mod wire;

pub use folder::OpenError;
pub use server::{BindError, StopSignal, View};
