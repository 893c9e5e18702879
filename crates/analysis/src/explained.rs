//! A critical path with what names its parts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::columns::{Name, NameColumn};
use crate::places::Link;
use crate::walk::Path;

/// A path with the names of links, ranks and calls.
pub(crate) struct Explained<'a> {
    pub links: BTreeMap<u32, Link>,
    pub names: &'a NameColumn,
    pub path: &'a Path,
}

impl Explained<'_> {
    pub fn text(&self, name: Name) -> Arc<str> {
        self.names.text(name).clone()
    }
}
