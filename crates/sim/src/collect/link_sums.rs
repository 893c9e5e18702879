//! Sums over the links of routers in one bin that no sum by class shows: by the blocks of the network at their ends, by
//! router, by load, and the links with the greatest loads.
//!
//! All of them are additions, maxima or choices of the greatest, so links may be added in any order and in parts, and
//! parts may be merged.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use des::Time;
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};

use crate::lp::net_event::Record;

/// Steps of 5 % of a bin, for the time in which a link was busy, and for that in which its buffers were full.
pub const STEPS: u8 = 20;

/// Step from which a link counts as full: busy for at least 95 % of the bin.
const FULL_STEP: u8 = 19;

/// Step from which a link counts as blocked: no credits for at least 10 % of the bin.
const BLOCKED_STEP: u8 = 2;

/// Links of a bin that are named, for each of the two times.
const TOP: usize = 32;

/// What a link did in a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinLink {
    /// Its number, as in the table `links`.
    pub link: u32,
    /// Its class, see [`Plan`](super::Plan).
    pub class: u8,
    /// Time in which bits were on it, in ps.
    pub busy_ps: u64,
    /// Time in which it was free and no packet had credits, in ps.
    pub buffer_full_ps: u64,
}

/// Sum over the links from one block to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairSum {
    /// Sum of the times in which the links were busy, in ps.
    pub busy_ps: u64,
    /// The greatest of these times, in ps.
    pub busy_ps_max: u64,
    /// Sum of the times in which links were free and had no packet with credits, in ps.
    pub buffer_full_ps: u64,
    /// Links that were full.
    pub full_links: u32,
    /// Links that were blocked.
    pub blocked_links: u32,
}

/// A class and two steps: of the time in which links were busy, and of that in which buffers were full.
pub type LoadStep = (u8, u8, u8);

/// The greatest times of the links of a tile in a bin, busy and with full buffers, in percent of the bin, rounded up.
pub type TileLoad = [u8; 2];

/// Where the sums of a link belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkPlace {
    /// The pair of the blocks at its ends.
    pub pair: u32,
    /// The tile of the router that sends.
    pub tile: u32,
}

/// Sums over the links of one bin. Links that did nothing are in none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSums {
    /// By pair of blocks, as the [`Plan`](super::Plan) numbers them.
    pairs: HashMap<u32, PairSum, FixedState>,
    /// By tile of routers.
    tiles: HashMap<u32, TileLoad, FixedState>,
    /// Number of links by load.
    loads: HashMap<LoadStep, u32, FixedState>,
    busiest: TopLinks,
    most_blocked: TopLinks,
}

/// The links with the greatest values, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TopLinks(Vec<(u64, BinLink)>);

impl TopLinks {
    /// Adds a link. Of equal values those of the smaller numbers stay.
    #[inline]
    fn add(&mut self, value: u64, link: BinLink) {
        let order = (value, Reverse(link.link));
        let is_less = |(value, link): &(u64, BinLink)| (*value, Reverse(link.link)) < order;
        if value == 0 || self.0.len() == TOP && !is_less(&self.0[0]) {
            return;
        }
        let place = self.0.partition_point(is_less);
        self.0.insert(place, (value, link));
        if self.0.len() > TOP {
            self.0.remove(0);
        }
    }
}

/// Twentieths of a bin.
fn step(time_ps: u64, width: Time) -> u8 {
    let steps = u128::from(time_ps) * u128::from(STEPS) / u128::from(width.ps().max(1));
    steps.min(u128::from(STEPS - 1)) as u8
}

/// Percent of a bin, rounded up.
fn percent(time_ps: u64, width: Time) -> u8 {
    let percent = (u128::from(time_ps) * 100).div_ceil(u128::from(width.ps().max(1)));
    percent.min(100) as u8
}

impl LinkSums {
    /// Adds a link, in a bin of this width.
    pub fn add(&mut self, width: Time, place: LinkPlace, link: BinLink) {
        if link.busy_ps | link.buffer_full_ps == 0 {
            return;
        }
        let steps = (step(link.busy_ps, width), step(link.buffer_full_ps, width));
        let sum = PairSum {
            busy_ps: link.busy_ps,
            busy_ps_max: link.busy_ps,
            buffer_full_ps: link.buffer_full_ps,
            full_links: u32::from(steps.0 >= FULL_STEP),
            blocked_links: u32::from(steps.1 >= BLOCKED_STEP),
        };
        self.add_pair(place.pair, &sum);
        self.add_tile(
            place.tile,
            [link.busy_ps, link.buffer_full_ps].map(|time_ps| percent(time_ps, width)),
        );
        self.add_load((link.class, steps.0, steps.1), 1);
        self.add_top(link);
    }

    /// Adds a part of the sum of a pair.
    pub fn add_pair(&mut self, pair: u32, part: &PairSum) {
        let sum = self.pairs.entry(pair).or_default();
        sum.busy_ps += part.busy_ps;
        sum.busy_ps_max = sum.busy_ps_max.max(part.busy_ps_max);
        sum.buffer_full_ps += part.buffer_full_ps;
        sum.full_links += part.full_links;
        sum.blocked_links += part.blocked_links;
    }

    /// Adds links of a tile.
    pub fn add_tile(&mut self, tile: u32, part: TileLoad) {
        let [busy, buffer_full] = self.tiles.entry(tile).or_default();
        *busy = part[0].max(*busy);
        *buffer_full = part[1].max(*buffer_full);
    }

    /// Adds links of this load.
    pub fn add_load(&mut self, step: LoadStep, links: u32) {
        *self.loads.entry(step).or_default() += links;
    }

    /// Adds a link that may be one of those with the greatest loads.
    pub fn add_top(&mut self, link: BinLink) {
        self.busiest.add(link.busy_ps, link);
        self.most_blocked.add(link.buffer_full_ps, link);
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Number of pairs and tiles, which is proportional to the memory.
    pub fn count(&self) -> usize {
        self.pairs.len() + self.tiles.len()
    }

    /// The sums by pair, in their order.
    pub fn pairs(&self) -> BTreeMap<u32, PairSum> {
        self.pairs.iter().map(|(pair, sum)| (*pair, *sum)).collect()
    }

    /// The loads of tiles, in their order.
    pub fn tiles(&self) -> BTreeMap<u32, TileLoad> {
        self.tiles.iter().map(|(tile, load)| (*tile, *load)).collect()
    }

    /// Numbers of links by class, time busy and time with full buffers, in their order.
    pub fn loads(&self) -> BTreeMap<LoadStep, u32> {
        self.loads.iter().map(|(step, links)| (*step, *links)).collect()
    }

    /// The busiest and the most blocked links, by number.
    pub fn top(&self) -> impl Iterator<Item = BinLink> + use<> {
        let all = self.busiest.0.iter().chain(&self.most_blocked.0);
        let by_number: BTreeMap<u32, BinLink> = all.map(|(_, link)| (link.link, *link)).collect();
        by_number.into_values()
    }

    /// Passes on the sums as records, and begins anew.
    pub fn drain(&mut self, bin: u32, emit: &mut dyn FnMut(Record)) {
        for (pair, sum) in self.pairs.drain() {
            emit(Record::PairSample { bin, pair, sum });
        }
        for (tile, load) in self.tiles.drain() {
            emit(Record::TileSample { bin, tile, load });
        }
        for (step, links) in self.loads.drain() {
            emit(Record::LoadSample { bin, step, links });
        }
        for link in self.top() {
            emit(Record::TopLink { bin, link });
        }
        self.busiest.0.clear();
        self.most_blocked.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(link: u32, busy_ps: u64, buffer_full_ps: u64) -> BinLink {
        BinLink {
            link,
            class: 2,
            busy_ps,
            buffer_full_ps,
        }
    }

    /// A place in this pair, and one tile for two pairs.
    fn place(pair: u32) -> LinkPlace {
        let tile = pair / 2;
        LinkPlace { pair, tile }
    }

    #[test]
    fn links_are_added_by_pair_and_by_load() {
        let mut sums = LinkSums::default();
        let width = Time(1000);
        sums.add(width, place(7), link(0, 949, 0));
        sums.add(width, place(7), link(1, 950, 99));
        sums.add(width, place(7), link(2, 0, 100));
        sums.add(width, place(9), link(3, 1000, 0));
        let seven = PairSum {
            busy_ps: 1899,
            busy_ps_max: 950,
            buffer_full_ps: 199,
            full_links: 1,
            blocked_links: 1,
        };
        assert_eq!(sums.pairs()[&7], seven);
        assert_eq!(sums.pairs()[&9].full_links, 1);
        assert_eq!(
            sums.tiles().into_iter().collect::<Vec<_>>(),
            [(3, [95, 10]), (4, [100, 0])]
        );
        let loads: Vec<(LoadStep, u32)> = sums.loads().into_iter().collect();
        assert_eq!(
            loads,
            [((2, 0, 2), 1), ((2, 18, 0), 1), ((2, 19, 0), 1), ((2, 19, 1), 1)]
        );
        assert_eq!(sums.top().map(|link| link.link).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    proptest! {
        /// Parts that are merged in any order give the sums of all links, and the greatest are those of a sort.
        #[test]
        fn parts_add_up_to_the_whole(
            values in proptest::collection::vec((0u64..=100, 0u64..=100, 0u32..4, 0usize..3), 1..200),
        ) {
            let mut whole = LinkSums::default();
            let mut parts = vec![LinkSums::default(); 3];
            let mut links = Vec::new();
            for (number, (busy, full, pair, part)) in (0..).zip(values) {
                let link = link(number, busy, full);
                links.push(link);
                whole.add(Time(100), place(pair), link);
                parts[part].add(Time(100), place(pair), link);
            }
            let mut merged = LinkSums::default();
            for mut part in parts {
                part.drain(3, &mut |record| match record {
                    Record::PairSample { bin: 3, pair, sum } => merged.add_pair(pair, &sum),
                    Record::TileSample { bin: 3, tile, load } => merged.add_tile(tile, load),
                    Record::LoadSample { bin: 3, step, links } => merged.add_load(step, links),
                    Record::TopLink { bin: 3, link } => merged.add_top(link),
                    other => unreachable!("{other:?}"),
                });
                prop_assert_eq!(part, LinkSums::default());
            }
            prop_assert_eq!(&merged, &whole);
            let greatest = |value: fn(&BinLink) -> u64| {
                let mut sorted: Vec<BinLink> = links.iter().copied().filter(|link| value(link) > 0).collect();
                sorted.sort_by_key(|link| (Reverse(value(link)), link.link));
                sorted.truncate(TOP);
                sorted
            };
            let mut expected: BTreeMap<u32, BinLink> = BTreeMap::new();
            for link in greatest(|link| link.busy_ps).into_iter().chain(greatest(|link| link.buffer_full_ps)) {
                expected.insert(link.link, link);
            }
            prop_assert_eq!(whole.top().collect::<Vec<_>>(), expected.into_values().collect::<Vec<_>>());
        }
    }
}
