//! `fabricsim view`: result folders in the browser, as a page that asks this process for their tables.
//!
//! The server listens on the loopback interface only and answers only to names of it. It gives out what is
//! compiled into it (the page) and what it has found in the given folders when it started: names in requests are
//! looked up, never made into paths. It reads and changes nothing else.
//!
//! This crate knows the tables of a result by name and column (`docs/formats/tables.md`). It does not know how
//! they came about, and computes nothing that would have to be right twice: it cuts out rows and columns.

mod folder;
mod page;
mod server;
mod slice;
mod timeline;
mod wire;

pub use folder::OpenError;
pub use server::{BindError, StopSignal, View};
