//! The bytes of a rank's messages.
//!
//! The sender stores them and tells the simulator where; the receiver copies them from there. Blocks have sizes that
//! are powers of two, and those that are released are taken again first.

use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use crate::SharedMemory;
use crate::memory::{ARENA_BYTES, ARENAS};

/// Bytes in an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Payload {
    /// Where they begin in the file.
    pub(crate) offset: u64,
    /// How many.
    pub bytes: u64,
}

const SMALLEST: u64 = 64;

impl Payload {
    /// World rank of its sender.
    pub fn sender(self) -> u32 {
        (self.offset.saturating_sub(ARENAS) / ARENA_BYTES) as u32
    }

    /// The power of two of its block.
    fn class(self) -> usize {
        self.bytes.max(SMALLEST).next_power_of_two().trailing_zeros() as usize
    }

    /// Copies bytes of it, from a place on.
    ///
    /// # Errors
    /// The system cannot read the memory.
    pub fn read_from(self, memory: &SharedMemory, start: u64, into: &mut [u8]) -> io::Result<()> {
        memory.file().read_exact_at(into, self.offset + start)
    }
}

/// The arena of one rank, in its process.
#[derive(Debug)]
pub struct Arena {
    next: u64,
    end: u64,
    /// Where released blocks begin, by the power of two of their bytes.
    free: Vec<Vec<u64>>,
}

impl Arena {
    /// The empty arena of a rank.
    pub fn new(rank: u32) -> Arena {
        let start = ARENAS + u64::from(rank) * ARENA_BYTES;
        Arena {
            next: start,
            end: start + ARENA_BYTES,
            free: vec![Vec::new(); 41],
        }
    }

    /// Stores bytes.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn store(&mut self, memory: &SharedMemory, parts: &[&[u8]]) -> io::Result<Payload> {
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        let mut payload = Payload { offset: 0, bytes };
        let class = payload.class();
        payload.offset = match self.free.get_mut(class).and_then(Vec::pop) {
            Some(offset) => offset,
            None if self.end - self.next >= 1 << class => {
                let offset = self.next;
                self.next += 1 << class;
                offset
            }
            None => {
                return Err(io::Error::other(format!(
                    "a rank has more than {ARENA_BYTES} bytes of messages under way"
                )));
            }
        };
        let mut at = payload.offset;
        for part in parts {
            memory.file().write_all_at(part, at)?;
            at += part.len() as u64;
        }
        Ok(payload)
    }

    /// Takes a block back that has no reader left.
    pub fn release(&mut self, payload: Payload) {
        if let Some(free) = self.free.get_mut(payload.class()) {
            free.push(payload.offset);
        }
    }
}
