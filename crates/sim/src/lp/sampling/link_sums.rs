//! Sums over the links of routers in one period that no sum by class shows: by the blocks of the network at their ends,
//! by router, by load, and the links with the greatest loads.
//!
//! All of them are additions, maxima or choices of the greatest, so links may be added in any order and in parts, and
//! parts may be merged.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use des::Time;
use serde::{Deserialize, Serialize};

use super::blocks::SumsShape;
use crate::lp::net_event::{LoadStep, PairSum, PeriodLink, Record, TileLoad};

/// Steps of 5 % of a period, for the time in which a link was busy, and for that in which its buffers were full.
pub const STEPS: u8 = 20;

/// Step from which a link counts as full: busy for at least 95 % of the period.
const FULL_STEP: u8 = 19;

/// Step from which a link counts as blocked: no credits for at least 10 % of the period.
const BLOCKED_STEP: u8 = 2;

/// Links of a period that are named, for each of the two times.
const TOP: usize = 32;

/// Sums over the links of one period. Links that did nothing are in none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSums {
    /// By pair of blocks, as [`Blocks`](super::blocks::Blocks) numbers them.
    pairs: Box<[PairSum]>,
    /// By tile of routers.
    tiles: Box<[TileLoad]>,
    /// Number of links by load, at [`place`].
    loads: Box<[u32]>,
    busiest: TopLinks,
    most_blocked: TopLinks,
}

/// The links with the greatest values, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TopLinks(Vec<(u64, PeriodLink)>);

impl TopLinks {
    /// Adds a link. Of equal values those of the smaller numbers stay.
    #[inline]
    fn add(&mut self, value: u64, link: PeriodLink) {
        // Most links are not among them, which their values tell.
        if value > 0 && (self.0.len() < TOP || value >= self.0[0].0) {
            self.insert(value, link);
        }
    }

    #[inline(never)]
    fn insert(&mut self, value: u64, link: PeriodLink) {
        let order = (value, Reverse(link.link));
        let is_less = |(value, link): &(u64, PeriodLink)| (*value, Reverse(link.link)) < order;
        if self.0.len() == TOP && !is_less(&self.0[0]) {
            return;
        }
        let place = self.0.partition_point(is_less);
        self.0.insert(place, (value, link));
        if self.0.len() > TOP {
            self.0.remove(0);
        }
    }
}

const LOADS: usize = STEPS as usize * STEPS as usize;

/// Place of a load among all, and its inverse.
fn place((class, busy, buffer_full): LoadStep) -> usize {
    usize::from(class) * LOADS + usize::from(busy) * usize::from(STEPS) + usize::from(buffer_full)
}

fn load_at(place: usize) -> LoadStep {
    let (class, load) = (place / LOADS, place % LOADS);
    let steps = usize::from(STEPS);
    (class as u8, (load / steps) as u8, (load % steps) as u8)
}

/// A multiple of the part of a period, rounded down.
fn part(time_ps: u64, width: Time, multiple: u64) -> u64 {
    let width = width.ps().max(1);
    match time_ps.checked_mul(multiple) {
        Some(product) => product / width,
        // Times of days.
        None => (u128::from(time_ps) * u128::from(multiple) / u128::from(width)) as u64,
    }
}

/// Twentieths of a period.
#[inline]
fn step(time_ps: u64, width: Time) -> u8 {
    // Most buffers are never full.
    if time_ps == 0 {
        return 0;
    }
    part(time_ps, width, STEPS.into()).min(u64::from(STEPS - 1)) as u8
}

/// Percent of a period of this width, rounded up.
pub fn percent(time_ps: u64, width: Time) -> u8 {
    match time_ps {
        0 => 0,
        _ => (part(time_ps - 1, width, 100) + 1).min(100) as u8,
    }
}

impl LinkSums {
    /// Nothing yet.
    pub fn new(shape: SumsShape) -> LinkSums {
        LinkSums {
            pairs: vec![PairSum::default(); shape.pairs].into(),
            tiles: vec![TileLoad::default(); shape.tiles].into(),
            loads: vec![0; shape.classes * LOADS].into(),
            ..LinkSums::default()
        }
    }

    /// Whether it has this shape. A saved state may be damaged.
    pub fn fits(&self, shape: SumsShape) -> bool {
        self.pairs.len() == shape.pairs
            && self.tiles.len() == shape.tiles
            && self.loads.len() == shape.classes * LOADS
    }

    /// Adds a link between these blocks, in a period of this width.
    #[inline]
    pub fn add(&mut self, width: Time, pair: u32, link: PeriodLink) {
        let steps = (step(link.busy_ps, width), step(link.buffer_full_ps, width));
        let sum = PairSum {
            busy_ps: link.busy_ps,
            busy_ps_max: link.busy_ps,
            buffer_full_ps: link.buffer_full_ps,
            full_links: u32::from(steps.0 >= FULL_STEP),
            blocked_links: u32::from(steps.1 >= BLOCKED_STEP),
        };
        self.add_pair(pair, &sum);
        self.add_load((link.class, steps.0, steps.1), 1);
        self.add_top(link);
    }

    /// Adds a part of the sum of a pair.
    #[inline]
    pub fn add_pair(&mut self, pair: u32, part: &PairSum) {
        let sum = &mut self.pairs[pair as usize];
        sum.busy_ps += part.busy_ps;
        sum.busy_ps_max = sum.busy_ps_max.max(part.busy_ps_max);
        sum.buffer_full_ps += part.buffer_full_ps;
        sum.full_links += part.full_links;
        sum.blocked_links += part.blocked_links;
    }

    /// Adds links of a tile.
    pub fn add_tile(&mut self, tile: u32, part: TileLoad) {
        let [busy, buffer_full] = &mut self.tiles[tile as usize];
        *busy = part[0].max(*busy);
        *buffer_full = part[1].max(*buffer_full);
    }

    /// Adds links of this load.
    #[inline]
    pub fn add_load(&mut self, step: LoadStep, links: u32) {
        self.loads[place(step)] += links;
    }

    /// Adds a link that may be one of those with the greatest loads.
    #[inline]
    pub fn add_top(&mut self, link: PeriodLink) {
        self.busiest.add(link.busy_ps, link);
        self.most_blocked.add(link.buffer_full_ps, link);
    }

    /// The sums of pairs with active links, in their order.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, PairSum)> + '_ {
        let all = (0..).zip(self.pairs.iter().copied());
        all.filter(|(_, sum)| *sum != PairSum::default())
    }

    /// The loads of tiles with active links, in their order.
    pub fn tiles(&self) -> impl Iterator<Item = (u32, TileLoad)> + '_ {
        let all = (0..).zip(self.tiles.iter().copied());
        all.filter(|(_, load)| *load != TileLoad::default())
    }

    /// Numbers of active links by class, time busy and time with full buffers, in their order.
    pub fn loads(&self) -> impl Iterator<Item = (LoadStep, u32)> + '_ {
        let all = self.loads.iter().copied().enumerate();
        let some = all.filter(|(_, links)| *links > 0);
        some.map(|(place, links)| (load_at(place), links))
    }

    /// Numbers of full and of blocked links.
    pub fn full_and_blocked(&self) -> (u64, u64) {
        let count = |is_in: fn(LoadStep) -> bool| {
            let those = self.loads().filter(|(load, _)| is_in(*load));
            those.map(|(_, links)| u64::from(links)).sum()
        };
        (
            count(|(_, busy, _)| busy >= FULL_STEP),
            count(|(_, _, buffer_full)| buffer_full >= BLOCKED_STEP),
        )
    }

    /// The busiest and the most blocked links, by number.
    pub fn top(&self) -> impl Iterator<Item = PeriodLink> + use<> {
        let all = self.busiest.0.iter().chain(&self.most_blocked.0);
        let by_number: BTreeMap<u32, PeriodLink> = all.map(|(_, link)| (link.link, *link)).collect();
        by_number.into_values()
    }

    /// Passes on the sums as records.
    pub fn emit(&self, period: u32, emit: &mut dyn FnMut(Record)) {
        for (pair, sum) in self.pairs() {
            emit(Record::PairSample { period, pair, sum });
        }
        for (tile, load) in self.tiles() {
            emit(Record::TileSample { period, tile, load });
        }
        for (step, links) in self.loads() {
            emit(Record::LoadSample { period, step, links });
        }
        for link in self.top() {
            emit(Record::TopLink { period, link });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: SumsShape = SumsShape {
        pairs: 10,
        tiles: 2,
        classes: 3,
    };

    fn link(link: u32, busy_ps: u64, buffer_full_ps: u64) -> PeriodLink {
        PeriodLink {
            link,
            class: 2,
            busy_ps,
            buffer_full_ps,
        }
    }

    #[test]
    fn links_are_added_by_pair_and_by_load() {
        let mut sums = LinkSums::new(SHAPE);
        let width = Time(1000);
        sums.add(width, 7, link(0, 949, 0));
        sums.add(width, 7, link(1, 950, 99));
        sums.add(width, 7, link(2, 0, 100));
        sums.add(width, 9, link(3, 1000, 0));
        let seven = PairSum {
            busy_ps: 1899,
            busy_ps_max: 950,
            buffer_full_ps: 199,
            full_links: 1,
            blocked_links: 1,
        };
        let pairs: Vec<(u32, PairSum)> = sums.pairs().collect();
        assert_eq!(pairs[0], (7, seven));
        assert_eq!((pairs[1].0, pairs[1].1.full_links, pairs.len()), (9, 1, 2));
        sums.add_tile(1, [95, 0]);
        sums.add_tile(1, [7, 10]);
        assert_eq!(sums.tiles().collect::<Vec<_>>(), [(1, [95, 10])]);
        let loads: Vec<(LoadStep, u32)> = sums.loads().collect();
        assert_eq!(
            loads,
            [((2, 0, 2), 1), ((2, 18, 0), 1), ((2, 19, 0), 1), ((2, 19, 1), 1)]
        );
        assert_eq!(sums.top().map(|link| link.link).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn parts_of_a_period_are_exact() {
        let week = 7 * 86_400_000_000_000_000;
        for (time_ps, width, up, twentieths) in [
            (0, 1000, 0, 0),
            (1, 1000, 1, 0),
            (10, 1000, 1, 0),
            (11, 1000, 2, 0),
            (999, 1000, 100, 19),
            (1000, 1000, 100, 19),
            (week / 2, week, 50, 10),
            (week / 2 + 1, week, 51, 10),
        ] {
            let width = Time(width);
            assert_eq!(
                (percent(time_ps, width), step(time_ps, width)),
                (up, twentieths),
                "{time_ps} of {width}"
            );
        }
        assert_eq!(load_at(place((255, 19, 7))), (255, 19, 7));
    }

    proptest! {
        /// Parts that are merged in any order give the sums of all links, and the greatest are those of a sort.
        #[test]
        fn parts_add_up_to_the_whole(
            values in proptest::collection::vec((0u64..=100, 0u64..=100, 0u32..4, 0usize..3), 1..200),
        ) {
            let mut whole = LinkSums::new(SHAPE);
            let mut parts = vec![LinkSums::new(SHAPE); 3];
            let mut links = Vec::new();
            for (number, (busy, full, pair, part)) in (0..).zip(values) {
                let link = link(number, busy, full);
                links.push(link);
                whole.add(Time(100), pair, link);
                parts[part].add(Time(100), pair, link);
            }
            let mut merged = LinkSums::new(SHAPE);
            for part in parts {
                part.emit(3, &mut |record| match record {
                    Record::PairSample { period: 3, pair, sum } => merged.add_pair(pair, &sum),
                    Record::TileSample { period: 3, tile, load } => merged.add_tile(tile, load),
                    Record::LoadSample { period: 3, step, links } => merged.add_load(step, links),
                    Record::TopLink { period: 3, link } => merged.add_top(link),
                    other => unreachable!("{other:?}"),
                });
            }
            prop_assert_eq!(&merged, &whole);
            let greatest = |value: fn(&PeriodLink) -> u64| {
                let mut sorted: Vec<PeriodLink> = links.iter().copied().filter(|link| value(link) > 0).collect();
                sorted.sort_by_key(|link| (Reverse(value(link)), link.link));
                sorted.truncate(TOP);
                sorted
            };
            let mut expected: BTreeMap<u32, PeriodLink> = BTreeMap::new();
            for link in greatest(|link| link.busy_ps).into_iter().chain(greatest(|link| link.buffer_full_ps)) {
                expected.insert(link.link, link);
            }
            prop_assert_eq!(whole.top().collect::<Vec<_>>(), expected.into_values().collect::<Vec<_>>());
        }
    }
}
