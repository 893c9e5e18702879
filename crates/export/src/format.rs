//! The export formats, and the steps of an export from a result folder to its target.

use std::path::{Path, PathBuf};

use crate::folder::ExportSource;
use crate::place::ExportTarget;
use crate::{Error, csv, graphml, otf2, perfetto};

/// All formats by name. A new format is a file beside `csv.rs` and a line here.
pub const FORMATS: &[&ExportFormat] = &[&csv::FORMAT, &graphml::FORMAT, &otf2::FORMAT, &perfetto::FORMAT];

/// An export format.
pub struct ExportFormat {
    /// Name on the command line.
    pub name: &'static str,
    /// Purpose in one line.
    pub summary: &'static str,
    /// Names of the [`Options`] that it accepts.
    pub(crate) options: &'static [&'static str],
    /// The file or folder that it makes.
    pub(crate) made: fn(&Options) -> Made,
    /// Writes the file, or into the empty folder, at this path. Returns notes about missing content.
    pub(crate) write: fn(&ExportSource, &Options, &Path) -> Result<Vec<String>, Error>,
}

/// The output of a format, with the suffix of its name.
pub(crate) enum Made {
    /// One file.
    File(String),
    /// A folder of files.
    Folder(String),
}

/// Options of an export.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Export this table only.
    pub table: Option<String>,
    /// Maximum number of links with curves; the busiest links are chosen.
    pub links: Option<usize>,
}

/// A finished export.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The file or folder.
    pub path: PathBuf,
    /// Content that is missing, and the reasons.
    pub notes: Vec<String>,
}

impl ExportFormat {
    /// The format of this name.
    pub fn named(name: &str) -> Option<&'static ExportFormat> {
        FORMATS.iter().copied().find(|format| format.name == name)
    }
}

impl Options {
    /// Names of the options that are set.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let table = self.table.is_some().then_some("table");
        table.into_iter().chain(self.links.is_some().then_some("links"))
    }
}

/// Exports the result, or the tables of an unfinished run, in `folder`. Without `out`, the export lies beside the
/// folder and is named after it. An earlier export at the target is replaced. The target is either completely written
/// or unchanged.
///
/// # Errors
/// The folder is no result, or lacks a required table; the target is taken, or cannot be written.
pub fn export(
    folder: &Path,
    format: &ExportFormat,
    out: Option<&Path>,
    options: &Options,
) -> Result<Exported, Error> {
    if let Some(option) = options.given().find(|name| !format.options.contains(name)) {
        return Err(Error::NoSuchOption {
            format: format.name,
            option,
        });
    }
    let source = ExportSource::open(folder)?;
    if let Some(table) = &options.table {
        source.require(table)?;
    }
    let place = ExportTarget::new(folder, out, (format.made)(options))?;
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
            assert_eq!(
                ExportFormat::named(format.name).map(|it| it.name),
                Some(format.name)
            );
            let all = Options {
                table: Some("links".into()),
                links: Some(1),
            };
            for option in format.options {
                assert!(all.given().any(|name| name == *option), "{option}");
            }
        }
        assert!(ExportFormat::named("png").is_none());
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
