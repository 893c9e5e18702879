//! The values of one file, one after the other, in the byte order of its writer and without padding.
//!
//! Every file starts with the same 16 bytes, which tell the sizes and formats of numbers. A length is compared with
//! the bytes that are left before anything is allocated for it.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use crate::TraceError;

/// The first bytes of every file.
pub const MAGIC: [u8; 4] = [0x10, 0xea, 0xbd, 0xf9];

/// Bytes of the header.
const HEADER: usize = 16;

/// A position in a file.
pub struct BigsimCursor {
    path: PathBuf,
    file: BufReader<File>,
    /// The next byte.
    at: u64,
    length: u64,
    /// Whether whole numbers begin with their lowest byte.
    little_integers: bool,
    /// Whether floating-point numbers do.
    little_floats: bool,
    /// The PE to which the bytes belong, for errors.
    pe: Option<u32>,
}

impl BigsimCursor {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// It cannot be read, or has another header.
    pub fn open(path: &Path) -> Result<BigsimCursor, TraceError> {
        let wrong = |message: String| TraceError {
            file: path.display().to_string(),
            rank: None,
            message,
        };
        let unreadable = |error: std::io::Error| wrong(format!("cannot be opened: {error}"));
        let file = config::open_input(path, u64::MAX).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let mut cursor = BigsimCursor {
            path: path.into(),
            file: BufReader::new(file),
            at: 0,
            length,
            little_integers: true,
            little_floats: true,
            pe: None,
        };
        let header: [u8; HEADER] = cursor.bytes("the header of 16 bytes")?;
        (cursor.little_integers, cursor.little_floats) = formats(&header).map_err(|(byte, what)| {
            wrong(format!(
                "byte {byte}: {what}; is it a file of a BigSim trace (bgTrace, bgTrace0, ...)?"
            ))
        })?;
        Ok(cursor)
    }

    /// The next byte.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Number of bytes that are left.
    pub fn left(&self) -> u64 {
        self.length.saturating_sub(self.at)
    }

    /// What follows belongs to this PE.
    pub fn enter(&mut self, pe: u32) {
        self.pe = Some(pe);
    }

    /// An error at a byte.
    pub fn error(&self, byte: u64, message: impl std::fmt::Display) -> TraceError {
        TraceError {
            file: self.path.display().to_string(),
            rank: self.pe,
            message: format!("byte {byte}: {message}"),
        }
    }

    /// The next bytes.
    ///
    /// # Errors
    /// The file ends before.
    pub fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N], TraceError> {
        let mut bytes = [0; N];
        self.check_left(N as u64, what)?;
        self.file
            .read_exact(&mut bytes)
            .map_err(|error| self.error(self.at, format_args!("expected {what}: {error}")))?;
        self.at += N as u64;
        Ok(bytes)
    }

    /// Passes over bytes.
    ///
    /// # Errors
    /// The file ends before.
    pub fn skip(&mut self, bytes: u64, what: &str) -> Result<(), TraceError> {
        self.check_left(bytes, what)?;
        let forward = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.file
            .seek_relative(forward)
            .map_err(|error| self.error(self.at, format_args!("expected {what}: {error}")))?;
        self.at += bytes;
        Ok(())
    }

    fn check_left(&self, bytes: u64, what: &str) -> Result<(), TraceError> {
        let left = self.left();
        if bytes > left {
            let message = format!("expected {what} ({bytes} B), found the end of the file after {left} B");
            return Err(self.error(self.at, message));
        }
        Ok(())
    }

    /// The next value, an `int`.
    ///
    /// # Errors
    /// The file ends before.
    pub fn int(&mut self, what: &str) -> Result<i32, TraceError> {
        let bytes = self.bytes(what)?;
        Ok(match self.little_integers {
            true => i32::from_le_bytes(bytes),
            false => i32::from_be_bytes(bytes),
        })
    }

    /// The next value, an `int` that is not negative.
    ///
    /// # Errors
    /// It is negative, or the file ends before.
    pub fn natural(&mut self, what: &str) -> Result<u32, TraceError> {
        let at = self.at;
        let value = self.int(what)?;
        u32::try_from(value)
            .map_err(|_| self.error(at, format_args!("expected {what}, from 0 on; found {value}")))
    }

    /// The next value, a `short`.
    ///
    /// # Errors
    /// The file ends before.
    pub fn short(&mut self, what: &str) -> Result<i16, TraceError> {
        let bytes = self.bytes(what)?;
        Ok(match self.little_integers {
            true => i16::from_le_bytes(bytes),
            false => i16::from_be_bytes(bytes),
        })
    }

    /// The next value, a `char`.
    ///
    /// # Errors
    /// The file ends before.
    pub fn char(&mut self, what: &str) -> Result<u8, TraceError> {
        self.bytes(what).map(|[byte]| byte)
    }

    /// The next value, a `double`.
    ///
    /// # Errors
    /// It is no number, or the file ends before.
    pub fn double(&mut self, what: &str) -> Result<f64, TraceError> {
        let at = self.at;
        let bytes = self.bytes(what)?;
        let value = match self.little_floats {
            true => f64::from_le_bytes(bytes),
            false => f64::from_be_bytes(bytes),
        };
        match value.is_finite() {
            true => Ok(value),
            false => Err(self.error(at, format_args!("expected {what} in seconds, found {value}"))),
        }
    }

    /// The number of entries that follow, each of at least `least` bytes.
    ///
    /// # Errors
    /// It is negative, or so many entries cannot follow.
    pub fn count(&mut self, what: &str, least: u64) -> Result<usize, TraceError> {
        let at = self.at;
        let count = self.natural(what)?;
        let left = self.left();
        if u64::from(count).saturating_mul(least) > left {
            let most = left / least.max(1);
            let message =
                format!("expected {what}, at most {most} in the {left} B that follow; found {count}");
            return Err(self.error(at, message));
        }
        Ok(count as usize)
    }

    /// A number of `int`s, and these.
    ///
    /// # Errors
    /// The number is negative or too large.
    pub fn ints(&mut self, what: &str) -> Result<Vec<i32>, TraceError> {
        let count = self.count(what, 4)?;
        (0..count).map(|_| self.int(what)).collect()
    }
}

/// Whether whole and floating-point numbers begin with their lowest byte. Otherwise the byte that is wrong, and how.
fn formats(header: &[u8; HEADER]) -> Result<(bool, bool), (usize, String)> {
    if header[..4] != MAGIC {
        let found = &header[..4];
        return Err((0, format!("expected 10 ea bd f9, found {found:02x?}")));
    }
    // Version 1 has the size of one more integer; version 0 a pad byte at the end.
    let format = match header[4] {
        0 => 9,
        1 => 10,
        other => return Err((4, format!("expected header version 0 or 1, found {other}"))),
    };
    for (byte, size, name) in [
        (5, 1, "char"),
        (6, 2, "short"),
        (7, 4, "int"),
        (format + 2, 8, "double"),
    ] {
        let found = header[byte];
        if found != size {
            return Err((byte, format!("expected {name} of {size} B, found {found}")));
        }
    }
    let is_little = |byte: usize| match header[byte] {
        0 => Ok(false),
        1 => Ok(true),
        other => Err((
            byte,
            format!("expected number format 0 (big-endian) or 1 (little-endian), found {other}"),
        )),
    };
    Ok((is_little(format)?, is_little(format + 3)?))
}
