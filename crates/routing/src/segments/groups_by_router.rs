//! Path segments in networks of groups where every router chooses among equal paths, by load or at random
//! ([`EqualPaths`]), compiled for each topology.
//!
//! Nodes, segments and VCs are those of `groups.rs`, and so is the argument against deadlock: [`EqualPaths`] keeps
//! the order of channels within a segment, and VCs only grow from one segment to the next. Four details differ:
//!
//! - A packet to an intermediate group takes a link to it with the fewest local links before it, or the drawn link.
//! - A packet that has to go down from a spine of the intermediate group goes to the least loaded router with hosts,
//!   or to a random one.
//! - A spine of the intermediate group with a link to the destination's group may compare this link with the way down
//!   (`intermediate_spine = "load"`). Both have the VCs that they have without the choice.
//! - A router on the way of a minimal path that can be left chooses the rest of the minimal path again.
//!
//! State: `via` is the intermediate router or group on the first segment, `path` a drawn link to that group. No choice
//! of a path is kept.

use topology::{Groups, HostId, Port, RouterId, Topology};

use crate::channel_order;
use crate::equal_paths::{EqualPaths, Goal, Rule, Segment};
use crate::groups::add;
use crate::path_parts::{PathVisitor, Unvisited};
use crate::ugal::UgalRule;
use crate::{At, Chance, Congestion, Hop, Oblivious, Random, Reports, RouteState};

use super::group_nodes::{Ends, GroupNodes, IntermediateNode, VC_INSIDE_GROUP, towards_inside};
use super::group_parts;
use super::{
    ARRIVED, AtSpine, FIRST_SEGMENT, INSIDE_GROUP, Intermediate, LAST_SEGMENT, PathSegments, PathStart,
    TENTATIVE,
};

/// Compiled with and without support for leaving minimal paths.
pub(super) struct GroupSegmentsByRouter<T, const RETRACTABLE: bool> {
    paths: EqualPaths<T>,
    nodes: GroupNodes,
    /// The rule of a packet at a spine of the intermediate group, if it may go on or go down.
    at_spine: Option<UgalRule>,
    /// Whether first hops of paths through a node are compared by load times remaining links, as the paths are.
    by_remaining: bool,
}

/// The next step of a packet that is not at its destination's router.
enum Step {
    /// A hop of a segment.
    Along(Segment),
    /// A hop down to any router with hosts, on this VC.
    Down(u8),
    /// A hop towards a router of the same group, which is not the destination's.
    Inside(RouterId),
}

impl<T: Topology + Groups, const RETRACTABLE: bool> GroupSegmentsByRouter<T, RETRACTABLE> {
    /// `rule` is that of the algorithm, if it has one.
    pub(super) fn new(paths: EqualPaths<T>, nodes: GroupNodes, rule: Option<UgalRule>) -> Self {
        let by_load = paths.rule() != Rule::AtRandom;
        let chooses = nodes.at_spine == AtSpine::Load;
        GroupSegmentsByRouter {
            at_spine: chooses.then(|| rule.unwrap_or(UgalRule::BY_LOAD.by(paths.rule().metric()))),
            by_remaining: by_load && rule.is_some_and(|rule| rule.counts_remaining()),
            paths,
            nodes,
        }
    }

    #[inline]
    fn groups(&self) -> &T {
        self.paths.network().groups()
    }

    #[inline]
    fn goal(&self, via: u32, link: u16) -> Goal {
        match self.nodes.intermediate {
            Intermediate::Router | Intermediate::AnyRouter | Intermediate::AnyGroup => {
                Goal::Router(RouterId(via))
            }
            Intermediate::Group => Goal::Group(via),
            Intermediate::GlobalLink => Goal::Link(via, u32::from(link)),
        }
    }

    /// The goal of the first hop towards an intermediate node. A packet that leaves over a link of its router to the
    /// group of an intermediate router may take any of these links: they are the shortest paths to the group.
    #[inline]
    fn first_goal(&self, node: IntermediateNode, via: u32, link: u16) -> Goal {
        match (node, self.goal(via, link)) {
            (IntermediateNode::Linked(..), Goal::Router(router)) => Goal::Group(self.groups().group(router)),
            (_, goal) => goal,
        }
    }

    fn is_there(&self, router: RouterId, goal: Goal) -> bool {
        match goal {
            Goal::Router(via) => router == via,
            Goal::Group(via) | Goal::Link(via, _) => self.groups().group(router) == via,
        }
    }

    fn minimal_segment(&self, target: RouterId, state: RouteState) -> Segment {
        Segment {
            goal: Goal::Router(target),
            first_vc: self.nodes.last_vc,
            under_way: state.phase == TENTATIVE,
        }
    }

    /// A minimal path with this first hop.
    #[inline]
    fn minimal_start(&self, mut hop: Hop) -> PathStart {
        let in_source_group = RETRACTABLE && hop.vc == self.nodes.last_vc;
        if in_source_group {
            hop.vc = 0;
        }
        let state = RouteState {
            phase: if in_source_group { TENTATIVE } else { LAST_SEGMENT },
            ..RouteState::default()
        };
        (hop, state)
    }

    fn first_segment(&self, goal: Goal, under_way: bool) -> Segment {
        Segment {
            goal,
            first_vc: self.nodes.first_vc,
            under_way,
        }
    }

    /// The step towards an intermediate node, and the state behind it. `None` if the packet is there.
    #[inline]
    fn step_to(&self, router: RouterId, node: IntermediateNode) -> Option<(Step, RouteState)> {
        match node {
            IntermediateNode::Inside(via) => {
                (router != via).then(|| (Step::Inside(via), towards_inside(via)))
            }
            IntermediateNode::AtAnEnd => None,
            IntermediateNode::Outside(via, path) | IntermediateNode::Linked(via, path) => {
                let goal = self.first_goal(node, via, path);
                (!self.is_there(router, goal)).then(|| {
                    let state = RouteState {
                        via,
                        path,
                        phase: FIRST_SEGMENT,
                        ..RouteState::default()
                    };
                    (Step::Along(self.first_segment(goal, false)), state)
                })
            }
        }
    }

    /// Whether a path through an intermediate node can begin with this hop. It cannot at a spine without a link to
    /// the node's group: the up-link would wait for down-links of the same VC.
    fn can_begin(&self, router: RouterId, node: IntermediateNode, hop: Hop) -> bool {
        let climbs =
            RETRACTABLE && hop.vc == self.nodes.first_vc && !self.nodes.has_hosts(self.groups(), router);
        matches!(node, IntermediateNode::Inside(_)) || !climbs
    }

    /// The next step of a decided path. Changes the state to that behind it.
    #[inline]
    fn step(&self, router: RouterId, target: RouterId, state: &mut RouteState) -> Step {
        if state.phase == INSIDE_GROUP && router.0 != state.via {
            return Step::Inside(RouterId(state.via));
        }
        if state.phase == FIRST_SEGMENT {
            let goal = self.goal(state.via, state.path);
            if !self.is_there(router, goal) {
                return Step::Along(self.first_segment(goal, true));
            }
            if self.must_go_down(router, target) {
                return self.down(state);
            }
        }
        self.along_last(target, state)
    }

    /// The step down to a router with hosts of the intermediate group.
    #[inline]
    fn down(&self, state: &mut RouteState) -> Step {
        state.phase = ARRIVED;
        Step::Down(self.nodes.first_vc + 1)
    }

    /// The next step of the last segment.
    #[inline]
    fn along_last(&self, target: RouterId, state: &mut RouteState) -> Step {
        let under_way = state.phase == LAST_SEGMENT;
        *state = RouteState {
            phase: LAST_SEGMENT,
            ..RouteState::default()
        };
        Step::Along(Segment {
            goal: Goal::Router(target),
            first_vc: self.nodes.last_vc,
            under_way,
        })
    }

    /// Whether the last segment cannot begin at a router of the intermediate group: one without hosts and without a
    /// link to the destination's group, or without leave to use it.
    #[inline]
    fn must_go_down(&self, router: RouterId, target: RouterId) -> bool {
        !self.nodes.has_hosts(self.groups(), router)
            && (self.nodes.at_spine == AtSpine::Leaf || !self.paths.is_gateway(router, target))
    }

    /// The rule of a packet at a spine of the intermediate group that may go on over a link of this spine, or go down.
    #[inline]
    fn rule_at_spine(&self, router: RouterId, target: RouterId, state: RouteState) -> Option<&UgalRule> {
        let rule = self.at_spine.as_ref()?;
        let arrives = state.phase == FIRST_SEGMENT && self.is_there(router, self.goal(state.via, state.path));
        (arrives && !self.nodes.has_hosts(self.groups(), router) && self.paths.is_gateway(router, target))
            .then_some(rule)
    }

    /// The steps over a link of this spine and down to a router with hosts, each with the state behind it.
    fn steps_at_spine(&self, target: RouterId, state: RouteState) -> [(Step, RouteState); 2] {
        let (mut on, mut down) = (state, state);
        let steps = (self.along_last(target, &mut on), self.down(&mut down));
        [(steps.0, on), (steps.1, down)]
    }

    /// The routers with hosts in the group of a router.
    fn leaves(&self, router: RouterId) -> impl Iterator<Item = RouterId> + use<T, RETRACTABLE> {
        let groups = self.groups();
        let first = groups.group(router) * groups.routers_per_group();
        (first..first + groups.host_routers_per_group()).map(RouterId)
    }

    /// The hop of a step.
    #[inline]
    fn hop(&self, router: RouterId, step: Step, congestion: &dyn Congestion, random: &mut dyn Random) -> Hop {
        let paths = &self.paths;
        match step {
            Step::Along(segment) => paths.choose(router, segment, congestion, random),
            Step::Down(vc) => paths.choose_local(router, self.leaves(router), vc, congestion, random),
            Step::Inside(via) => {
                paths.choose_local(router, [via].into_iter(), VC_INSIDE_GROUP, congestion, random)
            }
        }
    }

    /// All hops of a step.
    fn all_hops(&self, router: RouterId, step: Step) -> Vec<Hop> {
        let mut hops = Vec::new();
        match step {
            Step::Along(segment) => self.paths.hops(router, segment, &mut hops),
            Step::Inside(via) => self
                .paths
                .local_hops(router, [via].into_iter(), VC_INSIDE_GROUP, &mut hops),
            Step::Down(vc) => self.paths.local_hops(router, self.leaves(router), vc, &mut hops),
        }
        hops
    }

    /// Adds the chances, times `share`, of a step with this state behind it.
    fn add_chances(
        &self,
        router: RouterId,
        step: Step,
        state: RouteState,
        share: f64,
        out: &mut Vec<Chance>,
    ) {
        let hops = self.all_hops(router, step);
        for hop in &hops {
            add(out, (hop.port, state, share / hops.len() as f64));
        }
    }
}

/// Adds starts without repetition.
fn add_new(out: &mut Vec<PathStart>, from: usize, start: PathStart) {
    if !out[from..].contains(&start) {
        out.push(start);
    }
}

impl<T: Topology + Groups, const RETRACTABLE: bool> PathSegments for GroupSegmentsByRouter<T, RETRACTABLE> {
    type Ends = Ends;
    type IntermediateNode = IntermediateNode;

    fn oblivious(&self) -> Option<Oblivious> {
        (self.paths.rule() == Rule::AtRandom).then_some(Oblivious::BETWEEN_ROUTERS)
    }

    fn vcs(&self) -> u8 {
        self.nodes.last_vc + 2
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        channel_order::in_groups(self.groups(), self.nodes.down_first(), (router, port, vc))
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        group_parts::visit(self.paths.network(), &self.nodes, RETRACTABLE, visitor)
    }

    #[inline]
    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.paths.network().attachment(host)
    }

    #[inline]
    fn ends(&self, here: RouterId, target: RouterId, state: RouteState) -> Option<Ends> {
        let under_way = RETRACTABLE && state.phase == TENTATIVE;
        self.nodes.ends(self.groups(), (here, target), under_way)
    }

    #[inline]
    fn nodes(&self, ends: Ends) -> u32 {
        self.nodes.count(self.groups(), ends)
    }

    #[inline]
    fn node(&self, index: u32, ends: Ends) -> IntermediateNode {
        self.nodes.node(self.groups(), index, ends)
    }

    #[inline]
    fn is_inside_group(&self, ends: Ends) -> bool {
        matches!(ends, Ends::Routers(..))
    }

    #[inline]
    fn minimal(
        &self,
        at: At,
        target: RouterId,
        state: RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> PathStart {
        let segment = self.minimal_segment(target, state);
        self.minimal_start(self.paths.choose(at.router, segment, congestion, random))
    }

    fn through(
        &self,
        at: At,
        via: IntermediateNode,
        _: RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Option<PathStart> {
        let (step, state) = self.step_to(at.router, via)?;
        let hop = match step {
            Step::Along(segment) if self.by_remaining => {
                let (target, _) = self.attachment(at.destination);
                self.paths
                    .choose_by(at.router, segment, congestion, random, |hop| {
                        u64::from(self.links_remaining(at, target, &(hop, state)))
                    })
            }
            step => self.hop(at.router, step, congestion, random),
        };
        self.can_begin(at.router, via, hop).then_some((hop, state))
    }

    #[inline]
    fn go_on(
        &self,
        at: At,
        target: RouterId,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        if let Some(rule) = self.rule_at_spine(at.router, target, *state) {
            let [on, down] = self
                .steps_at_spine(target, *state)
                .map(|(step, state)| (self.hop(at.router, step, congestion, random), state));
            let best = match rule.takes_minimal(&on, &down, congestion) {
                true => on,
                false => down,
            };
            *state = best.1;
            return best.0;
        }
        let step = self.step(at.router, target, state);
        self.hop(at.router, step, congestion, random)
    }

    fn all_minimal(&self, at: At, target: RouterId, state: RouteState, out: &mut Vec<PathStart>) {
        let from = out.len();
        let segment = self.minimal_segment(target, state);
        for hop in self.all_hops(at.router, Step::Along(segment)) {
            add_new(out, from, self.minimal_start(hop));
        }
    }

    fn all_through(&self, at: At, via: IntermediateNode, _: RouteState, out: &mut Vec<PathStart>) {
        let Some((step, state)) = self.step_to(at.router, via) else {
            return;
        };
        let from = out.len();
        for hop in self.all_hops(at.router, step) {
            if self.can_begin(at.router, via, hop) {
                add_new(out, from, (hop, state));
            }
        }
    }

    fn all_going_on(&self, at: At, target: RouterId, mut state: RouteState, out: &mut Vec<PathStart>) {
        let from = out.len();
        if self.rule_at_spine(at.router, target, state).is_some() {
            for (step, state) in self.steps_at_spine(target, state) {
                for hop in self.all_hops(at.router, step) {
                    add_new(out, from, (hop, state));
                }
            }
            return;
        }
        let step = self.step(at.router, target, &mut state);
        for hop in self.all_hops(at.router, step) {
            add_new(out, from, (hop, state));
        }
    }

    fn each_global_link(
        &self,
        at: At,
        target: RouterId,
        (hop, state): &PathStart,
        each: &mut dyn FnMut(RouterId, Port),
    ) {
        let goal = match state.phase {
            FIRST_SEGMENT => self.goal(state.via, state.path),
            _ => Goal::Router(target),
        };
        self.paths
            .each_global_link(at.router, goal, Some(hop.port), |gateway, port| {
                each(gateway, port)
            });
    }

    fn reports(&self, report_period_ps: u64) -> Option<Reports> {
        Some(Reports::in_groups(self.groups(), report_period_ps))
    }

    #[inline(never)]
    fn minimal_links(&self, at: At, target: RouterId, _: &PathStart) -> u32 {
        self.paths.links(at.router, Goal::Router(target))
    }

    /// A path through a group is as long as the shortest one with its first hop.
    #[inline(never)]
    fn links_through(&self, at: At, target: RouterId, via: IntermediateNode, start: &PathStart) -> u32 {
        let goal = match via {
            IntermediateNode::Outside(via, link) | IntermediateNode::Linked(via, link) => {
                self.goal(via, link)
            }
            IntermediateNode::Inside(via) => {
                let groups = self.groups();
                return groups.distance(at.router, via) + groups.distance(via, target);
            }
            IntermediateNode::AtAnEnd => return self.minimal_links(at, target, start),
        };
        let to_target = |from| self.paths.links(from, Goal::Router(target));
        match goal {
            Goal::Router(node) if matches!(via, IntermediateNode::Linked(..)) => {
                let met = self.paths.network().across(at.router, start.0.port);
                1 + self.groups().distance(met, node) + to_target(node)
            }
            Goal::Router(node) => self.paths.links(at.router, Goal::Router(node)) + to_target(node),
            goal => {
                let mut behind = u32::MAX;
                self.paths
                    .each_global_link(at.router, goal, Some(start.0.port), |gateway, port| {
                        behind = behind.min(to_target(self.paths.network().across(gateway, port)));
                    });
                self.paths.links(at.router, goal) + behind
            }
        }
    }

    #[inline(never)]
    fn links_remaining(&self, at: At, target: RouterId, (hop, _): &PathStart) -> u32 {
        let next = self.paths.network().across(at.router, hop.port);
        self.paths.links(next, Goal::Router(target)) + 1
    }

    fn chances_through(
        &self,
        router: RouterId,
        target: RouterId,
        via: IntermediateNode,
        share: f64,
        out: &mut Vec<Chance>,
    ) {
        match self.step_to(router, via) {
            Some((step, state)) => self.add_chances(router, step, state, share, out),
            None => self.chances(router, target, RouteState::default(), share, out),
        }
    }

    fn chances(
        &self,
        router: RouterId,
        target: RouterId,
        mut state: RouteState,
        share: f64,
        out: &mut Vec<Chance>,
    ) {
        let step = self.step(router, target, &mut state);
        self.add_chances(router, step, state, share, out);
    }
}
