//! UGAL: the minimal path, or a path through a random intermediate node if the minimal one is congested.
//!
//! Sources: A. Singh, "Load-balanced routing in interconnection networks", PhD thesis, Stanford 2005; J. Kim et al.,
//! ISCA 2008 (UGAL-L: congestion at the source router's own ports); for Slim Fly M. Besta, T. Hoefler, SC 2014, and
//! G. Kathareios et al., "Cost-effective diameter-two topologies: analysis and evaluation", SC 2015.
//!
//! The source router decides once. The cheapest of `candidates` random paths is compared with the minimal path, which
//! is taken if
//!
//! ```text
//! cost = "load"        load(minimal port) <= weight * load(other port) + bias
//! cost = "load-hops"   load(minimal port) <= weight * load(other port) * L(other) / L(minimal) + bias
//! cost = "load-remaining"  the same with R in place of L
//! ```
//!
//! L is the number of links between routers on a path, R that of the links from the next router to the destination's
//! host on a shortest path, through whatever node the packet goes (`beta` of CODES's dragonfly-plus). The first rule is
//! that of BookSim 2 for its dragonfly, the second is Singh's and, with `weight` c_SF and `candidates` n_i, that of
//! Kathareios et al.
//!
//! The load is that of the metric ([`LoadMetric`]); reports carry all bytes of a port. `weight` is a fixed-point number
//! ([`Weight`]).
//!
//! UGAL-L uses the load of a path's first port. With `information = "group"` (UGAL-G of Kim et al.) the source router
//! knows the reported loads of all links that leave its group ([`Reports`]), and uses the load of the path's first
//! such link if that is greater.
//!
//! With `intermediate = "any-group"` the node is drawn from all routers with hosts, and one in the group of source or
//! destination means the minimal path (BookSim 2 draws so from all hosts: a path through the destination's group begins
//! with the port of the minimal path, whose load is never greater than its own).
//!
//! Packets without an intermediate node are routed minimally: those that stay in a group, unless `local = "ugal"`, and
//! all packets if there are fewer than three groups or routers with hosts. The path segments define paths, VCs and
//! state.

use std::sync::Arc;

use config::{Bytes, Duration, Error, Parameter, Section, Type, parameters};
use topology::{Port, RouterId, Topology};

use crate::load_metric::{METRIC, METRIC_SCOPE};
use crate::path_parts::{PathVisitor, Unvisited};
use crate::phases::{PhaseNumbering, VCS, renumbered};
use crate::registry::is_groups;
use crate::segments::{
    self, INTERMEDIATE, INTERMEDIATES, LOCAL, OverSegments, PATHS, PathSegments, PathStart, SPINE, is_decided,
};
use crate::weight::Weight;
use crate::{Algorithm, At, Congestion, Hop, LoadMetric, Random, Reports, RouteState, Routing};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "ugal",
    works_on: segments::WORKS_ON,
    summary: "minimal, or through a random router or group if that is less congested (UGAL-L)",
    parameters: PARAMETERS_AND_INFORMATION,
    routes: segments::routes,
    build: |section, topology| {
        renumbered(section, topology, PhaseNumbering::Ugal, |topology| {
            build(section, topology)
        })
    },
};

fn build(section: &Section, topology: Arc<dyn Topology>) -> Result<Box<dyn Routing>, Error> {
    let mut rule = UgalRule::read(section, &*topology)?;
    let information = section.choice("information")?;
    let report_period = read_report_period(section)?;
    if information == "group" {
        if !is_groups(&topology.shape()) {
            let text = format!("this {} has no groups; expected router", topology.describe());
            return Err(section.error("information", text));
        }
        rule = rule.informed(LoadReportUse::Loads, report_period);
    }
    segments::build::<false>(section, topology, INTERMEDIATES, rule)
}

const PARAMETERS_AND_INFORMATION: &[Parameter] = parameters! {
    ..PARAMETERS;
    choice("information", &["router", "group"],
        "whose loads decide: those of the packet's router (UGAL-L) or, in networks of groups, group, of all links that \
         leave it, too (UGAL-G)");
    REPORT_PERIOD;
    VCS;
};

/// The parameter of algorithms with load reports.
pub(crate) const REPORT_PERIOD: Parameter = Parameter::time(
    "period",
    "100 ns",
    "time between two load reports of a router to its group",
);

/// The time between two reports, in ps.
pub(crate) fn read_report_period(section: &Section) -> Result<u64, Error> {
    let period = section.get::<Duration>("period")?;
    match period.ps {
        0 => Err(section.error("period", "0 is no interval; expected a time such as \"100 ns\"")),
        ps => Ok(ps),
    }
}

/// Parameters of a decision between the minimal path and others.
pub(crate) const PARAMETERS: &[Parameter] = parameters! {
    computed("bias", Type::Size, "7680 B, thirty packets of 256 B, in networks of groups; elsewhere 0 B",
        "bytes by which the minimal path's port may be more loaded");
    computed("weight", Type::Number, "2 in networks of groups; elsewhere 1",
        "factor on the cost of the non-minimal path before the comparison, in steps of 1/65536");
    computed("cost", Type::Choice(COSTS), "load in networks of groups; elsewhere load-hops",
        "compared quantity: load, or the load times the links of the path (load-hops), or times those of a shortest \
         path from the next router to the destination (load-remaining)");
    computed("candidates", Type::Integer, "1; 4 where there are neither groups nor dimensions",
        "random nodes tried, of which the cheapest is compared");
    INTERMEDIATE;
    PATHS;
    LOCAL;
    METRIC;
    METRIC_SCOPE;
    SPINE;
};

const COSTS: &[&str] = &["load", "load-hops", "load-remaining"];

/// The comparison of the minimal path with others.
#[derive(Clone, Copy)]
pub(crate) struct UgalRule {
    bias: u64,
    weight: Weight,
    cost: CostRule,
    candidates: u32,
    metric: LoadMetric,
    /// Whether one random path is compared by load alone.
    simple: bool,
    /// The use of reported loads, and the period of reports in ps.
    reported: Option<(LoadReportUse, u64)>,
}

/// The use of loads that other routers report.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadReportUse {
    /// The load of a path is that of its link to another group, if that is greater than the load of its first port.
    Loads,
    /// A path whose link to another group is congested loses against one whose link is not. A link is congested if
    /// its load is this many bytes above twice the mean of its router's links to other groups.
    Congestion(u64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CostRule {
    Load,
    LoadHops,
    LoadRemaining,
}

impl UgalRule {
    pub(crate) fn read(section: &Section, topology: &dyn Topology) -> Result<UgalRule, Error> {
        let shape = topology.shape();
        let (bias, weight, cost) = match is_groups(&shape) {
            true => (Self::IN_GROUPS.bias, 2, "load"),
            false => (0, 1, "load-hops"),
        };
        let candidates = match shape {
            topology::Shape::Graph(_) => 4,
            _ => 1,
        };
        let bias = section.or("bias", Bytes { bytes: bias })?.bytes;
        let weight = section.or("weight", Weight::whole(weight))?;
        let cost = match section.choice_or("cost", cost, COSTS)? {
            "load" => CostRule::Load,
            "load-hops" => CostRule::LoadHops,
            _ => CostRule::LoadRemaining,
        };
        let candidates = section.or("candidates", candidates)?;
        if candidates == 0 {
            return Err(section.error("candidates", "0 is not possible; expected at least 1"));
        }
        Ok(UgalRule {
            bias,
            weight,
            cost,
            candidates,
            metric: LoadMetric::read(section)?,
            simple: cost == CostRule::Load && candidates == 1,
            reported: None,
        })
    }

    /// The rule that prefers the less loaded port, and the minimal one of equally loaded ports.
    pub(crate) const BY_LOAD: UgalRule = UgalRule {
        bias: 0,
        weight: Weight::whole(1),
        ..UgalRule::IN_GROUPS
    };

    /// The rule with all defaults in networks of groups.
    pub(crate) const IN_GROUPS: UgalRule = UgalRule {
        bias: 7680,
        weight: Weight::whole(2),
        cost: CostRule::Load,
        candidates: 1,
        metric: LoadMetric::DEFAULT,
        simple: true,
        reported: None,
    };

    /// The same rule by another metric.
    pub(crate) fn by(self, metric: LoadMetric) -> UgalRule {
        UgalRule { metric, ..self }
    }

    /// Whether the cost of a path depends on the links behind its next router.
    pub(crate) fn counts_remaining(&self) -> bool {
        self.cost == CostRule::LoadRemaining
    }

    /// The load of a path from the view of its first router: the load of its first hop's output.
    #[inline]
    fn load(&self, start: &PathStart, congestion: &dyn Congestion) -> u64 {
        self.metric.of(congestion, start.0)
    }

    /// Whether the minimal path is better than another one, by the loads of their first ports alone.
    #[inline]
    pub(crate) fn takes_minimal(
        &self,
        minimal: &PathStart,
        other: &PathStart,
        congestion: &dyn Congestion,
    ) -> bool {
        let allowed = self
            .weight
            .times(self.load(other, congestion))
            .saturating_add(self.bias);
        self.load(minimal, congestion) <= allowed
    }

    /// The same rule with loads reported at this report period.
    pub(crate) fn informed(self, reported: LoadReportUse, report_period_ps: u64) -> UgalRule {
        UgalRule {
            simple: false,
            reported: Some((reported, report_period_ps)),
            ..self
        }
    }
}

impl OverSegments for UgalRule {
    fn rule(&self) -> Option<UgalRule> {
        Some(*self)
    }

    fn over<L: PathSegments + 'static>(self, segments: L) -> Box<dyn Routing> {
        let reports = self
            .reported
            .and_then(|(_, report_period_ps)| segments.reports(report_period_ps));
        Box::new(Ugal {
            segments,
            rule: self,
            reports,
        })
    }
}

/// UGAL, and progressive adaptive routing over segments that can be left: it decides until the path is decided.
struct Ugal<L> {
    segments: L,
    rule: UgalRule,
    /// The load reports between routers.
    reports: Option<Reports>,
}

/// A packet's position, the router it goes to, and the ends of a possible detour.
type Between<E> = (At, RouterId, E);

impl<L: PathSegments> Ugal<L> {
    /// A random intermediate node, and the path through it. `None` if it cannot begin here.
    #[inline(always)]
    fn draw(
        &self,
        (at, _, ends): Between<L::Ends>,
        state: RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> (L::IntermediateNode, Option<PathStart>) {
        let via = self.segments.node(random.below(self.segments.nodes(ends)), ends);
        (via, self.segments.through(at, via, state, congestion, random))
    }

    /// The better of the minimal path and one random path, by load alone: [`Ugal::weigh`] for its simplest case.
    #[inline(always)]
    fn compare(
        &self,
        between: Between<L::Ends>,
        state: RouteState,
        minimal: PathStart,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> PathStart {
        let Some(other) = self.draw(between, state, congestion, random).1 else {
            return minimal;
        };
        match self.rule.takes_minimal(&minimal, &other, congestion) {
            true => minimal,
            false => other,
        }
    }

    /// The load of a path from the view of its first router, with reported loads. Of several links to another group
    /// that the path can take, the least loaded one counts.
    fn load(&self, at: At, target: RouterId, start: &PathStart, congestion: &dyn Congestion) -> u64 {
        let first = self.rule.load(start, congestion);
        let (Some(reports), Some((LoadReportUse::Loads, _))) = (&self.reports, self.rule.reported) else {
            return first;
        };
        let mut least = None;
        self.segments
            .each_global_link(at, target, start, &mut |gateway, port| {
                let load = match gateway == at.router {
                    true => first,
                    false => congestion.reported_load(reports.load_index(gateway, port)),
                };
                least = Some(least.map_or(load, |least: u64| least.min(load)));
            });
        first.max(least.unwrap_or(0))
    }

    /// Whether the reported load of a path's link to another group means congestion, for all such links that the path
    /// can take.
    fn is_congested(
        &self,
        (at, target, start): (At, RouterId, &PathStart),
        threshold: u64,
        congestion: &dyn Congestion,
    ) -> bool {
        let Some(reports) = &self.reports else {
            return false;
        };
        let (mut links, mut congested) = (0, 0);
        self.segments
            .each_global_link(at, target, start, &mut |gateway, port| {
                // A router reads the loads of its own ports directly, in the metric of reports.
                let load = |port: Port| match gateway == at.router {
                    true => congestion.load(port),
                    false => congestion.reported_load(reports.load_index(gateway, port)),
                };
                let ports = reports.ports(gateway);
                let count = ports.len() as u64;
                // A load can have any value in a timeline that is rolled back later.
                let all = ports.fold(0u64, |all, port| all.saturating_add(load(Port(port))));
                links += 1;
                congested += u32::from(
                    load(port).saturating_mul(count)
                        > all
                            .saturating_mul(2)
                            .saturating_add(threshold.saturating_mul(count)),
                );
            });
        links > 0 && congested == links
    }

    /// The better of the minimal path and the cheapest of some random paths.
    #[inline(never)]
    fn weigh(
        &self,
        between: Between<L::Ends>,
        state: RouteState,
        minimal: PathStart,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> PathStart {
        let (at, target, _) = between;
        let UgalRule { bias, weight, .. } = self.rule;
        let mut best: Option<(u64, PathStart)> = None;
        for _ in 0..self.rule.candidates {
            let (via, Some(other)) = self.draw(between, state, congestion, random) else {
                continue;
            };
            let links = match self.rule.cost {
                CostRule::Load => 1,
                CostRule::LoadHops => self.segments.links_through(at, target, via, &other),
                CostRule::LoadRemaining => self.segments.links_remaining(at, target, &other),
            };
            let cost = self
                .load(at, target, &other, congestion)
                .saturating_mul(u64::from(links));
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, other));
            }
        }
        let Some((cost, other)) = best else {
            return minimal;
        };
        let links = match self.rule.cost {
            CostRule::Load => 1,
            CostRule::LoadHops => self.segments.minimal_links(at, target, &minimal),
            CostRule::LoadRemaining => self.segments.links_remaining(at, target, &minimal),
        };
        if let Some((LoadReportUse::Congestion(threshold), _)) = self.rule.reported {
            let congested = |start| self.is_congested((at, target, start), threshold, congestion);
            match (congested(&minimal), congested(&other)) {
                (true, false) => return other,
                (false, true) => return minimal,
                _ => {}
            }
        }
        let excess = self.load(at, target, &minimal, congestion).saturating_sub(bias);
        if excess.saturating_mul(u64::from(links)) <= weight.times(cost) {
            minimal
        } else {
            other
        }
    }
}

impl<L: PathSegments> Routing for Ugal<L> {
    fn vcs(&self) -> u8 {
        self.segments.vcs()
    }

    fn reports(&self) -> Option<&Reports> {
        self.reports.as_ref()
    }

    fn load_metric(&self) -> LoadMetric {
        self.rule.metric
    }

    fn detour_load(&self) -> Option<u64> {
        match self.rule.reported {
            // Reports of congestion decide first.
            Some((LoadReportUse::Congestion(_), _)) => None,
            _ => Some(self.rule.bias),
        }
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        self.segments.channel_order(router, port, vc)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        self.segments.visit_paths(visitor)
    }

    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let (target, port) = self.segments.attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        if is_decided(state) {
            return self.segments.go_on(at, target, state, congestion, random);
        }
        let minimal = self.segments.minimal(at, target, *state, congestion, random);
        let best = match self.segments.ends(at.router, target, *state) {
            Some(ends) if self.rule.simple => {
                self.compare((at, target, ends), *state, minimal, congestion, random)
            }
            Some(ends) => self.weigh((at, target, ends), *state, minimal, congestion, random),
            None => minimal,
        };
        *state = best.1;
        best.0
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let (target, port) = self.segments.attachment(at.destination);
        if target == at.router {
            out.push((Hop::new(port, 0), state));
            return;
        }
        if is_decided(&state) {
            return self.segments.all_going_on(at, target, state, out);
        }
        self.segments.all_minimal(at, target, state, out);
        if let Some(ends) = self.segments.ends(at.router, target, state) {
            for index in 0..self.segments.nodes(ends) {
                let via = self.segments.node(index, ends);
                self.segments.all_through(at, via, state, out);
            }
        }
    }
}
