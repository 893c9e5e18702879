//! Type names: one name for one thing. `docs/glossary.md` names existing types, and gives the reason for each name
//! that several crates use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rust_files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// The text without its inline modules of tests.
fn without_tests(text: &str) -> String {
    let mut parts = text.split("#[cfg(test)]\n");
    let mut code = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let is_module = part
            .lines()
            .next()
            .is_some_and(|line| line.contains("mod ") && line.ends_with('{'));
        let rest = if is_module {
            part.split_once("\n}\n")
        } else {
            Some(("", part))
        };
        code.push_str(rest.unwrap_or_default().1);
    }
    code
}

/// Names of the types that a text of Rust declares outside its tests.
fn declared(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in without_tests(text).lines() {
        let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
        if let (Some("struct" | "enum" | "trait"), Some(name)) = (words.next(), words.next()) {
            let end = name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
            names.insert(name[..end].to_string());
        }
    }
    names
}

/// Each type name with the crates that declare it.
fn types() -> BTreeMap<String, BTreeSet<String>> {
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("the crates") {
        let folder = entry.expect("an entry").path();
        let krate = folder.file_name().expect("a name").to_string_lossy().to_string();
        let mut files = Vec::new();
        rust_files(&folder.join("src"), &mut files);
        files.retain(|file| {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            !(stem.starts_with("test") || stem.ends_with("_tests"))
        });
        for file in files {
            for name in declared(&std::fs::read_to_string(&file).expect("readable")) {
                types.entry(name).or_default().insert(krate.clone());
            }
        }
    }
    types
}

fn glossary() -> String {
    std::fs::read_to_string(root().join("docs/glossary.md")).expect("the glossary is there")
}

/// The rows of all tables under a heading, as cells.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    page.lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

/// Quoted names in a cell that are names of types.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.filter(|name| name.starts_with(char::is_uppercase))
}

#[test]
fn types_of_tests_do_not_count() {
    let text =
        "#[cfg(test)]\nmod helpers;\nstruct A;\n#[cfg(test)]\nmod tests {\n    struct B;\n}\npub enum C {}\n";
    assert_eq!(declared(text), ["A", "C"].map(String::from).into());
}

#[test]
fn the_glossary_names_types_that_exist() {
    let (types, page) = (types(), glossary());
    let missing: Vec<&str> = rows(&page)
        .filter_map(|cells| cells.last().copied())
        .flat_map(quoted)
        .filter(|name| !types.contains_key(*name))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/glossary.md names types that do not exist: {missing:?}"
    );
}

#[test]
fn a_type_name_means_one_thing() {
    let page = glossary();
    let (_, shared) = page
        .split_once("## Names in several crates")
        .expect("the section is there");
    let allowed: BTreeSet<&str> = rows(shared)
        .flat_map(|cells| quoted(cells[0]).collect::<Vec<_>>())
        .collect();
    let types = types();
    let several = |name: &str| types.get(name).is_some_and(|crates| crates.len() > 1);
    let unexplained: Vec<_> = types
        .iter()
        .filter(|(name, crates)| crates.len() > 1 && !allowed.contains(name.as_str()))
        .collect();
    assert!(
        unexplained.is_empty(),
        "types of several crates have one name; rename all but one, or give the reason in docs/glossary.md, section \
         \"Names in several crates\": {unexplained:#?}"
    );
    let stale: Vec<_> = allowed.iter().filter(|name| !several(name)).collect();
    assert!(
        stale.is_empty(),
        "docs/glossary.md explains names that one crate uses at most: {stale:?}"
    );
}
