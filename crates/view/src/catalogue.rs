//! The results of a page: those of the command line, or those inside a folder that is no result itself.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::folder::{OpenError, ResultFolder};
use results::{RUNNING, SUMMARY, Summary};

/// Depth of folders in which results are looked for: a folder of sweeps has results two levels below.
const DEPTH: usize = 3;
/// Maximum number of results that are listed.
const MOST: usize = 500;

/// A result, which may be opened later.
struct Entry {
    path: PathBuf,
    opened: OnceLock<Result<ResultFolder, String>>,
}

/// Results by number.
pub(crate) struct Catalogue {
    entries: Vec<Entry>,
    /// The folder that has them inside. `None` if they were named one by one, and a page shows all of them.
    folder: Option<PathBuf>,
}

impl Catalogue {
    /// Opens results, or lists those inside of a single folder that is none.
    ///
    /// # Errors
    /// One of several folders is no result; a single one is none and has none inside.
    pub fn open(folders: &[PathBuf]) -> Result<Catalogue, OpenError> {
        if let [folder] = folders
            && !is_result(folder)
        {
            let inside = results_inside(folder);
            if !inside.is_empty() {
                let later = inside.into_iter().map(|path| Entry {
                    path,
                    opened: OnceLock::new(),
                });
                return Ok(Catalogue {
                    entries: later.collect(),
                    folder: Some(folder.clone()),
                });
            }
        }
        let entries = folders.iter().map(|path| {
            Ok(Entry {
                path: path.clone(),
                opened: Ok(ResultFolder::open(path)?).into(),
            })
        });
        Ok(Catalogue {
            entries: entries.collect::<Result<_, OpenError>>()?,
            folder: None,
        })
    }

    /// A result by its number, opened now if it was not. `None` if there is none.
    pub fn result(&self, number: usize) -> Option<Result<&ResultFolder, &str>> {
        let entry = self.entries.get(number)?;
        let opened = entry
            .opened
            .get_or_init(|| ResultFolder::open(&entry.path).map_err(|error| error.to_string()));
        Some(opened.as_ref().map_err(String::as_str))
    }

    /// Numbers of the results that a page shows: those that it asks for, separated by commas, or all that were named
    /// one by one. `None` if it has to choose first.
    ///
    /// # Errors
    /// What it asks for are not numbers, each once.
    pub fn chosen(&self, asked: Option<&str>) -> Option<Result<Vec<usize>, &'static str>> {
        match (asked, &self.folder) {
            (Some(asked), _) => Some(numbers(asked).ok_or("results= has numbers of results, each once")),
            (None, None) => Some(Ok((0..self.entries.len()).collect())),
            (None, Some(_)) => None,
        }
    }

    /// The list from which a page chooses: each result with its verdict, or why it has none.
    pub fn list(&self) -> Value {
        let folder = self.folder.as_deref().unwrap_or(Path::new(""));
        let entries = self.entries.iter().map(|entry| {
            let name = entry.path.strip_prefix(folder).unwrap_or(&entry.path);
            let headline = match Summary::load(&entry.path) {
                Ok(summary) => summary
                    .verdict
                    .map_or("no verdict".into(), |verdict| verdict.headline),
                Err(_) if entry.path.join(RUNNING).exists() => "has not ended".into(),
                Err(error) => error.to_string(),
            };
            json!({ "name": name.display().to_string(), "headline": headline })
        });
        json!({ "folder": folder.display().to_string(), "entries": entries.collect::<Vec<_>>() })
    }
}

/// Different numbers, separated by commas.
fn numbers(text: &str) -> Option<Vec<usize>> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|number| number.parse().ok()).collect();
    numbers.filter(|all| (1..all.len()).all(|at| !all[..at].contains(&all[at])))
}

fn is_result(folder: &Path) -> bool {
    folder.join(SUMMARY).exists() || folder.join(RUNNING).exists()
}

/// The results inside a folder in the order of their paths. What cannot be read has none. Links to folders are not
/// followed.
fn results_inside(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![folder.to_path_buf()];
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for entry in level
            .iter()
            .filter_map(|folder| folder.read_dir().ok())
            .flatten()
            .flatten()
        {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                match is_result(&entry.path()) {
                    true => found.push(entry.path()),
                    false => next.push(entry.path()),
                }
            }
        }
        level = next;
    }
    found.sort();
    found.truncate(MOST);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_without_a_result_offers_those_inside() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "sweep/1", "a"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join(SUMMARY), "{}").unwrap();
        }
        fs::create_dir_all(folder.path().join("empty/deep/er/still")).unwrap();
        let catalogue = Catalogue::open(&[folder.path().into()]).unwrap();
        assert_eq!(catalogue.chosen(None), None, "the page has to choose");
        assert_eq!(catalogue.chosen(Some("2,0")), Some(Ok(vec![2, 0])));
        for wrong in ["2,0,x", "0,0", "", "-1"] {
            assert!(catalogue.chosen(Some(wrong)).unwrap().is_err(), "{wrong}");
        }
        let list = catalogue.list();
        let names: Vec<_> = list["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| &e["name"])
            .collect();
        assert_eq!(names, ["a", "b", "sweep/1"]);
        let why = list["entries"][0]["headline"].as_str().unwrap();
        assert!(why.contains("names no schema"), "{why}");
        assert!(catalogue.result(1).unwrap().is_err());
        assert!(catalogue.result(3).is_none());
    }

    #[test]
    fn a_folder_with_nothing_inside_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = Catalogue::open(&[folder.path().into()])
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("no summary.json"), "{error}");
    }
}
