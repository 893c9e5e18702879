//! The formats, and the way of an export from a result folder to its place.

use std::path::{Path, PathBuf};

use crate::folder::Folder;
use crate::place::Place;
use crate::{Error, csv, graphml, otf2, perfetto};

/// All formats, by name. A new one is a file beside `csv.rs` and a line here.
pub const FORMATS: &[&Format] = &[&csv::FORMAT, &graphml::FORMAT, &otf2::FORMAT, &perfetto::FORMAT];

/// A format of other tools.
pub struct Format {
    /// As the command line calls it.
    pub name: &'static str,
    /// What it is for, in one line.
    pub summary: &'static str,
    /// Those of [`Options`] that it knows.
    pub(crate) options: &'static [&'static str],
    /// What it makes.
    pub(crate) made: fn(&Options) -> Made,
    /// Writes the file, or into the empty folder, of this path. Gives what users should know of what is missing.
    pub(crate) write: fn(&Folder, &Options, &Path) -> Result<Vec<String>, Error>,
}

/// What an export makes, with the ending of its name behind that of the result.
pub(crate) enum Made {
    /// One file.
    File(String),
    /// A folder of files.
    Folder(String),
}

/// What is exported.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only this table.
    pub table: Option<String>,
    /// As many links have curves of their own: those that were busy longest.
    pub links: Option<usize>,
}

/// What was exported.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The file or folder.
    pub path: PathBuf,
    /// What is not in it that could be, and why.
    pub notes: Vec<String>,
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().copied().find(|format| format.name == name)
    }
}

impl Options {
    /// Names of those that are given.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let table = self.table.is_some().then_some("table");
        table.into_iter().chain(self.links.is_some().then_some("links"))
    }
}

/// Writes the result in `folder`, or what a run that has not ended has left there, in a format. Without `out`, beside
/// the folder and named after it. What is there already is replaced if it is such an export; it is replaced whole or
/// not at all.
///
/// # Errors
/// The folder is no result, or lacks what the format needs; the place is taken, or cannot be written.
pub fn export(
    folder: &Path,
    format: &Format,
    out: Option<&Path>,
    options: &Options,
) -> Result<Exported, Error> {
    if let Some(option) = options.given().find(|name| !format.options.contains(name)) {
        return Err(Error::NoSuchOption {
            format: format.name,
            option,
        });
    }
    let source = Folder::open(folder)?;
    if let Some(table) = &options.table {
        source.require(table)?;
    }
    let place = Place::new(folder, out, (format.made)(options))?;
    let mut notes: Vec<String> = source.note().into_iter().collect();
    notes.extend((format.write)(&source, options, place.draft())?);
    let path = place.take()?;
    Ok(Exported { path, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_files_in_order_and_options_are_known() {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        for format in FORMATS {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/{}.rs", format.name));
            assert!(file.is_file(), "{}", file.display());
            assert_eq!(Format::named(format.name).map(|it| it.name), Some(format.name));
            let all = Options {
                table: Some("links".into()),
                links: Some(1),
            };
            for option in format.options {
                assert!(all.given().any(|name| name == *option), "{option}");
            }
        }
        assert!(Format::named("png").is_none());
    }

    #[test]
    fn options_of_other_formats_are_refused() {
        let options = Options {
            links: Some(3),
            ..Options::default()
        };
        let refused = export(Path::new("nowhere"), &csv::FORMAT, None, &options).unwrap_err();
        assert_eq!(refused.to_string(), "the format csv has no option --links");
    }
}
