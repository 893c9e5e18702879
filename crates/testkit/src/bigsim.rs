//! Writes small BigSim traces, byte by byte. The reader under test has no part in it.

use std::fs;
use std::path::Path;

/// A trace.
#[derive(Clone)]
pub struct BigsimFixture {
    /// Nodes in each dimension.
    pub grid: [i32; 3],
    /// Worker threads of a node.
    pub threads: i32,
    /// Files with timelines.
    pub files: usize,
    /// Version of the logs.
    pub version: i32,
    /// Version of the header of each file.
    pub header: u8,
    /// Whether numbers begin with their highest byte.
    pub is_big_endian: bool,
    /// The logs of each PE.
    pub pes: Vec<Vec<FixtureLog>>,
}

/// A log.
#[derive(Clone, Default)]
pub struct FixtureLog {
    /// Its name.
    pub name: &'static str,
    /// The message that starts it: the PE that sends it, and its number there.
    pub started_by: Option<(i32, i32)>,
    /// Its time in seconds.
    pub exec_s: f64,
    /// Its end in seconds.
    pub end_s: f64,
    /// Its flag.
    pub flag: u8,
    /// Its operation of MPI, from version 6 on.
    pub operation: u16,
    /// Messages: number, node, thread, bytes.
    pub sends: Vec<(i32, i32, i16, i32)>,
    /// Texts of events.
    pub texts: Vec<&'static str>,
    /// Logs before it. Those after it follow from them.
    pub before: Vec<i32>,
}

/// The bytes of a file, in one byte order.
struct FileBytes {
    bytes: Vec<u8>,
    is_big_endian: bool,
}

impl FileBytes {
    fn put<const N: usize>(&mut self, big_endian: [u8; N]) {
        let mut bytes = big_endian;
        if !self.is_big_endian {
            bytes.reverse();
        }
        self.bytes.extend(bytes);
    }

    fn int(&mut self, value: i32) {
        self.put(value.to_be_bytes());
    }

    fn short(&mut self, value: i16) {
        self.put(value.to_be_bytes());
    }

    fn double(&mut self, value: f64) {
        self.put(value.to_be_bytes());
    }

    fn ints(&mut self, values: &[i32]) {
        self.int(values.len() as i32);
        values.iter().for_each(|value| self.int(*value));
    }
}

impl BigsimFixture {
    /// A trace of version 6 on one node for each of these PEs, in one file.
    pub fn new(pes: Vec<Vec<FixtureLog>>) -> BigsimFixture {
        BigsimFixture {
            grid: [pes.len() as i32, 1, 1],
            threads: 1,
            files: 1,
            version: 6,
            header: 1,
            is_big_endian: false,
            pes,
        }
    }

    fn file(&self) -> FileBytes {
        let little = u8::from(!self.is_big_endian);
        let mut bytes = vec![0x10, 0xea, 0xbd, 0xf9, self.header, 1, 2, 4, 8];
        if self.header == 1 {
            bytes.push(16);
        }
        bytes.extend([little, 4, 8, little, 1, 8]);
        bytes.resize(16, 0);
        FileBytes {
            bytes,
            is_big_endian: self.is_big_endian,
        }
    }

    /// The content of `bgTrace`. Version 0 is not written, as in old traces.
    pub fn main(&self) -> Vec<u8> {
        let mut file = self.file();
        let [x, y, z] = self.grid;
        let pes = self.pes.len() as i32;
        for value in [pes, x, y, z, 1, self.threads, 0, 2, self.files as i32] {
            file.int(value);
        }
        if self.version > 0 {
            file.int(self.version);
            file.int(7);
        }
        file.bytes
    }

    /// The content of the file of timelines with this number.
    pub fn timelines(&self, number: usize) -> Vec<u8> {
        let threads = self.threads as usize;
        let nodes = (number..self.pes.len() / threads).step_by(self.files);
        let pes: Vec<usize> = nodes
            .flat_map(|node| node * threads..(node + 1) * threads)
            .collect();
        let bodies: Vec<Vec<u8>> = pes.iter().map(|pe| self.timeline(&self.pes[*pe])).collect();
        let mut file = self.file();
        let mut offset = 16 + 4 + 4 * pes.len();
        let offsets: Vec<i32> = bodies
            .iter()
            .map(|body| {
                offset += body.len();
                (offset - body.len()) as i32
            })
            .collect();
        file.ints(&offsets);
        file.bytes.extend(bodies.concat());
        file.bytes
    }

    fn timeline(&self, logs: &[FixtureLog]) -> Vec<u8> {
        let mut out = FileBytes {
            bytes: Vec::new(),
            is_big_endian: self.is_big_endian,
        };
        out.int(logs.len() as i32);
        for (number, log) in (0..).zip(logs) {
            let after = (0..)
                .zip(logs)
                .filter(|(_, other)| other.before.contains(&number));
            let after: Vec<i32> = after.map(|(other, _)| other).collect();
            self.log(&mut out, number, log, &after);
        }
        out.bytes
    }

    fn log(&self, out: &mut FileBytes, number: i32, log: &FixtureLog, after: &[i32]) {
        let (from, id) = log.started_by.unwrap_or((-1, -1));
        for value in [3, number, from, id] {
            out.int(value);
        }
        if self.version >= 6 {
            out.put(log.operation.to_be_bytes());
            out.int(123);
        }
        if self.version >= 4 {
            out.short(-1);
        }
        for value in [-1.0, 0.0, log.end_s - log.exec_s, log.exec_s, log.end_s] {
            out.double(value);
        }
        out.bytes.push(log.flag);
        let mut name = log.name.as_bytes().to_vec();
        name.resize(20, 0);
        out.bytes.extend(name);
        let object = match self.version {
            0 | 1 => 0,
            2 => 3,
            _ => 4,
        };
        (0..object).for_each(|value| out.int(value));
        out.int(log.sends.len() as i32);
        for (id, node, thread, bytes) in &log.sends {
            out.int(*id);
            out.int(*node);
            out.double(0.5);
            out.double(0.75);
            out.short(*thread);
            out.int(*bytes);
            if self.version > 0 {
                out.int(1);
            }
        }
        out.int(log.texts.len() as i32);
        for text in &log.texts {
            // An event without text is a mark by number.
            out.bytes.push(if text.is_empty() { 1 } else { 2 });
            out.double(0.25);
            match text.is_empty() {
                true => out.int(5),
                false => {
                    out.int(text.len() as i32 + 1);
                    out.bytes.extend(text.bytes());
                    out.bytes.push(0);
                }
            }
        }
        out.ints(&log.before);
        out.ints(after);
    }

    /// Writes the trace into a folder.
    ///
    /// # Panics
    /// The folder cannot be written.
    pub fn write(&self, folder: &Path) {
        fs::write(folder.join("bgTrace"), self.main()).expect("the folder can be written");
        for number in 0..self.files {
            let file = folder.join(format!("bgTrace{number}"));
            fs::write(file, self.timelines(number)).expect("the folder can be written");
        }
    }
}
