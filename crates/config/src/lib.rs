//! Parameter tables with locations: what every configurable part reads its settings from.
//!
//! A [`Section`] is one table of an experiment file. A part asks it for keys; the section remembers
//! what was asked, so that [`Section::finish`] can refuse a key that nobody knows (naming the nearest
//! valid one) and can give back every setting with its default filled in. All errors name file, line
//! and key.
//!
//! This crate knows no key, no network and no simulation.

mod error;
mod parameter;
mod quantity;
mod section;

pub use error::{Error, Location, nearest};
pub use parameter::{DefaultValue, Parameter, Type};
pub use quantity::{Bandwidth, Bytes, Duration};
pub use section::{NameOrSome, OneOrEach, Section, Setting, Value};
