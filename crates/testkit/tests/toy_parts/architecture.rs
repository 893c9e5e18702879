//! The table "Where to add" of ARCHITECTURE.md, and its comparison with a toy.

use std::collections::BTreeSet;
use std::path::Path;

use crate::toys::Toy;

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// First cell: the kind of part.
    pub part: String,
    /// Paths beside which new files lie.
    pub beside: Vec<String>,
    /// Paths of existing files to edit.
    pub edited: BTreeSet<String>,
}

/// The rows of the table in the text of ARCHITECTURE.md.
pub fn rows(text: &str) -> Vec<Row> {
    let table = text
        .split("| to add | write | register in |")
        .nth(1)
        .expect("the table");
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    lines.map(row).collect()
}

fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [part, write, register] = cells[..] else {
        panic!("three cells in: {line}")
    };
    let mut row = Row {
        part: part.into(),
        beside: Vec::new(),
        edited: paths(register).map(|(_, path)| path.into()).collect(),
    };
    for (before, path) in paths(write) {
        match before.ends_with("beside ") || before.ends_with(" or ") {
            true => row.beside.push(path.into()),
            false => {
                row.edited.insert(path.into());
            }
        }
    }
    row
}

/// The paths in a cell, each with the text before it.
fn paths(cell: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts: Vec<&str> = cell.split('`').collect();
    let pairs: Vec<(&str, &str)> = parts
        .chunks(2)
        .filter_map(|pair| Some((pair[0], *pair.get(1)?)))
        .collect();
    pairs.into_iter().filter(|(_, quoted)| quoted.contains('/'))
}

/// Compares the edits of a toy with its row.
///
/// # Errors
/// It edits a file that the row does not name, leaves one out, or has a new file elsewhere.
pub fn compare(row: &Row, toy: &Toy) -> Result<(), String> {
    let edited: BTreeSet<String> = toy.edits.iter().map(|edit| edit.path.into()).collect();
    if edited != row.edited {
        return Err(format!(
            "{}: edits {edited:?}, the row names {:?}",
            row.part, row.edited
        ));
    }
    let folder = |path: &str| Path::new(path).parent().map(Path::to_path_buf);
    for file in toy.files {
        if !row.beside.iter().any(|named| folder(named) == folder(file)) {
            return Err(format!(
                "{}: {file} is not beside one of {:?}",
                row.part, row.beside
            ));
        }
    }
    match toy.files.is_empty() == row.beside.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{}: new files {:?}, the row names {:?}",
            row.part, toy.files, row.beside
        )),
    }
}
