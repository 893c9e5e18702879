//! Matching of recorded messages by the rules of MPI: receives of one envelope take messages in the order of
//! sending. Tests of trace readers check that every recorded receive has a send and that every wait names an open
//! request.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fabricsim_workload::{Operation, Workload};

/// Envelope of a message: communicator, sender and receiver as world ranks, tag.
type Envelope = (u32, u32, u32, u32);

/// Pairs all sends of a workload with its receives. Fails if a receive is left over or too small, if the number of
/// remaining messages differs from the number of wildcard receives, or if a request is left open or waited for
/// twice.
///
/// By rank, its receives from any source or with any tag, and whether the buffer of every other receive has exactly
/// the size of its message.
pub fn pair_up(workload: &dyn Workload, name: &str) -> (BTreeMap<u32, usize>, bool) {
    let communicators = workload.communicators();
    let mut sent: HashMap<Envelope, Vec<u64>> = HashMap::new();
    let mut received: HashMap<Envelope, Vec<u64>> = HashMap::new();
    let mut from_anyone: BTreeMap<u32, usize> = BTreeMap::new();
    for rank in 0..workload.ranks() {
        let mut open_requests = BTreeSet::new();
        let mut program = workload.program(rank).unwrap();
        while let Some(operation) = program.next().unwrap_or_else(|e| panic!("{e}")) {
            let started = match operation {
                Operation::Send {
                    to,
                    tag,
                    communicator,
                    bytes,
                    request,
                    ..
                } => {
                    let to = communicators[communicator as usize][to as usize];
                    sent.entry((communicator, rank, to, tag)).or_default().push(bytes);
                    request
                }
                Operation::Receive {
                    from,
                    tag,
                    communicator,
                    bytes,
                    request,
                    ..
                } => {
                    if let (Some(from), Some(tag)) = (from, tag) {
                        let from = communicators[communicator as usize][from as usize];
                        let envelope = (communicator, from, rank, tag);
                        received.entry(envelope).or_default().push(bytes);
                    } else {
                        *from_anyone.entry(rank).or_default() += 1;
                    }
                    request
                }
                Operation::Wait { requests, .. } => {
                    for request in requests {
                        assert!(open_requests.remove(&request), "{name}: rank {rank}, {request}");
                    }
                    None
                }
                _ => None,
            };
            if let Some(request) = started {
                assert!(open_requests.insert(request), "{name}: rank {rank}, {request}");
            }
        }
        assert!(
            open_requests.is_empty(),
            "{name}: rank {rank} leaves requests open"
        );
    }
    let mut left: BTreeMap<u32, usize> = BTreeMap::new();
    let mut sizes_are_equal = true;
    for (envelope, sizes) in sent {
        let buffers = received.remove(&envelope).unwrap_or_default();
        let more = sizes.len().checked_sub(buffers.len());
        let more = more.unwrap_or_else(|| panic!("{name}: {envelope:?} is received, but not sent"));
        if more > 0 {
            *left.entry(envelope.2).or_default() += more;
            continue;
        }
        let fits = sizes.iter().zip(&buffers).all(|(size, buffer)| size <= buffer);
        assert!(fits, "{name}: {envelope:?}: {sizes:?} in {buffers:?}");
        sizes_are_equal &= sizes == buffers;
    }
    assert!(received.is_empty(), "{name}: {received:?}");
    assert_eq!(left, from_anyone, "{name}");
    (from_anyone, sizes_are_equal)
}
