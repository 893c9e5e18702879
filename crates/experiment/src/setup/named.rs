//! Parts that a key of a job names: by name only (`placement = "random"`), in a table with parameters (`placement = {
//! kind = "clusters", size = 4 }`), or by the parameter that has the name of the part (`placement = { file =
//! "hosts.txt" }`).

use std::path::Path;

use config::{Error, Parameter, Section};

/// Name and parameters of a part, as registries hold them.
pub type Described = (&'static str, &'static [Parameter]);

/// Finds the part that `key` names among `parts`, or the first part if the key is missing. Calls `build` with its index
/// and the table of its parameters.
///
/// # Errors
/// An unknown name, a table without a name, or an error of `build`.
pub fn build<T>(
    job: &Section,
    key: &str,
    parts: &[Described],
    build: impl FnOnce(usize, &Section) -> Result<T, Error>,
) -> Result<T, Error> {
    let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
    let position = |name: &str| names.iter().position(|known| *known == name);
    if job.has(key)
        && let Ok(table) = job.section(key)
    {
        let own = |at: &usize| parts[*at].1.iter().any(|parameter| parameter.name == names[*at]);
        let implied = (0..parts.len()).filter(own).find(|at| table.has(names[*at]));
        let at = match implied {
            Some(at) if !table.has("kind") => at,
            _ if !table.has("kind") => {
                return Err(table.error("kind", format!("missing; expected one of: {}", names.join(", "))));
            }
            _ => {
                let kind: String = table.required("kind")?;
                position(&kind).ok_or_else(|| table.unknown_name("kind", &kind, names.iter().copied()))?
            }
        };
        return build(at, table.declare(parts[at].1));
    }
    let name = job.choice_or(key, names[0], &names)?;
    let at = position(name).expect("one of the names");
    // The part has no table, and hence no position in the file.
    let table = Section::empty(&format!("{}.{key}", job.path()));
    build(at, table.declare(parts[at].1)).map_err(|error| {
        let Some(parameter) = error.key.strip_prefix(table.path()) else {
            return error;
        };
        let message = match parameter.strip_prefix('.') {
            Some(parameter) => format!(
                "{parameter}: {}; write {key} = {{ kind = \"{name}\", {parameter} = ... }}",
                error.message
            ),
            None => error.message,
        };
        job.error(key, message)
    })
}

/// The whole numbers of a file, one per line, each with its line number. Empty lines and comments after `#` are
/// ignored. Errors name file and line.
pub fn numbers(folder: &Path, file: &str) -> Result<Vec<(usize, u32)>, String> {
    let text = config::read_text(&folder.join(file), config::TEXT_BYTES)
        .map_err(|error| format!("{file}: {error}"))?;
    let mut numbers = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default().trim();
        if !text.is_empty() {
            let number = text.parse().map_err(|_| {
                format!("{file}:{line}: '{text}' is not a number; expected a whole number on each line")
            })?;
            numbers.push((line, number));
        }
    }
    Ok(numbers)
}
