//! Parts of paths from router to router, for [`Routing::visit_paths`](crate::Routing::visit_paths).

use topology::{HostId, Peer, Port, RouterId, Topology};

use crate::path_parts::{PathVisitor, Unvisited};
use crate::{BufferClaim, Hop};

/// Largest number of pairs of routers: about ten seconds.
const MAX_PAIRS: u64 = 1 << 24;

/// The parts to every router of paths or segments of one kind.
pub(crate) struct SegmentParts<'a> {
    /// The junctions where they begin.
    pub(crate) begins: &'a [u8],
    /// The junction behind each link but the last one, if packets may leave the segment there.
    pub(crate) on_the_way: Option<u8>,
    /// The junction at the end, if others begin there.
    pub(crate) end: Option<u8>,
}

impl SegmentParts<'_> {
    /// Tells the parts, whose hops depend on the router and on the end of the segment only: `hops` adds those for any
    /// draw. So two hops in a row from each router tell all.
    ///
    /// # Errors
    /// The visitor stops, or there are too many pairs of routers.
    pub(crate) fn visit(
        &self,
        topology: &dyn Topology,
        visitor: &mut dyn PathVisitor,
        hops: impl Fn(RouterId, RouterId, &mut Vec<Hop>),
    ) -> Result<(), Unvisited> {
        if u64::from(topology.routers()).pow(2) > MAX_PAIRS {
            return Err(Unvisited::Unknown);
        }
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let routers = || (0..topology.routers()).map(RouterId);
        for to in routers() {
            for from in routers().filter(|from| *from != to) {
                first.clear();
                hops(from, to, &mut first);
                for hop in &first {
                    let at = visitor.begin(self.begins, from, *hop)?;
                    if at.router == to {
                        self.end.iter().for_each(|junction| visitor.end(at, *junction));
                        continue;
                    }
                    self.on_the_way
                        .iter()
                        .for_each(|junction| visitor.end(at, *junction));
                    second.clear();
                    hops(at.router, to, &mut second);
                    for hop in &second {
                        visitor.go_on(at, *hop)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Tells all hops in which packets reserve space on these VCs, over any link. Packets behind them are at `junction`.
pub(crate) fn visit_reserved(
    topology: &dyn Topology,
    vcs: std::ops::Range<u8>,
    junction: u8,
    visitor: &mut dyn PathVisitor,
) -> Result<(), Unvisited> {
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(Port) {
            if !matches!(topology.peer(router, port), Peer::Router(..)) {
                continue;
            }
            for vc in vcs.clone() {
                let claim = BufferClaim::Reserved;
                let at = visitor.begin(&[junction], router, Hop { port, vc, claim })?;
                visitor.end(at, junction);
            }
        }
    }
    Ok(())
}

/// A host of each router; `None` of routers without hosts.
pub(crate) fn hosts_of_routers(topology: &dyn Topology) -> Vec<Option<HostId>> {
    let mut hosts = vec![None; topology.routers() as usize];
    for host in (0..topology.hosts()).map(HostId) {
        hosts[topology.attachment(host).0.0 as usize] = Some(host);
    }
    hosts
}
