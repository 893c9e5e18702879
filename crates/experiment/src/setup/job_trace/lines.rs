//! Lines of a text file, one at a time, of bounded length.

use std::io::{BufRead, Read};

/// Greatest length of a line, in bytes.
const MAX_LINE: u64 = 64 * 1024;

/// Reads a file line by line.
pub(super) struct LineReader<'a> {
    input: &'a mut dyn BufRead,
    /// File in errors.
    name: &'a str,
    number: u64,
    line: Vec<u8>,
}

impl<'a> LineReader<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead, name: &'a str) -> LineReader<'a> {
        LineReader {
            input,
            name,
            number: 0,
            line: Vec::new(),
        }
    }

    /// The number of the next line and its text, without its end; `None` at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read, or the line is too long or no UTF-8.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &str)>, String> {
        self.line.clear();
        self.number += 1;
        let read = (&mut *self.input)
            .take(MAX_LINE + 1)
            .read_until(b'\n', &mut self.line);
        match read {
            Err(error) => return Err(format!("{}: cannot be read: {error}", self.name)),
            Ok(0) => return Ok(None),
            Ok(bytes) if bytes as u64 > MAX_LINE => {
                let message = format!("has more than {MAX_LINE} bytes; expected a job in each line");
                return Err(self.error(self.number, &message));
            }
            Ok(_) => {}
        }
        // Spreadsheets write a byte order mark.
        let start = match self.number {
            1 if self.line.starts_with(b"\xef\xbb\xbf") => 3,
            _ => 0,
        };
        match std::str::from_utf8(&self.line[start..]) {
            Ok(text) => Ok(Some((self.number, text.trim_end_matches(['\n', '\r'])))),
            Err(_) => Err(self.error(self.number, "is no UTF-8; expected a text file")),
        }
    }

    /// An error of a line.
    pub(super) fn error(&self, line: u64, message: &str) -> String {
        format!("{}:{line}: {message}", self.name)
    }
}
