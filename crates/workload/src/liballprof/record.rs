//! The lines of one rank's file: one call each, with comments and empty lines between.
//!
//! ```text
//! MPI_Send:1237666046950835.000000:6610272:4500:11,8,8:1:3000:0,0,4:1237666046950889.000000
//! name    :begin                  :arguments, see `calls`          :end
//! ```
//!
//! Times are microseconds on the rank's own clock. `MPI_Init` has no start time, `MPI_Finalize` no end time.
//!
//! The file is read in pieces and closed in between, since a trace may have more ranks than a process may have
//! open files.

use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use super::calls::{self, FunctionKind, RecordedFunction};
use super::files::AllprofFile;
use crate::TraceError;

/// Bytes read at once.
const PIECE: usize = 1 << 14;
/// Bytes of the longest line: counts for a million ranks, twice.
const LONGEST: usize = 1 << 25;

/// A communicator argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommArgument {
    /// Its handle, a number or an address.
    pub handle: i128,
    /// The caller's rank in it.
    pub rank: u32,
    /// Its size.
    pub size: u32,
}

/// One call.
#[derive(Debug)]
pub struct AllprofRecord {
    /// Line, from 1.
    pub line: u64,
    /// The function.
    pub function: &'static RecordedFunction,
    /// Start in picoseconds; `None` for `MPI_Init`.
    pub start: Option<u128>,
    /// End in picoseconds; `None` for `MPI_Finalize`.
    pub end: Option<u128>,
    /// The communicator.
    pub comm: Option<CommArgument>,
    /// Address of the buffer that may be `MPI_IN_PLACE`.
    pub buffer: Option<u64>,
    /// Handle of the reduction operation.
    pub reduction: Option<i64>,
    numbers: Vec<i64>,
    addresses: Vec<u64>,
    sizes: Vec<i64>,
    arrays: Vec<Vec<i64>>,
}

impl AllprofRecord {
    /// The n-th number.
    pub fn number(&self, n: usize) -> i64 {
        self.numbers.get(n).copied().unwrap_or(0)
    }

    /// How many numbers the call has.
    pub fn numbers(&self) -> usize {
        self.numbers.len()
    }

    /// The n-th address.
    pub fn address(&self, n: usize) -> u64 {
        self.addresses.get(n).copied().unwrap_or(0)
    }

    /// The last address.
    pub fn last_address(&self) -> u64 {
        self.addresses.last().copied().unwrap_or(0)
    }

    /// The size of the n-th datatype.
    pub fn size(&self, n: usize) -> i64 {
        self.sizes.get(n).copied().unwrap_or(0)
    }

    /// The n-th array; `None` if only its address was recorded.
    pub fn array(&self, n: usize) -> Option<&[i64]> {
        self.arrays.get(n).map(Vec::as_slice)
    }

    /// Its name and line, for errors.
    pub fn place(&self) -> String {
        format!("line {}: {}", self.line, self.function.name)
    }
}

/// Reads calls.
#[derive(Debug)]
pub struct LineCursor {
    file: Arc<AllprofFile>,
    /// File offset after the buffer.
    offset: u64,
    buffer: Vec<u8>,
    /// Consumed bytes of the buffer.
    taken: usize,
    at_end: bool,
    line: u64,
    finalized: bool,
}

impl LineCursor {
    /// A cursor at the first line.
    pub fn new(file: Arc<AllprofFile>) -> LineCursor {
        LineCursor {
            file,
            offset: 0,
            buffer: Vec::new(),
            taken: 0,
            at_end: false,
            line: 0,
            finalized: false,
        }
    }

    /// The file it reads.
    pub fn file(&self) -> &Arc<AllprofFile> {
        &self.file
    }

    /// The next call; `None` after `MPI_Finalize`.
    ///
    /// # Errors
    /// The file is broken or unreadable.
    pub fn next(&mut self) -> Result<Option<AllprofRecord>, TraceError> {
        loop {
            let line = self.next_line().map_err(|message| self.error(&message))?;
            let Some(line) = line else {
                if self.finalized {
                    return Ok(None);
                }
                return Err(self.error(
                    "the file ends here without MPI_Finalize; it is cut off, or the application did not come to its end",
                ));
            };
            let text = &self.buffer[line];
            if text.is_empty() || text.starts_with(b"#") {
                continue;
            }
            let record = match std::str::from_utf8(text) {
                Ok(text) => parse(text, self.line),
                Err(_) => Err("holds bytes that are no text; the file is damaged".into()),
            };
            let record = record.map_err(|message| self.error(&message))?;
            if self.finalized {
                return Err(self.error(&format!("{} after MPI_Finalize", record.function.name)));
            }
            self.finalized = record.function.name == "MPI_Finalize";
            return Ok(Some(record));
        }
    }

    /// Memory in bytes.
    #[cfg(test)]
    pub fn memory(&self) -> usize {
        self.buffer.capacity()
    }

    fn error(&self, message: &str) -> TraceError {
        self.file.error(format!("line {}: {message}", self.line))
    }

    /// Range of the next line in the buffer, without line end.
    fn next_line(&mut self) -> Result<Option<std::ops::Range<usize>>, String> {
        let mut searched = self.taken;
        loop {
            if let Some(length) = self.buffer[searched..].iter().position(|b| *b == b'\n') {
                let end = searched + length;
                return Ok(Some(self.take(end, end + 1)));
            }
            if self.at_end {
                if self.taken == self.buffer.len() {
                    return Ok(None);
                }
                self.line += 1;
                return Err("the file is cut off in this line".into());
            }
            if self.buffer.len() - self.taken > LONGEST {
                self.line += 1;
                return Err(format!("is longer than {LONGEST} bytes; the file is damaged"));
            }
            self.buffer.drain(..self.taken);
            self.taken = 0;
            searched = self.buffer.len();
            self.fill().map_err(|e| format!("cannot be read further: {e}"))?;
        }
    }

    fn take(&mut self, end: usize, next: usize) -> std::ops::Range<usize> {
        let start = self.taken;
        self.taken = next;
        self.line += 1;
        let end = if self.buffer[start..end].ends_with(b"\r") {
            end - 1
        } else {
            end
        };
        start..end
    }

    fn fill(&mut self) -> std::io::Result<()> {
        let mut file = config::open_input(&self.file.path, u64::MAX)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let read = file.take(PIECE as u64).read_to_end(&mut self.buffer)?;
        self.offset += read as u64;
        self.at_end = read == 0;
        Ok(())
    }
}

/// Parses a call.
fn parse(text: &str, line: u64) -> Result<AllprofRecord, String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let shown: String = name.chars().take(40).collect();
    if !name.starts_with("MPI_") {
        return Err(format!(
            "expected a call, as 'MPI_Send:...', or a comment; found '{shown}'"
        ));
    }
    let function =
        calls::function(name).ok_or_else(|| format!("{shown}: this reader does not know the function"))?;
    let mut record = AllprofRecord {
        line,
        function,
        start: None,
        end: None,
        comm: None,
        buffer: None,
        reduction: None,
        numbers: Vec::new(),
        addresses: Vec::new(),
        sizes: Vec::new(),
        arrays: Vec::new(),
    };
    let read = match function.kind {
        FunctionKind::Refused(why) => Err(why.into()),
        kind => arguments(&mut record, kind, rest),
    };
    read.map_err(|message| format!("{name}: {message}"))?;
    Ok(record)
}

fn arguments(record: &mut AllprofRecord, kind: FunctionKind, rest: &str) -> Result<(), String> {
    let cut =
        || "expected a start, arguments and an end, with ':' between them; the line is cut off".to_string();
    let (start, rest) = rest.split_once(':').ok_or_else(cut)?;
    let (middle, end) = rest.rsplit_once(':').unwrap_or(("", rest));
    let name = record.function.name;
    // There is no clock before MPI_Init and after MPI_Finalize.
    record.start = time("start", start, name.starts_with("MPI_Init"))?;
    record.end = time("end", end, name == "MPI_Finalize")?;
    let FunctionKind::Replayed(layout) = kind else {
        return Ok(());
    };
    let arrays = layout.matches('v').count();
    let found = if middle.is_empty() {
        0
    } else {
        middle.split(':').count()
    };
    let with_entries = found == layout.len() + arrays;
    if !with_entries && found != layout.len() {
        return Err(format!(
            "expected {} arguments, found {found}",
            layout.len() + arrays
        ));
    }
    let mut fields = middle.split(':');
    for letter in layout.chars() {
        let field = fields.next().unwrap_or("");
        match letter {
            'i' => record.numbers.push(number(field)?),
            'a' => record.addresses.push(address(field)?),
            'd' => record.sizes.push(datatype(field)?),
            'b' => record.buffer = address(field).ok(),
            'o' => record.reduction = field.parse().ok(),
            'c' => record.comm = Some(communicator(field)?),
            'v' if with_entries => {
                let entries = fields.next().unwrap_or("").split(',').map(number);
                record.arrays.push(entries.collect::<Result<_, _>>()?);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Parses microseconds with decimals into picoseconds; `-` is unknown.
fn time(what: &str, text: &str, may_lack: bool) -> Result<Option<u128>, String> {
    if text == "-" && may_lack {
        return Ok(None);
    }
    let wrong = || {
        let shown: String = text.chars().take(40).collect();
        format!("expected the {what} of the call in microseconds, found '{shown}'")
    };
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || whole.len() > 20 {
        return Err(wrong());
    }
    let micros: u128 = whole.parse().map_err(|_| wrong())?;
    // Digits below a picosecond are dropped.
    let decimals = decimals.get(..6).unwrap_or(decimals);
    let part: u128 = format!("{decimals:0<6}").parse().map_err(|_| wrong())?;
    Ok(Some(micros * 1_000_000 + part))
}

fn number(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| expected("a number", text))
}

fn address(text: &str) -> Result<u64, String> {
    // Fortran wrappers print some addresses as signed numbers.
    let negative = || text.parse::<i64>().ok().map(|n| n as u64);
    text.parse()
        .ok()
        .or_else(negative)
        .ok_or_else(|| expected("an address", text))
}

fn datatype(text: &str) -> Result<i64, String> {
    let what = "a datatype as number,size,extent";
    let mut parts = text.split(',');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(size), Some(_), None) => size.parse().map_err(|_| expected(what, text)),
        _ => Err(expected(what, text)),
    }
}

fn communicator(text: &str) -> Result<CommArgument, String> {
    let wrong = || expected("a communicator as handle,rank,size", text);
    let mut parts = text.split(',');
    let mut part = || parts.next().ok_or_else(wrong);
    let (handle, rank, size) = (part()?, part()?, part()?);
    let comm = CommArgument {
        handle: handle.parse().map_err(|_| wrong())?,
        rank: rank.parse().map_err(|_| wrong())?,
        size: size.parse().map_err(|_| wrong())?,
    };
    if parts.next().is_some() || comm.rank >= comm.size {
        return Err(wrong());
    }
    Ok(comm)
}

fn expected(what: &str, found: &str) -> String {
    let shown: String = found.chars().take(40).collect();
    format!("expected {what}, found '{shown}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_picoseconds() {
        for (text, ps) in [
            ("1237666046950835.000000", 1_237_666_046_950_835_000_000),
            ("0.5", 500_000),
            ("12", 12_000_000),
            ("3.1234567", 3_123_456),
        ] {
            assert_eq!(time("start", text, false), Ok(Some(ps)), "{text}");
        }
        assert_eq!(time("start", "-", true), Ok(None));
        for text in ["-", "", "1.", ".5", "-3", "1e9", "1.2.3", "999999999999999999999"] {
            assert!(time("start", text, false).is_err(), "{text}");
        }
    }
}
