//! The error type of user input: the defect, its location, and what was expected.

use std::fmt;
use std::sync::Arc;

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
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// `, did you mean 'x'?` for the name of `known` nearest to `name`, or a list of all of them.
///
/// The distance is Damerau-Levenshtein. No name is suggested beyond a third of the name's length.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let folded = name.replace('_', "-").to_lowercase();
    let best = known
        .iter()
        .map(|k| {
            let k_folded = k.replace('_', "-").to_lowercase();
            (strsim::damerau_levenshtein(&folded, &k_folded), *k)
        })
        .min();
    match best {
        None => "; nothing is expected here".to_string(),
        Some((distance, k)) if distance <= name.len().div_ceil(3).max(2) => {
            format!("; did you mean '{k}'?")
        }
        Some(_) => format!("; expected one of: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
