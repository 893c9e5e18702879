//! Links added up by class and by the units at their ends.

use std::collections::HashMap;
use std::sync::Arc;

use des::Time;
use experiment::NetworkModel;
use fabric::LinkUse;
use results::Table;
use results::rows::{PairRow, UnitRow, pairs, units};
use topology::{HostId, Units};

use super::inventory::{LinkEntry, LinkTerminal};
use crate::lp::sampling::MOST_BLOCKS;

/// Most units. Where there are more, those that follow each other are joined.
const MOST_UNITS: u32 = 2048;

/// Part of the measured time, in percent, from which a link is full if it carries packets.
const FULL_PERCENT: u64 = 95;

/// Part of the measured time, in percent, from which a link is blocked if it is free and no packet has credits.
const BLOCKED_PERCENT: u64 = 10;

/// Adds up links.
pub struct Pairs<'a> {
    network: &'a NetworkModel,
    units: Units,
    measured: Time,
    /// By class, unit at the start and unit at the end.
    sums: HashMap<(&'a str, u32, u32), PairRow>,
}

impl<'a> Pairs<'a> {
    /// No links yet.
    pub fn new(network: &'a NetworkModel, measured: Time) -> Pairs<'a> {
        Pairs {
            network,
            units: Units::of(network.topology.as_ref(), MOST_UNITS),
            measured,
            sums: HashMap::new(),
        }
    }

    /// The unit of an end; of a host that of its router.
    fn unit(&self, end: LinkTerminal) -> u32 {
        match end {
            LinkTerminal::Router(router, _) => self.units.of_router(router),
            LinkTerminal::Host(host, rail) => self.unit_of_host(host, rail),
        }
    }

    fn unit_of_host(&self, host: HostId, rail: u32) -> u32 {
        let (router, _) = self.network.attachment(host, rail);
        self.units.of_router(router)
    }

    /// Adds the use of a link.
    pub fn add(&mut self, link: &LinkEntry<'a>, used: &LinkUse) {
        let key = (link.name, self.unit(link.from), self.unit(link.to));
        let is_part = |time: Time, percent: u64| {
            let (time, all) = (u128::from(time.ps()), u128::from(self.measured.ps()));
            all > 0 && time * 100 >= all * u128::from(percent)
        };
        let is_full = is_part(used.busy, FULL_PERCENT);
        let is_blocked = is_part(used.buffer_full, BLOCKED_PERCENT);
        let sum = self.sums.entry(key).or_default();
        sum.links += 1;
        sum.bytes += used.bytes;
        sum.busy_ps += used.busy.ps();
        sum.busy_ps_max = sum.busy_ps_max.max(used.busy.ps());
        sum.buffer_full_ps += used.buffer_full.ps();
        sum.full_links += u32::from(is_full);
        sum.blocked_links += u32::from(is_blocked);
    }

    /// The tables `units` and `pairs`. Rows of pairs are in the order of class, start and end.
    pub fn tables(self) -> [Table; 2] {
        let mut sums: Vec<_> = self.sums.into_iter().collect();
        sums.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let blocks = Units::of(self.network.topology.as_ref(), MOST_BLOCKS);
        let unit = |(number, unit): (u32, &topology::Unit)| UnitRow {
            unit: number,
            name: unit.name.clone(),
            kind: unit.kind.name().into(),
            first_router: unit.first_router.0,
            routers: unit.routers,
            block: blocks.of_router(unit.first_router),
        };
        let pair = |((class, from_unit, to_unit), sum)| PairRow {
            class: Arc::from(class),
            from_unit,
            to_unit,
            ..sum
        };
        [
            units((0..).zip(self.units.units()).map(unit)),
            pairs(sums.into_iter().map(pair)),
        ]
    }
}
