//! Records of calls in one rank's file.
//!
//! Numbers are big-endian. A record has the number of its function (16 bits), a mask of its parts (8 bits), the
//! thread (16 bits), times, values of performance counters, and the arguments of the call (`calls.rs`).
//!
//! The file is closed between reads, since a trace may have more ranks than a process may have open files. A
//! cursor needs [`CHUNK`] bytes and the largest record.
//!
//! Source: sst-dumpi, `dumpi/common/iodefs.h`.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use super::calls;
use super::files::DumpiFile;
use crate::TraceError;

/// Bytes that are read at once.
pub const CHUNK: usize = 8192;

const HAS_STATUSES: u8 = 0b11;
const HAS_CPU_TIMES: u8 = 1 << 2;
const HAS_WALL_TIMES: u8 = 1 << 3;
const HAS_THREAD: u8 = 1 << 6;
const HAS_COUNTERS: u8 = 1 << 7;

/// A time: seconds modulo 2^16, and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockTime {
    seconds: u16,
    nanoseconds: u32,
}

impl ClockTime {
    /// Nanoseconds since `earlier`, which is less than 9 hours away.
    pub fn since(self, earlier: ClockTime) -> i64 {
        let seconds = self.seconds.wrapping_sub(earlier.seconds) as i16;
        i64::from(seconds) * 1_000_000_000 + i64::from(self.nanoseconds) - i64::from(earlier.nanoseconds)
    }
}

/// Start and end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Start.
    pub start: ClockTime,
    /// End.
    pub stop: ClockTime,
}

/// A recorded `MPI_Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Bytes received.
    pub bytes: i32,
    /// Rank of the sender; negative if there is none.
    pub source: i32,
    /// Whether the request was cancelled.
    pub cancelled: bool,
    /// Tag; not recorded before version 0.6.3.
    pub tag: Option<i32>,
}

/// One call.
#[derive(Clone, Debug, Default)]
pub struct DumpiRecord {
    /// Its function.
    pub function: u16,
    /// Its offset in the file.
    pub offset: u64,
    /// The thread that made it.
    pub thread: u16,
    /// Times on the CPU clock.
    pub cpu: Option<Interval>,
    /// Times on the wall clock.
    pub wall: Option<Interval>,
    /// Statuses; empty if the application asked for none.
    pub statuses: Vec<Status>,
    numbers: Vec<i64>,
    arrays: Vec<Range<usize>>,
    values: Vec<i64>,
}

impl DumpiRecord {
    /// Name of its function.
    pub fn name(&self) -> &'static str {
        calls::name(self.function)
    }

    /// The n-th number.
    pub fn number(&self, n: usize) -> i64 {
        self.numbers.get(n).copied().unwrap_or(0)
    }

    /// The n-th number, as a handle.
    pub fn handle(&self, n: usize) -> u16 {
        self.number(n) as u16
    }

    /// The last number.
    pub fn last_number(&self) -> i64 {
        self.numbers.last().copied().unwrap_or(0)
    }

    /// The last number, as a handle.
    pub fn last_handle(&self) -> u16 {
        self.last_number() as u16
    }

    /// How many arguments are numbers.
    #[cfg(test)]
    pub fn number_count(&self) -> usize {
        self.numbers.len()
    }

    /// The n-th array of numbers.
    pub fn array(&self, n: usize) -> &[i64] {
        self.arrays
            .get(n)
            .map_or(&[], |range| &self.values[range.clone()])
    }

    fn clear(&mut self) {
        self.thread = 0;
        self.cpu = None;
        self.wall = None;
        self.statuses.clear();
        self.numbers.clear();
        self.arrays.clear();
        self.values.clear();
    }
}

/// Reads the records of one rank.
#[derive(Clone)]
pub struct RecordCursor {
    file: Arc<DumpiFile>,
    /// File offset of the buffer.
    base: u64,
    buffer: Vec<u8>,
    used: usize,
    finalized: bool,
    ended: bool,
}

impl RecordCursor {
    /// A cursor at the first record.
    pub fn new(file: Arc<DumpiFile>) -> RecordCursor {
        // The body begins with the seconds that all times omit, 32 bits for each clock.
        let first = file.body + 8;
        RecordCursor::at(file, first)
    }

    /// A cursor at the record at this offset.
    pub fn at(file: Arc<DumpiFile>, offset: u64) -> RecordCursor {
        RecordCursor {
            file,
            base: offset,
            buffer: Vec::new(),
            used: 0,
            finalized: false,
            ended: false,
        }
    }

    /// The file it reads.
    pub fn file(&self) -> &Arc<DumpiFile> {
        &self.file
    }

    /// An error in a record.
    pub fn error(&self, record: &DumpiRecord, message: impl std::fmt::Display) -> TraceError {
        let (name, offset) = (record.name(), record.offset);
        self.file.error(format!("{name} at byte {offset}: {message}"))
    }

    /// Reads the next record into `record`. Returns false at the end.
    ///
    /// # Errors
    /// The file is broken or unreadable.
    pub fn next(&mut self, record: &mut DumpiRecord) -> Result<bool, TraceError> {
        if self.ended {
            return Ok(false);
        }
        record.clear();
        record.offset = self.position();
        record.function = calls::END_OF_STREAM;
        let more = self.read(record).map_err(|message| match record.name() {
            "?" => self.file.error(format!("at byte {}: {message}", record.offset)),
            _ => self.error(record, message),
        })?;
        self.ended = !more;
        Ok(more)
    }

    fn position(&self) -> u64 {
        self.base + self.used as u64
    }

    fn remaining(&self) -> u64 {
        self.file.end.saturating_sub(self.position())
    }

    fn read(&mut self, record: &mut DumpiRecord) -> Result<bool, String> {
        if self.remaining() == 0 {
            if self.finalized {
                return Ok(false);
            }
            return Err("the calls end here without MPI_Finalize; copy the trace again".into());
        }
        let number = self.u16()?;
        if number == calls::END_OF_STREAM || number == calls::ALL_FUNCTIONS {
            return Ok(false);
        }
        record.function = number;
        let Some((name, layout)) = calls::function(number, self.file.version) else {
            return Err(format!(
                "the format knows no function number {number}; the file is damaged or of a newer version"
            ));
        };
        self.finalized |= name == "MPI_Finalize";
        let mask = self.u8()?;
        if mask & HAS_THREAD != 0 {
            record.thread = self.u16()?;
        }
        if mask & HAS_CPU_TIMES != 0 {
            record.cpu = Some(self.interval()?);
        }
        if mask & HAS_WALL_TIMES != 0 {
            record.wall = Some(self.interval()?);
        }
        if mask & HAS_COUNTERS != 0 {
            let counters = self.u8()?;
            self.skip(u64::from(counters) * 16)?;
        }
        self.arguments(layout.as_bytes(), mask, record)?;
        Ok(true)
    }

    fn interval(&mut self) -> Result<Interval, String> {
        let start = self.instant()?;
        let stop = self.instant()?;
        Ok(Interval { start, stop })
    }

    fn instant(&mut self) -> Result<ClockTime, String> {
        let seconds = self.u16()?;
        let nanoseconds = self.i32()? as u32;
        if nanoseconds >= 1_000_000_000 {
            return Err(format!(
                "{nanoseconds} ns in a second; the file is damaged, or not a DUMPI trace in its big-endian byte order"
            ));
        }
        Ok(ClockTime { seconds, nanoseconds })
    }

    fn arguments(&mut self, layout: &[u8], mask: u8, record: &mut DumpiRecord) -> Result<(), String> {
        let mut rest = layout;
        while let [letter, tail @ ..] = rest {
            rest = tail;
            match letter {
                b'b' => record.numbers.push(self.u8()?.into()),
                b'h' => record.numbers.push(self.u16()?.into()),
                b'i' => record.numbers.push(self.i32()?.into()),
                b'l' => record.numbers.push(i64::from_be_bytes(self.take()?)),
                b'H' => self.array(2, record)?,
                b'I' => self.array(4, record)?,
                b'J' => {
                    let first = record.values.len();
                    for _ in 0..self.count(4)? {
                        self.array(4, record)?;
                        record.arrays.pop();
                    }
                    record.arrays.push(first..record.values.len());
                }
                b'B' => self.text(1)?,
                b'S' => self.text(2)?,
                b'T' => self.text(3)?,
                b's' if mask & HAS_STATUSES != 0 => self.statuses(record)?,
                b'[' => {
                    let [x, y, inside @ ..] = rest else { break };
                    let [x, y] = [x, y].map(|digit| record.number(usize::from(digit - b'0')));
                    let after = inside.iter().position(|c| *c == b']').unwrap_or(inside.len());
                    rest = if x == y { inside } else { &inside[after..] };
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the length of an array whose elements have at least `bytes` bytes.
    fn count(&mut self, bytes: u64) -> Result<u64, String> {
        let count = self.i32()?;
        // No array is longer than the rest of the file.
        match u64::try_from(count) {
            Ok(n) if n * bytes <= self.remaining() => Ok(n),
            // The application gave no array.
            Err(_) if count == -1 => Ok(0),
            _ => Err(format!(
                "an array of {count} elements in a file that has {} bytes left; the file is damaged",
                self.remaining()
            )),
        }
    }

    fn array(&mut self, bytes: u64, record: &mut DumpiRecord) -> Result<(), String> {
        let first = record.values.len();
        for _ in 0..self.count(bytes)? {
            let value = if bytes == 2 {
                self.u16()?.into()
            } else {
                self.i32()?.into()
            };
            record.values.push(value);
        }
        record.arrays.push(first..record.values.len());
        Ok(())
    }

    /// Skips text, or nested arrays of text.
    fn text(&mut self, depth: u32) -> Result<(), String> {
        if depth == 1 {
            let bytes = self.count(1)?;
            return self.skip(bytes);
        }
        for _ in 0..self.count(4)? {
            self.text(depth - 1)?;
        }
        Ok(())
    }

    fn statuses(&mut self, record: &mut DumpiRecord) -> Result<(), String> {
        let has_tags = self.file.version >= [0, 6, 3];
        for _ in 0..self.count(10)? {
            let bytes = self.i32()?;
            let source = self.i32()?;
            let cancelled = self.u8()? != 0;
            let _error = self.u8()?;
            let tag = if has_tags { Some(self.i32()?) } else { None };
            record.statuses.push(Status {
                bytes,
                source,
                cancelled,
                tag,
            });
        }
        Ok(())
    }

    fn u8(&mut self) -> Result<u8, String> {
        Ok(u8::from_be_bytes(self.take()?))
    }

    fn u16(&mut self) -> Result<u16, String> {
        Ok(u16::from_be_bytes(self.take()?))
    }

    fn i32(&mut self) -> Result<i32, String> {
        Ok(i32::from_be_bytes(self.take()?))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        if self.buffer.len() - self.used < N {
            self.refill(N)?;
        }
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.buffer[self.used..self.used + N]);
        self.used += N;
        Ok(bytes)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), String> {
        if bytes > self.remaining() {
            return Err(cut_off());
        }
        if bytes <= (self.buffer.len() - self.used) as u64 {
            self.used += bytes as usize;
        } else {
            self.base = self.position() + bytes;
            self.buffer.clear();
            self.used = 0;
        }
        Ok(())
    }

    /// Fills the buffer from the current offset with at least `needed` bytes.
    fn refill(&mut self, needed: usize) -> Result<(), String> {
        let wanted = self.remaining().min(CHUNK as u64);
        if wanted < needed as u64 {
            return Err(cut_off());
        }
        self.base = self.position();
        self.used = 0;
        self.buffer.resize(wanted as usize, 0);
        let mut read = || {
            let mut file = config::open_input(&self.file.path, u64::MAX)?;
            file.seek(SeekFrom::Start(self.base))?;
            file.read_exact(&mut self.buffer)
        };
        read().map_err(|e| format!("cannot be read: {e}"))
    }
}

fn cut_off() -> String {
    "the record is cut off; copy the trace again".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_times_survive_wrapping() {
        let at = |seconds, nanoseconds| ClockTime { seconds, nanoseconds };
        assert_eq!(at(0, 5).since(at(u16::MAX, 999_999_999)), 6);
        assert_eq!(at(3, 0).since(at(1, 1)), 1_999_999_999);
        assert_eq!(at(1, 1).since(at(3, 0)), -1_999_999_999);
    }
}
