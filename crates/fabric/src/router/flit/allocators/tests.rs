use super::*;
use proptest::prelude::*;

/// Runs an allocator on four requesters and four resources, from these pointers. Returns the pairs, sorted, and the
/// pointers.
fn run(allocator: Allocator, pointers: [u32; 8], requests: &[Request]) -> (Vec<Request>, Vec<u32>) {
    let (mut pointers, before) = (pointers.to_vec(), pointers.to_vec());
    let (mut changed, mut scratch, mut granted) = (Vec::new(), Scratch::default(), Vec::new());
    for _ in 0..2 {
        // Scratch memory leaves no trace.
        pointers.clone_from(&before);
        changed.clear();
        granted.clear();
        let mut arbiters = Arbiters {
            arbiter: FlitArbiter::RoundRobin,
            memory: &mut pointers,
            requesters: 4,
            resources: 4,
            changed: &mut changed,
            ranks: &[],
            scratch: &mut scratch,
        };
        allocator.allocate(requests, &mut arbiters, &mut granted);
    }
    let mut pairs: Vec<Request> = granted.iter().map(|request| requests[*request]).collect();
    pairs.sort_unstable();
    let mut undone = pointers.clone();
    for (place, value) in changed.into_iter().rev() {
        undone[place as usize] = value;
    }
    assert_eq!(undone, before, "changes are noted");
    (pairs, pointers)
}

/// Requester 0 asks for resources 0 and 1, requester 1 for 0.
const CONTENDED: [Request; 3] = [(0, 0), (0, 1), (1, 0)];

#[test]
fn separable_allocators_can_miss_a_match() {
    // Both pick resource 0.
    let (pairs, pointers) = run(Allocator::SeparableInputFirst, [0; 8], &CONTENDED);
    assert_eq!(pairs, [(0, 0)]);
    assert_eq!(pointers, [1, 0, 0, 0, 1, 0, 0, 0], "only those of the pair move");
    // Both resources pick requester 0.
    let (pairs, _) = run(Allocator::SeparableOutputFirst, [0; 8], &CONTENDED);
    assert_eq!(pairs, [(0, 0)]);
    // From the pointers of the first step on, requester 0 picks resource 1.
    let (pairs, _) = run(
        Allocator::SeparableInputFirst,
        [1, 0, 0, 0, 1, 0, 0, 0],
        &CONTENDED,
    );
    assert_eq!(pairs, [(0, 1), (1, 0)]);
}

#[test]
fn later_iterations_of_islip_add_pairs_and_move_no_pointers() {
    let requests = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let (pairs, pointers) = run(Allocator::Islip(1), [0; 8], &requests);
    assert_eq!(
        (pairs, &pointers[..]),
        (vec![(0, 0)], &[1, 0, 0, 0, 1, 0, 0, 0][..])
    );
    let (pairs, pointers) = run(Allocator::Islip(2), [0; 8], &requests);
    assert_eq!(pairs, [(0, 0), (1, 1)]);
    assert_eq!(pointers, [1, 0, 0, 0, 1, 0, 0, 0]);
}

proptest! {
    #[test]
    fn grants_are_a_matching_of_requests(
        asked in prop::collection::btree_set((0u32..4, 0u32..4), 0..16),
        pointers in prop::array::uniform8(0u32..4),
    ) {
        let requests: Vec<Request> = asked.into_iter().collect();
        for allocator in [
            Allocator::SeparableInputFirst,
            Allocator::SeparableOutputFirst,
            Allocator::Islip(1),
            Allocator::Islip(4),
            Allocator::Wavefront(WavefrontPointer::Next),
            Allocator::Wavefront(WavefrontPointer::AfterFirstGrant),
        ] {
            let (pairs, _) = run(allocator, pointers, &requests);
            for side in [|pair: &Request| pair.0, |pair: &Request| pair.1] {
                let mut places: Vec<u32> = pairs.iter().map(side).collect();
                places.sort_unstable();
                places.dedup();
                prop_assert_eq!(places.len(), pairs.len());
            }
            prop_assert!(pairs.iter().all(|pair| requests.contains(pair)));
            prop_assert_eq!(pairs.is_empty(), requests.is_empty(), "some request is granted");
        }
        // With as many iterations as ports no pair of free ports is left.
        let (pairs, _) = run(Allocator::Islip(4), pointers, &requests);
        let is_free = |(requester, resource): &&Request| {
            !pairs.iter().any(|pair| pair.0 == *requester || pair.1 == *resource)
        };
        prop_assert!(!requests.iter().any(|request| is_free(&request)));
    }
}
