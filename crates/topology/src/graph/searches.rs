//! A cache of searches, in memory that does not grow with the network.
//!
//! Each block of destinations has one slot, which it shares with others if there are more blocks than slots. A block
//! replaces the previous one in its slot. The result of a search depends only on the network, so answers do not
//! depend on the cache or on the order of threads.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;

use super::adjacency::Adjacency;
use super::distances::{BLOCK, DestinationBlock, Towards};
use super::network::MOST_ROUTERS;

/// Memory of all cached blocks, in bytes: all blocks of 65,536 routers fit. Each thread can hold one more block
/// during a search or its use.
const BUDGET: u64 = 1 << 30;

const _: () = assert!(DestinationBlock::bytes(MOST_ROUTERS) <= BUDGET);

pub(super) struct Searches {
    /// Block `n` uses slot `n` modulo the number of slots.
    slots: Box<[CacheSlot]>,
}

#[derive(Default)]
struct CacheSlot {
    kept: ArcSwapOption<DestinationBlock>,
    /// Locked during a search, so that only one thread searches for a block.
    searching: Mutex<()>,
}

impl Searches {
    /// A cache for a network of this many routers.
    pub(super) fn new(routers: u32) -> Searches {
        Searches::with_slots(slots(routers))
    }

    fn with_slots(slots: u32) -> Searches {
        Searches {
            slots: (0..slots).map(|_| CacheSlot::default()).collect(),
        }
    }

    /// Calls `query` with the shortest paths to a destination.
    #[inline]
    pub(super) fn towards<R>(
        &self,
        adjacency: &Adjacency,
        destination: u32,
        ask: impl FnOnce(Towards<'_>) -> R,
    ) -> R {
        let number = destination / BLOCK;
        let slot = &self.slots[number as usize % self.slots.len()];
        let kept = slot.kept.load();
        if let Some(block) = kept.as_deref().filter(|block| block.number == number) {
            return ask(Towards {
                adjacency,
                block,
                destination,
            });
        }
        drop(kept);
        let block = &slot.search(adjacency, number);
        ask(Towards {
            adjacency,
            block,
            destination,
        })
    }
}

impl CacheSlot {
    #[cold]
    fn search(&self, adjacency: &Adjacency, number: u32) -> Arc<DestinationBlock> {
        let _searching = self.searching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = self.kept.load_full().filter(|block| block.number == number) {
            return block;
        }
        let block = Arc::new(DestinationBlock::search(adjacency, number).0);
        self.kept.store(Some(block.clone()));
        block
    }
}

/// A cache with a slot for every block, if all blocks fit.
fn slots(routers: u32) -> u32 {
    let blocks = u64::from(routers.div_ceil(BLOCK));
    let fit = BUDGET / DestinationBlock::bytes(u64::from(routers.max(1)));
    blocks.min(fit).max(1) as u32
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::LinkClass;
    use crate::graph::adjacency::Cable;

    /// Routers with a host each, and cables of one class.
    fn adjacency(routers: u32, cables: &[([u32; 2], u32)]) -> Adjacency {
        let cable = |(ends, count): &([u32; 2], u32)| Cable {
            ends: *ends,
            class: LinkClass(1),
            count: *count,
        };
        let cables: Vec<Cable> = cables.iter().map(cable).collect();
        Adjacency::new(&vec![1; routers as usize], &cables)
    }

    #[derive(Debug)]
    struct Case {
        adjacency: Adjacency,
        slots: u32,
        /// Pairs of routers.
        asked: Vec<[u32; 2]>,
    }

    fn case() -> impl Strategy<Value = Case> {
        (1u32..500).prop_flat_map(|routers| {
            // The network is a tree with additional cables.
            let tree = vec(any::<u32>(), routers as usize - 1);
            let more = vec(([0..routers, 0..routers], 1u32..4), 0..300);
            let asked = vec([0..routers, 0..routers], 1..40);
            (tree, more, 1u32..4, asked).prop_map(move |(tree, more, slots, asked)| {
                let tree = (1..routers).zip(tree);
                let mut cables: Vec<([u32; 2], u32)> =
                    tree.map(|(router, draw)| ([draw % router, router], 1)).collect();
                cables.extend(more.into_iter().filter(|([a, b], _)| a != b));
                Case {
                    adjacency: adjacency(routers, &cables),
                    slots,
                    asked,
                }
            })
        })
    }

    /// All queries: distance, links on shortest paths, and whether there are several paths.
    type Answer = (u32, Vec<usize>, bool);

    fn answer(searches: &Searches, adjacency: &Adjacency, [from, to]: [u32; 2]) -> Answer {
        searches.towards(adjacency, to, |towards| {
            let closer = towards.closer(from).map(|(link, _)| link).collect();
            (towards.distance(from), closer, towards.has_choice(from))
        })
    }

    /// The reference: a plain breadth-first search that counts paths, with two for several.
    fn plain(adjacency: &Adjacency, [from, to]: [u32; 2]) -> Answer {
        let mut found = vec![None; adjacency.routers() as usize];
        found[to as usize] = Some((0u32, 1u32));
        let mut order = vec![to];
        let mut next = 0;
        while let Some(router) = order.get(next).copied() {
            next += 1;
            let (distance, paths) = found[router as usize].unwrap();
            for end in adjacency.links(router) {
                match &mut found[end.router as usize] {
                    Some((far, sum)) if *far == distance + 1 => *sum = 2.min(*sum + paths),
                    Some(_) => {}
                    new => {
                        *new = Some((distance + 1, paths));
                        order.push(end.router);
                    }
                }
            }
        }
        let distance = |router: u32| found[router as usize].unwrap().0;
        let links = adjacency.links(from).iter().enumerate();
        let closer = links.filter(|(_, end)| distance(end.router) < distance(from));
        (
            distance(from),
            closer.map(|(link, _)| link).collect(),
            found[from as usize].unwrap().1 > 1,
        )
    }

    proptest! {
        #[test]
        fn answers_are_those_of_plain_searches(case in case()) {
            let Case { adjacency, slots, asked } = &case;
            let searches = Searches::with_slots(*slots);
            let expected: Vec<Answer> = asked.iter().map(|pair| plain(adjacency, *pair)).collect();
            for (pair, expected) in asked.iter().zip(&expected) {
                prop_assert_eq!(&answer(&searches, adjacency, *pair), expected);
            }
            // Several threads query at once, each from another start.
            let (searches, threads) = (Searches::with_slots(*slots), 4);
            let answers = std::thread::scope(|scope| {
                let ask = |thread: usize| {
                    let mut pairs = asked.clone();
                    pairs.rotate_left(thread * asked.len() / threads);
                    let searches = &searches;
                    scope.spawn(move || {
                        pairs.iter().map(|pair| answer(searches, adjacency, *pair)).collect::<Vec<_>>()
                    })
                };
                let asking: Vec<_> = (0..threads).map(ask).collect();
                asking.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            for (thread, answers) in answers.into_iter().enumerate() {
                let mut expected = expected.clone();
                expected.rotate_left(thread * asked.len() / threads);
                prop_assert_eq!(answers, expected);
            }
        }
    }

    fn ring(routers: u32) -> Adjacency {
        let cables: Vec<_> = (0..routers)
            .map(|router| ([router, (router + 1) % routers], 1))
            .collect();
        adjacency(routers, &cables)
    }

    /// Numbers of the cached blocks.
    fn kept(searches: &Searches) -> Vec<Option<u32>> {
        let kept = searches.slots.iter().map(|slot| slot.kept.load());
        kept.map(|block| block.as_deref().map(|block| block.number))
            .collect()
    }

    #[test]
    fn no_more_is_kept_than_there_are_slots() {
        let adjacency = ring(10 * BLOCK);
        let searches = Searches::with_slots(3);
        assert_eq!(kept(&searches), [None; 3]);
        let ask = |block: u32| searches.towards(&adjacency, block * BLOCK, |towards| towards.distance(0));
        for (block, then) in [
            (1, [None, Some(1), None]),
            (9, [Some(9), Some(1), None]),
            (4, [Some(9), Some(4), None]),
            (5, [Some(9), Some(4), Some(5)]),
            (1, [Some(9), Some(1), Some(5)]),
        ] {
            assert_eq!(ask(block), BLOCK * block.min(10 - block));
            assert_eq!(kept(&searches), then);
        }
        // A block in use stays unchanged while another block takes its slot.
        searches.towards(&adjacency, 0, |towards| {
            assert_eq!(ask(3), 3 * BLOCK);
            assert_eq!((towards.block.number, towards.distance(5)), (0, 5));
        });
    }

    #[test]
    fn blocks_that_fit_are_searched_for_once() {
        let adjacency = ring(5 * BLOCK - 1);
        let searches = Searches::new(adjacency.routers());
        let place = |to| searches.towards(&adjacency, to, |towards| std::ptr::from_ref(towards.block).addr());
        let first: Vec<usize> = (0..adjacency.routers()).map(place).collect();
        let second: Vec<usize> = (0..adjacency.routers()).map(place).collect();
        assert_eq!(first, second);
        assert_eq!(kept(&searches), [0, 1, 2, 3, 4].map(Some));
        // Threads that query at the same time share the cached block.
        let searches = Searches::new(adjacency.routers());
        let places = std::thread::scope(|scope| {
            let place =
                || searches.towards(&adjacency, 7, |towards| std::ptr::from_ref(towards.block).addr());
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(place)).collect();
            asking
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect::<Vec<_>>()
        });
        assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
    }

    #[test]
    fn memory_is_bounded() {
        for (routers, blocks) in [
            (1, 1),
            (BLOCK, 1),
            (BLOCK + 1, 2),
            // This is the largest network whose blocks all fit.
            (1 << 16, 1024),
            ((1 << 16) + 1, 1023),
            (1_000_000, 67),
            (MOST_ROUTERS as u32, 4),
        ] {
            assert_eq!(slots(routers), blocks, "{routers}");
            let searches = Searches::new(routers);
            assert_eq!(searches.slots.len(), blocks as usize);
            assert!(
                u64::from(blocks) * DestinationBlock::bytes(routers.into()) <= BUDGET,
                "{routers}"
            );
        }
        // The block has the documented size.
        let block = DestinationBlock::search(&ring(100), 0).0;
        assert_eq!(block.memory(), DestinationBlock::bytes(100));
    }
}
