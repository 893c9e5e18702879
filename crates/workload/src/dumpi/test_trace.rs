//! Synthetic traces for tests, byte by byte.

use std::path::{Path, PathBuf};

use super::files::Version;
use super::record::Status;
use super::{calls, files};

/// An argument of a call.
pub enum Argument<'a> {
    /// A number, in the width of the layout.
    N(i64),
    /// An array of numbers, or text.
    A(&'a [i64]),
    /// Statuses.
    S(&'a [Status]),
}

pub use Argument::{A, N, S};

/// The status of a received message.
pub fn status(source: i32, tag: i32, bytes: i32) -> Status {
    Status {
        bytes,
        source,
        cancelled: false,
        tag: Some(tag),
    }
}

/// The calls of one rank. Each starts 100 ns after the previous one on the CPU clock and 1000 ns after it on the
/// wall clock, and takes 50 ns.
#[derive(Clone)]
pub struct TestTrace {
    bytes: Vec<u8>,
    /// Mask bits of the recorded times.
    times: u8,
    version: Version,
    cpu: u64,
    wall: u64,
    thread: u16,
}

impl TestTrace {
    /// A trace of the current version without calls.
    pub fn new() -> TestTrace {
        TestTrace::of([13, 0, 0], 0b1100)
    }

    /// A trace of another version, or with other times, without calls.
    pub fn of(version: Version, times: u8) -> TestTrace {
        TestTrace {
            bytes: Vec::new(),
            times,
            version,
            cpu: 65_535_999_999_000,
            wall: 5,
            thread: 0,
        }
    }

    /// Appends a call.
    pub fn call(mut self, name: &str, arguments: &[Argument]) -> TestTrace {
        let numbers = 0..calls::END_OF_STREAM;
        let number = numbers.into_iter().find(|n| calls::name(*n) == name);
        let number = number.unwrap_or_else(|| panic!("{name} is no function"));
        let (_, layout) = calls::function(number, self.version).unwrap();
        self.number(number.into(), 2);
        let mask = self.times | 0b11 | 1 << 6;
        self.number(mask.into(), 1);
        self.number(self.thread.into(), 2);
        self.cpu += 100;
        self.wall += 1000;
        for (bit, mut clock) in [(4, self.cpu), (8, self.wall)] {
            for _ in 0..2 {
                if self.times & bit != 0 {
                    self.number((clock / 1_000_000_000 % 65_536) as i64, 2);
                    self.number((clock % 1_000_000_000) as i64, 4);
                }
                clock += 50;
            }
        }
        self.cpu += 50;
        self.wall += 50;
        self.arguments(name, layout.as_bytes(), arguments);
        self
    }

    /// Makes the last call one of another thread.
    pub fn by_thread(mut self, thread: u16) -> TestTrace {
        self.thread = thread;
        self
    }

    fn arguments(&mut self, name: &str, layout: &[u8], arguments: &[Argument]) {
        let mut given = arguments.iter();
        let mut numbers = Vec::new();
        let mut rest = layout;
        while let [letter, tail @ ..] = rest {
            rest = tail;
            let width = match letter {
                b'b' | b'B' => 1,
                b'h' | b'H' => 2,
                b'l' => 8,
                _ => 4,
            };
            match letter {
                b'[' => {
                    let at = |digit: u8| numbers[usize::from(digit - b'0')];
                    let inside = at(rest[0]) == at(rest[1]);
                    let skipped = rest.iter().position(|c| *c == b']').unwrap();
                    rest = if inside { &rest[2..] } else { &rest[skipped..] };
                }
                b']' => {}
                _ => match given.next().unwrap_or_else(|| panic!("{name}: too few")) {
                    N(n) => {
                        numbers.push(*n);
                        self.number(*n, width);
                    }
                    A(values) => {
                        self.number(values.len() as i64, 4);
                        values.iter().for_each(|v| self.number(*v, width));
                    }
                    S(statuses) => {
                        self.number(statuses.len() as i64, 4);
                        for status in *statuses {
                            self.number(status.bytes.into(), 4);
                            self.number(status.source.into(), 4);
                            self.number(status.cancelled.into(), 1);
                            self.number(0, 1);
                            if self.version >= [0, 6, 3] {
                                self.number(status.tag.unwrap().into(), 4);
                            }
                        }
                    }
                },
            }
        }
        assert!(given.next().is_none(), "{name}: too many");
    }

    fn number(&mut self, number: i64, width: usize) {
        self.bytes.extend(&number.to_be_bytes()[8 - width..]);
    }

    /// Content of the file.
    pub fn file(&self) -> Vec<u8> {
        let old = self.version < [0, 6, 6];
        let body = 8u64;
        let mut file = files::MAGIC.to_vec();
        file.extend([0; 8]);
        file.extend(&self.bytes);
        file.extend(calls::END_OF_STREAM.to_be_bytes());
        let header = file.len() as u64;
        file.extend(self.version);
        file.extend([0; 20]);
        let footer = file.len() as u64;
        file.extend(0xf007_fee7u64.to_be_bytes());
        let sizes = file.len() as u64;
        // Sizes of "error", "null" and char.
        [3u32, 0, 0, 1].iter().for_each(|n| file.extend(n.to_be_bytes()));
        file.extend(files::MAGIC);
        let new_parts = [sizes, 0, 0].into_iter().filter(|_| !old);
        let parts = new_parts.chain([header, body, footer, 0]);
        parts.for_each(|offset| file.extend(offset.to_be_bytes()));
        file
    }
}

/// Writes a trace and returns the path of its meta file.
pub fn write(folder: &Path, ranks: &[TestTrace]) -> PathBuf {
    for (rank, calls) in ranks.iter().enumerate() {
        std::fs::write(folder.join(format!("app-{rank:04}.bin")), calls.file()).unwrap();
    }
    let meta = folder.join("app.meta");
    let text = format!(
        "hostname=h\nnumprocs={}\nfileprefix=/somewhere/else/app\n",
        ranks.len()
    );
    std::fs::write(&meta, text).unwrap();
    meta
}
