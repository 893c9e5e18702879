//! A file of settings: the keys of a TOML file as overrides of an experiment.

use toml::de::{DeTable, DeValue};

use crate::error::{Error, Location};

/// The settings of a TOML text as pairs of key and value, as [`Section::set`](crate::Section::set) takes them, in the
/// order of the keys. Tables become dots: `[network.link]` with `latency = "50 ns"` is `network.link.latency`. `file`
/// names the text in messages.
///
/// # Errors
/// A syntax error, with its line. A list of tables (`[[job]]`), since an override has no place in a list.
pub fn read_settings(text: &str, file: &str) -> Result<Vec<(String, String)>, Error> {
    let fail = |offset: usize, key: &str, message: String| Error {
        location: Some(Location {
            file: file.into(),
            line: text[..offset.min(text.len())].matches('\n').count() as u32 + 1,
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
                _ => settings.push((key, text[value.span()].to_string())),
            }
        }
    }
    settings.sort();
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
        let found: Vec<(&str, &str)> = settings.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            found,
            [
                ("mpi.eager_threshold", "\"1 KiB\""),
                ("network.link.latency", "'5 ns'"),
                ("network.rails", "2"),
                ("network.topology.sizes", "[\n4,\n5]"),
            ]
        );
        let mut section = Section::from_toml("[mpi]\neager_threshold = \"8 B\"", "x.toml").unwrap();
        for (key, value) in &settings {
            section.set(key, value).unwrap();
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
