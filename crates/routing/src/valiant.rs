//! Valiant's routing: every packet takes a minimal path to a random intermediate node and a minimal path from there.
//!
//! Sources: L. G. Valiant, "A scheme for fast parallel communication", SIAM J. Computing 11(2), 1982; in dragonflies
//! J. Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008 (VAL, through a group).
//!
//! The node is drawn once, where the packet enters the network, evenly from all nodes between its two ends. Packets
//! without such a node are routed minimally: those that stay in a group, unless `local` gives them one, and all
//! packets if there are fewer than three groups or routers with hosts. The path segments define paths, VCs and state.
//!
//! With `local = "valiant"` packets inside a group go through a random router of the group that is neither the source's
//! nor the destination's; with `"ugal"` they do if the port of the minimal path is more loaded, by the rule and the
//! defaults of `ugal`.
//!
//! With `intermediate = "global-link"` the node is a link from the source's group to a group other than the
//! destination's, drawn evenly from all these links (M. Mubarak, C. D. Carothers, R. B. Ross, P. Carns, "Enabling
//! parallel simulation of large-scale HPC network systems", IEEE Trans. Parallel and Distributed Systems 28(1), 2017,
//! section 4.3.1). The packet goes on from the router where that link ends.
//!
//! With `intermediate = "any-router"` (Valiant's own scheme) the node is drawn from all routers with hosts,
//! independent of source and destination. The path is minimal if the node is one of the two ends.

use config::{Error, Section, parameters};
use topology::{HostId, Port, RouterId, Shape, Topology};

use crate::equal_paths::{Rule, rule_in_groups};
use crate::load_metric::{METRIC, METRIC_SCOPE};
use crate::path_parts::{PathVisitor, Unvisited};
use crate::segments::{self, OverSegments, PATHS, PathSegments, SPINE, is_decided};
use crate::ugal::UgalRule;
use crate::{Algorithm, At, Congestion, Hop, LoadMetric, Oblivious, Random, RouteState, Routing};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "valiant",
    works_on: segments::WORKS_ON,
    summary: "every packet through a random router or group (Valiant 1982)",
    parameters: parameters! {
        choice("intermediate", &["router", "any-router", "group", "global-link"],
            "what a path goes through: router or, in networks of groups, group, or global-link, a link of the source's \
             group; router is one in a group that is neither the source's nor the destination's, or, without groups, \
             one other than these two, and any-router any one");
        PATHS;
        choice("local", &["minimal", "valiant", "ugal"],
            "paths of packets that stay in their group, in networks of groups: minimal, or through a random router of \
             the group, always (valiant) or by load (ugal)");
        METRIC;
        METRIC_SCOPE;
        SPINE;
    },
    routes: segments::routes,
    build: |section, topology| {
        let by_load = section.choice("local")? == "ugal";
        let metric = match by_load || chooses_by_load(section, &*topology)? {
            true => LoadMetric::read(section)?,
            false => {
                LoadMetric::refuse(section, "unless paths = \"adaptive\" or local = \"ugal\"")?;
                LoadMetric::DEFAULT
            }
        };
        let inside = by_load.then_some(UgalRule::IN_GROUPS.by(metric));
        segments::build::<false>(section, topology, INTERMEDIATES, AnyValiant { inside, metric })
    },
};

const INTERMEDIATES: &[&str] = &["router", "group", "any-router", "global-link"];

/// Whether routers choose the least loaded of equal paths.
fn chooses_by_load(section: &Section, topology: &dyn Topology) -> Result<bool, Error> {
    match topology.shape() {
        Shape::Groups(groups) => {
            let rule = rule_in_groups(section, groups)?;
            Ok(matches!(rule, Some(Rule::LeastLoaded(_))))
        }
        _ => Ok(false),
    }
}

struct AnyValiant {
    inside: Option<UgalRule>,
    metric: LoadMetric,
}

impl OverSegments for AnyValiant {
    fn over<L: PathSegments + 'static>(self, segments: L) -> Box<dyn Routing> {
        Box::new(Valiant {
            segments,
            inside: self.inside,
            metric: self.metric,
        })
    }
}

struct Valiant<L> {
    segments: L,
    /// The rule for packets that stay in their group, if loads decide about their detours.
    inside: Option<UgalRule>,
    /// The metric of all compared loads.
    metric: LoadMetric,
}

impl<L: PathSegments> Valiant<L> {
    /// The ends between which a node is drawn.
    fn ends(&self, router: RouterId, target: RouterId, state: RouteState) -> Option<L::Ends> {
        if is_decided(&state) {
            return None;
        }
        self.segments.ends(router, target, state)
    }
}

impl<L: PathSegments> Routing for Valiant<L> {
    fn vcs(&self) -> u8 {
        self.segments.vcs()
    }

    fn load_metric(&self) -> LoadMetric {
        self.metric
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
        let mut start = None;
        if let Some(ends) = self.segments.ends(at.router, target, *state) {
            let index = random.below(self.segments.nodes(ends));
            let via = self.segments.node(index, ends);
            start = self.segments.through(at, via, *state, congestion, random);
            if let (Some(rule), Some(other)) = (&self.inside, &start)
                && self.segments.is_inside_group(ends)
            {
                let minimal = self.segments.minimal(at, target, *state, congestion, random);
                if rule.takes_minimal(&minimal, other, congestion) {
                    start = Some(minimal);
                }
            }
        }
        let hop;
        (hop, *state) =
            start.unwrap_or_else(|| self.segments.minimal(at, target, *state, congestion, random));
        hop
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
        let Some(ends) = self.segments.ends(at.router, target, state) else {
            return self.segments.all_minimal(at, target, state, out);
        };
        if self.inside.is_some() && self.segments.is_inside_group(ends) {
            self.segments.all_minimal(at, target, state, out);
        }
        for index in 0..self.segments.nodes(ends) {
            let before = out.len();
            self.segments
                .all_through(at, self.segments.node(index, ends), state, out);
            if out.len() == before {
                self.segments.all_minimal(at, target, state, out);
            }
        }
    }

    fn oblivious(&self) -> Option<Oblivious> {
        match self.inside {
            None => self.segments.oblivious(),
            Some(_) => None,
        }
    }

    fn chances(
        &self,
        router: RouterId,
        destination: HostId,
        state: RouteState,
        out: &mut Vec<(Port, RouteState, f64)>,
    ) {
        let (target, port) = self.segments.attachment(destination);
        if target == router {
            out.push((port, state, 1.0));
            return;
        }
        let Some(ends) = self.ends(router, target, state) else {
            return self.segments.chances(router, target, state, 1.0, out);
        };
        let nodes = self.segments.nodes(ends);
        let share = 1.0 / f64::from(nodes);
        for index in 0..nodes {
            let via = self.segments.node(index, ends);
            self.segments.chances_through(router, target, via, share, out);
        }
    }
}
