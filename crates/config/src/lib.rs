//! Parameter tables with locations, from which configurable parts read their settings.
//!
//! A [`Section`] is one table of an experiment file. Parts ask it for keys, and it records them.
//! [`Section::finish`] then refuses unknown keys (naming the nearest valid one) and returns every setting with
//! its default filled in. All errors name file, line and key.
//!
//! This crate knows no key, no network and no simulation, except the short names of `alias.rs` in its errors.

mod alias;
mod error;
mod input;
mod parameter;
mod quantity;
mod section;
mod setting;
mod settings_file;

pub use alias::{Alias, KEY_ALIASES, NAME_ALIASES};
pub use error::{Error, Location, nearest, nearest_key, printable, shortened};
pub use input::{EXPERIMENT_BYTES, TEXT_BYTES, open_input, read_text};
pub use parameter::{DefaultValue, Parameter, Type};
pub use quantity::{Bandwidth, Bytes, Duration, Length, Power, RoundedRate};
pub use section::Section;
pub use setting::{AutoOrNumber, FreeText, NameOrSome, OneOrEach, OrNone, PrintableName, Setting, Value};
pub use settings_file::{Override, read_settings};
