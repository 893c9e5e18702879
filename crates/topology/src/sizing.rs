//! Sizing: the parameters of the smallest network of a kind that has enough end points, of routers with few enough
//! ports. Each topology has its own rule in its file; this file asks it and names contradictions.

use config::{Error, OneOrEach, Section, Setting, Value};

use crate::registry::kind_of;

/// The key of `[network]` with the number of hosts.
pub const HOSTS: &str = "hosts";
/// The key of `[network]` with the greatest number of ports of a router.
pub const RADIX: &str = "radix";

/// Parameters that a rule chooses, in the order in which people name them.
pub type ChosenParameters = Vec<(&'static str, OneOrEach)>;

/// How a kind of topology is sized.
#[derive(Clone, Copy)]
pub struct SizingRule {
    /// What it chooses and why, with its source, in one line.
    pub summary: &'static str,
    /// Parameters that the rule chooses or that exclude these. An experiment gives none of them, or the chosen values.
    /// All others are the user's, and the rule may read them.
    pub determines: &'static [&'static str],
    /// Chooses the parameters of the smallest network with at least `end_points` end points (at least 1) and at most
    /// `radix` ports of every router. `None` if the radix is too small, of which a greater one is never.
    pub choose: fn(&Section, end_points: u64, radix: u32) -> Result<Option<ChosenParameters>, Error>,
}

/// Chooses the parameters of the topology that `topology` (`network.topology`) names, for at least `end_points` end
/// points of routers of at most `radix` ports. Errors about these numbers name keys of `network`.
///
/// # Errors
/// An unknown kind, one that has no rule, a radix that is too small, or given parameters that contradict the chosen
/// ones.
pub fn size(
    network: &Section,
    topology: &Section,
    end_points: u64,
    radix: u32,
) -> Result<ChosenParameters, Error> {
    let kind = kind_of(topology)?;
    let Some(rule) = kind.sizing else {
        let message = format!(
            "a topology '{}' has the hosts of its own parameters; expected no network.{HOSTS} and network.{RADIX}, or \
             another topology",
            kind.name
        );
        return Err(network.error(HOSTS, message));
    };
    topology.declare(kind.parameters);
    // No router has more ports, so that a greater radix adds no network to the search.
    let ports = radix.min(u32::from(u16::MAX));
    let Some(chosen) = (rule.choose)(topology, end_points, ports)? else {
        // A host of several rails is several end points.
        let is_host = network.optional::<u64>(HOSTS)? == Some(end_points);
        let message = format!(
            "routers of {radix} ports are too small for a topology '{}' of {end_points} {}: {}; expected {}",
            kind.name,
            if is_host { "hosts" } else { "NIC ports" },
            rule.summary,
            match least_radix(rule, topology, end_points, radix) {
                Some(least) => format!("at least {least}"),
                None => "fewer hosts".into(),
            }
        );
        return Err(network.error(RADIX, message));
    };
    for key in rule.determines.iter().filter(|key| topology.has(key)) {
        let of_rule = chosen
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value);
        let given = topology.optional::<Given>(key)?;
        if of_rule.is_none() || given.is_none_or(|given| Some(&given.0) != of_rule) {
            let chooses = of_rule.map_or(String::new(), |value| format!(" and choose {}", value.show()));
            let message = format!(
                "network.{HOSTS} and network.{RADIX} determine the size of the network{chooses}; expected these keys or \
                 {key}, not both"
            );
            return Err(topology.error(key, message));
        }
    }
    Ok(chosen)
}

/// The least radix for which the rule finds a network, if any is enough.
fn least_radix(rule: SizingRule, topology: &Section, end_points: u64, too_small: u32) -> Option<u32> {
    let fits = |radix: u32| matches!((rule.choose)(topology, end_points, radix), Ok(Some(_)));
    let (mut too_small, mut enough) = (too_small, too_small.max(1));
    while !fits(enough) {
        too_small = enough;
        enough = match enough {
            0..32_768 => enough * 2,
            32_768..65_535 => 65_535,
            _ => return None,
        };
    }
    while enough - too_small > 1 {
        let middle = too_small + (enough - too_small) / 2;
        match fits(middle) {
            true => enough = middle,
            false => too_small = middle,
        }
    }
    Some(enough)
}

/// A given value that may be compared with a chosen one; anything that is no number or list of numbers differs.
struct Given(OneOrEach);

impl Setting for Given {
    const EXPECTED: &'static str = OneOrEach::EXPECTED;

    fn read(value: &Value) -> Result<Self, String> {
        OneOrEach::read(value).map(Given)
    }

    fn show(&self) -> serde_json::Value {
        self.0.show()
    }
}

/// The candidate with the fewest routers; of several, the one with the fewest end points.
pub(crate) fn smallest<T>(candidates: impl Iterator<Item = (u64, u64, T)>) -> Option<T> {
    let best = candidates.min_by_key(|(routers, end_points, _)| (*routers, *end_points));
    best.map(|(_, _, parameters)| parameters)
}

/// One number for all, as a chosen value.
pub(crate) fn one(number: u64) -> OneOrEach {
    OneOrEach::One(u32::try_from(number).unwrap_or(u32::MAX))
}

/// The number of groups that have these end points, at least two: one group has no links to others.
pub(crate) fn groups_for(end_points: u64, of_group: u64) -> u64 {
    end_points.div_ceil(of_group).max(2)
}

/// The sides of the grid of `dimensions` dimensions with the fewest points of at least `points`, in ascending order.
/// The longest side is at most twice the shortest one, and the shortest is at least 2; of several, the one whose sides
/// have the smallest sum.
pub(crate) fn sides(points: u64, dimensions: usize) -> Vec<u32> {
    let root = (points as f64).powf(1.0 / dimensions as f64).ceil() as u64 + 1;
    let mut best: Option<(u64, u64, Vec<u64>)> = None;
    for shortest in (root.div_ceil(2).max(2)..=root.max(2)).rev() {
        let mut chosen = vec![shortest];
        longer_sides(points, dimensions, &mut chosen, &mut best);
    }
    let (_, _, sides) = best.expect("equal sides of the root are enough");
    sides.into_iter().map(|side| side as u32).collect()
}

/// Adds sides to the chosen ones, and keeps the best grid.
fn longer_sides(
    points: u64,
    dimensions: usize,
    chosen: &mut Vec<u64>,
    best: &mut Option<(u64, u64, Vec<u64>)>,
) {
    let product: u64 = chosen.iter().product();
    let (shortest, longest) = (chosen[0], *chosen.last().expect("one side"));
    let left = dimensions - chosen.len();
    if left == 0 {
        let sum = chosen.iter().sum();
        let is_better =
            |(others, other_sum, _): &(u64, u64, Vec<u64>)| (product, sum) < (*others, *other_sum);
        if product >= points && best.as_ref().is_none_or(is_better) {
            *best = Some((product, sum, chosen.clone()));
        }
        return;
    }
    let sides = match left {
        // The last side is the smallest one that suffices.
        1 => {
            let side = points.div_ceil(product).max(longest);
            side..=side.min(2 * shortest)
        }
        _ => longest..=2 * shortest,
    };
    for side in sides {
        // Sides only grow.
        let least = product.saturating_mul(side.saturating_pow(left as u32));
        if best.as_ref().is_some_and(|(others, _, _)| least > *others) {
            break;
        }
        chosen.push(side);
        longer_sides(points, dimensions, chosen, best);
        chosen.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Port, REGISTRY, RouterId, build};

    fn chosen(kind: &str, more: &str, hosts: u64, radix: u32) -> Result<ChosenParameters, String> {
        let text = format!("hosts = 1\nradix = 2\n[topology]\nkind = \"{kind}\"\n{more}");
        let network = Section::from_toml(&text, "x.toml").unwrap();
        size(&network, network.section("topology").unwrap(), hosts, radix).map_err(|e| e.to_string())
    }

    fn text(parameters: &ChosenParameters) -> String {
        let lines = parameters
            .iter()
            .map(|(key, value)| format!("{key} = {}", value.show()));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn grids_are_small_and_nearly_cubic() {
        for (points, dimensions, expected) in [
            (1024, 3, &[8, 8, 16][..]),
            (1000, 3, &[10, 10, 10]),
            (16, 3, &[2, 2, 4]),
            (7, 2, &[2, 4]),
            (5, 2, &[2, 3]),
            (17, 1, &[17]),
            (64, 6, &[2, 2, 2, 2, 2, 2]),
        ] {
            assert_eq!(sides(points, dimensions), expected, "{points} in {dimensions}");
        }
        for points in 2..400u64 {
            for dimensions in 1..=4usize {
                let sides = sides(points, dimensions);
                let product: u64 = sides.iter().map(|side| u64::from(*side)).product();
                assert!(product >= points && sides.is_sorted() && sides.len() == dimensions);
                assert!(sides[dimensions - 1] <= 2 * sides[0] || dimensions == 1);
            }
        }
    }

    /// The search ends at the ports that a router can have.
    #[test]
    fn a_radix_beyond_all_routers_is_that_of_the_largest_router() {
        for kind in REGISTRY.iter().filter(|kind| kind.sizing.is_some()) {
            let most = chosen(kind.name, "", 50, u32::from(u16::MAX));
            assert_eq!(chosen(kind.name, "", 50, 1 << 31), most, "{}", kind.name);
        }
    }

    /// The values of the docs: 1,024 hosts at radix 64.
    #[test]
    fn networks_of_1024_hosts_are_those_of_the_docs() {
        for (kind, expected) in [
            (
                "dragonfly",
                "hosts_per_router = 16\nrouters_per_group = 32\nglobal_links_per_router = 16\ngroups = 2",
            ),
            (
                "dragonfly-2d",
                "hosts_per_router = 4\nrows = 2\ncolumns = 6\nglobal_links_per_router = 10\ngroups = 22",
            ),
            (
                "dragonfly-plus",
                "hosts_per_leaf = 23\nleaves_per_group = 23\nspines_per_group = 23\n\
                                global_links_per_spine = 23\ngroups = 2",
            ),
            ("express-mesh", "sizes = [8,8,16]\ngap = 2"),
            ("fat-tree", "radix = 64\nlevels = 2\nleaves = 32"),
            ("hyperx", "shape = [10,11]\nhosts_per_router = 10"),
            ("mesh", "sizes = [8,8,16]"),
            ("slim-fly", "q = 9\nhosts_per_router = 7"),
            ("torus", "sizes = [8,8,16]"),
        ] {
            assert_eq!(text(&chosen(kind, "", 1024, 64).unwrap()), expected, "{kind}");
        }
    }

    /// Every network that a rule chooses has enough hosts and few enough ports, and no smaller radix is refused that
    /// the message calls enough.
    #[test]
    fn chosen_networks_have_the_hosts_and_the_ports() {
        for kind in REGISTRY.iter().filter(|kind| kind.sizing.is_some()) {
            let mut built = 0;
            for hosts in [1, 2, 3, 5, 16, 17, 64, 72, 100, 257, 1000, 4096] {
                for radix in [2, 3, 4, 7, 8, 11, 16, 24, 36, 48, 64] {
                    let parameters = match chosen(kind.name, "", hosts, radix) {
                        Ok(parameters) => parameters,
                        Err(error) => {
                            let least = error.rsplit_once("expected at least ").map(|(_, least)| least);
                            if let Some(least) = least {
                                let least: u32 = least.parse().unwrap();
                                assert!(least > radix, "{error}");
                                assert!(chosen(kind.name, "", hosts, least).is_ok(), "{error}");
                                assert!(chosen(kind.name, "", hosts, least - 1).is_err(), "{error}");
                            } else {
                                assert!(error.ends_with("expected fewer hosts"), "{error}");
                            }
                            continue;
                        }
                    };
                    let text = format!("kind = \"{}\"\n{}", kind.name, text(&parameters));
                    let section = Section::from_toml(&text, "x.toml").unwrap();
                    let network = build(&section).unwrap_or_else(|error| panic!("{text}: {error}"));
                    built += 1;
                    assert!(u64::from(network.hosts()) >= hosts, "{text}");
                    for router in [0, network.routers() - 1] {
                        let ports = network.ports(RouterId(router));
                        let wired = (0..ports).filter(|port| {
                            network.peer(RouterId(router), Port(*port)) != crate::Peer::Unwired
                        });
                        assert!(wired.count() <= radix as usize, "{text}: radix {radix}");
                        assert!(u32::from(ports) <= radix, "{text}: {ports} of {radix}");
                    }
                }
            }
            assert!(built >= 12, "{}: {built}", kind.name);
        }
    }

    #[test]
    fn parameters_of_the_user_are_kept_or_contradict() {
        let tree = chosen("fat-tree", "tapering = \"3:1\"\nlevels = 3", 1024, 64).unwrap();
        assert_eq!(text(&tree), "radix = 64\nlevels = 3\nleaves = 22");
        let torus = chosen("torus", "links = [1, 1, 2, 2]\nhosts_per_router = 2", 1024, 16).unwrap();
        assert_eq!(text(&torus), "sizes = [4,4,4,8]");
        let same = chosen("dragonfly", "groups = 2\narrangement = \"palmtree\"", 1024, 64);
        assert!(same.is_ok(), "{same:?}");
        for (kind, more, needles) in [
            (
                "dragonfly",
                "hosts_per_router = 4",
                &["x.toml:5: topology.hosts_per_router: ", "choose 16", "not both"][..],
            ),
            (
                "dragonfly",
                "links_between_groups = 4",
                &["topology.links_between_groups: ", "not both"],
            ),
            (
                "fat-tree",
                "radix = 32",
                &["topology.radix: ", "choose 64", "not both"],
            ),
            (
                "fat-tree",
                "down = [2, 2]\nup = [2]",
                &["topology.down: ", "not both"],
            ),
            (
                "graph",
                "file = \"a\"",
                &["x.toml:1: hosts: ", "a topology 'graph'"],
            ),
            ("dfly", "", &["topology.kind: ", "did you mean 'dragonfly'?"]),
        ] {
            let error = chosen(kind, more, 1024, 64).unwrap_err();
            for needle in needles {
                assert!(error.contains(needle), "{error}");
            }
        }
        let error = chosen("dragonfly", "", 1024, 3).unwrap_err();
        assert!(
            error.starts_with("x.toml:2: radix: routers of 3 ports are too small"),
            "{error}"
        );
        assert!(error.ends_with("expected at least 15"), "{error}");
    }
}
