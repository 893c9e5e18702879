//! The shared pointer of a file (MPI 4.1, section 14.4.4): an anonymous file of the first rank, which the others open.

use std::cell::Cell;
use std::ffi::c_int;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{FlockOperation, MemfdFlags, flock, memfd_create};

use crate::abi::class;
use crate::failure::{Failure, Outcome};

/// What the ranks of a file share.
#[derive(Clone, Copy, Debug, Default)]
struct PointerRecord {
    /// In elementary types.
    pointer: i64,
    /// Number of collective changes.
    changes: i64,
    /// The pointer before the last of them, and the error class of that.
    before: i64,
    class: i64,
}

const RECORD_BYTES: usize = 32;

impl PointerRecord {
    fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let words = [self.pointer, self.changes, self.before, self.class];
        let mut bytes = [0; RECORD_BYTES];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: [u8; RECORD_BYTES]) -> PointerRecord {
        let (words, _) = bytes.as_chunks();
        PointerRecord {
            pointer: i64::from_ne_bytes(words[0]),
            changes: i64::from_ne_bytes(words[1]),
            before: i64::from_ne_bytes(words[2]),
            class: i64::from_ne_bytes(words[3]),
        }
    }
}

/// The shared pointer of a file, as this rank reaches it.
#[derive(Debug)]
pub(crate) struct SharedPointer {
    memory: File,
    /// Number of collective changes in which this rank took part.
    changes: Cell<i64>,
}

fn failed(error: &std::io::Error) -> Failure {
    let text = format!("the shared pointer of a file: {error}");
    Failure::new(class::IO, text)
}

impl SharedPointer {
    /// A new one, at 0.
    pub fn new() -> Outcome<SharedPointer> {
        let made = memfd_create("fabricsim-file", MemfdFlags::CLOEXEC).map(File::from);
        let memory = made.map_err(|error| failed(&error.into()))?;
        let start = PointerRecord::default().to_bytes();
        memory.write_all_at(&start, 0).map_err(|error| failed(&error))?;
        Ok(SharedPointer {
            memory,
            changes: Cell::new(0),
        })
    }

    /// Where other ranks find it: process and descriptor.
    pub fn place(&self) -> [u64; 2] {
        [std::process::id().into(), self.memory.as_raw_fd() as u64]
    }

    /// That of another rank.
    pub fn open([process, descriptor]: [u64; 2]) -> Outcome<SharedPointer> {
        let path = format!("/proc/{process}/fd/{descriptor}");
        let opened = File::options().read(true).write(true).open(path);
        Ok(SharedPointer {
            memory: opened.map_err(|error| failed(&error))?,
            changes: Cell::new(0),
        })
    }

    /// Does something that no other rank of the file comes between.
    pub fn exclusively<T>(&self, act: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        flock(&self.memory, FlockOperation::LockExclusive).map_err(|error| failed(&error.into()))?;
        let done = act();
        flock(&self.memory, FlockOperation::Unlock).map_err(|error| failed(&error.into()))?;
        done
    }

    fn change<T>(&self, act: impl FnOnce(&mut PointerRecord) -> T) -> Outcome<T> {
        self.exclusively(|| {
            let mut bytes = [0; RECORD_BYTES];
            self.memory
                .read_exact_at(&mut bytes, 0)
                .map_err(|error| failed(&error))?;
            let mut record = PointerRecord::from_bytes(bytes);
            let done = act(&mut record);
            self.memory
                .write_all_at(&record.to_bytes(), 0)
                .map_err(|error| failed(&error))?;
            Ok(done)
        })
    }

    /// Where it is.
    pub fn get(&self) -> Outcome<i64> {
        self.change(|record| record.pointer)
    }

    /// Moves it on, and gives back where it was.
    pub fn advance(&self, etypes: i64) -> Outcome<i64> {
        self.change(|record| {
            let before = record.pointer;
            record.pointer += etypes;
            before
        })
    }

    /// What all ranks call after a collective that they leave once all have come: the first one does something that
    /// says where the pointer is next. All get where it was.
    ///
    /// # Errors
    /// As what the first one does, on all ranks.
    pub fn change_once(&self, act: impl FnOnce(i64) -> Outcome<i64>) -> Outcome<i64> {
        self.changes.set(self.changes.get() + 1);
        let own = self.changes.get();
        self.change(|record| {
            let mut failure = None;
            if record.changes < own {
                record.before = record.pointer;
                let done = act(record.pointer);
                record.class = class::SUCCESS.into();
                match done {
                    Ok(after) => record.pointer = after,
                    Err(own) => {
                        record.class = own.class.into();
                        failure = Some(own);
                    }
                }
                record.changes = own;
            }
            match (failure, record.class as c_int) {
                (Some(failure), _) => Err(failure),
                (None, class::SUCCESS) => Ok(record.before),
                (None, class) => Err(Failure::new(class, "on the first rank that came to it")),
            }
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_change_it_together_once() {
        let Ok(first) = SharedPointer::new() else {
            panic!("no anonymous file")
        };
        let Ok(second) = SharedPointer::open(first.place()) else {
            panic!("not opened")
        };
        assert_eq!(first.change_once(|pointer| Ok(pointer + 10)).ok(), Some(0));
        // What a rank does alone, before the other one has come out of the collective.
        assert_eq!(first.advance(5).ok(), Some(10));
        assert_eq!(second.change_once(|_| Ok(99)).ok(), Some(0));
        assert_eq!(second.get().ok(), Some(15));
        let fails = |_| Err(Failure::new(class::NO_SPACE, "full"));
        for rank in [&second, &first] {
            let failed = rank.change_once(fails).err().map(|failure| failure.class);
            assert_eq!(failed, Some(class::NO_SPACE));
        }
        assert_eq!(first.get().ok(), Some(15));
    }
}
