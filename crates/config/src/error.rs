//! The error type of user input: the defect, its location, and what was expected.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::alias::{Alias, KEY_ALIASES, NAME_ALIASES, fold, meant};

/// Location of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// File name as the user gave it, or a description such as `--set`.
    pub file: Arc<str>,
    /// Line, from 1; 0 if there are no lines (`--set`, a Python dict).
    pub line: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}", self.file)
        } else {
            write!(f, "{}:{}", self.file, self.line)
        }
    }
}

/// An error in user input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Location of the setting, if it has one.
    pub location: Option<Location>,
    /// Full key, for example `network.topology.groups`; empty if the error concerns no key.
    pub key: String,
    /// What is wrong and what was expected.
    pub message: String,
}

impl Error {
    /// An error that concerns no single key.
    pub fn general(message: impl Into<String>) -> Self {
        Error {
            location: None,
            key: String::new(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.location {
            write!(f, "{location}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", shortened(&self.key))?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// A text for a terminal: control characters other than line breaks and tabs are escaped, so that text of others cannot
/// move the cursor or change the title of a window.
pub fn printable(text: &str) -> Cow<'_, str> {
    let harmless = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if text.chars().all(harmless) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match harmless(c) {
            true => escaped.push(c),
            false => escaped.extend(c.escape_unicode()),
        }
    }
    escaped.into()
}

/// A user's text in a message, with its middle left out if it is long.
pub fn shortened(text: &str) -> String {
    const HALF: usize = 40;
    let characters = text.chars().count();
    if characters <= 2 * HALF {
        return text.into();
    }
    let first: String = text.chars().take(HALF).collect();
    let last: String = text.chars().skip(characters - HALF).collect();
    format!("{first}...{last} ({characters} characters)")
}

/// `; did you mean 'x'?` for the name of `known` that `name` stands for ([`NAME_ALIASES`]) or else is nearest to it, or
/// a list of all of them.
///
/// The distance is Damerau-Levenshtein. No name is suggested beyond a third of the name's length.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    guess(NAME_ALIASES, name, known.into_iter().collect())
}

/// As [`nearest`], of a key of an experiment ([`KEY_ALIASES`]).
pub fn nearest_key<'a>(key: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    guess(KEY_ALIASES, key, known.into_iter().collect())
}

fn guess(aliases: &[Alias], name: &str, known: Vec<&str>) -> String {
    if let Some(meant) = meant(aliases, name, &known) {
        return format!("; did you mean {meant}?");
    }
    let folded = fold(name);
    let length = folded.chars().count();
    let best = known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(&folded, &fold(k)), *k))
        .min();
    match best {
        None => "; nothing is expected here".to_string(),
        // A distance of the whole length is no likeness.
        Some((distance, k)) if distance <= length.div_ceil(3).max(2) && distance < length.max(1) => {
            format!("; did you mean '{k}'?")
        }
        Some(_) => format!("; expected one of: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\tb\nµ"), "a\tb\nµ");
        assert_eq!(printable("\u{1b}]0;x\u{7}\u{9b}"), "\\u{1b}]0;x\\u{7}\\u{9b}");
    }

    #[test]
    fn nearest_guesses_or_lists() {
        assert_eq!(
            nearest("bandwith", ["bandwidth", "latency"]),
            "; did you mean 'bandwidth'?"
        );
        assert_eq!(
            nearest("hosts-per-router", ["hosts_per_router"]),
            "; did you mean 'hosts_per_router'?"
        );
        assert_eq!(
            nearest("colour", ["bandwidth", "latency"]),
            "; expected one of: bandwidth, latency"
        );
        assert_eq!(nearest("k", ["q", "seed"]), "; expected one of: q, seed");
        assert_eq!(
            nearest("dfly", ["dragonfly", "torus"]),
            "; did you mean 'dragonfly'?"
        );
        assert_eq!(
            nearest_key("p", ["q", "hosts_per_router"]),
            "; did you mean 'hosts_per_router'?"
        );
    }
}
