//! Names: one name for one thing. `docs/glossary.md` names existing types, and gives the reason for each type name
//! that several crates use. No two types of a crate have one name. A word of several meanings has a qualifier.
//! Comments and pages use the words of the field.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Types of a crate of which a build has only one, by `#[cfg]`: the real one, or the one that reports what is missing.
const ALTERNATIVES: &[(&str, &str)] = &[
    ("cluster", "MpiWorld"),
    ("otf2", "ArchiveReader"),
    ("otf2", "ArchiveWriter"),
];

/// Words that comments and pages do not use, each with what to write.
const REFUSED_WORDS: &[(&str, &str)] = &[
    ("anew", "again"),
    ("for ever", "forever, never ends"),
    ("intermediate place", "intermediate node"),
    ("intermediate places", "intermediate nodes"),
    ("nobody", "no LP, no rank, no reader"),
    ("room", "space, credits"),
    ("spare", "free, unused; save"),
    ("spared", "saved"),
    ("spares", "saves"),
];

/// Words of several meanings, each with the crate, if any, in which a type may have it without a qualifier.
const NEEDS_QUALIFIER: &[(&str, &str)] = &[
    ("Block", ""),
    ("Class", ""),
    ("Observation", ""),
    ("Part", ""),
    ("Period", ""),
    ("Report", ""),
    ("Run", "des"),
    ("Slot", ""),
    ("Trace", "export"),
    ("Window", "des"),
];

/// Words of several meanings that a crate has for none of them, each with the word for what is meant there.
const MEANT_ELSEWHERE: &[(&str, &str, &str)] = &[
    ("des", "Block", "Strip"),
    ("des", "Observation", "EventOutput"),
    ("des", "Report", "WorkerEnd"),
    ("des", "Slot", "LpEntry"),
    ("export", "Class", "Kind"),
    ("mpi", "Trace", "Timeline"),
    ("mpi", "Traced", "Timeline"),
    ("results", "Window", "Interval"),
    ("sim", "Observed", "Requested"),
    ("sim", "Trace", "Timeline"),
];

/// Words before `begin` or `begins` that make it a noun. The noun of the code is `start`.
const BEFORE_A_NOUN: &[&str] = &["a", "its", "no", "of", "own", "same", "the", "their", "whose"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below a folder whose names have this extension.
fn files(folder: &Path, extension: &str, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, extension, out);
        } else if path.extension().is_some_and(|e| e == extension) {
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

/// Names of the types that a text of Rust declares outside its tests, in order.
fn declared(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in without_tests(text).lines() {
        let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
        if let (Some("struct" | "enum" | "trait"), Some(name)) = (words.next(), words.next()) {
            let end = name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
            names.push(name[..end].to_string());
        }
    }
    names
}

/// Each type name with the crates that declare it, and the files of each.
type Declarations = BTreeMap<String, BTreeMap<String, Vec<PathBuf>>>;

fn types() -> Declarations {
    let mut types = Declarations::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("the crates") {
        let folder = entry.expect("an entry").path();
        let krate = folder.file_name().expect("a name").to_string_lossy().to_string();
        let mut sources = Vec::new();
        files(&folder.join("src"), "rs", &mut sources);
        sources.retain(|file| {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            !(stem.starts_with("test") || stem.ends_with("_tests"))
        });
        for file in sources {
            let path = file.strip_prefix(root()).expect("a file of the workspace");
            for name in declared(&std::fs::read_to_string(&file).expect("readable")) {
                let crates = types.entry(name).or_default();
                crates.entry(krate.clone()).or_default().push(path.to_owned());
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

/// The comment on a line of Rust. Text in strings is no comment.
fn comment(line: &str) -> Option<&str> {
    let (code, comment) = line.split_once("//")?;
    (!code.contains('"')).then_some(comment)
}

/// The words of the prose of a file, in lower case, each with the number of its line. A word of no letters separates
/// paragraphs. Quoted code is not prose.
fn prose(text: &str, is_rust: bool) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        in_code ^= !is_rust && line.trim_start().starts_with("```");
        let prose = match is_rust {
            true => comment(line),
            false => Some(line).filter(|_| !in_code),
        };
        let letters = |part: &str| part.chars().any(char::is_alphabetic);
        let prose = prose.filter(|line| letters(line)).unwrap_or_default();
        if prose.is_empty() {
            words.push((index + 1, String::new()));
        }
        for (number, part) in prose.split('`').enumerate() {
            if number % 2 == 1 {
                words.push((index + 1, "`".into()));
                continue;
            }
            let of_part = part
                .split(|c: char| !c.is_alphabetic())
                .filter(|word| !word.is_empty());
            words.extend(of_part.map(|word| (index + 1, word.to_lowercase())));
        }
    }
    words
}

/// The refused words in prose, each with the number of its line and what to write.
fn refused(words: &[(usize, String)]) -> Vec<(usize, &'static str, &'static str)> {
    let at = |index: usize| words.get(index).map_or("", |(_, word)| word.as_str());
    let mut found = Vec::new();
    for (index, &(line, _)) in words.iter().enumerate() {
        for &(phrase, instead) in REFUSED_WORDS {
            if phrase
                .split(' ')
                .enumerate()
                .all(|(offset, word)| at(index + offset) == word)
            {
                found.push((line, phrase, instead));
            }
        }
        let before = index.checked_sub(1).map_or("", at);
        let is_noun = BEFORE_A_NOUN.contains(&before) || at(index + 1) == "of";
        if ["begin", "begins"].contains(&at(index)) && is_noun {
            found.push((line, "begin as a noun", "start"));
        }
    }
    found
}

#[test]
fn refused_words_are_found_in_prose_only() {
    let rust = "/// The begin of a bin lasts for\n/// ever.\nlet spare = \"// nobody\";\nx(); // `spare` begins anew.\n";
    let found = refused(&prose(rust, true));
    let words: Vec<_> = found.iter().map(|(line, word, _)| (*line, *word)).collect();
    assert_eq!(words, [(1, "begin as a noun"), (1, "for ever"), (4, "anew")]);
    let page = "Paths begin and end here.\n```\nspare\n```\nIt waits for\n\never. No room.\n";
    let found = refused(&prose(page, false));
    assert_eq!(found, [(7, "room", "space, credits")]);
}

#[test]
fn comments_and_pages_use_the_words_of_the_field() {
    let mut pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        .map(|page| root().join(page))
        .to_vec();
    files(&root().join("docs"), "md", &mut pages);
    files(&root().join("crates"), "rs", &mut pages);
    let mut wrong = Vec::new();
    for page in &pages {
        let text = std::fs::read_to_string(page).expect("readable");
        let is_rust = page.extension().is_some_and(|e| e == "rs");
        let path = page
            .strip_prefix(root())
            .expect("a file of the workspace")
            .display();
        let of_page = refused(&prose(&text, is_rust));
        wrong.extend(
            of_page
                .iter()
                .map(|(line, word, instead)| format!("{path}:{line}: {word}; write: {instead}")),
        );
    }
    assert!(
        wrong.is_empty(),
        "words that are not of the field:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn types_of_tests_do_not_count() {
    let text =
        "#[cfg(test)]\nmod helpers;\nstruct A;\n#[cfg(test)]\nmod tests {\n    struct B;\n}\npub enum C {}\n";
    assert_eq!(declared(text), ["A", "C"]);
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

#[test]
fn no_two_types_of_a_crate_have_one_name() {
    let types = types();
    let twins: BTreeMap<(&str, &str), &[PathBuf]> = types
        .iter()
        .flat_map(|(name, crates)| crates.iter().map(move |(krate, files)| (krate, name, files)))
        .filter(|(_, _, files)| files.len() > 1)
        .map(|(krate, name, files)| ((krate.as_str(), name.as_str()), files.as_slice()))
        .collect();
    let unexplained: Vec<_> = twins
        .iter()
        .filter(|(twin, _)| !ALTERNATIVES.contains(twin))
        .collect();
    assert!(
        unexplained.is_empty(),
        "types of one crate have one name; rename all but one: {unexplained:#?}"
    );
    let stale: Vec<_> = ALTERNATIVES
        .iter()
        .filter(|twin| !twins.contains_key(twin))
        .collect();
    assert!(stale.is_empty(), "no alternatives of one name: {stale:?}");
}

/// The words of a type name.
fn words_of(name: &str) -> Vec<&str> {
    let starts = name.char_indices().filter(|(_, c)| c.is_uppercase());
    let mut bounds: Vec<usize> = starts.map(|(start, _)| start).collect();
    bounds.push(name.len());
    bounds.windows(2).map(|word| &name[word[0]..word[1]]).collect()
}

/// What to write in place of a type name in which a word of several meanings leaves open which is meant.
fn ambiguous(krate: &str, name: &str) -> Option<String> {
    if NEEDS_QUALIFIER
        .iter()
        .any(|&(word, of)| word == name && krate != of)
    {
        return Some("a qualifier".into());
    }
    let words = words_of(name);
    MEANT_ELSEWHERE
        .iter()
        .find(|(of, word, _)| krate == *of && words.contains(word))
        .map(|(.., instead)| (*instead).into())
}

#[test]
fn ambiguous_type_names_are_found() {
    assert_eq!(words_of("LpEntry"), ["Lp", "Entry"]);
    assert_eq!(ambiguous("des", "Run"), None);
    assert_eq!(ambiguous("sim", "Run").as_deref(), Some("a qualifier"));
    assert_eq!(ambiguous("sim", "Trace").as_deref(), Some("a qualifier"));
    assert_eq!(ambiguous("des", "BlockLoop").as_deref(), Some("Strip"));
    assert_eq!(ambiguous("sim", "BlockPair"), None);
}

#[test]
fn a_word_of_several_meanings_has_a_qualifier() {
    let types = types();
    let wrong: Vec<String> = types
        .iter()
        .flat_map(|(name, crates)| crates.keys().map(move |krate| (krate, name)))
        .filter_map(|(krate, name)| Some(format!("{krate}: {name}; write: {}", ambiguous(krate, name)?)))
        .collect();
    assert!(wrong.is_empty(), "see docs/glossary.md:\n{}", wrong.join("\n"));
}
