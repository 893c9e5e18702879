//! Hosts with several NIC ports: rails, and their planes.
//!
//! Topology and routing know end points only. Each end point is one NIC port. This module knows the end points of each
//! host. With `q` rails of each host in every plane, rail `k` of a host is its port `k / planes` in plane
//! `k mod planes`. Within a plane,
//!
//! - `adjacent`: the ports of a host have consecutive numbers. Host `h` has the end points `h * q .. (h + 1) * q`.
//! - `spread`: the ports of a host are at different routers. With `L` end points on every router that has any, a block
//!   has `L` hosts and `q` routers. Port `i` of host `h` is end point `(h / L) * L * q + i * L + h mod L`, so that the
//!   same port of all hosts of a block is at one router ("rail-optimised", as described by W. Wang et al., "Rail-only:
//!   A low-cost high-performance network for training LLMs with trillion parameters", HOTI 2024).
//!
//! End point `e` of plane `k` is end point `e * planes + k` of all planes, as [`topology::Planes`] numbers them.
//!
//! A packet arrives at the rail with the number of the rail that sent it, since both are in the same plane. With
//! `by-rank` it arrives at the rail of its receiver, or at its neighbour in the plane of the sender's.

use config::{Bytes, Error, Parameter, Section, Type, parameters};
use topology::{Divisor, HostId, Topology, pick};

/// Largest number of rails of a host.
pub const MAX_RAILS: usize = 64;

/// Keys of `[network]` about rails and planes.
pub const PARAMETERS: &[Parameter] = parameters! {
    integer("rails", 1, "NIC ports of each host, 1 to 64, a multiple of planes");
    integer("planes", 1, "disjoint copies of the topology");
    choice("rail_arrangement", &["adjacent", "spread"], "position of a host's ports in their plane");
    choice("rail_choice", &["round-robin", "least-loaded", "by-destination", "by-rank"], "how the NIC selects a rail");
    computed("rail_per", Type::Choice(RAIL_UNITS), "stripe, or message with by-destination and by-rank",
        "what it selects a rail for");
    size("rail_stripe_threshold", "16 KiB", "with stripe, messages of at least this size use all rails");
};

/// Values of `rail_per`.
const RAIL_UNITS: &[&str] = &["stripe", "message", "packet"];

/// One NIC port of a host. Topology, routing and packets call it a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndPoint(pub HostId);

/// The NIC ports of the hosts, and how hosts choose among them.
#[derive(Clone, Copy, Debug)]
pub struct Rails {
    hosts: u32,
    /// Ports of a host.
    count: Divisor,
    planes: Divisor,
    /// Ports of a host in each plane.
    in_plane: Divisor,
    arrangement: Arrangement,
    choice: RailChoice,
    unit: RailUnit,
}

/// Positions of the ports of a host in their plane.
#[derive(Clone, Copy, Debug)]
enum Arrangement {
    Adjacent,
    /// At different routers, with this number of end points on each router.
    Spread(Divisor),
}

/// The choice of a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RailChoice {
    /// Each rail in turn.
    RoundRobin,
    /// The one with the fewest bytes to send.
    LeastLoaded,
    /// The same rail for all messages between two hosts.
    ByDestination,
    /// The rail of the rank.
    ByRank,
}

/// The place of a rank among the ranks of its job on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceOnHost {
    /// Position, from 0.
    pub position: u32,
    /// Number of ranks of the job on the host.
    pub of: u32,
}

/// The unit for which a rail is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RailUnit {
    /// Each message.
    Message,
    /// Each packet of a message, at the time the NIC receives the message.
    Packet,
    /// Each packet of a message of at least this number of bytes, and each smaller message.
    Stripe(u64),
}

impl Rails {
    /// Reads the number of planes (`planes`), before the planes are built.
    ///
    /// # Errors
    /// The number is 0.
    pub fn read_planes(section: &Section) -> Result<u32, Error> {
        match section.declare(PARAMETERS).get("planes")? {
            0 => Err(section.error("planes", "0 is not possible; expected at least 1")),
            planes => Ok(planes),
        }
    }

    /// Reads the other keys, for planes of this kind.
    ///
    /// # Errors
    /// Ports that cannot be divided evenly among planes or hosts, unknown names.
    pub fn read(section: &Section, plane: &dyn Topology, planes: u32) -> Result<Rails, Error> {
        let count: u32 = section.declare(PARAMETERS).get("rails")?;
        if !(1..=MAX_RAILS as u32).contains(&count) {
            let message = format!("{count} is out of range; expected 1 to {MAX_RAILS}");
            return Err(section.error("rails", message));
        }
        if !count.is_multiple_of(planes) {
            let message = format!(
                "{count} {} of a host cannot be shared out evenly among {planes} planes; expected a multiple of {planes}",
                if count == 1 { "rail" } else { "rails" }
            );
            return Err(section.error("rails", message));
        }
        let in_plane = count / planes;
        let end_points = plane.hosts();
        if !end_points.is_multiple_of(in_plane) {
            let message = format!(
                "{end_points} end points cannot be shared out evenly among hosts with {in_plane} ports each in this {}",
                plane.describe()
            );
            return Err(section.error("rails", message));
        }
        let arrangement = Arrangement::read(section, plane, in_plane)?;
        let (choice, unit) = read_choice(section)?;
        Ok(Rails {
            hosts: end_points / in_plane,
            count: Divisor::new(count),
            planes: Divisor::new(planes),
            in_plane: Divisor::new(in_plane),
            arrangement,
            choice,
            unit,
        })
    }

    /// Number of hosts.
    #[inline]
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Rails of each host.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count.get()
    }

    /// Number of planes.
    #[inline]
    pub fn planes(&self) -> u32 {
        self.planes.get()
    }

    /// The choice of a rail.
    #[inline]
    pub fn choice(&self) -> RailChoice {
        self.choice
    }

    /// Size of the parts in which a message of `bytes` is divided among rails.
    #[inline]
    pub fn unit(&self, bytes: u64, packet: u32) -> u64 {
        match self.unit {
            RailUnit::Message => bytes,
            RailUnit::Stripe(threshold) if bytes < threshold => bytes,
            RailUnit::Packet | RailUnit::Stripe(_) => u64::from(packet),
        }
    }

    /// Number of rails that carry parts of a message of this size.
    #[inline]
    pub fn used_by(&self, bytes: u64, packet: u32) -> u64 {
        match self.count() {
            1 => 1,
            rails => bytes.div_ceil(self.unit(bytes, packet)).clamp(1, rails.into()),
        }
    }

    /// The end point of a rail of a host.
    #[inline]
    pub fn end_point(&self, host: HostId, rail: u32) -> EndPoint {
        let number = match self.arrangement {
            Arrangement::Adjacent => host.0 * self.count() + rail,
            Arrangement::Spread(per_router) => {
                let (port, plane) = self.planes.divide(rail);
                let (block, within) = per_router.divide(host.0);
                let router = block * self.in_plane.get() + port;
                (router * per_router.get() + within) * self.planes() + plane
            }
        };
        EndPoint(HostId(number))
    }

    /// Host and rail of an end point.
    #[inline]
    pub fn host_and_rail(&self, end_point: EndPoint) -> (HostId, u32) {
        let number = end_point.0.0;
        match self.arrangement {
            Arrangement::Adjacent => {
                let (host, rail) = self.count.divide(number);
                (HostId(host), rail)
            }
            Arrangement::Spread(per_router) => {
                let (in_plane, plane) = self.planes.divide(number);
                let (router, within) = per_router.divide(in_plane);
                let (block, port) = self.in_plane.divide(router);
                let rail = port * self.planes() + plane;
                (HostId(block * per_router.get() + within), rail)
            }
        }
    }

    /// The first port of a host, in the numbers of its plane.
    pub fn first_in_plane(&self, host: HostId) -> HostId {
        HostId(self.planes.quotient(self.end_point(host, 0).0.0))
    }

    /// The host whose first port this is, in the numbers of its plane; `None` for other ports.
    pub fn host_of_first(&self, in_plane: HostId) -> Option<HostId> {
        let (host, rail) = self.host_and_rail(EndPoint(HostId(in_plane.0 * self.planes())));
        (rail == 0).then_some(host)
    }

    /// The host of an end point.
    #[inline]
    pub fn host(&self, end_point: EndPoint) -> HostId {
        if self.count() == 1 {
            return end_point.0;
        }
        self.host_and_rail(end_point).0
    }

    /// The rail of all messages from one host to another.
    ///
    /// Both hosts determine it, so that a host that receives from many uses all of its rails. Routing spreads packets
    /// by the same function of sender and receiver. The arguments are swapped here, so that the packets of one rail do
    /// not share paths for that reason.
    #[inline]
    pub fn by_destination(&self, from: HostId, to: HostId) -> u32 {
        pick(routing::spread(to.0, from.0), self.count()).0
    }

    /// The rail of a rank: consecutive ranks share one, and all rails have the same number of ranks, the last ones
    /// perhaps fewer. This is the policy BLOCK of Cray OpenSHMEMX (its manual page, `SHMEM_OFI_NIC_POLICY`), and of HPE
    /// Cray MPI.
    #[inline]
    pub fn of_rank(&self, rank: PlaceOnHost) -> u32 {
        rank.position / rank.of.div_ceil(self.count())
    }

    /// The rails by which a message leaves its sender and reaches its receiver. A rail reaches only those of its plane,
    /// so it arrives at one beside that of the receiver, if that is in another plane.
    #[inline]
    pub fn between_ranks(&self, sender: PlaceOnHost, receiver: PlaceOnHost) -> (u32, u32) {
        let (from, to) = (self.of_rank(sender), self.of_rank(receiver));
        let in_plane = self.planes.divide(to).0 * self.planes() + self.planes.divide(from).1;
        (from, in_plane)
    }
}

impl Arrangement {
    fn read(section: &Section, plane: &dyn Topology, in_plane: u32) -> Result<Arrangement, Error> {
        match section.choice("rail_arrangement")? {
            "spread" => spread_over(plane, in_plane)
                .map(|per_router| Arrangement::Spread(Divisor::new(per_router)))
                .map_err(|why| section.error("rail_arrangement", format!("rails cannot be spread: {why}"))),
            _ => Ok(Arrangement::Adjacent),
        }
    }
}

fn read_choice(section: &Section) -> Result<(RailChoice, RailUnit), Error> {
    let choice = match section.choice("rail_choice")? {
        "least-loaded" => RailChoice::LeastLoaded,
        "by-destination" => RailChoice::ByDestination,
        "by-rank" => RailChoice::ByRank,
        _ => RailChoice::RoundRobin,
    };
    let default = match choice {
        RailChoice::ByDestination | RailChoice::ByRank => "message",
        RailChoice::RoundRobin | RailChoice::LeastLoaded => "stripe",
    };
    let threshold: Bytes = section.get("rail_stripe_threshold")?;
    let unit = match section.choice_or("rail_per", default, RAIL_UNITS)? {
        "packet" => RailUnit::Packet,
        "message" => RailUnit::Message,
        _ => RailUnit::Stripe(threshold.bytes),
    };
    if choice == RailChoice::ByDestination && unit != RailUnit::Message {
        let message = "the packets of a message have one destination, so by-destination chooses one rail for all \
                       of them; expected message";
        return Err(section.error("rail_per", message));
    }
    if choice == RailChoice::ByRank && unit != RailUnit::Message {
        let message = "all messages of a rank leave by its rail with by-rank; expected message";
        return Err(section.error("rail_per", message));
    }
    Ok((choice, unit))
}

/// Number of end points of each router that has any, if the ports of a host can be at different routers.
fn spread_over(plane: &dyn Topology, ports: u32) -> Result<u32, String> {
    let router = |end_point| plane.attachment(HostId(end_point)).0;
    let end_points = plane.hosts();
    let per_router = (1..end_points)
        .find(|end_point| router(*end_point) != router(0))
        .unwrap_or(end_points);
    let is_border = |end_point| router(end_point) != router(end_point - 1);
    if (1..end_points).any(|e| is_border(e) != e.is_multiple_of(per_router))
        || !end_points.is_multiple_of(per_router)
    {
        return Err(format!(
            "not all routers of this {} have as many end points",
            plane.describe()
        ));
    }
    let routers = end_points / per_router;
    if !routers.is_multiple_of(ports) {
        return Err(format!(
            "{routers} routers with end points cannot be divided into blocks of {ports}, one for each port of a host \
             in a plane"
        ));
    }
    Ok(per_router)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Arc;
    use topology::{Planes, RouterId};

    fn plane(toml: &str) -> Arc<dyn Topology> {
        topology::build(&Section::from_toml(toml, "x.toml").unwrap())
            .unwrap()
            .into()
    }

    /// A torus of 12 routers with 4 end points each.
    const TORUS: &str = "kind = \"torus\"\nsizes = [4, 3]\nhosts_per_router = 4";

    fn read(plane: &dyn Topology, keys: &str) -> Result<Rails, Error> {
        let section = Section::from_toml(keys, "x.toml").unwrap();
        let planes = Rails::read_planes(&section)?;
        Rails::read(&section, plane, planes)
    }

    #[test]
    fn ports_and_hosts_are_found_from_each_other() {
        let torus = plane(TORUS);
        for (rails, planes) in [(1, 1), (2, 1), (2, 2), (4, 2), (6, 2), (8, 4), (12, 1)] {
            for arrangement in ["adjacent", "spread"] {
                let keys =
                    format!("rails = {rails}\nplanes = {planes}\nrail_arrangement = \"{arrangement}\"\n");
                let found = read(&*torus, &keys).unwrap_or_else(|e| panic!("{e}"));
                let all = Planes::new(torus.clone(), planes).unwrap();
                assert_eq!(found.hosts() * rails, all.hosts(), "{keys}");
                let mut seen = HashSet::new();
                for host in (0..found.hosts()).map(HostId) {
                    let first = found.first_in_plane(host);
                    assert_eq!(
                        all.attachment(found.end_point(host, 0).0).0.0,
                        planes * torus.attachment(first).0.0
                    );
                    assert_eq!(found.host_of_first(first), Some(host));
                    for rail in 0..rails {
                        let end_point = found.end_point(host, rail);
                        assert!(end_point.0.0 < all.hosts());
                        assert!(seen.insert(end_point.0), "{end_point:?} has two hosts");
                        assert_eq!(found.host_and_rail(end_point), (host, rail));
                        assert_eq!(found.host(end_point), host);
                        // A rail belongs to a plane.
                        assert_eq!(end_point.0.0 % planes, rail % planes, "{keys}");
                    }
                }
            }
        }
    }

    /// The routers, in their planes, of the ports of a host.
    fn routers(rails: &Rails, plane: &dyn Topology, host: u32) -> Vec<u32> {
        let router = |rail| {
            let end_point = rails.end_point(HostId(host), rail).0.0 / rails.planes();
            plane.attachment(HostId(end_point)).0.0
        };
        (0..rails.count()).map(router).collect()
    }

    #[test]
    fn adjacent_ports_share_a_router_and_spread_ones_do_not() {
        let torus = plane(TORUS);
        let adjacent = read(&*torus, "rails = 2").unwrap();
        assert_eq!(routers(&adjacent, &*torus, 0), [0, 0]);
        assert_eq!(routers(&adjacent, &*torus, 3), [1, 1]);
        let spread = read(&*torus, "rails = 2\nrail_arrangement = \"spread\"").unwrap();
        for host in 0..4 {
            assert_eq!(
                routers(&spread, &*torus, host),
                [0, 1],
                "rail by rail at one router"
            );
        }
        assert_eq!(routers(&spread, &*torus, 4), [2, 3]);
        let both = read(&*torus, "rails = 4\nplanes = 2\nrail_arrangement = \"spread\"").unwrap();
        assert_eq!(
            routers(&both, &*torus, 1),
            [0, 0, 1, 1],
            "two ports in each of two planes"
        );
    }

    #[test]
    fn destinations_use_all_rails_of_a_sender_and_senders_all_of_a_receiver() {
        let torus = plane("kind = \"torus\"\nsizes = [10, 10]\nhosts_per_router = 4");
        let rails = read(&*torus, "rails = 4\nrail_choice = \"by-destination\"").unwrap();
        assert_eq!(rails.hosts(), 100);
        for host in (0..100).map(HostId) {
            let (mut to, mut from) = ([0; 4], [0; 4]);
            for other in (0..100).map(HostId).filter(|other| *other != host) {
                to[rails.by_destination(host, other) as usize] += 1;
                from[rails.by_destination(other, host) as usize] += 1;
            }
            // 25 of 99 are expected; the standard deviation is 4.3.
            assert!(
                to.iter().chain(&from).all(|count| (5..45).contains(count)),
                "{to:?} {from:?}"
            );
        }
    }

    #[test]
    fn ranks_share_rails_in_blocks() {
        let torus = plane("kind = \"torus\"\nsizes = [10, 10]\nhosts_per_router = 4");
        let rails = read(&*torus, "rails = 4\nrail_choice = \"by-rank\"").unwrap();
        let place = |position, of| PlaceOnHost { position, of };
        let of =
            |ranks: u32| -> Vec<u32> { (0..ranks).map(|rank| rails.of_rank(place(rank, ranks))).collect() };
        assert_eq!(of(1), [0]);
        assert_eq!(of(3), [0, 1, 2]);
        assert_eq!(of(8), [0, 0, 1, 1, 2, 2, 3, 3]);
        // The example of the manual page of Cray OpenSHMEMX.
        let of_22 = of(22);
        let counts: Vec<usize> = (0..4)
            .map(|rail| of_22.iter().filter(|of| **of == rail).count())
            .collect();
        assert_eq!(counts, [6, 6, 6, 4]);
        assert_eq!(rails.between_ranks(place(1, 4), place(2, 4)), (1, 2));
        let planes = read(&*torus, "rails = 4\nplanes = 2\nrail_choice = \"by-rank\"").unwrap();
        for (from, to, arrives) in [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 2, 3), (2, 3, 2), (3, 3, 3)] {
            assert_eq!(
                planes.between_ranks(place(from, 4), place(to, 4)),
                (from, arrives)
            );
        }
    }

    #[test]
    fn what_cannot_be_shared_out_is_refused() {
        let torus = plane(TORUS);
        let tree = plane("kind = \"fat-tree\"\nradix = 6\nlevels = 2\nleaves = 5");
        for (topology, keys, expected) in [
            (&torus, "planes = 0", "planes: 0 is not possible"),
            (&torus, "rails = 0", "rails: 0 is out of range; expected 1 to 64"),
            (
                &torus,
                "rails = 65",
                "rails: 65 is out of range; expected 1 to 64",
            ),
            (
                &torus,
                "planes = 2",
                "rails: 1 rail of a host cannot be shared out evenly among 2 planes; expected a multiple of 2",
            ),
            (
                &torus,
                "rails = 3\nplanes = 2",
                "rails: 3 rails of a host cannot be shared out evenly among 2 planes",
            ),
            (
                &torus,
                "rails = 5",
                "rails: 48 end points cannot be shared out evenly among hosts with 5 ports each in this torus of 4 x 3",
            ),
            (
                &tree,
                "rails = 3\nrail_arrangement = \"spread\"",
                "rail_arrangement: rails cannot be spread: 5 routers with end points cannot be divided into blocks of 3",
            ),
            (
                &torus,
                "rails = 2\nrail_arrangement = \"spred\"",
                "did you mean 'spread'?",
            ),
            (
                &torus,
                "rails = 2\nrail_choice = \"least-load\"",
                "did you mean 'least-loaded'?",
            ),
            (
                &torus,
                "rails = 2\nrail_choice = \"by-destination\"\nrail_per = \"packet\"",
                "rail_per: the packets of a message have one destination",
            ),
            (
                &torus,
                "rails = 2\nrail_choice = \"by-rank\"\nrail_per = \"stripe\"",
                "rail_per: all messages of a rank leave by its rail",
            ),
        ] {
            let error = read(&**topology, keys).unwrap_err().to_string();
            assert!(error.contains(expected), "{keys}: {error}");
        }
    }

    /// A topology whose second router has no end points.
    #[test]
    fn blocks_count_routers_with_end_points_only() {
        let tree = plane("kind = \"fat-tree\"\nradix = 8\nlevels = 2\nleaves = 4");
        let rails = read(&*tree, "rails = 4\nrail_arrangement = \"spread\"").unwrap();
        assert_eq!(
            routers(&rails, &*tree, 0)
                .into_iter()
                .collect::<HashSet<_>>()
                .len(),
            4
        );
        let leaves: Vec<RouterId> = (0..tree.hosts()).map(|e| tree.attachment(HostId(e)).0).collect();
        assert!(
            routers(&rails, &*tree, 2)
                .iter()
                .all(|router| leaves.contains(&RouterId(*router)))
        );
    }
}
