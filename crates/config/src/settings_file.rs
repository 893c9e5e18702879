//! Overrides of an experiment: single keys, and the keys of a TOML file.

use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Location};

/// A key of an experiment with another value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// Path of the key, such as `network.topology.groups`.
    pub key: String,
    /// The value in TOML, or a string.
    pub value: String,
    /// What gives it: an option of the command line, or a file.
    pub file: String,
    /// Line in the file, from 1; 0 without a file.
    pub line: u32,
}

impl Override {
    /// An override that an option of the command line gives, such as `--set`.
    pub fn by_option(option: &str, key: impl Into<String>, value: impl Into<String>) -> Override {
        Override {
            key: key.into(),
            value: value.into(),
            file: option.into(),
            line: 0,
        }
    }

    /// Where it is given.
    pub fn location(&self) -> Location {
        Location {
            file: self.file.as_str().into(),
            line: self.line,
        }
    }
}

/// A pair of key and value of `--set`.
impl From<(String, String)> for Override {
    fn from((key, value): (String, String)) -> Override {
        Override::by_option("--set", key, value)
    }
}

/// The settings of a TOML text, in the order of the keys. Tables become dots: `[network.link]` with
/// `latency = "50 ns"` is `network.link.latency`. `file` names the text in messages.
///
/// # Errors
/// A syntax error, with its line. A list of tables (`[[job]]`), since an override has no place in a list.
pub fn read_settings(text: &str, file: &str) -> Result<Vec<Override>, Error> {
    let line = |offset: usize| text[..offset.min(text.len())].matches('\n').count() as u32 + 1;
    let fail = |offset: usize, key: &str, message: String| Error {
        location: Some(Location {
            file: file.into(),
            line: line(offset),
        }),
        key: key.into(),
        message,
    };
    let table = DeTable::parse(text).map_err(|e| {
        let offset = e.span().map_or(0, |span| span.start);
        fail(offset, "", format!("not valid TOML: {}", e.message()))
    })?;
    let mut settings = Vec::new();
    // Tables that are not read yet, by their paths.
    let mut tables = vec![(String::new(), table.get_ref())];
    while let Some((path, table)) = tables.pop() {
        for (name, value) in table {
            let key = match path.as_str() {
                "" => name.get_ref().to_string(),
                path => format!("{path}.{}", name.get_ref()),
            };
            match value.get_ref() {
                DeValue::Table(inner) => tables.push((key, inner)),
                DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => {
                    let message = "a list of tables cannot be set from a file; write it into the experiment";
                    return Err(fail(value.span().start, &key, message.into()));
                }
                _ => settings.push(Override {
                    key,
                    value: text[value.span()].to_string(),
                    file: file.into(),
                    line: line(name.span().start),
                }),
            }
        }
    }
    settings.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Parameter, Section, parameters};

    const PARAMETERS: &[Parameter] = parameters! {
        size("eager_threshold", "8 KiB", "largest eager message");
    };

    #[test]
    fn keys_of_tables_become_paths() {
        let text = "[mpi]\neager_threshold = \"1 KiB\" # fitted\n[network.link]\nlatency = '5 ns'\n\n[network]\n\
                    topology.sizes = [\n4,\n5]\nrails = 2\n";
        let settings = read_settings(text, "preset.toml").unwrap();
        let parts = |set: &Override| (set.key.clone(), set.value.clone(), set.location().to_string());
        let found: Vec<_> = settings.iter().map(parts).collect();
        let found: Vec<_> = found
            .iter()
            .map(|(key, value, at)| (key.as_str(), value.as_str(), at.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("mpi.eager_threshold", "\"1 KiB\"", "preset.toml:2"),
                ("network.link.latency", "'5 ns'", "preset.toml:4"),
                ("network.rails", "2", "preset.toml:10"),
                ("network.topology.sizes", "[\n4,\n5]", "preset.toml:7"),
            ]
        );
        let mut section = Section::from_toml("[mpi]\neager_threshold = \"8 B\"", "x.toml").unwrap();
        for set in &settings {
            section.set_from(&set.key, &set.value, set.location()).unwrap();
        }
        let mpi = section.section("mpi").unwrap();
        mpi.declare(PARAMETERS);
        let bytes: Bytes = mpi.get("eager_threshold").unwrap();
        assert_eq!(bytes.bytes, 1024);
    }

    #[test]
    fn what_cannot_be_set_is_refused() {
        for (text, message) in [
            ("[network]\nrails = \n", "preset.toml:2: not valid TOML: "),
            (
                "[mpi]\n\n[[job]]\nname = \"a\"\n",
                "preset.toml:3: job: a list of tables cannot be set from a file",
            ),
            (
                "a.b = [{ c = 1 }]",
                "preset.toml:1: a.b: a list of tables cannot be set from a file",
            ),
        ] {
            let found = read_settings(text, "preset.toml").unwrap_err().to_string();
            assert!(found.contains(message), "{found}");
        }
    }
}
