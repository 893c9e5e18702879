//! Parameters of a fat tree: from a radix, or from the ports of every level, to the connections between levels.

use config::{Error, OneOrEach, Parameter, Section, Type, parameters};

use super::MOST_LEVELS;
use crate::SizingRule;
use crate::size::{counted, nonzero, ports, positive_or};
use crate::sizing::{ChosenParameters, one};

pub(super) const PARAMETERS: &[Parameter] = parameters! {
    computed("radix", Type::Integer, "required, or down and up, or network.hosts", "ports of every router; even");
    integer("levels", 3, "levels of routers, 2 to 8");
    text("tapering", "1:1",
        "hosts per leaf : uplinks per leaf, such as \"2:1\"; both are then as large as the radix \
             allows");
    computed("hosts_per_leaf", Type::Integer, "from tapering",
        "hosts on every leaf, with uplinks_per_leaf instead of tapering");
    computed("uplinks_per_leaf", Type::Integer, "from tapering",
        "uplinks of every leaf, with hosts_per_leaf instead of tapering");
    computed("leaves", Type::Integer, "all that fit",
        "number of leaves; the last pod has those that are left over");
    computed("pods", Type::Integer, "the radix",
        "three or more levels: subtrees of the top level, at most the radix");
    computed("down", Type::INTEGERS, "none",
        "instead of a radix: downward ports of a router, one number for each level, the first one \
             hosts");
    computed("up", Type::INTEGERS, "none",
        "with down: upward ports of a router, one number for each level but the top");
    computed("cables", Type::ONE_OR_EACH, "1, with down",
        "with down: how many of the upward ports go to one router above, one number or a list as for \
             up");
};

pub(super) const SIZING: SizingRule = SizingRule {
    summary: "the tree has the fewest levels, two or more, whose leaves hold the hosts (Al-Fares et al. 2008: radix / 2 \
              hosts on a leaf without tapering, radix leaves below two levels, radix / 2 times as many with each more)",
    determines: &["radix", "levels", "leaves", "pods", "down", "up", "cables"],
    choose: sized,
};

/// The tree of the fewest levels, or of the given ones, with the fewest leaves that hold these hosts. An odd radix
/// leaves one port free.
fn sized(section: &Section, hosts: u64, radix: u32) -> Result<Option<ChosenParameters>, Error> {
    let radix = radix.min(u32::from(u16::MAX)) & !1;
    let given = match section.has("levels") {
        true => Some(section.required::<u32>("levels")?),
        false => None,
    };
    if radix < 2 {
        return Ok(None);
    }
    let (hosts_per_leaf, _) = match read_leaf(section, radix) {
        Ok(leaf) => leaf,
        // A tapering that needs more ports fits a greater radix.
        Err(error) if error.key.ends_with("tapering") && error.message.contains("the radix is") => {
            return Ok(None);
        }
        Err(error) if error.message.contains("do not fit a leaf") => return Ok(None),
        Err(error) => return Err(error),
    };
    let leaves = hosts.div_ceil(hosts_per_leaf.into()).max(2);
    let most = |levels: u32| {
        let grown = u64::from(radix / 2).saturating_pow(levels.saturating_sub(2));
        u64::from(radix).saturating_mul(grown)
    };
    let mut levels = match given {
        Some(levels) => levels..=levels,
        None => 2..=MOST_LEVELS as u32,
    };
    let levels = levels.find(|levels| most(*levels) >= leaves);
    Ok(levels.map(|levels| {
        let chosen = [
            ("radix", radix.into()),
            ("levels", levels.into()),
            ("leaves", leaves),
        ];
        chosen.map(|(key, number)| (key, one(number))).to_vec()
    }))
}

/// A tree as described by its parameters.
pub(super) struct TreePlan {
    pub(super) hosts_per_leaf: u32,
    pub(super) leaves: u32,
    /// The connection from each level to the next.
    pub(super) steps: Vec<LevelConnection>,
    /// Ports of every router, if all routers have the same number.
    pub(super) radix: Option<u16>,
    /// The parameter that an error names if the tree is too large.
    pub(super) key: &'static str,
}

/// The connection between two levels.
pub(super) struct LevelConnection {
    /// Number of subtrees that make one of the next level (m).
    pub(super) below: u32,
    /// Number of tops of the next level above each top (w).
    pub(super) spread: u32,
    /// Number of cables between two routers (p).
    pub(super) cables: u32,
}

pub(super) fn read(section: &Section) -> Result<TreePlan, Error> {
    let down = section.optional::<Vec<u32>>("down")?;
    let up = section.optional::<Vec<u32>>("up")?;
    let cables = section.optional::<OneOrEach>("cables")?;
    let Some(down) = down else {
        for (key, given) in [("up", up.is_some()), ("cables", cables.is_some())] {
            if given {
                return Err(section.error(key, "needs down beside it"));
            }
        }
        return from_radix(section);
    };
    for key in [
        "radix",
        "levels",
        "tapering",
        "hosts_per_leaf",
        "uplinks_per_leaf",
        "pods",
    ] {
        if section.has(key) {
            let text = "is for trees of one radix; down and up say all about this one";
            return Err(section.error(key, text));
        }
    }
    let up = up.ok_or_else(|| section.error("down", "needs up beside it"))?;
    from_ports(section, &down, &up, cables.unwrap_or(OneOrEach::One(1)))
}

fn from_ports(section: &Section, down: &[u32], up: &[u32], cables: OneOrEach) -> Result<TreePlan, Error> {
    if !(2..=MOST_LEVELS).contains(&down.len()) {
        let text = format!("{} levels; expected 2 to {MOST_LEVELS}", down.len());
        return Err(section.error("down", text));
    }
    let steps = down.len() - 1;
    let cables = match cables {
        OneOrEach::One(cables) => vec![cables; steps],
        OneOrEach::Each(cables) => cables,
    };
    for (key, numbers) in [("up", up), ("cables", &cables)] {
        if numbers.len() != steps {
            return Err(section.error(
                key,
                format!(
                    "{} for {} levels; expected {steps}, one for each level but the top",
                    counted(numbers.len() as u32, "number"),
                    down.len()
                ),
            ));
        }
    }
    for (key, numbers) in [("down", down), ("up", up), ("cables", &cables)] {
        for number in numbers {
            nonzero(section, key, *number)?;
        }
    }
    for (level, down) in down.iter().enumerate() {
        ports(section, "down", &[*down, up.get(level).copied().unwrap_or(0)])?;
    }
    let mut all = Vec::new();
    for (level, cables) in cables.iter().enumerate() {
        for (key, number) in [("up", up[level]), ("down", down[level + 1])] {
            if !number.is_multiple_of(*cables) {
                let text = format!(
                    "{number} ports between levels {level} and {} do not make bundles of {cables} cables",
                    level + 1
                );
                return Err(section.error(key, text));
            }
        }
        all.push(LevelConnection {
            below: down[level + 1] / cables,
            spread: up[level] / cables,
            cables: *cables,
        });
    }
    let most = all
        .iter()
        .try_fold(1u32, |leaves, step| leaves.checked_mul(step.below));
    let most = most.ok_or_else(|| section.error("down", "the leaves are too many"))?;
    let leaves = positive_or(section, "leaves", most)?;
    if leaves > most {
        let text = format!("{leaves} leaves do not fit below the top; expected 1 to {most}");
        return Err(section.error("leaves", text));
    }
    // These keys belong to the other kind of tree; reading them marks them as known.
    for key in ["radix", "levels", "hosts_per_leaf", "uplinks_per_leaf", "pods"] {
        section.optional::<u32>(key)?;
    }
    section.optional::<String>("tapering")?;
    Ok(TreePlan {
        hosts_per_leaf: down[0],
        leaves,
        steps: all,
        radix: None,
        key: "down",
    })
}

/// Builds a tree of routers of one radix. With fewer pods or leaves than the maximum it uses the fewest upper routers
/// that carry all uplinks, with parallel cables.
fn from_radix(section: &Section) -> Result<TreePlan, Error> {
    let radix = read_radix(section)?;
    let levels = section.get::<u32>("levels")?;
    if !(2..=MOST_LEVELS as u32).contains(&levels) {
        let text = format!("{levels} levels; expected 2 to {MOST_LEVELS}");
        return Err(section.error("levels", text));
    }
    let (hosts_per_leaf, uplinks_per_leaf) = read_leaf(section, radix)?;
    let (leaves, top) = read_breadth(section, levels, radix)?;
    let mut steps = Vec::new();
    let mut uplinks = uplinks_per_leaf;
    for level in 1..levels {
        let (below, own_uplinks) = match level + 1 == levels {
            true => (top, 0),
            false => (radix / 2, radix / 2),
        };
        let cables = most_cables(uplinks, below, radix - own_uplinks);
        steps.push(LevelConnection {
            below,
            spread: uplinks / cables,
            cables,
        });
        uplinks = own_uplinks;
    }
    Ok(TreePlan {
        hosts_per_leaf,
        leaves,
        steps,
        radix: Some(radix as u16),
        key: "radix",
    })
}

fn read_radix(section: &Section) -> Result<u32, Error> {
    let radix = nonzero(section, "radix", section.required("radix")?)?;
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
        nonzero(section, key, value)?;
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
    let text: String = section.get("tapering")?;
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

/// Number of leaves, and of subtrees of the top level.
fn read_breadth(section: &Section, levels: u32, radix: u32) -> Result<(u32, u32), Error> {
    let leaves = section.optional::<u32>("leaves")?;
    let pods = section.optional::<u32>("pods")?;
    for (key, number) in [("leaves", leaves), ("pods", pods)] {
        nonzero(section, key, number.unwrap_or(1))?;
    }
    // Number of leaves of a subtree of the top level.
    let of_pod = (2..levels).try_fold(1u32, |leaves, _| leaves.checked_mul(radix / 2));
    let of_pod = of_pod.ok_or_else(|| section.error("levels", "the leaves are too many"))?;
    if levels == 2 && pods.is_some() {
        let text = "is for three levels; a tree of two levels is made smaller with leaves";
        return Err(section.error("pods", text));
    }
    let needed = leaves.map(|leaves| leaves.div_ceil(of_pod));
    let top = match (needed, pods) {
        (Some(needed), Some(pods)) if needed != pods => {
            let (leaves, pods) = (leaves.unwrap_or(0), pods);
            let text = format!("{leaves} leaves fill {needed} pods of {of_pod}, not {pods}");
            return Err(section.error("leaves", text));
        }
        (Some(needed), _) => needed,
        (None, pods) => pods.unwrap_or(radix),
    };
    if top > radix {
        let (key, number) = if pods.is_some() {
            ("pods", top)
        } else {
            ("leaves", leaves.unwrap_or(top))
        };
        let most = if key == "pods" {
            u64::from(radix)
        } else {
            u64::from(radix) * u64::from(of_pod)
        };
        let text =
            format!("{number} {key} cannot all be linked by routers of {radix} ports; expected 1 to {most}");
        return Err(section.error(key, text));
    }
    let all = top.checked_mul(of_pod);
    let all = all.ok_or_else(|| section.error("levels", "the leaves are too many"))?;
    Ok((leaves.unwrap_or(all), top))
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// The largest number of parallel cables from each of `below` routers to each router above that divides the uplinks
/// evenly and fits the `ports` of the upper router.
fn most_cables(uplinks: u32, below: u32, ports: u32) -> u32 {
    (1..=ports / below)
        .rev()
        .find(|cables| uplinks.is_multiple_of(*cables))
        .unwrap_or(1)
        .min(uplinks.max(1))
}
