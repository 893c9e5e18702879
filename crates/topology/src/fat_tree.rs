//! Fat tree of two or three levels, built from routers of one radix, with tapering at the leaves.
//!
//! Sources: C. E. Leiserson, "Fat-trees", IEEE Trans. Computers C-34(10), 1985; the three-level form of
//! routers with one radix k is that of M. Al-Fares, A. Loukissas, A. Vahdat, "A scalable, commodity data
//! center network architecture", SIGCOMM 2008: k pods of k/2 leaves and k/2 spines, (k/2)^2 cores, k^3/4
//! hosts at tapering 1:1.
//!
//! Two levels are one pod without cores. Uplink i of a leaf goes to spine i mod S of its pod, uplink i of
//! the s-th spine of a pod to core i mod X of plane s: with fewer leaves (or pods) than the routers above
//! have ports, the fewest routers that carry all uplinks are built, and several cables run in parallel.
//!
//! Routers are numbered leaves first, pod by pod, then spines, pod by pod, then cores, plane by plane.
//! Ports of a router: downward ones first (hosts; or cable by cable, the leaves of the pod; or cable by
//! cable, the pods), then upward ones; the rest of the radix is not wired.

use std::ops::Range;

use config::{Error, Section};

use crate::size::{count, positive};
use crate::{Divisor, HOST_LINK, HostId, Kind, LinkClass, Peer, Port, RouterId, Shape, Topology, Tree};

pub(crate) const KIND: Kind = Kind {
    name: "fat-tree",
    summary: "two or three levels of routers of one radix, tapered at the leaves",
    parameters: &[
        ("radix", "ports of every router; even"),
        ("levels", "levels of routers, 2 or 3 (default: 3)"),
        (
            "tapering",
            "hosts per leaf : uplinks per leaf, such as \"2:1\"; both are then as large as the radix allows \
             (default: \"1:1\")",
        ),
        (
            "hosts_per_leaf",
            "hosts on every leaf, with uplinks_per_leaf instead of tapering",
        ),
        (
            "uplinks_per_leaf",
            "uplinks of every leaf, with hosts_per_leaf instead of tapering",
        ),
        (
            "leaves",
            "two levels only: number of leaves, at most the radix (default: the radix)",
        ),
        (
            "pods",
            "three levels only: number of pods, at most the radix (default: the radix)",
        ),
    ],
    example: "radix = 4\n",
    build: |section| Ok(Box::new(FatTree::read(section)?)),
};

#[derive(Debug)]
struct FatTree {
    levels: u32,
    radix: u16,
    hosts: u32,
    routers: u32,
    /// Number of the first spine.
    first_spine: u32,
    /// Number of the first core.
    first_core: u32,
    pods: Divisor,
    hosts_per_leaf: Divisor,
    uplinks_per_leaf: u32,
    leaves_per_pod: Divisor,
    spines_per_pod: Divisor,
    /// Parallel cables between a leaf and a spine.
    leaf_cables: Divisor,
    /// 0 with two levels.
    uplinks_per_spine: u32,
    cores_per_plane: Divisor,
    /// Parallel cables between a spine and a core.
    core_cables: Divisor,
    /// Uplinks of a leaf times cores of a plane.
    core_span: Divisor,
}

/// What a router number means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Leaf { pod: u32, leaf: u32 },
    Spine { pod: u32, spine: u32 },
    Core { plane: u32, core: u32 },
}

impl FatTree {
    fn read(section: &Section) -> Result<FatTree, Error> {
        let radix = read_radix(section)?;
        let levels = section.or("levels", 3u32)?;
        if !(2..=3).contains(&levels) {
            return Err(section.error("levels", format!("{levels} levels; expected 2 or 3")));
        }
        let (hosts_per_leaf, uplinks_per_leaf) = read_leaf(section, radix)?;
        let leaves = read_breadth(section, "leaves", levels == 2, radix)?;
        let pods = read_breadth(section, "pods", levels == 3, radix)?;
        let (pods, leaves_per_pod, uplinks_per_spine) = match levels {
            2 => (1, leaves, 0),
            _ => (pods, radix / 2, radix / 2),
        };
        let leaf_cables = most_cables(uplinks_per_leaf, leaves_per_pod, radix - uplinks_per_spine);
        let spines_per_pod = uplinks_per_leaf / leaf_cables;
        let core_cables = most_cables(uplinks_per_spine, pods, radix);
        let cores_per_plane = uplinks_per_spine / core_cables;
        let leaves = count(section, "radix", "leaves", &[pods, leaves_per_pod])?;
        let spines = count(section, "radix", "spines", &[pods, spines_per_pod])?;
        let cores = count(section, "radix", "cores", &[spines_per_pod, cores_per_plane])?;
        let all = u64::from(leaves) + u64::from(spines) + u64::from(cores);
        let too_many = || section.error("radix", format!("{all} routers are too many"));
        Ok(FatTree {
            levels,
            radix: radix as u16,
            hosts: count(section, "radix", "hosts", &[leaves, hosts_per_leaf])?,
            routers: u32::try_from(all).map_err(|_| too_many())?,
            first_spine: leaves,
            first_core: leaves + spines,
            pods: Divisor::new(pods),
            hosts_per_leaf: Divisor::new(hosts_per_leaf),
            uplinks_per_leaf,
            leaves_per_pod: Divisor::new(leaves_per_pod),
            spines_per_pod: Divisor::new(spines_per_pod),
            leaf_cables: Divisor::new(leaf_cables),
            uplinks_per_spine,
            cores_per_plane: Divisor::new(cores_per_plane.max(1)),
            core_cables: Divisor::new(core_cables),
            core_span: Divisor::new(uplinks_per_leaf * cores_per_plane.max(1)),
        })
    }

    fn place(&self, router: RouterId) -> Place {
        if router.0 < self.first_spine {
            let (pod, leaf) = self.leaves_per_pod.divide(router.0);
            Place::Leaf { pod, leaf }
        } else if router.0 < self.first_core {
            let (pod, spine) = self.spines_per_pod.divide(router.0 - self.first_spine);
            Place::Spine { pod, spine }
        } else {
            let (plane, core) = self.cores_per_plane.divide(router.0 - self.first_core);
            Place::Core { plane, core }
        }
    }

    fn router(&self, place: Place) -> RouterId {
        RouterId(match place {
            Place::Leaf { pod, leaf } => pod * self.leaves_per_pod.get() + leaf,
            Place::Spine { pod, spine } => self.first_spine + pod * self.spines_per_pod.get() + spine,
            Place::Core { plane, core } => self.first_core + plane * self.cores_per_plane.get() + core,
        })
    }

    /// Downward ports of a router.
    fn down_ports(&self, place: Place) -> u32 {
        match place {
            Place::Leaf { .. } => self.hosts_per_leaf.get(),
            Place::Spine { .. } => self.leaf_cables.get() * self.leaves_per_pod.get(),
            Place::Core { .. } => self.core_cables.get() * self.pods.get(),
        }
    }

    /// Upward ports of a router.
    fn uplinks(&self, place: Place) -> u32 {
        match place {
            Place::Leaf { .. } => self.uplinks_per_leaf,
            Place::Spine { .. } => self.uplinks_per_spine,
            Place::Core { .. } => 0,
        }
    }

    /// The router below a spine or core at a downward port, and its upward port.
    fn below(&self, place: Place, port: u32) -> (Place, u32) {
        match place {
            Place::Leaf { .. } => unreachable!("hosts are below a leaf"),
            Place::Spine { pod, spine } => {
                let (cable, leaf) = self.leaves_per_pod.divide(port);
                (
                    Place::Leaf { pod, leaf },
                    cable * self.spines_per_pod.get() + spine,
                )
            }
            Place::Core { plane, core } => {
                let (cable, pod) = self.pods.divide(port);
                let spine = plane;
                (
                    Place::Spine { pod, spine },
                    cable * self.cores_per_plane.get() + core,
                )
            }
        }
    }

    /// The router above at an uplink, and its downward port.
    fn above(&self, place: Place, uplink: u32) -> (Place, u32) {
        match place {
            Place::Leaf { pod, leaf } => {
                let (cable, spine) = self.spines_per_pod.divide(uplink);
                (
                    Place::Spine { pod, spine },
                    cable * self.leaves_per_pod.get() + leaf,
                )
            }
            Place::Spine { pod, spine } => {
                let (cable, core) = self.cores_per_plane.divide(uplink);
                let plane = spine;
                (Place::Core { plane, core }, cable * self.pods.get() + pod)
            }
            Place::Core { .. } => unreachable!("nothing is above a core"),
        }
    }
}

fn read_radix(section: &Section) -> Result<u32, Error> {
    let radix = positive(section, "radix", None)?;
    if !radix.is_multiple_of(2) {
        return Err(section.error(
            "radix",
            format!("{radix} is odd; expected an even number of ports"),
        ));
    }
    if radix > u32::from(u16::MAX) {
        return Err(section.error(
            "radix",
            format!("{radix} ports are too many; expected at most {}", u16::MAX - 1),
        ));
    }
    Ok(radix)
}

/// Hosts and uplinks of a leaf.
fn read_leaf(section: &Section, radix: u32) -> Result<(u32, u32), Error> {
    let hosts = section.optional::<u32>("hosts_per_leaf")?;
    let uplinks = section.optional::<u32>("uplinks_per_leaf")?;
    let (hosts, uplinks) = match (hosts, uplinks) {
        (None, None) => return read_tapering(section, radix),
        (Some(hosts), Some(uplinks)) => (hosts, uplinks),
        (Some(_), None) => return Err(section.error("hosts_per_leaf", "needs uplinks_per_leaf beside it")),
        (None, Some(_)) => return Err(section.error("uplinks_per_leaf", "needs hosts_per_leaf beside it")),
    };
    if section.optional::<String>("tapering")?.is_some() {
        return Err(section.error(
            "tapering",
            "is given already by hosts_per_leaf and uplinks_per_leaf; expected one or the other",
        ));
    }
    for (key, value) in [("hosts_per_leaf", hosts), ("uplinks_per_leaf", uplinks)] {
        crate::size::nonzero(section, key, value)?;
    }
    if u64::from(hosts) + u64::from(uplinks) > u64::from(radix) {
        return Err(section.error(
            "hosts_per_leaf",
            format!("{hosts} hosts and {uplinks} uplinks do not fit a leaf of {radix} ports"),
        ));
    }
    Ok((hosts, uplinks))
}

fn read_tapering(section: &Section, radix: u32) -> Result<(u32, u32), Error> {
    let text = section.or("tapering", "1:1".to_string())?;
    let number = |part: &str| part.trim().parse::<u32>().ok().filter(|n| *n > 0);
    let ratio = text
        .split_once(':')
        .and_then(|(hosts, uplinks)| Some((number(hosts)?, number(uplinks)?)));
    let Some((hosts, uplinks)) = ratio else {
        return Err(section.error(
            "tapering",
            format!(
                "\"{text}\" is not hosts : uplinks of a leaf; expected two whole numbers such as \"2:1\""
            ),
        ));
    };
    let common = greatest_common_divisor(hosts, uplinks);
    let (hosts, uplinks) = (hosts / common, uplinks / common);
    let parts = u64::from(hosts) + u64::from(uplinks);
    match u32::try_from(u64::from(radix) / parts) {
        Ok(times @ 1..) => Ok((hosts * times, uplinks * times)),
        _ => Err(section.error(
            "tapering",
            format!("{hosts}:{uplinks} needs at least {parts} ports on a leaf; the radix is {radix}"),
        )),
    }
}

/// Number of leaves or pods: `key` belongs to this tree only if `applies`.
fn read_breadth(section: &Section, key: &str, applies: bool, radix: u32) -> Result<u32, Error> {
    if !applies {
        return match section.optional::<u32>(key)? {
            None => Ok(0),
            Some(_) => Err(section.error(
                key,
                if key == "leaves" {
                    "is for two levels; a tree of three levels is made smaller with pods"
                } else {
                    "is for three levels; a tree of two levels is made smaller with leaves"
                },
            )),
        };
    }
    let breadth = positive(section, key, Some(radix))?;
    if breadth > radix {
        return Err(section.error(
            key,
            format!(
                "{breadth} {key} cannot all be linked by routers of {radix} ports; expected 1 to {radix}"
            ),
        ));
    }
    Ok(breadth)
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// The most parallel cables from each of `below` routers to each router above: they divide the uplinks
/// evenly and fit its `ports` towards them.
fn most_cables(uplinks: u32, below: u32, ports: u32) -> u32 {
    (1..=ports / below)
        .rev()
        .find(|cables| uplinks.is_multiple_of(*cables))
        .unwrap_or(1)
        .min(uplinks.max(1))
}

impl Topology for FatTree {
    fn hosts(&self) -> u32 {
        self.hosts
    }

    fn routers(&self) -> u32 {
        self.routers
    }

    fn ports(&self, _: RouterId) -> u16 {
        self.radix
    }

    fn peer(&self, router: RouterId, port: Port) -> Peer {
        let (place, port) = (self.place(router), u32::from(port.0));
        let down = self.down_ports(place);
        if port >= down {
            let uplink = port - down;
            if uplink >= self.uplinks(place) {
                return Peer::Unwired;
            }
            let (above, port) = self.above(place, uplink);
            return Peer::Router(self.router(above), Port(port as u16));
        }
        if matches!(place, Place::Leaf { .. }) {
            return Peer::Host(HostId(router.0 * self.hosts_per_leaf.get() + port));
        }
        let (below, uplink) = self.below(place, port);
        let port = self.down_ports(below) + uplink;
        Peer::Router(self.router(below), Port(port as u16))
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        let (leaf, port) = self.hosts_per_leaf.divide(host.0);
        (RouterId(leaf), Port(port as u16))
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        use Place::{Core, Leaf, Spine};
        if from == to {
            return 0;
        }
        match (self.place(from), self.place(to)) {
            (Leaf { pod: a, .. }, Leaf { pod: b, .. }) => 2 + 2 * u32::from(a != b),
            (Leaf { pod: a, .. }, Spine { pod: b, .. }) | (Spine { pod: a, .. }, Leaf { pod: b, .. }) => {
                1 + 2 * u32::from(a != b)
            }
            (Leaf { .. }, Core { .. }) | (Core { .. }, Leaf { .. }) => 2,
            (Spine { pod: a, spine: s }, Spine { pod: b, spine: t }) => 2 + 2 * u32::from(a != b && s != t),
            (Spine { spine: s, .. }, Core { plane: t, .. })
            | (Core { plane: s, .. }, Spine { spine: t, .. }) => 1 + 2 * u32::from(s != t),
            (Core { plane: s, .. }, Core { plane: t, .. }) => 2 + 2 * u32::from(s != t),
        }
    }

    fn link_classes(&self) -> &'static [&'static str] {
        match self.levels {
            2 => &["host", "leaf-spine"],
            _ => &["host", "leaf-spine", "spine-core"],
        }
    }

    fn link_class(&self, router: RouterId, port: Port) -> LinkClass {
        let place = self.place(router);
        let up = u32::from(port.0) >= self.down_ports(place);
        match (place, up) {
            (Place::Leaf { .. }, false) => HOST_LINK,
            (Place::Leaf { .. }, true) | (Place::Spine { .. }, false) => LinkClass(1),
            // An unwired port of a two-level tree's spine: any class that exists.
            (Place::Spine { .. }, true) if self.levels == 2 => LinkClass(1),
            (Place::Spine { .. }, true) | (Place::Core { .. }, _) => LinkClass(2),
        }
    }

    fn coordinates(&self, router: RouterId) -> String {
        match (self.levels, self.place(router)) {
            (2, Place::Leaf { leaf, .. }) => format!("leaf {leaf}"),
            (2, Place::Spine { spine, .. }) => format!("spine {spine}"),
            (_, Place::Leaf { pod, leaf }) => format!("pod {pod}, leaf {leaf}"),
            (_, Place::Spine { pod, spine }) => format!("pod {pod}, spine {spine}"),
            (_, Place::Core { plane, core }) => format!("plane {plane}, core {core}"),
        }
    }

    fn describe(&self) -> String {
        let (leaves, spines) = (self.leaves_per_pod.get(), self.spines_per_pod.get());
        let (hosts, uplinks) = (self.hosts_per_leaf.get(), self.uplinks_per_leaf);
        let mut text = match self.levels {
            2 => format!("fat tree of {leaves} leaves and {spines} spines"),
            _ => format!(
                "fat tree of {} pods of {leaves} leaves and {spines} spines, {} cores",
                self.pods.get(),
                self.routers - self.first_core
            ),
        };
        text += &format!(
            ", {hosts} hosts and {uplinks} uplinks per leaf, radix {}",
            self.radix
        );
        for (cables, between) in [(self.leaf_cables, "leaf-spine"), (self.core_cables, "spine-core")] {
            if cables.get() > 1 {
                text += &format!(", {} parallel {between} links", cables.get());
            }
        }
        text
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Tree(self)
    }

    fn router_links(&self) -> u64 {
        let spines = self.first_core - self.first_spine;
        let leaf_spine = u64::from(self.first_spine) * u64::from(self.uplinks_per_leaf);
        let spine_core = u64::from(spines) * u64::from(self.uplinks_per_spine);
        2 * (leaf_spine + spine_core)
    }
}

impl Tree for FatTree {
    fn levels(&self) -> u32 {
        self.levels
    }

    fn level(&self, router: RouterId) -> u32 {
        u32::from(router.0 >= self.first_spine) + u32::from(router.0 >= self.first_core)
    }

    fn up_ports(&self, router: RouterId) -> Range<u16> {
        // Which leaf, spine or core it is does not matter, so nothing is divided here.
        let (down, up) = match self.level(router) {
            0 => (self.hosts_per_leaf.get(), self.uplinks_per_leaf),
            1 => (
                self.leaf_cables.get() * self.leaves_per_pod.get(),
                self.uplinks_per_spine,
            ),
            _ => (self.core_cables.get() * self.pods.get(), 0),
        };
        down as u16..(down + up) as u16
    }

    /// Of parallel cables the host's number picks one, in the same way as destination-mod-k routing picks
    /// uplinks, so that hosts that it keeps apart on the way up stay apart on the way down.
    fn down_port(&self, router: RouterId, host: HostId) -> Option<Port> {
        let (leaf, port) = self.hosts_per_leaf.divide(host.0);
        if router.0 < self.first_spine {
            return (router.0 == leaf).then_some(Port(port as u16));
        }
        let (pod, leaf) = self.leaves_per_pod.divide(leaf);
        if router.0 < self.first_core {
            let own_pod = self.spines_per_pod.quotient(router.0 - self.first_spine);
            let cable = self.leaf_cables.remainder(self.spines_per_pod.quotient(host.0));
            return (own_pod == pod).then_some(Port((cable * self.leaves_per_pod.get() + leaf) as u16));
        }
        let cable = self.core_cables.remainder(self.core_span.quotient(host.0));
        Some(Port((cable * self.pods.get() + pod) as u16))
    }
}
