//! Recorded applications of all trace formats, recognised by content.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{TraceError, TraceInfo, Workload, bigsim, dumpi, goal, liballprof, operations, otf2};

/// A trace format.
pub struct TraceFormat {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// One-line description: the format and the file to give.
    pub summary: &'static str,
    /// Pattern of the file to give, for people.
    pub main: &'static str,
    /// Whether a file of this name is the file to give. Used to search folders.
    pub is_main: fn(&str) -> bool,
    /// Whether a file that starts with these bytes (at most 256) is of this format.
    pub recognise: fn(&[u8]) -> bool,
    /// Opens a file that was recognised.
    pub open: fn(&Path) -> Result<Arc<dyn Workload>, TraceError>,
    /// Reads the whole trace and summarises it.
    pub info: fn(&Path) -> Result<TraceInfo, TraceError>,
}

/// All trace formats, in alphabetical order.
pub static FORMATS: &[TraceFormat] = &[
    bigsim::FORMAT,
    dumpi::FORMAT,
    goal::FORMAT,
    liballprof::FORMAT,
    operations::FORMAT,
    otf2::FORMAT,
];

/// Opens a trace of any format. `path` is its main file, or a folder that holds one such file.
///
/// # Errors
/// There is no such file, its format is unknown, or it is damaged.
pub fn open(path: impl AsRef<Path>) -> Result<Arc<dyn Workload>, TraceError> {
    let (file, format) = find(path.as_ref())?;
    (format.open)(&file)
}

/// Reads a whole trace of any format and summarises it. Memory does not grow with its length, but for `bigsim`.
///
/// # Errors
/// As [`open`], and all errors that a run of the trace would find.
pub fn info(path: impl AsRef<Path>) -> Result<TraceInfo, TraceError> {
    let (file, format) = find(path.as_ref())?;
    (format.info)(&file)
}

fn error(path: &Path, message: String) -> TraceError {
    TraceError {
        file: path.display().to_string(),
        rank: None,
        message,
    }
}

/// The main file of a trace, and its format.
///
/// # Errors
/// There is no such file, or its format is unknown.
pub fn find(path: &Path) -> Result<(PathBuf, &'static TraceFormat), TraceError> {
    let metadata = fs::metadata(path).map_err(|e| error(path, format!("cannot be opened: {e}")))?;
    let file = if metadata.is_dir() {
        main_file(path)?
    } else {
        path.to_path_buf()
    };
    let head = head(&file).map_err(|e| error(&file, format!("cannot be read: {e}")))?;
    match FORMATS.iter().find(|f| (f.recognise)(&head)) {
        Some(format) => Ok((file, format)),
        None => {
            let like = resemblance(&head);
            Err(error(
                &file,
                format!(
                    "is no trace of a known format: it looks like {like}. Known formats: {}",
                    known()
                ),
            ))
        }
    }
}

fn known() -> String {
    let lines: Vec<String> = FORMATS
        .iter()
        .map(|f| format!("{} ({})", f.name, f.summary))
        .collect();
    lines.join("; ")
}

/// The one main file of a trace in a folder.
fn main_file(folder: &Path) -> Result<PathBuf, TraceError> {
    let unreadable = |e| error(folder, format!("cannot be read: {e}"));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if path.is_file() && FORMATS.iter().any(|f| (f.is_main)(name)) {
            found.push(path);
        }
    }
    // The file system gives names in any order.
    found.sort();
    if found.len() > 1 {
        // Other text files may match the pattern.
        let known = |path: &PathBuf| {
            let head = head(path).unwrap_or_default();
            FORMATS.iter().any(|f| (f.recognise)(&head))
        };
        let recognised: Vec<PathBuf> = found.iter().filter(|p| known(p)).cloned().collect();
        if !recognised.is_empty() {
            found = recognised;
        }
    }
    match &found[..] {
        [one] => Ok(one.clone()),
        [] => {
            let endings: Vec<String> = FORMATS.iter().map(|f| f.main.to_string()).collect();
            Err(error(
                folder,
                format!("is a folder without a trace ({})", endings.join(", ")),
            ))
        }
        several => {
            let names: Vec<_> = several
                .iter()
                .filter_map(|p| p.file_name())
                .map(|n| n.to_string_lossy())
                .collect();
            Err(error(
                folder,
                format!(
                    "is a folder with several traces; give one of them: {}",
                    names.join(", ")
                ),
            ))
        }
    }
}

pub(crate) fn head(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    config::open_input(file, u64::MAX)?
        .take(256)
        .read_to_end(&mut head)?;
    Ok(head)
}

/// A likely description of a file of unknown format, for the error message.
fn resemblance(head: &[u8]) -> &'static str {
    let is_text = head
        .iter()
        .all(|b| matches!(b, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..));
    match head {
        [] => "an empty file",
        [3, b'B' | b'L', ..] => "a part of an OTF2 archive (give its anchor file, *.otf2, instead)",
        [0xff, 0xaa, 0xdd, ..] => "a damaged DUMPI trace",
        [0x49, 0x50, 0x4d, 0x55, ..] | [0x44, 0xdd, 0xaa, 0xff, ..] => {
            "a DUMPI trace in the wrong byte order"
        }
        _ if is_text => "a text file",
        _ => "a binary file of another kind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::write;

    fn message(path: &Path) -> String {
        let opened = open(path).map(|_| ()).unwrap_err();
        assert_eq!(opened, info(path).map(|_| ()).unwrap_err());
        opened.to_string()
    }

    #[test]
    fn a_missing_file_is_named() {
        let text = message(Path::new("/nowhere/traces.otf2"));
        assert!(
            text.starts_with("/nowhere/traces.otf2: cannot be opened"),
            "{text}"
        );
    }

    #[test]
    fn other_files_are_recognised_for_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        for (content, like) in [
            (&b""[..], "an empty file"),
            (b"# hello\n", "a text file"),
            (b"\x03B\x01\0\0", "a part of an OTF2 archive"),
            (b"\xff\xaa\xddEUMPI\0", "a damaged DUMPI trace"),
            (b"IPMUD\xdd\xaa\xff\0", "a DUMPI trace in the wrong byte order"),
            (b"\x7fELF\x02\x01\x01\0", "a binary file"),
            (b"BOTF", "a text file"),
        ] {
            let file = folder.path().join("traces.otf2");
            write(&file, content).unwrap();
            let text = message(&file);
            assert!(
                text.contains(like) && text.contains("Known formats: bigsim"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_folder_must_hold_one_trace() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            message(folder.path()).contains(
                "is a folder without a trace (bgTrace, *.meta, *.goal, *-0.txt, *.operations, *.otf2"
            )
        );
        write(folder.path().join("b.otf2"), "x").unwrap();
        write(folder.path().join("a.otf2"), "x").unwrap();
        assert!(message(folder.path()).contains("several traces; give one of them: a.otf2, b.otf2"));
        write(folder.path().join("c.goal"), "num_ranks 1\nrank 0 {\n}\n").unwrap();
        assert_eq!(open(folder.path()).unwrap().ranks(), 1);
    }
}
