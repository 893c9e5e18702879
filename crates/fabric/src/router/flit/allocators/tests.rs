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
            arbiter: ArbiterTree {
                arbiter: FlitArbiter::RoundRobin,
                groups: 1,
            },
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

#[test]
fn a_lonely_output_goes_to_the_requester_that_has_no_other_for_it() {
    let (pairs, pointers) = run(Allocator::LonelyOutput, [0; 8], &CONTENDED);
    assert_eq!(pairs, [(0, 1), (1, 0)]);
    assert_eq!(
        pointers,
        [1, 1, 0, 0, 1, 1, 0, 0],
        "by one, and not past the partner"
    );
}

#[test]
fn a_matching_of_maximum_size_takes_pairs_back() {
    // Requester 0 would take resource 0, the only one of requester 1.
    let (pairs, pointers) = run(Allocator::MaximumSize, [0; 8], &CONTENDED);
    assert_eq!(pairs, [(0, 1), (1, 0)]);
    assert_eq!(pointers[0], 1);
    let (_, pointers) = run(Allocator::MaximumSize, [3, 0, 0, 0, 0, 0, 0, 0], &[]);
    assert_eq!(pointers[0], 0, "it moves without requests, too");
}

#[test]
fn a_requester_of_select_may_leave_a_resource_to_nobody() {
    // Resources 0 and 1 grant requester 0, which takes 0 at first and then 1.
    let requests = [(0, 0), (0, 1)];
    let (pairs, _) = run(Allocator::Select(1), [0; 8], &requests);
    assert_eq!(pairs, [(0, 0)]);
    let (pairs, _) = run(Allocator::Select(2), [0; 8], &requests);
    assert_eq!(pairs, [(0, 1)]);
}

/// Pairs of a largest matching, of requesters from one on, without taken resources.
fn largest(requests: &[Request], from: u32, taken: u32) -> usize {
    if from == 4 {
        return 0;
    }
    let without = largest(requests, from + 1, taken);
    let of_one = requests.iter().filter(|(requester, _)| *requester == from);
    let free = of_one.filter(|(_, resource)| taken & 1 << resource == 0);
    free.map(|(_, resource)| 1 + largest(requests, from + 1, taken | 1 << resource))
        .max()
        .map_or(without, |with| with.max(without))
}

proptest! {
    #[test]
    fn no_matching_is_larger_than_that_of_maximum_size(
        asked in prop::collection::btree_set((0u32..4, 0u32..4), 0..16),
        first in 0u32..4,
    ) {
        let requests: Vec<Request> = asked.into_iter().collect();
        let (pairs, _) = run(Allocator::MaximumSize, [first, 0, 0, 0, 0, 0, 0, 0], &requests);
        prop_assert_eq!(pairs.len(), largest(&requests, 0, 0));
    }


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
            Allocator::LonelyOutput,
            Allocator::MaximumSize,
            Allocator::Select(1),
            Allocator::Select(4),
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
