//! Input files: regular files of bounded size. A named pipe blocks its reader, and a device such as `/dev/zero` never
//! ends.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::Path;

/// Greatest size of an experiment file, in bytes.
pub const EXPERIMENT_BYTES: u64 = 64 << 20;

/// Greatest size of any other text that is read as a whole, in bytes: a graph of some hundred million edges.
pub const TEXT_BYTES: u64 = 8 << 30;

/// Opens an input file for reading.
///
/// # Errors
/// It does not exist or cannot be opened, is no regular file, or has more than `limit` bytes.
pub fn open_input(path: &Path, limit: u64) -> io::Result<File> {
    // Opening a pipe without a writer would block.
    let metadata = fs::metadata(path)?;
    let refused = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    if !metadata.is_file() {
        let kind = kind(metadata.file_type());
        return refused(format!(
            "is {kind}; expected a regular file: give a file, or copy the content into one"
        ));
    }
    if metadata.len() > limit {
        let bytes = metadata.len();
        return refused(format!(
            "has {bytes} bytes; expected at most {limit}: give another file"
        ));
    }
    File::open(path)
}

/// Reads an input file as text.
///
/// # Errors
/// As [`open_input`], or it is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let mut text = String::new();
    // The file may grow meanwhile.
    open_input(path, limit)?.take(limit).read_to_string(&mut text)?;
    Ok(text)
}

/// The kind of a file that is not regular, for messages.
fn kind(of: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if of.is_fifo() {
            return "a named pipe";
        }
        if of.is_char_device() || of.is_block_device() {
            return "a device";
        }
        if of.is_socket() {
            return "a socket";
        }
    }
    if of.is_dir() { "a folder" } else { "a special file" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_bounded_size_are_read() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = here.join("Cargo.toml");
        assert!(read_text(&file, TEXT_BYTES).unwrap().starts_with("[package]"));
        let why = |path: &Path, limit| read_text(path, limit).unwrap_err().to_string();
        assert!(why(&file, 9).contains("expected at most 9"), "{}", why(&file, 9));
        assert!(why(here, TEXT_BYTES).starts_with("is a folder; expected a regular file"));
        #[cfg(unix)]
        assert!(why(Path::new("/dev/zero"), TEXT_BYTES).starts_with("is a device; expected"));
        let missing = read_text(&here.join("none"), TEXT_BYTES).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
