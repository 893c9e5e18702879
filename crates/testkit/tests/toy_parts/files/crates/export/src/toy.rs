//! Toy export: the names of the result's tables, one per line.

use std::fs;
use std::path::Path;

use crate::Error;
use crate::folder::Folder;
use crate::format::{Format, Made, Options};

pub(crate) const FORMAT: Format = Format {
    name: "toy",
    summary: "the names of the tables: a text file",
    options: &[],
    made: |_| Made::File(".toy.txt".into()),
    write,
};

fn write(folder: &Folder, _: &Options, out: &Path) -> Result<Vec<String>, Error> {
    let names: String = folder.tables().map(|name| format!("{name}\n")).collect();
    fs::write(out, names).map_err(|source| Error::Write {
        path: out.into(),
        source,
    })?;
    Ok(Vec::new())
}
