//! Minimal routing, in networks of groups (`minimal_in_groups.rs`) and in any network that finds its shortest paths.
//!
//! In networks of groups a path has at most one global link. Equal paths are chosen by source and destination, at
//! random, or by load.
//!
//! Elsewhere ([`Graph`]): one of all shortest paths, `hashed` by source and destination, or `adaptive`. Adaptive
//! routing takes at every router the least loaded port on a shortest path, and breaks ties at random. The VC is the
//! number of links that the packet has crossed (K. D. Guenther, "Prevention of deadlocks in packet-switched data
//! transport systems", IEEE Trans. Communications 29(4), 1981). A channel waits only for channels of the next VC, so
//! there is no cycle, and a network of diameter d needs d VCs.
//!
//! State: `phase` counts the links; `via`, if hashed, is the remainder of the draw by source and destination.

use std::sync::Arc;

use config::{Error, Section, parameters};
use topology::{Graph, HostId, Onward, Port, RouterId, Shape, Topology};

use crate::choice::LeastLoadedHop;
use crate::equal_paths::{DEFAULT_PATHS, PATHS, Rule, rule_in_groups};
use crate::fixed::Fixed;
use crate::groups::compiled;
use crate::link_counts;
use crate::load_metric::{METRIC, METRIC_SCOPE};
use crate::minimal_in_groups::MinimalInGroups;
use crate::path_parts::{PathVisitor, Unvisited};
use crate::phases::{PhaseNumbering, VCS, renumbered};
use crate::registry::is_groups;
use crate::{
    Algorithm, At, Chance, Congestion, Hop, LoadMetric, Oblivious, Random, RouteState, Routing, spread,
};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "minimal",
    works_on: "dragonfly, dragonfly-2d, dragonfly-plus, express-mesh, graph, hyperx, slim-fly",
    summary: "a shortest path; in a dragonfly with at most one global link (MIN of Kim et al. 2008)",
    parameters: parameters! {
        computed("paths", PATHS, DEFAULT_PATHS,
            "which of several shortest paths: hashed, by source and destination; adaptive, by load; in networks \
             of groups also random");
        METRIC;
        METRIC_SCOPE;
        VCS;
    },
    routes: |shape| is_groups(shape) || shape.graph().is_some(),
    build: |section, topology| {
        renumbered(section, topology, PhaseNumbering::Minimal, |topology| {
            build(section, topology)
        })
    },
};

fn build(section: &Section, topology: Arc<dyn Topology>) -> Result<Box<dyn Routing>, Error> {
    if let Shape::Groups(groups) = topology.shape() {
        let rule = rule_in_groups(section, groups)?;
        if !matches!(rule, Some(Rule::LeastLoaded(_))) {
            LoadMetric::refuse(section, NOT_ADAPTIVE)?;
        }
        return Ok(compiled(&*topology, MinimalInGroups(rule)));
    }
    let adaptive = section.choice_or("paths", "hashed", &["hashed", "adaptive"])? == "adaptive";
    let (graph, vcs) = counted_links(section, topology)?;
    if adaptive {
        let metric = LoadMetric::read(section)?;
        return Ok(Box::new(LeastLoaded { graph, vcs, metric }));
    }
    LoadMetric::refuse(section, NOT_ADAPTIVE)?;
    Ok(Box::new(ShortestPaths { graph, vcs }))
}

/// Why a load metric has no effect.
const NOT_ADAPTIVE: &str = "unless paths = \"adaptive\"";

struct ShortestPaths {
    graph: Arc<dyn Graph>,
    vcs: u8,
}

/// A topology with as many VCs as links on its longest shortest path.
fn counted_links(section: &Section, topology: Arc<dyn Topology>) -> Result<(Arc<dyn Graph>, u8), Error> {
    let graph = topology.into_graph().expect("the registry checks the shape");
    let diameter = graph.diameter();
    // Hosts of a single router exchange packets without any link.
    match u8::try_from(diameter.max(1)) {
        Ok(vcs) => Ok((graph, vcs)),
        Err(_) => {
            let text = format!(
                "paths of {diameter} links need as many VCs; expected at most {}",
                u8::MAX
            );
            Err(section.error("algorithm", text))
        }
    }
}

impl Fixed for ShortestPaths {
    const OBLIVIOUS: Oblivious = Oblivious::SYMMETRIC;

    fn vcs(&self) -> u8 {
        self.vcs
    }

    fn channel_order(&self, _: RouterId, _: Port, vc: u8) -> Option<u64> {
        Some(u64::from(vc))
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        link_counts::visit(&*self.graph, self.vcs, visitor)
    }

    fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        let begun = state.phase > 0;
        let draw = match begun {
            true => state.via,
            false => spread(at.source.0, at.destination.0),
        };
        match self.graph.onward(at.router, at.destination, draw, begun) {
            Onward::Host(port) => Hop::new(port, 0),
            Onward::Router(port, left) => {
                let vc = state.phase;
                state.phase += 1;
                state.via = left;
                Hop::new(port, vc)
            }
        }
    }

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        match self.graph.attachment(destination) {
            (target, port) if target == router => out.push((port, state, 1.0)),
            // Each router consumes part of the draw, as if it had a draw of its own.
            (target, _) => self
                .graph
                .shortest_shares(router, target, &mut |port, share| out.push((port, state, share))),
        }
    }
}

struct LeastLoaded {
    graph: Arc<dyn Graph>,
    vcs: u8,
    metric: LoadMetric,
}

impl Routing for LeastLoaded {
    fn vcs(&self) -> u8 {
        self.vcs
    }

    fn load_metric(&self) -> LoadMetric {
        self.metric
    }

    fn channel_order(&self, _: RouterId, _: Port, vc: u8) -> Option<u64> {
        Some(u64::from(vc))
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        link_counts::visit(&*self.graph, self.vcs, visitor)
    }

    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let (target, port) = self.graph.attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        let mut best = LeastLoadedHop::new();
        self.graph.shortest_ports(at.router, target, &mut |port| {
            let hop = Hop::new(port, state.phase);
            best.offer(0, self.metric.of(congestion, hop), hop, random);
        });
        state.phase += 1;
        best.hop()
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let (target, port) = self.graph.attachment(at.destination);
        if target == at.router {
            out.push((Hop::new(port, 0), state));
            return;
        }
        self.graph.shortest_ports(at.router, target, &mut |port| {
            let next = RouteState {
                phase: state.phase + 1,
                ..state
            };
            out.push((Hop::new(port, state.phase), next));
        });
    }
}
