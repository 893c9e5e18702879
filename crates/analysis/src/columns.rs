//! Interned texts: states, regions, reasons and jobs as small numbers.

use std::collections::HashMap;
use std::sync::Arc;

/// Texts by number, each stored once.
#[derive(Default)]
pub(crate) struct NameColumn {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

/// Number of a text in [`NameColumn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(u32);

impl NameColumn {
    /// The number of a text.
    pub fn number(&mut self, text: &str) -> Name {
        if let Some(number) = self.numbers.get(text) {
            return Name(*number);
        }
        let (text, number): (Arc<str>, _) = (text.into(), self.texts.len() as u32);
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        Name(number)
    }

    /// The text of a number.
    pub fn text(&self, name: Name) -> &Arc<str> {
        &self.texts[name.0 as usize]
    }
}
