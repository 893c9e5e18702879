//! The shared pointer of a file (MPI 4.1, section 14.4.4): an anonymous file of the first rank, which the others open.
//!
//! Threads of the simulator are apart by up to the lookahead, so the order in which ranks come here says nothing. A
//! rank announces a move with its simulated time, lets time pass until no other one can announce an earlier move, and
//! then finds its place in the order of times, of equal times by rank.

use std::cell::Cell;
use std::ffi::c_int;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{FlockOperation, MemfdFlags, flock, memfd_create};

use crate::abi::class;
use crate::failure::{Failure, Outcome};

/// How long a rank waits after the announcement of a move. More than the lookahead, which is the latency of the
/// shortest cable, or that and the delay of a router.
pub(crate) const SETTLING_PS: u64 = 10_000_000;

/// A move of one rank, which has one at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PointerMove {
    state: i64,
    /// Simulated time in ps.
    time: i64,
    /// By how many elementary types.
    etypes: i64,
    /// Where the pointer was, of one that is settled.
    start: i64,
}

/// Its states, but for 0: none.
const ANNOUNCED: i64 = 1;
const SETTLED: i64 = 2;

impl PointerMove {
    fn to_line(self) -> PointerLine {
        [self.state, self.time, self.etypes, self.start]
    }

    fn of_line([state, time, etypes, start]: PointerLine) -> PointerMove {
        PointerMove {
            state,
            time,
            etypes,
            start,
        }
    }
}

/// What the ranks of a file share, before the moves of all ranks.
#[derive(Clone, Copy, Debug, Default)]
struct PointerHead {
    /// In elementary types.
    pointer: i64,
    /// Number of collective changes.
    changes: i64,
    /// The pointer before the last of them, and the error class of that.
    before: i64,
    class: i64,
}

impl PointerHead {
    fn to_line(self) -> PointerLine {
        [self.pointer, self.changes, self.before, self.class]
    }

    fn of_line([pointer, changes, before, class]: PointerLine) -> PointerHead {
        PointerHead {
            pointer,
            changes,
            before,
            class,
        }
    }
}

/// The head or a move in the anonymous file.
type PointerLine = [i64; 4];

const LINE_BYTES: usize = 32;

/// The shared pointer of a file, as this rank reaches it.
#[derive(Debug)]
pub(crate) struct SharedPointer {
    memory: File,
    ranks: usize,
    /// Number of collective changes in which this rank took part.
    changes: Cell<i64>,
}

fn failed(error: &std::io::Error) -> Failure {
    let text = format!("the shared pointer of a file: {error}");
    Failure::new(class::IO, text)
}

impl SharedPointer {
    /// A new one of this many ranks, at 0.
    pub fn new(ranks: usize) -> Outcome<SharedPointer> {
        let made = memfd_create("fabricsim-file", MemfdFlags::CLOEXEC).map(File::from);
        let memory = made.map_err(|error| failed(&error.into()))?;
        let bytes = LINE_BYTES * (1 + ranks);
        memory.set_len(bytes as u64).map_err(|error| failed(&error))?;
        Ok(SharedPointer {
            memory,
            ranks,
            changes: Cell::new(0),
        })
    }

    /// Where other ranks find it: process and descriptor.
    pub fn place(&self) -> [u64; 2] {
        [std::process::id().into(), self.memory.as_raw_fd() as u64]
    }

    /// That of another rank.
    pub fn open([process, descriptor]: [u64; 2], ranks: usize) -> Outcome<SharedPointer> {
        let path = format!("/proc/{process}/fd/{descriptor}");
        let opened = File::options().read(true).write(true).open(path);
        Ok(SharedPointer {
            memory: opened.map_err(|error| failed(&error))?,
            ranks,
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

    fn lines(&self, first: usize, count: usize) -> Outcome<Vec<PointerLine>> {
        let mut bytes = vec![0; LINE_BYTES * count];
        self.memory
            .read_exact_at(&mut bytes, (LINE_BYTES * first) as u64)
            .map_err(|error| failed(&error))?;
        let (words, _) = bytes.as_chunks();
        let words: Vec<i64> = words.iter().copied().map(i64::from_ne_bytes).collect();
        Ok(words.as_chunks().0.to_vec())
    }

    fn set_line(&self, index: usize, line: PointerLine) -> Outcome<()> {
        let bytes: Vec<u8> = line.into_iter().flat_map(i64::to_ne_bytes).collect();
        self.memory
            .write_all_at(&bytes, (LINE_BYTES * index) as u64)
            .map_err(|error| failed(&error))
    }

    fn head(&self) -> Outcome<PointerHead> {
        let lines = self.lines(0, 1)?;
        Ok(PointerHead::of_line(lines[0]))
    }

    /// Announces the move of a rank at a simulated time.
    pub fn announce(&self, rank: usize, time_ps: u64, etypes: i64) -> Outcome<()> {
        let own = PointerMove {
            state: ANNOUNCED,
            time: time_ps as i64,
            etypes,
            start: 0,
        };
        self.exclusively(|| self.set_line(1 + rank, own.to_line()))
    }

    /// Settles the move of a rank and those before it, which no other one can precede any more: where the pointer was.
    pub fn settle(&self, rank: usize) -> Outcome<i64> {
        self.exclusively(|| {
            let mut head = self.head()?;
            let moves = self.lines(1, self.ranks)?;
            let moves: Vec<PointerMove> = moves.into_iter().map(PointerMove::of_line).collect();
            let mut own = moves[rank];
            let earlier = moves
                .into_iter()
                .enumerate()
                .filter(|(other, one)| one.state == ANNOUNCED && (one.time, *other) <= (own.time, rank));
            let mut earlier: Vec<(usize, PointerMove)> = earlier.collect();
            earlier.sort_by_key(|(other, one)| (one.time, *other));
            for (other, mut one) in earlier {
                (one.state, one.start) = (SETTLED, head.pointer);
                head.pointer += one.etypes;
                self.set_line(1 + other, one.to_line())?;
                if other == rank {
                    own = one;
                }
            }
            self.set_line(1 + rank, PointerMove::default().to_line())?;
            self.set_line(0, head.to_line())?;
            Ok(own.start)
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
        self.exclusively(|| {
            let mut head = self.head()?;
            let mut failure = None;
            if head.changes < own {
                (head.changes, head.before, head.class) = (own, head.pointer, class::SUCCESS.into());
                match act(head.pointer) {
                    Ok(after) => head.pointer = after,
                    Err(own) => {
                        head.class = own.class.into();
                        failure = Some(own);
                    }
                }
                self.set_line(0, head.to_line())?;
            }
            match (failure, head.class as c_int) {
                (Some(failure), _) => Err(failure),
                (None, class::SUCCESS) => Ok(head.before),
                (None, class) => Err(Failure::new(class, "on the first rank that came to it")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (SharedPointer, SharedPointer) {
        let Ok(first) = SharedPointer::new(2) else {
            panic!("no anonymous file")
        };
        let Ok(second) = SharedPointer::open(first.place(), 2) else {
            panic!("not opened")
        };
        (first, second)
    }

    #[test]
    fn ranks_change_it_together_once() {
        let (first, second) = pair();
        assert_eq!(first.change_once(|pointer| Ok(pointer + 10)).ok(), Some(0));
        // What a rank does alone, before the other one has come out of the collective.
        assert!(first.announce(0, 5, 3).is_ok());
        assert_eq!(first.settle(0).ok(), Some(10));
        assert_eq!(second.change_once(|_| Ok(99)).ok(), Some(0));
        let fails = |_| Err(Failure::new(class::NO_SPACE, "full"));
        for rank in [&second, &first] {
            let failed = rank.change_once(fails).err().map(|failure| failure.class);
            assert_eq!(failed, Some(class::NO_SPACE));
        }
        assert_eq!(first.change_once(Ok).ok(), Some(13));
    }

    #[test]
    fn moves_are_in_the_order_of_their_times() {
        for (times, starts) in [([7, 5], [20, 0]), ([5, 7], [0, 10]), ([5, 5], [0, 10])] {
            // Whoever announces and settles first.
            for order in [[0, 1], [1, 0]] {
                let (first, second) = pair();
                let both = [&first, &second];
                for rank in order {
                    let etypes = [10, 20][rank];
                    assert!(both[rank].announce(rank, times[rank], etypes).is_ok());
                }
                for rank in order {
                    assert_eq!(both[rank].settle(rank).ok(), Some(starts[rank]), "{times:?}");
                }
                assert_eq!(first.change_once(Ok).ok(), Some(30));
            }
        }
    }
}
