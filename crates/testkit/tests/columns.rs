//! Lines of Rust have at most 120 columns. rustfmt leaves wider ones in comments and in macros.

use std::path::{Path, PathBuf};

/// Most columns of a line.
const COLUMNS: usize = 120;

/// Whether a line is too wide. A line with a string may be wider, since some strings cannot be wrapped; a comment may
/// not.
fn is_too_wide(line: &str) -> bool {
    let is_comment = line.trim_start().starts_with("//");
    line.chars().count() > COLUMNS && (is_comment || !line.contains('"'))
}

fn check(folder: &Path, wide: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path: PathBuf = entry.expect("an entry").path();
        if path.is_dir() {
            check(&path, wide);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).expect("readable");
            let lines = text.lines().enumerate().filter(|(_, line)| is_too_wide(line));
            wide.extend(lines.map(|(index, _)| format!("{}:{}", path.display(), index + 1)));
        }
    }
}

#[test]
fn strings_may_be_wide_and_comments_may_not() {
    let long = "x".repeat(COLUMNS);
    assert!(!is_too_wide(&long));
    assert!(is_too_wide(&format!("{long}x")));
    assert!(!is_too_wide(&format!("f(\"{long}\")")));
    assert!(is_too_wide(&format!("    // \"{long}\"")));
}

#[test]
fn lines_have_at_most_120_columns() {
    let mut wide = Vec::new();
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut wide);
    assert!(
        wide.is_empty(),
        "lines wider than {COLUMNS} columns:\n{}",
        wide.join("\n")
    );
}
