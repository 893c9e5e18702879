//! Finished results verify themselves: each changed bit is found, by `verify` and by the readers of what it changes.

mod sample;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fabricsim_results::{
    CRITICAL_PATH_SCHEMA, CriticalPaths, RunResult, Summary, Table, VerifiedFolder, accept_damage,
    read_batches, rows, verify,
};
use tempfile::TempDir;

/// A result in a folder.
fn written() -> (TempDir, PathBuf) {
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("run");
    sample::result().write(&folder, false).unwrap();
    (above, folder)
}

fn tables(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut tables: Vec<PathBuf> = files
        .filter(|p| p.extension().is_some_and(|e| e == "parquet"))
        .collect();
    tables.sort();
    tables
}

fn damaged_files(folder: &Path) -> Vec<String> {
    let found = verify(folder).unwrap();
    assert!(found.carries_checksums);
    found.damaged.into_iter().map(|damaged| damaged.file).collect()
}

/// Flips a bit of each of 200 bytes, spread evenly over the file, or of all bytes of a smaller one.
fn each_flip(file: &Path, mut see: impl FnMut(usize)) {
    let right = fs::read(file).unwrap();
    let places = right.len().min(200);
    for place in 0..places {
        let at = if places == 1 {
            0
        } else {
            place * (right.len() - 1) / (places - 1)
        };
        let mut wrong = right.clone();
        wrong[at] ^= 1 << (place % 8);
        fs::write(file, wrong).unwrap();
        see(at);
    }
    fs::write(file, right).unwrap();
}

#[test]
fn a_result_is_verified_with_all_its_bytes() {
    let (_above, folder) = written();
    let tables = tables(&folder);
    let length = |path: &Path| path.metadata().unwrap().len();
    let bytes = tables.iter().map(|table| length(table)).sum::<u64>() + length(&folder.join("summary.json"));
    let whole = VerifiedFolder {
        folder: folder.clone(),
        carries_checksums: true,
        tables: tables.len() as u64,
        bytes,
        damaged: Vec::new(),
    };
    assert_eq!(verify(&folder).unwrap(), whole);
    fs::remove_file(folder.join("report.html")).unwrap();
    assert_eq!(
        verify(&folder).unwrap(),
        whole,
        "numbers are not read from the report"
    );
    assert!(verify(&folder.join("nowhere")).is_err());
}

#[test]
fn each_flipped_bit_of_a_table_is_found() {
    let (_above, folder) = written();
    for table in tables(&folder) {
        let name = table.file_name().unwrap().to_string_lossy().into_owned();
        each_flip(&table, |at| {
            assert_eq!(damaged_files(&folder), [name.as_str()], "byte {at}");
            assert!(Table::read(&table).is_err(), "{name}, byte {at}");
        });
    }
    assert!(damaged_files(&folder).is_empty());
}

#[test]
fn each_changed_bit_and_number_of_the_summary_is_found() {
    let (_above, folder) = written();
    let file = folder.join("summary.json");
    each_flip(&file, |at| {
        assert_eq!(damaged_files(&folder), ["summary.json"], "byte {at}");
        assert!(Summary::load(&folder).is_err(), "byte {at}");
    });
    let text = fs::read_to_string(&file).unwrap();
    let mut numbers = 0;
    for (at, digit) in text.match_indices(|c: char| c.is_ascii_digit()) {
        let other = if digit == "7" { "3" } else { "7" };
        let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        fs::write(&file, changed).unwrap();
        let error = Summary::load(&folder).expect_err("a changed digit").to_string();
        assert!(
            error.contains("summary.json") && error.contains("is damaged") && error.contains("--force"),
            "{error}"
        );
        numbers += 1;
    }
    assert!(numbers > 100, "{numbers} digits in {text}");
    // Another program has written it again.
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    for again in [serde_json::to_string(&json), serde_json::to_string_pretty(&json)] {
        fs::write(&file, again.unwrap()).unwrap();
        assert!(Summary::load(&folder).is_err());
    }
}

#[test]
fn the_last_line_covers_the_bytes_before_it_and_the_file_stays_json() {
    let (_above, folder) = written();
    let text = fs::read_to_string(folder.join("summary.json")).unwrap();
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("\"checksum\": \"") && last.ends_with("\"}"),
        "{last}"
    );
    let summary: Summary = serde_json::from_str(&text).unwrap();
    assert_eq!(summary, Summary::load(&folder).unwrap());
    // All that a summary has comes first, as it did without checksums.
    let alone = serde_json::to_string_pretty(&summary).unwrap();
    assert!(text.starts_with(alone.strip_suffix("\n}").unwrap()), "{text}");
}

#[test]
fn a_reader_of_one_column_finds_a_flip_in_that_column() {
    let (_above, folder) = written();
    let links = folder.join("links.parquet");
    let names: Vec<String> = {
        let (schema, _) = read_batches(&links, None).unwrap();
        schema.fields().iter().map(|field| field.name().clone()).collect()
    };
    let read = |column: &str| -> io::Result<()> {
        let (_, mut batches) = read_batches(&links, Some(&[column]))?;
        batches.try_for_each(|batch| batch.map(|_| ()))
    };
    let (mut by_column, mut by_footer) = (0, 0);
    each_flip(&links, |at| {
        let found = verify(&folder).unwrap().damaged.swap_remove(0).what;
        let failed: Vec<&String> = names.iter().filter(|name| read(name).is_err()).collect();
        match failed.as_slice() {
            [column] => {
                assert_eq!(found, [format!("its column '{column}'")], "byte {at}");
                let error = read(column).unwrap_err().to_string();
                assert!(
                    error.starts_with(&format!("column '{column}' of links.parquet")),
                    "{error}"
                );
                by_column += 1;
            }
            all => {
                assert_eq!(all.len(), names.len(), "byte {at}");
                assert_eq!(found, ["its footer"]);
                by_footer += 1;
            }
        }
    });
    assert!(by_column > 20 && by_footer > 20, "{by_column} and {by_footer}");
}

#[test]
fn an_explanation_has_its_own_checksums() {
    let (_above, folder) = written();
    let before = fs::read(folder.join("summary.json")).unwrap();
    let explanation = CriticalPaths {
        schema: CRITICAL_PATH_SCHEMA.into(),
        digest: "d".into(),
        jobs: Vec::new(),
    };
    let tables = verify(&folder).unwrap().tables;
    explanation.write(&folder, &rows::critical_path([])).unwrap();
    assert_eq!(fs::read(folder.join("summary.json")).unwrap(), before);
    let found = verify(&folder).unwrap();
    assert_eq!((found.tables, found.damaged), (tables + 1, Vec::new()));
    for name in ["critical_path.json", "critical_path.parquet"] {
        each_flip(&folder.join(name), |at| {
            assert_eq!(damaged_files(&folder), [name], "byte {at}");
            let read = match name {
                "critical_path.json" => CriticalPaths::load(&folder, "d").is_err(),
                _ => Table::read(&folder.join(name)).is_err(),
            };
            assert!(read, "byte {at} of {name}");
        });
    }
    assert_eq!(CriticalPaths::load(&folder, "d").unwrap(), Some(explanation));
}

#[test]
fn missing_and_strange_tables_are_found() {
    let (_above, folder) = written();
    let [links, other] = ["links.parquet", "other.parquet"].map(|name| folder.join(name));
    fs::rename(&links, &other).unwrap();
    assert_eq!(damaged_files(&folder), ["links.parquet", "other.parquet"]);
    let error = Table::read(&other).unwrap_err().to_string();
    assert!(error.contains("summary.json has no checksum of it"), "{error}");
    fs::write(&links, "PAR1").unwrap();
    fs::remove_file(&other).unwrap();
    assert_eq!(damaged_files(&folder), ["links.parquet"]);
}

#[test]
fn damage_is_read_where_it_is_accepted() {
    let (_above, folder) = written();
    let file = folder.join("summary.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"checksum\": \"", "\"checksum\": \"0")).unwrap();
    assert!(RunResult::load(&folder).is_err());
    accept_damage(&folder, true);
    assert_eq!(RunResult::load(&folder).unwrap(), sample::result());
    accept_damage(&folder, false);
    assert!(RunResult::load(&folder).is_err());
}

#[test]
fn results_of_versions_without_checksums_are_read_and_said_to_have_none() {
    let (_above, folder) = written();
    let summary = Summary::load(&folder).unwrap();
    let old = serde_json::to_string_pretty(&summary).unwrap() + "\n";
    assert!(!fabricsim_results::lacks_checksums(&folder));
    fs::write(folder.join("summary.json"), old).unwrap();
    assert!(fabricsim_results::lacks_checksums(&folder));
    assert_eq!(RunResult::load(&folder).unwrap(), sample::result());
    let found = verify(&folder).unwrap();
    assert!(!found.carries_checksums && found.damaged.is_empty());
    assert_eq!((found.tables, found.bytes), (0, 0));
    fs::write(folder.join("summary.json"), r#"{"schema": "another program"}"#).unwrap();
    assert!(verify(&folder).is_err());
}
