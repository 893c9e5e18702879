//! Parts of paths in networks of groups, for [`Routing::visit_paths`](crate::Routing::visit_paths): to another group,
//! and inside a group. The hops are those of [`GroupNetwork`], over every link between two groups and every path
//! inside a group, whichever of them an algorithm draws, keeps or finds least loaded.

use topology::{Groups, RouterId, Topology};

use crate::Hop;
use crate::groups::GroupNetwork;
use crate::path_parts::{HopEnd, PathVisitor, Unvisited};

/// Tells a visitor the parts of a network's paths.
pub(crate) struct GroupParts<'a, T> {
    pub(crate) network: &'a GroupNetwork<T>,
    pub(crate) visitor: &'a mut dyn PathVisitor,
}

/// A part to another group: local links and a global link.
pub(crate) struct ToOtherGroup<'a> {
    /// The junctions where it begins.
    pub(crate) begins: &'a [u8],
    /// First VC of the segment, for local links; the next one is for the global link.
    pub(crate) first_vc: u8,
    /// Another VC for the local links. A packet may end the part behind each of them, at this junction.
    pub(crate) tentative: Option<(u8, u8)>,
    /// The junctions where it ends.
    pub(crate) ends: &'a [u8],
}

impl<T: Topology + Groups> GroupParts<'_, T> {
    fn groups(&self) -> &T {
        self.network.groups()
    }

    fn has_hosts(&self, router: RouterId) -> bool {
        let groups = self.groups();
        router.0 % groups.routers_per_group() < groups.host_routers_per_group()
    }

    fn routers(&self, group: u32) -> impl Iterator<Item = RouterId> + use<T> {
        let of_group = self.groups().routers_per_group();
        (group * of_group..(group + 1) * of_group).map(RouterId)
    }

    /// The parts from every router to all other groups. At routers without hosts only those start that
    /// have a link of this router: others would go down and up again.
    pub(crate) fn between_groups(&mut self, part: &ToOtherGroup<'_>) -> Result<(), Unvisited> {
        let all = self.groups().groups();
        for here in 0..all {
            for there in (0..all).filter(|there| *there != here) {
                for link in 0..self.groups().links_between(here, there) {
                    let (gateway, _) = self.groups().gateway(here, there, link);
                    for router in self.routers(here) {
                        if router != gateway && !self.has_hosts(router) {
                            continue;
                        }
                        for path in self.paths(router, gateway) {
                            let hop = self.hop(part, router, (there, link, path));
                            let at = self.visitor.begin(part.begins, router, hop)?;
                            self.go_on_to(part, at, (there, gateway, link))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The rest of a part over a link of a gateway to another group. Routers may choose among local paths again.
    fn go_on_to(
        &mut self,
        part: &ToOtherGroup<'_>,
        at: HopEnd,
        (there, gateway, link): (u32, RouterId, u32),
    ) -> Result<(), Unvisited> {
        if self.groups().group(at.router) == there {
            part.ends
                .iter()
                .for_each(|junction| self.visitor.end(at, *junction));
            return Ok(());
        }
        if let Some((_, junction)) = part.tentative {
            self.visitor.end(at, junction);
        }
        for path in self.paths(at.router, gateway) {
            let hop = self.hop(part, at.router, (there, link, path));
            let next = self.visitor.go_on(at, hop)?;
            self.go_on_to(part, next, (there, gateway, link))?;
        }
        Ok(())
    }

    fn hop(&self, part: &ToOtherGroup<'_>, router: RouterId, (group, link, path): (u32, u32, u16)) -> Hop {
        let hop = self.network.through(router, group, part.first_vc, link, path);
        match part.tentative {
            Some((vc, _)) if hop.vc == part.first_vc => Hop { vc, ..hop },
            _ => hop,
        }
    }

    /// The paths inside a group from one router to another one, or to itself.
    fn paths(&self, from: RouterId, to: RouterId) -> std::ops::Range<u16> {
        match from == to {
            true => 0..1,
            false => 0..self.network.local_paths(),
        }
    }

    /// The parts inside each group to every router with hosts: from all routers, or only from those with hosts.
    pub(crate) fn inside_groups(
        &mut self,
        begins: &[u8],
        vc: u8,
        from_all: bool,
        ends: &[u8],
    ) -> Result<(), Unvisited> {
        for group in 0..self.groups().groups() {
            for from in self.routers(group) {
                if !from_all && !self.has_hosts(from) {
                    continue;
                }
                for to in self.routers(group) {
                    if to == from || !self.has_hosts(to) {
                        continue;
                    }
                    for path in self.paths(from, to) {
                        let at = self
                            .visitor
                            .begin(begins, from, self.network.inside(from, to, vc, path))?;
                        self.go_on_inside(at, to, vc, ends)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn go_on_inside(&mut self, at: HopEnd, to: RouterId, vc: u8, ends: &[u8]) -> Result<(), Unvisited> {
        if at.router == to {
            ends.iter().for_each(|junction| self.visitor.end(at, *junction));
            return Ok(());
        }
        for path in self.paths(at.router, to) {
            let next = self
                .visitor
                .go_on(at, self.network.inside(at.router, to, vc, path))?;
            self.go_on_inside(next, to, vc, ends)?;
        }
        Ok(())
    }

    /// The hops from routers without hosts down to those with hosts.
    pub(crate) fn down(&mut self, begins: &[u8], vc: u8, ends: &[u8]) -> Result<(), Unvisited> {
        for group in 0..self.groups().groups() {
            for from in self.routers(group) {
                for to in self.routers(group) {
                    if self.has_hosts(from) || !self.has_hosts(to) {
                        continue;
                    }
                    for path in self.paths(from, to) {
                        let at = self
                            .visitor
                            .begin(begins, from, self.network.inside(from, to, vc, path))?;
                        ends.iter().for_each(|junction| self.visitor.end(at, *junction));
                    }
                }
            }
        }
        Ok(())
    }
}
