//! Path segments in networks of groups, compiled for each topology, with at most one global link in each.
//!
//! Intermediate nodes are in groups that are neither the source's nor the destination's: routers with hosts, or
//! whole groups, which a packet leaves from the first router that it meets. With `global-link` the link to that group
//! is drawn, too, from all links of the source's group to such groups. Traffic inside a group is minimal. With
//! `any-router` they are any routers with hosts; then a segment may stay in a group, as traffic inside a group does.
//!
//! A segment has two VCs: one for local links before its global link, one from the global link on. Towards an
//! intermediate router these are VC 0 and 1, from there 2 and 3. The segment to an intermediate group ends on its
//! global link: VC 0 and 1, then 1 for local links and 2 from the global link on. Minimal paths use the VCs of the
//! last segment, traffic inside a group the last VC. VCs only grow along a path. Within one VC local links wait for
//! global links and for later links of the same path through a group, or global links for local ones, so there is no
//! cycle. If minimal paths can be left, all VCs are one higher, and VC 0 is for local links of minimal paths before
//! their global link.
//!
//! Packets inside a group can have an intermediate router of the group (`local`). They use VC 0 up to it and the last
//! VC from it on. On VC 0 the local links of no other packet follow: a local link of VC 0 is the first link of a path,
//! or follows an earlier link of the same path through the group. So VC 0 waits for higher VCs, as before, and for
//! later links of the same path through the group only.
//!
//! Where some routers have no hosts (spines), up-links must not wait for down-links of the same VC, so segments begin
//! and end at routers with hosts. A packet that meets an intermediate group at a spine continues directly if the
//! spine has a link to the destination's group. Otherwise it goes down first, on the VC on which it came (up-links on
//! that VC wait for global links only). A packet leaves a minimal path at a spine only for a node to which this
//! spine has a global link.
//!
//! With `intermediate_spine = "leaf"` it always goes down first.
//!
//! With `detours = "linked"` a packet leaves a minimal path only over a global link of the router that decides.
//!
//! State: on the first segment `via` is the intermediate router or group; `path` is the index of the first global
//! link if it was drawn, or where a path through a group may have several links (up to 65,536 links between two groups;
//! first segments use no more). On a minimal path `via` is the index of the global link, `path` the path inside groups.

use topology::{Divisor, Groups, HostId, Port, RouterId, Topology, pick};

use crate::channel_order;
use crate::groups::{GroupNetwork, add};
use crate::path_parts::{PathVisitor, Unvisited};
use crate::{At, Chance, Congestion, Hop, Oblivious, Random, Reports, RouteState, spread};

use super::group_nodes::{Ends, GroupNodes, IntermediateNode, VC_INSIDE_GROUP, towards_inside};
use super::group_parts;
use super::{
    ARRIVED, AtSpine, FIRST_SEGMENT, INSIDE_GROUP, Intermediate, LAST_SEGMENT, PathSegments, PathStart,
    TENTATIVE, UNDECIDED,
};

/// Compiled with and without support for leaving minimal paths.
pub(super) struct GroupSegments<T, const RETRACTABLE: bool> {
    network: GroupNetwork<T>,
    nodes: GroupNodes,
}

/// The number that picks the last segment behind an intermediate node. It is independent of the one for the first
/// segment, on which the start of the last segment depends.
#[inline]
fn last_draw(via: u32, destination: HostId) -> u32 {
    spread(!via, destination.0)
}

impl<T: Topology + Groups, const RETRACTABLE: bool> GroupSegments<T, RETRACTABLE> {
    pub(super) fn new(network: GroupNetwork<T>, nodes: GroupNodes) -> Self {
        GroupSegments { network, nodes }
    }

    fn has_hosts(&self, router: RouterId) -> bool {
        self.nodes.has_hosts(self.network.groups(), router)
    }

    /// Whether all routers of a group are linked to each other. A call instead of a field, so that the compiler knows
    /// the result for topologies where it is constant.
    #[inline]
    fn all_to_all(&self) -> bool {
        self.network.groups().local_diameter() <= 1
    }

    /// The link of a packet to an intermediate router. If the path to that link is one link long, the next router
    /// picks a link of its own; if it is longer, the link must stay the same.
    #[inline]
    fn first_link(&self, here: RouterId, via: RouterId, draw: u32, chosen: u16) -> u32 {
        match self.all_to_all() {
            true => self.network.groups().minimal_link(here, via, draw),
            false => u32::from(chosen),
        }
    }

    /// The link of a packet to an intermediate group: the drawn one, or one by the packet's destination.
    #[inline]
    fn link_to_group(&self, here: u32, via: u32, draw: u32, chosen: u16) -> u32 {
        match self.nodes.intermediate {
            Intermediate::GlobalLink => u32::from(chosen),
            _ => pick(draw, self.network.groups().links_between(here, via)).0,
        }
    }

    /// One hop towards the intermediate node. `None` if the packet is there.
    #[inline]
    fn first_segment(&self, at: At, via: u32, chosen: u16) -> Option<Hop> {
        let draw = spread(via, at.destination.0);
        let groups = self.network.groups();
        match self.nodes.intermediate {
            Intermediate::Router | Intermediate::AnyRouter | Intermediate::AnyGroup if at.router.0 == via => {
                None
            }
            Intermediate::Router | Intermediate::AnyRouter | Intermediate::AnyGroup => {
                let (via, path) = (RouterId(via), self.network.local_path(draw));
                let way = |_: &T, to_other_group| match to_other_group {
                    true => (self.first_link(at.router, via, draw, chosen), path),
                    false => (0, path),
                };
                Some(self.network.towards(at.router, via, self.nodes.first_vc, way))
            }
            Intermediate::Group | Intermediate::GlobalLink => {
                let here = groups.group(at.router);
                (here != via).then(|| {
                    let link = self.link_to_group(here, via, draw, chosen);
                    let path = self.network.local_path(draw);
                    self.network
                        .through(at.router, via, self.nodes.first_vc, link, path)
                })
            }
        }
    }

    /// A hop down to a router with hosts, if the packet has to begin the last segment at one in the intermediate
    /// group.
    #[inline(never)]
    fn to_leaf(&self, at: At, target: RouterId, via: u32, leaves: Divisor) -> Option<Hop> {
        if self.has_hosts(at.router) {
            return None;
        }
        let groups = self.network.groups();
        let draw = last_draw(via, at.destination);
        let link = groups.minimal_link(at.router, target, draw);
        let group = groups.group(at.router);
        let is_gateway = groups.gateway(group, groups.group(target), link).0 == at.router;
        if is_gateway && self.nodes.at_spine == AtSpine::Direct {
            return None;
        }
        let (leaf, rest) = pick(spread(at.router.0, draw), leaves.get());
        let leaf = RouterId(group * groups.routers_per_group() + leaf);
        let port = groups.local_port(at.router, leaf, self.network.local_path(rest));
        Some(Hop::new(port, self.nodes.first_vc + 1))
    }

    /// One hop on the minimal path to `target`, another router.
    #[inline]
    fn last_segment(&self, at: At, target: RouterId, state: &mut RouteState) -> Hop {
        self.network
            .towards(at.router, target, self.nodes.last_vc, |groups, to_other_group| {
                if state.phase < LAST_SEGMENT {
                    let draw = match state.phase {
                        UNDECIDED => spread(at.source.0, at.destination.0),
                        _ => last_draw(state.via, at.destination),
                    };
                    *state = RouteState {
                        via: match to_other_group {
                            true => groups.minimal_link(at.router, target, draw),
                            false => 0,
                        },
                        path: self.network.local_path(draw),
                        phase: LAST_SEGMENT,
                        flags: 0,
                    };
                }
                (state.via, state.path)
            })
    }

    /// One hop towards an intermediate router of the same group.
    fn hop_inside(&self, at: At, via: RouterId) -> Hop {
        let path = self.network.local_path(spread(via.0, at.destination.0));
        Hop::new(
            self.network.groups().local_port(at.router, via, path),
            VC_INSIDE_GROUP,
        )
    }

    /// The chances of one hop towards an intermediate router of the same group.
    fn chances_inside(&self, router: RouterId, via: RouterId, share: f64, out: &mut Vec<Chance>) {
        self.network
            .minimal_chances(router, via, None, |port, _, chance| {
                add(out, (port, towards_inside(via), share * chance));
            });
    }

    /// A path to an intermediate node over a link of this router to its group: the drawn one, or one by the packet's
    /// destination.
    fn over_own_link(&self, at: At, via: u32, drawn: u16) -> PathStart {
        let group = self.nodes.group_of(self.network.groups(), via);
        let link = match self.nodes.intermediate {
            Intermediate::GlobalLink => u32::from(drawn),
            _ => self
                .nodes
                .own_link(at.router, group, spread(via, at.destination.0)),
        };
        let state = RouteState {
            via,
            path: drawn,
            phase: FIRST_SEGMENT,
            ..RouteState::default()
        };
        let hop = self
            .network
            .through(at.router, group, self.nodes.first_vc, link, 0);
        (hop, state)
    }

    /// Whether the path to an intermediate router leads to another group.
    fn leaves_group(&self, here: RouterId, via: u32) -> bool {
        let groups = self.network.groups();
        match self.nodes.intermediate {
            Intermediate::Router | Intermediate::AnyGroup => true,
            Intermediate::AnyRouter => groups.group(here) != groups.group(RouterId(via)),
            Intermediate::Group | Intermediate::GlobalLink => false,
        }
    }

    /// The chances of a hop of the first segment, except at its end. In the state, `path` is the index of the global
    /// link from the first hop on with which the link stays the same.
    fn chances_of_first(
        &self,
        router: RouterId,
        via: u32,
        chosen: Option<u16>,
        share: f64,
        out: &mut Vec<Chance>,
    ) {
        let groups = self.network.groups();
        let here = groups.group(router);
        let next = |link: u32, there: u32| {
            let ahead = here != there && groups.gateway(here, there, link).0 != router;
            RouteState {
                via,
                path: if ahead {
                    link.min(u32::from(u16::MAX)) as u16
                } else {
                    0
                },
                phase: FIRST_SEGMENT,
                flags: 0,
            }
        };
        if self.nodes.intermediate.is_at_group() {
            let chosen = chosen.map(u32::from);
            return self
                .network
                .chances_to_group(router, via, chosen, |port, link, chance| {
                    add(out, (port, next(link, via), share * chance));
                });
        }
        let target = RouterId(via);
        let there = groups.group(target);
        match chosen.map(u32::from) {
            // The link stays the same, and so does the number of paths inside the group.
            Some(link) if here != there && !self.all_to_all() => {
                self.network
                    .chances_to_group(router, there, Some(link), |port, _, chance| {
                        add(out, (port, next(link, there), share * chance));
                    });
            }
            _ => {
                let keeps = !self.all_to_all();
                self.network
                    .minimal_chances(router, target, None, |port, (link, _), chance| {
                        let mut next = next(link, there);
                        next.path = if keeps { next.path } else { 0 };
                        add(out, (port, next, share * chance));
                    });
            }
        }
    }

    /// The chances of the hop down to a router with hosts, if the last segment has to begin at one
    /// ([`GroupSegments::to_leaf`]).
    fn chances_to_leaf(
        &self,
        router: RouterId,
        target: RouterId,
        leaves: Divisor,
        share: f64,
        out: &mut Vec<Chance>,
    ) -> bool {
        let groups = self.network.groups();
        let (here, there) = (groups.group(router), groups.group(target));
        // A link of this router is closer than any other.
        let link = groups.minimal_link(router, target, 0);
        let is_gateway = groups.gateway(here, there, link).0 == router;
        if self.has_hosts(router) || is_gateway && self.nodes.at_spine == AtSpine::Direct {
            return false;
        }
        let state = RouteState {
            phase: ARRIVED,
            ..RouteState::default()
        };
        for leaf in 0..leaves.get() {
            let leaf = RouterId(here * groups.routers_per_group() + leaf);
            let port = groups.local_port(router, leaf, 0);
            out.push((port, state, share / f64::from(leaves.get())));
        }
        true
    }

    /// Number of links of a path through an intermediate node that begins with this port to the group of the node.
    fn links_over(&self, at: At, target: RouterId, via: u32, port: Port) -> u32 {
        let groups = self.network.groups();
        let met = self.network.across(at.router, port);
        let node = match self.nodes.intermediate.is_at_group() {
            true => met,
            false => RouterId(via),
        };
        let link = groups.minimal_link(node, target, last_draw(via, at.destination));
        1 + groups.distance(met, node) + self.links(node, target, link)
    }

    /// Number of links of the path between two routers, over the `link`-th link between their groups if these differ.
    fn links(&self, from: RouterId, to: RouterId, link: u32) -> u32 {
        let groups = self.network.groups();
        let (here, there) = (groups.group(from), groups.group(to));
        if here == there {
            return groups.distance(from, to);
        }
        let (gateway, port) = groups.gateway(here, there, link);
        groups.distance(from, gateway) + 1 + groups.distance(self.network.across(gateway, port), to)
    }
}

impl<T: Topology + Groups, const RETRACTABLE: bool> PathSegments for GroupSegments<T, RETRACTABLE> {
    type Ends = Ends;
    type IntermediateNode = IntermediateNode;

    fn oblivious(&self) -> Option<Oblivious> {
        Some(Oblivious::BETWEEN_ROUTERS)
    }

    fn vcs(&self) -> u8 {
        self.nodes.last_vc + 2
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        channel_order::in_groups(self.network.groups(), self.nodes.down_first(), (router, port, vc))
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        group_parts::visit(&self.network, &self.nodes, RETRACTABLE, visitor)
    }

    #[inline]
    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.network.attachment(host)
    }

    #[inline]
    fn ends(&self, here: RouterId, target: RouterId, state: RouteState) -> Option<Ends> {
        let under_way = RETRACTABLE && state.phase == TENTATIVE;
        self.nodes.ends(self.network.groups(), (here, target), under_way)
    }

    #[inline]
    fn nodes(&self, ends: Ends) -> u32 {
        self.nodes.count(self.network.groups(), ends)
    }

    #[inline]
    fn node(&self, index: u32, ends: Ends) -> IntermediateNode {
        self.nodes.node(self.network.groups(), index, ends)
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
        mut state: RouteState,
        _: &dyn Congestion,
        _: &mut dyn Random,
    ) -> PathStart {
        let mut hop = self.last_segment(at, target, &mut state);
        if RETRACTABLE {
            let in_source_group = hop.vc == self.nodes.last_vc;
            state.phase = if in_source_group { TENTATIVE } else { LAST_SEGMENT };
            hop.vc = if in_source_group { 0 } else { hop.vc };
        }
        (hop, state)
    }

    #[inline(always)]
    fn through(
        &self,
        at: At,
        via: IntermediateNode,
        _: RouteState,
        _: &dyn Congestion,
        _: &mut dyn Random,
    ) -> Option<PathStart> {
        let (via, path) = match via {
            IntermediateNode::Outside(via, link) => (via, link),
            IntermediateNode::Linked(via, link) => return Some(self.over_own_link(at, via, link)),
            IntermediateNode::Inside(via) => return Some((self.hop_inside(at, via), towards_inside(via))),
            IntermediateNode::AtAnEnd => return None,
        };
        let mut state = RouteState {
            via,
            path,
            phase: FIRST_SEGMENT,
            ..RouteState::default()
        };
        if !self.all_to_all() && self.leaves_group(at.router, via) {
            let draw = spread(via, at.destination.0);
            let link = self.network.groups().minimal_link(at.router, RouterId(via), draw);
            state.path = link.min(u32::from(u16::MAX)) as u16;
        }
        let hop = self.first_segment(at, via, state.path)?;
        if RETRACTABLE && hop.vc == self.nodes.first_vc && !self.has_hosts(at.router) {
            return None;
        }
        Some((hop, state))
    }

    #[inline]
    fn go_on(
        &self,
        at: At,
        target: RouterId,
        state: &mut RouteState,
        _: &dyn Congestion,
        _: &mut dyn Random,
    ) -> Hop {
        if state.phase == INSIDE_GROUP {
            let via = RouterId(state.via);
            if at.router != via {
                return self.hop_inside(at, via);
            }
            state.phase = ARRIVED;
        }
        if state.phase == FIRST_SEGMENT {
            if let Some(hop) = self.first_segment(at, state.via, state.path) {
                return hop;
            }
            state.phase = ARRIVED;
            if let Some(leaves) = self.nodes.leaves
                && let Some(hop) = self.to_leaf(at, target, state.via, leaves)
            {
                return hop;
            }
        }
        self.last_segment(at, target, state)
    }

    #[inline(never)]
    fn each_global_link(
        &self,
        at: At,
        target: RouterId,
        (_, state): &PathStart,
        each: &mut dyn FnMut(RouterId, Port),
    ) {
        let groups = self.network.groups();
        let here = groups.group(at.router);
        let (there, link) = match (state.phase, self.nodes.intermediate) {
            (FIRST_SEGMENT, Intermediate::Router | Intermediate::AnyRouter | Intermediate::AnyGroup) => {
                let (via, draw) = (RouterId(state.via), spread(state.via, at.destination.0));
                (
                    groups.group(via),
                    self.first_link(at.router, via, draw, state.path),
                )
            }
            (FIRST_SEGMENT, Intermediate::Group | Intermediate::GlobalLink) => {
                let draw = spread(state.via, at.destination.0);
                (state.via, self.link_to_group(here, state.via, draw, state.path))
            }
            _ => (groups.group(target), state.via),
        };
        if here != there {
            let (gateway, port) = groups.gateway(here, there, link);
            each(gateway, port);
        }
    }

    fn reports(&self, report_period_ps: u64) -> Option<Reports> {
        Some(Reports::in_groups(self.network.groups(), report_period_ps))
    }

    #[inline(never)]
    fn minimal_links(&self, at: At, target: RouterId, start: &PathStart) -> u32 {
        self.links(at.router, target, start.1.via)
    }

    #[inline(never)]
    fn links_through(&self, at: At, target: RouterId, via: IntermediateNode, start: &PathStart) -> u32 {
        let groups = self.network.groups();
        let via = match via {
            IntermediateNode::Outside(via, _) => via,
            IntermediateNode::Linked(via, _) => return self.links_over(at, target, via, start.0.port),
            IntermediateNode::Inside(via) => {
                return groups.distance(at.router, via) + groups.distance(via, target);
            }
            IntermediateNode::AtAnEnd => return self.minimal_links(at, target, start),
        };
        let draw = spread(via, at.destination.0);
        let (met, before) = match self.nodes.intermediate {
            Intermediate::Router | Intermediate::AnyRouter | Intermediate::AnyGroup => {
                let via = RouterId(via);
                let link = self.first_link(at.router, via, draw, start.1.path);
                (via, self.links(at.router, via, link))
            }
            Intermediate::Group | Intermediate::GlobalLink => {
                let here = groups.group(at.router);
                let link = self.link_to_group(here, via, draw, start.1.path);
                let (gateway, port) = groups.gateway(here, via, link);
                let met = self.network.across(gateway, port);
                (met, groups.distance(at.router, gateway) + 1)
            }
        };
        let last = last_draw(via, at.destination);
        before + self.links(met, target, groups.minimal_link(met, target, last))
    }

    #[inline(never)]
    fn links_remaining(&self, at: At, target: RouterId, (hop, _): &PathStart) -> u32 {
        let groups = self.network.groups();
        let next = self.network.across(at.router, hop.port);
        let link = match groups.group(next) == groups.group(target) {
            true => 0,
            false => groups.minimal_link(next, target, 0),
        };
        self.links(next, target, link) + 1
    }

    fn chances_through(
        &self,
        router: RouterId,
        target: RouterId,
        via: IntermediateNode,
        share: f64,
        out: &mut Vec<Chance>,
    ) {
        let (via, link) = match via {
            IntermediateNode::Outside(via, link) | IntermediateNode::Linked(via, link) => (via, link),
            IntermediateNode::Inside(via) => return self.chances_inside(router, via, share, out),
            IntermediateNode::AtAnEnd => {
                return self.chances(router, target, RouteState::default(), share, out);
            }
        };
        let chosen = (self.nodes.intermediate == Intermediate::GlobalLink).then_some(link);
        if self.nodes.intermediate == Intermediate::AnyRouter && router.0 == via {
            return self.chances(router, target, RouteState::default(), share, out);
        }
        self.chances_of_first(router, via, chosen, share, out);
    }

    /// Draws of different segments, and of routers that pick a link of their own, count as independent.
    fn chances(
        &self,
        router: RouterId,
        target: RouterId,
        state: RouteState,
        share: f64,
        out: &mut Vec<Chance>,
    ) {
        if state.phase == INSIDE_GROUP && router.0 != state.via {
            return self.chances_inside(router, RouterId(state.via), share, out);
        }
        if state.phase == FIRST_SEGMENT {
            let here = match self.nodes.intermediate {
                Intermediate::Router | Intermediate::AnyRouter | Intermediate::AnyGroup => router.0,
                Intermediate::Group | Intermediate::GlobalLink => self.network.groups().group(router),
            };
            if here != state.via {
                return self.chances_of_first(router, state.via, Some(state.path), share, out);
            }
            if let Some(leaves) = self.nodes.leaves
                && self.nodes.intermediate.is_at_group()
                && self.chances_to_leaf(router, target, leaves, share, out)
            {
                return;
            }
        }
        let chosen = (state.phase == LAST_SEGMENT).then_some((state.via, state.path));
        self.network
            .minimal_chances(router, target, chosen, |port, (via, path), chance| {
                let last = RouteState {
                    via,
                    path,
                    phase: LAST_SEGMENT,
                    flags: 0,
                };
                add(out, (port, last, share * chance));
            });
    }
}
