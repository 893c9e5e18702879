//! The processes that MPI started, `MPI_COMM_WORLD`, and the collectives of a run.

use std::ops::Range;
use std::thread::{self, ThreadId};

use rsmpi::Threading;
use rsmpi::collective::SystemOperation;
use rsmpi::datatype::{Partition, PartitionMut};
use rsmpi::environment::Universe;
use rsmpi::topology::SimpleCommunicator;
use rsmpi::traits::{Communicator, CommunicatorCollectives};

use crate::JoinError;

/// Maximum bytes of one MPI call: MPI counts bytes in signed 32-bit integers.
const PIECE: usize = 1 << 30;

/// Exit status of a process that panics.
const PANICKED: i32 = 101;

pub(crate) struct MpiWorld {
    /// Finalises MPI when it is dropped.
    universe: Universe,
    rank: usize,
    count: usize,
    thread: ThreadId,
    piece: usize,
}

impl MpiWorld {
    /// Initialises MPI. `launched` is the number of processes that the launcher reports. MPI's own number counts,
    /// unless it is 1.
    pub(crate) fn join(launched: Option<usize>) -> Result<MpiWorld, JoinError> {
        let (universe, provided) =
            rsmpi::initialize_with_threading(Threading::Funneled).ok_or(JoinError::JoinedBefore)?;
        if provided < Threading::Funneled {
            return Err(JoinError::WithoutThreads);
        }
        let all = universe.world();
        let number = |n: i32| usize::try_from(n).expect("MPI counts from 0");
        let (rank, count) = (number(all.rank()), number(all.size()));
        if let Some(launched) = launched.filter(|launched| *launched > 1 && count == 1) {
            return Err(JoinError::AnotherMpi { launched });
        }
        Ok(MpiWorld {
            universe,
            rank,
            count,
            thread: thread::current().id(),
            piece: PIECE,
        })
    }

    pub(crate) fn in_pieces_of(mut self, bytes: usize) -> MpiWorld {
        self.piece = bytes.min(PIECE);
        self
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn abort(&self, status: i32) -> ! {
        self.universe.world().abort(status)
    }

    pub(crate) fn least(&self, values: &mut [u64]) {
        let given: Vec<i64> = values.iter().map(|&value| signed(value)).collect();
        let mut least = given.clone();
        self.all()
            .all_reduce_into(&given[..], &mut least[..], SystemOperation::min());
        for (value, least) in values.iter_mut().zip(least) {
            *value = unsigned(least);
        }
    }

    pub(crate) fn exchange(&self, mut parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        assert_eq!(parcels.len(), self.count, "one parcel for each process");
        // The parcel of a process to itself is not copied.
        let own = std::mem::take(&mut parcels[self.rank]);
        let (lengths, longest) = self.announce(&parcels);
        let mut received: Vec<Vec<u8>> = lengths.iter().map(|&l| Vec::with_capacity(l)).collect();
        // Every process sends and receives at most one piece per round. All know the longest parcel, so they agree on
        // the number of rounds; it is 0 if there is nothing to send.
        let step = (self.piece / self.count).max(1);
        for start in (0..longest).step_by(step) {
            let part = start..start + step;
            self.round(&parcels, part, &lengths, &mut received);
        }
        received[self.rank] = own;
        received
    }

    /// Sends each process the length of its parcel. Returns the lengths of the parcels for this process, and the
    /// length of the longest parcel of all. Each process sends its own longest length along, which saves a second
    /// collective.
    fn announce(&self, parcels: &[Vec<u8>]) -> (Vec<usize>, usize) {
        let own_longest = parcels.iter().map(Vec::len).max().unwrap_or(0);
        let announced: Vec<u64> = parcels
            .iter()
            .flat_map(|parcel| [parcel.len() as u64, own_longest as u64])
            .collect();
        let mut gathered = vec![0u64; announced.len()];
        self.all().all_to_all_into(&announced[..], &mut gathered[..]);
        let number = |n: u64| usize::try_from(n).expect("a length that fits into memory");
        let lengths = gathered.iter().step_by(2).map(|&n| number(n)).collect();
        let longest = gathered.iter().skip(1).step_by(2).copied().max();
        (lengths, number(longest.unwrap_or(0)))
    }

    /// Exchanges the same range of all parcels.
    fn round(&self, parcels: &[Vec<u8>], part: Range<usize>, lengths: &[usize], received: &mut [Vec<u8>]) {
        let sizes = parcels.iter().map(|parcel| within(&part, parcel.len()).len());
        // Both buffers are allocated: an empty one would have the address 1, which is Open MPI's MPI_IN_PLACE.
        let mut outgoing = Vec::with_capacity(sizes.clone().sum::<usize>().max(1));
        for parcel in parcels {
            outgoing.extend_from_slice(&parcel[within(&part, parcel.len())]);
        }
        let (counts, places) = layout(sizes);
        let outgoing = Partition::new(&outgoing[..], counts, places);

        let sizes = || lengths.iter().map(|&length| within(&part, length).len());
        let mut incoming = vec![0u8; sizes().sum::<usize>().max(1)];
        let (counts, places) = layout(sizes());
        let mut into = PartitionMut::new(&mut incoming[..], counts, places);
        self.all().all_to_all_varcount_into(&outgoing, &mut into);

        let mut rest = &incoming[..];
        for (size, parcel) in sizes().zip(received) {
            let (first, others) = rest.split_at(size);
            parcel.extend_from_slice(first);
            rest = others;
        }
    }

    /// The communicator, for a collective.
    fn all(&self) -> SimpleCommunicator {
        assert_eq!(
            thread::current().id(),
            self.thread,
            "only the thread that joined may communicate"
        );
        self.universe.world()
    }
}

impl Drop for MpiWorld {
    fn drop(&mut self) {
        // Finalising waits for the other processes, which may wait for this one.
        if thread::panicking() {
            self.abort(PANICKED);
        }
    }
}

/// Maps unsigned to signed integers and keeps their order. MPI libraries get unsigned minima wrong: the minimum of 5
/// and 2⁶⁴ - 1 is 2⁶⁴ - 1 in MPICH 4.0.2 (`MPI_UINT64_T`, `MPI_UNSIGNED_LONG`) and in Open MPI 4.1.4
/// (`MPI_UNSIGNED_LONG`).
fn signed(value: u64) -> i64 {
    (value ^ (1 << 63)).cast_signed()
}

fn unsigned(value: i64) -> u64 {
    value.cast_unsigned() ^ (1 << 63)
}

/// The range of a parcel of this length that `part` covers.
fn within(part: &Range<usize>, length: usize) -> Range<usize> {
    part.start.min(length)..part.end.min(length)
}

/// Counts and displacements of consecutive blocks, as MPI requires them.
fn layout(sizes: impl Iterator<Item = usize>) -> (Vec<i32>, Vec<i32>) {
    let small = |n: usize| i32::try_from(n).expect("a piece has at most 1 GiB");
    let mut end = 0;
    sizes
        .map(|size| {
            let place = end;
            end += size;
            (small(size), small(place))
        })
        .unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_numbers_survives_the_sign() {
        let ascending = [0, 1, i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX];
        assert!(ascending.is_sorted_by_key(|&value| signed(value)));
        for value in ascending {
            assert_eq!(unsigned(signed(value)), value);
        }
    }

    #[test]
    fn parts_cover_a_parcel() {
        assert_eq!(within(&(0..4), 10), 0..4);
        assert_eq!(within(&(8..12), 10), 8..10);
        assert_eq!(within(&(12..16), 10), 10..10);
        assert_eq!(within(&(0..4), 0), 0..0);
    }

    #[test]
    fn blocks_follow_each_other() {
        assert_eq!(layout([3, 0, 5].into_iter()), (vec![3, 0, 5], vec![0, 3, 3]));
    }
}
