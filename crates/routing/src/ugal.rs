//! UGAL: the minimal path, or a path through a random place if the minimal one is congested.
//!
//! Sources: A. Singh, "Load-balanced routing in interconnection networks", PhD thesis, Stanford 2005; J. Kim
//! et al., ISCA 2008 (UGAL-L: congestion as the source router sees it, at its own ports); for Slim Fly
//! M. Besta, T. Hoefler, SC 2014, and G. Kathareios et al., "Cost-effective diameter-two topologies: analysis
//! and evaluation", SC 2015.
//!
//! The decision is taken once, at the source router. Of `candidates` random places that with the cheapest path
//! is compared with the minimal path, whose cost is
//!
//! ```text
//! cost = "load"        load(minimal port) <= weight * load(other port) + bias
//! cost = "load-hops"   load(minimal port) <= weight * load(other port) * L(other) / L(minimal) + bias
//! ```
//!
//! for the minimal path to be taken; L is the number of links between routers on a path. The first is the rule
//! of BookSim 2 for its dragonfly, the second Singh's, and with `weight` c_SF and `candidates` n_i that of
//! Kathareios et al.
//!
//! Packets that have no place to go through are routed minimally: those that stay in a group, and all where
//! there are fewer than three groups or routers with hosts. Paths, VCs and state are those of the legs.

use config::{Bytes, Error, Section};
use topology::{RouterId, Topology};

use crate::legs::{self, INTERMEDIATE, Legs, OverLegs, Start, is_decided};
use crate::registry::is_groups;
use crate::{Algorithm, At, Congestion, Hop, Random, RouteState, Routing};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "ugal",
    works_on: legs::WORKS_ON,
    summary: "minimal, or through a random router or group if that is less congested (UGAL-L)",
    parameters: PARAMETERS,
    routes: legs::routes,
    build: |section, topology| {
        let rule = Rule::read(section, &*topology)?;
        legs::build::<false>(section, topology, rule)
    },
};

/// Parameters of a decision between the minimal path and others.
pub(crate) const PARAMETERS: &[(&str, &str)] = &[
    (
        "bias",
        "bytes by which the minimal path's port may be more loaded (default: in networks of groups 7680 B, thirty \
         packets of 256 B; elsewhere 0 B)",
    ),
    (
        "weight",
        "factor on the cost of the non-minimal path before the comparison (default: in networks of groups 2, \
         elsewhere 1)",
    ),
    (
        "cost",
        "what is compared: load, or load-hops, the load times the links of the path (default: in networks of \
         groups load, elsewhere load-hops)",
    ),
    (
        "candidates",
        "random places tried, of which the cheapest is compared (default: 1; where there are neither groups nor \
         dimensions 4)",
    ),
    INTERMEDIATE,
];

/// How the minimal path is compared with others.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    bias: u64,
    weight: u64,
    cost: Cost,
    candidates: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cost {
    Load,
    LoadHops,
}

impl Rule {
    pub(crate) fn read(section: &Section, topology: &dyn Topology) -> Result<Rule, Error> {
        let shape = topology.shape();
        let (bias, weight, cost) = match is_groups(&shape) {
            true => (7680, 2, "load"),
            false => (0, 1, "load-hops"),
        };
        let candidates = match shape {
            topology::Shape::Graph(_) => 4,
            _ => 1,
        };
        let bias = section.or("bias", Bytes { bytes: bias })?.bytes;
        let weight: u32 = section.or("weight", weight)?;
        let cost = match section.choice("cost", cost, &["load", "load-hops"])? {
            "load" => Cost::Load,
            _ => Cost::LoadHops,
        };
        let candidates = section.or("candidates", candidates)?;
        if candidates == 0 {
            return Err(section.error("candidates", "0 is not possible; expected at least 1"));
        }
        Ok(Rule {
            bias,
            weight: u64::from(weight),
            cost,
            candidates,
        })
    }
}

impl OverLegs for Rule {
    fn over<L: Legs + 'static>(self, legs: L) -> Box<dyn Routing> {
        Box::new(Ugal { legs, rule: self })
    }
}

/// UGAL, and on legs that can be left progressive adaptive routing: it decides as long as nothing is decided.
struct Ugal<L> {
    legs: L,
    rule: Rule,
}

/// How loaded a path is, as far as its first router can tell: what its first port holds.
#[inline]
fn load(start: &Start, congestion: &dyn Congestion) -> u64 {
    congestion.load(start.0.port)
}

/// A path through an intermediate place, and its cost.
type Other = (u64, Start);

impl<L: Legs> Ugal<L> {
    /// A random path through an intermediate place; none if it cannot begin here.
    #[inline(always)]
    fn draw(
        &self,
        (at, target, ends): (At, RouterId, L::Ends),
        state: RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Option<Other> {
        let via = self.legs.place(random.below(self.legs.places(ends)), ends);
        let start = self.legs.through(at, via, state)?;
        let mut cost = load(&start, congestion);
        if self.rule.cost == Cost::LoadHops {
            let links = self.legs.links_through(at, target, via, &start);
            cost = cost.saturating_mul(u64::from(links));
        }
        Some((cost, start))
    }

    /// The cheapest of further random paths and a first one. Not part of [`Routing::route`], where it would
    /// take registers from decisions with one candidate.
    #[inline(never)]
    fn draw_more(
        &self,
        between: (At, RouterId, L::Ends),
        state: RouteState,
        mut best: Option<Other>,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Option<Other> {
        for _ in 1..self.rule.candidates {
            match self.draw(between, state, congestion, random) {
                Some(other) if best.is_none_or(|best| other.0 < best.0) => best = Some(other),
                _ => {}
            }
        }
        best
    }

    #[inline]
    fn prefers_minimal(
        &self,
        (at, target): (At, RouterId),
        minimal: &Start,
        other_cost: u64,
        congestion: &dyn Congestion,
    ) -> bool {
        let Rule { bias, weight, .. } = self.rule;
        let (load, other) = (load(minimal, congestion), other_cost.saturating_mul(weight));
        match self.rule.cost {
            Cost::Load => load <= other.saturating_add(bias),
            Cost::LoadHops => {
                let links = self.legs.minimal_links(at, target, minimal);
                load.saturating_sub(bias).saturating_mul(u64::from(links)) <= other
            }
        }
    }
}

impl<L: Legs> Routing for Ugal<L> {
    fn vcs(&self) -> u8 {
        self.legs.vcs()
    }

    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let (target, port) = self.legs.attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        if is_decided(state) {
            return self.legs.go_on(at, target, state);
        }
        let minimal = self.legs.minimal(at, target, *state);
        let mut best = minimal;
        if let Some(ends) = self.legs.ends(at.router, target) {
            let between = (at, target, ends);
            let mut other = self.draw(between, *state, congestion, random);
            if self.rule.candidates > 1 {
                other = self.draw_more(between, *state, other, congestion, random);
            }
            if let Some((cost, other)) = other
                && !self.prefers_minimal((at, target), &minimal, cost, congestion)
            {
                best = other;
            }
        }
        *state = best.1;
        best.0
    }

    fn options(&self, at: At, mut state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let (target, port) = self.legs.attachment(at.destination);
        if target == at.router {
            out.push((Hop::new(port, 0), state));
            return;
        }
        if is_decided(&state) {
            out.push((self.legs.go_on(at, target, &mut state), state));
            return;
        }
        out.push(self.legs.minimal(at, target, state));
        if let Some(ends) = self.legs.ends(at.router, target) {
            let places = (0..self.legs.places(ends)).map(|index| self.legs.place(index, ends));
            out.extend(places.filter_map(|via| self.legs.through(at, via, state)));
        }
    }
}
