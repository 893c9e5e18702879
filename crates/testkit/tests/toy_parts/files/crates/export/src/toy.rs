//! Toy export: the names of the result's tables, one per line.

use std::fs;
use std::path::Path;

use crate::Error;
use crate::folder::ExportSource;
use crate::format::{ExportFormat, Made, Options};

pub(crate) const FORMAT: ExportFormat = ExportFormat {
    name: "toy",
    summary: "the names of the tables: a text file",
    options: &[],
    made: |_| Made::File(".toy.txt".into()),
    write,
};

fn write(folder: &ExportSource, _: &Options, out: &Path) -> Result<Vec<String>, Error> {
    let names: String = folder.tables().map(|name| format!("{name}\n")).collect();
    fs::write(out, names).map_err(|source| Error::Write {
        path: out.into(),
        source,
    })?;
    Ok(Vec::new())
}
