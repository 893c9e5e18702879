//! The table `[power]`: what routers, ends of cables, NIC ports and hosts draw. `docs/methods/energy.md` has the model.
//!
//! It changes nothing that is simulated.

use config::{Parameter, Power, Section, Type, parameters};
use topology::{LinkClass, RouterId, Topology};

/// Keys of `[power]`, beside its tables.
pub const POWER: &[Parameter] = parameters! {
    power("host", "0 W", "power of a host, whatever it does, at most 100 kW");
};

/// Keys of `[power.router]`.
pub const ROUTER: &[Parameter] = parameters! {
    power("idle", "0 W", "power of a router without traffic, at most 100 kW");
    computed("busy", Type::Power, "its idle", "power of a router all of whose outgoing links transmit");
};

/// Keys of `[power.routers.KIND]`.
pub const ROUTER_KIND: &[Parameter] = parameters! {
    computed("idle", Type::Power, "power.router.idle", "power of a router of this kind without traffic");
    computed("busy", Type::Power, "its idle if that is given, otherwise power.router.busy",
        "power of a router of this kind all of whose outgoing links transmit");
};

/// Keys of `[power.link]`.
pub const LINK: &[Parameter] = parameters! {
    power("idle", "0 W", "power of one end of a cable that does not transmit, at most 100 kW");
    computed("busy", Type::Power, "its idle", "power of one end of a cable while it transmits");
};

/// Keys of `[power.links.CLASS]`.
pub const LINK_CLASS: &[Parameter] = parameters! {
    computed("idle", Type::Power, "power.link.idle",
        "power of one end of a cable of this class that does not transmit");
    computed("busy", Type::Power, "its idle if that is given, otherwise power.link.busy",
        "power of one end of a cable of this class while it transmits");
};

/// Keys of `[power.nic]`.
pub const NIC: &[Parameter] = parameters! {
    power("idle", "0 W", "power of a NIC port without traffic, at most 100 kW");
    computed("busy", Type::Power, "its idle", "power of a NIC port that sends and receives");
};

/// More than any part draws. With it, no sum exceeds 128 bits.
const MOST: Power = Power { uw: 100_000_000_000 };

/// What one part draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Draw {
    /// Without traffic.
    pub idle: Power,
    /// At full load; at least as much.
    pub busy: Power,
}

/// What the parts of a network draw.
#[derive(Clone, Debug)]
pub struct PowerSetting {
    /// The kinds of routers, in the order of their first routers.
    pub kinds: Vec<RouterKind>,
    /// By router: the index of its kind.
    pub kind_of: Vec<u32>,
    /// One end of a cable, by link class. An end transmits on the link that begins there.
    pub links: Vec<Draw>,
    /// A NIC port.
    pub nic: Draw,
    /// A host, constantly.
    pub host: Power,
}

/// Routers of one kind.
#[derive(Clone, Debug)]
pub struct RouterKind {
    /// The kind, see [`kind_of`].
    pub name: String,
    /// What each of them draws.
    pub draw: Draw,
}

impl Draw {
    /// Power that full load adds.
    pub fn dynamic_uw(self) -> u64 {
        self.busy.uw - self.idle.uw
    }

    /// Reads `idle` and `busy`. `common` has the values of parts without own ones.
    fn read(section: &Section, common: Draw) -> Result<Draw, config::Error> {
        let own = section.has("idle");
        let idle = read_power(section, "idle", common.idle)?;
        let busy = read_power(section, "busy", if own { idle } else { common.busy })?;
        if busy < idle {
            let message = format!("{busy} is less than idle, {idle}; expected at least as much");
            return Err(section.error("busy", message));
        }
        Ok(Draw { idle, busy })
    }
}

impl PowerSetting {
    /// Reads the table `[power]`.
    ///
    /// # Errors
    /// A wrong value, an unknown link class or kind of router, or a table that gives no power.
    pub fn read(section: &Section, topology: &dyn Topology) -> Result<PowerSetting, config::Error> {
        let host = read_power(section.declare(POWER), "host", Power::default())?;
        let router = Draw::read(section.section("router")?.declare(ROUTER), Draw::default())?;
        let link = Draw::read(section.section("link")?.declare(LINK), Draw::default())?;
        let nic = Draw::read(section.section("nic")?.declare(NIC), Draw::default())?;
        let classes = topology.link_classes();
        let by_class = named(section, "links", &classes)?;
        let of_class = |name: &&str| Draw::read(by_class.section(name)?.declare(LINK_CLASS), link);
        let links = classes.iter().map(of_class).collect::<Result<_, _>>()?;
        let (names, kind_of) = router_kinds(topology);
        let by_kind = named(section, "routers", &names)?;
        let kind = |name: String| {
            let draw = Draw::read(by_kind.section(&name)?.declare(ROUTER_KIND), router)?;
            Ok(RouterKind { name, draw })
        };
        let kinds = names
            .into_iter()
            .map(kind)
            .collect::<Result<_, config::Error>>()?;
        let mut given = section.has("host");
        for table in ["link", "nic", "router"] {
            given |= gives_power(section.section(table)?);
        }
        for tables in [by_class, by_kind] {
            for key in tables.keys() {
                given |= gives_power(tables.section(&key)?);
            }
        }
        if !given {
            let message = "gives no power; expected at least one key such as router.idle = \"747 W\", or no table \
                           [power]";
            return Err(section.error("", message));
        }
        Ok(PowerSetting {
            kinds,
            kind_of,
            links,
            nic,
            host,
        })
    }

    /// Whether anything draws more at full load than without traffic.
    pub fn depends_on_load(&self) -> bool {
        let kinds = self.kinds.iter().map(|kind| kind.draw);
        let links = self.links.iter().copied();
        let mut all = kinds.chain(links).chain([self.nic]);
        all.any(|draw| draw.dynamic_uw() > 0)
    }

    /// What an end of a cable of this class draws.
    pub fn link(&self, class: LinkClass) -> Draw {
        self.links[usize::from(class.0)]
    }

    /// The index of the kind of a router.
    pub fn kind(&self, router: RouterId) -> usize {
        self.kind_of[router.0 as usize] as usize
    }
}

/// Reads a power within the limits. The default is noted as the value that is used.
fn read_power(section: &Section, key: &str, default: Power) -> Result<Power, config::Error> {
    let power = section.or(key, default)?;
    if power > MOST {
        let message = format!("{power} is out of range; expected at most {MOST}");
        return Err(section.error(key, message));
    }
    Ok(power)
}

/// The table of tables `key`, whose keys have to be among `known`.
fn named<'a>(
    section: &'a Section,
    key: &str,
    known: &[impl AsRef<str>],
) -> Result<&'a Section, config::Error> {
    let tables = section.section(key)?;
    let known = || known.iter().map(AsRef::as_ref);
    match tables.keys().iter().find(|key| !known().any(|name| name == *key)) {
        Some(unknown) => Err(tables.unknown_name(unknown, unknown, known())),
        None => Ok(tables),
    }
}

fn gives_power(section: &Section) -> bool {
    section.has("idle") || section.has("busy")
}

/// The kinds of routers in the order of their first routers, and the index of the kind of each router.
fn router_kinds(topology: &dyn Topology) -> (Vec<String>, Vec<u32>) {
    let mut indices = std::collections::HashMap::new();
    let mut names = Vec::new();
    let kinds = (0..topology.routers()).map(|router| {
        let coordinates = topology.coordinates(RouterId(router));
        let kind = kind_of(&coordinates);
        match indices.get(kind) {
            Some(index) => *index,
            None => {
                let index = names.len() as u32;
                indices.insert(kind.to_string(), index);
                names.push(kind.to_string());
                index
            }
        }
    });
    let kinds = kinds.collect();
    (names, kinds)
}

/// The kind of a router as its name says it: `leaf` of "pod 0, leaf 3"; `router` for a name without one. The cost table
/// of sweeps has the same kinds (`python/fabricsim/sweep/inventory.py`).
fn kind_of(coordinates: &str) -> &str {
    let named = coordinates.rsplit_once(' ').and_then(|(words, number)| {
        let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        let is_letter = |c: char| c.is_ascii_lowercase() || c == '-';
        let start = words.trim_end_matches(is_letter).len();
        let kind = words[start..].trim_start_matches('-');
        (is_number && !kind.is_empty()).then_some(kind)
    });
    named.unwrap_or("router")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_router_says_its_kind() {
        for (coordinates, kind) in [
            ("pod 0, leaf 3", "leaf"),
            ("plane 1, spine 12", "spine"),
            ("group 2, router 7", "router"),
            ("level 1, subtree 0, router 3", "router"),
            ("group 0, row 1, column 2", "column"),
            ("(0, 3)", "router"),
            ("subgraph 1, (2, 3)", "router"),
            ("top-of-rack 4", "top-of-rack"),
            ("leaf", "router"),
            ("leaf x", "router"),
            ("", "router"),
            ("7", "router"),
            ("é 7", "router"),
        ] {
            assert_eq!(kind_of(coordinates), kind, "{coordinates}");
        }
    }
}
